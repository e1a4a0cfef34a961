package grpcgate

import (
	"context"
	"errors"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/rpcgate/rpcgate/interceptor/internal/refusal"
	"github.com/rpcgate/rpcgate/interceptor/internal/refusal/details"
)

// refused is the error of a refused call: a status for grpc-go, and underneath
// the *gate.Rejection. Its text is the status's, which tells clients nothing:
// grpc-go sends the text of an error that wraps it.
type refused struct {
	status  *status.Status
	refusal refusal.Refusal
	cause   error // is or wraps the rejection
	local   bool  // made by a client's gate, of this process
	told    bool  // the trailers that go with it are set
}

func (e *refused) GRPCStatus() *status.Status { return e.status }
func (e *refused) Error() string              { return e.status.String() }
func (e *refused) Unwrap() error              { return e.cause }

// statusError is an error that grpc-go sends as the status it has.
type statusError interface {
	error
	GRPCStatus() *status.Status
}

// failed is any other error that kept a call from being admitted.
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

// notAdmitted is the error of a call or a message that the gate did not admit:
// a refusal, of which the client is not told yet; or the caller has gone; or an
// Admitter that is none of package gate's has failed. It never is Unknown, which
// clients take for a bug of the handler.
func (s *server) notAdmitted(ctx context.Context, err error) error {
	if r, ok := s.host.Refusal(ctx, err); ok {
		return newRefused(r, err)
	}
	return failure(err)
}

// failure is notAdmitted for what is no rejection.
func failure(err error) error {
	if _, ok := status.FromError(err); ok {
		return err
	}
	f := refusal.FailureOf(err)
	return &failed{status: status.New(codes.Code(f.Code), f.Message), cause: err}
}

// refusalOf finds out whether err is a refusal that the client is still to be
// told of. Those of an interceptor further in were told already; those of a
// client's gate were made for this process and are told as the server's own; and
// whoever gave the error a status of his own has decided what clients see.
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

// answer is what the interceptor returns for err, which comes from the handler.
// stream is nil for unary calls.
func (s *server) answer(ctx context.Context, stream grpc.ServerStream, err error) error {
	if err == nil {
		return nil
	}
	return s.answerError(ctx, stream, err)
}

// answerError is apart so that the calls that go well have no part in it.
func (s *server) answerError(ctx context.Context, stream grpc.ServerStream, err error) error {
	if r, ok := s.refusalOf(ctx, err); ok {
		return tell(ctx, stream, r)
	}
	return err
}

// refuse is what the interceptor returns for err, with which the gate did not
// admit the call.
func (s *server) refuse(ctx context.Context, stream grpc.ServerStream, err error) error {
	err = s.notAdmitted(ctx, err)
	if r, ok := err.(*refused); ok {
		return tell(ctx, stream, r)
	}
	return err
}

// tell sets the pushback that goes with the refusal. It is a trailer and never a
// header, which would keep clients from retrying.
func tell(ctx context.Context, stream grpc.ServerStream, r *refused) error {
	transport := grpc.ServerTransportStreamFromContext(ctx)
	if set, ok := transport.(interface{ Trailer() metadata.MD }); ok {
		// Trailers add up, and clients do not retry when there are two: who
		// came first has said when.
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
		// The only error is that the call has ended: then nobody is told.
		_ = transport.SetTrailer(trailer)
	}
	return r
}

// IsLocal reports whether err is the refusal of a client's gate in this process,
// not one that the server sent: [UnaryClientInterceptor]'s or
// [StreamClientInterceptor]'s. An interceptor that retries should not retry
// these at once, or the gate is in vain. The *[gate.Rejection] in err, which
// [errors.As] finds, has the delay.
func IsLocal(err error) bool {
	r, ok := errors.AsType[*refused](err)
	return ok && r.local
}
