package connectgate

import (
	"net/http"
	"reflect"
	"time"
)

// hurry makes reads of w's request fail after drainTime, and reports whether that
// works: if not, a read might block for ever. set is the SetReadDeadline of w. hurry
// may call it until stop has returned.
func hurry(w http.ResponseWriter, set func(time.Time) error) (stop func(), ok bool) {
	if !hasDeadlines(w) {
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

// hasDeadlines reports whether w certainly has read deadlines: that is so if
// http.ResponseController would find a writer of net/http itself. Other writers must
// be asked to set one.
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
