package connectgate

import (
	"context"
	"errors"

	connectv2 "connectrpc.com/connect/v2"

	"github.com/rpcgate/rpcgate/interceptor/internal/refusal"
	"github.com/rpcgate/rpcgate/interceptor/internal/refusal/details"
)

// notAdmitted is the error of a call or a message that the gate did not admit: a
// refusal, which is not told yet; or the caller has gone; or an Admitter that is
// none of package gate's has failed.
func (s *serverV2) notAdmitted(ctx context.Context, err error) error {
	if r, ok := s.host.Refusal(ctx, err); ok {
		return s.refusal(ctx, r, err)
	}
	return failedV2(err)
}

// refuse is what the interceptor returns for err, with which the gate did not
// admit the call.
func (s *serverV2) refuse(ctx context.Context, spec connectv2.Spec, err error) error {
	if r, ok := s.host.Refusal(ctx, err); ok {
		return tellV2(ctx, spec, r, s.refusal(ctx, r, err))
	}
	return failedV2(err)
}

func failedV2(err error) error {
	var known *connectv2.Error
	if errors.As(err, &known) {
		return err
	}
	f := refusal.FailureOf(err)
	return connectv2.NewError(connectv2.Code(f.Code), f.Message).WithCause(err)
}

// answer is what the interceptor returns for err, which comes from the handler. A
// handler that gave the error a code of its own has decided what clients see.
func (s *serverV2) answer(ctx context.Context, spec connectv2.Spec, err error) error {
	if err == nil {
		return nil
	}
	var known *connectv2.Error
	if errors.As(err, &known) {
		switch r, ok := known.Unwrap().(*refused); {
		case !ok:
			return err
		case !r.refusal.IsLocal():
			return tellV2(ctx, spec, r.refusal, err)
		}
	}
	if r, ok := s.host.Refusal(ctx, err); ok {
		return tellV2(ctx, spec, r, s.refusal(ctx, r, err))
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

// refusal makes the error of a refused call or message, and touches nothing else: a
// message is refused while another goroutine may be sending.
func (s *serverV2) refusal(ctx context.Context, r refusal.Refusal, cause error) error {
	info, ok := connectv2.CallInfoForServerContext(ctx)
	return refusalV2(r, ok && info.Protocol == protocolConnect, cause)
}

// tellV2 returns err, the error of a refusal that ends the call. It sets the
// header, or trailer, that says when to come back, since errors of v2 have none.
func tellV2(ctx context.Context, spec connectv2.Spec, r refusal.Refusal, err error) error {
	info, ok := connectv2.CallInfoForServerContext(ctx)
	if !ok {
		return err
	}
	c := carrierOf(info.Protocol)
	if info.Protocol == protocolConnect && spec.StreamType == connectv2.StreamTypeUnary {
		info.ResponseHeader().Set(c.key, c.value(r))
	} else {
		info.ResponseTrailer().Set(c.key, c.value(r))
	}
	return err
}
