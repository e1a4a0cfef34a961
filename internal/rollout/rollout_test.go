package rollout

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// way is a way to replace servers, and what clients do to lose nothing.
type way struct {
	name    string
	grace   time.Duration
	retries bool // of calls that were certainly not executed
}

var (
	withGrace   = way{name: "a grace, no retries", grace: time.Second}
	withRetries = way{name: "no grace, retries", retries: true}
	withBoth    = way{name: "a grace and retries", grace: time.Second, retries: true}
	withNothing = way{name: "no grace, no retries"}
)

// eachHost runs a test with the clients of each host.
func eachHost(t *testing.T, ways []way, test func(t *testing.T, h host, w way)) {
	for _, h := range hosts() {
		for _, w := range ways {
			t.Run(h.name+", "+w.name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { test(t, h, w) })
			})
		}
	}
}

// wantNoneLost fails if a call was lost, but for two kinds that are counted.
//
// A client that neither retries nor hears of balancers finds no server at the address that it connects to.
//
// net/http does not serve a request that it reads after Shutdown was called. Over HTTP/1.1 the client cannot know that:
// its connection is closed, which may happen once to each. With a balancer and a grace no client is left by then.
func (o *outcome) wantNoneLost(t *testing.T, c *cluster, w way, connections int) {
	t.Helper()
	for why, n := range o.lost {
		switch {
		case w == withNothing && strings.HasSuffix(why, "connection refused"):
		case c.host.closes && strings.HasSuffix(why, "EOF") && n <= connections && !(c.balancer && w.grace > 0):
		default:
			t.Errorf("%d calls lost: %s", n, why)
		}
	}
}

// TestOneOfTwoReplicasStops has a call in flight at each replica.
func TestOneOfTwoReplicasStops(t *testing.T) {
	eachHost(t, []way{withRetries, withGrace}, func(t *testing.T, h host, w way) {
		c := newCluster(t, h, 2, w.grace)
		call := h.client(c, w.retries)
		var long, short outcome
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() { long.call(call, w.grace+1500*time.Millisecond) })
		}
		time.Sleep(50 * time.Millisecond)
		all.Go(func() { c.stop(c.replicas[0]) })
		time.Sleep(20*time.Millisecond + w.grace/2)
		for range 100 + int(w.grace/2/(10*time.Millisecond)) {
			all.Go(func() { short.call(call, time.Millisecond) })
			time.Sleep(10 * time.Millisecond)
		}
		all.Wait()
		t.Log(&short)
		short.wantNoneLost(t, c, w, 4)
		long.wantNoneLost(t, c, w, 0)
		if short.slowest > 300*time.Millisecond {
			t.Errorf("the slowest call took %s", short.slowest)
		}
	})
}

// TestTheOnlyReplicaIsRestarted has clients that find no server for half a second, and wait for it.
func TestTheOnlyReplicaIsRestarted(t *testing.T) {
	eachHost(t, []way{withRetries, withBoth, withNothing}, func(t *testing.T, h host, w way) {
		c := newCluster(t, h, 1, w.grace)
		o := underLoad(t, h.client(c, w.retries), func() { c.replace(c.replicas[0]) })
		o.wantNoneLost(t, c, w, clients)
	})
}

func TestThreeReplicasAreReplacedInTurn(t *testing.T) {
	eachHost(t, []way{withRetries, withGrace, withNothing}, func(t *testing.T, h host, w way) {
		c := newCluster(t, h, 3, w.grace)
		o := underLoad(t, h.client(c, w.retries), func() {
			for _, r := range c.replicas {
				c.replace(r)
			}
		})
		o.wantNoneLost(t, c, w, 3*clients)
	})
}
