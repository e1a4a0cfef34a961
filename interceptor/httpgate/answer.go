package httpgate

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"

	"github.com/rpcgate/rpcgate/internal/refusal"
)

// statusClientClosedRequest is nginx's status for a client that has gone, which
// nobody but logs will see.
const statusClientClosedRequest = 499

// answer answers a request that was not admitted.
func (m *middleware) answer(w http.ResponseWriter, r *http.Request, err error) {
	if refused, ok := m.host.Refusal(r.Context(), err); ok {
		w.Header().Set(refusal.RetryAfterHeader, refused.RetryAfter())
		write(w, r, refused.HTTPStatus, body{Error: "server_busy", RequestID: refused.RequestID(), State: refused.State()})
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
