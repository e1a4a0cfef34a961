package gatelog

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxString is how many bytes of a string that a client may have chosen are
// kept.
const maxString = 256

// clean cuts s to maxString bytes, and puts U+FFFD in place of what cannot be
// printed or is not UTF-8: not every slog.Handler escapes, and a line must stay
// one line.
func clean(s string) string {
	cut := len(s) > maxString
	if cut {
		s = s[:maxString]
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
