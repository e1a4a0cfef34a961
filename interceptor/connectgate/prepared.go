package connectgate

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"strconv"
	"time"

	"connectrpc.com/connect"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor/internal/refusal"
	"github.com/rpcgate/rpcgate/interceptor/internal/refusal/details"
)

// The JSON of a refusal is assembled from prepared pieces: apart from the delay and the
// request id it is the same for all refusals with the same reason. It is what Connect
// would marshal, at a fraction of the cost. The tests compare the two.

// appendJSON appends the error of the Connect protocol.
func appendJSON(b []byte, r refusal.Refusal) []byte {
	b = append(b, `{"code":"`...)
	b = append(b, connect.Code(r.Code).String()...)
	b = append(b, `","message":"`...)
	b = append(b, r.Message()...)
	b = append(b, `","details":[`...)
	b = appendDetail(b, details.RetryInfo, r)
	b = append(b, ',')
	if reason := int(r.Rejection().Reason); !r.HasState() && reason < len(errorInfoJSON) {
		b = append(b, errorInfoJSON[reason]...)
	} else {
		b = appendDetail(b, details.ErrorInfo, r)
	}
	b = append(b, ',')
	b = appendDetail(b, details.RequestInfo, r)
	return append(b, `]}`...)
}

// appendDetail appends one detail, as bytes and in readable form.
func appendDetail(b []byte, k details.Kind, r refusal.Refusal) []byte {
	b = append(b, `{"type":"`...)
	b = append(b, k.Type()...)
	b = append(b, `","value":"`...)
	var scratch [160]byte
	b = base64.RawStdEncoding.AppendEncode(b, k.Value(scratch[:], r))
	b = append(b, `","debug":`...)
	b = appendDebug(b, k, r)
	return append(b, '}')
}

// appendDebug appends the readable form of a detail: its JSON.
func appendDebug(b []byte, k details.Kind, r refusal.Refusal) []byte {
	switch k {
	case details.RetryInfo:
		return appendRetryInfo(b, r)
	case details.ErrorInfo:
		if reason := int(r.Rejection().Reason); !r.HasState() && reason < len(errorInfoDebugs) {
			return append(b, errorInfoDebugs[reason]...)
		}
		return append(b, errorInfoDebug(r)...)
	default:
		return appendRequestInfo(b, r)
	}
}

// errorInfoJSON has the detail ErrorInfo by reason, errorInfoDebugs its readable form.
var (
	errorInfoDebugs = prepareErrorInfo(errorInfoDebug)
	errorInfoJSON   = prepareErrorInfo(func(r refusal.Refusal) []byte { return appendDetail(nil, details.ErrorInfo, r) })
)

func prepareErrorInfo(encode func(refusal.Refusal) []byte) (prepared [gate.ReasonDraining + 1][]byte) {
	for reason := range prepared {
		prepared[reason] = encode(refusal.New(context.Background(), &gate.Rejection{Reason: gate.Reason(reason)}, false))
	}
	return prepared
}

func errorInfoDebug(r refusal.Refusal) []byte {
	debug, err := json.Marshal(struct {
		Reason   string            `json:"reason"`
		Domain   string            `json:"domain"`
		Metadata map[string]string `json:"metadata,omitempty"`
	}{r.Reason(), refusal.Domain, r.State()})
	if err != nil {
		return []byte(`{}`)
	}
	return debug
}

// appendRetryInfo appends RetryInfo as JSON. The delay has whole milliseconds.
func appendRetryInfo(b []byte, r refusal.Refusal) []byte {
	b = append(b, `{"retryDelay":"`...)
	b = strconv.AppendInt(b, int64(r.Delay/time.Second), 10)
	if ms := r.Delay % time.Second / time.Millisecond; ms != 0 {
		b = append(b, '.', byte('0'+ms/100), byte('0'+ms/10%10), byte('0'+ms%10))
	}
	return append(b, `s"}`...)
}

func appendRequestInfo(b []byte, r refusal.Refusal) []byte {
	if r.RequestID() == "" {
		return append(b, `{}`...)
	}
	b = append(b, `{"requestId":`...)
	b = appendString(b, r.RequestID())
	return append(b, '}')
}

// appendString appends a JSON string.
func appendString(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			quoted, err := json.Marshal(s)
			if err != nil {
				return append(b, `""`...)
			}
			return append(b, quoted...)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}
