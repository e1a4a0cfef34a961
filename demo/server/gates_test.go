package server_test

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	"connectrpc.com/grpchealth"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/stats"

	"github.com/rpcgate/rpcgate/demo/server"
	"github.com/rpcgate/rpcgate/demo/store"
	"github.com/rpcgate/rpcgate/gate"
	ordersv1 "github.com/rpcgate/rpcgate/gen/demo/orders/v1"
	reportsv1 "github.com/rpcgate/rpcgate/gen/demo/reports/v1"
)

func TestFullGateRefusesEveryProtocol(t *testing.T) {
	t.Parallel()
	g := gates(t)
	addr := serve(t, g, nil)
	fill(t, g.DB)
	for name, list := range listers(t, addr) {
		if _, err := list(t.Context(), &ordersv1.ListOpenOrdersRequest{}); codeOf(err) != codes.ResourceExhausted {
			t.Errorf("%s: error %v, want resource exhausted", name, err)
		}
	}
}

func TestReportsNeedBothGates(t *testing.T) {
	t.Parallel()
	for _, full := range []string{"db", "reports"} {
		g := gates(t)
		client := reportsv1.NewReportServiceClient(dial(t, serve(t, g, nil)))
		release := fill(t, map[string]*gate.Gate{"db": g.DB, "reports": g.Reports}[full])
		report := func() error {
			stream, err := client.MonthlyReport(t.Context(), &reportsv1.MonthlyReportRequest{
				Year: store.ReportYear, Month: int32(store.ReportMonth),
			})
			if err != nil {
				return err
			}
			_, err = stream.Recv()
			return err
		}
		if err := report(); codeOf(err) != codes.ResourceExhausted {
			t.Errorf("%s full: error %v, want resource exhausted", full, err)
		}
		release()
		if err := report(); err != nil {
			t.Errorf("%s free again: %v", full, err)
		}
	}
}

// A gRPC client retries a refusal only if it comes in the right frames. connectgate.TrailersOnly sees to that.
func TestGRPCClientsRetry(t *testing.T) {
	t.Parallel()
	g := gates(t)
	addr := serve(t, g, nil)
	attempts := &onSecondAttempt{do: fill(t, g.DB)}
	conn := dial(t, addr, grpc.WithStatsHandler(attempts), grpc.WithDefaultServiceConfig(`{"methodConfig": [{
		"name": [{}],
		"retryPolicy": {
			"maxAttempts": 3, "initialBackoff": "0.001s", "maxBackoff": "0.001s", "backoffMultiplier": 1,
			"retryableStatusCodes": ["RESOURCE_EXHAUSTED"]}}]}`))
	_, err := ordersv1.NewOrderServiceClient(conn).ListOpenOrders(t.Context(), &ordersv1.ListOpenOrdersRequest{Limit: 1})
	if err != nil || attempts.count != 2 {
		t.Errorf("%d attempts, error %v; want the second one to be answered", attempts.count, err)
	}
}

func TestHealthAndReflectionAreNotGated(t *testing.T) {
	t.Parallel()
	g := gates(t)
	addr := serve(t, g, nil)
	fill(t, g.DB)
	fill(t, g.Reports)
	conn := dial(t, addr)
	res, err := healthv1.NewHealthClient(conn).Check(t.Context(), &healthv1.HealthCheckRequest{})
	if err != nil || res.GetStatus() != healthv1.HealthCheckResponse_SERVING {
		t.Errorf("gRPC health: %v, error %v", res, err)
	}
	health := connect.NewClient[healthv1.HealthCheckRequest, healthv1.HealthCheckResponse](
		http.DefaultClient, "http://"+addr+"/"+grpchealth.HealthV1ServiceName+"/Check")
	if _, err := health.CallUnary(t.Context(), connect.NewRequest(&healthv1.HealthCheckRequest{})); err != nil {
		t.Errorf("Connect health: %v", err)
	}
	stream, err := reflectionv1.NewServerReflectionClient(conn).ServerReflectionInfo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	err = stream.Send(&reflectionv1.ServerReflectionRequest{
		MessageRequest: &reflectionv1.ServerReflectionRequest_ListServices{},
	})
	if err != nil {
		t.Fatal(err)
	}
	if services, err := stream.Recv(); err != nil || len(services.GetListServicesResponse().GetService()) < 4 {
		t.Errorf("reflection: %v, error %v", services, err)
	}
	if err := stream.CloseSend(); err != nil {
		t.Error(err)
	}
}

