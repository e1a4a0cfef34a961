package gatedebug

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcgate/rpcgate/gate"
)

func thousand(t *testing.T) ([]*gate.Gate, *page) {
	gates := make([]*gate.Gate, 1000)
	for i := range gates {
		gates[i] = mustGate(t, fmt.Sprintf("gate-%03d", i), 2, gate.WithMaxWait(0))
	}
	return gates, newPage(gates)
}

// However many gates change, a tick stays small. Gates in trouble come first, and
// in the end every viewer has every row.
func TestTicksOfAThousandGatesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gates, p := thousand(t)
		v := join(t, p, "gate-000")
		defer func() { p.hub.leave(v) }()
		if n := len(v.next(t, "hello").data); n > 120_000 {
			t.Errorf("the first message has %d bytes", n)
		}
		v.next(t, "gate")
		time.Sleep(1500 * time.Millisecond)
		if tick := decode[ticked](t, v.next(t, "tick").data); len(tick.Rows) != 1000 && len(tick.Rows) != maxRows {
			t.Errorf("rates become known: want %d rows, got %d", maxRows, len(tick.Rows))
		}
		v.next(t, "update")
		for i, g := range gates {
			hold(t, g, gate.Call{})
			if i >= 990 {
				hold(t, g, gate.Call{})
				refuse(t, g, gate.Call{})
			}
		}
		known := map[int]bool{}
		for n := 0; len(known) < len(gates); n++ {
			if n > 11 {
				t.Fatalf("after %d ticks %d gates are known", n, len(known))
			}
			time.Sleep(time.Second)
			e := v.next(t, "tick")
			v.next(t, "update")
			tick := decode[ticked](t, e.data)
			if len(tick.Rows) > maxRows || len(e.data) > 20_000 {
				t.Errorf("tick %d: %d rows, %d bytes", n, len(tick.Rows), len(e.data))
			}
			for i, row := range tick.Rows {
				index := int(at(row, "gate").(float64))
				if n == 0 && (i < 10) != (index >= 990) {
					t.Errorf("row %d of the first tick is gate %d, those in trouble come first", i, index)
				}
				if at(row, "in_flight").(float64) > 0 {
					known[index] = true
				}
			}
		}
	})
}

func TestNothingChangedNothingIsSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPage([]*gate.Gate{mustGate(t, "a", 2), mustGate(t, "b", 2)})
		v := join(t, p, "a")
		defer p.hub.leave(v)
		time.Sleep(2500 * time.Millisecond)
		v.next(t, "hello")
		v.next(t, "gate")
		v.next(t, "tick") // the rates are known now
		v.next(t, "update")
		if tick := decode[ticked](t, v.next(t, "tick").data); len(tick.Rows) != 0 || tick.T != 946684802000 {
			t.Errorf("want a tick without rows, got %+v", tick)
		}
	})
}

// A row that changed and changed back before it was sent is sent all the same: a
// viewer may have joined in between.
func TestNewViewerHearsOfAllChangesSince(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := mustGate(t, "db", 2)
		p := newPage([]*gate.Gate{db})
		h := p.hub
		first := join(t, p, "db")
		defer h.leave(first)
		h.mu.Lock()
		h.sampleLocked()
		h.tickMessageLocked()
		lease := hold(t, db, gate.Call{})
		h.sampleLocked() // in flight 1, not sent
		h.mu.Unlock()
		late := join(t, p, "db")
		defer h.leave(late)
		lease.Release()
		h.mu.Lock()
		h.sampleLocked()
		tick := decode[ticked](t, parseEvent(t, h.tickMessageLocked()).data)
		h.mu.Unlock()
		if len(tick.Rows) != 1 || at(tick.Rows[0], "in_flight") != 0.0 {
			t.Errorf("got %+v", tick)
		}
	})
}

func TestMemoryOfSamplesIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, p := thousand(t)
		v := join(t, p, "gate-000")
		for range 70 {
			time.Sleep(time.Second)
			for len(v.messages) > 0 {
				<-v.messages
			}
		}
		total := 0
		p.hub.mu.Lock()
		for i := range p.hub.gates {
			total += len(p.hub.gates[i].history.ring)
		}
		p.hub.mu.Unlock()
		if total != maxSamples {
			t.Errorf("want %d samples, got %d", maxSamples, total)
		}
		p.hub.leave(v)
	})
}
