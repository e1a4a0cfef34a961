package details

import (
	"sync"

	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/rpcgate/rpcgate/interceptor/internal/refusal"
)

// Loan is the [Status] of a refusal for a caller that copies it at once, as grpc-go's
// status.FromProto does. Its memory is reused.
type Loan struct {
	status         spb.Status
	retry, request anypb.Any
	details        [3]*anypb.Any
	duration       [maxDuration]byte
	retryInfo      [2 + maxDuration]byte
	requestInfo    []byte
}

var loans = sync.Pool{New: func() any { return new(Loan) }}

// Borrow makes the status, which is valid until Return.
func Borrow(r refusal.Refusal) *Loan {
	l := loans.Get().(*Loan)
	l.requestInfo = appendString(l.requestInfo[:0], 1, r.RequestID())
	l.retry.TypeUrl, l.request.TypeUrl = typeRetryInfo, typeRequestInfo
	l.retry.Value = appendRetryInfo(l.retryInfo[:0], l.duration[:0], r.Delay)
	l.request.Value = l.requestInfo
	l.details = [3]*anypb.Any{&l.retry, packErrorInfo(r), &l.request}
	l.status.Code, l.status.Message, l.status.Details = int32(r.Code), r.Message(), l.details[:]
	return l
}

// Status is the borrowed status.
func (l *Loan) Status() *spb.Status { return &l.status }

// Return ends the loan.
func (l *Loan) Return() { loans.Put(l) }
