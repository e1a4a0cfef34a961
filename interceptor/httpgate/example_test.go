package httpgate_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
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

// A gate can bound the bytes of the responses that are made at the same time: the cost is
// estimated before the work, from what is asked for. The trap is an estimate that is too
// low: the gate then admits more than it should, and nobody notices. So estimate what a
// row takes at most, bound the rows, and compare with what was sent.
func Example_responseBytes() {
	const rowBytes, maxRows = 200, 1000
	rowsOf := func(r *http.Request) int64 {
		rows, err := strconv.ParseInt(r.URL.Query().Get("rows"), 10, 64)
		if err != nil || rows < 1 || rows > maxRows {
			return maxRows // the handler does not send more, either
		}
		return rows
	}
	bytes := gate.Must(gate.New("response-bytes", 100_000, gate.WithMaxWait(0)))
	gated := httpgate.NewMiddleware(bytes, interceptor.WithCost(func(_ context.Context, _ string, request any) int64 {
		return rowsOf(request.(*http.Request)) * rowBytes
	}))
	row := strings.Repeat("x", 250) // longer than it was thought to be
	export := gated(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent := 0
		for range rowsOf(r) {
			n, _ := io.WriteString(w, row)
			sent += n
		}
		lease, _ := gate.LeaseFromContext(r.Context())
		if charged := lease.InFlight(); int64(sent) > charged {
			fmt.Printf("%d bytes sent, %d charged: the estimate is too low\n", sent, charged)
		}
	}))
	get := func(query string) {
		w := httptest.NewRecorder()
		export.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/export?"+query, nil))
		fmt.Println(query, w.Code)
	}
	get("rows=100")

	// Half of the budget is in use: a large export must wait for another time.
	lease, _ := bytes.TryAcquire(gate.Call{Cost: 50_000})
	get("rows=400")
	lease.Release()
	// Output:
	// 25000 bytes sent, 20000 charged: the estimate is too low
	// rows=100 200
	// rows=400 429
}
