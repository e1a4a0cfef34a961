package calls

import "testing"

func TestPairsAndRefusalsRunInsideOfACall(t *testing.T) {
	ran := 0
	for _, live := range []func(func(*inside)) error{inGRPC, inConnectV1, inConnectV2, inHTTP} {
		err := live(func(i *inside) {
			told := newTelemetry()
			defer told.close()
			for _, p := range append(i.pairs(untold()), i.pairs(told)...) {
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
	if ran < 20 {
		t.Errorf("%d things ran, want 22", ran)
	}
}
