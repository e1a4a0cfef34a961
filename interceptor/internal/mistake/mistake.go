// Package mistake tells programmers what they got wrong in the call of a
// constructor: everything at once, and in one form,
//
//	grpcgate: WithKeyFunc: want a function, got nil
package mistake

import (
	"errors"
	"fmt"
	"strings"
)

// Nil is the mistake of a nil argument, or value of an option.
func Nil(what, want string) error { return fmt.Errorf("%s: want %s, got nil", what, want) }

// InOptions applies the options and returns the mistakes in all of them.
func InOptions[O any](opts []O, apply func(O) error) error {
	errs := make([]error, len(opts))
	for i, o := range opts {
		if any(o) == nil {
			errs[i] = Nil(fmt.Sprintf("option %d", i), "an Option")
			continue
		}
		errs[i] = apply(o)
	}
	return errors.Join(errs...)
}

// Panic panics if there are mistakes, with a line for each that begins with the
// name of the constructor's package.
func Panic(pkg string, mistakes ...error) {
	err := errors.Join(mistakes...)
	if err == nil {
		return
	}
	prefix := pkg + ": "
	panic(prefix + strings.ReplaceAll(err.Error(), "\n", "\n"+prefix))
}
