package connectgate

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcgate/rpcgate/interceptor/internal/pace"
	"github.com/rpcgate/rpcgate/internal/memhttp"
)

// wrapped is a writer around another one.
type wrapped struct{ http.ResponseWriter }

func (w wrapped) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// foreign is a writer that claims to have deadlines.
type foreign struct{ http.ResponseWriter }

func (w foreign) SetReadDeadline(time.Time) error { return http.ErrNotSupported }

func TestOnlyWritersOfNetHTTPNeedNotBeAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memhttp.Start(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			for _, test := range []struct {
				w    http.ResponseWriter
				want bool
			}{
				{w, true},
				{wrapped{w}, true},
				{&heldWriter{ResponseWriter: wrapped{w}}, true},
				{foreign{w}, false},
				{wrapped{foreign{w}}, false},
				{wrapped{nil}, false},
				{httptest.NewRecorder(), false},
			} {
				if got := pace.HasDeadlines(test.w); got != test.want {
					t.Errorf("%T: %t, want %t", test.w, got, test.want)
				}
			}
		}))
		res, err := s.ClientHTTP2().Get(s.URL)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
	})
}

func TestDeadlineIsSetOnlyWhenItHasPassed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memhttp.Start(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			var set []time.Time
			count := func(t time.Time) error { set = append(set, t); return nil }
			stop, ok := hurry(w, count)
			time.Sleep(drainTime - 1)
			if stop(); !ok || len(set) != 0 {
				t.Errorf("ok %t, deadlines %v, want none for a body that came in time", ok, set)
			}
			stop, _ = hurry(w, count)
			time.Sleep(drainTime)
			if stop(); len(set) != 1 || !set[0].Before(time.Now()) {
				t.Errorf("deadlines %v, want one that has passed at %v", set, time.Now())
			}
			stop, ok = hurry(foreign{w}, count)
			if stop(); !ok || len(set) != 2 || !set[1].Equal(time.Now().Add(drainTime)) {
				t.Errorf("ok %t, deadlines %v, want one at once for a writer that has to be asked", ok, set)
			}
		}))
		res, err := s.ClientHTTP2().Get(s.URL)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
	})
}
