package httpgate

import (
	"context"
	"net"
	"net/http"
	"time"

	"github.com/rpcgate/rpcgate/interceptor/internal/exchange"
	"github.com/rpcgate/rpcgate/interceptor/internal/mistake"
	"github.com/rpcgate/rpcgate/interceptor/internal/pace"
)

// What HTTP/2 clients may send unasked on a server that [ConfigureServer] has
// configured, in bytes.
const (
	DefaultStreamWindow     = 1 << 20
	DefaultConnectionWindow = 64 << 20
	SmallStreamWindow       = 64 << 10
	SmallConnectionWindow   = 16 << 20
)

// Timeouts of a server that [ConfigureServer] has configured.
const (
	DefaultReadHeaderTimeout = 10 * time.Second
	DefaultIdleTimeout       = 2 * time.Minute
)

// ServerOption configures [ConfigureServer].
type ServerOption interface{ apply(*serverConfig) error }

type serverOptionFunc func(*serverConfig) error

func (f serverOptionFunc) apply(c *serverConfig) error { return f(c) }

type serverConfig struct{ stream, connection int }

// WithSmallWindows lets an HTTP/2 client send only 64 KiB of a body, and 16 MiB on a
// connection, before a handler reads. A call that waits then holds at most 64 KiB of
// its body instead of 1 MiB. An upload is slower, since it takes a round trip for each
// 64 KiB: 8 MiB with round trips of 50 ms take 7 s instead of 0.5 s (go run . windows, in
// internal/bench).
func WithSmallWindows() ServerOption {
	return serverOptionFunc(func(c *serverConfig) error {
		c.stream, c.connection = SmallStreamWindow, SmallConnectionWindow
		return nil
	})
}

// ConfigureServer prepares a server for calls that wait or are refused, so that they
// harm nobody else on their connection. Call it once everything else is set, before the
// server serves:
//
//	srv := &http.Server{Handler: mux}
//	httpgate.ConfigureServer(srv)
//
// It does this, and leaves alone what is set already:
//
//   - A call that waits does not read its body, and over HTTP/2 what it has not read
//     takes up the window of the whole connection: with net/http's 1 MiB, one waiting
//     upload stops all others. ConfigureServer raises the connection's window to 64 MiB
//     (HTTP2.MaxReceiveBufferPerConnection). It is the most memory that a client can
//     fill on a connection with bodies that nobody reads. A stream keeps net/http's 1
//     MiB (HTTP2.MaxReceiveBufferPerStream); see [WithSmallWindows].
//
//   - It wraps the Handler and ConnContext, so that hosts without a ResponseWriter, the
//     interceptors of Connect, can end refused calls in order: over HTTP/1.1 the answer
//     does not wait for a body that has not arrived, and over HTTP/2 what the client is
//     still sending is read, up to 4 MiB on a connection and for up to 50 ms, before the
//     stream ends. While many calls are refused at once it takes less time, and streams
//     are reset. They can also cut off slow clients (see interceptor.WithMinRate), notice
//     over HTTP/1.1 when a waiting caller leaves, and leave connections of HTTP/2 alone
//     while a gate drains. For each request this takes about a microsecond and
//     four allocations (go test -bench Configured).
//
//   - It sets ReadHeaderTimeout to 10 s and IdleTimeout to 2 minutes, if neither they nor
//     ReadTimeout, which counts for both, are set. Without them a client can keep
//     connections for ever, before a gate sees anything of it. A negative time turns a
//     timeout off. Proxies in front should close idle connections earlier.
//
// The middleware of this package and of connectgate do all of that without it, too, but
// for the 4 MiB: they read 256 KiB of each call.
//
// ConfigureServer panics if srv or an option is nil.
func ConfigureServer(srv *http.Server, opts ...ServerOption) {
	c := serverConfig{stream: DefaultStreamWindow, connection: DefaultConnectionWindow}
	err := mistake.InOptions(opts, func(o ServerOption) error { return o.apply(&c) })
	if srv == nil {
		mistake.Panic(pkg, mistake.Nil("ConfigureServer", "a server"), err)
	}
	mistake.Panic(pkg, err)
	c.setWindows(srv)
	setTimeouts(srv)
	counts := &exchange.Server{}
	wrapConnContext(srv, counts)
	wrapHandler(srv)
}

func (c serverConfig) setWindows(srv *http.Server) {
	var http2 http.HTTP2Config
	if srv.HTTP2 != nil {
		http2 = *srv.HTTP2 // not the program's own, which other servers may share
	}
	if http2.MaxReceiveBufferPerConnection == 0 {
		http2.MaxReceiveBufferPerConnection = c.connection
	}
	if http2.MaxReceiveBufferPerStream == 0 {
		http2.MaxReceiveBufferPerStream = c.stream
	}
	srv.HTTP2 = &http2
}

func setTimeouts(srv *http.Server) {
	if srv.ReadTimeout != 0 { // net/http takes it for those that are not set
		return
	}
	if srv.ReadHeaderTimeout == 0 {
		srv.ReadHeaderTimeout = DefaultReadHeaderTimeout
	}
	if srv.IdleTimeout == 0 {
		srv.IdleTimeout = DefaultIdleTimeout
	}
}

func wrapConnContext(srv *http.Server, counts *exchange.Server) {
	next := srv.ConnContext
	srv.ConnContext = func(ctx context.Context, conn net.Conn) context.Context {
		ctx = counts.NewConnection(ctx)
		if next == nil {
			return ctx
		}
		return next(ctx, conn)
	}
}

func wrapHandler(srv *http.Server) {
	next := srv.Handler
	srv.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := next
		if h == nil {
			h = http.DefaultServeMux
		}
		response := pace.NewWriter(w)
		defer response.End()
		x, r := response.Begin(r)
		defer x.End()
		h.ServeHTTP(response, r)
	})
}
