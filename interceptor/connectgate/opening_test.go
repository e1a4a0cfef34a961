package connectgate_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"

	"connectrpc.com/connect"
	connectv2 "connectrpc.com/connect/v2"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor/connectgate"
)

// lonelyConn and lonelyStream are streams without a server around them.
type (
	lonelyConn struct {
		connect.StreamingHandlerConn
		sent error
	}
	lonelyStream struct {
		connectv2.ServerStream
		sent error
	}
)

func (lonelyConn) Spec() connect.Spec {
	return connect.Spec{StreamType: connect.StreamTypeServer, Procedure: serverStreamRoute}
}
func (lonelyConn) Peer() connect.Peer         { return connect.Peer{} }
func (lonelyConn) RequestHeader() http.Header { return http.Header{} }
func (c lonelyConn) Send(any) error           { return c.sent }
func (s lonelyStream) Send(any) error         { return s.sent }

// TestHoldOpeningEndsWithTheFirstMessageAlsoIfItIsNotSent sends two messages. A nil one sends only the headers, in both
// versions of Connect.
func TestHoldOpeningEndsWithTheFirstMessageAlsoIfItIsNotSent(t *testing.T) {
	// serve runs a handler with a function that sends a message. Each call of that function returns sent.
	type serve func(t *testing.T, a gate.Admitter, sent error, handler func(send func(any) error) error) error
	versions := map[string]serve{
		"v1": func(t *testing.T, a gate.Admitter, sent error, handler func(func(any) error) error) error {
			h := connectgate.NewInterceptor(a).WrapStreamingHandler(func(_ context.Context, c connect.StreamingHandlerConn) error {
				return handler(c.Send)
			})
			return h(t.Context(), lonelyConn{sent: sent})
		},
		"v2": func(t *testing.T, a gate.Admitter, sent error, handler func(func(any) error) error) error {
			h := connectgate.NewServerInterceptor(a)(func(_ context.Context, _ connectv2.Spec, s connectv2.ServerStream) error {
				return handler(s.Send)
			})
			spec := connectv2.Spec{StreamType: connectv2.StreamTypeServer, Procedure: serverStreamRoute}
			return h(t.Context(), spec, lonelyStream{sent: sent})
		},
	}
	errSent := errors.New("too large")
	for name, test := range map[string]struct {
		messages [2]any
		sent     error
		want     string // in flight before, between and after
	}{
		"messages":             {[2]any{"a", "b"}, nil, "[1 0 0]"},
		"headers, message":     {[2]any{nil, "b"}, nil, "[1 1 0]"},
		"messages that failed": {[2]any{"a", "b"}, errSent, "[1 0 0]"},
	} {
		for version, serve := range versions {
			g := gate.Must(gate.New("db", 1))
			p, err := gate.NewPolicy(gate.Route("*", g).Stream(gate.HoldOpening))
			if err != nil {
				t.Fatal(err)
			}
			var steps []int64
			err = serve(t, p, test.sent, func(send func(any) error) error {
				steps = append(steps, g.InFlight())
				for _, m := range test.messages {
					if err := send(m); !errors.Is(err, test.sent) {
						t.Errorf("%s, %s: Send returned %v, want %v", name, version, err, test.sent)
					}
					steps = append(steps, g.InFlight())
				}
				return nil
			})
			if err != nil || fmt.Sprint(steps) != test.want {
				t.Errorf("%s, %s: %v in flight before and after each message, want %s; error %v", name, version, steps, test.want, err)
			}
		}
	}
}
