//go:build backends

package backends

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	ordersv1 "github.com/rpcgate/rpcgate/gen/demo/orders/v1"
)

// clients is how many ask at once, half of them over gRPC and half as JSON over HTTP.
const clients = 40

// tally is what clients saw.
type tally struct{ answered, refused, failed atomic.Int64 }

func (t *tally) String() string {
	return fmt.Sprintf("%d answered, %d refused, %d failed", t.answered.Load(), t.refused.Load(), t.failed.Load())
}

// pause is how long a client waits that was refused. Without it the refused would take the CPU from the others.
const pause = 50 * time.Millisecond

// load calls the demo, again and again, until enough calls were answered and refused. All calls have
// ended when it returns.
func load(t *testing.T, addr string, enough int64) *tally {
	t.Helper()
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	viaGRPC := ordersv1.NewOrderServiceClient(conn)
	var seen tally
	var all sync.WaitGroup
	late := time.Now().Add(patience)
	for i := range clients {
		all.Go(func() {
			for (seen.answered.Load() < enough || seen.refused.Load() < enough) && time.Now().Before(late) {
				refused := seen.refused.Load()
				if i%2 == 0 {
					seen.grpc(t.Context(), viaGRPC)
				} else {
					seen.http(addr)
				}
				if seen.refused.Load() > refused {
					<-time.After(pause)
				}
			}
		})
	}
	all.Wait()
	t.Log(&seen)
	if seen.answered.Load() < enough || seen.refused.Load() < enough {
		t.Fatalf("want %d of both answered and refused within %v", enough, patience)
	}
	return &seen
}

func (t *tally) grpc(ctx context.Context, client ordersv1.OrderServiceClient) {
	_, err := client.ListOpenOrders(ctx, &ordersv1.ListOpenOrdersRequest{Region: "north coast", Limit: 500})
	switch status.Code(err) {
	case codes.OK:
		t.answered.Add(1)
	case codes.ResourceExhausted:
		t.refused.Add(1)
	default:
		t.failed.Add(1)
	}
}

func (t *tally) http(addr string) {
	res, err := http.Post("http://"+addr+ordersv1.OrderService_ListOpenOrders_FullMethodName, "application/json",
		strings.NewReader(`{"region": "north coast", "limit": 500}`))
	if err != nil {
		t.failed.Add(1)
		return
	}
	defer res.Body.Close()
	switch res.StatusCode {
	case http.StatusOK:
		t.answered.Add(1)
	case http.StatusTooManyRequests:
		t.refused.Add(1)
	default:
		t.failed.Add(1)
	}
}
