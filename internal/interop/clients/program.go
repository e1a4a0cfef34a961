package main

import (
	"bufio"
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

//go:embed programs
var programs embed.FS

// unpack puts a program into dir and returns its path.
func unpack(dir, name string) (string, error) {
	text, err := programs.ReadFile("programs/" + name)
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, name)
	return path, os.WriteFile(path, text, 0o600)
}

// said is a line that a program prints: what came of one call, or of many.
type said struct {
	Code     string         `json:"code"`
	Refused  map[string]int `json:"refused"`
	Innocent map[string]int `json:"innocent"`
}

// talk is a running program.
type talk struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	stderr bytes.Buffer
}

func begin(ctx context.Context, dir string, argv ...string) (*talk, error) {
	t := &talk{cmd: exec.CommandContext(ctx, argv[0], argv[1:]...)}
	t.cmd.Dir, t.cmd.Stderr = dir, &t.stderr
	in, err := t.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := t.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	t.in, t.out = in, bufio.NewReader(out)
	return t, t.cmd.Start()
}

// next reads a line.
func (t *talk) next() (s said, err error) {
	line, err := t.out.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &s)
	}
	if err != nil {
		t.end()
		return s, fmt.Errorf("the client has ended early (%w): %s %s", err, line, tail(t.stderr.String()))
	}
	return s, nil
}

// tell writes an empty line, for which the program waits.
func (t *talk) tell() { _, _ = io.WriteString(t.in, "\n") }

func (t *talk) end() {
	_ = t.in.Close()
	_ = t.cmd.Process.Kill()
	_ = t.cmd.Wait()
}

// tail is the end of a text.
func tail(text string) string { return text[max(0, len(text)-300):] }

// all checks that all counts are of what is wanted, but for the slack of the meeting.
func (m meeting) all(what string, counts map[string]int, want string) error {
	if n := total(counts); n > 0 && float64(n-counts[want]) <= m.slack*float64(n) {
		return nil
	}
	var others []string
	for code, n := range counts {
		if code != want {
			others = append(others, fmt.Sprintf("%d got %s", n, code))
		}
	}
	slices.Sort(others)
	return fmt.Errorf("%s %s", what, strings.Join(others, ", "))
}

func total(counts map[string]int) (n int) {
	for _, m := range counts {
		n += m
	}
	return n
}

// flood lets a program make calls that are refused, and others beside them, and then one that is admitted.
func (m meeting) flood(ctx context.Context, b *busy, dir string, argv ...string) (string, error) {
	t, err := begin(ctx, dir, argv...)
	if err != nil {
		return "", err
	}
	defer t.end()
	first, err := t.next()
	if err != nil {
		return "", err
	}
	b.release()
	t.tell()
	last, err := t.next()
	if err != nil {
		return "", err
	}
	errs := []error{m.all(fmt.Sprintf("of %d refused", total(first.Refused)), first.Refused, "RESOURCE_EXHAUSTED")}
	if first.Innocent != nil {
		errs = append(errs, m.all(fmt.Sprintf("of %d innocent", total(first.Innocent)), first.Innocent, "OK"))
	}
	if last.Code != "OK" {
		errs = append(errs, fmt.Errorf("the call after it got %s", last.Code))
	}
	err = errors.Join(errs...)
	switch n := first.Refused["RESOURCE_EXHAUSTED"]; {
	case err != nil:
		return "", err
	case first.Innocent == nil:
		return fmt.Sprintf("%d refused, the next answered", n), nil
	default:
		return fmt.Sprintf("%d refused, %d beside them and the next answered", n, first.Innocent["OK"]), nil
	}
}
