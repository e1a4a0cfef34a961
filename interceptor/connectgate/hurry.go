package connectgate

import (
	"net/http"
	"reflect"
	"time"
)

// hurry makes reading the request of w fail in drainTime, and reports whether it
// will: if not, that might take for ever. set is the SetReadDeadline of w. It may be
// called until stop has returned.
func hurry(w http.ResponseWriter, set func(time.Time) error) (stop func(), ok bool) {
	if !hasDeadlines(w) {
		return func() {}, set(time.Now().Add(drainTime)) == nil
	}
	// Mostly the body is there and is read at once. To set a deadline takes a
	// message to the goroutine that serves the connection, so it waits until the
	// deadline has passed.
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

// hasDeadlines reports whether w is known to have deadlines for reading without
// being asked to set one: http.ResponseController finds a writer of net/http's own.
func hasDeadlines(w http.ResponseWriter) bool {
	for w != nil {
		if _, ok := w.(interface{ SetReadDeadline(time.Time) error }); ok {
			t := reflect.TypeOf(w)
			return t.Kind() == reflect.Pointer && isNetHTTP(t.Elem().PkgPath())
		}
		inner, ok := w.(interface{ Unwrap() http.ResponseWriter })
		if !ok {
			return false
		}
		w = inner.Unwrap()
	}
	return false
}

func isNetHTTP(pkg string) bool { return pkg == "net/http" || pkg == "golang.org/x/net/http2" }
