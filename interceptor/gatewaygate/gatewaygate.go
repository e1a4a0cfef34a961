// Package gatewaygate tells REST clients of a grpc-gateway that the gRPC server behind
// it has refused their call:
//
//	mux := runtime.NewServeMux(gatewaygate.ServeMuxOptions()...)
//
// A client gets 429 or 503, a Retry-After header and a short body:
//
//	{"error":"server_busy","requestId":"…"}
//
// Without this package a client gets no Retry-After: the server sends the delay in a
// trailer and in the status. It cannot use a header, because then gRPC clients would
// not retry. On the server, grpcgate's interceptors are all that is needed.
//
// The gate belongs in front of the gRPC server. RegisterXHandlerServer calls the
// implementation in the same process and bypasses the interceptors of the
// grpc.Server, and so the gate. Use RegisterXHandlerClient or RegisterXHandler with a
// connection to the server. [InProcess] makes such a connection to a server in the
// same process, without a port.
//
// The endpoints of [runtime.WithHealthzEndpoint] and [runtime.WithHealthEndpointAt] pass
// a full gate: they call the gRPC health service, which is exempt.
package gatewaygate

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/status"

	"github.com/rpcgate/rpcgate/interceptor/internal/mistake"
	"github.com/rpcgate/rpcgate/interceptor/internal/refusal"
)

const pkg = "gatewaygate"

// ServeMuxOptions returns the options that make a [runtime.ServeMux] tell its clients
// of refusals. A refused unary call, and a stream that is refused before its first
// message, get the status and Retry-After. The body of a stream is grpc-gateway's own,
// {"error":{…}}, without the details. A stream that is refused later, which happens
// with gate.HoldMessage, ends with that body, since its headers have been sent.
//
// Other errors with a RetryInfo get a Retry-After, too, and are passed to the error
// handler.
//
// ServeMuxOptions panics if an option is nil or has a bad value.
func ServeMuxOptions(opts ...Option) []runtime.ServeMuxOption {
	c := config{
		next:       runtime.DefaultHTTPErrorHandler,
		nextStream: runtime.DefaultStreamErrorHandler,
		matcher:    runtime.DefaultHeaderMatcher,
	}
	mistake.Panic(pkg, mistake.InOptions(opts, func(o Option) error { return o.apply(&c) }))
	return []runtime.ServeMuxOption{
		runtime.WithErrorHandler(c.answer),
		runtime.WithStreamErrorHandler(c.answerStream),
		runtime.WithIncomingHeaderMatcher(c.match),
		runtime.WithMiddlewares(withWriter),
	}
}

// match passes the id of a request to the gate.
func (c config) match(key string) (string, bool) {
	if strings.EqualFold(key, refusal.RequestIDMetadata) {
		return refusal.RequestIDMetadata, true
	}
	return c.matcher(key)
}

// answer is the error handler of unary calls.
func (c config) answer(
	ctx context.Context, mux *runtime.ServeMux, m runtime.Marshaler, w http.ResponseWriter, r *http.Request, err error,
) {
	told := read(err)
	if told.retryAfter != "" {
		w.Header().Set(refusal.RetryAfterHeader, told.retryAfter)
	}
	if !told.refused {
		c.next(ctx, mux, m, w, r, err)
		return
	}
	body := refusal.Body{Error: refusal.ErrorBusy, RequestID: told.requestID}
	body.Write(w, r, runtime.HTTPStatusFromCode(status.Code(err)))
}

// answerStream is the error handler of streams.
func (c config) answerStream(ctx context.Context, err error) *status.Status {
	told := read(err)
	if w, ok := ctx.Value(writerKey{}).(http.ResponseWriter); ok && told.retryAfter != "" { // ignored once a message was sent
		w.Header().Set(refusal.RetryAfterHeader, told.retryAfter)
		refusal.KeepFromCaches(w.Header())
	}
	if !told.refused {
		return c.nextStream(ctx, err)
	}
	return status.New(status.Code(err), refusal.Message)
}

// told is what an error says of a refusal.
type told struct {
	refused    bool // by rpcgate
	retryAfter string
	requestID  string
}

func read(err error) told {
	var t told
	delay, draining := time.Duration(-1), false
	for _, detail := range status.Convert(err).Details() {
		switch d := detail.(type) {
		case *errdetails.RetryInfo:
			delay = d.GetRetryDelay().AsDuration()
		case *errdetails.ErrorInfo:
			t.refused = t.refused || d.GetDomain() == refusal.Domain
			draining = draining || refusal.SaysDraining(d.GetDomain(), d.GetReason())
		case *errdetails.RequestInfo:
			t.requestID = d.GetRequestId()
		}
	}
	if delay >= 0 {
		t.retryAfter = refusal.RetryAfter(delay, draining)
	}
	return t
}

type writerKey struct{}

// withWriter puts the writer into the context, so that the error handler of a stream
// can set a header: grpc-gateway does not pass it the writer.
func withWriter(next runtime.HandlerFunc) runtime.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request, params map[string]string) {
		next(w, r.WithContext(context.WithValue(r.Context(), writerKey{}, w)), params)
	}
}
