package gatedebug_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/gate/gatedebug"
)

func Example() {
	db := gate.Must(gate.New("orders-db", 16))
	reports := gate.Must(gate.New("reports", 2))

	mux := http.NewServeMux() // of a listener that only operators reach
	mux.Handle("/debug/gate/", gatedebug.Handler([]*gate.Gate{db, reports}))
	mux.Handle("/healthz", gatedebug.Health(db, reports))

	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequest("GET", "/debug/gate/", nil))
	fmt.Println(w.Code, w.Header().Get("Content-Type"))
	// Output: 200 text/html; charset=utf-8
}

func ExampleHealth() {
	db := gate.Must(gate.New("orders-db", 1, gate.WithMaxWait(0)))
	health := gatedebug.Health(db)

	lease, _ := db.Acquire(context.Background(), gate.Call{})
	defer lease.Release()
	_, err := db.Acquire(context.Background(), gate.Call{})
	fmt.Println("refused:", err != nil)

	w := httptest.NewRecorder()
	health.ServeHTTP(w, httptest.NewRequest("GET", "/healthz", nil))
	fmt.Print(w.Code, " ", w.Body)
	// Output:
	// refused: true
	// 200 {"status":"degraded","gates":[{"name":"orders-db","status":"degraded","reason":"rejecting","in_flight":1,"limit":1,"waiting":0,"draining":false,"dry_run":false}]}
}

func ExampleHandler() {
	db := gate.Must(gate.New("orders-db", 16))
	page := gatedebug.Handler(db,
		gatedebug.WithControl(),
		gatedebug.WithMaxViewers(4),
		gatedebug.WithTraceID(func(ctx context.Context) string {
			return "" // trace.SpanContextFromContext(ctx).TraceID().String()
		}))
	http.Handle("/debug/gate/", page)
	// Output:
}
