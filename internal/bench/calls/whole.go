package calls

import (
	"context"
	"fmt"
	"time"

	"connectrpc.com/connect"
	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/bulkhead"
	"github.com/failsafe-go/failsafe-go/failsafegrpc"
	"google.golang.org/grpc"

	"github.com/rpcgate/rpcgate/interceptor/connectgate"
	"github.com/rpcgate/rpcgate/interceptor/grpcgate"
	"github.com/rpcgate/rpcgate/internal/bench/echo"
	"github.com/rpcgate/rpcgate/internal/bench/measure"
	"github.com/rpcgate/rpcgate/internal/bench/report"
	"github.com/rpcgate/rpcgate/internal/bench/telemetry"
)

// kind is servers that differ in what is in front of their handler. The first one is the base of the others.
type kind struct {
	name    string
	servers []served
}

type served struct {
	name  string
	serve func() (echo.Server, error)
}

// whole measures calls from end to end, client and server in this one process.
func whole(lab *measure.Lab, table *report.Table) error {
	sdk := telemetry.New()
	defer sdk.Close()
	for _, k := range []kind{grpcKind(), grpcToldKind(sdk), connectKind(), connectV2Kind()} {
		for _, callers := range []int{1, 64} {
			if err := k.measure(lab, table, callers); err != nil {
				return fmt.Errorf("%s: %w", k.name, err)
			}
		}
	}
	return nil
}

func (k kind) measure(lab *measure.Lab, table *report.Table, callers int) error {
	var cases []measure.Case
	for _, s := range k.servers {
		server, err := s.serve()
		if err != nil {
			return err
		}
		defer server.Close()
		client, err := echo.NewClient(server.Protocol, server.Addr, 100)
		if err != nil {
			return err
		}
		defer client.Close()
		if err := client.Expect(context.Background(), false); err != nil {
			return err
		}
		cases = append(cases, measure.Case{Name: s.name, Run: func(n int) {
			for range n {
				check(client.Call(context.Background()))
			}
		}})
	}
	plan := lab.Plan(11, 100*time.Millisecond)
	plan.Workers, plan.TwoCores = callers, measure.TwoCoresCall
	table.Add(report.Section{
		Title: fmt.Sprintf("whole call, %s, 100 B over loopback, callers: %d; x of %s", k.name, callers, k.servers[0].name),
		Rows:  report.Timings(lab.Time(plan, cases), k.servers[0].name),
	})
	return nil
}

func grpcKind() kind {
	serve := func(opts ...grpc.ServerOption) func() (echo.Server, error) {
		return func() (echo.Server, error) { return echo.NewGRPC(nil, opts...) }
	}
	wall := failsafegrpc.NewUnaryServerInterceptor[any](failsafe.Policy[any](bulkhead.New[any](1000)))
	return kind{"grpc-go", []served{
		{"no gate", serve()},
		{"grpcgate, interceptor", serve(grpcgate.ServerOptions(newGate())...)},
		{"grpcgate, BeforeDecode", func() (echo.Server, error) {
			return echo.NewGRPC(func(r grpc.ServiceRegistrar) grpc.ServiceRegistrar {
				return grpcgate.BeforeDecode(r, newGate())
			})
		}},
		{"failsafe bulkhead, interceptor", serve(grpc.UnaryInterceptor(wall))},
	}}
}

func grpcToldKind(sdk *telemetry.SDK) kind {
	return kind{"grpc-go with otelgrpc and an SDK", []served{
		{"no gate", func() (echo.Server, error) { return echo.NewGRPC(nil, sdk.OTelGRPC()) }},
		{"grpcgate, interceptor", func() (echo.Server, error) {
			return echo.NewGRPC(nil, append(grpcgate.ServerOptions(newGate(), sdk.Options()...), sdk.OTelGRPC())...)
		}},
	}}
}

func connectKind() kind {
	serve := func(in ...connect.Interceptor) func() (echo.Server, error) {
		return func() (echo.Server, error) { return echo.NewHTTP(echo.ConnectV1(in...)) }
	}
	return kind{"Connect v1", []served{
		{"no gate", serve()},
		{"connectgate, interceptor", serve(connectgate.NewInterceptor(newGate()))},
		{"connectgate, Middleware", func() (echo.Server, error) {
			return echo.NewHTTP(connectgate.NewMiddleware(newGate())(echo.ConnectV1()))
		}},
	}}
}

func connectV2Kind() kind {
	return kind{"Connect v2", []served{
		{"no gate", func() (echo.Server, error) { return echo.NewHTTP(echo.ConnectV2()) }},
		{"connectgate, interceptor", func() (echo.Server, error) {
			return echo.NewHTTP(echo.ConnectV2(connectgate.NewServerInterceptor(newGate())))
		}},
	}}
}
