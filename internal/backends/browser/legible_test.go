package browser

import (
	"context"
	_ "embed"
	"testing"

	"github.com/chromedp/chromedp"
)

//go:embed legible.js
var legible string

// readable checks the contrast of every text that is shown.
func readable(t *testing.T, ctx context.Context, name string) {
	t.Helper()
	var faint []string
	if err := chromedp.Run(ctx, chromedp.Evaluate(legible+`faint()`, &faint)); err != nil {
		t.Fatal(err)
	}
	for _, text := range faint {
		t.Errorf("%s: the contrast is below 4.5: %s", name, text)
	}
}

// numbersFit checks that large numbers have room in the list.
func numbersFit(t *testing.T, ctx context.Context, name string) {
	t.Helper()
	var cramped []string
	if err := chromedp.Run(ctx, chromedp.Evaluate(legible+`cramped()`, &cramped)); err != nil {
		t.Fatal(err)
	}
	for _, cell := range cramped {
		t.Errorf("%s: a number does not fit: %s", name, cell)
	}
}

// routesFit puts a long route in the place of a short one, in each table and in the verdict, and counts its lines.
func routesFit(t *testing.T, ctx context.Context, s screen) {
	t.Helper()
	most := 3
	if s.width < 600 {
		most = 5
	}
	var lines map[string]int
	if err := chromedp.Run(ctx, evaluate(legible+`linesOfLongRoutes()`, &lines)); err != nil {
		t.Fatal(err)
	}
	for _, place := range []string{"routes", "holders", "rejections"} {
		if n := lines[place]; n < 1 || n > most {
			t.Errorf("%s: a long route has %d lines in the %s, want 1 to %d", s.name, n, place, most)
		}
	}
}

// unitsOnPhone checks that a rate has its unit where no column has a header. The screen is the phone's.
func unitsOnPhone(t *testing.T, ctx context.Context) {
	t.Helper()
	var unit string
	if err := chromedp.Run(ctx, chromedp.Evaluate(
		`getComputedStyle(document.querySelector("#list .c-rej[data-label]"), "::after").content`, &unit)); err != nil {
		t.Fatal(err)
	}
	if unit != `"/s"` {
		t.Errorf("the rate of refusals ends with %s, want /s", unit)
	}
}
