package rollout

import (
	"context"
	"net"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/rpcgate/rpcgate/interceptor"
)

// noticed is how long the balancer takes to notice that a replica is ready, or not any more.
const noticed = 200 * time.Millisecond

// cluster is some replicas of a server.
type cluster struct {
	*network
	t        *testing.T
	host     host
	grace    time.Duration
	balancer bool // is there one; otherwise clients connect to any replica
	replicas []*replica
	turn     atomic.Int64
}

// replica is a place in a cluster, where servers come and go.
type replica struct {
	addr     string
	shutdown func(context.Context) error // of the server that is there now
	routed   atomic.Bool                 // the balancer sends new connections here
}

func newCluster(t *testing.T, h host, replicas int, grace time.Duration) *cluster {
	t.Cleanup(func() { time.Sleep(time.Minute) }) // for timers of connections
	c := &cluster{network: newNetwork(), t: t, host: h, grace: grace, balancer: replicas > 1}
	for i := range replicas {
		r := &replica{addr: "replica-" + string(rune('a'+i))}
		c.replicas = append(c.replicas, r)
		c.start(r)
		r.routed.Store(true)
	}
	t.Cleanup(func() {
		for _, r := range c.replicas {
			c.stop(r)
		}
	})
	return c
}

// start starts a server at a replica.
func (c *cluster) start(r *replica) {
	r.shutdown = c.host.serve(c.listen(r.addr), interceptor.WithGrace(c.grace), interceptor.WithNotReady(func() {
		if c.balancer {
			time.AfterFunc(noticed, func() { r.routed.Store(false) })
		}
	}))
}

// stop stops the server at a replica.
func (c *cluster) stop(r *replica) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := r.shutdown(ctx); err != nil {
		c.t.Error(err)
	}
}

// replace stops the server at a replica and starts another one half a second later.
func (c *cluster) replace(r *replica) {
	c.stop(r)
	time.Sleep(500 * time.Millisecond)
	c.start(r)
	time.Sleep(noticed)
	r.routed.Store(true)
}

// connect is a client's way to the next replica.
func (c *cluster) connect(ctx context.Context) (net.Conn, error) {
	for range c.replicas {
		if r := c.replicas[int(c.turn.Add(1))%len(c.replicas)]; r.routed.Load() {
			return c.dial(ctx, r.addr)
		}
	}
	return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.EHOSTUNREACH}
}
