package growth

import (
	"context"
	"fmt"
	"math"
	"runtime"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/internal/bench/measure"
	"github.com/rpcgate/rpcgate/internal/bench/report"
)

const million = 1_000_000

// keys is a gate that is fair between clients, of which it sees one, or one after the other a million.
func keys(lab *measure.Lab) (report.Section, error) {
	list := names("client-%07d", million)
	var cases []measure.Case
	for _, c := range []struct {
		name string
		list []string
	}{{"1 key", list[:1]}, {"1,000,000 keys, the next one each time", list}} {
		g, err := gate.New("bench", room, gate.WithKeyLimit(4))
		if err != nil {
			return report.Section{}, err
		}
		at := 0
		cases = append(cases, measure.Case{Name: c.name, Run: func(n int) {
			for range n {
				if at++; at >= len(c.list) {
					at = 0
				}
				pass(g, c.list[at]).Release()
			}
		}})
	}
	return report.Section{
		Title: "growth in keys: admissions with WithKeyLimit, 1 goroutine; x of 1 key",
		Rows:  compare(lab, cases),
	}, nil
}

// memory is what is left on the heap by what has been and gone. A gate keeps a slot for each call that was ever there
// at once, but nothing of those that came after each other.
func memory(lab *measure.Lab) (report.Section, error) {
	n := million
	if lab.Quick() {
		n /= 20
	}
	var rows []report.Row
	for _, atOnce := range []int{1, room} {
		few := retained(func() any { return afterKeys(atOnce, atOnce) })
		many := retained(func() any { return afterKeys(n, atOnce) })
		base := report.NewRow(fmt.Sprintf("gate, keys seen: %d, at a time: %d", atOnce, atOnce), few, "B")
		grown := report.NewRow(fmt.Sprintf("gate, keys seen: %d, at a time: %d", n, atOnce), many, "B")
		// A map that was in use may be bigger than a new one: an allowance of 2 KiB.
		grown.Targets = []report.Target{report.AtMost(math.Round(few*flat+2048), "B", many)}
		rows = append(rows, base, grown)
	}
	rows = append(rows, report.NewRow("policy of 10,000 routes", retained(bigPolicy), "B"))
	return report.Section{Title: "memory retained, everybody gone", Rows: rows}, nil
}

func bigPolicy() any {
	g, rules := keyed(), make([]gate.Rule, 10_000)
	for i, route := range names(methodName, len(rules)) {
		rules[i] = gate.Route(route, g)
	}
	p, err := gate.NewPolicy(rules...)
	if err != nil {
		panic(err)
	}
	return p
}

func keyed() *gate.Gate {
	return gate.Must(gate.New("bench", room, gate.WithKeyLimit(4), gate.WithMaxWait(0)))
}

// afterKeys is a gate that n calls with keys of their own have gone through, so many at once.
func afterKeys(n, atOnce int) *gate.Gate {
	g := keyed()
	leases := make([]gate.Lease, atOnce)
	for i := range n {
		leases[i%atOnce].Release()
		leases[i%atOnce] = pass(g, fmt.Sprintf("client-%07d", i))
	}
	for _, l := range leases {
		l.Release()
	}
	return g
}

func pass(g *gate.Gate, key string) gate.Lease {
	lease, err := g.Acquire(context.Background(), gate.Call{Key: key})
	if err != nil {
		panic(err)
	}
	return lease
}

// retained is what the value that f makes keeps on the heap, the least of three times: others of the process allocate,
// too.
func retained(f func() any) float64 {
	least := math.Inf(1)
	for range 3 {
		before := heap()
		kept := f()
		least = min(least, float64(heap())-float64(before))
		runtime.KeepAlive(kept)
	}
	return max(0, least)
}

func heap() uint64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.GC() // pools are emptied by the second
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}
