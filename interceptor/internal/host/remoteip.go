package host

import (
	"net/netip"
	"strings"
)

// RemoteIP returns the address of the caller. That is the address of the peer, or
// behind trusted proxies the last one in X-Forwarded-For that is not a trusted proxy.
// It is empty for a peer without an IP address, such as one on a Unix socket, so that
// all such peers are not taken for a single caller.
func (h *Host) RemoteIP(peer string, md Metadata) string {
	ip := hostOf(peer)
	if !isIP(ip) {
		return ""
	}
	if len(h.TrustedProxies) == 0 || !h.trusts(ip) {
		return ip
	}
	hops := forwardedFor(md)
	whole := len(hops)
	for more := true; more; {
		comma := strings.LastIndexByte(hops, ',')
		hop := hostOf(strings.TrimSpace(hops[comma+1:]))
		if _, err := netip.ParseAddr(hop); err != nil {
			break // what comes before an invalid address cannot be trusted
		}
		ip = hop
		if more = comma >= 0 && h.trusts(hop); more {
			hops = hops[:comma]
		}
	}
	return Own(ip, whole)
}

// forwardedFor returns the value of X-Forwarded-For. If the header is repeated, all its
// lines count: a proxy may add one below that of its client. Proxies append to the
// end, so a value that is too long loses its beginning.
func forwardedFor(md Metadata) string {
	const name = "X-Forwarded-For"
	value := md.Get(name)
	if all, ok := md.(multiMetadata); ok {
		value = strings.Join(all.Values(name), ",")
	}
	if tooLong := len(value) - maxForwardedFor; tooLong > 0 {
		value = strings.Clone(value[tooLong:])
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

// isIP reports whether a peer's host is an IP address. It does not parse what looks
// like IPv4, which comes from the network stack.
func isIP(host string) bool {
	for i := range len(host) {
		if c := host[i]; c != '.' && (c < '0' || c > '9') {
			_, err := netip.ParseAddr(host)
			return err == nil
		}
	}
	return host != ""
}

// hostOf returns the address without a port. Unlike net.SplitHostPort it takes
// addresses that have none, and does not allocate an error for them.
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
