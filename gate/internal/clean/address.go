package clean

import "net/netip"

// Addresses is how addresses of callers are shown.
type Addresses uint8

// The ways to show an address.
const (
	Whole  Addresses = iota
	Short            // the network: /24 of IPv4, /48 of IPv6
	Hidden           // not at all
)

// Show returns the address as it may be shown, "" for not at all. What is no address
// may be anything, and is not shown unless whole addresses are.
func (a Addresses) Show(address string) string {
	if a == Whole {
		return String(address)
	}
	ip, err := netip.ParseAddr(address)
	if a != Short || err != nil {
		return ""
	}
	bits := 48
	if ip = ip.Unmap().WithZone(""); ip.Is4() {
		bits = 24
	}
	return netip.PrefixFrom(ip, bits).Masked().String()
}
