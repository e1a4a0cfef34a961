package gate

import (
	"runtime"
	"testing"
	"weak"
)

// TestALongLeaseKeepsNoSlotsThatWereDropped has a lease that is given while many slots are free, and is still held when
// the gate no longer needs them.
func TestALongLeaseKeepsNoSlotsThatWereDropped(t *testing.T) {
	const peak, free = 10_000, 5_000
	for _, way := range []string{"fast path", "watched"} {
		g := Must(New("db", peak))
		if way == "watched" {
			g.Observe(&recorder{interest: ObserveFixed | ObserveAll})
		}
		leases := make([]Lease, peak)
		for i := range leases {
			leases[i] = g.mustTry(t)
		}
		slots := make([]weak.Pointer[slot], peak)
		for i, s := range g.slots {
			slots[i] = weak.Make(s)
		}
		for _, lease := range leases[:free] {
			lease.Release()
		}
		long := g.mustTry(t)
		for _, lease := range leases[free:] {
			lease.Release()
		}
		clear(leases)
		runtime.GC()
		alive := 0
		for _, s := range slots {
			if s.Value() != nil {
				alive++
			}
		}
		if most := len(g.slots) + 1; alive > most {
			t.Errorf("%s: %d slots are kept, want at most %d", way, alive, most)
		}
		long.Release()
	}
}

func (g *Gate) mustTry(t *testing.T) Lease {
	t.Helper()
	lease, err := g.TryAcquire(Call{})
	if err != nil {
		t.Fatal(err)
	}
	return lease
}
