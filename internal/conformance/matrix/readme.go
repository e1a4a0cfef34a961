package main

import (
	"fmt"
	"os"
	"strings"
)

// The table stands between these lines of a Markdown file.
const (
	beginMark = "<!-- matrix: go run ./internal/conformance/matrix -write README.md -->\n"
	endMark   = "<!-- /matrix -->\n"
)

// writeTable puts the table into the file.
func writeTable(path, table string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	replaced, err := replaceTable(string(text), table)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return os.WriteFile(path, []byte(replaced), 0o644)
}

// checkTable is an error if another table is in the file.
func checkTable(path, table string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	replaced, err := replaceTable(string(text), table)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if replaced != string(text) {
		return fmt.Errorf("%s: the table is not what the hosts do now: run this with -write", path)
	}
	return nil
}

// replaceTable returns the text with the table between the marks.
func replaceTable(text, table string) (string, error) {
	head, rest, ok := strings.Cut(text, beginMark)
	if !ok {
		return "", fmt.Errorf("there is no line %q", strings.TrimSpace(beginMark))
	}
	_, tail, ok := strings.Cut(rest, endMark)
	if !ok {
		return "", fmt.Errorf("there is no line %q after it", strings.TrimSpace(endMark))
	}
	return head + beginMark + "\n" + table + "\n" + endMark + tail, nil
}
