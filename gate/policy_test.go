package gate_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/rpcgate/rpcgate/gate"
)

func newPolicy(t *testing.T, rules ...gate.Rule) *gate.Policy {
	t.Helper()
	p, err := gate.NewPolicy(rules...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// admittedBy is the name of the gate that the policy sends a route through, or "" if it is exempt.
func admittedBy(t *testing.T, p *gate.Policy, route string) string {
	t.Helper()
	lease := acquire(t, p, gate.Call{Route: route})
	defer lease.Release()
	wantEqual(t, "exempt: "+route, p.Exempts(route), lease.Gate() == nil)
	if lease.Gate() == nil {
		return ""
	}
	wantEqual(t, "in flight", lease.Gate().InFlight(), 1)
	return lease.Gate().Name()
}

func TestTheMostSpecificPatternWins(t *testing.T) {
	method, service, pkg, parent, all := newNamed(t, "method", 1), newNamed(t, "service", 1), newNamed(t, "package", 1),
		newNamed(t, "parent", 1), newNamed(t, "all", 1)
	rules := []gate.Rule{
		gate.Route("*", all),
		gate.Route("/acme.*", parent),
		gate.Route("/acme.orders.v1.*", pkg),
		gate.Route("/acme.orders.v1.OrderService/*", service),
		gate.Route("/acme.orders.v1.OrderService/List", method),
	}
	for range 2 {
		p := newPolicy(t, rules...)
		for route, want := range map[string]string{
			"/acme.orders.v1.OrderService/List":  "method",
			"/acme.orders.v1.OrderService/ListX": "service",
			"/acme.orders.v1.OrderService/":      "service",
			"/acme.orders.v1.OrderServiceX/List": "package",
			"/acme.orders.v1.Other/Get":          "package",
			"/acme.orders.v2.OrderService/List":  "parent",
			"/acme.Service/Get":                  "parent",
			"/acme/Get":                          "all",
			"/acmeX.Service/Get":                 "all",
			"/other.Service/Get":                 "all",
			"acme.orders.v1.OrderService/List":   "all",
			"":                                   "all",
			"/":                                  "all",
			"/acme.orders.v1.OrderService/a/b.c": "service",
			"/acme.orders.v1.OrderService/" + strings.Repeat("x./", 1000): "service",
			strings.Repeat("/x.", 1000):                                   "all",
		} {
			wantEqual(t, "gate of "+route[:min(len(route), 50)], admittedBy(t, p, route), want)
		}
		slices.Reverse(rules) // wherever it stands
	}
}

func TestRoutesThatNoRuleMatchesAreExempt(t *testing.T) {
	g := newGate(t, 1)
	p := newPolicy(t, gate.Route("/a.Service/*", g))
	for route, want := range map[string]string{"/a.Service/Get": "test", "/b.Service/Get": "", "": "", "x": ""} {
		wantEqual(t, "gate of "+route, admittedBy(t, p, route), want)
	}
	lease := acquire(t, p, gate.Call{Route: "/b.Service/Get"})
	wantEqual(t, "lease", lease, gate.Lease{})
	lease.Release()
}

func TestHealthAndReflectionAreExemptByDefault(t *testing.T) {
	g := newGate(t, 1)
	special := newNamed(t, "special", 1)
	health, reflection := "/grpc.health.v1.Health/Check", "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"
	for _, test := range []struct {
		rules              []gate.Rule
		health, reflection string
	}{
		{[]gate.Rule{gate.Route("*", g)}, "", ""},
		{[]gate.Rule{gate.Route("/grpc.*", g)}, "", ""},
		{[]gate.Rule{gate.Route("/*", g)}, "", ""},
		{[]gate.Rule{gate.Route("*", g), gate.Route("/grpc.health.v1.Health/*", special)}, "special", ""},
		{[]gate.Rule{gate.Route("*", g), gate.Route(health, special)}, "special", ""},
		{[]gate.Rule{gate.Route("*", g), gate.Route("/grpc.reflection.*", special)}, "", "special"},
		{[]gate.Rule{gate.Route("*", g), gate.Route("/grpc.reflection.v1alpha.*", special)}, "", "special"},
		{[]gate.Rule{gate.Exempt("/grpc.health.v1.Health/*"), gate.Route("*", g)}, "", ""},
	} {
		p := newPolicy(t, test.rules...)
		wantEqual(t, "health", admittedBy(t, p, health), test.health)
		wantEqual(t, "reflection", admittedBy(t, p, reflection), test.reflection)
		wantEqual(t, "others", admittedBy(t, p, "/grpc.Other/Get") != "", true)
	}
	wantEqual(t, "patterns", strings.Join(gate.DefaultExempt(), " "), "/grpc.health.v1.Health/* /grpc.reflection.*")
}

func TestExemptCallsPassAFullAndDrainingGate(t *testing.T) {
	g := newGate(t, 1, gate.WithMaxWait(0))
	p := newPolicy(t, gate.Route("*", g), gate.Exempt("/admin.*", "/a.Service/Ping"))
	holder := acquire(t, p, gate.Call{Route: "/a.Service/Get"})
	for range 2 {
		for _, route := range []string{"/admin.Service/Get", "/a.Service/Ping", "/grpc.health.v1.Health/Watch"} {
			wantEqual(t, "gate of "+route, admittedBy(t, p, route), "")
		}
		_, err := p.Acquire(context.Background(), gate.Call{Route: "/a.Service/Get"})
		if err == nil {
			t.Fatal("a full gate admitted a call")
		}
		holder.Release()
		if err := g.Drain(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
}

func TestARuleSetsPriorityCostAndStreamMode(t *testing.T) {
	g := newGate(t, 100)
	p := newPolicy(t,
		gate.Route("/a.Service/Plain", g),
		gate.Route("/a.Service/Set", g).Priority(gate.Critical).Cost(5).Stream(gate.HoldMessage),
		gate.Route("/a.Service/Normal", g).Priority(gate.Normal).Stream(gate.HoldOpening),
	)
	for _, test := range []struct {
		call     gate.Call
		priority gate.Priority
		cost     int64
		mode     gate.StreamMode
	}{
		{gate.Call{Route: "/a.Service/Plain"}, gate.Normal, 1, gate.HoldStream},
		{gate.Call{Route: "/a.Service/Plain", Priority: gate.Low, Cost: 3}, gate.Low, 3, gate.HoldStream},
		{gate.Call{Route: "/a.Service/Set"}, gate.Critical, 5, gate.HoldMessage},
		{gate.Call{Route: "/a.Service/Set", Priority: gate.Low, Cost: 7}, gate.Critical, 7, gate.HoldMessage},
		{gate.Call{Route: "/a.Service/Set", Cost: -1}, gate.Critical, 5, gate.HoldMessage},
		{gate.Call{Route: "/a.Service/Normal", Priority: gate.Critical}, gate.Normal, 1, gate.HoldOpening},
	} {
		lease := acquire(t, p, test.call)
		h := g.Snapshot().Holders[0]
		if h.Priority != test.priority || h.Cost != test.cost || p.StreamMode(test.call.Route) != test.mode {
			t.Errorf("%+v: %s, cost %d, %s", test, h.Priority, h.Cost, p.StreamMode(test.call.Route))
		}
		lease.Release()
	}
	wantEqual(t, "mode of a route without a rule", p.StreamMode("/b.Service/Get"), gate.HoldStream)
}

func TestSeveralGatesOfARuleAreAChain(t *testing.T) {
	reports, db := newNamed(t, "reports", 1), newNamed(t, "db", 2)
	p := newPolicy(t, gate.Route("/reports.*", db, reports), gate.Route("*", db))
	lease := acquire(t, p, gate.Call{Route: "/reports.Service/Monthly"})
	wantNow(t, reports, 1, 0)
	wantNow(t, db, 1, 0)
	lease.Release()
	wantEqual(t, "gate of others", admittedBy(t, p, "/orders.Service/List"), "db")
	if gates := p.Gates(); !slices.Equal(gates, []*gate.Gate{db, reports}) {
		t.Errorf("gates: %d, want db and reports once each", len(gates))
	}
}

// TestBadPoliciesAreErrorsThatNameThePatternAndTheValue has for each the words that the error must have.
func TestBadPoliciesAreErrorsThatNameThePatternAndTheValue(t *testing.T) {
	g, twin := newNamed(t, "db", 1), newNamed(t, "db", 2)
	good := gate.Route("/good.*", g)
	for _, test := range []struct {
		rules []gate.Rule
		want  string
	}{
		{nil, "gate.NewPolicy: no rules"},
		{[]gate.Rule{good, good}, `gate.NewPolicy: rule 2: pattern "/good.*" is given twice`},
		{[]gate.Rule{gate.Route("*", g), gate.Exempt("*")}, `gate.NewPolicy: rule 2: pattern "*" is given twice`},
		{[]gate.Rule{gate.Exempt("/a/b", "/a/b")}, `gate.NewPolicy: rule 1: pattern "/a/b" is given twice`},
		{[]gate.Rule{gate.Exempt()}, "gate.NewPolicy: rule 1: Exempt: no patterns"},
		{[]gate.Rule{{}}, "gate.NewPolicy: rule 1: Exempt: no patterns"},
		{[]gate.Rule{gate.Route("/a/b")}, `gate.NewPolicy: rule 1: pattern "/a/b": no gates`},
		{[]gate.Rule{good, gate.Route("/a/b", nil)}, `gate.NewPolicy: rule 2: pattern "/a/b": gate 1 of 1 is nil`},
		{[]gate.Rule{gate.Route("/a/b", g, g)}, `gate.NewPolicy: rule 1: pattern "/a/b": gate "db" is given twice`},
		{[]gate.Rule{good, gate.Route("/a/b", twin)}, `gate.NewPolicy: rule 2: pattern "/a/b": two gates have the name "db"`},
		{[]gate.Rule{gate.Route("/a/b", g).Priority(7)},
			`gate.NewPolicy: rule 1: pattern "/a/b": Priority: want Low, Normal or Critical, got Priority(7)`},
		{[]gate.Rule{gate.Route("/a/b", g).Cost(0).Priority(9)},
			`gate.NewPolicy: rule 1: pattern "/a/b": Cost: want a cost above 0, got 0` + "\n" +
				`Priority: want Low, Normal or Critical, got Priority(9)`},
		{[]gate.Rule{gate.Route("/a/b"), good, gate.Exempt("b", "c")},
			`gate.NewPolicy: rule 1: pattern "/a/b": no gates` + "\n" +
				`gate.NewPolicy: rule 3: pattern "b": must be * or begin with /` + "\n" +
				`pattern "c": must be * or begin with /`},
		{[]gate.Rule{gate.Route("/a/b", g).Stream(3)},
			`gate.NewPolicy: rule 1: pattern "/a/b": Stream: want HoldStream, HoldOpening or HoldMessage, got StreamMode(3)`},
		{[]gate.Rule{gate.Route("", g)}, `gate.NewPolicy: rule 1: pattern "": is empty`},
		{[]gate.Rule{gate.Route("a/b", g)}, `pattern "a/b": must be * or begin with /`},
		{[]gate.Rule{gate.Route("**", g)}, `pattern "**": must be * or begin with /`},
		{[]gate.Rule{gate.Route("/a/ b", g)}, `pattern "/a/ b": has a space or a control character`},
		{[]gate.Rule{gate.Route("/a/b\n", g)}, `pattern "/a/b\n": has a space or a control character`},
		{[]gate.Rule{gate.Route("/a/*/b", g)}, `pattern "/a/*/b": may have * only at its end`},
		{[]gate.Rule{gate.Route("/a/**", g)}, `pattern "/a/**": may have * only at its end`},
		{[]gate.Rule{gate.Route("/a/b*", g)}, `pattern "/a/b*": may have * only after / or .`},
		{[]gate.Rule{gate.Route("/a.b.C/(Get|List)", g)}, `pattern "/a.b.C/(Get|List)": has a '|', as no route does; a pattern is no regular expression`},
		{[]gate.Rule{gate.Route("/a.b.C/[A-Z]", g)}, `pattern "/a.b.C/[A-Z]": has a '[', as no route does; a pattern is no regular expression`},
		{[]gate.Rule{gate.Route("/a?b=c", g)}, `pattern "/a?b=c": has a '?', as no route does; a pattern is no regular expression`},
		{[]gate.Rule{gate.Exempt("/a/b").Priority(gate.Low)}, `pattern "/a/b": Priority: exempt calls pass no gate and have none`},
		{[]gate.Rule{gate.Exempt("/a/b").Cost(2)}, `pattern "/a/b": Cost: exempt calls pass no gate and have none`},
		{[]gate.Rule{gate.Exempt("/a/b").Stream(gate.HoldOpening)}, `pattern "/a/b": Stream: exempt calls pass no gate and have none`},
		{[]gate.Rule{gate.Exempt("/a/b", "/c*")}, `pattern "/c*": may have * only after / or .`},
	} {
		p, err := gate.NewPolicy(test.rules...)
		if p != nil || err == nil || !strings.HasPrefix(err.Error(), "gate.NewPolicy: ") || !strings.HasSuffix(err.Error(), test.want) {
			t.Errorf("got  %v\nwant %s", err, test.want)
		}
	}
}

func TestARuleIsNotChangedByItsCopies(t *testing.T) {
	g := newGate(t, 100)
	base := gate.Route("/a/b", g)
	_ = base.Cost(50).Priority(99)
	lease := acquire(t, newPolicy(t, base), gate.Call{Route: "/a/b"})
	wantEqual(t, "in flight", lease.InFlight(), 1)
	lease.Release()
}
