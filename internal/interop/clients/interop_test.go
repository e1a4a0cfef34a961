//go:build interop

package main

import (
	"slices"
	"testing"
)

// busyMachine is the slack on a machine that does other things, too. Without the drain of refused bodies half of the calls
// of a row fail.
const busyMachine = 0.05

// The rows whose tools CI has for other tests, but those of a server that is not set up as it should be.
func TestRowsOfCI(t *testing.T) {
	t.Chdir("../../..") // like the command
	cheap := []string{"curl", "curl through nginx", "connect-node"}
	met := 0
	for _, r := range rows() {
		if !slices.Contains(cheap, r.name()) || r.known == bareRow {
			continue
		}
		met++
		t.Run(r.name()+" "+r.tried, func(t *testing.T) {
			o := r.meet(t.Context(), t.TempDir(), busyMachine)
			switch err := o.err(); {
			case len(o.missing) > 0:
				t.Error(o)
			case err != nil && r.known == "":
				t.Error(err)
			default:
				t.Log(o)
			}
		})
	}
	if met == 0 {
		t.Error("no row is one of these clients")
	}
}
