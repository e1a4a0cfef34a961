// Command matrix runs the conformance table over every host and prints the
// result as a table in Markdown:
//
//	go run ./internal/conformance/matrix
//	go run ./internal/conformance/matrix -write README.md
//	go run ./internal/conformance/matrix -check README.md
//
// With -from it does not run the tests, but reads what go test -v has printed.
//
// It exits with 1 if a host breaks a promise, or if -check finds another table
// in the file.
package main

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
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
	from := flag.String("from", "", "read the results of the tests from `file` instead of running them")
	write := flag.String("write", "", "put the table into `file`, between its marks")
	check := flag.String("check", "", "compare the table with that in `file`")
	flag.Parse()
	if err := run(*from, *write, *check); err != nil {
		fmt.Fprintln(os.Stderr, "matrix:", err)
		os.Exit(1)
	}
}

func run(from, write, check string) error {
	out, testErr := results(from)
	m, err := read(bytes.NewReader(out))
	if err != nil {
		return errors.Join(err, testErr)
	}
	var table strings.Builder
	m.print(&table)
	fmt.Print(table.String())
	if testErr == nil && m.failed() {
		testErr = errors.New("a host breaks a promise")
	}
	if testErr == nil && write != "" {
		testErr = section().Write(write, table.String())
	}
	if testErr == nil && check != "" {
		testErr = section().Check(check, table.String())
	}
	return testErr
}

// results are those of go test -v.
func results(from string) ([]byte, error) {
	if from != "" {
		return os.ReadFile(from)
	}
	return exec.Command("go", "test", "-count=1", "-run=^TestConformance$", "-v",
		"github.com/rpcgate/rpcgate/internal/conformance/...",
		"github.com/rpcgate/rpcgate/interceptor/...").Output()
}

// matrix says for each host and case "PASS", "FAIL" or "SKIP".
type matrix struct {
	hosts   []string
	results map[[2]string]string // by host and case
}

// read reads the output of go test -v. The lines of interest are those of tests
// that are named TestConformance/<host>/<case>:
//
//	--- PASS: TestConformance/httpgate/RefusedAtTheLimit (0.00s)
func read(r io.Reader) (*matrix, error) {
	m := &matrix{results: make(map[[2]string]string)}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line, ok := strings.CutPrefix(strings.TrimLeft(lines.Text(), " "), "--- ")
		result, name, found := strings.Cut(line, ": TestConformance/")
		name, _, _ = strings.Cut(name, " ")
		host, rule, _ := strings.Cut(name, "/")
		if !ok || !found || rule == "" || strings.Contains(rule, "/") {
			continue
		}
		host = strings.ReplaceAll(host, "_", " ")
		if !slices.Contains(m.hosts, host) {
			m.hosts = append(m.hosts, host)
		}
		m.results[[2]string{host, rule}] = result
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("output of go test: %w", err)
	}
	if len(m.hosts) == 0 {
		return nil, errors.New("no host was tested")
	}
	slices.SortFunc(m.hosts, cmp.Compare[string])
	return m, nil
}

func (m *matrix) failed() bool {
	for _, result := range m.results {
		if result == "FAIL" {
			return true
		}
	}
	return false
}

// print numbers the hosts, so that the table is no wider than a page.
func (m *matrix) print(w io.Writer) {
	numbers := make([]string, len(m.hosts))
	for i, host := range m.hosts {
		numbers[i] = fmt.Sprint(i + 1)
		fmt.Fprintf(w, "%d. %s\n", i+1, host)
	}
	signs := map[string]string{"PASS": "✓", "FAIL": "**NO**", "SKIP": "–"}
	fmt.Fprintf(w, "\n| promise | %s |\n|---|%s\n", strings.Join(numbers, " | "), strings.Repeat("---|", len(m.hosts)))
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