func TestShutdownLetsCallsInsideFinish(t *testing.T) {
	t.Parallel()
	g := gates(t)
	inside, finish := make(chan struct{}), make(chan struct{})
	var once sync.Once
	s, addr := start(t, g, func(string) func() {
		once.Do(func() {
			close(inside)
			<-finish
		})
		return func() {}
	})
	client := ordersv1.NewOrderServiceClient(dial(t, addr))
	var calls sync.WaitGroup
	calls.Go(func() {
		if _, err := client.ListOpenOrders(t.Context(), &ordersv1.ListOpenOrdersRequest{}); err != nil {
			t.Errorf("the call in flight: %v", err)
		}
	})
	<-inside
	calls.Go(func() {
		if err := s.Shutdown(t.Context()); err != nil {
			t.Errorf("shut down: %v", err)
		}
	})
	for { // new calls find the gate full until it drains, and get Unavailable from then on
		_, err := client.ListOpenOrders(t.Context(), &ordersv1.ListOpenOrdersRequest{})
		if codeOf(err) == codes.Unavailable {
			break
		}
		if codeOf(err) != codes.ResourceExhausted {
			t.Errorf("a new call: %v", err)
			break
		}
	}
	close(finish)
	calls.Wait()
}

// TestServerGoesOnInItsGrace has balancers that look at one of the health services or at /readyz.
func TestServerGoesOnInItsGrace(t *testing.T) {
	t.Parallel()
	o := ops(false)
	o.Grace = time.Hour
	s, addr := startWith(t, gates(t), nil, o)
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan error, 1)
	go func() { stopped <- s.Shutdown(ctx) }()
	for status := http.StatusOK; status != http.StatusServiceUnavailable; {
		status, _, _ = rest(t, http.MethodGet, "http://"+addr+"/readyz", "")
	}
	const notServing = healthv1.HealthCheckResponse_NOT_SERVING
	conn := dial(t, addr)
	res, err := healthv1.NewHealthClient(conn).Check(t.Context(), &healthv1.HealthCheckRequest{})
	if err != nil || res.GetStatus() != notServing {
		t.Errorf("gRPC health: %v, error %v", res, err)
	}
	viaConnect := connect.NewClient[healthv1.HealthCheckRequest, healthv1.HealthCheckResponse](
		h2c(t), "http://"+addr+healthv1.Health_Check_FullMethodName)
	answer, err := viaConnect.CallUnary(t.Context(), connect.NewRequest(&healthv1.HealthCheckRequest{}))
	if err != nil || answer.Msg.GetStatus() != notServing {
		t.Errorf("Connect health: %v, error %v", answer, err)
	}
	for name, list := range listers(t, addr) {
		if _, err := list(t.Context(), &ordersv1.ListOpenOrdersRequest{Limit: 1}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	cancel()
	<-stopped // an error if a connection was just in use
}

func TestShutdownEndsHealthWatchers(t *testing.T) {
	t.Parallel()
	s, addr := start(t, nil, nil)
	watch, err := healthv1.NewHealthClient(dial(t, addr)).Watch(t.Context(), &healthv1.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := watch.Recv(); err != nil {
		t.Fatal(err)
	}
	if err := s.Shutdown(t.Context()); err != nil { // would last forever
		t.Error(err)
	}
	answer, err := watch.Recv()
	if err == nil { // the last one, if it was sent before the end of the stream
		if status := answer.GetStatus(); status != healthv1.HealthCheckResponse_NOT_SERVING {
			t.Errorf("the watcher received %s, want NOT_SERVING", status)
		}
		_, err = watch.Recv()
	}
	if err == nil {
		t.Error("the watcher received an answer, want the end of the stream")
	}
}

func TestNewGatesRefusesNonsense(t *testing.T) {
	t.Parallel()
	good := server.GateConfig{DB: 1, Reports: 1, RetryMin: time.Millisecond, RetryMax: time.Second}
	noDB, noReports, noDelay := good, good, good
	noDB.DB, noReports.Reports, noDelay.RetryMin = 0, -1, time.Minute
	for _, c := range []server.GateConfig{noDB, noReports, noDelay} {
		if _, err := server.NewGates(c); err == nil {
			t.Errorf("%+v was accepted", c)
		}
	}
}

// gates returns gates that admit one call at a time.
func gates(t *testing.T) *server.Gates {
	t.Helper()
	g, err := server.NewGates(server.GateConfig{DB: 1, Reports: 1, RetryMin: time.Millisecond, RetryMax: 2 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// fill takes the only unit of a gate, until release or the end of the test.
func fill(t *testing.T, g *gate.Gate) (release func()) {
	t.Helper()
	lease, err := g.TryAcquire(gate.Call{Route: t.Name()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(lease.Release)
	return lease.Release
}

// onSecondAttempt does something before the second attempt of a call is made.
type onSecondAttempt struct {
	do    func()
	count int
}

func (s *onSecondAttempt) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context {
	return ctx
}

func (s *onSecondAttempt) HandleRPC(_ context.Context, event stats.RPCStats) {
	if _, begin := event.(*stats.Begin); !begin {
		return
	}
	if s.count++; s.count == 2 {
		s.do()
	}
}

func (s *onSecondAttempt) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context {
	return ctx
}

func (s *onSecondAttempt) HandleConn(context.Context, stats.ConnStats) {}
