package connectgate

import (
	"net/http"
	"time"

	"github.com/rpcgate/rpcgate/interceptor/internal/pace"
)

// hurry makes reads of w's request fail after drainTime, and reports whether that
// works: if not, a read might block for ever. set is the SetReadDeadline of w. hurry
// may call it until stop has returned.
func hurry(w http.ResponseWriter, set func(time.Time) error) (stop func(), ok bool) {
	if !pace.HasDeadlines(w) {
		return func() {}, set(time.Now().Add(drainTime)) == nil
	}
	// Usually the body has arrived and is read at once. Setting a deadline sends a
	// message to the goroutine that serves the connection. So the deadline is set
	// only when it has passed.
	done := make(chan struct{})
	late := time.AfterFunc(drainTime, func() {
		defer close(done)
		_ = set(time.Now().Add(-time.Second))
	})
	return func() {
		if !late.Stop() {
			<-done
		}
	}, true
}
