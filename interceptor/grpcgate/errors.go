package grpcgate

import (
	"context"
	"errors"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/rpcgate/rpcgate/interceptor/internal/refusal"
	"github.com/rpcgate/rpcgate/interceptor/internal/refusal/details"
)

// refused is the error of a refused call. It has a status for grpc-go and wraps the
// *gate.Rejection. Its text is that of the status, which names no internals, because
// grpc-go sends the text of an error that wraps it.
type refused struct {
	status  *status.Status
	refusal refusal.Refusal
	cause   error // is or wraps the rejection
	local   bool  // made by a client's gate in this process
	told    bool  // its trailers are set
}

func (e *refused) GRPCStatus() *status.Status { return e.status }
func (e *refused) Error() string              { return e.status.String() }
func (e *refused) Unwrap() error              { return e.cause }

// statusError is an error that grpc-go sends as its status.
type statusError interface {
	error
	GRPCStatus() *status.Status
}

// failed is the error of a call that was not admitted for another reason.
type failed struct {
	status *status.Status
	cause  error
}

func (e *failed) GRPCStatus() *status.Status { return e.status }
func (e *failed) Error() string              { return e.status.String() }
func (e *failed) Unwrap() error              { return e.cause }

func newRefused(r refusal.Refusal, cause error) *refused {
	loan := details.Borrow(r)
	defer loan.Return()
	return &refused{status: status.FromProto(loan.Status()), refusal: r, cause: cause, local: r.IsLocal()}
}

// notAdmitted returns the error of a call or a message that the gate did not admit.
// If it is a refusal, its trailers are not set yet.
func (s *server) notAdmitted(ctx context.Context, err error) error {
	if r, ok := s.host.Refusal(ctx, err); ok {
		return newRefused(forAttempt(ctx, r), err)
	}
	return failure(err)
}

// forAttempt returns the refusal for the attempt that the client makes with ctx.
func forAttempt(ctx context.Context, r refusal.Refusal) refusal.Refusal {
	if !r.Draining() {
		return r
	}
	previous := strings.Join(metadata.ValueFromIncomingContext(ctx, refusal.AttemptsMetadata), "")
	return r.ForAttempt(previous)
}

// failure is notAdmitted for an error that is no rejection.
func failure(err error) error {
	if _, ok := status.FromError(err); ok {
		return err
	}
	f := refusal.FailureOf(err)
	return &failed{status: status.New(codes.Code(f.Code), f.Message), cause: err}
}

// refusalOf returns err as a refusal whose trailers must be set. It reports false if
// err is no refusal, if an interceptor further in has set its trailers, or if the
// handler gave the error a status of its own. The refusal of a client's gate, which
// was made for this process, becomes one of the server's.
func (s *server) refusalOf(ctx context.Context, err error) (*refused, bool) {
	if known, ok := errors.AsType[statusError](err); ok {
		r, ok := known.(*refused)
		switch {
		case !ok || r.told:
			return nil, false
		case !r.local:
			return &refused{status: r.status, refusal: r.refusal, cause: err}, true
		}
	}
	r, ok := s.host.Refusal(ctx, err)
	if !ok {
		return nil, false
	}
	return newRefused(r, err), true
}

// answer returns what the interceptor makes of err, the handler's error. The stream
// is nil for unary calls.
func (s *server) answer(ctx context.Context, stream grpc.ServerStream, err error) error {
	if err == nil {
		return nil
	}
	return s.answerError(ctx, stream, err)
}

// answerError is a function of its own so that answer is inlined.
func (s *server) answerError(ctx context.Context, stream grpc.ServerStream, err error) error {
	if r, ok := s.refusalOf(ctx, err); ok {
		return tell(ctx, stream, r)
	}
	return err
}

// refuse returns the interceptor's error for a call that the gate did not admit.
func (s *server) refuse(ctx context.Context, stream grpc.ServerStream, err error) error {
	err = s.notAdmitted(ctx, err)
	if r, ok := err.(*refused); ok {
		return tell(ctx, stream, r)
	}
	return err
}

// tell sets the pushback of a refusal that ends the call, and returns the refusal.
// The pushback is a trailer: with a header, clients would not retry.
func tell(ctx context.Context, stream grpc.ServerStream, r *refused) error {
	transport := grpc.ServerTransportStreamFromContext(ctx)
	if set, ok := transport.(interface{ Trailer() metadata.MD }); ok {
		// A client that gets two pushbacks does not retry. The first one stays.
		if have := set.Trailer()[refusal.PushbackMetadata]; len(have) > 0 {
			r = newRefused(r.refusal.WithPushback(have[0]), r.cause)
			r.told = true
			return r
		}
	}
	r.told = true
	trailer := metadata.MD{refusal.PushbackMetadata: {r.refusal.Pushback()}}
	switch {
	case stream != nil:
		stream.SetTrailer(trailer)
	case transport != nil:
		// The only error is that the call has ended.
		_ = transport.SetTrailer(trailer)
	}
	return r
}

// IsLocal reports whether err was made by the gate of a client in this process, in
// [UnaryClientInterceptor] or [StreamClientInterceptor], and not sent by a server. An
// interceptor that retries calls should not retry such a call at once: that would
// defeat the gate. The *[gate.Rejection], which [errors.As] finds in err, says how
// long to wait.
func IsLocal(err error) bool {
	r, ok := errors.AsType[*refused](err)
	return ok && r.local
}
