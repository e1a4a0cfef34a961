package grpcgate_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/rpcgate/rpcgate/gate"
	testv1 "github.com/rpcgate/rpcgate/gen/rpcgate/test/v1"
	"github.com/rpcgate/rpcgate/interceptor"
	"github.com/rpcgate/rpcgate/interceptor/grpcgate"
)

// One gate in front of all calls of a server.
func ExampleServerOptions() {
	db := gate.Must(gate.New("orders-db", 16))
	server := grpc.NewServer(grpcgate.ServerOptions(db)...)
	defer server.Stop()

	fmt.Println("calls at a time:", db.Limit())
	// Output: calls at a time: 16
}

// Reports pass a narrow gate of their own, and wait behind all other calls at the
// database's gate. They release their leases once they have begun to answer. No
// address holds more than four units.
func ExampleServerOptions_policy() {
	db := gate.Must(gate.New("orders-db", 16, gate.WithKeyLimit(4)))
	reports := gate.Must(gate.New("reports", 2, gate.WithMaxWait(500*time.Millisecond)))
	policy, err := gate.NewPolicy(
		gate.Route("/orders.v1.*", db),
		gate.Route("/reports.v1.ReportService/*", reports, db).Priority(gate.Low).Stream(gate.HoldOpening),
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	server := grpc.NewServer(grpcgate.ServerOptions(policy, interceptor.WithKeyFromRemoteIP())...)
	defer server.Stop()

	fmt.Println("health checks are exempt:", policy.Exempts("/grpc.health.v1.Health/Check"))
	// Output: health checks are exempt: true
}

// A server that is stopped goes on until balancers have seen that it is not ready. Then
// it sends clients elsewhere and finishes the calls that are there.
func ExampleStopper() {
	db := gate.Must(gate.New("orders-db", 16))
	server := grpc.NewServer(grpcgate.ServerOptions(db)...)
	probes := health.NewServer()
	grpc_health_v1.RegisterHealthServer(server, probes)
	stopper := grpcgate.NewStopper(server,
		interceptor.WithNotReady(probes.Shutdown), interceptor.WithGrace(10*time.Millisecond))

	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	fmt.Println("stopped:", stopper.Shutdown(ctx, db))
	_, err := db.TryAcquire(gate.Call{})
	fmt.Printf("%+v\n", err)
	// Output:
	// stopped: <nil>
	// server busy: gate "orders-db": rejected_busy (draining) after 0s with 0 of 16 in flight
}

// The tap refuses calls before they have a stream. The rest are gated before they are
// decoded.
func ExampleBeforeDecode() {
	db := gate.Must(gate.New("orders-db", 16))
	server := grpc.NewServer(
		grpc.InTapHandle(grpcgate.TapHandle(db)),
		grpc.ChainStreamInterceptor(grpcgate.StreamServerInterceptor(db)),
	)
	defer server.Stop()
	testv1.RegisterEchoServiceServer(grpcgate.BeforeDecode(server, db), testv1.UnimplementedEchoServiceServer{})

	fmt.Println("methods:", len(server.GetServiceInfo()["rpcgate.test.v1.EchoService"].Methods))
	// Output: methods: 4
}

// A gate in front of a downstream: a call that it refuses is not sent.
func ExampleUnaryClientInterceptor() {
	pricing := gate.Must(gate.New("pricing", 1, gate.WithMaxWait(0)))
	conn, err := grpc.NewClient("passthrough:///pricing.internal:443",
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithChainUnaryInterceptor(grpcgate.UnaryClientInterceptor(pricing)))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer conn.Close()

	lease, err := pricing.TryAcquire(gate.Call{}) // another call is under way
	if err != nil {
		fmt.Println(err)
		return
	}
	defer lease.Release()

	err = conn.Invoke(context.Background(), "/pricing.v1.PricingService/Quote", &emptypb.Empty{}, &emptypb.Empty{})
	var r *gate.Rejection
	if grpcgate.IsLocal(err) && errors.As(err, &r) {
		fmt.Println(status.Code(err), "by", r.Gate, "for", r.Reason)
	}
	// Output: ResourceExhausted by pricing for limit
}
