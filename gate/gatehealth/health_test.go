package gatehealth_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/gate/gatehealth"
)

// reject makes a gate of one call reject another one.
func reject(t *testing.T, g *gate.Gate) {
	t.Helper()
	lease, err := g.TryAcquire(gate.Call{})
	if err != nil {
		t.Fatal(err)
	}
	defer lease.Release()
	if _, err := g.TryAcquire(gate.Call{}); err == nil {
		t.Fatal("the gate has room for two")
	}
}

func TestHealthIsDegradedForSomeTimeAfterARejection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, reports := gate.Must(gate.New("db", 1)), gate.Must(gate.New("reports", 1))
		h := gatehealth.New(db, reports, db)
		check := func(want bool, reason string) {
			t.Helper()
			if h.Degraded() != want {
				t.Errorf("degraded %t, want %t", !want, want)
			}
			all := h.Gates()
			if len(all) != 2 || all[0].Name != "db" || all[1].Name != "reports" || all[1].Reason != reason ||
				(all[1].Status == gatehealth.Degraded) != want || all[0].Status != gatehealth.OK {
				t.Errorf("got %+v, want reports to be degraded %t for %q", all, want, reason)
			}
		}
		check(false, "")
		reject(t, reports)
		check(true, gatehealth.ReasonRejecting)
		time.Sleep(gatehealth.Recently)
		check(true, gatehealth.ReasonRejecting)
		time.Sleep(time.Nanosecond)
		check(false, "")
		if err := reports.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		check(true, gatehealth.ReasonDraining)
		_ = reports.Reopen()
		reports.SetDryRun(true)
		check(false, "")
	})
}

func TestWatchTellsOfChangesUntilItsContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gate.Must(gate.New("db", 1))
		var told []bool
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			gatehealth.New(g).Watch(ctx, time.Second, func(degraded bool) { told = append(told, degraded) })
		}()
		time.Sleep(10*time.Second + 1)
		reject(t, g)
		time.Sleep(10 * time.Second)
		cancel()
		<-done
		if want := []bool{false, true, false}; !slices.Equal(told, want) {
			t.Errorf("told %v, want %v", told, want)
		}
	})
}

func TestMistakesPanic(t *testing.T) {
	g := gate.Must(gate.New("db", 1))
	for want, f := range map[string]func(){
		"gatehealth: New: want a gate, got nil as gate 2 of 2":                     func() { gatehealth.New(g, nil) },
		`gatehealth: New: want gates with different names, got two named "db"`:     func() { gatehealth.New(g, gate.Must(gate.New("db", 2))) },
		"gatehealth: Watch: want a function and an interval above 0":               func() { gatehealth.New().Watch(t.Context(), 0, func(bool) {}) },
		"gatehealth: Watch: want a function and an interval above 0, got a functi": func() { gatehealth.New().Watch(t.Context(), 1, nil) },
	} {
		func() {
			defer func() {
				if got, _ := recover().(string); !strings.HasPrefix(got, want) {
					t.Errorf("got the panic %q, want %q", got, want)
				}
			}()
			f()
		}()
	}
}
