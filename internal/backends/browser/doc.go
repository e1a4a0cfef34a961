// Package browser tests the live page of the gates in a real browser, while a real demo is under load. It needs chromium
// (Debian package chromium). To look at the page as the test saw it:
//
//	go test -artifacts -outputdir /tmp/page .
package browser
