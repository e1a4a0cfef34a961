package gate_test

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rpcgate/rpcgate/gate"
)

// wantAllocs checks how often f allocates. The race detector allocates by itself, so the test is only about plain builds.
func wantAllocs(t *testing.T, what string, want float64, f func()) {
	t.Helper()
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	if got := testing.AllocsPerRun(1000, f); got > want {
		t.Errorf("%s: %v allocations, want %v", what, got, want)
	}
}

func TestAdmissionAllocatesNothing(t *testing.T) {
	ctx := context.Background()
	call := gate.Call{Route: "/orders.v1.OrderService/ListOpen", RequestID: "1", RemoteIP: "192.0.2.1", Key: "ann"}
	plain, keyed := newGate(t, 10), newGate(t, 10, gate.WithKeyLimit(5))
	watched := newGate(t, 10, gate.WithOnEvent(func(context.Context, gate.Event) {}), gate.WithReserve(gate.Critical, 1))
	snapped := newGate(t, 10)
	snapped.Snapshot()
	chain := gate.Chain(newNamed(t, "narrow", 5), newNamed(t, "wide", 10))
	policy := newPolicy(t, gate.Route("/orders.*", newGate(t, 10)))
	for what, a := range map[string]gate.Admitter{
		"plain": plain, "by key": keyed, "watched": watched, "after a snapshot": snapped, "chain": chain, "policy": policy,
		"dry run": newGate(t, 10, gate.WithDryRun()), "cost": newGate(t, 10, gate.WithCost(func(c gate.Call) int64 { return c.Size })),
	} {
		wantAllocs(t, what, 0, func() {
			lease, err := a.Acquire(ctx, call)
			if err != nil {
				t.Fatal(err)
			}
			lease.Release()
		})
	}
	wantAllocs(t, "TryAcquire", 0, func() {
		if lease, err := plain.TryAcquire(call); err == nil {
			lease.Release()
		}
	})
	run := func(context.Context) error { return nil }
	wantAllocs(t, "Do, but for its context", 1, func() { _ = plain.Do(ctx, call, run) })
}

// TestHandOffAllocatesNothing has two goroutines hand the one slot of a gate to and fro.
func TestHandOffAllocatesNothing(t *testing.T) {
	ctx := context.Background()
	g := newGate(t, 1, gate.WithMaxWait(1<<40))
	turn := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range turn {
			lease, err := g.Acquire(ctx, gate.Call{})
			if err != nil {
				t.Error(err)
				return
			}
			lease.Release()
			turn <- struct{}{}
		}
	}()
	defer func() {
		close(turn)
		<-done
	}()
	wantAllocs(t, "hand-off", 0, func() {
		lease, err := g.Acquire(ctx, gate.Call{})
		if err != nil {
			t.Fatal(err)
		}
		turn <- struct{}{}
		for g.Waiting() == 0 { // until the other waits for it
			gosched()
		}
		lease.Release()
		<-turn
	})
}

func TestARefusalAllocatesOnlyItsRejection(t *testing.T) {
	g := newGate(t, 1)
	defer acquire(t, g, gate.Call{}).Release() // deferred, for wantAllocs may skip
	wantAllocs(t, "refusal", 1, func() { _, _ = g.TryAcquire(gate.Call{RequestID: "1"}) })
}

// TestNoClockIsReadWhenThereIsNoWait reads the source: of the functions that an admission and a release without a wait
// go through, none asks for the time but where somebody watches. What a clock would show in a bubble,
// TestHoldersOfAnUnwatchedGateAgeFromTheFirstSnapshot does.
func TestNoClockIsReadWhenThereIsNoWait(t *testing.T) {
	fast := map[string]bool{
		"Acquire": false, "TryAcquire": false, "acquire": false, "observed": false, "takeSlot": false, "hold": false,
		"note": false, "accepted": false, "Release": false, "release": false, "freeSlot": false, "unlock": false,
	}
	paths, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok {
				continue
			}
			if _, ok := fast[f.Name.Name]; ok {
				fast[f.Name.Name] = true
				if at := readsClock(f.Body); at != nil {
					t.Errorf("%s reads the clock although nobody may be watching", f.Name.Name)
				}
			}
		}
	}
	for name, found := range fast {
		if !found {
			t.Errorf("there is no function %s any more: say here what admission goes through", name)
		}
	}
}

// readsClock finds a call that reads the clock outside of an if on somebody watching.
func readsClock(body ast.Node) (found ast.Node) {
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.IfStmt:
			watched := false
			ast.Inspect(n.Cond, func(n ast.Node) bool {
				id, ok := n.(*ast.Ident)
				watched = watched || ok && (id.Name == "observed" || id.Name == "clocked")
				return true
			})
			return !watched
		case *ast.SelectorExpr:
			pkg, _ := n.X.(*ast.Ident)
			if n.Sel.Name == "now" || pkg != nil && pkg.Name == "time" &&
				(n.Sel.Name == "Now" || n.Sel.Name == "Since" || n.Sel.Name == "Until" || strings.HasPrefix(n.Sel.Name, "New")) {
				found = n
			}
		}
		return true
	})
	return found
}
