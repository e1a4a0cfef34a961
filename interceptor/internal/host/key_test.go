package host

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/rpcgate/rpcgate/gate"
)

// keyOf is the key of a call for which a function or a header has the given one.
func keyOf(t *testing.T, found string) string {
	t.Helper()
	h := hostWith(Config{Key: func(context.Context, gate.Call, Metadata) string { return found }})
	return described(t, h, gate.Call{}, http.Header{}, nil).Key
}

func TestOrdinaryKeysAreUsedAsTheyAre(t *testing.T) {
	for _, key := range []string{"", " ", "acme", "Bearer sk-live-1", "~", strings.Repeat("k", 128)} {
		if got := keyOf(t, key); got != key {
			t.Errorf("%q became %q", key, got)
		}
	}
}

func TestOtherKeysAreHashed(t *testing.T) {
	long := strings.Repeat("k", 128)
	seen := map[string]string{"mller": "mller", long: long, "": ""} // what cutting and cleaning makes of them
	for _, key := range []string{"müller", "m\xfcller", "用户", "用戶", long + "1", long + "2", "a\nb", "a\tb", "ab\x00", "\x7f", "§"} {
		got := keyOf(t, key)
		if was, ok := seen[got]; ok {
			t.Errorf("%q and %q are both %q", key, was, got)
		}
		seen[got] = key
		if !strings.HasPrefix(got, "§") || len(got) != len("§")+32 || got != keyOf(t, key) {
			t.Errorf("%q became %q, want § and the 32 digits of a hash", key, got)
		}
		if again := keyOf(t, got); again == got {
			t.Errorf("a client gets the key of %q by sending %q", key, got)
		}
	}
	// printf 用户 | sha256sum
	if got, want := keyOf(t, "用户"), "§0d0e1a86b3aa787709b00329fcd32b5b"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAddressesAreKeysByTheirPrefix(t *testing.T) {
	for _, test := range []struct {
		ip         string
		ipv4, ipv6 int
		want       string
	}{
		{"192.0.2.7", 32, 64, "192.0.2.7"},
		{"::ffff:192.0.2.7", 32, 64, "192.0.2.7"},
		{"::ffff:c000:207", 32, 64, "192.0.2.7"},
		{"192.0.2.7", 24, 64, "192.0.2.0/24"},
		{"::ffff:192.0.2.7", 24, 64, "192.0.2.0/24"},
		{"2001:db8:0:1::7", 32, 64, "2001:db8:0:1::/64"},
		{"2001:0DB8:0:1:ffff::", 32, 64, "2001:db8:0:1::/64"},
		{"2001:db8:0:1::7", 32, 48, "2001:db8::/48"},
		{"2001:db8:0:1:0::7", 32, 128, "2001:db8:0:1::7"},
		{"2001:db8:0:1::7%eth0", 32, 128, "2001:db8:0:1::7"},
		{"2001:db8:0:1::7%eth1", 32, 64, "2001:db8:0:1::/64"},
		{"fe80::1%eth0", 32, 64, "fe80::1%eth0"},
		{"169.254.1.2", 16, 64, "169.254.0.0/16"},
		{"", 32, 64, ""},
		{"bufconn", 32, 64, ""},
	} {
		if got := AddressKey(test.ip, test.ipv4, test.ipv6); got != test.want {
			t.Errorf("%q by /%d and /%d is %q, want %q", test.ip, test.ipv4, test.ipv6, got, test.want)
		}
	}
	if n := testing.AllocsPerRun(100, func() { AddressKey("192.0.2.7", 32, 64) }); n != 0 {
		t.Errorf("%v allocations for an ordinary address, want none", n)
	}
}
