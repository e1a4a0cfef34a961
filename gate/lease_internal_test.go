package gate

import (
	"testing"
	"time"
	"unsafe"
)

// The compiler passes structs of up to four words in registers. With a fifth, a Lease would be kept in memory and copied
// at each step of its way, which takes longer than all else that an admission does beside its lock.
func TestALeaseIsPassedInRegisters(t *testing.T) {
	if size, want := unsafe.Sizeof(Lease{}), 4*unsafe.Sizeof(uint64(0)); size > want {
		t.Errorf("a Lease has %d bytes, want at most %d", size, want)
	}
}

func TestAnOutcomeKeepsItsPartsApart(t *testing.T) {
	const days = 3 * 24 * time.Hour
	for _, waited := range []time.Duration{0, 1, time.Second, days, maxWaited} {
		for d := Decision(0); d <= Abandoned; d++ {
			for r := Reason(0); r < reasons; r++ {
				for _, dry := range []bool{false, true} {
					for _, gate := range []int{0, 1, maxChain} {
						o := newOutcome(d, r, dry).withWaited(1 << 40).withGate(gate).withWaited(waited)
						if o.decision() != d || o.reason() != r || (o&outcomeDryRun != 0) != dry || o.gate() != gate || o.waited() != waited {
							t.Fatalf("%x is %s, %s, dry run %v, gate %d, waited %s", uint64(o), o.decision(), o.reason(), o&outcomeDryRun != 0, o.gate(), o.waited())
						}
					}
				}
			}
		}
	}
	if got := newOutcome(Accepted, 0, false).withWaited(1 << 60); got.waited() != maxWaited || got.decision() != Accepted || got.gate() != 0 {
		t.Errorf("a wait of decades changes the rest: %x", uint64(got))
	}
	if reasons > maxReason+1 {
		t.Errorf("an outcome has room for %d reasons, there are %d", maxReason+1, reasons)
	}
}
