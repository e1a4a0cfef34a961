// Package gatewaygate tells the REST clients of a grpc-gateway of a refusal that
// a gRPC server behind it has made:
//
//	mux := runtime.NewServeMux(gatewaygate.ServeMuxOptions()...)
//
// A client gets 429 or 503, a Retry-After header and a short body:
//
//	{"error":"server_busy","requestId":"…"}
//
// Without it a client gets no Retry-After: the server says its delay in a trailer
// and in the status, never in a header, which would keep gRPC clients from
// retrying. The package needs nothing of the server but what grpcgate's
// interceptors do, and none of its own in this process.
//
// The gate belongs in front of the gRPC server. RegisterXHandlerServer, which
// calls the implementation in the same process, goes around the interceptors of a
// grpc.Server and with them around the gate. Use RegisterXHandlerClient, or
// RegisterXHandler, with a connection to the server; [InProcess] makes one to a
// server in the same process, without a port.
package gatewaygate

import (
	"context"
	"net/http"
	"strings"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/status"

	"github.com/rpcgate/rpcgate/interceptor/internal/mistake"
	"github.com/rpcgate/rpcgate/interceptor/internal/refusal"
)

const pkg = "gatewaygate"

// ServeMuxOptions returns the options that make a [runtime.ServeMux] tell its
// clients of refusals. A unary call and a stream that is refused before its first
// message get the status and Retry-After; the body of a stream is grpc-gateway's
// own, {"error":{…}}, without the details. A stream that is refused later, which
// happens with gate.HoldMessage, ends with that body, since its headers are sent.
//
// Errors with a RetryInfo that are not rpcgate's get a Retry-After as well, and
// are else left to the error handler.
//
// An option that is nil or has a bad value is a mistake in the program and panics.
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

// match lets the id of a request through to the gate.
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
	if w, ok := ctx.Value(writerKey{}).(http.ResponseWriter); ok && told.retryAfter != "" {
		w.Header().Set(refusal.RetryAfterHeader, told.retryAfter) // too late once a message was sent
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
	for _, detail := range status.Convert(err).Details() {
		switch d := detail.(type) {
		case *errdetails.RetryInfo:
			if delay := d.GetRetryDelay().AsDuration(); delay >= 0 {
				t.retryAfter = refusal.Seconds(delay)
			}
		case *errdetails.ErrorInfo:
			t.refused = t.refused || d.GetDomain() == refusal.Domain
		case *errdetails.RequestInfo:
			t.requestID = d.GetRequestId()
		}
	}
	return t
}

type writerKey struct{}

// withWriter lets the error handler of a stream set a header: grpc-gateway does
// not hand it the writer.
func withWriter(next runtime.HandlerFunc) runtime.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request, params map[string]string) {
		next(w, r.WithContext(context.WithValue(r.Context(), writerKey{}, w)), params)
	}
}
