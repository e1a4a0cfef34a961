package connectgate_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/internal/eras"
	"github.com/rpcgate/rpcgate/internal/memhttp"
)

// TestHandlersServeBubblesAndTheRealClock has handlers that were made once, such as variables of a package.
func TestHandlersServeBubblesAndTheRealClock(t *testing.T) {
	var inside, leave chan struct{} // of the era
	g := gate.Must(gate.New("db", 1, gate.WithMaxWait(5*time.Millisecond)))
	for name, h := range servers(g, func(context.Context) error {
		inside <- struct{}{}
		<-leave
		return nil
	}) {
		t.Run(name, func(t *testing.T) {
			eras.Each(t, func(t *testing.T) {
				inside, leave = make(chan struct{}), make(chan struct{})
				s := memhttp.Start(t, h)
				status := make(chan int)
				go func() {
					res, _ := exchange(t, s, postUnary)
					status <- res.StatusCode
				}()
				<-inside
				if res, body := exchange(t, s, postUnary); res.StatusCode != http.StatusTooManyRequests {
					t.Errorf("got %s and %s from a full gate", res.Status, body)
				}
				close(leave)
				if got := <-status; got != http.StatusOK {
					t.Errorf("got %d for an admitted call", got)
				}
			})
		})
	}
}
