package mistake

import (
	"errors"
	"testing"
)

func TestAllMistakesAreToldAtOnce(t *testing.T) {
	bad := func(text string) func() error { return func() error { return errors.New(text) } }
	opts := []func() error{bad("WithA: want 1, got 2"), func() error { return nil }, bad("WithB: want 3, got 4")}
	err := InOptions(opts, func(o func() error) error { return o() })
	defer func() {
		want := "pkg: handler: want a handler, got nil\npkg: WithA: want 1, got 2\npkg: WithB: want 3, got 4"
		if got := recover(); got != want {
			t.Errorf("got the panic %q, want %q", got, want)
		}
	}()
	Panic("pkg", Nil("handler", "a handler"), nil, err)
}

func TestNilOptionIsAMistake(t *testing.T) {
	type option interface{ apply() error }
	err := InOptions([]option{nil}, option.apply)
	if want := "option 0: want an Option, got nil"; err == nil || err.Error() != want {
		t.Errorf("got error %v, want %s", err, want)
	}
}

func TestWithoutMistakesNothingHappens(t *testing.T) {
	Panic("pkg", nil, InOptions([]int{1}, func(int) error { return nil }))
}
