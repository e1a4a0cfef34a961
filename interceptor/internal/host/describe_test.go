package host

import (
	"context"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rpcgate/rpcgate/gate"
)

func TestAddressOfTheCaller(t *testing.T) {
	trusting := &Host{Config: Config{TrustedProxies: []netip.Prefix{
		netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("2001:db8:ff::/48"),
	}}}
	for _, test := range []struct {
		name, peer string
		forwarded  []string // one for each line of the header
		want       string
		wantBare   string // without trusted proxies; "": as want
	}{
		{name: "port", peer: "192.0.2.7:80", want: "192.0.2.7"},
		{name: "no port", peer: "192.0.2.7", want: "192.0.2.7"},
		{name: "v6", peer: "[2001:db8::7]:80", want: "2001:db8::7"},
		{name: "v6 without port", peer: "[2001:db8::7]", want: "2001:db8::7"},
		{name: "zone", peer: "[fe80::1%eth0]:80", want: "fe80::1%eth0"},
		{name: "unix", peer: "@", want: ""},
		{name: "name", peer: "bufconn", want: ""},
		{name: "empty", want: ""},
		{name: "stranger", peer: "192.0.2.7:80", forwarded: []string{"1.1.1.1"}, want: "192.0.2.7"},
		{name: "proxy", peer: "10.0.0.1:80", forwarded: []string{"192.0.2.7"}, want: "192.0.2.7", wantBare: "10.0.0.1"},
		{name: "proxies", peer: "10.0.0.1:80", forwarded: []string{"6.6.6.6, 192.0.2.7 , 10.0.0.2"},
			want: "192.0.2.7", wantBare: "10.0.0.1"},
		{name: "v6 proxy", peer: "[2001:db8:ff::1]:80", forwarded: []string{"2001:db8::7"},
			want: "2001:db8::7", wantBare: "2001:db8:ff::1"},
		{name: "mapped proxy", peer: "[::ffff:10.0.0.1]:80", forwarded: []string{"192.0.2.7:1234"},
			want: "192.0.2.7", wantBare: "::ffff:10.0.0.1"},
		{name: "second line", peer: "10.0.0.1:80", forwarded: []string{"6.6.6.6", "192.0.2.7"},
			want: "192.0.2.7", wantBare: "10.0.0.1"},
		{name: "only proxies", peer: "10.0.0.1:80", forwarded: []string{"10.0.0.3, 10.0.0.2"},
			want: "10.0.0.3", wantBare: "10.0.0.1"},
		{name: "nonsense", peer: "10.0.0.1:80", forwarded: []string{"6.6.6.6, <script>, 10.0.0.2"},
			want: "10.0.0.2", wantBare: "10.0.0.1"},
		{name: "no header", peer: "10.0.0.1:80", want: "10.0.0.1"},
		{name: "flood", peer: "10.0.0.1:80", forwarded: []string{strings.Repeat("6.6.6.6,", 10_000) + "192.0.2.7"},
			want: "192.0.2.7", wantBare: "10.0.0.1"},
	} {
		md := http.Header{"X-Forwarded-For": test.forwarded}
		if got := trusting.RemoteIP(test.peer, md); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
		want := test.wantBare
		if want == "" {
			want = test.want
		}
		if got := (&Host{}).RemoteIP(test.peer, md); got != want {
			t.Errorf("%s: %q without trusted proxies, want %q", test.name, got, want)
		}
	}
}

