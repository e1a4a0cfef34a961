package gatedebug

import (
	"context"
	"fmt"
	"testing"

	"github.com/rpcgate/rpcgate/gate"
)

// BenchmarkCall is a call that is admitted at once: without a page, with a page
// without viewers, and with a page on which a viewer has the gate open.
func BenchmarkCall(b *testing.B) {
	for _, bench := range []struct {
		name  string
		setUp func(*gate.Gate)
	}{
		{"Base", func(*gate.Gate) {}},
		{"WithHealth", func(g *gate.Gate) { Health(g) }},
		{"WithPage", func(g *gate.Gate) { Handler(g) }},
		{"WithPageOpen", func(g *gate.Gate) { Handler(g).(*page).hub.watches[0].open.Add(1) }},
	} {
		b.Run(bench.name, func(b *testing.B) {
			g := mustGate(b, "db", 1000)
			bench.setUp(g)
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

// BenchmarkRefusal is a call that is rejected at once.
func BenchmarkRefusal(b *testing.B) {
	for _, bench := range []struct {
		name  string
		setUp func(*gate.Gate)
	}{
		{"Base", func(*gate.Gate) {}},
		{"WithHealth", func(g *gate.Gate) { Health(g) }},
		{"WithPage", func(g *gate.Gate) { Handler(g) }},
	} {
		b.Run(bench.name, func(b *testing.B) {
			g := mustGate(b, "db", 1, gate.WithMaxWait(0))
			bench.setUp(g)
			hold(b, g, gate.Call{})
			ctx := context.Background()
			call := gate.Call{Route: "/orders.v1.OrderService/ListOpen", RequestID: "r1"}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := g.Acquire(ctx, call); err == nil {
					b.Fatal("a full gate took one more")
				}
			}
		})
	}
}

// BenchmarkSample is the work of the sampler in one interval.
func BenchmarkSample(b *testing.B) {
	for _, n := range []int{10, 1000} {
		b.Run(fmt.Sprint(n, "Gates"), func(b *testing.B) {
			gates := make([]*gate.Gate, n)
			for i := range gates {
				gates[i] = mustGate(b, fmt.Sprint("gate-", i), 16)
				for range 8 {
					hold(b, gates[i], gate.Call{Route: "/a"})
				}
			}
			h := newPage(gates).hub
			h.gates = make([]sampled, n)
			b.ReportAllocs()
			for b.Loop() {
				h.sampleLocked()
				h.tickMessageLocked()
			}
		})
	}
}
