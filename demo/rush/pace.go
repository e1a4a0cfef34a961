package rush

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/rpcgate/rpcgate/demo/store"
)

// Cores is the number of cores for the rush, servers and clients together. With more cores, 300 clients are not too
// many.
const Cores = 2

// The deadline is a generous multiple of what the query takes alone. Because it is measured, the rush is the same on a
// fast machine and on a slow one: 300 clients ask for 2.5 times what two cores can do in that time.
const (
	deadlineQueries = 60
	minDeadline     = 500 * time.Millisecond
	maxDeadline     = 5 * time.Second
)

// Deadline measures the query that every desk asks for and returns the deadline for the calls.
func Deadline(ctx context.Context, c Config) (time.Duration, error) {
	query, err := queryTime(ctx, c.Seed)
	if err != nil {
		return 0, err
	}
	c.Progress(fmt.Sprintf("one query alone takes %.0f ms", ms(query)))
	return min(deadlineFor(query), c.Duration), nil
}

func deadlineFor(query time.Duration) time.Duration {
	d := (deadlineQueries * query).Round(100 * time.Millisecond)
	return min(max(d, minDeadline), maxDeadline)
}

// queryTime returns the shortest time of a few queries: disturbances can only make a query longer.
func queryTime(ctx context.Context, seed string) (best time.Duration, err error) {
	path, remove, err := store.Copy(seed)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, remove()) }()
	st, err := store.Open(path, 1)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	best = math.MaxInt64
	for _, region := range store.Regions()[:5] {
		began := time.Now()
		if _, err := st.OpenOrders(ctx, store.Filter{Region: region, Limit: listLimit}); err != nil {
			return 0, err
		}
		best = min(best, time.Since(began))
	}
	return best, nil
}
