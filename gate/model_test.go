package gate_test

import (
	"flag"
	"math/rand/v2"
	"testing"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/internal/soak/model"
)

var (
	modelSeed  = flag.Uint64("model.seed", 0, "seed of TestGateIsAsTheModel; 0: a new one")
	modelSteps = flag.Int("model.steps", 200_000, "steps of TestGateIsAsTheModel")
)

// TestGateIsAsTheModel compares the gate with a simple model of it after every one of many random operations, and looks
// at the gate's insides. `go run ./internal/soak` does the same for longer.
func TestGateIsAsTheModel(t *testing.T) {
	seed := *modelSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("seed %d", seed)
	counts, err := model.Run(t, model.Options{Seed: seed, Steps: *modelSteps, Check: gate.CheckInvariants})
	t.Log(counts)
	if err != nil {
		t.Fatal(err)
	}
}
