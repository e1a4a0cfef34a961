package gatedebug

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rpcgate/rpcgate/gate"
)

func mustGate(t testing.TB, name string, limit int64, opts ...gate.Option) *gate.Gate {
	t.Helper()
	g, err := gate.New(name, limit, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// hold takes a lease until the end of the test, unless it is released before.
func hold(t testing.TB, g *gate.Gate, call gate.Call) gate.Lease {
	t.Helper()
	lease, err := g.Acquire(context.Background(), call)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(lease.Release)
	return lease
}

// refuse makes a full gate refuse a call.
func refuse(t testing.TB, g *gate.Gate, call gate.Call) {
	t.Helper()
	if _, err := g.TryAcquire(call); err == nil {
		t.Fatalf("gate %q took a call, it should be full", g.Name())
	}
}

// request sends a request to a handler; header gives names and values by turns. The
// host is localhost unless header names another one.
func request(h http.Handler, method, target, body string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	r.Host = "localhost"
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Host" {
			r.Host = header[i+1]
			continue
		}
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func decode[T any](t testing.TB, b []byte) T {
	t.Helper()
	var v T
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatalf("%v in %s", err, b)
	}
	return v
}

func mustPanic(t *testing.T, want string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if got, _ := recover().(string); got != want {
			t.Errorf("panic %q, want %q", got, want)
		}
	}()
	f()
}

// event is one server-sent event.
type event struct {
	name string
	data json.RawMessage
}

func parseEvent(t testing.TB, message []byte) event {
	t.Helper()
	text, ok := strings.CutSuffix(string(message), "\n\n")
	name, data, ok2 := strings.Cut(text, "\n")
	name, ok3 := strings.CutPrefix(name, "event: ")
	data, ok4 := strings.CutPrefix(data, "data: ")
	if !ok || !ok2 || !ok3 || !ok4 || strings.Contains(data, "\n") {
		t.Fatalf("not one event: %q", message)
	}
	return event{name, json.RawMessage(data)}
}

// next takes the next message to a viewer.
func (v *viewer) next(t testing.TB, name string) event {
	t.Helper()
	e := parseEvent(t, <-v.messages)
	if e.name != name {
		t.Fatalf("want event %q, got %q", name, e.name)
	}
	return e
}

// ticked is the data of a tick.
type ticked struct {
	T    int64   `json:"t"`
	Rows [][]any `json:"rows"`
}

// at returns a value of a row by the name of its column.
func at(row []any, column string) any {
	for i, name := range rowColumns() {
		if name == column {
			return row[i]
		}
	}
	return nil
}
