// Package report prints what was measured as one table.
package report

import (
	"fmt"
	"io"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/rpcgate/rpcgate/internal/bench/measure"
)

// Table is sections of rows.
type Table struct{ sections []Section }

// Section is rows that are compared with each other.
type Section struct {
	Title string // says in a few words what one operation is, and what the ratios are ratios to
	Rows  []Row
}

// Row is one line. What does not apply is NaN, or empty.
type Row struct {
	Name          string
	Value         float64 // median
	Unit          string
	Ratio         measure.Spread // to the base, paired within a round
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

// Write prints the table in Markdown with columns that line up, and after it which targets were missed.
func (t *Table) Write(w io.Writer) error {
	lines := [][]string{{"", "median", "ratio [quartiles]", "B/op", "allocs", "kept", "target"}}
	for _, s := range t.sections {
		lines = append(lines, []string{"**" + s.Title + "**"})
		for _, r := range s.Rows {
			lines = append(lines, r.cells())
		}
	}
	width := make([]int, len(lines[0]))
	for _, cells := range lines {
		if len(cells) == 1 {
			continue // a title may be longer than the column
		}
		for i, c := range cells {
			width[i] = max(width[i], utf8.RuneCountInString(c))
		}
	}
	for i, cells := range lines {
		if _, err := fmt.Fprintln(w, line(cells, width)); err != nil {
			return err
		}
		if i == 0 {
			if _, err := fmt.Fprintln(w, rule(width)); err != nil {
				return err
			}
		}
	}
	return t.writeVerdict(w)
}

func (t *Table) writeVerdict(w io.Writer) error {
	met, all := 0, 0
	var missed strings.Builder
	for _, s := range t.sections {
		for _, r := range s.Rows {
			for _, target := range r.Targets {
				all++
				if target.Met() {
					met++
				} else {
					fmt.Fprintf(&missed, "\n- %s, %s: %s", s.Title, r.Name, target)
				}
			}
		}
	}
	_, err := fmt.Fprintf(w, "\nTargets of DESIGN 9 met: %d of %d.%s\n", met, all, missed.String())
	return err
}

func (r Row) cells() []string {
	ratio := ""
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
		targets[i] = t.String()
	}
	return []string{r.Name, value, ratio, count(r.Bytes), count(r.Allocs), kept, strings.Join(targets, "; ")}
}

func line(cells []string, width []int) string {
	if len(cells) == 1 {
		return "| " + cells[0] + strings.Repeat(" |", len(width))
	}
	var b strings.Builder
	for i, c := range cells {
		pad := strings.Repeat(" ", max(0, width[i]-utf8.RuneCountInString(c)))
		if i == 0 || i == len(cells)-1 {
			b.WriteString("| " + c + pad + " ")
		} else {
			b.WriteString("| " + pad + c + " ")
		}
	}
	return b.String() + "|"
}

func rule(width []int) string {
	var b strings.Builder
	for i, w := range width {
		dashes := strings.Repeat("-", w+1)
		if i == 0 || i == len(width)-1 {
			b.WriteString("|" + dashes + "-")
		} else {
			b.WriteString("|" + dashes + ":")
		}
	}
	return b.String() + "|"
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

// count prints what is a whole number but for what others of the process did meanwhile.
func count(x float64) string {
	if math.IsNaN(x) {
		return ""
	}
	return fmt.Sprintf("%.0f", math.Abs(math.Round(x)))
}
