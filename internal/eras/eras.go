// Package eras runs tests of what may be used both in bubbles of testing/synctest and
// outside of them.
package eras

import (
	"testing"
	"testing/synctest"
)

// Each runs a function outside of bubbles and in several of them, in an order in which
// each change between them comes up.
func Each(t *testing.T, use func(t *testing.T)) {
	t.Helper()
	bubble := func(t *testing.T) { synctest.Test(t, use) }
	for _, step := range []struct {
		name string
		run  func(*testing.T)
	}{
		{"real", use}, {"bubble", bubble}, {"next bubble", bubble}, {"real again", use}, {"last bubble", bubble}, {"real at the end", use},
	} {
		if !t.Run(step.name, step.run) {
			return
		}
	}
}
