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

// notAdmitted is the error of a call that the gate did not admit. If that is no
// rejection, the caller has gone, or an Admitter that is none of package gate's
// has failed. It never is unknown, which clients take for a bug of the handler.
func (i *interceptorV1) notAdmitted(ctx context.Context, to responderV1, err error) error {
	if r, ok := i.host.Refusal(ctx, err); ok {
		return refusalV1(to, r, err)
	}
	return failedV1(err)
}

func failedV1(err error) error {
	var known *connect.Error
	if errors.As(err, &known) {
		return err
	}
	if code, ok := contextCode(err); ok {
		return connect.NewError(code, err)
	}
	return connect.NewError(connect.CodeInternal, &failed{notAdmittedText, err})
}

// handlerError is err, which the handler has returned, unless that is a refusal
// that the client is still to be told of. Whoever gave it a code of his own has
// decided what clients see.
func (i *interceptorV1) handlerError(ctx context.Context, to responderV1, err error) error {
	if err == nil || told(err) {
		return err
	}
	var known *connect.Error
	if errors.As(err, &known) && !IsLocal(err) {
		return err
	}
	if r, ok := i.host.Refusal(ctx, err); ok {
		return refusalV1(to, r, err)
	}
	return err
}

// refusalV1 makes the error of a refused call. It is made anew each time, since
// Connect and others may write to it. Without a responder nothing says when to
// come back but the details.
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
	// Connect adds the error's metadata to what is there, and two values would
	// be one too many.
	c := carrierOf(protocol)
	delete(to.ResponseHeader(), c.key)
	delete(to.ResponseTrailer(), c.key)
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
