package gate

// Decision is what a gate decided about a call.
type Decision uint8

// The decisions. The zero Decision means that none was made; the events of a
// release carry it.
const (
	// Accepted calls hold a lease.
	Accepted Decision = iota + 1
	// RejectedBusy calls were rejected without waiting, or were displaced
	// while they waited; the [Reason] says why.
	RejectedBusy
	// RejectedTimeout calls waited for as long as they might, and no unit came
	// free.
	RejectedTimeout
	// Abandoned calls went away before they were admitted: their context
	// ended. That is no overload and is never counted as a rejection.
	Abandoned
)

// Rejected reports whether d is one of the two rejections.
func (d Decision) Rejected() bool { return d == RejectedBusy || d == RejectedTimeout }

// String returns the value of the attribute gate.decision: "accepted",
// "rejected_busy", "rejected_timeout" or "abandoned".
func (d Decision) String() string {
	switch d {
	case Accepted:
		return "accepted"
	case RejectedBusy:
		return "rejected_busy"
	case RejectedTimeout:
		return "rejected_timeout"
	case Abandoned:
		return "abandoned"
	default:
		return ""
	}
}

// MarshalText makes a Decision read well in JSON.
func (d Decision) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// Reason refines a rejection, or says why an admitted call was cut off.
type Reason uint8

// The reasons. Calls that were accepted and not cut off, and abandoned ones, have none,
// which is the zero value.
const (
	// ReasonLimit: no slot was free, and waiting is off.
	ReasonLimit Reason = iota + 1
	// ReasonQueueFull: no slot was free and the queue was full, or a call of
	// higher priority displaced this one from a full queue.
	ReasonQueueFull
	// ReasonWaitTimeout: no slot came free within the allowed wait.
	ReasonWaitTimeout
	// ReasonKeyLimit: the call's key has its share in flight or waiting.
	ReasonKeyLimit
	// ReasonDeadline: the caller's deadline leaves no time to wait.
	ReasonDeadline
	// ReasonDraining: the gate takes no more calls; see [Gate.Drain].
	ReasonDraining

	// These are for calls that were admitted; see [Lease.CutOff].

	// ReasonSlowRequest: the client sent its request too slowly.
	ReasonSlowRequest
	// ReasonSlowResponse: the client read the response too slowly.
	ReasonSlowResponse

	reasons = iota + 1
)

// String returns the value of the attribute gate.reason: "limit",
// "queue_full", "wait_timeout", "key_limit", "deadline", "draining", "slow_request",
// "slow_response" or "".
func (r Reason) String() string {
	if r >= reasons {
		return ""
	}
	return [reasons]string{
		"", "limit", "queue_full", "wait_timeout", "key_limit", "deadline", "draining", "slow_request", "slow_response",
	}[r]
}

// MarshalText makes a Reason read well in JSON, also as the key of a map.
func (r Reason) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// decision is the Decision that a refusal for reason r amounts to.
func (r Reason) decision() Decision {
	if r == ReasonWaitTimeout {
		return RejectedTimeout
	}
	return RejectedBusy
}

// Refusal says which form a rejection has for clients.
type Refusal uint8

// The kinds of refusal.
const (
	// TooManyRequests is gRPC's ResourceExhausted and HTTP's 429.
	TooManyRequests Refusal = iota
	// ServiceUnavailable is gRPC's Unavailable and HTTP's 503. A draining
	// gate always refuses with it.
	ServiceUnavailable
	// Unimplemented is gRPC's Unimplemented and HTTP's 501: the server does not offer
	// this, so clients do without it and do not retry. It is for watchers of gRPC
	// health: they then take the server for healthy. After any other error they
	// send it no calls at all; see gRFC A17.
	Unimplemented
)

// String returns "too_many_requests", "service_unavailable" or "unimplemented".
func (r Refusal) String() string {
	switch r {
	case ServiceUnavailable:
		return "service_unavailable"
	case Unimplemented:
		return "unimplemented"
	default:
		return "too_many_requests"
	}
}
