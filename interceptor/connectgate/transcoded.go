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

// Transcoded is [TrailersOnly] for a handler that does not speak to gRPC clients
// itself: a transcoder, such as connectrpc.com/vanguard, calls it for clients of
// REST and Connect. These want the delay of a refusal in a Retry-After header,
// which grpc-go must not set, since gRPC clients would not retry any more. So it is
// added here, from the pushback, or from RetryInfo if that forbids a retry. It goes
// around the handler, inside of the transcoder:
//
//	vanguard.NewService(path, connectgate.Transcoded(grpcServer),
//		vanguard.WithTargetProtocols(vanguard.ProtocolGRPC), vanguard.WithTargetCodecs(vanguard.CodecProto))
//
// A stream that is refused ends within 10 ms, also while its client keeps its side
// open and the transcoder waits for that.
//
// Handlers of Connect need it only if they are called by gRPC: by their own
// protocol they say Retry-After themselves. The handler is safe for concurrent use. A
// nil h panics.
func Transcoded(h http.Handler) http.Handler {
	checkHandler("Transcoded", h)
	return holding(h, true)
}

// retryAfter is the Retry-After that goes with the trailers of a refusal, or "".
func retryAfter(trailers http.Header) string {
	ms, err := strconv.ParseInt(first(trailers, refusal.PushbackHeader), 10, 32)
	if err == nil && ms >= 0 {
		return refusal.Seconds(time.Duration(ms) * time.Millisecond)
	}
	// The caller's deadline is nearer than the delay. HTTP has no word for that.
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
