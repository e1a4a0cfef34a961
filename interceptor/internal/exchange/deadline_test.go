package exchange

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcgate/rpcgate/internal/memhttp"
)

// wrapped is a writer around another one.
type wrapped struct{ http.ResponseWriter }

func (w wrapped) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// foreign is a writer that claims to have deadlines, and remembers them.
type foreign struct {
	http.ResponseWriter
	set *[]time.Time
}

func (w foreign) SetReadDeadline(t time.Time) error {
	*w.set = append(*w.set, t)
	return nil
}

func serve(t *testing.T, h http.HandlerFunc) {
	t.Helper()
	s := memhttp.Start(t, h)
	res, err := s.ClientHTTP2().Get(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
}

func TestOnlyWritersOfNetHTTPNeedNotBeAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		serve(t, func(w http.ResponseWriter, _ *http.Request) {
			for _, test := range []struct {
				w    http.ResponseWriter
				want bool
			}{
				{w, true},
				{wrapped{w}, true},
				{wrapped{wrapped{w}}, true},
				{foreign{w, nil}, false},
				{wrapped{foreign{w, nil}}, false},
				{wrapped{nil}, false},
				{httptest.NewRecorder(), false},
			} {
				if got := HasDeadlines(test.w); got != test.want {
					t.Errorf("%T: %t, want %t", test.w, got, test.want)
				}
			}
		})
	})
}

// TestDeadlineIsSetOnlyWhenItHasPassed has a writer of net/http, whose deadlines are set with a delay, and one that has
// to be asked.
func TestDeadlineIsSetOnlyWhenItHasPassed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var set []time.Time
		x, _ := Begin(foreign{httptest.NewRecorder(), &set}, httptest.NewRequest(http.MethodPost, "/", http.NoBody))
		h := x.hurry(time.Second)
		if len(set) != 1 || !set[0].Equal(time.Now().Add(time.Second)) {
			t.Errorf("deadlines %v, want one at once", set)
		}
		if !h.extend(3*time.Second) || len(set) != 2 || !set[1].Equal(time.Now().Add(3*time.Second)) {
			t.Errorf("deadlines %v, want a later one", set)
		}
		h.stop()
		x.End()
		if x.hurry(time.Second) != nil || x.SetReadDeadline(time.Now()) == nil || len(set) != 2 {
			t.Errorf("the writer was used after the handler has returned: %v", set)
		}

		serve(t, func(w http.ResponseWriter, r *http.Request) {
			x, _ := Begin(w, r)
			defer x.End()
			h := x.hurry(time.Second)
			time.Sleep(time.Second - 1)
			if !h.extend(2 * time.Second) {
				t.Error("there was time to extend it")
			}
			time.Sleep(time.Second)
			h.stop()
			select {
			case <-h.fired:
				t.Error("a deadline was set although the haste had ended")
			default:
			}
			h = x.hurry(time.Second)
			time.Sleep(time.Second)
			if synctest.Wait(); h.extend(time.Hour) {
				t.Error("a deadline that has passed was extended")
			}
			h.stop()
			if x.hurry(0) != nil {
				t.Error("a haste without time")
			}
		})
	})
}

func TestTheExchangeOfAContext(t *testing.T) {
	r := httptest.NewRequest(http.MethodPost, "/", io.NopCloser(httptest.NewRecorder().Body))
	r.ContentLength = -1
	w := httptest.NewRecorder()
	if From(r.Context()) != nil {
		t.Error("a request without an exchange has one")
	}
	x, inner := Begin(w, r)
	if From(inner.Context()) != x || r.Body == inner.Body {
		t.Error("the inner request does not have the exchange")
	}
	again, same, end := Of(w, inner)
	if end(); again != x || same != inner || x.over {
		t.Error("Of does not find the exchange")
	}
	// A transcoder makes a request of its own with the same context.
	other := inner.Clone(inner.Context())
	other.Body = io.NopCloser(httptest.NewRecorder().Body)
	third, _, end := Of(w, other)
	if end(); third == x || !third.over {
		t.Error("the request of a transcoder has the exchange of another one")
	}
}
