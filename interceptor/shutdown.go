package interceptor

import (
	"fmt"
	"time"

	"github.com/rpcgate/rpcgate/interceptor/internal/mistake"
	"github.com/rpcgate/rpcgate/interceptor/internal/shutdown"
)

// ShutdownOption configures how a server is stopped: grpcgate.NewStopper and
// httpgate.NewStopper take it. They panic if an option is nil or has a bad value.
type ShutdownOption interface{ shutdown.Option }

// WithNotReady calls notReady at the begin of a shutdown, to tell balancers that they
// should send no more calls:
//
//	interceptor.WithNotReady(healthServer.Shutdown) // google.golang.org/grpc/health
//
// It may be given several times; the functions are called one after the other.
func WithNotReady(notReady func()) ShutdownOption {
	return shutdown.OptionFunc(func(c *shutdown.Config) error {
		if notReady == nil {
			return mistake.Nil("WithNotReady", "a function")
		}
		c.NotReady = append(c.NotReady, notReady)
		return nil
	})
}

// WithGrace sets how long a server goes on as before once it is not ready, so that
// balancers can take it out before it refuses anything. It should be the time in which
// they notice: for Kubernetes the period of the readiness probe times its failure
// threshold, and some seconds more. In the second half of it, HTTP responses make
// clients open another connection, which leads to another server. The time counts
// toward the deadline of the shutdown's context. The default is 0, for a server without
// a balancer.
func WithGrace(d time.Duration) ShutdownOption {
	return shutdown.OptionFunc(func(c *shutdown.Config) error {
		if d < 0 {
			return fmt.Errorf("WithGrace: want a time of 0 or more, got %s", d)
		}
		c.Grace = d
		return nil
	})
}
