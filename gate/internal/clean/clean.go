// Package clean makes strings that clients chose safe to keep and to show.
package clean

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxLen is the number of bytes after which String cuts.
const MaxLen = 256

// String cuts s to MaxLen bytes and replaces characters that cannot be printed, and
// bytes that are not UTF-8, by U+FFFD. Not every log and terminal escapes strings,
// and a string must not break a line.
func String(s string) string {
	cut := len(s) > MaxLen
	if cut {
		s = s[:MaxLen]
		for i := 1; i < utf8.UTFMax; i++ { // the cut may be inside a rune
			if tail := s[len(s)-i:]; utf8.RuneStart(tail[0]) {
				if !utf8.FullRuneInString(tail) {
					s = s[:len(s)-i]
				}
				break
			}
		}
	}
	s = strings.Map(func(r rune) rune { // returns s if there is nothing to replace
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
