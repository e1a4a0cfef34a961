package otlp

import (
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor/grpcgate"
)

// retryDelay is above the exporter's own backoff, which it waits for at least.
const retryDelay = time.Second

// receiver is an OTLP endpoint that takes its time.
type receiver struct {
	collector.UnimplementedTraceServiceServer
	work time.Duration

	mu       sync.Mutex
	received map[string]int // spans by name
}

func (r *receiver) Export(
	_ context.Context, req *collector.ExportTraceServiceRequest,
) (*collector.ExportTraceServiceResponse, error) {
	<-time.After(r.work)
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, resource := range req.GetResourceSpans() {
		for _, scope := range resource.GetScopeSpans() {
			for _, span := range scope.GetSpans() {
				r.received[span.GetName()]++
			}
		}
	}
	return &collector.ExportTraceServiceResponse{}, nil
}

func TestStockExporterRetriesRefusedBatchesAfterOurDelayAndLosesNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const exporters = 8
		var refused atomic.Int64
		endpoint := gate.Must(gate.New("otlp", 1,
			gate.WithMaxWait(0), gate.WithRetryDelay(retryDelay, retryDelay),
			gate.WithOnEvent(func(_ context.Context, e gate.Event) {
				if e.Decision.Rejected() {
					refused.Add(1)
				}
			})))
		r := &receiver{work: 200 * time.Millisecond, received: map[string]int{}}
		dial := serve(t, endpoint, r)

		began := time.Now()
		took := make([]time.Duration, exporters)
		var done sync.WaitGroup
		for i := range exporters {
			// One after the other, so that who comes when is certain: each
			// finds the one before still at work.
			<-time.After(10 * time.Millisecond)
			exporter := newExporter(t, dial)
			done.Go(func() {
				start := time.Now()
				if err := exporter.ExportSpans(t.Context(), batch(i)); err != nil {
					t.Errorf("batch %d is lost: %v", i, err)
				}
				took[i] = time.Since(start)
			})
		}
		done.Wait()

		for i := range exporters {
			if n := r.received[spanName(i)]; n != 1 {
				t.Errorf("batch %d was received %d times, want once", i, n)
			}
		}
		if n := refused.Load(); n < exporters-1 {
			t.Errorf("%d refusals, want at least %d: the test has not tested anything", n, exporters-1)
		}
		// The first came in at once; all others waited for our delay, or a
		// multiple of it, which no random backoff of the exporter's would be.
		for i, d := range took[1:] {
			waited := d - r.work
			if waited < retryDelay || waited%retryDelay != 0 {
				t.Errorf("batch %d took %s, want %s after a multiple of our delay %s", i+1, d, r.work, retryDelay)
			}
		}
		t.Logf("%d batches, %d refusals, all in after %s", exporters, refused.Load(), time.Since(began))
		if n := endpoint.InFlight(); n != 0 {
			t.Errorf("%d in flight at the end, want 0", n)
		}
	})
}

// serve runs the endpoint behind the gate, on a connection in memory.
func serve(t *testing.T, endpoint *gate.Gate, r *receiver) func(context.Context, string) (net.Conn, error) {
	t.Helper()
	lis := bufconn.Listen(1 << 16)
	srv := grpc.NewServer(grpcgate.ServerOptions(endpoint)...)
	collector.RegisterTraceServiceServer(srv, r)
	go func() { _ = srv.Serve(lis) }()
	t.Cleanup(srv.Stop)
	return func(ctx context.Context, _ string) (net.Conn, error) { return lis.DialContext(ctx) }
}

func newExporter(t *testing.T, dial func(context.Context, string) (net.Conn, error)) trace.SpanExporter {
	t.Helper()
	conn, err := grpc.NewClient("passthrough:///otlp",
		grpc.WithContextDialer(dial), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	exporter, err := otlptracegrpc.New(t.Context(), otlptracegrpc.WithGRPCConn(conn),
		otlptracegrpc.WithTimeout(time.Minute),
		otlptracegrpc.WithRetry(otlptracegrpc.RetryConfig{
			Enabled: true, InitialInterval: 100 * time.Millisecond,
			MaxInterval: 500 * time.Millisecond, MaxElapsedTime: time.Minute,
		}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = exporter.Shutdown(context.Background())
		_ = conn.Close()
	})
	return exporter
}

func spanName(i int) string { return fmt.Sprintf("span-%d", i) }

func batch(i int) []trace.ReadOnlySpan {
	return tracetest.SpanStubs{{Name: spanName(i)}}.Snapshots()
}
