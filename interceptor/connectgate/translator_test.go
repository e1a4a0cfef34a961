package connectgate_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"connectrpc.com/connect"
	connectv2 "connectrpc.com/connect/v2"

	"github.com/rpcgate/rpcgate/gate"
	testv1 "github.com/rpcgate/rpcgate/gen/rpcgate/test/v1"
	"github.com/rpcgate/rpcgate/gen/rpcgate/test/v1/testv1connect"
	"github.com/rpcgate/rpcgate/interceptor"
	"github.com/rpcgate/rpcgate/interceptor/connectgate"
	"github.com/rpcgate/rpcgate/internal/memhttp"
)

// TestGatesBeforeTheHostKnowTheCall has a gate in an interceptor, and in a handler behind nothing but a translator.
func TestGatesBeforeTheHostKnowTheCall(t *testing.T) {
	options := []connectgate.Option{
		interceptor.WithKeyFromHeader("X-Tenant"), interceptor.WithPriorityFromHeader("X-Priority"),
	}
	translators := map[string]func(work) http.Handler{
		"v1": func(w work) http.Handler { return handlerV1(w, connectgate.NewTranslator(options...)) },
		"v2": func(w work) http.Handler { return handlerV2(w, connectgate.NewServerTranslator(options...)) },
	}
	for name, serve := range translators {
		for route, contentType := range map[string]string{
			unaryRoute: "application/proto", serverStreamRoute: "application/connect+proto",
		} {
			t.Run(name+route, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var got gate.Call
					auth := newGate(t, gate.WithKeyLimit(1), gate.WithOnEvent(func(ctx context.Context, e gate.Event) {
						got = e.Call.Resolved(ctx)
					}))
					h := serve(func(ctx context.Context) error {
						return auth.Do(ctx, gate.Call{}, func(context.Context) error { return nil })
					})
					s := memhttp.Start(t, h)
					body := ""
					if route == serverStreamRoute {
						body = emptyMessage
					}
					r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+route, strings.NewReader(body))
					if err != nil {
						t.Fatal(err)
					}
					r.Header = http.Header{"Content-Type": {contentType}, "X-Request-Id": {"req-17"}, "X-Tenant": {"ann"}, "X-Priority": {"low"}}
					res, err := s.Client().Do(r)
					if err != nil {
						t.Fatal(err)
					}
					_ = res.Body.Close()
					if got.Route != route || got.Key != "ann" || got.Priority != gate.Low || got.RequestID != "req-17" || got.RemoteIP == "" {
						t.Errorf("the gate knows %+v", got)
					}
				})
			})
		}
	}
}

// TestATranslatorLeavesClientsAlone has one translator for handlers and clients, as a program may.
func TestATranslatorLeavesClientsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := newGate(t)
		defer fill(t, db)()
		s := memhttp.Start(t, handlerV1(nil))
		c := testv1connect.NewEchoServiceClient(s.Client(), s.URL,
			connect.WithInterceptors(connectgate.NewTranslator(), connectgate.NewInterceptor(db)))
		_, err := c.Unary(t.Context(), connect.NewRequest(&testv1.UnaryRequest{}))
		if !connectgate.IsLocal(err) {
			t.Errorf("got %v, want the rejection of the client's own gate", err)
		}
		stream := c.ClientStream(t.Context())
		if _, err := stream.CloseAndReceive(); !connectgate.IsLocal(err) {
			t.Errorf("a stream: got %v, want the rejection of the client's own gate", err)
		}
	})
}

// TestATranslatorChangesNoOtherError has an error that the handler gave a code of its own.
func TestATranslatorChangesNoOtherError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, h := range map[string]http.Handler{
			"v1": handlerV1(func(context.Context) error {
				return connect.NewError(connect.CodeNotFound, nil)
			}, connectgate.NewTranslator()),
			"v2": handlerV2(func(context.Context) error {
				return connectv2.NewError(connectv2.CodeNotFound, "")
			}, connectgate.NewServerTranslator()),
		} {
			s := memhttp.Start(t, h)
			c := testv1connect.NewEchoServiceClient(s.Client(), s.URL)
			_, err := c.Unary(t.Context(), connect.NewRequest(&testv1.UnaryRequest{}))
			if connect.CodeOf(err) != connect.CodeNotFound {
				t.Errorf("%s: got %v", name, err)
			}
		}
	})
}

func TestMistakesInOptionsOfATranslatorPanic(t *testing.T) {
	for name, f := range map[string]func(){
		"v1": func() { connectgate.NewTranslator(nil) },
		"v2": func() { connectgate.NewServerTranslator(nil) },
	} {
		func() {
			defer func() {
				if got, _ := recover().(string); !strings.HasPrefix(got, "connectgate: option 0: want") {
					t.Errorf("%s: got the panic %q", name, got)
				}
			}()
			f()
		}()
	}
}
