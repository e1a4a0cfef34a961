package gate_test

import (
	"context"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/rpcgate/rpcgate/gate"
)

// naiveMatch is how long the part of a pattern is that a route matches, or -1: the longest wins.
func naiveMatch(pattern, route string) int {
	if prefix, ok := strings.CutSuffix(pattern, "*"); ok {
		if strings.HasPrefix(route, prefix) {
			return len(prefix)
		}
		return -1
	}
	if pattern == route {
		return math.MaxInt
	}
	return -1
}

func FuzzPatterns(f *testing.F) {
	f.Add("/a.B/C", "/a.*", "*", "/a.B/D")
	f.Add("/a.b.C/*", "/a.b.*", "/a.*", "/a.b.C/D")
	f.Add("/*", "/a./*", "/a.", "/a./x")
	f.Add("/grpc.health.v1.Health/*", "/grpc.*", "/grpc.health.v1.Health/Check", "/grpc.health.v1.Health/Check")
	f.Add("*", "", "/a b", "")
	f.Fuzz(func(t *testing.T, first, second, third, route string) {
		patterns := []string{first, second, third}
		var rules []gate.Rule
		for i, pattern := range patterns {
			rules = append(rules, gate.Route(pattern, gate.Must(gate.New([]string{"0", "1", "2"}[i], 1))))
		}
		p, err := gate.NewPolicy(rules...)
		bad := first == second || second == third || first == third
		for _, pattern := range patterns {
			bad = bad || !naivelyGood(pattern)
		}
		if (err != nil) != bad {
			t.Fatalf("%q: error %v, want one: %t", patterns, err, bad)
		}
		if bad {
			return
		}
		best, want := -1, ""
		for i, pattern := range patterns {
			if n := naiveMatch(pattern, route); n > best {
				best, want = n, []string{"0", "1", "2"}[i]
			}
		}
		for _, pattern := range gate.DefaultExempt() {
			if naiveMatch(pattern, route) > best {
				best, want = naiveMatch(pattern, route), ""
			}
		}
		if got := admittedBy(t, p, route); got != want {
			t.Fatalf("%q: route %q goes to %q, want %q", patterns, route, got, want)
		}
	})
}

// naivelyGood says what the documentation of Route says.
func naivelyGood(pattern string) bool {
	body, star := strings.CutSuffix(pattern, "*")
	if star && body == "" {
		return true
	}
	clean := !strings.ContainsFunc(pattern, func(r rune) bool { return r <= ' ' || r == 0x7f }) && !strings.Contains(body, "*")
	return clean && strings.HasPrefix(body, "/") && (!star || strings.HasSuffix(body, "/") || strings.HasSuffix(body, "."))
}

func FuzzNames(f *testing.F) {
	for _, name := range []string{"", "db", "a b", "a\nb", "\xff", "ä", "\u202e", strings.Repeat("x", 129)} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		g, err := gate.New(name, 1)
		if (g == nil) == (err == nil) {
			t.Fatalf("gate %v and error %v", g, err)
		}
		if err != nil {
			if strings.ContainsAny(err.Error(), "\n\r\x00") || !utf8.ValidString(err.Error()) {
				t.Fatalf("the error does not read well: %q", err)
			}
			return
		}
		if g.Name() != name || name == "" || len(name) > 128 || !utf8.ValidString(name) || strings.ContainsAny(name, "\n\r\t\x00") {
			t.Fatalf("name %q was taken", name)
		}
	})
}

// FuzzNumbers makes a gate of numbers at their edges and lets calls with any costs at it. Whatever is taken must hold:
// no sum may overflow and nothing may be left.
func FuzzNumbers(f *testing.F) {
	f.Add(int64(1), int64(1), int64(1), int64(1), int64(0), int64(0), 0.5, 0.5, false)
	f.Add(int64(gate.MaxLimit), int64(math.MaxInt64), int64(math.MaxInt64), int64(1), int64(1<<59), int64(1<<59), 1.0, 1.0, true)
	f.Add(int64(gate.MaxLimit), int64(gate.MaxLimit/2), int64(gate.MaxLimit/2+1), int64(math.MaxInt64), int64(0), int64(0), 1e-300, 1e-300, false)
	f.Add(int64(10), int64(math.MinInt64), int64(-1), int64(3), int64(4), int64(5), 0.999999, 0.3, true)
	f.Fuzz(func(t *testing.T, limit, costA, costB, keyLimit, normal, critical int64, share, keyShare float64, dry bool) {
		options := []gate.Option{
			gate.WithReserve(gate.Normal, normal), gate.WithReserve(gate.Critical, critical), gate.WithKeyLimit(keyLimit),
			gate.WithDeadlineShare(share), gate.WithKeyShare(keyShare), gate.WithMaxWait(time.Duration(keyLimit)),
			gate.WithRetryDelay(time.Duration(normal), time.Duration(critical)),
		}
		if dry {
			options = append(options, gate.WithDryRun())
		}
		if _, err := gate.New("fuzz", limit, options...); err != nil {
			return
		}
		synctest.Test(t, func(t *testing.T) {
			useNumbers(t, newGate(t, limit, options...), costA, costB)
		})
	})
}

func useNumbers(t *testing.T, g *gate.Gate, costA, costB int64) {
	ctx, cancel := context.WithDeadline(t.Context(), time.Unix(1<<40, 0))
	defer cancel()
	limit := g.Limit()
	for i, cost := range []int64{costA, costB, costA, limit, costB, 1, costA, costB, limit, limit, limit, limit} {
		call := gate.Call{Cost: cost, Priority: gate.Priority(i%3 - 1), Key: []string{"", "ann"}[i%2]}
		lease, err := g.TryAcquire(call)
		if g.DryRun() {
			lease.Release()
			lease, err = g.Acquire(ctx, call)
		}
		if err == nil {
			defer lease.Release()
		}
		if n := g.InFlight(); n < 0 || !g.DryRun() && n > limit || err == nil && lease.InFlight() != n {
			t.Fatalf("%d in flight with a limit of %d, the lease says %d", n, limit, lease.InFlight())
		}
		if err := gate.CheckInvariants(g); err != nil {
			t.Fatal(err)
		}
		if i == 6 {
			_ = g.SetLimit(costA)
			limit = max(limit, costA)
		}
	}
}
