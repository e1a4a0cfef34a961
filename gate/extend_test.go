package gate_test

import (
	"context"
	"testing"

	"github.com/rpcgate/rpcgate/gate"
)

// counting is an Admitter around another one, such as users write.
type counting struct {
	next  gate.Admitter
	calls int
}

func (c *counting) Acquire(ctx context.Context, call gate.Call) (gate.Lease, error) {
	c.calls++
	return c.next.Acquire(ctx, call)
}

func (c *counting) Unwrap() gate.Admitter { return c.next }

// closed does not say what it wraps.
type closed struct{ next gate.Admitter }

func (c closed) Acquire(ctx context.Context, call gate.Call) (gate.Lease, error) {
	return c.next.Acquire(ctx, call)
}

func TestAWrapperKeepsWhatItsAdmitterOffers(t *testing.T) {
	db := newGate(t, 1)
	policy := newPolicy(t, gate.Route("/a/*", db).Stream(gate.HoldOpening), gate.Exempt("/b/*"))
	wrapped := &counting{next: &counting{next: policy}}

	gates, ok := gate.AdmitterAs[gate.GateLister](wrapped)
	if !ok || len(gates.Gates()) != 1 || gates.Gates()[0] != db {
		t.Error("the gates are not found")
	}
	exempter, ok := gate.AdmitterAs[gate.Exempter](wrapped)
	if !ok || !exempter.Exempts("/b/c") || exempter.Exempts("/a/b") {
		t.Error("the exempt routes are not found")
	}
	modes, ok := gate.AdmitterAs[gate.StreamModer](wrapped)
	if !ok || modes.StreamMode("/a/b") != gate.HoldOpening {
		t.Error("the stream modes are not found")
	}
	early, ok := gate.AdmitterAs[gate.EarlyRefuser](wrapped)
	if !ok {
		t.Fatal("the early refusals are not found")
	}
	holder := acquire(t, wrapped, gate.Call{Route: "/a/b"})
	defer holder.Release()
	wantEqual(t, "calls that the wrapper has seen", wrapped.calls, 1)
	if err := early.RefuseEarly(t.Context(), gate.Call{Route: "/a/b"}); err != nil {
		t.Errorf("refused although the call could wait: %v", err)
	}

	if _, ok := gate.AdmitterAs[gate.Exempter](closed{policy}); ok {
		t.Error("something was found behind an Admitter that does not unwrap")
	}
	if _, ok := gate.AdmitterAs[gate.Exempter](nil); ok {
		t.Error("something was found behind nil")
	}
	if _, ok := gate.AdmitterAs[gate.Exempter](&counting{}); ok {
		t.Error("something was found behind a wrapper of nil")
	}
}
