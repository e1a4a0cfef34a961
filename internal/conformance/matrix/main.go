// Command matrix runs the conformance table over every host and prints the
// result as a table in Markdown:
//
//	go run ./internal/conformance/matrix
//	go run ./internal/conformance/matrix -write README.md
//	go run ./internal/conformance/matrix -check README.md
//
// It exits with 1 if a host breaks a promise, or if -check finds another table
// in the file.
package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/rpcgate/rpcgate/internal/conformance"
)

func main() {
	write := flag.String("write", "", "put the table into `file`, between its marks")
	check := flag.String("check", "", "compare the table with that in `file`")
	flag.Parse()
	out, testErr := exec.Command("go", "test", "-count=1", "-run=^TestConformance$", "-json",
		"github.com/rpcgate/rpcgate/internal/conformance/...",
		"github.com/rpcgate/rpcgate/interceptor/...").Output()
	m, err := read(bytes.NewReader(out))
	if err != nil {
		fmt.Fprintln(os.Stderr, "matrix:", err)
		os.Exit(1)
	}
	var table strings.Builder
	m.print(&table)
	fmt.Print(table.String())
	if testErr == nil && *write != "" {
		testErr = writeTable(*write, table.String())
	}
	if testErr == nil && *check != "" {
		testErr = checkTable(*check, table.String())
	}
	if testErr != nil {
		fmt.Fprintln(os.Stderr, "matrix:", testErr)
		os.Exit(1)
	}
}

// matrix says for each host and case "pass", "fail" or "skip".
type matrix struct {
	hosts   []string
	results map[[2]string]string // by host and case
}

// read reads the output of go test -json. The tests of interest are named
// TestConformance/<host>/<case>.
func read(r io.Reader) (*matrix, error) {
	m := &matrix{results: make(map[[2]string]string)}
	for lines := bufio.NewScanner(r); lines.Scan(); {
		var event struct{ Action, Test string }
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
			return nil, fmt.Errorf("output of go test: %w", err)
		}
		parts := strings.Split(event.Test, "/")
		if len(parts) != 3 || !slices.Contains([]string{"pass", "fail", "skip"}, event.Action) {
			continue
		}
		host := strings.ReplaceAll(parts[1], "_", " ")
		if !slices.Contains(m.hosts, host) {
			m.hosts = append(m.hosts, host)
		}
		m.results[[2]string{host, parts[2]}] = event.Action
	}
	if len(m.hosts) == 0 {
		return nil, fmt.Errorf("no host was tested")
	}
	slices.SortFunc(m.hosts, cmp.Compare[string])
	return m, nil
}

func (m *matrix) print(w io.Writer) {
	signs := map[string]string{"pass": "yes", "fail": "**NO**", "skip": "–"}
	fmt.Fprintf(w, "| promise | %s |\n|---|%s\n", strings.Join(m.hosts, " | "), strings.Repeat("---|", len(m.hosts)))
	for _, c := range conformance.Cases() {
		fmt.Fprintf(w, "| %s |", sentence(c.Name))
		for _, host := range m.hosts {
			fmt.Fprintf(w, " %s |", cmp.Or(signs[m.results[[2]string{host, c.Name}]], "?"))
		}
		fmt.Fprintln(w)
	}
}

// sentence makes a sentence of the name of a case.
func sentence(name string) string {
	var b strings.Builder
	for i, r := range name {
		if i > 0 && r >= 'A' && r <= 'Z' {
			b.WriteByte(' ')
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}
