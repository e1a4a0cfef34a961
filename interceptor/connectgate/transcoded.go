package connectgate

import (
	"net/http"
	"strconv"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/rpcgate/rpcgate/interceptor/internal/refusal"
)

const (
	detailsKey        = "Grpc-Status-Details-Bin"
	statusUnavailable = "14"
)

// Transcoded is [TrailersOnly] for a handler whose gRPC client is a transcoder, such
// as connectrpc.com/vanguard, which serves clients of REST and Connect. They want the
// delay of a refusal in a Retry-After header. grpc-go must not set that header, since
// gRPC clients would not retry. So Transcoded adds it, with the delay of the pushback,
// or of RetryInfo if the pushback forbids a retry. It goes between the transcoder and
// the handler:
//
//	vanguard.NewService(path, connectgate.Transcoded(grpcServer),
//		vanguard.WithTargetProtocols(vanguard.ProtocolGRPC), vanguard.WithTargetCodecs(vanguard.CodecProto))
//
// A refused stream ends within 10 ms, even if its client keeps its side open and the
// transcoder waits for that.
//
// A Connect handler needs it only if the transcoder calls it by gRPC. In its own
// protocol Connect sends Retry-After itself. The handler is safe for concurrent use.
// Transcoded panics if h is nil.
func Transcoded(h http.Handler) http.Handler {
	checkHandler("Transcoded", h)
	return holding(h, true)
}

// addHTTP adds what HTTP must know of the trailers of a refusal to its headers: when to
// retry and, with closes, that the client should go elsewhere if the gate drains.
func addHTTP(headers, trailers http.Header, closes bool) {
	delay := time.Duration(-1)
	if ms, err := strconv.ParseInt(first(trailers, refusal.PushbackHeader), 10, 32); err == nil && ms >= 0 {
		delay = time.Duration(ms) * time.Millisecond
	}
	draining := false
	if first(trailers, grpcStatusKey) == statusUnavailable || delay < 0 {
		told := readDetails(first(trailers, detailsKey))
		if draining = told.draining; delay < 0 {
			delay = told.delay // the caller's deadline is nearer, which HTTP cannot express
		}
	}
	if draining && closes {
		refusal.CloseConnection(headers)
	}
	refusal.KeepFromCaches(headers)
	if delay >= 0 && len(headers[refusal.RetryAfterHeader]) == 0 {
		headers.Set(refusal.RetryAfterHeader, refusal.RetryAfter(delay, draining))
	}
}

// told is what the details of a status say.
type told struct {
	delay    time.Duration // negative: nothing
	draining bool
}

// readDetails reads a packed google.rpc.Status, in which a handler may have put
// anything.
func readDetails(packed string) told {
	t := told{delay: -1}
	var status spb.Status
	if bytes, err := connect.DecodeBinaryHeader(packed); err != nil || proto.Unmarshal(bytes, &status) != nil {
		return t
	}
	for _, packed := range status.GetDetails() {
		detail, err := packed.UnmarshalNew()
		if err != nil {
			continue
		}
		switch detail := detail.(type) {
		case *errdetails.RetryInfo:
			t.delay = detail.GetRetryDelay().AsDuration()
		case *errdetails.ErrorInfo:
			t.draining = t.draining || refusal.SaysDraining(detail.GetDomain(), detail.GetReason())
		}
	}
	return t
}
