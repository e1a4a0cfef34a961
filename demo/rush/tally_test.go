package rush

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/rpcgate/rpcgate/gen/demo/orders/v1/ordersv1connect"
	"github.com/rpcgate/rpcgate/gen/demo/reports/v1/reportsv1connect"
)

func TestTallyCountsEveryCallOnce(t *testing.T) {
	t.Parallel()
	const deadline = time.Second
	calls := []struct {
		attempts int
		took     time.Duration
		err      error
	}{
		{1, 100 * time.Millisecond, nil},
		{3, 700 * time.Millisecond, nil},
		{1, 1100 * time.Millisecond, nil}, // answered, but late
		{1, deadline, status.Error(codes.DeadlineExceeded, "")},
		{1, deadline, connect.NewError(connect.CodeDeadlineExceeded, nil)},
		{1, deadline, fmt.Errorf("gone: %w", context.DeadlineExceeded)},
		{5, 900 * time.Millisecond, status.Error(codes.ResourceExhausted, "")},
		{2, 900 * time.Millisecond, connect.NewError(connect.CodeResourceExhausted, nil)},
		{1, 900 * time.Millisecond, status.Error(codes.Unavailable, "")},
		{1, 900 * time.Millisecond, status.Error(codes.Internal, "broken")},
	}
	var counted tally
	for _, c := range calls {
		counted.add(&attempts{count: c.attempts, last: c.took / 2}, c.took, deadline, c.err)
	}
	if counted.offered != 10 || len(counted.answers) != 2 || counted.late != 4 || counted.rejected != 3 || counted.failed != 1 {
		t.Errorf("offered %d, answered %d, late %d, rejected %d, failed %d; want 10, 2, 4, 3, 1",
			counted.offered, len(counted.answers), counted.late, counted.rejected, counted.failed)
	}
	if counted.retried != 2+4+1 {
		t.Errorf("retried %d, want 7", counted.retried)
	}
	if counted.answers[1] != 350*time.Millisecond || counted.calls[1] != 700*time.Millisecond {
		t.Errorf("the second call took %v, its last attempt %v; want 700ms and 350ms", counted.calls[1], counted.answers[1])
	}
	if status.Convert(counted.failure).Message() != "broken" {
		t.Errorf("failure %v, want the internal error", counted.failure)
	}
}

func TestCodeOf(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		err  error
		want codes.Code
	}{
		{status.Error(codes.ResourceExhausted, ""), codes.ResourceExhausted},
		{connect.NewError(connect.CodeResourceExhausted, nil), codes.ResourceExhausted},
		{context.DeadlineExceeded, codes.DeadlineExceeded},
		{errors.New("?"), codes.Unknown},
	} {
		if got := codeOf(tt.err); got != tt.want {
			t.Errorf("codeOf(%v) is %v, want %v", tt.err, got, tt.want)
		}
	}
}

func TestQuantile(t *testing.T) {
	t.Parallel()
	hundred := make([]time.Duration, 100)
	for i := range hundred {
		hundred[i] = time.Duration(100 - i)
	}
	for _, tt := range []struct {
		times []time.Duration
		q     float64
		want  time.Duration
	}{
		{nil, 0.5, 0},
		{[]time.Duration{7}, 0.99, 7},
		{[]time.Duration{3, 1, 2}, 0.5, 2},
		{[]time.Duration{3, 1}, 0.5, 1},
		{hundred, 0, 1},
		{hundred, 0.5, 50},
		{hundred, 0.99, 99},
		{hundred, 1, 100},
	} {
		if got := quantile(tt.times, tt.q); got != tt.want {
			t.Errorf("quantile(%v, %v) is %d, want %d", tt.times, tt.q, got, tt.want)
		}
	}
	if hundred[0] != 100 {
		t.Error("quantile changed its argument")
	}
}

func TestSectionCounts(t *testing.T) {
	t.Parallel()
	const orders, reports = ordersv1connect.OrderServiceName, reportsv1connect.ReportServiceName
	var s section
	a, b := s.enter(orders), s.enter(reports)
	a()
	c := s.enter(orders)
	b()
	c()
	if most, held := s.result(); most != 2 || len(held) != 2 {
		t.Errorf("most %d, held %v; want 2 and the times of two orders", most, held)
	}
	d := s.enter(orders)
	s.reset()
	d()
	if most, held := s.result(); most != 1 || len(held) != 1 {
		t.Errorf("after reset: most %d, held %v; want 1 and one time", most, held)
	}
}
