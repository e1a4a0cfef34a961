package interceptor

import (
	"errors"
	"fmt"
	"time"

	"github.com/rpcgate/rpcgate/interceptor/internal/host"
	"github.com/rpcgate/rpcgate/interceptor/internal/pace"
)

// WithMinRate sets how fast clients must be, so that a slow one does not hold a lease for
// as long as it likes. A request body that is read under a lease must arrive at
// bytesPerSecond or more on average, once the handler has waited for it for the time of
// grace. Only time that a Read has to wait counts: not the time before the lease, and not
// the time that a handler takes for its work. The default is 1 KiB per second after 5 s.
//
// A call that is too slow is cut off (see [gate.Lease.CutOff]): its client gets status 408
// or code DeadlineExceeded, and the gate counts it as [gate.ReasonSlowRequest]. The bound
// ends when the lease is released. It holds for unary calls and plain HTTP. RPC streams
// have none, since a stream may be idle for long.
//
// httpgate and connectgate.NewMiddleware see each Read. grpcgate.BeforeDecode only sees
// when a message is complete, and says what that means. Interceptors do without: those of
// Connect v1 and grpc-go get unary calls whose request was read, and that of Connect v2
// does not see the connection, so put the middleware in front of it. It is an error if bytesPerSecond is not
// above 0, or grace is negative.
func WithMinRate(bytesPerSecond int64, grace time.Duration) Option {
	return host.OptionFunc(func(c *host.Config) error {
		var rate, wait error
		if bytesPerSecond <= 0 {
			rate = fmt.Errorf("WithMinRate: want a rate above 0, got %d", bytesPerSecond)
		}
		if grace < 0 {
			wait = fmt.Errorf("WithMinRate: want a grace of 0 or more, got %s", grace)
		}
		c.MinRate = pace.Rate{BytesPerSecond: bytesPerSecond, Grace: grace}
		return errors.Join(rate, wait)
	})
}

// WithoutMinRate lets clients be as slow as they like; see [WithMinRate]. It is for a
// server whose own timeouts are short enough, such as http.Server.ReadTimeout.
func WithoutMinRate() Option {
	return host.OptionFunc(func(c *host.Config) error {
		c.MinRate = pace.Rate{}
		return nil
	})
}
