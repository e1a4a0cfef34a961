package connectgate

import (
	"context"
	"errors"
	"net/http"

	"connectrpc.com/connect"

	"github.com/rpcgate/rpcgate/interceptor/internal/exchange"
	"github.com/rpcgate/rpcgate/interceptor/internal/refusal"
	"github.com/rpcgate/rpcgate/interceptor/internal/refusal/details"
)

// responderV1 is the server's side of a call, unary or streaming.
type responderV1 interface {
	Spec() connect.Spec
	Peer() connect.Peer
	RequestHeader() http.Header
	ResponseHeader() http.Header
	ResponseTrailer() http.Header
}

// unaryResponder returns the responder of a unary call, or nil if the call did not
// come through a handler of Connect.
func unaryResponder(ctx context.Context) responderV1 {
	if info, ok := connect.CallInfoForHandlerContext(ctx); ok {
		return info
	}
	return nil
}

// notAdmitted returns the error of a call or a message that the gate did not admit.
func (i *interceptorV1) notAdmitted(ctx context.Context, to responderV1, err error) error {
	if r, ok := i.host.Refusal(ctx, err); ok {
		return refusalV1(to, r, err)
	}
	return failedV1(err)
}

// refuse returns the interceptor's error for a call that the gate did not admit.
func (i *interceptorV1) refuse(ctx context.Context, to responderV1, err error) error {
	if r, ok := i.host.Refusal(ctx, err); ok {
		if to != nil && to.Peer().Protocol == connect.ProtocolGRPC {
			r = r.ForAttempt(first(to.RequestHeader(), refusal.AttemptsHeader))
		}
		return tellV1(ctx, to, r, refusalV1(to, r, err))
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

// answer returns what the interceptor makes of err, the handler's error. If the
// handler gave it a code of its own, it stays as it is.
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
			return tellV1(ctx, to, r.refusal, err)
		}
	}
	if r, ok := i.host.Refusal(ctx, err); ok {
		return tellV1(ctx, to, r, refusalV1(to, r, err))
	}
	return err
}

// tellV1 returns err, the error of a refusal that ends the call, after it has removed
// all other delays from the response. Connect adds the metadata of the error, which has
// the delay, and clients take only one.
func tellV1(ctx context.Context, to responderV1, r refusal.Refusal, err error) error {
	if to != nil {
		exchange.Refuse(ctx, to.ResponseHeader())
		c := carrierOf(to.Peer().Protocol)
		delete(to.ResponseHeader(), c.key)
		delete(to.ResponseTrailer(), c.key)
		if c.key == refusal.RetryAfterHeader && to.Spec().StreamType == connect.StreamTypeUnary {
			refusal.KeepFromCaches(to.ResponseHeader()) // a call of Connect may be a GET
		}
		if r.Draining() && to.Peer().Protocol != connect.ProtocolGRPC && !exchange.From(ctx).OverHTTP2() {
			refusal.CloseConnection(to.ResponseHeader())
		}
	}
	return err
}

// refusalV1 makes the error of a refused call or message. It does not touch the
// response, since a message may be refused while another goroutine sends. Each error
// is a new one, because Connect and others may change it. Without a responder only
// the details carry the delay.
func refusalV1(to responderV1, r refusal.Refusal, cause error) *connect.Error {
	e := connect.NewError(connect.Code(r.Code), &refused{r, cause})
	if to == nil {
		addPacked(e, r)
		return e
	}
	protocol := to.Peer().Protocol
	if protocol == connect.ProtocolConnect {
		// As messages, which Connect also sends as JSON.
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
