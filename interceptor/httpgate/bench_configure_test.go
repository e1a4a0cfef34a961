package httpgate_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/rpcgate/rpcgate/interceptor/httpgate"
)

// BenchmarkConfigured is what ConfigureServer adds to each request.
func BenchmarkConfigured(b *testing.B) {
	srv := &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})}
	plain := srv.Handler
	httpgate.ConfigureServer(srv)
	w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/", http.NoBody)
	for name, h := range map[string]http.Handler{"without": plain, "with": srv.Handler} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				h.ServeHTTP(w, r)
			}
		})
	}
}
