package httpgate

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor/internal/refusal"
)

// statusClientClosedRequest is nginx's status for a client that has gone, which
// nobody but logs will see.
const statusClientClosedRequest = 499

// WriteRejection answers a request as the middleware does, if err is or wraps the
// *[gate.Rejection] of a gate of the handler's own. Otherwise it reports false and
// writes nothing:
//
//	lease, err := pricing.Acquire(r.Context(), gate.Call{Route: "pricing"})
//	if httpgate.WriteRejection(w, r, err) {
//		return
//	}
//
// Nothing must have been written before.
func WriteRejection(w http.ResponseWriter, r *http.Request, err error) bool {
	var rejection *gate.Rejection
	if !errors.As(err, &rejection) {
		return false
	}
	writeRefusal(w, r, refusal.New(r.Context(), rejection, false))
	return true
}

func writeRefusal(w http.ResponseWriter, r *http.Request, refused refusal.Refusal) {
	w.Header().Set(refusal.RetryAfterHeader, refused.RetryAfter())
	write(w, r, refused.HTTPStatus, body{Error: "server_busy", RequestID: refused.RequestID(), State: refused.State()})
}

// answer answers a request that was not admitted.
func (m *middleware) answer(w http.ResponseWriter, r *http.Request, err error) {
	if refused, ok := m.host.Refusal(r.Context(), err); ok {
		writeRefusal(w, r, refused)
		return
	}
	switch {
	case errors.Is(err, context.Canceled):
		write(w, r, statusClientClosedRequest, body{Error: "canceled"})
	case errors.Is(err, context.DeadlineExceeded):
		write(w, r, http.StatusGatewayTimeout, body{Error: "deadline_exceeded"})
	default: // an Admitter that is none of package gate's has failed
		write(w, r, http.StatusInternalServerError, body{Error: "not_admitted"})
	}
}

type body struct {
	Error     string            `json:"error"`
	RequestID string            `json:"requestId,omitempty"`
	State     map[string]string `json:"state,omitempty"` // see interceptor.WithStateInDetails
}

func write(w http.ResponseWriter, r *http.Request, status int, b body) {
	text, err := json.Marshal(b)
	if err != nil { // of strings that are valid UTF-8 there is none
		text = []byte(`{}`)
	}
	text = append(text, '\n')
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(text)))
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(text) // an error says that the client has gone
	}
}
