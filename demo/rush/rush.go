package rush

import (
	"context"
	"fmt"
	"slices"

	"github.com/rpcgate/rpcgate/demo/server"
)

// Result is the result of a rush.
type Result struct {
	OK      bool `json:"ok"` // whether all promises were kept
	Ungated Side `json:"ungated"`
	Gated   Side `json:"gated"`

	Promises []Promise `json:"-"`
}

// Run plays the rush without gates, then with gates.
func Run(ctx context.Context, c Config) (Result, error) {
	if err := c.Check(); err != nil {
		return Result{}, err
	}
	var r Result
	var err error
	c.Progress(fmt.Sprintf("without gates: %d clients, %d rounds of %s", c.Clients, c.Rounds(), c.Deadline))
	if r.Ungated, err = playSide(ctx, c, nil); err != nil {
		return Result{}, fmt.Errorf("without gates: %w", err)
	}
	gates, err := server.NewGates(c.gates())
	if err != nil {
		return Result{}, err
	}
	c.Progress(fmt.Sprintf("with gates: %d calls at once in front of %d connections", c.Gate, server.Pool))
	if r.Gated, err = playSide(ctx, c, gates); err != nil {
		return Result{}, fmt.Errorf("with gates: %w", err)
	}
	r.Promises = promises(r.Ungated, r.Gated, c)
	r.OK = !slices.ContainsFunc(r.Promises, func(p Promise) bool { return !p.Kept })
	return r, nil
}
