package clean_test

import (
	"testing"

	"github.com/rpcgate/rpcgate/gate/internal/clean"
)

func TestAddresses(t *testing.T) {
	for _, tc := range []struct{ address, whole, short string }{
		{"192.0.2.77", "192.0.2.77", "192.0.2.0/24"},
		{"::ffff:192.0.2.77", "::ffff:192.0.2.77", "192.0.2.0/24"},
		{"2001:db8:1:2:3:4:5:6", "2001:db8:1:2:3:4:5:6", "2001:db8:1::/48"},
		{"fe80::1%eth0", "fe80::1%eth0", "fe80::/48"},
		{"::1", "::1", "::/48"},
		{"", "", ""},
		{"pipe", "pipe", ""},
		{"192.0.2.77:443", "192.0.2.77:443", ""},
		{"a\nb", "a\uFFFDb", ""},
	} {
		for form, want := range map[clean.Addresses]string{clean.Whole: tc.whole, clean.Short: tc.short, clean.Hidden: "", 9: ""} {
			if got := form.Show(tc.address); got != want {
				t.Errorf("form %d of %q: got %q, want %q", form, tc.address, got, want)
			}
		}
	}
}
