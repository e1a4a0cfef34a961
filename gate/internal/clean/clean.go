// Package clean makes strings that clients chose fit to be kept and shown.
package clean

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxLen is how many bytes of a string are kept.
const MaxLen = 256

// String cuts s to MaxLen bytes, and puts U+FFFD in place of what cannot be
// printed or is not UTF-8: not everything that shows a string escapes it, and
// what is on one line must stay there.
func String(s string) string {
	cut := len(s) > MaxLen
	if cut {
		s = s[:MaxLen]
		for i := 1; i < utf8.UTFMax; i++ { // a rune may have been cut in two
			if tail := s[len(s)-i:]; utf8.RuneStart(tail[0]) {
				if !utf8.FullRuneInString(tail) {
					s = s[:len(s)-i]
				}
				break
			}
		}
	}
	s = strings.Map(func(r rune) rune { // returns s itself if there is nothing to replace
		if unicode.IsPrint(r) {
			return r
		}
		return utf8.RuneError
	}, s)
	if cut {
		s += "…"
	}
	return s
}
