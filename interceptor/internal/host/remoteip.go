package host

import (
	"net/netip"
	"strings"
)

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
	if all, ok := md.(multiMetadata); ok {
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
