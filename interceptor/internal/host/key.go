package host

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/netip"
	"slices"

	"github.com/rpcgate/rpcgate/gate"
)

// KeyFunc finds the key of a call, or "".
type KeyFunc func(ctx context.Context, call gate.Call, md Metadata) string

// SetKey makes f find the keys of calls. The name of the option that does it is for
// errors: there can be only one.
func (c *Config) SetKey(option string, f KeyFunc) error {
	if c.keyOption != "" {
		return fmt.Errorf("%s: want one option that finds keys, got %s before it", option, c.keyOption)
	}
	c.Key, c.keyOption = f, option
	return nil
}

// checkKeys finds an option for keys with gates that do not use any. It cannot say
// anything about an Admitter that does not list its gates.
func (c *Config) checkKeys(a gate.Admitter) error {
	lister, ok := gate.AdmitterAs[gate.GateLister](a)
	if c.keyOption == "" || !ok {
		return nil
	}
	gates := lister.Gates()
	if len(gates) == 0 || slices.ContainsFunc(gates, (*gate.Gate).UsesKeys) {
		return nil
	}
	var names []string
	for _, g := range gates {
		names = append(names, g.Name())
	}
	return fmt.Errorf("%s: want a gate that uses keys, as with gate.WithKeyLimit, got only %q", c.keyOption, names)
}

// hashedKey marks a key that was hashed. A client cannot choose a key with it, because
// it is not ASCII.
const hashedKey = "§"

// usableKey returns a key that is printable ASCII of a bounded length. It hashes a key
// that is not: cutting it, or leaving out characters, would make one client of several.
func usableKey(key string) string {
	if len(key) <= maxKey && isPrintable(key) {
		return key
	}
	sum := sha256.Sum256([]byte(key))
	return hashedKey + hex.EncodeToString(sum[:16])
}

// AddressKey returns the key of an address, which is a prefix of the given length, or
// the address itself if there is nobody else in it.
func AddressKey(ip string, ipv4, ipv6 int) string {
	addr, err := netip.ParseAddr(ip)
	if err != nil {
		return ""
	}
	if addr.Is4() && ipv4 == addr.BitLen() {
		return ip
	}
	addr = addr.Unmap()
	bits := ipv6
	switch {
	case addr.Is4():
		bits = ipv4
	case addr.IsLinkLocalUnicast(): // all of a network have one prefix
		return addr.String()
	}
	prefix, err := addr.WithZone("").Prefix(bits)
	if err != nil || prefix.IsSingleIP() {
		return addr.WithZone("").String()
	}
	return prefix.String()
}
