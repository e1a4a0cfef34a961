package connectgate

import (
	"context"
	"errors"

	connectv2 "connectrpc.com/connect/v2"

	"github.com/rpcgate/rpcgate/interceptor/internal/refusal"
	"github.com/rpcgate/rpcgate/interceptor/internal/refusal/details"
)

// notAdmitted is the error of a call that the gate did not admit. If that is no
// rejection, the caller has gone, or an Admitter that is none of package gate's
// has failed.
func (s *serverV2) notAdmitted(ctx context.Context, spec connectv2.Spec, err error) error {
	if r, ok := s.host.Refusal(ctx, err); ok {
		return s.refuse(ctx, spec, r, err)
	}
	return failedV2(err)
}

func failedV2(err error) error {
	var known *connectv2.Error
	if errors.As(err, &known) {
		return err
	}
	if code, ok := contextCode(err); ok {
		return connectv2.NewError(connectv2.Code(code), err.Error()).WithCause(err)
	}
	return connectv2.NewError(connectv2.CodeInternal, notAdmittedText).WithCause(err)
}

// handlerError is err, which the handler has returned, unless that is a refusal
// that the client is still to be told of. Whoever gave it a code of his own has
// decided what clients see.
func (s *serverV2) handlerError(ctx context.Context, spec connectv2.Spec, err error) error {
	if err == nil || told(err) {
		return err
	}
	var known *connectv2.Error
	if errors.As(err, &known) && !IsLocal(err) {
		return err
	}
	if r, ok := s.host.Refusal(ctx, err); ok {
		return s.refuse(ctx, spec, r, err)
	}
	return err
}

// refusalV2 makes the error of a refused call. asJSON says that Connect will send
// its details as JSON, too, which is prepared: it would unmarshal them for that.
func refusalV2(r refusal.Refusal, asJSON bool, cause error) *connectv2.Error {
	e := connectv2.NewError(connectv2.Code(r.Code), r.Message()).WithCause(&refused{r, cause})
	for k, packed := range details.Packed(r) {
		d := &connectv2.ErrorDetail{Type: string(packed.MessageName()), Value: packed.Value}
		if asJSON {
			d.Debug = appendDebug(nil, details.Kind(k), r)
		}
		e = e.WithDetail(d)
	}
	return e
}

// refuse makes the error of a refused call and sets the header, or trailer, that
// tells the client when to come back. Errors of v2 carry none.
func (s *serverV2) refuse(ctx context.Context, spec connectv2.Spec, r refusal.Refusal, cause error) error {
	info, ok := connectv2.CallInfoForServerContext(ctx)
	if !ok {
		return refusalV2(r, false, cause)
	}
	c, overConnect := carrierOf(info.Protocol), info.Protocol == protocolConnect
	if overConnect && spec.StreamType == connectv2.StreamTypeUnary {
		info.ResponseHeader().Set(c.key, c.value(r))
	} else {
		info.ResponseTrailer().Set(c.key, c.value(r))
	}
	return refusalV2(r, overConnect, cause)
}
