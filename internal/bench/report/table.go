// Package report prints what was measured as one table, and a second one of what came of the targets.
package report

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/rpcgate/rpcgate/internal/bench/measure"
)

// Table is sections of rows.
type Table struct{ sections []Section }

// Section is rows that are compared with each other.
type Section struct {
	// Title says in a few words what one operation is, and after a semicolon what the ratios are ratios to.
	Title string
	Rows  []Row
}

// Row is one line. What does not apply is NaN, or empty.
type Row struct {
	Name          string
	Value         float64 // median
	Unit          string
	Ratio         measure.Spread // to the base, paired within a round
	Detail        string         // of the value; it stands where the ratio is empty
	Bytes, Allocs float64
	Kept, Of      int // samples, or pairs of them where there is a ratio
	Targets       []Target
}

// NewRow makes a row with nothing but a value.
func NewRow(name string, value float64, unit string) Row {
	nan := math.NaN()
	return Row{Name: name, Value: value, Unit: unit, Ratio: measure.Spread{Low: nan, Mid: nan, High: nan}, Bytes: nan, Allocs: nan}
}

// Add appends a section.
func (t *Table) Add(s Section) { t.sections = append(t.sections, s) }

// Write prints the table in Markdown, and after it one line for each target.
func (t *Table) Write(w io.Writer) error {
	lines := [][]string{{"", "median", "ratio [quartiles]", "B/op", "allocs", "kept", "target"}}
	for _, s := range t.sections {
		lines = append(lines, []string{"**" + s.Title + "**"})
		for _, r := range s.Rows {
			lines = append(lines, r.cells())
		}
	}
	last := len(lines[0]) - 1
	if err := writeMarkdown(w, lines, func(column int) bool { return column > 0 && column < last }); err != nil {
		return err
	}
	return t.writeTargets(w)
}

func (t *Table) writeTargets(w io.Writer) error {
	lines := [][]string{{"what", "target", "result"}}
	came := map[Verdict]int{}
	for _, s := range t.sections {
		what, _, _ := strings.Cut(s.Title, ";")
		for _, r := range s.Rows {
			for _, target := range r.Targets {
				came[target.Verdict()]++
				lines = append(lines, []string{what + ": " + r.Name, target.String(), target.Result()})
			}
		}
	}
	if len(lines) == 1 {
		return nil
	}
	if _, err := fmt.Fprintf(w, "\nTargets: %d met, %d missed, %d not measured.\n\n",
		came[Met], came[Missed], came[NotMeasured]); err != nil {
		return err
	}
	return writeMarkdown(w, lines, func(int) bool { return false })
}

func (r Row) cells() []string {
	ratio := r.Detail
	if !math.IsNaN(r.Ratio.Mid) {
		ratio = fmt.Sprintf("%sx [%s..%s]", number(r.Ratio.Mid), number(r.Ratio.Low), number(r.Ratio.High))
	}
	value := number(r.Value)
	if value != "" && r.Unit != "" {
		value += " " + r.Unit
	}
	kept := ""
	if r.Of > 0 {
		kept = fmt.Sprintf("%d/%d", r.Kept, r.Of)
	}
	targets := make([]string, len(r.Targets))
	for i, t := range r.Targets {
		targets[i] = t.String() + " " + t.Result()
	}
	return []string{r.Name, value, ratio, count(r.Bytes), count(r.Allocs), kept, strings.Join(targets, "; ")}
}

// number prints three digits, which is more than can be believed.
func number(x float64) string {
	switch a := math.Abs(x); {
	case math.IsNaN(x):
		return ""
	case a >= 100:
		return fmt.Sprintf("%.0f", x)
	case a >= 10:
		return fmt.Sprintf("%.1f", x)
	default:
		return fmt.Sprintf("%.2f", x)
	}
}

// count prints a number that would be whole if nothing else in the process allocated meanwhile.
func count(x float64) string {
	if math.IsNaN(x) {
		return ""
	}
	return fmt.Sprintf("%.0f", math.Abs(math.Round(x)))
}
