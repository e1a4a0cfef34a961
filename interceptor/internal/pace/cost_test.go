package pace

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rpcgate/rpcgate/gate"
)

// The pair tells what a Body costs a call whose request is there: Base reads it without.
func BenchmarkRead(b *testing.B) {
	lease, err := gate.Must(gate.New("db", 1)).TryAcquire(gate.Call{})
	if err != nil {
		b.Fatal(err)
	}
	defer lease.Release()
	text := strings.Repeat("x", 200)
	run := func(b *testing.B, with bool) {
		w, buf := httptest.NewRecorder(), make([]byte, 512)
		text := strings.NewReader(text)
		r := httptest.NewRequest(http.MethodPost, "/", io.NopCloser(text))
		body := r.Body
		b.ReportAllocs()
		for b.Loop() {
			_, _ = text.Seek(0, io.SeekStart)
			r.Body = body
			if with {
				paced := New(w, r, DefaultRate())
				paced.Admit(lease, r)
				for err := error(nil); err == nil; _, err = r.Body.Read(buf) {
				}
				paced.End()
				continue
			}
			for err := error(nil); err == nil; _, err = r.Body.Read(buf) {
			}
		}
	}
	b.Run("Base", func(b *testing.B) { run(b, false) })
	b.Run("Body", func(b *testing.B) { run(b, true) })
}
