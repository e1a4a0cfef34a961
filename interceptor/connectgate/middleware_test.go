package connectgate_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor/connectgate"
	"github.com/rpcgate/rpcgate/internal/memhttp"
)

func TestMiddlewareRefusesBeforeTheBodyIsSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t)
		defer fill(t, g)()
		s := memhttp.Start(t, connectgate.NewMiddleware(g)(handlerV1(nil)))
		began := time.Now()
		// A body of this length never comes. The answer waits a moment for it.
		res, body := exchange(t, s, strings.Replace(postUnary, "Content-Length: 2", "Content-Length: 1000", 1))
		checkUnaryHead(t, res, http.StatusTooManyRequests)
		checkError(t, body, "resource_exhausted", "LIMIT")
		if took := time.Since(began); took != 10*time.Millisecond || !res.Close {
			t.Errorf("the refusal took %s, and closes the connection: %t", took, res.Close)
		}
	})
}

func TestCallIsNotGatedTwice(t *testing.T) {
	for name, inner := range map[string]func(*gate.Gate) http.Handler{
		"v1": func(g *gate.Gate) http.Handler { return servers(g, nil)["v1"] },
		"v2": func(g *gate.Gate) http.Handler { return servers(g, nil)["v2"] },
	} {
		t.Run(name, func(t *testing.T) {
			eachShape(t, func(t *testing.T, route string) {
				g := newGate(t)
				s := memhttp.Start(t, connectgate.NewMiddleware(g)(inner(g)))
				if err := callGRPC(t.Context(), dialGRPC(t, s), route); err != nil {
					t.Fatal(err)
				}
				if n := g.Snapshot().Totals.Accepted; n != 1 {
					t.Errorf("the gate has admitted the call %d times", n)
				}
			})
		})
	}
}

func TestOtherRequestsPassTheMiddlewareOfAFullGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t)
		defer fill(t, g)()
		passed := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
		s := memhttp.Start(t, connectgate.NewMiddleware(g)(passed))
		for _, request := range []string{
			"GET / HTTP/1.1\nHost: test\n\n",
			"GET " + unaryRoute + " HTTP/1.1\nHost: test\n\n",
			"OPTIONS " + unaryRoute + " HTTP/1.1\nHost: test\nContent-Type: application/json\n\n",
			"POST " + unaryRoute + " HTTP/1.1\nHost: test\nContent-Type: text/plain\nContent-Length: 0\n\n",
			"POST /upload HTTP/1.1\nHost: test\nContent-Type: application/json\nContent-Length: 0\n\n",
			"POST /grpc.health.v1.Health/Check HTTP/1.1\nHost: test\nContent-Type: application/grpc\nContent-Length: 0\n\n",
		} {
			if res, _ := exchange(t, s, request); res.StatusCode != http.StatusNoContent {
				t.Errorf("%s: status %s", strings.SplitN(request, "\n", 2)[0], res.Status)
			}
		}
	})
}

func TestDisguisedCallsDoNotPassTheMiddleware(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t)
		defer fill(t, g)()
		s := memhttp.Start(t, connectgate.NewMiddleware(g)(handlerV1(func(context.Context) error {
			t.Error("a call has passed a full gate")
			return nil
		})))
		for _, request := range []string{
			strings.Replace(getUnary, "encoding=", "encod%69ng=", 1),
			strings.Replace(getUnary, "message=", "%6Dessage=", 1),
			strings.Replace(postUnary, "application/json", "APPLICATION/JSON ; charset=UTF-8", 1),
			strings.Replace(postUnary, "application/json", "application/thrift", 1),
			"POST " + serverStreamRoute + " HTTP/1.1\nHost: test\nContent-Type: application/connect+json\n" +
				"Content-Length: 7\nConnection: close\n\n" + envelope(0, "{}"),
		} {
			before := g.Snapshot().Totals.RejectedBusy
			if exchange(t, s, request); g.Snapshot().Totals.RejectedBusy != before+1 {
				t.Errorf("not gated:\n%s", request)
			}
		}
	})
}

func TestMiddlewareHoldsTheLeaseUntilTheHandlerHasReturned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t)
		hold := make(chan struct{})
		s := memhttp.Start(t, connectgate.NewMiddleware(g)(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "{}")
			_ = http.NewResponseController(w).Flush()
			<-hold
		})))
		res, err := s.Client().Post(s.URL+unaryRoute, "application/json", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		if n := g.InFlight(); n != 1 {
			t.Errorf("%d in flight while the handler has not returned", n)
		}
		close(hold)
		_ = res.Body.Close()
	})
}

