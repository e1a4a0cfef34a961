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
	wireNone wire = iota // no RPC
	wireConnectUnary
	wireMaybeUnary // a unary call of Connect if its route is known
	wireConnectStream
	wireGRPC
	wireGRPCWeb
)

// wireOf decides by method and content type, before anything is read. It must find
// every request that a Connect handler would serve, or calls could pass a gate.
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
	case strings.HasPrefix(subtype, "grpc-web-text"): // not supported by Connect
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

// hasParam reports whether a URL has a parameter. The name needs no escaping.
func hasParam(u *url.URL, name string) bool {
	for query := u.RawQuery; len(query) > 0; {
		var param string
		param, query, _ = strings.Cut(query, "&")
		if rest, ok := strings.CutPrefix(param, name); ok && (rest == "" || rest[0] == '=') {
			return true
		}
	}
	// A client that escapes it all the same must not pass the gate.
	return strings.IndexByte(u.RawQuery, '%') >= 0 && u.Query().Has(name)
}

// procedure returns the route of a call: the last two parts of its path, as in
// Connect. It reports false if the path does not have two.
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

// timeout returns the client's timeout. It ignores an invalid value, which the handler
// will refuse.
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
	if int64(n) > math.MaxInt64/int64(unit) { // the same as none
		return 0, false
	}
	return time.Duration(n) * unit, true
}
