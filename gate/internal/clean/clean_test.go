package clean_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rpcgate/rpcgate/gate/internal/clean"
)

func TestString(t *testing.T) {
	long := strings.Repeat("é", 200)
	for _, tc := range []struct{ in, want string }{
		{"", ""},
		{"/orders.v1.OrderService/ListOpen", "/orders.v1.OrderService/ListOpen"},
		{"a\nb\tc\x00", "a\uFFFDb\uFFFDc\uFFFD"},
		{"a\xffb", "a\uFFFDb"},
		{long, long[:256] + "…"},
		{"a" + long, "a" + long[:254] + "…"}, // not in the middle of a rune
		{strings.Repeat("\xff", 300), strings.Repeat("\uFFFD", 256) + "…"},
	} {
		if got := clean.String(tc.in); got != tc.want {
			t.Errorf("String(%q):\n got %q\nwant %q", tc.in, got, tc.want)
		}
	}
}

func FuzzString(f *testing.F) {
	f.Add("plain", 3)
	f.Add("\xe2\x82", 100)
	f.Fuzz(func(t *testing.T, s string, times int) {
		s = strings.Repeat(s, min(max(times, 0), 300))
		got := clean.String(s)
		if !utf8.ValidString(got) || strings.ContainsAny(got, "\n\r\x1b") || len(got) > 3*clean.MaxLen+len("…") {
			t.Errorf("String(%q) = %q", s, got)
		}
	})
}
