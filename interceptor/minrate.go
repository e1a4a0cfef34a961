package interceptor

import (
	"errors"
	"fmt"
	"time"

	"github.com/rpcgate/rpcgate/interceptor/internal/host"
	"github.com/rpcgate/rpcgate/interceptor/internal/pace"
)

// WithMinRate sets how fast clients must be, so that a slow one does not hold a lease for
// as long as it likes. What the handler of an admitted call reads and writes must go at
// bytesPerSecond or more on average, once the handler has waited for the client for the
// time of grace; reads and writes count apart. Only time that a Read or a Write has to
// wait counts: not the time before the lease, and not the time that a handler takes for
// its work, or a stream is idle. The default is 1 KiB per second after 5 s. It is an error
// if bytesPerSecond is not above 0, or grace is negative.
//
// A call that is too slow is cut off (see [gate.Lease.CutOff]), and the gate counts it as
// [gate.ReasonSlowRequest] or [gate.ReasonSlowResponse]. If its request is too slow, the
// client gets status 408 or code DeadlineExceeded. If it does not read, its stream or
// connection ends. The bound ends when the lease is released.
//
// Requests are bounded for unary calls and plain HTTP. The messages that a client streams
// are not, since a stream may be idle for long. httpgate and connectgate.NewMiddleware see
// each Read. So does the interceptor of Connect v2, if httpgate.ConfigureServer has
// configured the server. grpcgate.BeforeDecode only sees when a message is complete, and
// says what that means. The interceptors of Connect v1 and grpc-go get unary calls whose
// request was read.
//
// Responses are bounded for httpgate and connectgate.NewMiddleware, streams included, and
// for the interceptors of Connect if the server is configured. A unary response of Connect
// v1 is written after the lease was released. So is one of grpc-go; a stream of grpc-go
// that nobody reads holds its lease until its deadline, or until keepalive finds that the
// client has gone (see package grpcgate).
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
