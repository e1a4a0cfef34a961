package host

import (
	"context"
	"net/netip"
	"strings"

	"github.com/rpcgate/rpcgate/gate"
)

// RequestIDHeader is where clients and proxies put the id of a request.
const RequestIDHeader = "x-request-id"

// What clients may send is bounded.
const (
	maxRequestID    = 128
	maxKey          = 128
	maxForwardedFor = 1024
)

// Complete fills in what the options take from the client: key and priority.
func (h *Host) Complete(ctx context.Context, call gate.Call, md Metadata) gate.Call {
	if h.PriorityHeader != "" {
		call.Priority = parsePriority(md.Get(h.PriorityHeader))
	}
	if h.Key != nil {
		call.Key = Clean(h.Key(ctx, call, md), maxKey)
	}
	return call
}

// NeedsMetadata reports whether Complete has anything to do.
func (h *Host) NeedsMetadata() bool { return h.PriorityHeader != "" || h.Key != nil }

// NeedsRequest reports whether Weigh has anything to do.
func (h *Host) NeedsRequest() bool { return h.Cost != nil || h.Size != nil }

// Weigh fills in what the options take from the request message.
func (h *Host) Weigh(ctx context.Context, call gate.Call, request any) gate.Call {
	if h.Cost != nil {
		call.Cost = h.Cost(ctx, call.Route, request)
	}
	if h.Size != nil && request != nil {
		call.Size = h.Size(request)
	}
	return call
}

// RequestID returns the client's id of the request, cleaned.
func RequestID(md Metadata) string { return CleanRequestID(md.Get(RequestIDHeader)) }

// CleanRequestID makes what a client sent as the id of a request safe to use.
func CleanRequestID(s string) string { return Clean(s, maxRequestID) }

// RemoteIP returns the address of the caller: that of the peer, or behind
// trusted proxies the last address in X-Forwarded-For that is not one of
// theirs. It is empty for a peer without an address, such as one on a Unix
// socket: all who come that way are not one caller.
func (h *Host) RemoteIP(peer string, md Metadata) string {
	ip := hostOf(peer)
	if !isIP(ip) {
		return ""
	}
	if len(h.TrustedProxies) == 0 || !h.trusts(ip) {
		return ip
	}
	hops := strings.Split(forwardedFor(md), ",")
	for i := len(hops) - 1; i >= 0; i-- {
		hop := hostOf(strings.TrimSpace(hops[i]))
		if _, err := netip.ParseAddr(hop); err != nil {
			break // what stands left of nonsense cannot be believed
		}
		ip = hop
		if !h.trusts(hop) {
			break
		}
	}
	return ip
}

// forwardedFor is the header's value. If it stands there more than once all of it
// counts: a proxy may add a line below the one that its client has sent. The end
// is what proxies wrote, so the beginning is cut off if it is too long.
func forwardedFor(md Metadata) string {
	const name = "X-Forwarded-For"
	value := md.Get(name)
	if all, ok := md.(interface{ Values(key string) []string }); ok {
		value = strings.Join(all.Values(name), ",")
	}
	if tooLong := len(value) - maxForwardedFor; tooLong > 0 {
		value = value[tooLong:]
	}
	return Clean(value, maxForwardedFor)
}

func (h *Host) trusts(ip string) bool {
	addr, err := netip.ParseAddr(ip)
	if err != nil {
		return false
	}
	for _, p := range h.TrustedProxies {
		if p.Contains(addr.Unmap().WithZone("")) {
			return true
		}
	}
	return false
}

// isIP reports whether a peer's host is an address. What looks like one of IPv4
// comes from the network stack and needs no parsing.
func isIP(host string) bool {
	for i := range len(host) {
		if c := host[i]; c != '.' && (c < '0' || c > '9') {
			_, err := netip.ParseAddr(host)
			return err == nil
		}
	}
	return host != ""
}

// hostOf is the address without the port, if it has one. It is net.SplitHostPort
// for addresses that may have no port, without an error to be made.
func hostOf(addr string) string {
	if strings.HasPrefix(addr, "[") {
		host, _, _ := strings.Cut(addr[1:], "]")
		return host
	}
	colon := strings.IndexByte(addr, ':')
	if colon < 0 || strings.IndexByte(addr[colon+1:], ':') >= 0 { // IPv6 without a port
		return addr
	}
	return addr[:colon]
}

// Clean cuts s to a length and leaves only characters that are safe in logs,
// headers and pages: printable ASCII.
func Clean(s string, maxLen int) string {
	if len(s) > maxLen {
		s = s[:maxLen]
	}
	for i := range len(s) {
		if !printable(s[i]) {
			return strings.Map(func(r rune) rune {
				if r < 0x80 && printable(byte(r)) {
					return r
				}
				return -1
			}, s)
		}
	}
	return s
}

func printable(b byte) bool { return b >= ' ' && b < 0x7f }

// parsePriority reads a header; what it does not know is Normal.
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
