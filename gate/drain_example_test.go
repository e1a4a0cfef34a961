package gate_test

import (
	"context"
	"fmt"

	"github.com/rpcgate/rpcgate/gate"
)

// The handler of a stream without an end sends events until the server stops.
func ExampleLease_Draining() {
	feed := gate.Must(gate.New("feed", 100))
	events := make(chan string)
	handler := func(ctx context.Context) error {
		lease, _ := gate.LeaseFromContext(ctx)
		for {
			select {
			case event := <-events:
				fmt.Println(event)
			case <-lease.Draining():
				fmt.Println("goodbye")
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	ended := make(chan error)
	go func() {
		ended <- feed.Do(context.Background(), gate.Call{Route: "/feed.v1.FeedService/Watch"}, handler)
	}()
	events <- "order 17 was shipped"
	fmt.Println("drained:", feed.Drain(context.Background()))
	fmt.Println("the stream ended with", <-ended)
	// Output:
	// order 17 was shipped
	// goodbye
	// drained: <nil>
	// the stream ended with <nil>
}
