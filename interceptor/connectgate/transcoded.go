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

const detailsKey = "Grpc-Status-Details-Bin"

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

// retryAfter returns the Retry-After for the trailers of a refusal, or "".
func retryAfter(trailers http.Header) string {
	ms, err := strconv.ParseInt(first(trailers, refusal.PushbackHeader), 10, 32)
	if err == nil && ms >= 0 {
		return refusal.Seconds(time.Duration(ms) * time.Millisecond)
	}
	// The caller's deadline is nearer than the delay, which HTTP cannot express.
	if delay, ok := retryDelay(first(trailers, detailsKey)); ok {
		return refusal.Seconds(delay)
	}
	return ""
}

// retryDelay finds the delay in a packed google.rpc.Status.
func retryDelay(packed string) (time.Duration, bool) {
	bytes, err := connect.DecodeBinaryHeader(packed)
	if err != nil {
		return 0, false
	}
	var status spb.Status
	if err := proto.Unmarshal(bytes, &status); err != nil {
		return 0, false
	}
	for _, detail := range status.GetDetails() {
		var info errdetails.RetryInfo
		if detail.MessageIs(&info) && detail.UnmarshalTo(&info) == nil {
			delay := info.GetRetryDelay().AsDuration()
			return delay, delay >= 0 // a handler may have packed anything
		}
	}
	return 0, false
}
