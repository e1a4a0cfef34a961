package gate_test

import (
	"context"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcgate/rpcgate/gate"
)

func TestAKeyHasAtMostItsLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, 4, gate.WithKeyLimit(2))
		ann := []gate.Lease{acquire(t, g, gate.Call{Key: "ann"}), acquire(t, g, gate.Call{Key: "ann"})}
		began := time.Now()
		r := start(t.Context(), g, gate.Call{Key: "ann"}).refused(t, gate.ReasonKeyLimit)
		wantEqual(t, "decision", r.Decision, gate.RejectedBusy)
		wantEqual(t, "time passed", time.Since(began), 0)
		bob := acquire(t, g, gate.Call{Key: "bob"})
		wantEqual(t, "keys", g.Snapshot().Keys, 2)
		ann[0].Release()
		ann[0] = acquire(t, g, gate.Call{Key: "ann"})
		for _, lease := range append(ann, bob) {
			lease.Release()
		}
		wantEqual(t, "keys", g.Snapshot().Keys, 0)
	})
}

func TestAKeysWaitersCountToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, 2, gate.WithKeyLimit(2), gate.WithMaxWaiting(9))
		bob := acquire(t, g, gate.Call{Key: "bob", Cost: 2})
		waiters := []*attempt{start(t.Context(), g, gate.Call{Key: "ann"}), start(t.Context(), g, gate.Call{Key: "ann"})}
		start(t.Context(), g, gate.Call{Key: "ann"}).refused(t, gate.ReasonKeyLimit)
		bob.Release()
		for _, w := range waiters {
			w.admitted(t).Release()
		}
	})
}

// TestAKeyIsFreedHoweverTheWaitEnds has one call of a key wait, and checks that the key has its unit back afterwards.
func TestAKeyIsFreedHoweverTheWaitEnds(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, g *gate.Gate, cancel func()){
		"cancelled": func(_ *testing.T, _ *gate.Gate, cancel func()) { cancel() },
		"timed out": func(*testing.T, *gate.Gate, func()) { advance(gate.DefaultMaxWait) },
		"displaced": func(t *testing.T, g *gate.Gate, _ func()) {
			start(t.Context(), g, gate.Call{Priority: gate.Critical})
		},
	} {
		for _, dry := range []bool{false, true} {
			t.Run(name+" dry="+strconv.FormatBool(dry), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					g := newGate(t, 1, gate.WithKeyLimit(1), gate.WithKeylessExempt())
					holder := acquire(t, g, gate.Call{})
					g.SetDryRun(dry)
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					waiter := start(ctx, g, gate.Call{Key: "ann", Priority: gate.Low})
					wantEqual(t, "keys while it waits", g.Snapshot().Keys, 1)
					g.SetDryRun(false)
					end(t, g, cancel)
					synctest.Wait()
					if !dry || name != "cancelled" { // who has passed already does not care
						wantEqual(t, "keys after it", g.Snapshot().Keys, 0)
					}
					advance(time.Second)
					waiter.lease.Release()
					holder.Release()
				})
			})
		}
	}
}

func TestAKeysShareFollowsTheLimit(t *testing.T) {
	g := newGate(t, 10, gate.WithKeyShare(0.25), gate.WithMaxWait(0))
	for _, test := range []struct{ limit, want int64 }{{10, 2}, {12, 3}, {3, 1}, {1, 1}, {100, 25}} {
		if err := g.SetLimit(test.limit); err != nil {
			t.Fatal(err)
		}
		var leases []gate.Lease
		for {
			lease, err := g.TryAcquire(gate.Call{Key: "ann"})
			if err != nil {
				break
			}
			leases = append(leases, lease)
		}
		wantEqual(t, "calls of one key at a limit of "+strconv.FormatInt(test.limit, 10), int64(len(leases)), test.want)
		for _, lease := range leases {
			lease.Release()
		}
	}
}

func TestTheLowerOfKeyLimitAndShareCounts(t *testing.T) {
	for _, options := range [][]gate.Option{
		{gate.WithKeyLimit(2), gate.WithKeyShare(0.9)},
		{gate.WithKeyShare(0.2), gate.WithKeyLimit(9)},
	} {
		g := newGate(t, 10, options...)
		defer acquire(t, g, gate.Call{Key: "ann"}).Release()
		defer acquire(t, g, gate.Call{Key: "ann"}).Release()
		_, err := g.TryAcquire(gate.Call{Key: "ann"})
		refused(t, err, gate.ReasonKeyLimit)
	}
}

func TestACallAboveItsKeysLimitRunsWhenTheKeyHasNothingElse(t *testing.T) {
	g := newGate(t, 10, gate.WithKeyLimit(3))
	small := acquire(t, g, gate.Call{Key: "ann"})
	_, err := g.TryAcquire(gate.Call{Key: "ann", Cost: 5})
	refused(t, err, gate.ReasonKeyLimit)
	small.Release()
	big := acquire(t, g, gate.Call{Key: "ann", Cost: hugeCost})
	wantNow(t, g, 10, 0)
	big.Release()
}

func TestCallsWithoutAKeyAreOneClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, 9, gate.WithKeyLimit(2))
		one, two := acquire(t, g, gate.Call{}), acquire(t, g, gate.Call{})
		start(t.Context(), g, gate.Call{}).refused(t, gate.ReasonKeyLimit)
		ann := acquire(t, g, gate.Call{Key: "ann"})
		wantEqual(t, "keys", g.Snapshot().Keys, 2)
		one.Release()
		acquire(t, g, gate.Call{}).Release()
		two.Release()
		ann.Release()
		wantEqual(t, "keys", g.Snapshot().Keys, 0)
	})
}

