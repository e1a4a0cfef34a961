package host

import (
	"net/http"
	"net/netip"
	"runtime"
	"strings"
	"testing"
	"unsafe"
	"weak"
)

// TestWhatIsKeptDoesNotKeepTheWhole keeps what the host makes of a large string, and looks whether the string can go.
func TestWhatIsKeptDoesNotKeepTheWhole(t *testing.T) {
	behindProxy := &Host{Config: Config{TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}}
	forwarded := func(value string) string {
		return behindProxy.RemoteIP("10.0.0.1:80", http.Header{"X-Forwarded-For": {value}})
	}
	const large = 1 << 20
	for name, test := range map[string]struct {
		before string
		filler string // many times
		after  string
		part   func(whole string) string
		want   string
	}{
		"request id":         {"", "x", "", RequestID, strings.Repeat("x", 128)},
		"request id, dirty":  {"id", "é", "", RequestID, "id"},
		"address":            {"", "6.6.6.6,", "192.0.2.7", forwarded, "192.0.2.7"},
		"address and spaces": {"", " ", "192.0.2.7", forwarded, "192.0.2.7"},
		"path":               {"/a/b?", "x", "", func(s string) string { return Own(s[:4], len(s)) }, "/a/b"},
	} {
		whole := test.before + strings.Repeat(test.filler, large) + test.after
		alive := weak.Make(unsafe.StringData(whole))
		kept := test.part(whole)
		whole = ""
		runtime.GC()
		if alive.Value() != nil {
			t.Errorf("%s: the whole string is kept", name)
		}
		if kept != test.want {
			t.Errorf("%s: %q, want %q", name, kept, test.want)
		}
	}
}

// TestWhatIsKeptIsNotCopiedInVain is about the strings that most calls have.
func TestWhatIsKeptIsNotCopiedInVain(t *testing.T) {
	behindProxy := &Host{Config: Config{TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}}
	forwarded := http.Header{"X-Forwarded-For": {"192.0.2.7, 10.0.0.2"}}
	id, path := strings.Repeat("x", 128), "/orders"
	if n := testing.AllocsPerRun(100, func() {
		RequestID(id)
		Own(path, len("/orders?open=true"))
		(&Host{}).RemoteIP("192.0.2.7:1234", nil)
	}); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
	if n := testing.AllocsPerRun(100, func() { behindProxy.RemoteIP("10.0.0.1:1234", forwarded) }); n != 0 {
		t.Errorf("%v allocations behind a proxy, want none", n)
	}
}
