package gate_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcgate/rpcgate/gate"
)

const (
	usual   = "/orders.v1.OrderService/Get"
	special = "/reports.v1.ReportService/Monthly"
)

func TestARuleSaysHowLongItsCallsWait(t *testing.T) {
	for _, test := range []struct {
		name     string
		gateWait time.Duration
		ruleWait time.Duration
	}{
		{"longer", 100 * time.Millisecond, 700 * time.Millisecond},
		{"shorter", 100 * time.Millisecond, 20 * time.Millisecond},
		{"at a hard limit", 0, 50 * time.Millisecond},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGate(t, 1, gate.WithMaxWait(test.gateWait), gate.WithMaxWaiting(10))
				p := newPolicy(t, gate.Route(usual, g), gate.Route(special, g).MaxWait(test.ruleWait))
				defer acquire(t, g, gate.Call{}).Release()

				call := start(t.Context(), p, gate.Call{Route: special})
				advance(test.ruleWait - 1)
				if !call.waits() {
					t.Fatalf("the call ended before %s: %v", test.ruleWait, call.err)
				}
				advance(1)
				r := call.refused(t, gate.ReasonWaitTimeout)
				wantEqual(t, "waited", r.Waited, test.ruleWait)

				call = start(t.Context(), p, gate.Call{Route: usual})
				advance(test.gateWait)
				if call.waits() {
					t.Errorf("a call of another rule waits for more than %s", test.gateWait)
				}
			})
		})
	}
}

func TestARuleTurnsWaitingOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, 1)
		p := newPolicy(t, gate.Route(special, g).MaxWait(0))
		defer acquire(t, g, gate.Call{}).Release()
		start(t.Context(), p, gate.Call{Route: special}).refused(t, gate.ReasonLimit)
		refused(t, p.RefuseEarly(t.Context(), gate.Call{Route: special}), gate.ReasonLimit)
	})
}

func TestARulesWaitCoversAllGatesOfItsChain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		narrow := newNamed(t, "narrow", 1, gate.WithMaxWait(0), gate.WithMaxWaiting(4))
		wide := newNamed(t, "wide", 2, gate.WithMaxWait(20*time.Millisecond), gate.WithMaxWaiting(4))
		p := newPolicy(t, gate.Route(special, wide, narrow).MaxWait(time.Second))
		atNarrow := acquire(t, narrow, gate.Call{})
		atWide := acquire(t, wide, gate.Call{Cost: 2})
		defer atWide.Release()

		call := start(t.Context(), p, gate.Call{Route: special})
		advance(600 * time.Millisecond)
		atNarrow.Release()
		advance(400*time.Millisecond - 1)
		if !call.waits() {
			t.Fatalf("the call ended before 1 s: %v", call.err)
		}
		advance(1)
		r := call.refused(t, gate.ReasonWaitTimeout)
		wantEqual(t, "gate", r.Gate, "wide")
		wantEqual(t, "waited", r.Waited, time.Second)

		if err := p.RefuseEarly(t.Context(), gate.Call{Route: special}); err != nil {
			t.Errorf("refused early although the rule lets it wait: %v", err)
		}
	})
}

// TestARuleSaysHowLongACallInsideOfAnotherWaits has a call that holds one gate of its route already.
func TestARuleSaysHowLongACallInsideOfAnotherWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		narrow, wide := newNamed(t, "narrow", 1), newNamed(t, "wide", 2, gate.WithMaxWait(0), gate.WithMaxWaiting(4))
		p := newPolicy(t, gate.Route(usual, narrow), gate.Route(special, narrow, wide).MaxWait(time.Second))
		outer := gate.Call{Route: usual}
		lease := acquire(t, p, outer)
		defer lease.Release()
		ctx := gate.NewContext(t.Context(), lease, p, &outer)
		defer acquire(t, wide, gate.Call{Cost: 2}).Release()

		done := make(chan error)
		go func() {
			_, err := gate.Enter(ctx, p, &gate.Call{Route: special})
			done <- err
		}()
		began := time.Now()
		refused(t, <-done, gate.ReasonWaitTimeout)
		wantEqual(t, "waited", time.Since(began), time.Second)
	})
}

func TestTheCallersDeadlineBoundsTheWaitOfARule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, 1)
		p := newPolicy(t, gate.Route(special, g).MaxWait(time.Minute))
		defer acquire(t, g, gate.Call{}).Release()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		call := start(ctx, p, gate.Call{Route: special})
		advance(500 * time.Millisecond)
		call.refused(t, gate.ReasonWaitTimeout)
	})
}

func TestARuleSaysHowItsCallsAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const low, high = 20 * time.Second, 40 * time.Second
		g := newGate(t, 1, gate.WithMaxWait(0), gate.WithRetryDelayGrowth(time.Minute))
		p := newPolicy(t, gate.Route(usual, g),
			gate.Route(special, g).RetryDelay(low, high).Refusal(gate.ServiceUnavailable))
		lease := acquire(t, g, gate.Call{})
		reject := func(route string, reason gate.Reason) *gate.Rejection {
			t.Helper()
			_, err := p.Acquire(t.Context(), gate.Call{Route: route})
			return refused(t, err, reason)
		}
		for range 50 {
			r := reject(special, gate.ReasonLimit)
			wantEqual(t, "form", r.Refusal, gate.ServiceUnavailable)
			wantEqual(t, "lower end", r.MinRetryDelay, low)
			if r.RetryDelay < low || r.RetryDelay > high {
				t.Fatalf("a delay of %s, want %s to %s", r.RetryDelay, low, high)
			}
			r = reject(usual, gate.ReasonLimit)
			wantEqual(t, "form of another rule", r.Refusal, gate.TooManyRequests)
			wantEqual(t, "lower end of another rule", r.MinRetryDelay, time.Second)
		}
		advance(time.Second)
		reject(special, gate.ReasonLimit)
		// Now all calls of the last second were rejected: the range has grown to the ceiling.
		wantEqual(t, "lower end of a grown range", reject(special, gate.ReasonLimit).MinRetryDelay, 30*time.Second)

		lease.Release()
		if err := g.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		if r := reject(special, gate.ReasonDraining); r.RetryDelay > gate.DefaultMaxDrainDelay {
			t.Errorf("a draining gate says %s", r.RetryDelay)
		}
	})
}

// TestARangeAboveTheCeilingDoesNotShrink has a rule that asks for more than the gate under the highest pressure.
func TestARangeAboveTheCeilingDoesNotShrink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, 1, gate.WithMaxWait(0), gate.WithRetryDelayGrowth(10*time.Second))
		p := newPolicy(t, gate.Route("*", g).RetryDelay(time.Minute, time.Minute))
		defer acquire(t, g, gate.Call{}).Release()
		for range 3 {
			_, err := p.Acquire(t.Context(), gate.Call{Route: usual})
			wantEqual(t, "delay", refused(t, err, gate.ReasonLimit).RetryDelay, time.Minute)
			advance(time.Second)
		}
	})
}

// TestRulesMadeOfOneRuleAreApart has rules that share what they were made of.
func TestRulesMadeOfOneRuleAreApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, 1)
		base := gate.Route(special, g).MaxWait(time.Second)
		_ = base.MaxWait(time.Hour).Refusal(gate.ServiceUnavailable)
		p := newPolicy(t, base)
		defer acquire(t, g, gate.Call{}).Release()
		call := start(t.Context(), p, gate.Call{Route: special})
		advance(time.Second)
		wantEqual(t, "form", call.refused(t, gate.ReasonWaitTimeout).Refusal, gate.TooManyRequests)
	})
}

func TestBadTermsOfARuleAreErrors(t *testing.T) {
	g := newGate(t, 1)
	route := gate.Route("/a.B/*", g)
	for want, rule := range map[string]gate.Rule{
		"MaxWait: want 0 or at least 10µs, got -1s":                                          route.MaxWait(-time.Second),
		"MaxWait: want 0 or at least 10µs, got 150ns":                                        route.MaxWait(150),
		"RetryDelay: want 0 <= min <= max, got min 2s and max 1s":                            route.RetryDelay(2*time.Second, time.Second),
		"RetryDelay: want a max of at most 24h0m0s, got 25h0m0s":                             route.RetryDelay(0, 25*time.Hour),
		"Refusal: want TooManyRequests, ServiceUnavailable or Unimplemented, got Refusal(9)": route.Refusal(9),
		"MaxWait: exempt calls pass no gate and have none":                                   gate.Exempt("/a.B/*").MaxWait(time.Second),
		"RetryDelay: exempt calls pass no gate and have none":                                gate.Exempt("/a.B/*").RetryDelay(0, 0),
		"Refusal: exempt calls pass no gate and have none":                                   gate.Exempt("/a.B/*").Refusal(gate.TooManyRequests),
	} {
		_, err := gate.NewPolicy(rule)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), `"/a.B/*"`) {
			t.Errorf("got error %v, want one with the pattern and %q", err, want)
		}
	}
}
