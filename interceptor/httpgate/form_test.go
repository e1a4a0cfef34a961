package httpgate_test

import (
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor/httpgate"
	"github.com/rpcgate/rpcgate/internal/memhttp"
)

// TestFilesOfAFormAreRemoved has a form whose file does not stay in memory. net/http removes it from the request that it
// has made, and handlers get copies of that.
func TestFilesOfAFormAreRemoved(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	files := func() int {
		found, err := os.ReadDir(dir)
		if err != nil {
			t.Error(err)
		}
		return len(found)
	}
	var form strings.Builder
	parts := multipart.NewWriter(&form)
	part, err := parts.CreateFormFile("file", "name")
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(part, strings.Repeat("x", 64<<10))
	_ = parts.Close()
	parse := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if err := r.ParseMultipartForm(1); err != nil || files() != 1 {
			t.Errorf("%d files and error %v while the handler runs, want one", files(), err)
		}
	})
	for name, configure := range map[string]func(*http.Server){
		"plain": func(*http.Server) {}, "configured": func(srv *http.Server) { httpgate.ConfigureServer(srv) },
	} {
		synctest.Test(t, func(t *testing.T) {
			srv := &http.Server{Handler: httpgate.NewMiddleware(gate.Must(gate.New("db", 1)))(parse)}
			configure(srv)
			s := memhttp.StartServer(t, srv)
			for version, client := range map[string]*http.Client{"HTTP/1.1": s.Client(), "HTTP/2": s.ClientHTTP2()} {
				res, err := client.Post(s.URL, parts.FormDataContentType(), strings.NewReader(form.String()))
				if err != nil {
					t.Fatal(err)
				}
				_ = res.Body.Close()
				if synctest.Wait(); files() != 0 {
					t.Errorf("%s, %s: %d files are left", name, version, files())
				}
			}
		})
	}
}
