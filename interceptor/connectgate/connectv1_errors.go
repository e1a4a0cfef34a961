package connectgate

import (
	"context"
	"errors"
	"net/http"

	"connectrpc.com/connect"

	"github.com/rpcgate/rpcgate/interceptor/internal/refusal"
	"github.com/rpcgate/rpcgate/interceptor/internal/refusal/details"
)

// responderV1 is the server's side of a call, unary or streaming.
type responderV1 interface {
	Spec() connect.Spec
	Peer() connect.Peer
	ResponseHeader() http.Header
	ResponseTrailer() http.Header
}

// unaryResponder is that of a unary call, or nil for one that did not come
// through a handler of Connect.
func unaryResponder(ctx context.Context) responderV1 {
	if info, ok := connect.CallInfoForHandlerContext(ctx); ok {
		return info
	}
	return nil
}

// notAdmitted is the error of a call or a message that the gate did not admit: a
// refusal, which is not told yet; or the caller has gone; or an Admitter that is
// none of package gate's has failed. It never is unknown, which clients take for a
// bug of the handler.
func (i *interceptorV1) notAdmitted(ctx context.Context, to responderV1, err error) error {
	if r, ok := i.host.Refusal(ctx, err); ok {
		return refusalV1(to, r, err)
	}
	return failedV1(err)
}

// refuse is what the interceptor returns for err, with which the gate did not
// admit the call.
func (i *interceptorV1) refuse(ctx context.Context, to responderV1, err error) error {
	if r, ok := i.host.Refusal(ctx, err); ok {
		return tellV1(to, refusalV1(to, r, err))
	}
	return failedV1(err)
}

func failedV1(err error) error {
	var known *connect.Error
	if errors.As(err, &known) {
		return err
	}
	f := refusal.FailureOf(err)
	return connect.NewError(connect.Code(f.Code), &failed{f.Message, err})
}

// answer is what the interceptor returns for err, which comes from the handler. A
// handler that gave the error a code of its own has decided what clients see.
func (i *interceptorV1) answer(ctx context.Context, to responderV1, err error) error {
	if err == nil {
		return nil
	}
	var known *connect.Error
	if errors.As(err, &known) {
		switch r, ok := known.Unwrap().(*refused); {
		case !ok:
			return err
		case !r.refusal.IsLocal():
			return tellV1(to, err)
		}
	}
	if r, ok := i.host.Refusal(ctx, err); ok {
		return tellV1(to, refusalV1(to, r, err))
	}
	return err
}

// tellV1 returns a refusal that ends the call. The error carries the delay in its
// metadata, which Connect adds to what is there: two values would be one too many.
func tellV1(to responderV1, refusal error) error {
	if to != nil {
		c := carrierOf(to.Peer().Protocol)
		delete(to.ResponseHeader(), c.key)
		delete(to.ResponseTrailer(), c.key)
	}
	return refusal
}

// refusalV1 makes the error of a refused call or message, and touches nothing else:
// a message is refused while another goroutine may be sending. It is made anew each
// time, since Connect and others may write to it. Without a responder only the
// details say when to come back.
func refusalV1(to responderV1, r refusal.Refusal, cause error) *connect.Error {
	e := connect.NewError(connect.Code(r.Code), &refused{r, cause})
	if to == nil {
		addPacked(e, r)
		return e
	}
	protocol := to.Peer().Protocol
	if protocol == connect.ProtocolConnect {
		// As messages: Connect sends them as JSON, too.
		for _, m := range details.Messages(r) {
			if d, err := connect.NewErrorDetail(m); err == nil {
				e.AddDetail(d)
			}
		}
	} else {
		addPacked(e, r)
	}
	c := carrierOf(protocol)
	e.Meta()[c.key] = []string{c.value(r)}
	return e
}

func addPacked(e *connect.Error, r refusal.Refusal) {
	for _, packed := range details.Packed(r) {
		if d, err := connect.NewErrorDetail(packed); err == nil {
			e.AddDetail(d)
		}
	}
}
