package gate_test

import (
	"fmt"
	"testing"

	"github.com/rpcgate/rpcgate/gate"
)

// TestTheDefaultQueueIsAsLongAsWhatFitsIntoTheLimit has for a limit and the calls in flight how many more may wait.
func TestTheDefaultQueueIsAsLongAsWhatFitsIntoTheLimit(t *testing.T) {
	costs := func(n int, cost int64) []int64 {
		all := make([]int64, n)
		for i := range all {
			all[i] = cost
		}
		return all
	}
	for _, test := range []struct {
		limit int64
		costs []int64
		want  int
	}{
		// Small limits: 16, or half of the calls would be rejected that a moment later find room.
		{1, nil, 16}, {1, costs(1, 1), 16}, {4, costs(4, 1), 16}, {16, costs(16, 1), 16},
		// Calls of cost 1: as many as the limit, whatever is in flight.
		{17, nil, 17}, {1000, nil, 1000}, {1000, costs(1, 1), 1000}, {1000, costs(1000, 1), 1000},
		// Calls that cost more: as many as fit.
		{1000, costs(10, 100), 16}, {1000, costs(10, 20), 50}, {10_000, costs(10, 100), 100},
		{1000, append(costs(5, 1), 195), 30}, // 200 units for 6 calls
		// A budget of bytes.
		{64 << 20, costs(8, 1<<20), 64}, {64 << 20, costs(64, 1<<10), 65536}, {64 << 20, costs(1, 64<<20), 16},
		// Numbers that an int of 32 bits does not hold.
		{gate.MaxLimit, nil, 1<<31 - 1}, {gate.MaxLimit, costs(3, gate.MaxLimit/4), 16}, {1 << 33, costs(2, 1<<20), 1 << 13},
	} {
		t.Run(fmt.Sprintf("limit %d, %d calls", test.limit, len(test.costs)), func(t *testing.T) {
			g := gate.Must(gate.New("test", test.limit))
			for _, cost := range test.costs {
				defer acquire(t, g, gate.Call{Cost: cost}).Release()
			}
			wantEqual(t, "max waiting", g.Snapshot().MaxWaiting, test.want)
		})
	}
}

func TestTheDefaultQueueFollowsTheLimitAndTheCalls(t *testing.T) {
	g := gate.Must(gate.New("test", 100))
	wantEqual(t, "at first", g.Snapshot().MaxWaiting, 100)
	big := acquire(t, g, gate.Call{Cost: 50})
	wantEqual(t, "with a big call", g.Snapshot().MaxWaiting, 16)
	big.Release()
	wantEqual(t, "without it", g.Snapshot().MaxWaiting, 100)
	if err := g.SetLimit(200); err != nil {
		t.Fatal(err)
	}
	wantEqual(t, "with a higher limit", g.Snapshot().MaxWaiting, 200)
}
