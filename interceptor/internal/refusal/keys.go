package refusal

// The headers and trailers of refusals. If both gRPC and HTTP use a name, there are
// two forms of it: lower case for gRPC's metadata, canonical for an [http.Header].
const (
	// PushbackMetadata is gRPC's server pushback: the milliseconds to wait before a
	// retry, or a negative number to forbid it. A client that gets more than one
	// value does not retry. See gRFC A6.
	PushbackMetadata = "grpc-retry-pushback-ms"
	PushbackHeader   = "Grpc-Retry-Pushback-Ms"

	// AttemptsMetadata is how many attempts of a call were made before this one. The
	// first attempt does not have it. See gRFC A6.
	AttemptsMetadata = "grpc-previous-rpc-attempts"
	AttemptsHeader   = "Grpc-Previous-Rpc-Attempts"

	// RetryAfterHeader is the delay in HTTP, in seconds; see RFC 9110, section 10.2.3.
	RetryAfterHeader = "Retry-After"

	// RequestIDMetadata is where clients and proxies put the id of a request.
	RequestIDMetadata = "x-request-id"
	RequestIDHeader   = "X-Request-Id"
)
