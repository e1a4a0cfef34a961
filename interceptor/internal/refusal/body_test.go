package refusal

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestBodyIsShortAndNotToBeStored(t *testing.T) {
	for method, want := range map[string]string{
		http.MethodGet:  `{"error":"server_busy","requestId":"req-7"}` + "\n",
		http.MethodHead: "",
	} {
		w := httptest.NewRecorder()
		Body{Error: ErrorBusy, RequestID: "req-7"}.Write(w, httptest.NewRequest(method, "/", nil), 429)
		h := w.Header()
		if got := w.Body.String(); w.Code != 429 || got != want {
			t.Errorf("%s: %d %q, want 429 %q", method, w.Code, got, want)
		}
		if h.Get("Content-Length") != "44" || h.Get("Content-Type") != "application/json" ||
			h.Get("Cache-Control") != "no-store" || h.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: headers %v", method, h)
		}
	}
}
