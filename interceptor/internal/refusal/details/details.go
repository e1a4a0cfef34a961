// Package details makes the google.rpc messages of a refusal: RetryInfo, ErrorInfo and
// RequestInfo, in this order.
package details

import (
	"maps"
	"slices"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor/internal/refusal"
)

// The details are encoded by hand, because reflection takes longer than the rest of a
// refusal. Two of the three small messages have a single value, and one is the same
// for all refusals with the same reason. The tests compare the bytes with those of
// proto.Marshal.
const (
	typeRetryInfo   = "type.googleapis.com/google.rpc.RetryInfo"
	typeErrorInfo   = "type.googleapis.com/google.rpc.ErrorInfo"
	typeRequestInfo = "type.googleapis.com/google.rpc.RequestInfo"
)

// Status is the refusal as a google.rpc.Status. It shares memory with other refusals
// and must not be changed.
func Status(r refusal.Refusal) *spb.Status {
	return &spb.Status{Code: int32(r.Code), Message: r.Message(), Details: Packed(r)}
}

// Messages are the details as messages, for callers that need their JSON.
func Messages(r refusal.Refusal) []proto.Message {
	return []proto.Message{
		&errdetails.RetryInfo{RetryDelay: durationpb.New(r.Delay)},
		&errdetails.ErrorInfo{Reason: r.Reason(), Domain: refusal.Domain, Metadata: r.State()},
		&errdetails.RequestInfo{RequestId: r.RequestID()},
	}
}

// Packed are the [Messages] in encoded form. They share memory with other refusals and
// must not be changed.
func Packed(r refusal.Refusal) []*anypb.Any {
	return []*anypb.Any{
		{TypeUrl: typeRetryInfo, Value: packRetryInfo(r.Delay)},
		packErrorInfo(r),
		{TypeUrl: typeRequestInfo, Value: appendString(nil, 1, r.RequestID())},
	}
}

// maxDuration is the size of the longest Duration: two tags, an int64 and a
// positive int32.
const maxDuration = 1 + 10 + 1 + 5

func packRetryInfo(d time.Duration) []byte {
	return appendRetryInfo(make([]byte, 0, 2+maxDuration), make([]byte, 0, maxDuration), d)
}

// appendRetryInfo appends RetryInfo{retry_delay = 1: Duration{seconds = 1, nanos = 2}}.
// It uses duration as scratch space.
func appendRetryInfo(b, duration []byte, d time.Duration) []byte {
	duration = appendVarint(duration, 1, uint64(d/time.Second))
	duration = appendVarint(duration, 2, uint64(d%time.Second))
	b = protowire.AppendTag(b, 1, protowire.BytesType)
	return protowire.AppendBytes(b, duration)
}

// packErrorInfo returns ErrorInfo{reason = 1, domain = 2, metadata = 3}.
func packErrorInfo(r refusal.Refusal) *anypb.Any {
	reason, state := r.Rejection().Reason, r.State()
	if len(state) == 0 && int(reason) < len(errorInfos) {
		return errorInfos[reason]
	}
	b := packReason(reason)
	for _, key := range slices.Sorted(maps.Keys(state)) {
		var entry []byte
		entry = appendString(entry, 1, key)
		entry = appendString(entry, 2, state[key])
		b = protowire.AppendTag(b, 3, protowire.BytesType)
		b = protowire.AppendBytes(b, entry)
	}
	return &anypb.Any{TypeUrl: typeErrorInfo, Value: b}
}

func packReason(r gate.Reason) []byte {
	return appendString(appendString(nil, 1, refusal.ReasonCode(r)), 2, refusal.Domain)
}

// errorInfos has the ErrorInfo of each reason.
var errorInfos = func() (infos [gate.ReasonDraining + 1]*anypb.Any) {
	for reason := range infos {
		infos[reason] = &anypb.Any{TypeUrl: typeErrorInfo, Value: packReason(gate.Reason(reason))}
	}
	return infos
}()

// appendVarint and appendString append a field, unless it has its zero value, which
// proto3 omits.
func appendVarint(b []byte, field protowire.Number, v uint64) []byte {
	if v == 0 {
		return b
	}
	b = protowire.AppendTag(b, field, protowire.VarintType)
	return protowire.AppendVarint(b, v)
}

func appendString(b []byte, field protowire.Number, s string) []byte {
	if s == "" {
		return b
	}
	b = protowire.AppendTag(b, field, protowire.BytesType)
	return protowire.AppendString(b, s)
}