func FuzzAddressOfTheCaller(f *testing.F) {
	f.Add("10.0.0.1:80", "6.6.6.6, 192.0.2.7")
	f.Add("[::1]:1", "::1, [::2]:3,,")
	f.Add("@", "\xff,")
	trusting := &Host{Config: Config{TrustedProxies: []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0")}}}
	f.Fuzz(func(t *testing.T, peer, forwarded string) {
		got := trusting.RemoteIP(peer, http.Header{"X-Forwarded-For": {forwarded}})
		if got == "" {
			return
		}
		if _, err := netip.ParseAddr(got); err != nil {
			t.Errorf("RemoteIP(%q, %q) is %q: %v", peer, forwarded, got, err)
		}
	})
}

func TestStringsOfClientsAreCutAndCleaned(t *testing.T) {
	for in, want := range map[string]string{
		"":                       "",
		"req-7":                  "req-7",
		"a b~":                   "a b~",
		"line\r\nInjected: yes":  "lineInjected: yes",
		"tab\tand\x00nul\x7f":    "tabandnul",
		"über":                   "ber",
		"\xff\xfe":               "",
		strings.Repeat("x", 300): strings.Repeat("x", 128),
	} {
		if got := RequestID(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}

func FuzzStringsOfClientsAreCutAndCleaned(f *testing.F) {
	f.Add("req-7")
	f.Add("\r\n\x00äö")
	f.Fuzz(func(t *testing.T, s string) {
		got := Clean(s, 16)
		if len(got) > 16 || !utf8.ValidString(got) || Clean(got, 16) != got {
			t.Errorf("Clean(%q) is %q", s, got)
		}
		for i := range len(got) {
			if got[i] < ' ' || got[i] > '~' {
				t.Errorf("Clean(%q) is %q", s, got)
			}
		}
	})
}

func TestHostsWithOptionsDescribe(t *testing.T) {
	for name, c := range map[string]Config{
		"key":      {Key: func(context.Context, gate.Call, Metadata) string { return "" }},
		"priority": {PriorityHeader: "x-priority"},
		"cost":     {Cost: func(context.Context, string, any) int64 { return 1 }},
		"size":     {Size: func(any) int64 { return 1 }},
		"no size":  {SizeIfUnknown: 1},
	} {
		if !hostWith(c).Describes() {
			t.Errorf("%s: Describes is false", name)
		}
	}
	if hostWith(Config{}).Describes() {
		t.Error("Describes is true without options")
	}
}

func TestPriorityComesFromTheHeaderThatWasNamed(t *testing.T) {
	named := hostWith(Config{PriorityHeader: "x-priority"})
	for value, want := range map[string]gate.Priority{
		"low": gate.Low, "LOW": gate.Low, "normal": gate.Normal, "Critical": gate.Critical,
		"": gate.Normal, "urgent": gate.Normal, "critical!": gate.Normal,
	} {
		md := http.Header{"X-Priority": {value}}
		if got := described(t, named, gate.Call{}, md, nil).Priority; got != want {
			t.Errorf("%q is %s, want %s", value, got, want)
		}
		if got := described(t, hostWith(Config{}), gate.Call{}, md, nil).Priority; got != gate.Normal {
			t.Errorf("%q is %s without the option, want normal", value, got)
		}
	}
}

func TestCostAndSizeComeFromTheRequestIfItWasRead(t *testing.T) {
	h := hostWith(Config{
		Cost: func(_ context.Context, route string, request any) int64 {
			if request == nil {
				return 3
			}
			return int64(len(route))
		},
		Size: func(request any) int64 { return int64(len(request.(string))) },
	})
	call := gate.Call{Route: "/a.B/C", Size: 7}
	if got := described(t, h, call, nil, nil); got.Cost != 3 || got.Size != 7 {
		t.Errorf("got %+v without a request, want cost 3 and the size that was known", got)
	}
	if got := described(t, h, call, nil, "12345"); got.Cost != 6 || got.Size != 5 {
		t.Errorf("got %+v, want cost 6 and size 5", got)
	}
}

func TestWhatAnUnknownSizeIsChargedWithComesFromTheOptions(t *testing.T) {
	call := gate.Call{Size: gate.SizeUnknown}
	got := described(t, hostWith(Config{SizeIfUnknown: 3000}), call, nil, nil)
	if got.Size != gate.SizeUnknown || got.SizeIfUnknown != 3000 {
		t.Errorf("got %+v, want an unknown size of 3000", got)
	}
	if got := described(t, hostWith(Config{}), call, nil, nil); got != call {
		t.Errorf("got %+v without options, want what it was", got)
	}
}

// hostWith is a host whose options have set c.
func hostWith(c Config) *Host {
	set := OptionFunc(func(to *Config) error { *to = c; return nil })
	return Must("", gate.Admitter(gate.Must(gate.New("db", 1))), []Option{set})
}

// described is call with what h's options say about it.
func described(t *testing.T, h *Host, call gate.Call, md Metadata, request any) gate.Call {
	t.Helper()
	before := call
	h.Describe(t.Context(), &call, md, request)
	if !h.Describes() && call != before {
		t.Errorf("Describe made %+v of %+v, but Describes is false", call, before)
	}
	return call
}
