package server

import (
	"time"

	"connectrpc.com/connect"
	"google.golang.org/grpc"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/gen/demo/orders/v1/ordersv1connect"
	"github.com/rpcgate/rpcgate/gen/demo/reports/v1/reportsv1connect"
	"github.com/rpcgate/rpcgate/interceptor/connectgate"
	"github.com/rpcgate/rpcgate/interceptor/grpcgate"
)

// MaxWait is how long a call may wait at the gates before it is rejected.
const MaxWait = 100 * time.Millisecond

// Gates are the gates in front of the database. A nil *Gates lets all calls pass.
type Gates struct {
	DB      *gate.Gate // every call that needs a connection
	Reports *gate.Gate // the expensive ones among them
	policy  *gate.Policy
}

// GateConfig has the limits and times of the gates.
type GateConfig struct {
	DB      int64 // calls in flight; with more than the pool has, admitted calls would wait again for a connection
	Reports int64
	// A refused client is told to retry after a time drawn from RetryMin to RetryMax. It should be a multiple of the
	// time that a call takes, so that there is room by then. For clients with a deadline, such as those of the rush, it
	// should be a fraction of that, so that there is time for another attempt. For clients of HTTP the range should
	// have several seconds.
	RetryMin, RetryMax time.Duration
	MaxHold            time.Duration // a call that takes longer is reported; 0: no call is reported
}

// NewGates returns the gates of one server.
func NewGates(c GateConfig) (*Gates, error) {
	opts := []gate.Option{gate.WithMaxWait(MaxWait), gate.WithRetryDelay(c.RetryMin, c.RetryMax)}
	if c.MaxHold != 0 {
		opts = append(opts, gate.WithMaxHold(c.MaxHold))
	}
	db, err := gate.New("db", c.DB, opts...)
	if err != nil {
		return nil, err
	}
	reports, err := gate.New("reports", c.Reports, opts...)
	if err != nil {
		return nil, err
	}
	policy, err := gate.NewPolicy(
		gate.Route("/"+ordersv1connect.OrderServiceName+"/*", db),
		gate.Route("/"+reportsv1connect.ReportServiceName+"/*", reports, db),
	)
	if err != nil {
		return nil, err
	}
	return &Gates{DB: db, Reports: reports, policy: policy}, nil
}

// all returns the gates.
func (g *Gates) all() []*gate.Gate {
	if g == nil {
		return nil
	}
	return []*gate.Gate{g.DB, g.Reports}
}

// Observe adds o to the observers of all gates.
func (g *Gates) Observe(o gate.Observer) {
	for _, each := range g.all() {
		each.Observe(o)
	}
}

func (g *Gates) grpcOptions() []grpc.ServerOption {
	if g == nil {
		return nil
	}
	return grpcgate.ServerOptions(g.policy)
}

func (g *Gates) connectOptions() []connect.HandlerOption {
	if g == nil {
		return nil
	}
	return []connect.HandlerOption{connect.WithInterceptors(connectgate.NewInterceptor(g.policy))}
}

// CheckProxy returns an error if a proxy with the given timeout gives up before the server does.
func (g *Gates) CheckProxy(timeout time.Duration) error {
	if g == nil {
		return nil
	}
	return gate.CheckTimeouts(g.policy, HandlerTimeout, timeout)
}
