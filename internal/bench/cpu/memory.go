package cpu

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/rpcgate/rpcgate/internal/bench/echo"
	"github.com/rpcgate/rpcgate/internal/bench/measure"
	"github.com/rpcgate/rpcgate/internal/bench/report"
)

// above is what a call that waits at a gate may cost above the floor: a call that is blocked at the same spot.
const above = 2 << 10

// memory is what a waiting call costs: what the server's process grows by, each variant in a new one.
func memory(lab *measure.Lab, table *report.Table) error {
	rounds, calls := 3, 1000
	if lab.Quick() {
		rounds, calls = 1, 50
	}
	all := variants()
	first := len(all) - 2*len(spots()) // the floor of the first spot
	for _, size := range []int{small, large} {
		var rows []report.Row
		for i := first; i < len(all); i += 2 {
			floor, err := waitingRow(all[i].name, i, rounds, calls, size)
			if err != nil {
				return err
			}
			gated, err := waitingRow(all[i+1].name, i+1, rounds, calls, size)
			if err != nil {
				return err
			}
			gated.Targets = []report.Target{report.AtMost(math.Round(floor.Value)+above, "B", gated.Value)}
			rows = append(rows, floor, gated)
		}
		table.Add(report.Section{
			Title: fmt.Sprintf("server's heap and stack of a waiting call, %s, %d calls on 1 connection", bytes(size), calls),
			Rows:  rows,
		})
	}
	return nil
}

// waitingRow measures the variant of a number.
func waitingRow(name string, number, rounds, calls, size int) (report.Row, error) {
	var heap, stack, both, rss measure.Series
	for range rounds {
		grown, err := parked(number, calls, size)
		if err != nil {
			return report.Row{}, fmt.Errorf("parked, %s: %w", name, err)
		}
		each := func(bytes int64) float64 { return float64(bytes) / float64(calls) }
		heap, stack = append(heap, each(grown.Heap)), append(stack, each(grown.Stack))
		both, rss = append(both, each(grown.Heap+grown.Stack)), append(rss, each(grown.RSS))
	}
	r := report.NewRow(name, both.Median(), "B")
	r.Detail = fmt.Sprintf("heap %.0f, stack %.0f; RSS %.0f", heap.Median(), stack.Median(), rss.Median())
	r.Kept, r.Of = both.Kept(), rounds
	return r, nil
}

// parked is what the server grows by when so many calls wait at the variant of a number.
func parked(number, calls, size int) (grown usage, err error) {
	p, err := start()
	if err != nil {
		return grown, err
	}
	defer func() {
		if stopErr := p.stop(); err == nil {
			err = stopErr
		}
	}()
	client, err := echo.NewClient(p.servers[number].Protocol, p.servers[number].Addr, size)
	if err != nil {
		return grown, err
	}
	defer client.Close()
	before, err := p.settled(0)
	if err != nil {
		return grown, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	var callers sync.WaitGroup
	defer callers.Wait()
	defer cancel()
	for range calls {
		callers.Go(func() { _ = client.Call(ctx) }) // ends when canceled
	}
	after, err := p.settled(calls)
	return usage{Heap: after.Heap - before.Heap, Stack: after.Stack - before.Stack, RSS: after.RSS - before.RSS}, err
}

// settled waits until so many calls wait and the process no longer grows: requests may still be coming in.
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
