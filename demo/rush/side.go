package rush

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"time"

	"github.com/rpcgate/rpcgate/demo/server"
	"github.com/rpcgate/rpcgate/demo/store"
	ordersv1 "github.com/rpcgate/rpcgate/gen/demo/orders/v1"
)

// Side has the measurements of one side. Every offered call counts once: as answered in time, late, rejected or failed.
type Side struct {
	Offered        int `json:"offered"`
	AnsweredInTime int `json:"answered_in_time"`
	Late           int `json:"late"`     // no answer before the deadline
	Rejected       int `json:"rejected"` // refused at the last attempt that the time or the policy allowed
	Failed         int `json:"failed"`   // any other error
	Retried        int `json:"retried"`  // attempts after the first one of a call

	GoodputPerS float64 `json:"goodput_per_s"` // calls answered in time
	P50Ms       float64 `json:"p50_ms"`        // of calls answered in time: the attempt that was answered
	P99Ms       float64 `json:"p99_ms"`
	CallP50Ms   float64 `json:"call_p50_ms"` // of the same calls: from the first attempt on, with all pauses
	CallP99Ms   float64 `json:"call_p99_ms"`

	MaxInFlight int     `json:"max_in_flight"` // calls in their handlers at once, as the handlers count them
	HeldP50Ms   float64 `json:"held_p50_ms"`   // time that calls of the order service spent there
	HeldP99Ms   float64 `json:"held_p99_ms"`
	Reports     int     `json:"reports"` // how many were finished
}

const (
	connectTime  = 30 * time.Second // for the first call on a connection
	shutdownTime = 30 * time.Second // for calls in flight when a server ends
)

// playSide plays the rush on a new server. gates may be nil.
func playSide(ctx context.Context, c Config, gates *server.Gates) (side Side, err error) {
	var cleanup cleanups
	defer func() { err = errors.Join(err, cleanup.run()) }()
	var measured section
	address, err := startServer(c.Seed, gates, measured.enter, &cleanup)
	if err != nil {
		return Side{}, err
	}
	l, err := connectLoad(ctx, c, address, &cleanup)
	if err != nil {
		return Side{}, err
	}
	measured.reset()
	runtime.GC() // so that the garbage of the preparations costs the rush nothing
	took, err := l.play(ctx)
	if err != nil {
		return Side{}, err
	}
	// Wait for the last calls to leave their handlers.
	if err := cleanup.run(); err != nil {
		return Side{}, err
	}
	if t := &l.tally; t.failed > 0 {
		c.Progress(fmt.Sprintf("%d calls failed, the first one with this error: %v", t.failed, t.failure))
	}
	return sideOf(l, took, &measured), nil
}

// startServer starts a server of a copy of the seed on a free local port.
func startServer(seed string, gates *server.Gates, o server.Observer, cleanup *cleanups) (string, error) {
	path, remove, err := store.Copy(seed)
	if err != nil {
		return "", err
	}
	cleanup.add(remove)
	st, err := store.Open(path, server.Pool)
	if err != nil {
		return "", err
	}
	cleanup.add(st.Close)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	s := server.New(st, gates, o, nil)
	served := make(chan error, 1)
	go func() { served <- s.Serve(listener) }()
	cleanup.add(func() error {
		ctx, cancel := context.WithTimeout(context.Background(), shutdownTime)
		defer cancel()
		return errors.Join(s.Shutdown(ctx), <-served)
	})
	return listener.Addr().String(), nil
}

// connectLoad opens all connections and makes one call on each, so that no call has to wait for one at eight o'clock.
func connectLoad(ctx context.Context, c Config, address string, cleanup *cleanups) (*load, error) {
	desks, closeAll, err := dialAll(address, c)
	if err != nil {
		return nil, err
	}
	cleanup.add(closeAll)
	clerk, err := newGRPCClient(address, c.retryPolicy())
	if err != nil {
		return nil, err
	}
	cleanup.add(clerk.close)
	for i, each := range append(desks, clerk) {
		if i > 0 && each == desks[i-1] {
			continue
		}
		call, cancel := context.WithTimeout(ctx, connectTime)
		err := each.listOpenOrders(call, &ordersv1.ListOpenOrdersRequest{Limit: 1})
		cancel()
		if err != nil {
			return nil, errors.Join(ctx.Err(), fmt.Errorf("first call on a connection: %w", err))
		}
	}
	return &load{config: c, desks: desks, clerk: clerk}, nil
}

func sideOf(l *load, took time.Duration, measured *section) Side {
	t := &l.tally
	most, held := measured.result()
	return Side{
		Offered:        t.offered,
		AnsweredInTime: len(t.answers),
		Late:           t.late,
		Rejected:       t.rejected,
		Failed:         t.failed,
		Retried:        t.retried,
		GoodputPerS:    round(float64(len(t.answers)) / took.Seconds()),
		P50Ms:          ms(quantile(t.answers, 0.50)),
		P99Ms:          ms(quantile(t.answers, 0.99)),
		CallP50Ms:      ms(quantile(t.calls, 0.50)),
		CallP99Ms:      ms(quantile(t.calls, 0.99)),
		MaxInFlight:    most,
		HeldP50Ms:      ms(quantile(held, 0.50)),
		HeldP99Ms:      ms(quantile(held, 0.99)),
		Reports:        l.reports,
	}
}

func ms(d time.Duration) float64 { return round(float64(d) / float64(time.Millisecond)) }

func round(f float64) float64 { return float64(int64(f*10+0.5)) / 10 }

// cleanups are functions that run once, in reverse order, like deferred functions.
type cleanups []func() error

func (c *cleanups) add(f func() error) { *c = append(*c, f) }

func (c *cleanups) run() error {
	var errs []error
	for len(*c) > 0 {
		last := len(*c) - 1
		f := (*c)[last]
		*c = (*c)[:last]
		errs = append(errs, f())
	}
	return errors.Join(errs...)
}
