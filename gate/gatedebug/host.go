package gatedebug

import (
	"net"
	"net/netip"
	"slices"
	"strings"
)

// mayControl reports whether commands may come to a Host header: it is localhost, a
// loopback address, or a host of [WithControl].
func (c *config) mayControl(hostPort string) bool {
	host := hostPort
	if name, _, err := net.SplitHostPort(hostPort); err == nil {
		host = name
	}
	host = canonicalHost(host)
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.IsLoopback() ||
		host == "localhost" || strings.HasSuffix(host, ".localhost") || // browsers do not look these up
		slices.Contains(c.controlHosts, host)
}

// canonicalHost makes equal hosts equal strings. An IPv6 address may be in brackets.
func canonicalHost(host string) string {
	if inner, ok := strings.CutPrefix(host, "["); ok {
		host = strings.TrimSuffix(inner, "]")
	}
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr.Unmap().String()
	}
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

// isHost reports whether host can be the host of a URL, without its port.
func isHost(host string) bool {
	host = canonicalHost(host)
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	return host != "" && !strings.ContainsAny(host, ":/?#@[]* ")
}
