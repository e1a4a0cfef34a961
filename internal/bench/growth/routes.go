package growth

import (
	"context"
	"fmt"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/internal/bench/measure"
	"github.com/rpcgate/rpcgate/internal/bench/report"
)

const (
	room       = 1000
	methodName = "/orders.v1.OrderService%d/ListOpenOrders"
)

// routes is policies with more and more rules in front of one gate. The same route again and again shows the policy; a
// route at random shows the caches of the processor, too, which hold one route but not 10,000. The floor is what a map
// of as many strings takes to find one at random, with nothing done with it.
func routes(lab *measure.Lab) (report.Section, error) {
	var same, random []measure.Case
	for _, n := range []int{1, 100, 10_000} {
		g, err := gate.New("bench", room)
		if err != nil {
			return report.Section{}, err
		}
		list := names(methodName, n)
		rules := make([]gate.Rule, n)
		for i, route := range list {
			rules[i] = gate.Route(route, g)
		}
		policy, err := gate.NewPolicy(rules...)
		if err != nil {
			return report.Section{}, err
		}
		same = append(same, admissions(fmt.Sprintf("policy, routes: %d, the same one asked", n), policy, list[n/2:n/2+1]))
		random = append(random, admissions(fmt.Sprintf("policy, routes: %d, one at random asked", n), policy, list))
	}
	last := random[len(random)-1].Name
	rows := compare(lab, append(same, random[1:]...), last)
	report.WantRatio(rows, last, scattered)
	floor := report.Timings(lab.Time(plan(lab), []measure.Case{lookups(1), lookups(10_000)}), floorName(1))
	return report.Section{Title: "growth in routes: admissions, 1 goroutine; x of 1 route", Rows: append(rows, floor...)}, nil
}

func floorName(n int) string {
	return fmt.Sprintf("floor: a map, routes: %d, one at random looked up", n)
}

// lookups finds routes in a map, in turn.
func lookups(routes int) measure.Case {
	list, known := names(methodName, routes), make(map[string]*int)
	for _, route := range list {
		known[route] = new(int)
	}
	order, at := turns(len(list)), 0
	return measure.Case{Name: floorName(routes), Run: func(n int) {
		for range n {
			at = (at + 1) % len(order)
			*known[list[order[at]]]++
		}
	}}
}

// gates is policies in which each route has a gate of its own.
func gates(lab *measure.Lab) (report.Section, error) {
	var same, random []measure.Case
	for _, n := range []int{1, 1000} {
		list := names(methodName, n)
		rules := make([]gate.Rule, n)
		for i, route := range list {
			g, err := gate.New(fmt.Sprintf("bench-%d", i), room)
			if err != nil {
				return report.Section{}, err
			}
			rules[i] = gate.Route(route, g)
		}
		policy, err := gate.NewPolicy(rules...)
		if err != nil {
			return report.Section{}, err
		}
		same = append(same, admissions(fmt.Sprintf("gates: %d, the same one asked", n), policy, list[n/2:n/2+1]))
		random = append(random, admissions(fmt.Sprintf("gates: %d, one at random asked", n), policy, list))
	}
	return report.Section{
		Title: "growth in gates: admissions, 1 goroutine; x of 1 gate",
		Rows:  compare(lab, append(same, random[1:]...)),
	}, nil
}

// admissions admits calls of the listed routes in turn.
func admissions(name string, a gate.Admitter, list []string) measure.Case {
	ctx, order, at := context.Background(), turns(len(list)), 0
	return measure.Case{Name: name, Run: func(n int) {
		for range n {
			at = (at + 1) % len(order)
			lease, err := a.Acquire(ctx, gate.Call{Route: list[order[at]]})
			if err != nil {
				panic(err)
			}
			lease.Release()
		}
	}}
}
