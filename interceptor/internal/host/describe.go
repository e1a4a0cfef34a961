package host

import (
	"context"
	"strings"

	"github.com/rpcgate/rpcgate/gate"
)

// Limits for what clients send, in bytes.
const (
	maxRequestID    = 128
	maxKey          = 128
	maxForwardedFor = 1024
)

// Describe adds to the call what the options say about it: key and priority, which
// they find in md, and cost and size, which they find in the request. The request is
// nil if it has not been read.
func (h *Host) Describe(ctx context.Context, call *gate.Call, md Metadata, request any) {
	h.describeCaller(ctx, call, md)
	h.weigh(ctx, call, request)
}

// Describes reports whether Describe does anything. It is for hosts that allocate md.
func (h *Host) Describes() bool { return h.describes }

func (h *Host) describeCaller(ctx context.Context, call *gate.Call, md Metadata) {
	if h.PriorityHeader != "" {
		call.Priority = parsePriority(md.Get(h.PriorityHeader))
	}
	if h.Key != nil {
		call.Key = usableKey(h.Key(ctx, *call, md))
	}
}

func (h *Host) weigh(ctx context.Context, call *gate.Call, request any) {
	if h.Cost != nil {
		call.Cost = h.Cost(ctx, call.Route, request)
	}
	if h.Size != nil && request != nil {
		call.Size = h.Size(request)
	}
	call.SizeIfUnknown = h.SizeIfUnknown
}

// RequestID returns a request id of a client in a form that is safe to use.
func RequestID(sent string) string { return Clean(sent, maxRequestID) }

// Clean cuts s to maxLen bytes and keeps only printable ASCII, which is safe in logs,
// headers and pages. What it cuts off does not stay in memory.
func Clean(s string, maxLen int) string {
	cut := len(s) > maxLen
	if cut {
		s = s[:maxLen]
	}
	if !isPrintable(s) {
		return strings.Map(func(r rune) rune {
			if r < 0x80 && printable(byte(r)) {
				return r
			}
			return -1
		}, s)
	}
	if cut {
		return strings.Clone(s)
	}
	return s
}

// Own returns s, which is a part of a string of the given length, or a copy of s if
// that string is much longer. So a gate that keeps s does not keep a long header or
// URL in memory.
func Own(s string, whole int) string {
	const little = 64
	if whole-len(s) <= little {
		return s
	}
	return strings.Clone(s)
}

func isPrintable(s string) bool {
	for i := range len(s) {
		if !printable(s[i]) {
			return false
		}
	}
	return true
}

func printable(b byte) bool { return b >= ' ' && b < 0x7f }

// parsePriority parses a header. Unknown values are Normal.
func parsePriority(s string) gate.Priority {
	switch strings.ToLower(Clean(s, 16)) {
	case "low":
		return gate.Low
	case "critical":
		return gate.Critical
	default:
		return gate.Normal
	}
}
