// Package distinct checks the gates that a constructor is given.
package distinct

import (
	"errors"
	"fmt"

	"github.com/rpcgate/rpcgate/gate"
)

// Gates returns the gates, each once, for the constructor called what. The error names
// all nil gates and all names that two gates have.
func Gates(what string, gates []*gate.Gate) (each []*gate.Gate, err error) {
	var errs []error
	seen := make(map[string]*gate.Gate, len(gates))
	for i, g := range gates {
		if g == nil {
			errs = append(errs, fmt.Errorf("%s: want a gate, got nil as gate %d of %d", what, i+1, len(gates)))
			continue
		}
		switch seen[g.Name()] {
		case g:
		case nil:
			seen[g.Name()] = g
			each = append(each, g)
		default:
			errs = append(errs, fmt.Errorf("%s: want gates with different names, got two named %q", what, g.Name()))
		}
	}
	return each, errors.Join(errs...)
}
