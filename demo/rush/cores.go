package rush

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/rpcgate/rpcgate/demo/store"
)

const (
	// maxCores is how many processor cores the rush may use, servers and clients together.
	maxCores = 2
	// enough is by how much the clients must ask for more than the cores can do to call it a rush.
	enough = 2
)

// Cores returns how many processor cores the rush is to be played on, so that there is a rush at all: 300 clients are
// too many for two cores of an ordinary machine, but not for all cores of a large one or for two very fast ones.
func Cores(ctx context.Context, c Config) (int, error) {
	one, err := serviceTime(ctx, c.Seed)
	if err != nil {
		return 0, err
	}
	cores := maxCores
	for cores > 1 && overload(c, one, cores) < enough {
		cores--
	}
	c.Progress(fmt.Sprintf("one query takes %.0f ms, so %d clients ask for %.1f times what %s can do in %s",
		ms(one), c.Clients, overload(c, one, cores), plural(cores, "core"), c.Deadline))
	return cores, nil
}

// overload is how many times the work of one round exceeds what the cores can do before its deadline.
func overload(c Config, one time.Duration, cores int) float64 {
	return float64(c.Clients) * float64(one) / (float64(cores) * float64(c.Deadline))
}

// serviceTime measures the query that every desk asks for, alone: the best of a few, since what disturbs a query can
// only make it longer.
func serviceTime(ctx context.Context, seed string) (best time.Duration, err error) {
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

func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}
