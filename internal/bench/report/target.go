package report

import (
	"fmt"
	"math"
	"strconv"
)

// Target is something that DESIGN.md section 9 or an issue asks for.
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

// Verdict is what came of a target.
type Verdict string

// The verdicts.
const (
	Met         Verdict = "met"
	Missed      Verdict = "MISSED"
	NotMeasured Verdict = "not measured"
)

// Verdict says what came of the target. It judges the number as it is printed, so that nobody sees "at most 0.65: missed
// with 0.65".
func (t Target) Verdict() Verdict {
	got, err := strconv.ParseFloat(number(t.Got), 64)
	switch {
	case err != nil: // there is no number
		return NotMeasured
	case t.AtLeast && got >= t.Want, !t.AtLeast && got <= t.Want:
		return Met
	default:
		return Missed
	}
}

// String says what was wanted.
func (t Target) String() string {
	sign := "≤"
	if t.AtLeast {
		sign = "≥"
	}
	return fmt.Sprintf("%s %g%s", sign, t.Want, t.unit())
}

// Result says what came of it, with the number.
func (t Target) Result() string {
	if math.IsNaN(t.Got) {
		return string(NotMeasured)
	}
	got := number(t.Got)
	if t.Got == math.Trunc(t.Got) && t.Unit != "x" {
		got = fmt.Sprint(int(t.Got)) // something that was counted
	}
	return fmt.Sprintf("%s, %s%s", t.Verdict(), got, t.unit())
}

func (t Target) unit() string {
	if t.Unit == "x" || t.Unit == "" {
		return t.Unit
	}
	return " " + t.Unit
}
