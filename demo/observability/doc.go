// Package observability has what Prometheus and Grafana need to watch gates: see README.md. Its tests compare the names
// in the rules and on the dashboard with the names that are really exported.
package observability
