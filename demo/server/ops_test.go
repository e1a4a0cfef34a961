package server_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"connectrpc.com/connect"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/rpcgate/rpcgate/demo/server"
	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/gen/demo/orders/v1/ordersv1connect"
)

// ops are the pages of a server whose metrics are a text.
func ops(control bool) *server.Ops {
	return &server.Ops{Control: control, Metrics: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("gate_limit 1\n"))
	})}
}

// rejectOne makes a full gate reject a call.
func rejectOne(t *testing.T, g *gate.Gate) {
	t.Helper()
	if _, err := g.TryAcquire(gate.Call{Route: t.Name()}); err == nil {
		t.Fatal("the gate is not full")
	}
}

func TestPagesAreServedWhileTheGatesAreFull(t *testing.T) {
	t.Parallel()
	g := gates(t)
	_, addr := startWith(t, g, nil, ops(false))
	fill(t, g.DB)
	fill(t, g.Reports)
	for path, want := range map[string]string{
		"/healthz":               `{"status":"ok"`,
		"/metrics":               "gate_limit 1\n",
		"/debug/gate/":           "<html",
		"/debug/gate/state.json": `"db"`,
	} {
		status, _, body := rest(t, http.MethodGet, "http://"+addr+path, "")
		if status != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("%s: status %d, %q; want 200 and %q", path, status, body, want)
		}
	}
	rejectOne(t, g.DB)
	status, _, body := rest(t, http.MethodGet, "http://"+addr+"/healthz", "")
	if status != http.StatusOK || !strings.HasPrefix(body, `{"status":"degraded"`) {
		t.Errorf("/healthz after a rejection: status %d, %q; want 200 and degraded", status, body)
	}
}

func TestPageChangesNothingUnlessSwitchedOn(t *testing.T) {
	t.Parallel()
	for control, want := range map[bool]int64{false: 1, true: 7} {
		g := gates(t)
		_, addr := startWith(t, g, nil, ops(control))
		status, _, body := rest(t, http.MethodPost, "http://"+addr+"/debug/gate/control", `{"gate": "db", "limit": 7}`)
		if g.DB.Limit() != want || (status == http.StatusOK) != control {
			t.Errorf("control %v: limit %d, status %d, %s; want limit %d", control, g.DB.Limit(), status, body, want)
		}
	}
}

// A site with DNS rebinding reaches the page under a name of its own.
func TestPageIsControlledOnlyAtKnownHosts(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]int64{"evil.example": 1, "ops.example": 7} {
		g := gates(t)
		pages := ops(true)
		pages.ControlHosts = []string{"ops.example"}
		_, addr := startWith(t, g, nil, pages)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+addr+"/debug/gate/control",
			strings.NewReader(`{"gate": "db", "limit": 7}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Host = host
		req.Header.Set("Content-Type", "application/json")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if g.DB.Limit() != want || (res.StatusCode == http.StatusOK) != (want == 7) {
			t.Errorf("%s: limit %d, %s; want limit %d", host, g.DB.Limit(), res.Status, want)
		}
	}
}

// gRPC has a health service that reports changes. Connect's is asked for each answer.
func TestHealthServicesTellOfTheGatesUnderAnExtraName(t *testing.T) {
	t.Parallel()
	const serving, notServing = healthv1.HealthCheckResponse_SERVING, healthv1.HealthCheckResponse_NOT_SERVING
	g := gates(t)
	_, addr := startWith(t, g, nil, ops(false))
	client := healthv1.NewHealthClient(dial(t, addr))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	watch, err := client.Watch(ctx, &healthv1.HealthCheckRequest{Service: server.HealthOfGates})
	if err != nil {
		t.Fatal(err)
	}
	await := func(want healthv1.HealthCheckResponse_ServingStatus) {
		for {
			res, err := watch.Recv()
			if err != nil {
				t.Fatalf("want %s, got error %v", want, err)
			}
			if res.GetStatus() == want {
				return
			}
		}
	}
	await(serving)
	fill(t, g.DB)
	rejectOne(t, g.DB)
	await(notServing)

	viaConnect := connect.NewClient[healthv1.HealthCheckRequest, healthv1.HealthCheckResponse](
		h2c(t), "http://"+addr+healthv1.Health_Check_FullMethodName)
	for service, want := range map[string]healthv1.HealthCheckResponse_ServingStatus{
		server.HealthOfGates: notServing, ordersv1connect.OrderServiceName: serving, "": serving,
	} {
		res, err := viaConnect.CallUnary(t.Context(), connect.NewRequest(&healthv1.HealthCheckRequest{Service: service}))
		if err != nil || res.Msg.GetStatus() != want {
			t.Errorf("Connect, %q: %v, error %v; want %s", service, res, err, want)
		}
	}
	res, err := client.Check(t.Context(), &healthv1.HealthCheckRequest{})
	if err != nil || res.GetStatus() != serving {
		t.Errorf("gRPC, the server itself: %v, error %v; want %s", res, err, serving)
	}
}
