package gate_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/internal/soak/stress"
)

// TestGrantAndCancelRacesLoseNoSlot is the short version of `go run ./internal/soak -races 1000000`.
func TestGrantAndCancelRacesLoseNoSlot(t *testing.T) {
	n := 10_000
	if testing.Short() {
		n = 1000
	}
	counts, err := stress.Races(n, rand.Uint64(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(counts)
	if counts.Admitted == 0 || counts.Cancelled == 0 {
		t.Errorf("%s: want some of each, or it was no race", counts)
	}
}

// TestStressLosesNothing is the short version of `go run -race ./internal/soak -for 60s`.
func TestStressLosesNothing(t *testing.T) {
	d := 2 * time.Second
	if testing.Short() {
		d = time.Second
	}
	err := stress.Run(stress.Options{
		For: d, Procs: []int{1, 2, 4, 8}, Seed: rand.Uint64(), Check: gate.CheckInvariants,
		Progress: func(c stress.Counts) { t.Log(c) },
	})
	if err != nil {
		t.Fatal(err)
	}
}
