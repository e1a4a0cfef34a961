package readme

import (
	"fmt"
	"os"
	"strings"
)

// Section is a part of a Markdown file that a command writes, between two lines.
type Section struct {
	Begin, End string // the lines
}

// Write puts the content into the file.
func (s Section) Write(path, content string) error {
	_, replaced, err := s.in(path, content)
	if err != nil {
		return err
	}
	return os.WriteFile(path, []byte(replaced), 0o644)
}

// Check is an error if the file has other content.
func (s Section) Check(path, content string) error {
	text, replaced, err := s.in(path, content)
	if err == nil && replaced != text {
		err = fmt.Errorf("%s: the table is not what the hosts do now: run this with -write", path)
	}
	return err
}

// in returns the text of a file, and what it is with the content in the section.
func (s Section) in(path, content string) (text, replaced string, err error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return "", "", err
	}
	if replaced, err = s.Replace(string(b), content); err != nil {
		return "", "", fmt.Errorf("%s: %w", path, err)
	}
	return string(b), replaced, nil
}

// Replace returns the text with the content in the section.
func (s Section) Replace(text, content string) (string, error) {
	head, rest, ok := strings.Cut(text, s.Begin)
	if !ok {
		return "", fmt.Errorf("there is no line %q", strings.TrimSpace(s.Begin))
	}
	_, tail, ok := strings.Cut(rest, s.End)
	if !ok {
		return "", fmt.Errorf("there is no line %q after it", strings.TrimSpace(s.End))
	}
	return head + s.Begin + "\n" + content + "\n" + s.End + tail, nil
}