func TestMiddlewareReleasesTheLeaseWhateverTheHandlerDoes(t *testing.T) {
	for name, broken := range map[string]func(){
		"panic":  func() { panic("broken on purpose") },
		"abort":  func() { panic(http.ErrAbortHandler) },
		"goexit": runtime.Goexit,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGate(t)
				s := memhttp.Start(t, connectgate.NewMiddleware(g)(http.HandlerFunc(
					func(http.ResponseWriter, *http.Request) { broken() })))
				for _, client := range []*http.Client{s.Client(), s.ClientHTTP2()} {
					ctx, cancel := context.WithTimeout(t.Context(), time.Second)
					r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+unaryRoute, nil)
					if err != nil {
						t.Fatal(err)
					}
					r.Header.Set("Content-Type", "application/json")
					if res, err := client.Do(r); err == nil {
						t.Errorf("got %s", res.Status)
						_ = res.Body.Close()
					}
					cancel()
				}
				synctest.Wait()
				if n := g.Snapshot().Totals.Accepted; n != 2 || g.InFlight() != 0 {
					t.Errorf("%d calls admitted and %d in flight, want 2 and 0", n, g.InFlight())
				}
			})
		})
	}
}

func TestHandlersDeadlineBeginsWhenTheCallArrives(t *testing.T) {
	for protocol, request := range map[string]string{
		"Connect": "Content-Type: application/json\nConnect-Timeout-Ms: 2000",
		"gRPC":    "Content-Type: application/grpc\nGrpc-Timeout: 2S",
	} {
		t.Run(protocol, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGate(t, gate.WithMaxWait(time.Minute))
				time.AfterFunc(700*time.Millisecond, fill(t, g))
				began := time.Now()
				var deadline time.Time
				inner := handlerV1(func(ctx context.Context) error { deadline, _ = ctx.Deadline(); return nil })
				exchange(t, memhttp.Start(t, connectgate.NewMiddleware(g)(inner)), "POST "+unaryRoute+
					" HTTP/1.1\nHost: test\nContent-Length: 5\nConnection: close\n"+request+"\n\n"+envelopeOrJSON(protocol))
				if got := deadline.Sub(began); got != 2*time.Second {
					t.Errorf("the handler has until %s after the arrival, want 2 s", got)
				}
			})
		})
	}
}

func envelopeOrJSON(protocol string) string {
	if protocol == "Connect" {
		return "{}   "
	}
	return envelope(0, "")
}

func TestWaitLeavesHalfOfTheClientsTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, gate.WithMaxWait(time.Minute))
		defer fill(t, g)()
		s := memhttp.Start(t, connectgate.NewMiddleware(g)(handlerV1(nil)))
		began := time.Now()
		res, body := exchange(t, s, strings.Replace(postUnary, "\n\n", "\nConnect-Timeout-Ms: 2000\n\n", 1))
		checkUnaryHead(t, res, http.StatusTooManyRequests)
		checkError(t, body, "resource_exhausted", "WAIT_TIMEOUT")
		if took := time.Since(began); took != time.Second {
			t.Errorf("waited %s, want 1 s", took)
		}
	})
}

// TestWaitLeavesHalfOfTheSoonerDeadline has a server that limits the time of its calls, too.
func TestWaitLeavesHalfOfTheSoonerDeadline(t *testing.T) {
	for server, want := range map[time.Duration]time.Duration{
		time.Second: time.Second / 2, 2 * time.Second: time.Second, time.Hour: time.Second,
	} {
		synctest.Test(t, func(t *testing.T) {
			g := newGate(t, gate.WithMaxWait(time.Minute))
			defer fill(t, g)()
			gated := connectgate.NewMiddleware(g)(handlerV1(nil))
			s := memhttp.Start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				ctx, cancel := context.WithTimeout(r.Context(), server)
				defer cancel()
				gated.ServeHTTP(w, r.WithContext(ctx))
			}))
			began := time.Now()
			exchange(t, s, strings.Replace(postUnary, "\n\n", "\nConnect-Timeout-Ms: 2000\n\n", 1))
			if took := time.Since(began); took != want {
				t.Errorf("waited %s, want %s if the server allows %s and the client 2s", took, want, server)
			}
		})
	}
}

func TestMiddlewareKnowsTheCallFromItsHeaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls []gate.Call
		g := newGate(t, gate.WithOnEvent(func(_ context.Context, e gate.Event) {
			if e.Kind == gate.EventDecision {
				calls = append(calls, e.Call)
			}
		}))
		s := memhttp.Start(t, connectgate.NewMiddleware(g)(handlerV1(nil)))
		exchange(t, s, postUnary)
		exchange(t, s, strings.Replace(postUnary, unaryRoute, "/api/x.Y/Made-Up", 1))
		if len(calls) != 2 {
			t.Fatalf("%d calls, want 2", len(calls))
		}
		want := gate.Call{Route: unaryRoute, RequestID: "id-1", RemoteIP: "192.0.2.7", Size: 2}
		if calls[0] != want {
			t.Errorf("got %+v, want %+v", calls[0], want)
		}
		want.Route, want.UnknownRoute = "/x.Y/Made-Up", true
		if calls[1] != want {
			t.Errorf("got %+v, want %+v", calls[1], want)
		}
	})
}

