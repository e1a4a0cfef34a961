package report

import (
	"fmt"
	"math"
)

// Target is something that DESIGN.md section 9 asks for.
type Target struct {
	Unit    string // "x" for a ratio
	Want    float64
	AtLeast bool // rather than at most
	Got     float64
}

// AtMost is a target that got must not exceed.
func AtMost(want float64, unit string, got float64) Target {
	return Target{Unit: unit, Want: want, Got: got}
}

// AtLeast is a target that got must reach.
func AtLeast(want float64, unit string, got float64) Target {
	return Target{Unit: unit, Want: want, Got: got, AtLeast: true}
}

// Met reports whether the target was reached. What could not be measured is not.
func (t Target) Met() bool {
	// As printed: nobody should see "at most 0.65: missed with 0.65".
	got := math.Round(t.Got*100) / 100
	if t.AtLeast {
		return got >= t.Want
	}
	return got <= t.Want
}

// String says what was wanted and what came of it.
func (t Target) String() string {
	sign := "≤"
	if t.AtLeast {
		sign = "≥"
	}
	unit := t.Unit
	if unit != "x" && unit != "" {
		unit = " " + unit
	}
	switch {
	case math.IsNaN(t.Got):
		return fmt.Sprintf("%s %g%s not measured", sign, t.Want, unit)
	case t.Met():
		return fmt.Sprintf("%s %g%s ok", sign, t.Want, unit)
	default:
		return fmt.Sprintf("%s %g%s MISSED, %s", sign, t.Want, unit, number(t.Got))
	}
}
