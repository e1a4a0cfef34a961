package connectgate

import (
	"context"
	"errors"

	connectv2 "connectrpc.com/connect/v2"

	"github.com/rpcgate/rpcgate/interceptor/internal/refusal"
	"github.com/rpcgate/rpcgate/interceptor/internal/refusal/details"
)

// notAdmitted returns the error of a call or a message that the gate did not admit.
// If it is a refusal, the response does not carry its delay yet.
func (s *serverV2) notAdmitted(ctx context.Context, err error) error {
	if r, ok := s.host.Refusal(ctx, err); ok {
		return s.refusal(ctx, r, err)
	}
	return failedV2(err)
}

// refuse returns the interceptor's error for a call that the gate did not admit.
func (s *serverV2) refuse(ctx context.Context, spec connectv2.Spec, err error) error {
	if r, ok := s.host.Refusal(ctx, err); ok {
		if info, ok := connectv2.CallInfoForServerContext(ctx); ok && info.Protocol == protocolGRPC {
			r = r.ForAttempt(info.RequestHeader().Get(refusal.AttemptsHeader))
		}
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

// answer returns what the interceptor makes of err, the handler's error. If the
// handler gave it a code of its own, it stays as it is.
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

// refusalV2 makes the error of a refused call. With asJSON it prepares the JSON of the
// details, for which Connect would have to unmarshal them.
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

// refusal makes the error of a refused call or message. It does not touch the
// response, since a message may be refused while another goroutine sends.
func (s *serverV2) refusal(ctx context.Context, r refusal.Refusal, cause error) error {
	info, ok := connectv2.CallInfoForServerContext(ctx)
	return refusalV2(r, ok && info.Protocol == protocolConnect, cause)
}

// tellV2 sets the header or trailer with the delay of a refusal that ends the call,
// since errors of v2 have no metadata, and returns err, its error.
func tellV2(ctx context.Context, spec connectv2.Spec, r refusal.Refusal, err error) error {
	info, ok := connectv2.CallInfoForServerContext(ctx)
	if !ok {
		return err
	}
	x := exchangeV2(ctx)
	if x != nil {
		x.Refuse(info.ResponseHeader())
	}
	c := carrierOf(info.Protocol)
	if info.Protocol == protocolConnect && spec.StreamType == connectv2.StreamTypeUnary {
		info.ResponseHeader().Set(c.key, c.value(r))
		refusal.KeepFromCaches(info.ResponseHeader()) // the call may be a GET
	} else {
		info.ResponseTrailer().Set(c.key, c.value(r))
	}
	if r.Draining() && info.Protocol != protocolGRPC && !x.OverHTTP2() {
		refusal.CloseConnection(info.ResponseHeader())
	}
	return err
}
