package main

import (
	"strings"
	"testing"
)

func TestTableIsPutBetweenTheMarks(t *testing.T) {
	text := "above\n" + beginMark + "old\n" + endMark + "below\n"
	got, err := replaceTable(text, "| new |\n")
	want := "above\n" + beginMark + "\n| new |\n\n" + endMark + "below\n"
	if err != nil || got != want {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
	if again, err := replaceTable(got, "| new |\n"); err != nil || again != got {
		t.Errorf("once more: got %q, %v; want no change", again, err)
	}
}

func TestMissingMarkIsAnError(t *testing.T) {
	for _, text := range []string{"nothing", beginMark + "no end"} {
		if _, err := replaceTable(text, "x"); err == nil || !strings.Contains(err.Error(), "there is no line") {
			t.Errorf("%q: got error %v", text, err)
		}
	}
}
