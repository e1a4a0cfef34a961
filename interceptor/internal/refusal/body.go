package refusal

import (
	"encoding/json"
	"net/http"
	"strconv"
)

// ErrorBusy is the [Body.Error] of a refusal.
const ErrorBusy = "server_busy"

// Body is the body of an answer to clients of plain HTTP and of REST.
type Body struct {
	Error     string            `json:"error"`
	RequestID string            `json:"requestId,omitempty"`
	State     map[string]string `json:"state,omitempty"` // see interceptor.WithStateInDetails
}

// Write answers r with the body, which caches must not store. HEAD gets only the
// headers.
func (b Body) Write(w http.ResponseWriter, r *http.Request, status int) {
	text, err := json.Marshal(b)
	if err != nil { // cannot happen with strings of valid UTF-8
		text = []byte(`{}`)
	}
	text = append(text, '\n')
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(text)))
	KeepFromCaches(h)
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(text) // an error says that the client has gone
	}
}
