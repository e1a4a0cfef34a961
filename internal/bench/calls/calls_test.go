package calls

import (
	"slices"
	"testing"

	"github.com/rpcgate/rpcgate/internal/bench/telemetry"
)

func TestPairsAndRefusalsRunInsideOfACall(t *testing.T) {
	ran := 0
	for _, live := range []func(func(*inside)) error{inGRPC, inConnectV1, inConnectV2, inHTTP} {
		err := live(func(i *inside) {
			sdk := telemetry.New()
			defer sdk.Close()
			name, ctx := i.host()
			floor := pairOf("floor: the same by hand, in "+name, toSDK(sdk), ctx, byHand(sdk.Meters), nothing)
			for _, p := range slices.Concat(i.pairs(toNobody()), i.pairs(toSDK(sdk)), []pair{floor, yardstick()}) {
				p.with(3)
				p.without(3)
				ran++
			}
			for _, c := range i.refusals() {
				c.Run(3)
				ran++
			}
		})
		if err != nil {
			t.Error(err)
		}
	}
	if ran < 30 {
		t.Errorf("%d things ran, want all", ran)
	}
}
