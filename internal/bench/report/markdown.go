package report

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// writeMarkdown prints lines of cells in columns that line up; the first line is the heading. A line of one cell is a
// title. The columns that number says have numbers.
func writeMarkdown(w io.Writer, lines [][]string, number func(column int) bool) error {
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
		if _, err := fmt.Fprintln(w, line(cells, width, number)); err != nil {
			return err
		}
		if i == 0 {
			if _, err := fmt.Fprintln(w, rule(width, number)); err != nil {
				return err
			}
		}
	}
	return nil
}

func line(cells []string, width []int, number func(int) bool) string {
	if len(cells) == 1 {
		return "| " + cells[0] + strings.Repeat(" |", len(width))
	}
	var b strings.Builder
	for i, c := range cells {
		pad := strings.Repeat(" ", max(0, width[i]-utf8.RuneCountInString(c)))
		if number(i) {
			b.WriteString("| " + pad + c + " ")
		} else {
			b.WriteString("| " + c + pad + " ")
		}
	}
	return b.String() + "|"
}

func rule(width []int, number func(int) bool) string {
	var b strings.Builder
	for i, w := range width {
		dashes := strings.Repeat("-", w+1)
		if number(i) {
			b.WriteString("|" + dashes + ":")
		} else {
			b.WriteString("|" + dashes + "-")
		}
	}
	return b.String() + "|"
}
