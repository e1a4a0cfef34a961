package otelgate

import (
	"errors"
	"fmt"

	"github.com/rpcgate/rpcgate/gate"
)

// Instrument shows gates that are used without an interceptor. The gates of a
// get metrics, and what they decide about a call is written on the current span of
// the context that the call was acquired with, as by [Recorder.Annotate]. If
// several gates decide in one span, as those of a chain do, the attributes are
// those of the last one.
//
// It may be called any number of times, for instance after a change of the
// configuration has brought new gates: nothing is added twice. The gates may be
// those of an interceptor, too, and still everything is told once. There is one
// exception: for a stream that takes a lease per message, an interceptor sums up
// what the gates did, and Instrument tells of each message.
//
// It is an error, and nothing is changed, if a is nil or is no [gate.GateLister],
// if an option has a bad value, or if two of the gates have the same name.
func Instrument(a gate.Admitter, opts ...Option) error {
	c, gates, err := prepare(a, opts)
	if err == nil && len(gates) == 0 {
		err = errors.New("the Admitter lists no gates: want a gate.GateLister")
	}
	if err == nil && !c.noMetrics {
		err = attachMetrics(gates, c)
	}
	if err != nil {
		return fmt.Errorf("otelgate.Instrument: %w", err)
	}
	if !c.noSpans {
		for _, g := range gates {
			observeAllSpans(g, c.tracers)
		}
	}
	return nil
}
