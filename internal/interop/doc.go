// Package interop tests rpcgate with clients and proxies that others wrote: those of JavaScript, in js, under node
// and in Chromium, and nginx with the configuration in demo/nginx. The module in conformance runs the suite with which
// Connect tests implementations, the one in otlp the stock OTLP exporter. The command in clients lets many more meet a busy server, and
// prints a table.
//
// The tests need what Go does not bring along, so they are behind a build tag and are not part of "go test ./...":
//
//	go test -tags interop ./internal/interop/...
//
// It needs node 20 or later with npm, whose packages the tests install themselves, pinned by js/package-lock.json,
// chromium, and nginx 1.22 or later. All servers listen on loopback, on ports of their own.
package interop
