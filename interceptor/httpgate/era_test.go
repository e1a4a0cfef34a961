package httpgate_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor/httpgate"
	"github.com/rpcgate/rpcgate/internal/eras"
	"github.com/rpcgate/rpcgate/internal/memhttp"
)

// TestAHandlerServesBubblesAndTheRealClock has a handler that was made once, such as a package's variable.
func TestAHandlerServesBubblesAndTheRealClock(t *testing.T) {
	var inside, leave chan struct{} // of the era
	g := gate.Must(gate.New("db", 1, gate.WithMaxWait(5*time.Millisecond)))
	h := httpgate.NewMiddleware(g)(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		inside <- struct{}{}
		<-leave
	}))
	eras.Each(t, func(t *testing.T) {
		inside, leave = make(chan struct{}), make(chan struct{})
		s := memhttp.Start(t, h)
		status := make(chan int)
		go func() {
			res, _ := do(t, s.Client(), http.MethodGet, s.URL)
			status <- res.StatusCode
		}()
		<-inside
		if res, body := do(t, s.Client(), http.MethodGet, s.URL); res.StatusCode != http.StatusTooManyRequests {
			t.Errorf("got %s and %s from a full gate", res.Status, body)
		}
		close(leave)
		if got := <-status; got != http.StatusOK {
			t.Errorf("got %d for an admitted request", got)
		}
	})
}
