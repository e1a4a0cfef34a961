package grpcgate

import (
	"cmp"
	"context"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor/internal/refusal"
)

// statusWriter is the transport's stream of grpc-go, which can end a call at any time.
// That also ends the context that the reading of a message waits for.
type statusWriter interface {
	WriteStatus(st *status.Status) error
}

// inTime returns dec for a message that must arrive within the time that a message of its
// size may take. The size is not known before the message is complete, so it is taken to
// be what the gate is told.
//
// A call cannot return while its message is being received: the goroutine that does it
// would be left behind. So the stream is ended under it, which makes dec return.
func (s *server) inTime(ctx context.Context, lease gate.Lease, dec func(any) error) func(any) error {
	stream, ok := grpc.ServerTransportStreamFromContext(ctx).(statusWriter)
	if !ok || !s.host.MinRate.Bounds() || lease == (gate.Lease{}) {
		return dec
	}
	most := s.host.MinRate.TimeFor(cmp.Or(s.host.SizeIfUnknown, gate.DefaultUnknownSize))
	return func(m any) error {
		ended := make(chan struct{})
		late := time.AfterFunc(most, func() {
			defer close(ended)
			lease.CutOff(gate.ReasonSlowRequest)
			// The only error is that the call has ended.
			_ = stream.WriteStatus(slowRequest())
		})
		defer late.Stop() // dec may panic
		err := dec(m)
		if late.Stop() {
			return err
		}
		<-ended
		s.host.AnnotateCutOff(ctx, gate.ReasonSlowRequest)
		return slowRequest().Err()
	}
}

// slowRequest is what the client of a call that is cut off gets.
func slowRequest() *status.Status {
	f := refusal.SlowRequest()
	return status.New(codes.Code(f.Code), f.Message)
}
