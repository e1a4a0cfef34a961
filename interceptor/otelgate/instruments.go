package otelgate

import (
	"context"
	"errors"
	"runtime/debug"
	"sync"

	"go.opentelemetry.io/otel/metric"
)

// instruments are the instruments of one meter provider.
type instruments struct {
	meter    metric.Meter
	requests metric.Int64Counter
	wait     metric.Float64Histogram
	lease    metric.Float64Histogram
	tooLong  metric.Int64Counter
	inFlight metric.Int64ObservableUpDownCounter
	waiting  metric.Int64ObservableUpDownCounter
	limit    metric.Int64ObservableUpDownCounter
}

// waitBuckets are finest around the usual maximum wait of 50 to 150 ms. The first
// bucket has the calls that did not wait at all.
func waitBuckets() []float64 {
	return []float64{0, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.25, 0.5, 1, 2.5, 5}
}

// leaseBuckets reach from a quick query to a long stream.
func leaseBuckets() []float64 {
	return []float64{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300}
}

// newInstruments makes the instruments. A provider that has made them before
// returns the same ones.
func newInstruments(p metric.MeterProvider) (*instruments, error) {
	in := &instruments{meter: meterOf(p)}
	var errs [7]error
	in.requests, errs[0] = in.meter.Int64Counter(MetricRequests,
		metric.WithUnit("{request}"), metric.WithDescription("Calls that came to the gate, by its decision."))
	in.wait, errs[1] = in.meter.Float64Histogram(MetricWaitDuration,
		metric.WithUnit("s"), metric.WithDescription("Time that calls waited until they were accepted or rejected."),
		metric.WithExplicitBucketBoundaries(waitBuckets()...))
	in.lease, errs[2] = in.meter.Float64Histogram(MetricLeaseDuration,
		metric.WithUnit("s"), metric.WithDescription("Time that calls held their lease."),
		metric.WithExplicitBucketBoundaries(leaseBuckets()...))
	in.tooLong, errs[6] = in.meter.Int64Counter(MetricHeldTooLong,
		metric.WithUnit("{lease}"), metric.WithDescription("Leases that were held for longer than the gate allows."))
	in.inFlight, errs[3] = in.meter.Int64ObservableUpDownCounter(MetricInFlight,
		metric.WithUnit("{unit}"), metric.WithDescription("Units in use: one per call, unless calls have a cost."))
	in.waiting, errs[4] = in.meter.Int64ObservableUpDownCounter(MetricWaiting,
		metric.WithUnit("{request}"), metric.WithDescription("Calls that wait to be admitted."))
	in.limit, errs[5] = in.meter.Int64ObservableUpDownCounter(MetricLimit,
		metric.WithUnit("{unit}"), metric.WithDescription("Units that may be in use at once."))
	return in, errors.Join(errs[:]...)
}

// enabled reports whether a provider collects what is recorded per call. Without an
// SDK every call of an interceptor comes here.
func (in *instruments) enabled(ctx context.Context) bool {
	return in.requests.Enabled(ctx) || in.wait.Enabled(ctx) || in.lease.Enabled(ctx)
}

func meterOf(p metric.MeterProvider) metric.Meter {
	return p.Meter(ScopeName, metric.WithInstrumentationVersion(version()), metric.WithSchemaURL(schemaURL))
}

// version returns the version of this module in the running program. Unlike a
// constant, it is right in every release.
var version = sync.OnceValue(func() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, m := range info.Deps {
		if m.Path == modulePath {
			return m.Version
		}
	}
	if info.Main.Path == modulePath {
		return info.Main.Version
	}
	return ""
})
