package calls

import (
	"context"
	"net/http"
	"time"

	"connectrpc.com/connect"
	connectv2 "connectrpc.com/connect/v2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/tap"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor/connectgate"
	"github.com/rpcgate/rpcgate/interceptor/grpcgate"
	"github.com/rpcgate/rpcgate/interceptor/httpgate"
	"github.com/rpcgate/rpcgate/internal/bench/echo"
	"github.com/rpcgate/rpcgate/internal/bench/measure"
	"github.com/rpcgate/rpcgate/internal/bench/report"
)

// refused measures what a refusal takes up to where it is handed to the host, with the error and all its details. The
// host has yet to encode them, but for the middleware, which writes the answer itself.
func refused(lab *measure.Lab, table *report.Table) error {
	var rows []report.Row
	for _, live := range []func(func(*inside)) error{inGRPC, inConnectV1, inConnectV2, inHTTP} {
		err := live(func(i *inside) {
			timings := lab.Time(lab.Plan(31, 4*time.Millisecond), i.refusals())
			rows = append(rows, report.Timings(timings, "")...)
		})
		if err != nil {
			return err
		}
	}
	table.Add(report.Section{Title: "a refusal by the interceptor alone, all details built", Rows: rows})
	return nil
}

func full() *gate.Gate {
	g := gate.Must(gate.New("full", 1, gate.WithMaxWait(0)))
	_, err := g.Acquire(context.Background(), gate.Call{})
	check(err)
	return g
}

func (i *inside) refusals() []measure.Case {
	switch {
	case i.grpc != nil:
		return i.grpc.refusals()
	case i.connectV1 != nil:
		return i.connectV1.refusals()
	case i.connectV2 != nil:
		return i.connectV2.refusals()
	default:
		return []measure.Case{refusedHTTP("httpgate, answer written", i.http.r, httpgate.NewMiddleware(full()))}
	}
}

func (c *grpcCall) refusals() []measure.Case {
	// Trailers of a real call would add up.
	ctx := grpc.NewContextWithServerTransportStream(c.ctx, forgetful{})
	intercept := grpcgate.UnaryServerInterceptor(full())
	look, info := grpcgate.TapHandle(full()), &tap.Info{FullMethodName: echo.Route}
	return []measure.Case{
		{Name: "grpcgate, interceptor", Run: func(n int) {
			for range n {
				_, err := intercept(ctx, c.req, c.info, nil)
				refuse(err)
			}
		}},
		{Name: "grpcgate, TapHandle", Run: func(n int) {
			for range n {
				_, err := look(ctx, info)
				refuse(err)
			}
		}},
	}
}

// forgetful is a stream that keeps nothing.
type forgetful struct{}

func (forgetful) Method() string               { return echo.Route }
func (forgetful) SetHeader(metadata.MD) error  { return nil }
func (forgetful) SendHeader(metadata.MD) error { return nil }
func (forgetful) SetTrailer(metadata.MD) error { return nil }

func (c *connectCallV1) refusals() []measure.Case {
	next := func(context.Context, connect.AnyRequest) (connect.AnyResponse, error) { return nil, nil }
	gated := connectgate.NewInterceptor(full()).WrapUnary(next)
	return []measure.Case{
		{Name: "connectgate v1, interceptor", Run: func(n int) {
			for range n {
				_, err := gated(c.ctx, c.req)
				refuse(err)
			}
		}},
		refusedHTTP("connectgate, Middleware, answer written", c.r, connectgate.NewMiddleware(full())),
	}
}

func (c *connectCallV2) refusals() []measure.Case {
	next := func(context.Context, connectv2.Spec, connectv2.ServerStream) error { return nil }
	gated := connectgate.NewServerInterceptor(full())(next)
	return []measure.Case{{Name: "connectgate v2, interceptor", Run: func(n int) {
		for range n {
			refuse(gated(c.ctx, c.spec, c.stream))
		}
	}}}
}

func refusedHTTP(name string, r *http.Request, middleware func(http.Handler) http.Handler) measure.Case {
	h := middleware(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("let in") }))
	return measure.Case{Name: name, Run: func(n int) {
		w := &nowhere{header: make(http.Header)}
		for range n {
			clear(w.header)
			h.ServeHTTP(w, r)
		}
	}}
}

// nowhere is an answer that nobody gets.
type nowhere struct{ header http.Header }

func (w *nowhere) Header() http.Header         { return w.header }
func (w *nowhere) Write(b []byte) (int, error) { return len(b), nil }
func (w *nowhere) WriteHeader(int)             {}

func refuse(err error) {
	if err == nil {
		panic("let in")
	}
}
