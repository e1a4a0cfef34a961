package connectgate

import (
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// wire is how a request and its answer are framed.
type wire uint8

const (
	wireNone wire = iota // no RPC, as far as can be seen
	wireConnectUnary
	wireMaybeUnary // Connect's if its route is one
	wireConnectStream
	wireGRPC
	wireGRPCWeb
)

// wireOf finds out by method and content type, before anything is read. All that
// a handler of Connect's would serve must be found, or it could pass a gate.
func wireOf(r *http.Request) wire {
	switch r.Method {
	case http.MethodPost:
		return wireOfPost(r.Header)
	case http.MethodGet:
		if hasParam(r.URL, "encoding") && hasParam(r.URL, "message") {
			return wireConnectUnary
		}
	}
	return wireNone
}

func wireOfPost(h http.Header) wire {
	subtype, ok := strings.CutPrefix(mediaType(first(h, "Content-Type")), "application/")
	if !ok {
		return wireNone
	}
	switch {
	case subtype == "json" || subtype == "proto":
		return wireConnectUnary
	case subtype == "grpc" || strings.HasPrefix(subtype, "grpc+"):
		return wireGRPC
	case subtype == "grpc-web" || strings.HasPrefix(subtype, "grpc-web+"):
		return wireGRPCWeb
	case strings.HasPrefix(subtype, "grpc-web-text"): // which Connect does not speak
		return wireNone
	case strings.HasPrefix(subtype, "connect+"):
		return wireConnectStream
	case first(h, "Connect-Protocol-Version") != "": // with a codec of its own
		return wireConnectUnary
	default:
		return wireMaybeUnary
	}
}

// isGRPC reports whether the request is one of a gRPC client.
func isGRPC(r *http.Request) bool {
	return r.Method == http.MethodPost && wireOfPost(r.Header) == wireGRPC
}

// mediaType is a content type without parameters, in lower case.
func mediaType(contentType string) string {
	if i := strings.IndexByte(contentType, ';'); i >= 0 {
		contentType = contentType[:i]
	}
	return strings.ToLower(strings.TrimSpace(contentType))
}

// first is the first value of a key in canonical form.
func first(h http.Header, key string) string {
	if values := h[key]; len(values) > 0 {
		return values[0]
	}
	return ""
}

// hasParam reports whether a URL has a parameter, whose name needs no escaping.
func hasParam(u *url.URL, name string) bool {
	for query := u.RawQuery; len(query) > 0; {
		var param string
		param, query, _ = strings.Cut(query, "&")
		if rest, ok := strings.CutPrefix(param, name); ok && (rest == "" || rest[0] == '=') {
			return true
		}
	}
	// Nobody need escape it, but who does must not pass for that.
	return strings.IndexByte(u.RawQuery, '%') >= 0 && u.Query().Has(name)
}

// procedure is the route of a call: the last two parts of its path, as Connect
// takes it. It reports false if there are none.
func procedure(path string) (string, bool) {
	slash := strings.LastIndexByte(path, '/')
	if slash <= 0 || slash == len(path)-1 {
		return "", false
	}
	start := strings.LastIndexByte(path[:slash], '/')
	if start < 0 || start == slash-1 {
		return "", false
	}
	return path[start:], true
}

// timeout is what the client says that it will wait for. A value that makes no
// sense is left to the handler, which refuses it.
func timeout(w wire, h http.Header) (time.Duration, bool) {
	if w == wireGRPC || w == wireGRPCWeb {
		return grpcTimeout(first(h, "Grpc-Timeout"))
	}
	value := first(h, "Connect-Timeout-Ms")
	if value == "" || len(value) > 10 {
		return 0, false
	}
	ms, err := strconv.ParseUint(value, 10, 64)
	return time.Duration(ms) * time.Millisecond, err == nil
}

// grpcTimeout parses up to 8 digits and a unit.
func grpcTimeout(value string) (time.Duration, bool) {
	if len(value) < 2 || len(value) > 9 {
		return 0, false
	}
	n, err := strconv.ParseUint(value[:len(value)-1], 10, 64)
	if err != nil {
		return 0, false
	}
	var unit time.Duration
	switch value[len(value)-1] {
	case 'n':
		unit = time.Nanosecond
	case 'u':
		unit = time.Microsecond
	case 'm':
		unit = time.Millisecond
	case 'S':
		unit = time.Second
	case 'M':
		unit = time.Minute
	case 'H':
		unit = time.Hour
	default:
		return 0, false
	}
	if int64(n) > math.MaxInt64/int64(unit) { // as good as none
		return 0, false
	}
	return time.Duration(n) * unit, true
}
