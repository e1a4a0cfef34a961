package httpgate

import (
	"errors"
	"net/http"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor/internal/exchange"
	"github.com/rpcgate/rpcgate/interceptor/internal/refusal"
)

// WriteRejection answers a request as the middleware does, if err is or wraps the
// *[gate.Rejection] of a gate of the handler's own. Otherwise it reports false and
// writes nothing:
//
//	lease, err := pricing.Acquire(r.Context(), gate.Call{Route: "pricing"})
//	if httpgate.WriteRejection(w, r, err) {
//		return
//	}
//
// The handler must not have written anything before.
func WriteRejection(w http.ResponseWriter, r *http.Request, err error) bool {
	var rejection *gate.Rejection
	if !errors.As(err, &rejection) {
		return false
	}
	x, r, end := exchange.Of(w, r)
	defer end()
	x.Refuse(w.Header())
	writeRefusal(w, r, refusal.New(r.Context(), rejection, false))
	return true
}

func writeRefusal(w http.ResponseWriter, r *http.Request, refused refusal.Refusal) {
	w.Header().Set(refusal.RetryAfterHeader, refused.RetryAfter())
	if refused.Draining() && r.ProtoMajor < 2 {
		refusal.CloseConnection(w.Header())
	}
	body := refusal.Body{Error: refusal.ErrorBusy, RequestID: refused.RequestID(), State: refused.State()}
	body.Write(w, r, refused.HTTPStatus)
}

// answer answers a request that was not admitted.
func (m *middleware) answer(w http.ResponseWriter, r *http.Request, err error) {
	x, r, end := exchange.Of(w, r)
	defer end()
	x.Refuse(w.Header())
	if refused, ok := m.host.Refusal(r.Context(), err); ok {
		writeRefusal(w, r, refused)
		return
	}
	failure := refusal.FailureOf(err)
	refusal.Body{Error: failure.Name}.Write(w, r, failure.HTTPStatus)
}
