package readme_test

import (
	"strings"
	"testing"

	"github.com/rpcgate/rpcgate/internal/readme"
)

var section = readme.Section{Begin: "<!-- begin -->\n", End: "<!-- end -->\n"}

func TestContentIsPutBetweenTheMarks(t *testing.T) {
	text := "above\n" + section.Begin + "old\n" + section.End + "below\n"
	got, err := section.Replace(text, "| new |\n")
	want := "above\n" + section.Begin + "\n| new |\n\n" + section.End + "below\n"
	if err != nil || got != want {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
	if again, err := section.Replace(got, "| new |\n"); err != nil || again != got {
		t.Errorf("once more: got %q, %v; want no change", again, err)
	}
}

func TestMissingMarkIsAnError(t *testing.T) {
	for _, text := range []string{"nothing", section.Begin + "no end"} {
		if _, err := section.Replace(text, "x"); err == nil || !strings.Contains(err.Error(), "there is no line") {
			t.Errorf("%q: got error %v", text, err)
		}
	}
}
