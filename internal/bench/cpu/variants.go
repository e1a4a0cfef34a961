package cpu

import (
	"context"
	"slices"
	"time"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/internal/bench/echo"
	"github.com/rpcgate/rpcgate/internal/bench/telemetry"
)

// variant is one way to serve.
type variant struct {
	group, name string
	does        outcome
	base        bool // of its group: what the others are compared with
	// small and large are the targets for requests of 100 B and 64 KiB; 0: none.
	small, large float64
	gate         *gate.Gate // made for what the variant does
	serve        func(*gate.Gate) (echo.Server, error)
	waiting      func() int // is the number of calls that wait
}

// outcome is what becomes of the calls of a variant.
type outcome int

const (
	accepts outcome = iota
	refuses
	parks // calls wait until they are canceled
)

// room is more than there are callers.
const room = 1 << 12

// variants are all that a server process serves.
func variants() []variant {
	all := slices.Concat(grpcVariants(), otelVariants(telemetry.New()), connectVariants(), connectV2Variants(),
		parkingVariants())
	for i := range all {
		v := &all[i]
		v.gate = newGate(v.does)
		if v.waiting == nil {
			v.waiting = v.gate.Waiting
		}
	}
	return all
}

func newGate(o outcome) *gate.Gate {
	switch o {
	case refuses:
		return taken(gate.WithMaxWait(0))
	case parks:
		return taken(gate.WithMaxWait(time.Hour), gate.WithMaxWaiting(room))
	default:
		return gate.Must(gate.New("bench", room))
	}
}

// taken is a gate whose only unit is never released.
func taken(opts ...gate.Option) *gate.Gate {
	g := gate.Must(gate.New("bench", 1, opts...))
	if _, err := g.Acquire(context.Background(), gate.Call{}); err != nil {
		panic(err)
	}
	return g
}

// target is that for a size of request.
func (v variant) target(size int) float64 {
	if size == small {
		return v.small
	}
	return v.large
}
