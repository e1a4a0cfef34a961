package rush

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/rpcgate/rpcgate/demo/store"
	ordersv1 "github.com/rpcgate/rpcgate/gen/demo/orders/v1"
)

// load is the rush itself: desks that call in rounds, and a clerk who asks for the report.
type load struct {
	config  Config
	desks   []client
	clerk   *grpcClient
	eight   time.Time // eight o'clock, when the first round begins
	tally   tally
	reports int // how many were finished
}

// createEvery: one in ten desks creates an order instead of asking for open ones.
const createEvery = 10

// play plays all rounds and returns how long they took. It returns early, with its error, when ctx ends.
func (l *load) play(ctx context.Context) (time.Duration, error) {
	desksDone, stopClerk := context.WithCancel(ctx)
	defer stopClerk()
	var desks, clerk sync.WaitGroup
	l.eight = time.Now().Add(100 * time.Millisecond) // all goroutines have started by then
	clerk.Go(func() { l.askForReports(desksDone) })
	for i, c := range l.desks {
		desks.Go(func() { l.workAt(ctx, i, c) })
	}
	desks.Wait()
	took := time.Since(l.eight)
	stopClerk()
	clerk.Wait()
	return took, ctx.Err()
}

// workAt is the morning of one desk: a call in every round. A round begins when the deadline of the one before has
// passed, so the number of calls does not depend on the server.
func (l *load) workAt(ctx context.Context, i int, c client) {
	regions := store.Regions()
	region := regions[i%len(regions)]
	for round := range l.config.Rounds() {
		if !l.waitFor(ctx, round) {
			return
		}
		call, record := recordAttempts(ctx)
		call, cancel := context.WithTimeout(call, l.config.Deadline)
		began := time.Now()
		var err error
		if i%createEvery == createEvery-1 {
			err = c.createOrder(call, &ordersv1.CreateOrderRequest{
				Customer: fmt.Sprintf("customer-%04d", i+1), Region: region, Item: "red lamp no. 1", AmountCents: 1250,
			})
		} else {
			err = c.listOpenOrders(call, &ordersv1.ListOpenOrdersRequest{Region: region, Limit: listLimit})
		}
		took := time.Since(began)
		cancel()
		if ctx.Err() != nil {
			return // the rush was interrupted, so this call does not count
		}
		l.tally.add(record, took, l.config.Deadline, err)
	}
}

// askForReports asks for the month's report in every round. If a report takes longer than a round, it asks again when
// the report has ended.
func (l *load) askForReports(ctx context.Context) {
	for round := range l.config.Rounds() {
		if !l.waitFor(ctx, round) {
			return
		}
		call, cancel := context.WithTimeout(ctx, 5*l.config.Deadline)
		if l.clerk.monthlyReport(call) == nil {
			l.reports++
		}
		cancel()
	}
}

// waitFor waits until the round begins and reports whether to go on.
func (l *load) waitFor(ctx context.Context, round int) bool {
	timer := time.NewTimer(time.Until(l.eight.Add(time.Duration(round) * l.config.Deadline)))
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}
