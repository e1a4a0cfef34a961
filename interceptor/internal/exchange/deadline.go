package exchange

import (
	"net/http"
	"reflect"
	"time"
)

// hurried are reads of the body that fail after some time.
type hurried struct {
	x     *Exchange
	began time.Time
	late  *time.Timer // nil if the deadline was set at once
	fired chan struct{}
}

// hurry makes reads of the body fail after the given time, until stop is called. It
// returns nil if that does not work: a read might block for ever. It may be called on
// any goroutine.
func (x *Exchange) hurry(allowed time.Duration) *hurried {
	if allowed <= 0 {
		return nil
	}
	h := &hurried{x: x, began: time.Now()}
	if !HasDeadlines(x.w) {
		if x.SetReadDeadline(h.began.Add(allowed)) != nil {
			return nil
		}
		return h
	}
	// Usually the body has arrived and is read at once. Setting a deadline sends a
	// message to the goroutine that serves an HTTP/2 connection. So the deadline is
	// set only when it has passed.
	h.fired = make(chan struct{})
	h.late = time.AfterFunc(allowed, func() {
		defer close(h.fired)
		_ = x.SetReadDeadline(time.Now().Add(-time.Second))
	})
	return h
}

// extend makes the reads fail at a later time, counted from the beginning, and reports
// whether they have not failed yet.
func (h *hurried) extend(allowed time.Duration) bool {
	left := allowed - time.Since(h.began)
	if left <= 0 {
		return false
	}
	if h.late == nil {
		return h.x.SetReadDeadline(h.began.Add(allowed)) == nil
	}
	if !h.late.Stop() {
		return false
	}
	h.late.Reset(left)
	return true
}

// stop ends the haste. What is read afterwards may fail all the same.
func (h *hurried) stop() {
	if h.late != nil && !h.late.Stop() {
		<-h.fired
	}
}

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
