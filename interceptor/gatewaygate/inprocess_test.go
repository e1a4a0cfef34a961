package gatewaygate_test

import (
	"context"
	"testing"
	"testing/synctest"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/rpcgate/rpcgate/gate"
	testv1 "github.com/rpcgate/rpcgate/gen/rpcgate/test/v1"
	"github.com/rpcgate/rpcgate/interceptor/gatewaygate"
)

func TestInProcessCallsGoThroughTheGateWithTheirCallersAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls []gate.Call
		g := newGate(gate.WithOnEvent(func(_ context.Context, e gate.Event) {
			if e.Kind == gate.EventDecision {
				calls = append(calls, e.Call)
			}
		}))
		if w := post(gateway(t, g), "/v1/echo", "hi"); w.Code != 200 {
			t.Fatalf("got %d, %s", w.Code, w.Body)
		}
		// httptest.NewRequest comes from 192.0.2.1.
		if len(calls) != 1 || calls[0].RemoteIP != "192.0.2.1" || calls[0].RequestID != "abc-123" {
			t.Errorf("the gate saw %+v, want one call of the gateway's client, with its request id", calls)
		}
	})
}

func TestInProcessRefusesWhatCannotServe(t *testing.T) {
	if _, err := gatewaygate.InProcess(nil); err == nil {
		t.Error("no error for a server that is nil")
	}
	srv := grpc.NewServer()
	srv.Stop()
	conn, err := gatewaygate.InProcess(srv)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, err = testv1.NewEchoServiceClient(conn).Unary(t.Context(), &testv1.UnaryRequest{})
	if status.Code(err) != codes.Unavailable {
		t.Errorf("got %v from a server that was stopped, want Unavailable", err)
	}
}
