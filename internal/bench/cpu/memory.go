package cpu

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/rpcgate/rpcgate/internal/bench/echo"
	"github.com/rpcgate/rpcgate/internal/bench/measure"
	"github.com/rpcgate/rpcgate/internal/bench/report"
)

// memory is what a waiting call costs: what the server's process grows by, each variant in a new one.
func memory(lab *measure.Lab, table *report.Table) error {
	rounds, calls := 3, 1000
	if lab.Quick() {
		rounds, calls = 1, 50
	}
	for _, size := range []int{small, large} {
		var rows []report.Row
		for i, v := range variants() {
			if v.does != parks {
				continue
			}
			grown := make(measure.Series, rounds)
			for round := range grown {
				var err error
				if grown[round], err = parked(i, calls, size); err != nil {
					return fmt.Errorf("parked, %s: %w", v.name, err)
				}
			}
			r := report.NewRow(v.name, grown.Median(), "B")
			r.Kept, r.Of = grown.Kept(), rounds
			if want := v.target(size); want > 0 {
				r.Targets = []report.Target{report.AtMost(want, "B", r.Value)}
			}
			rows = append(rows, r)
		}
		table.Add(report.Section{
			Title: fmt.Sprintf("server memory of a waiting call, %s, %d calls on 1 connection", bytes(size), calls),
			Rows:  rows,
		})
	}
	return nil
}

// parked is the memory that a call takes when so many of them wait at the variant of a number.
func parked(number, calls, size int) (grown float64, err error) {
	p, err := start()
	if err != nil {
		return 0, err
	}
	defer func() {
		if stopErr := p.stop(); err == nil {
			err = stopErr
		}
	}()
	client, err := echo.NewClient(p.servers[number].Protocol, p.servers[number].Addr, size)
	if err != nil {
		return 0, err
	}
	defer client.Close()
	before, err := p.usage(askFree)
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	var callers sync.WaitGroup
	defer callers.Wait()
	defer cancel()
	for range calls {
		callers.Go(func() { _ = client.Call(ctx) }) // ends when canceled
	}
	after, err := p.settled(calls)
	if err != nil {
		return 0, err
	}
	return float64(after.RSS-before.RSS) / float64(calls), nil
}

// settled waits until so many calls wait and the process has stopped to grow: requests may still be coming in.
func (p *process) settled(calls int) (usage, error) {
	last, still := usage{}, 0
	for range 300 {
		time.Sleep(100 * time.Millisecond)
		u, err := p.usage(askFree)
		if err != nil {
			return u, err
		}
		if change := u.RSS - last.RSS; u.Waiting < calls || change < -1<<17 || change > 1<<17 {
			still = 0
		} else if still++; still == 3 {
			return u, nil
		}
		last = u
	}
	return last, fmt.Errorf("%d calls wait and not %d, in %d bytes", last.Waiting, calls, last.RSS)
}
