// Package cpu measures what calls cost a server that runs in a process of its own: the CPU time of answered and of
// refused calls, and the memory of waiting ones. Wall time of calls over loopback says little about the server, since
// the client uses the same cores.
package cpu

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/rpcgate/rpcgate/internal/bench/echo"
	"github.com/rpcgate/rpcgate/internal/bench/measure"
	"github.com/rpcgate/rpcgate/internal/bench/report"
)

const (
	callers = 64 // at once, over one connection
	small   = 100
	large   = 64 << 10
)

// Run measures all and adds it to the table.
func Run(lab *measure.Lab, table *report.Table) error {
	for _, size := range []int{small, large} {
		if err := perCall(lab, table, size); err != nil {
			return err
		}
	}
	return memory(lab, table)
}

// perCall measures all variants that answer or refuse.
func perCall(lab *measure.Lab, table *report.Table, size int) (err error) {
	p, err := start()
	if err != nil {
		return err
	}
	defer func() {
		if stopErr := p.stop(); err == nil {
			err = stopErr
		}
	}()
	all := slices.DeleteFunc(variants(), func(v variant) bool { return v.does == parks }) // they come last
	plan := lab.Plan(41, 100*time.Millisecond)
	if lab.Quick() {
		plan.Rounds = 1
	}
	samples := make([]func() float64, len(all))
	for i, v := range all {
		client, err := echo.NewClient(p.servers[i].Protocol, p.servers[i].Addr, size)
		if err != nil {
			return err
		}
		defer client.Close()
		s := &sampler{process: p, client: client, variant: v, length: plan.Sample}
		if _, err := s.sample(); err != nil { // warms up
			return err
		}
		samples[i] = s.sampleOrDrop // CPU time: it may be taken while others use the machine
	}
	series := measure.Interleave(plan.Rounds, samples)
	for _, group := range groups(all) {
		table.Add(report.Section{
			Title: fmt.Sprintf("server CPU of a call, %s, %s, %d callers on 1 connection; x of %s",
				group, bytes(size), callers, all[baseOf(all, group)].name),
			Rows: rows(all, series, group, size),
		})
	}
	return nil
}

func groups(all []variant) []string {
	var names []string
	for _, v := range all {
		if !slices.Contains(names, v.group) {
			names = append(names, v.group)
		}
	}
	return names
}

func baseOf(all []variant, group string) int {
	return slices.IndexFunc(all, func(v variant) bool { return v.group == group && v.base })
}

func rows(all []variant, series []measure.Series, group string, size int) []report.Row {
	base := series[baseOf(all, group)]
	var rows []report.Row
	for i, v := range all {
		if v.group != group {
			continue
		}
		r := report.NewRow(v.name, series[i].Median(), "us")
		r.Compare(series[i], base)
		if want := v.target(size); want > 0 {
			r.Targets = []report.Target{report.AtMost(want, "x", r.Judged(r.Ratio.Mid))}
		}
		rows = append(rows, r)
	}
	return rows
}

func bytes(n int) string {
	if n >= 1<<10 {
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d B", n)
}

// sampler measures a variant.
type sampler struct {
	process *process
	client  *echo.Client
	variant variant
	length  time.Duration
}

// sampleOrDrop is sample for a variant that was seen to work.
func (s *sampler) sampleOrDrop() float64 {
	us, err := s.sample()
	if err != nil {
		return math.NaN()
	}
	return us
}

// sample is the CPU time of the server for a call, in microseconds.
func (s *sampler) sample() (float64, error) {
	before, err := s.process.usage(askGC)
	if err != nil {
		return 0, err
	}
	calls, err := s.load()
	if err != nil {
		return 0, fmt.Errorf("%s, %s: %w", s.variant.group, s.variant.name, err)
	}
	after, err := s.process.usage(askNow)
	if err != nil {
		return 0, err
	}
	return float64((after.CPU - before.CPU).Nanoseconds()) / 1e3 / float64(calls), nil
}

// load calls as fast as the server answers.
func (s *sampler) load() (calls int64, err error) {
	var stop atomic.Bool
	var made atomic.Int64
	timer := time.AfterFunc(s.length, func() { stop.Store(true) })
	defer timer.Stop()
	group, ctx := errgroup.WithContext(context.Background())
	for range callers {
		group.Go(func() error {
			n := int64(0)
			for !stop.Load() {
				if err := s.client.Expect(ctx, s.variant.does == refuses); err != nil {
					return err
				}
				n++
			}
			made.Add(n)
			return nil
		})
	}
	err = group.Wait()
	return made.Load(), err
}
