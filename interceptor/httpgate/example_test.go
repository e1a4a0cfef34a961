package httpgate_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor/httpgate"
)

func Example() {
	db := gate.Must(gate.New("orders-db", 16, gate.WithRetryDelay(2*time.Second, 2*time.Second)))
	gated := httpgate.NewMiddleware(db)

	mux := http.NewServeMux()
	mux.Handle("GET /orders/{id}", gated(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(w, "order", r.PathValue("id"))
	})))

	get := func() {
		r := httptest.NewRequest(http.MethodGet, "/orders/17", nil)
		r.Header.Set("X-Request-Id", "req-1")
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		fmt.Print(w.Code, " ", w.Body)
	}
	get()
	_ = db.Drain(context.Background()) // the server is about to stop
	get()
	// Output:
	// 200 order 17
	// 503 {"error":"server_busy","requestId":"req-1"}
}
