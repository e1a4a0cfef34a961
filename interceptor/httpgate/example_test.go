package httpgate_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor"
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

// A gate can bound the bytes of the requests in flight instead of their number. A
// chunked upload does not say its size: it is charged with as much as the handler reads
// at most.
func Example_bytes() {
	const most = 1 << 20
	bytes := gate.Must(gate.New("request-bytes", 64*most,
		gate.WithCost(func(c gate.Call) int64 { return c.Size })))
	gated := httpgate.NewMiddleware(bytes, interceptor.WithUnknownSize(most))

	upload := gated(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, http.MaxBytesReader(w, r.Body, most))
		fmt.Println(n, "bytes,", bytes.InFlight(), "charged")
	}))
	post := func(contentLength int64) {
		r := httptest.NewRequest(http.MethodPost, "/upload", strings.NewReader("hello"))
		r.ContentLength = contentLength
		upload.ServeHTTP(httptest.NewRecorder(), r)
	}
	post(5)
	post(-1) // in chunks
	// Output:
	// 5 bytes, 5 charged
	// 5 bytes, 1048576 charged
}

// A server that is stopped goes on until balancers have seen that it is not ready. Then
// it closes its connections and finishes the calls that are there.
func ExampleStopper() {
	db := gate.Must(gate.New("orders-db", 16))
	mux := http.NewServeMux()
	srv := &http.Server{Handler: mux}
	stopper := httpgate.NewStopper(srv, interceptor.WithGrace(10*time.Millisecond))
	mux.Handle("/readyz", stopper.Ready())

	ready := func() {
		w := httptest.NewRecorder()
		srv.Handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/readyz", nil))
		fmt.Print(w.Code, " ", w.Body)
	}
	ready()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	fmt.Println("stopped:", stopper.Shutdown(ctx, db))
	ready()
	// Output:
	// 200 {"status":"ready"}
	// stopped: <nil>
	// 503 {"status":"shutting_down"}
}
