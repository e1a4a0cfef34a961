package otelgate

import "go.opentelemetry.io/otel/attribute"

// ScopeName is the instrumentation scope of the metrics, and of the spans named
// [SpanWait]. Its version is the version of this module in the build.
const ScopeName = modulePath + "/interceptor/otelgate"

const (
	modulePath = "github.com/rpcgate/rpcgate"

	// schemaURL names the semantic conventions that define rpc.method.
	schemaURL = "https://opentelemetry.io/schemas/1.43.0"
)

// The instruments.
const (
	// MetricRequests counts decisions ({request}), by KeyGateName,
	// KeyDecision, KeyReason, KeyMethod and KeyDryRun. It has no exemplars.
	MetricRequests = "gate.requests"
	// MetricWaitDuration is a histogram of the time to the decision (s), with
	// the same attributes. Calls that did not wait are recorded with 0.
	// Abandoned calls are left out: the caller ended their wait, which says
	// nothing about the gate. Its exemplars are calls that waited or were
	// rejected.
	MetricWaitDuration = "gate.wait.duration"
	// MetricLeaseDuration is a histogram of the time that leases were held
	// (s), by KeyGateName and KeyMethod, recorded at release. Its exemplars
	// are calls that held theirs for at least twice the recent mean of the
	// route.
	MetricLeaseDuration = "gate.lease.duration"
	// MetricHeldTooLong counts leases that were held for longer than
	// [gate.WithMaxHold] allows ({lease}), with the same attributes: each
	// lease once, while it is still held.
	MetricHeldTooLong = "gate.held_too_long"
	// MetricInFlight, MetricWaiting and MetricLimit are the units in use
	// ({unit}), the calls that wait ({request}) and the units allowed ({unit})
	// at the moment of the collection, by KeyGateName. They are up-down
	// counters, not gauges, because they add up over the processes of a
	// service: the sum of the units in use is still a share of the sum of the
	// limits.
	MetricInFlight = "gate.in_flight"
	MetricWaiting  = "gate.waiting"
	MetricLimit    = "gate.limit"
)

// The attributes.
const (
	// KeyGateName (string) is the gate that decided. If several gates admitted
	// a call, it is the one that kept it waiting longest.
	KeyGateName = attribute.Key("gate.name")
	// KeyDecision (string) is "accepted", "rejected_busy", "rejected_timeout"
	// or "abandoned".
	KeyDecision = attribute.Key("gate.decision")
	// KeyReason (string) refines a rejection: "limit", "queue_full",
	// "wait_timeout", "key_limit", "deadline" or "draining". Otherwise it is
	// left out.
	KeyReason = attribute.Key("gate.reason")
	// KeyDryRun (bool) is true where the decision was not enforced. Otherwise
	// it is left out.
	KeyDryRun = attribute.Key("gate.dry_run")
	// KeyMethod (string) is the call's route without the slash in front, as in
	// "orders.v1.OrderService/ListOpen". It is [OtherMethod] for routes that no
	// server registered and for those above [WithMaxRoutes]. It is left out
	// for calls without a route.
	KeyMethod = attribute.Key("rpc.method")
	// OtherMethod is the value of KeyMethod for routes that are not told apart.
	OtherMethod = "_OTHER"

	// KeyWaitedMs (int, ms) is how long the call waited, at all gates
	// together. For a stream that takes a lease per message it is the longest
	// wait of a message. This attribute and the following are on spans only.
	KeyWaitedMs = attribute.Key("gate.waited_ms")
	// KeyInFlight (int) is the number of units in use right after the
	// decision, KeyLimit (int) is the number allowed.
	KeyInFlight = attribute.Key("gate.in_flight")
	KeyLimit    = attribute.Key("gate.limit")
	// KeyRequestID (string) is the request id that a rejected client was told, or
	// that an observer such as gatelog has written down for an accepted call.
	KeyRequestID = attribute.Key("gate.request_id")
	// KeyMessages (int) is the number of messages for which a stream asked the
	// gate, if it takes a lease per message.
	KeyMessages = attribute.Key("gate.messages")
)

// What is added to the span of a call.
const (
	// EventRejected is the span event of a rejected call, with KeyGateName and
	// KeyReason. In a dry run there is none, since the call went ahead.
	EventRejected = "gate.rejected"
	// SpanWait is the child span that covers the wait of a call that waited.
	SpanWait = "gate.wait"
)
