package refusal

// The headers and trailers of refusals. A name that both gRPC and HTTP use is here
// in two forms: lower case as gRPC's metadata has it, canonical as an [http.Header]
// has it.
const (
	// PushbackMetadata is gRPC's server pushback: the milliseconds to wait before a
	// retry, or a negative number to forbid it. A client that finds more than one
	// value does not retry. See gRFC A6.
	PushbackMetadata = "grpc-retry-pushback-ms"
	PushbackHeader   = "Grpc-Retry-Pushback-Ms"

	// RetryAfterHeader is HTTP's, RFC 9110 section 10.2.3, in seconds.
	RetryAfterHeader = "Retry-After"

	// RequestIDMetadata is where clients and proxies put the id of a request.
	RequestIDMetadata = "x-request-id"
	RequestIDHeader   = "X-Request-Id"
)