func TestMiddlewareLeavesStreamsWithHoldMessageToTheInterceptor(t *testing.T) {
	eachShape(t, func(t *testing.T, route string) {
		g := newGate(t)
		p, err := gate.NewPolicy(gate.Route("*", g).Stream(gate.HoldMessage))
		if err != nil {
			t.Fatal(err)
		}
		inner := handlerV1(nil, connectgate.NewInterceptor(p))
		s := memhttp.Start(t, connectgate.NewMiddleware(p)(inner))
		if err := callGRPC(t.Context(), dialGRPC(t, s), route); err != nil {
			t.Fatal(err)
		}
		if n := g.Snapshot().Totals.Accepted; n != 1 {
			t.Errorf("%d leases were taken, want 1 for the one message", n)
		}
	})
}

func TestMiddlewareWithHoldOpeningHoldsToTheFirstBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t)
		p, err := gate.NewPolicy(gate.Route("*", g).Stream(gate.HoldOpening))
		if err != nil {
			t.Fatal(err)
		}
		var steps []int64
		h := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			steps = append(steps, g.InFlight())
			w.WriteHeader(200)
			_ = http.NewResponseController(w).Flush()
			steps = append(steps, g.InFlight())
			_, _ = w.Write([]byte("x"))
			steps = append(steps, g.InFlight())
		})
		s := memhttp.Start(t, connectgate.NewMiddleware(p)(h))
		callHTTP2(t, s, serverStreamRoute, true, nil, "")
		if fmt.Sprint(steps) != "[1 1 0]" {
			t.Errorf("in flight at the start, after the headers, after the first byte: %v, want 1, 1, 0", steps)
		}
	})
}

func TestBothVersionsOfConnectShareOneLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t)
		hold := make(chan struct{})
		mux := http.NewServeMux()
		mux.Handle("/v1/", http.StripPrefix("/v1", handlerV1(func(context.Context) error { <-hold; return nil }, connectgate.NewInterceptor(g))))
		mux.Handle("/v2/", http.StripPrefix("/v2", handlerV2(nil, connectgate.NewServerInterceptor(g))))
		s := memhttp.Start(t, mux)
		done := make(chan int)
		go func() {
			res, err := s.Client().Post(s.URL+"/v1"+unaryRoute, "application/json", strings.NewReader("{}"))
			if err != nil {
				t.Error(err)
			}
			_ = res.Body.Close()
			done <- res.StatusCode
		}()
		synctest.Wait()
		v2 := strings.Replace(postUnary, unaryRoute, "/v2"+unaryRoute, 1)
		if res, _ := exchange(t, s, v2); res.StatusCode != http.StatusTooManyRequests {
			t.Errorf("v2 is answered with %s while v1 holds the lease", res.Status)
		}
		close(hold)
		if status := <-done; status != http.StatusOK {
			t.Errorf("v1 is answered with %d", status)
		}
		if res, _ := exchange(t, s, v2); res.StatusCode != http.StatusOK {
			t.Errorf("v2 is answered with %s when the unit is free", res.Status)
		}
	})
}

func TestMiddlewareFramesOtherErrorsToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		late, stop := context.WithDeadline(t.Context(), time.Unix(0, 0))
		defer stop()
		g := newGate(t)
		for name, test := range map[string]struct {
			ctx          context.Context
			code, status string
			http         int
		}{
			"gone": {ended, "canceled", "1", 499},
			"late": {late, "deadline_exceeded", "4", http.StatusGatewayTimeout},
		} {
			answer := func(contentType string) *httptest.ResponseRecorder {
				r := httptest.NewRequestWithContext(test.ctx, http.MethodPost, unaryRoute, nil)
				r.Header.Set("Content-Type", contentType)
				w := httptest.NewRecorder()
				connectgate.NewMiddleware(g)(http.NotFoundHandler()).ServeHTTP(w, r)
				return w
			}
			unary, stream := answer("application/json"), answer("application/connect+proto")
			if !strings.HasPrefix(unary.Body.String(), `{"code":"`+test.code+`",`) || unary.Code != test.http {
				t.Errorf("%s: a unary call got %d %s", name, unary.Code, unary.Body)
			}
			end := stream.Body.Bytes()
			if stream.Code != 200 || int(binary.BigEndian.Uint32(end[1:5])) != len(end)-5 ||
				!strings.HasPrefix(string(end[5:]), `{"error":{"code":"`+test.code+`",`) {
				t.Errorf("%s: a stream got %d %q", name, stream.Code, end)
			}
			for _, contentType := range []string{"application/grpc", "application/grpc-web+proto"} {
				if h := answer(contentType).Header(); h.Get("Grpc-Status") != test.status || h.Get("Content-Type") != contentType {
					t.Errorf("%s: a call of %s got %v", name, contentType, h)
				}
			}
		}
	})
}
