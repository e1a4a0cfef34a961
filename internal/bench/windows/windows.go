// Package windows measures uploads over HTTP/2 against servers with different windows: how long one takes if a round trip
// does, and beside others on its connection that wait at a gate.
package windows

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rpcgate/rpcgate/gate"
	testv1 "github.com/rpcgate/rpcgate/gen/rpcgate/test/v1"
	"github.com/rpcgate/rpcgate/internal/bench/measure"
	"github.com/rpcgate/rpcgate/internal/bench/report"
)

const (
	roundTrip = 50 * time.Millisecond
	chunk     = 64 << 10
	waiters   = 4
	maxWait   = 3 * time.Second
)

// Run measures all and adds it to the table.
func Run(lab *measure.Lab, table *report.Table) error {
	rounds, chunks := 5, 128 // 8 MiB
	if lab.Quick() {
		rounds, chunks = 1, 4
	}
	far := report.Section{Title: fmt.Sprintf("an upload of %d KiB in messages of 64 KiB, round trips of %s", chunks*chunk>>10, roundTrip)}
	beside := report.Section{Title: fmt.Sprintf("an upload of %d KiB beside %d that wait on its connection; x of alone", chunks*chunk>>11, waiters)}
	for _, s := range servers() {
		var took, alone, with measure.Series
		for range rounds {
			d, err := overLink(s, chunks)
			if err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
			a, w, err := besideWaiters(s, chunks/2)
			if err != nil {
				return fmt.Errorf("%s beside others: %w", s.name, err)
			}
			took, alone, with = append(took, ms(d)), append(alone, ms(a)), append(with, ms(w))
		}
		far.Rows = append(far.Rows, report.NewRow(s.name, took.Median(), "ms"))
		row := report.NewRow(s.name, with.Median(), "ms")
		row.Compare(with, alone)
		if s.bounded {
			row.Targets = []report.Target{report.AtMost(3, "x", row.Ratio.Mid)}
		}
		beside.Rows = append(beside.Rows, row)
	}
	table.Add(far)
	table.Add(beside)
	return nil
}

func ms(d time.Duration) float64 { return d.Seconds() * 1000 }

// overLink makes the connection, and returns how long an upload takes.
func overLink(s server, chunks int) (took time.Duration, err error) {
	running, err := s.start(gate.Must(gate.New("db", 1)))
	if err != nil {
		return 0, err
	}
	defer running.Close()
	begin, shut, err := open(running, link{running.Addr, roundTrip / 2})
	if err != nil {
		return 0, err
	}
	defer shut()
	if _, err := send(begin, 1); err != nil {
		return 0, err
	}
	return send(begin, chunks)
}

// besideWaiters returns how long an upload takes alone, and then beside others that wait for its unit.
func besideWaiters(s server, chunks int) (alone, beside time.Duration, err error) {
	g := gate.Must(gate.New("db", 1, gate.WithMaxWait(maxWait), gate.WithMaxWaiting(waiters)))
	running, err := s.start(g)
	if err != nil {
		return 0, 0, err
	}
	defer running.Close()
	begin, shut, err := open(running, link{addr: running.Addr})
	if err != nil {
		return 0, 0, err
	}
	defer shut()
	if _, err = send(begin, 1); err == nil {
		alone, err = send(begin, chunks)
	}
	if err != nil {
		return 0, 0, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	admitted, err := begin(ctx)
	if err != nil {
		return 0, 0, err
	}
	if err := sendTo(admitted, 1); err != nil {
		return 0, 0, err
	}
	until(func() bool { return g.InFlight() == 1 })
	for range waiters {
		go func() {
			if u, err := begin(ctx); err == nil {
				_ = sendTo(u, chunks)
			}
		}()
	}
	until(func() bool { return g.Waiting() == waiters })
	time.Sleep(50 * time.Millisecond) // they have sent what they may
	start := time.Now()
	if err := sendTo(admitted, chunks-1); err != nil {
		return 0, 0, err
	}
	err = admitted.finish()
	return alone, time.Since(start), err
}

func until(ok func() bool) {
	for !ok() {
		time.Sleep(time.Millisecond)
	}
}

// send makes an upload and returns how long it takes.
func send(begin func(context.Context) (upload, error), chunks int) (time.Duration, error) {
	start := time.Now()
	u, err := begin(context.Background())
	if err != nil {
		return 0, err
	}
	if err := sendTo(u, chunks); err != nil {
		return 0, err
	}
	err = u.finish()
	return time.Since(start), err
}

func sendTo(u upload, chunks int) error {
	message := &testv1.ClientStreamRequest{Payload: make([]byte, chunk)}
	for range chunks {
		if err := u.Send(message); err != nil {
			return errors.Join(err, u.finish()) // which knows why
		}
	}
	return nil
}
