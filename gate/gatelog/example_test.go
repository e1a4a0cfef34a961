package gatelog_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/gate/gatelog"
)

// withoutTimes leaves out what differs from run to run.
func withoutTimes(_ []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey || a.Key == "interval_s" || a.Key == "retry_delay_ms" {
		return slog.Attr{}
	}
	return a
}

func Example() {
	handler := slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: withoutTimes})
	log := gatelog.New(slog.New(handler),
		gatelog.WithInterval(time.Minute),
		gatelog.WithBurst(1, time.Second))
	db, err := gate.New("orders-db", 1, gate.WithMaxWait(0), gate.WithOnEvent(log.OnEvent))
	if err != nil {
		fmt.Println(err)
		return
	}

	ctx := context.Background()
	lease, _ := db.Acquire(ctx, gate.Call{Route: "/orders.v1.OrderService/ListOpen"})
	for i := range 3 {
		_, _ = db.Acquire(ctx, gate.Call{Route: "/orders.v1.OrderService/Create", RequestID: fmt.Sprint("req-", i)})
	}
	lease.Release()
	_ = log.Close() // at the end of the program; otherwise the summary comes by itself

	// Output:
	// level=WARN msg="gate decision" gate=orders-db route=/orders.v1.OrderService/Create request_id=req-0 decision=rejected_busy reason=limit waited_ms=0 in_flight=1 limit=1 waiting=0 detail=burst
	// level=WARN msg="gate summary" gate=orders-db route=/orders.v1.OrderService/Create accepted=0 rejected=3 rejected_limit=3 abandoned=0 waited_ms_mean=0 waited_ms_p95=0 waited_ms_max=0 peak_in_flight=1 limit=1
	// level=INFO msg="gate summary" gate=orders-db route=/orders.v1.OrderService/ListOpen accepted=1 rejected=0 abandoned=0 waited_ms_mean=0 waited_ms_p95=0 waited_ms_max=0 peak_in_flight=1 limit=1
}

func ExampleLogger_OnEvent() {
	log := gatelog.New(slog.Default())
	defer log.Close()
	db := gate.Must(gate.New("orders-db", 16, gate.WithOnEvent(log.OnEvent)))

	reports := gate.Must(gate.New("reports", 2)) // a gate that exists already
	_, added := reports.Observe(log)
	fmt.Println(db.Name(), added)
	// Output: orders-db true
}
