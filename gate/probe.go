package gate

// HTTPProbes lists the paths at which a server is commonly asked over HTTP whether it is
// alive and ready. Hosts of plain HTTP let GET and HEAD requests of these paths pass,
// unless a rule of a policy has the path as its pattern: then that decides. RPCs with
// such a name do not pass.
func HTTPProbes() []string { return []string{"/health", "/healthz", "/livez", "/readyz"} }

// IsHTTPProbe reports whether path is one of [HTTPProbes]. It is for authors of hosts,
// for an [Admitter] that is no [ProbeExempter].
func IsHTTPProbe(path string) bool {
	switch path {
	case "/health", "/healthz", "/livez", "/readyz":
		return true
	}
	return false
}

// ExemptsProbe reports whether GET and HEAD requests of a path pass without a gate
// because they are probes. That is so for [HTTPProbes] without a rule of their own.
func (p *Policy) ExemptsProbe(path string) bool {
	return IsHTTPProbe(path) && p.exact[path].exempts()
}
