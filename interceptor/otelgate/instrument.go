package otelgate

import (
	"errors"
	"fmt"

	"github.com/rpcgate/rpcgate/gate"
)

// Instrument shows gates that are used without an interceptor: each gate of a
// gets metrics, and what it decides about a call is written on the current span
// of the context that the call was acquired with, as [Recorder.Annotate] does. If
// several gates decide in one span, as those of a chain do, the attributes are
// those of the last one.
//
// It may be called any number of times, for instance after a change of the
// configuration has brought new gates: what has been added is not added again.
// The gates may be those of an interceptor as well: nothing is said twice. But
// where an interceptor says one thing about a stream that takes a place per
// message, each of the messages is then told of.
//
// It is an error, and nothing is changed, if a is nil or has no method
// Gates() []*gate.Gate, if an option has a bad value, or if two of the gates have
// the same name.
func Instrument(a gate.Admitter, opts ...Option) error {
	c, gates, err := prepare(a, opts)
	if err == nil && len(gates) == 0 {
		err = errors.New("the Admitter has no gates that it tells of: want a method Gates() []*gate.Gate")
	}
	if err == nil && !c.noMetrics {
		err = attachMetrics(gates, c)
	}
	if err != nil {
		return fmt.Errorf("otelgate.Instrument: %w", err)
	}
	if !c.noSpans {
		for _, g := range gates {
			observeSpans(g, c.tracers).bare.Store(true)
		}
	}
	return nil
}
