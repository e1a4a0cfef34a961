// Package observability is what Prometheus and Grafana need to watch gates: see README.md. Its tests hold the names in
// the rules and on the dashboard against what is really exported.
package observability