func TestCallsWithoutAKeyCanBeExempt(t *testing.T) {
	for _, option := range []gate.Option{gate.WithKeyLimit(1), gate.WithKeyShare(0.1)} {
		g := newGate(t, 4, gate.WithKeylessExempt(), option)
		for range 3 {
			defer acquire(t, g, gate.Call{}).Release()
		}
		wantEqual(t, "keys", g.Snapshot().Keys, 0)
		defer acquire(t, g, gate.Call{Key: "ann"}).Release()
		_, err := g.TryAcquire(gate.Call{Key: "ann"})
		refused(t, err, gate.ReasonKeyLimit)
		_, err = g.TryAcquire(gate.Call{})
		refused(t, err, gate.ReasonLimit) // which counts them as ever
	}
}

func TestAGateSaysWhetherItUsesKeys(t *testing.T) {
	for _, test := range []struct {
		options []gate.Option
		want    bool
	}{
		{nil, false},
		{[]gate.Option{gate.WithKeyLimit(1)}, true},
		{[]gate.Option{gate.WithKeyShare(0.5)}, true},
		{[]gate.Option{gate.WithKeyShare(0.5), gate.WithKeyLimit(1)}, true},
	} {
		wantEqual(t, "uses keys", newGate(t, 1, test.options...).UsesKeys(), test.want)
	}
	wantEqual(t, "the zero Gate uses keys", new(gate.Gate).UsesKeys(), false)
}

func TestKeysOfAGateWithoutAKeyLimitAreNotKept(t *testing.T) {
	g := newGate(t, 3)
	defer acquire(t, g, gate.Call{Key: "ann"}).Release()
	wantEqual(t, "keys", g.Snapshot().Keys, 0)
}

func TestAMillionKeysLeaveNothingBehind(t *testing.T) {
	g := newGate(t, 4, gate.WithKeyLimit(2))
	ctx := context.Background()
	kept := acquire(t, g, gate.Call{Key: "kept"})
	n := 1_000_000
	if testing.Short() || raceEnabled {
		n = 50_000
	}
	for i := range n {
		lease, err := g.Acquire(ctx, gate.Call{Key: strconv.Itoa(i)})
		if err != nil {
			t.Fatal(err)
		}
		lease.Release()
	}
	wantEqual(t, "keys", g.Snapshot().Keys, 1)
	if slots := gate.Slots(g); slots > 2 {
		t.Errorf("%d slots, want no more than were ever in use at once", slots)
	}
	kept.Release()
	wantEqual(t, "keys", g.Snapshot().Keys, 0)
}

// TestSomeKeysHaveACapOfTheirOwn has classes of clients.
func TestSomeKeysHaveACapOfTheirOwn(t *testing.T) {
	caps := map[string]int64{"gold": 6, "": 1, "bad": -3}
	own := gate.WithKeyLimitFunc(func(key string) int64 { return caps[key] })
	for name, test := range map[string]struct {
		opts []gate.Option
		want map[string]int // how many calls a key has in flight at most; 8 are tried
	}{
		"beside a cap for all": {[]gate.Option{own, gate.WithKeyLimit(2)}, map[string]int{"gold": 6, "ann": 2, "": 1, "bad": 2}},
		"beside a share":       {[]gate.Option{own, gate.WithKeyShare(0.3)}, map[string]int{"gold": 6, "ann": 3, "": 1, "bad": 3}},
		"alone":                {[]gate.Option{own}, map[string]int{"gold": 6, "ann": 8, "": 1, "bad": 8}},
		"keyless exempt":       {[]gate.Option{own, gate.WithKeylessExempt()}, map[string]int{"gold": 6, "": 8}},
	} {
		for key, want := range test.want {
			g := newGate(t, 10, test.opts...)
			wantEqual(t, name+": uses keys", g.UsesKeys(), true)
			var leases []gate.Lease
			for range 8 {
				call := gate.Call{Key: key}
				early := g.RefuseEarly(t.Context(), call)
				lease, err := g.TryAcquire(call)
				if (early == nil) != (err == nil) {
					t.Errorf("%s, key %q: refused early with %v, and then with %v", name, key, early, err)
				}
				if err != nil {
					refused(t, err, gate.ReasonKeyLimit)
					continue
				}
				leases = append(leases, lease)
			}
			wantEqual(t, name+": calls of "+key, len(leases), want)
			for _, lease := range leases {
				lease.Release()
			}
		}
	}
}

// TestTheCapOfAKeyMayChange has a client that moves to another class.
func TestTheCapOfAKeyMayChange(t *testing.T) {
	limit := int64(1)
	g := newGate(t, 10, gate.WithKeyLimitFunc(func(string) int64 { return limit }))
	first := acquire(t, g, gate.Call{Key: "ann"})
	_, err := g.TryAcquire(gate.Call{Key: "ann"})
	refused(t, err, gate.ReasonKeyLimit)
	limit = 2
	second := acquire(t, g, gate.Call{Key: "ann"})
	limit = 1
	_, err = g.TryAcquire(gate.Call{Key: "ann"})
	refused(t, err, gate.ReasonKeyLimit)
	first.Release()
	second.Release()
	wantEqual(t, "keys", g.Snapshot().Keys, 0)
}

// TestAFunctionOfKeysThatPanicsLosesNothing has a function of the program with a bug.
func TestAFunctionOfKeysThatPanicsLosesNothing(t *testing.T) {
	g := newGate(t, 1, gate.WithKeyLimitFunc(func(key string) int64 { panic(key) }))
	defer func() {
		wantEqual(t, "panic", recover(), any("ann"))
		wantEqual(t, "in flight", g.InFlight(), 0)
	}()
	_, _ = g.TryAcquire(gate.Call{Key: "ann"})
}
