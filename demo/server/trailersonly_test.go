package server

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestTrailersOnlyWithoutMessage(t *testing.T) {
	t.Parallel()
	h := trailersOnly(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/grpc")
		w.Header().Add("Trailer", "Grpc-Status")
		w.(http.Flusher).Flush() // as grpc.Server does before it sets the status
		w.Header().Set("Grpc-Status", "8")
		w.Header().Set(http.TrailerPrefix+"grpc-retry-pushback-ms", "200")
	}))
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", nil))
	res := w.Result()
	if w.Flushed || len(res.Trailer) > 0 || res.Header.Get("Trailer") != "" {
		t.Errorf("flushed %v, trailers %v: want one block of headers", w.Flushed, res.Trailer)
	}
	if res.Header.Get("Grpc-Status") != "8" || res.Header.Get("Grpc-Retry-Pushback-Ms") != "200" {
		t.Errorf("headers %v lack the status or the pushback", res.Header)
	}
}

func TestTrailersOnlyLeavesMessagesAlone(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]func(http.ResponseWriter){
		"message": func(w http.ResponseWriter) { w.Write([]byte("message")) },
		"headers": func(w http.ResponseWriter) { w.WriteHeader(http.StatusOK) },
	} {
		h := trailersOnly(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Add("Trailer", "Grpc-Status")
			begin(w)
			w.(http.Flusher).Flush()
			w.Header().Set("Grpc-Status", "0")
			w.Header().Set(http.TrailerPrefix+"cost", "3")
		}))
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", nil))
		res := w.Result()
		if !w.Flushed {
			t.Errorf("%s: was held back", name)
		}
		if res.Header.Get("Grpc-Status") != "" || res.Trailer.Get("Grpc-Status") != "0" || res.Trailer.Get("Cost") != "3" {
			t.Errorf("%s: headers %v, trailers %v: want the status in the trailers", name, res.Header, res.Trailer)
		}
	}
}

func TestIsGRPC(t *testing.T) {
	t.Parallel()
	for contentType, want := range map[string]bool{
		"application/grpc":               true,
		"application/grpc+proto":         true,
		"application/grpc;charset=utf-8": true,
		"application/grpc-web":           false,
		"application/grpc-web+proto":     false,
		"application/json":               false,
		"":                               false,
	} {
		if got := isGRPC(contentType); got != want {
			t.Errorf("isGRPC(%q) is %v, want %v", contentType, got, want)
		}
	}
}
