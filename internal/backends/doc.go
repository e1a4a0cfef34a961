// Package backends tests the demo's telemetry with the backends that people run: a real Jaeger and a real Prometheus.
// The tests have a build tag, so that go test ./... in a fresh clone needs nothing:
//
//	go test -tags backends ./internal/backends/...
//	(cd internal/backends/browser && go test .)
//
// They need prometheus and promtool (Debian package prometheus), and the second chromium (Debian package chromium).
// Jaeger is built from its Go module by the module in jaeger/, about two minutes on two idle cores; the program stays
// in the user's cache, under rpcgate. All run on free ports of the loopback interface and are gone at the end.
package backends
