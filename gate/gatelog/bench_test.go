package gatelog_test

import (
	"context"
	"io"
	"log/slog"
	"testing"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/gate/gatelog"
)

func quiet() *gatelog.Logger {
	return gatelog.New(slog.New(slog.NewTextHandler(io.Discard, nil)), gatelog.WithSampleRate(0))
}

// BenchmarkAggregated is what one aggregated decision costs.
func BenchmarkAggregated(b *testing.B) {
	for _, bench := range []struct {
		name  string
		event gate.Event
	}{{"accepted", accepted("/orders.v1.OrderService/ListOpen")}, {"rejected", rejected("/orders.v1.OrderService/ListOpen")}} {
		b.Run(bench.name, func(b *testing.B) {
			log := quiet()
			defer log.Close()
			ctx := context.Background()
			b.ReportAllocs()
			for b.Loop() {
				log.OnEvent(ctx, bench.event)
			}
		})
	}
}

func BenchmarkAggregatedParallel(b *testing.B) {
	log := quiet()
	defer log.Close()
	ctx := context.Background()
	e := accepted("/orders.v1.OrderService/ListOpen")
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			log.OnEvent(ctx, e)
		}
	})
}

type idle struct{}

func (idle) Interest(context.Context) gate.Interest { return gate.ObserveAll | gate.ObserveFixed }
func (idle) OnEvent(context.Context, gate.Event)    {}

// BenchmarkCall is a call at a gate, with an observer that does nothing and with
// a Logger in its place.
func BenchmarkCall(b *testing.B) {
	for _, bench := range []struct {
		name     string
		observer func() gate.Observer
	}{
		{"Base", func() gate.Observer { return idle{} }},
		{"WithLogger", func() gate.Observer { return quiet() }},
	} {
		b.Run(bench.name, func(b *testing.B) {
			g := gate.Must(gate.New("db", 1000))
			g.Observe(bench.observer())
			ctx := context.Background()
			call := gate.Call{Route: "/orders.v1.OrderService/ListOpen"}
			b.ReportAllocs()
			for b.Loop() {
				lease, err := g.Acquire(ctx, call)
				if err != nil {
					b.Fatal(err)
				}
				lease.Release()
			}
		})
	}
}
