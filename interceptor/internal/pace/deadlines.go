package pace

import (
	"net/http"
	"reflect"
	"time"
)

// HasDeadlines reports whether w certainly has read deadlines: that is so if
// http.ResponseController would find a writer of net/http itself. Other writers must be
// asked to set one.
func HasDeadlines(w http.ResponseWriter) bool {
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
