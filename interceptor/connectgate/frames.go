package connectgate

import (
	"encoding/base64"
	"encoding/binary"
	"net/http"
	"strconv"

	"connectrpc.com/connect"

	"github.com/rpcgate/rpcgate/interceptor/internal/refusal"
	"github.com/rpcgate/rpcgate/interceptor/internal/refusal/details"
)

// sizeOfJSON is enough for a refusal with a request id of usual length.
const sizeOfJSON = 768

// writeRefusal answers a request with a refusal, in the framing of its protocol. Its
// error is that of the write: the client has gone.
func writeRefusal(w http.ResponseWriter, r *http.Request, as wire, refused refusal.Refusal) error {
	if refused.Draining() && r.ProtoMajor < 2 {
		refusal.CloseConnection(w.Header())
	}
	switch as {
	case wireGRPC, wireGRPCWeb:
		var status [320]byte
		var encoded [432]byte
		bin := base64.RawStdEncoding.AppendEncode(encoded[:0], details.Append(status[:0], refused))
		h, values := w.Header(), []string{refused.Pushback(), string(bin)}
		h[refusal.PushbackHeader] = values[0:1:1]
		h["Grpc-Status-Details-Bin"] = values[1:2:2]
		return writeStatus(w, r, as, refused.Code, refused.Message())
	case wireConnectStream:
		end := append(newEndOfStream(), `{"error":`...)
		end = appendJSON(end, refused)
		end = append(end, `,"metadata":{"`+refusal.RetryAfterHeader+`":["`...)
		end = append(end, refused.RetryAfter()...)
		return writeEndOfStream(w, r, append(end, `"]}}`...))
	default:
		w.Header()[refusal.RetryAfterHeader] = []string{refused.RetryAfter()}
		return writeUnary(w, refused.HTTPStatus, appendJSON(make([]byte, 0, sizeOfJSON), refused))
	}
}

// writeFailure answers a request that was not admitted for another reason.
func writeFailure(w http.ResponseWriter, r *http.Request, as wire, err error) error {
	f := refusal.FailureOf(err)
	body := func(b []byte) []byte {
		b = append(b, `{"code":"`+connect.Code(f.Code).String()+`","message":`...)
		return append(appendString(b, f.Message), '}')
	}
	switch as {
	case wireGRPC, wireGRPCWeb:
		return writeStatus(w, r, as, f.Code, f.Message)
	case wireConnectStream:
		return writeEndOfStream(w, r, append(body(append(newEndOfStream(), `{"error":`...)), '}'))
	default:
		return writeUnary(w, f.HTTPStatus, body(nil))
	}
}

// writeUnary writes the error of a unary call of the Connect protocol.
func writeUnary(w http.ResponseWriter, status int, body []byte) error {
	w.Header()["Content-Type"] = []string{"application/json"}
	refusal.KeepFromCaches(w.Header())
	w.WriteHeader(status)
	_, err := w.Write(body)
	return err
}

// newEndOfStream begins the last message of a stream of the Connect protocol: a
// flag and a length, which is filled in at the end.
func newEndOfStream() []byte {
	const endOfStream = 0b10
	return append(make([]byte, 0, sizeOfJSON), endOfStream, 0, 0, 0, 0)
}

func writeEndOfStream(w http.ResponseWriter, r *http.Request, end []byte) error {
	binary.BigEndian.PutUint32(end[1:], uint32(len(end)-5))
	w.Header()["Content-Type"] = []string{mediaType(first(r.Header, "Content-Type"))}
	w.WriteHeader(http.StatusOK)
	_, err := w.Write(end)
	return err
}

// writeStatus writes a status of gRPC or gRPC-Web as headers without a body
// ("Trailers-Only"), the only form that gRPC clients retry.
func writeStatus(w http.ResponseWriter, r *http.Request, as wire, code uint32, message string) error {
	h, values := w.Header(), []string{
		mediaType(first(r.Header, "Content-Type")),
		strconv.FormatUint(uint64(code), 10),
		message, // printable ASCII without '%', so it needs no encoding
	}
	h["Content-Type"] = values[0:1:1]
	h["Grpc-Status"] = values[1:2:2]
	h["Grpc-Message"] = values[2:3:3]
	if as == wireGRPC && r.ProtoMajor == 2 {
		h["Content-Length"] = nil // otherwise net/http adds it
	}
	w.WriteHeader(http.StatusOK)
	return nil
}
