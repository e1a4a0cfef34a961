package calls

import (
	"context"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/rpcgate/rpcgate/interceptor/otelgate"
	"github.com/rpcgate/rpcgate/internal/bench/echo"
)

// byHand tells the SDK by hand what an interceptor tells it of a call that is accepted at once, with everything made
// beforehand. No interceptor can do that for less. It is a count that is read at each collection, a record in each of
// two histograms, and the attributes of the span. The records are made without the call's context, as those of an
// unremarkable call: with it the SDK would consider the call's span as an exemplar.
func byHand(meters metric.MeterProvider) func(context.Context) {
	meter := meters.Meter("by hand")
	wait, err := meter.Float64Histogram(otelgate.MetricWaitDuration, metric.WithExplicitBucketBoundaries(
		0, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.25, 0.5, 1, 2.5, 5))
	check(err)
	lease, err := meter.Float64Histogram(otelgate.MetricLeaseDuration, metric.WithExplicitBucketBoundaries(
		0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300))
	check(err)
	name, method := otelgate.KeyGateName.String("bench"), otelgate.KeyMethod.String(echo.Route[1:])
	decision := otelgate.KeyDecision.String("accepted")
	requestSet, leaseSet := attribute.NewSet(name, method, decision), attribute.NewSet(name, method)

	var requests atomic.Int64
	_, err = meter.Int64ObservableCounter(otelgate.MetricRequests, metric.WithInt64Callback(
		func(_ context.Context, o metric.Int64Observer) error {
			o.Observe(requests.Load(), metric.WithAttributeSet(requestSet))
			return nil
		}))
	check(err)
	ofRequests := []metric.RecordOption{metric.WithAttributeSet(requestSet)}
	ofLeases := []metric.RecordOption{metric.WithAttributeSet(leaseSet)}
	attrs := []attribute.KeyValue{name, decision,
		otelgate.KeyWaitedMs.Int64(0), otelgate.KeyInFlight.Int64(1), otelgate.KeyLimit.Int64(1000)}
	background := context.Background()
	return func(ctx context.Context) {
		begin := time.Now()
		requests.Add(1)
		wait.Record(background, 0, ofRequests...)
		trace.SpanFromContext(ctx).SetAttributes(attrs...)
		lease.Record(background, time.Since(begin).Seconds(), ofLeases...)
	}
}
