package gatewaygate

import (
	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"

	"github.com/rpcgate/rpcgate/interceptor/internal/mistake"
)

// Option configures [ServeMuxOptions].
type Option interface{ apply(*config) error }

type optionFunc func(*config) error

func (f optionFunc) apply(c *config) error { return f(c) }

type config struct {
	next       runtime.ErrorHandlerFunc
	nextStream runtime.StreamErrorHandlerFunc
	matcher    runtime.HeaderMatcherFunc
}

// WithErrorHandler sets the handler for errors that are no refusals. The default is
// [runtime.DefaultHTTPErrorHandler]. Do not use runtime.WithErrorHandler as well: a
// ServeMux has only one error handler.
func WithErrorHandler(h runtime.ErrorHandlerFunc) Option {
	return optionFunc(func(c *config) error {
		if h == nil {
			return mistake.Nil("WithErrorHandler", "a function")
		}
		c.next = h
		return nil
	})
}

// WithStreamErrorHandler sets the handler for errors of streams that are no refusals.
// The default is [runtime.DefaultStreamErrorHandler].
func WithStreamErrorHandler(h runtime.StreamErrorHandlerFunc) Option {
	return optionFunc(func(c *config) error {
		if h == nil {
			return mistake.Nil("WithStreamErrorHandler", "a function")
		}
		c.nextStream = h
		return nil
	})
}

// WithIncomingHeaderMatcher sets which headers of a request reach the gRPC server in
// addition to X-Request-Id. The default is [runtime.DefaultHeaderMatcher]. Do not use
// runtime.WithIncomingHeaderMatcher as well: a ServeMux has only one matcher.
func WithIncomingHeaderMatcher(m runtime.HeaderMatcherFunc) Option {
	return optionFunc(func(c *config) error {
		if m == nil {
			return mistake.Nil("WithIncomingHeaderMatcher", "a function")
		}
		c.matcher = m
		return nil
	})
}
