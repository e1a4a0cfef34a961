package gate_test

import (
	"testing"

	"github.com/rpcgate/rpcgate/gate"
)

func TestProbesAreExemptUnlessARuleHasTheirPath(t *testing.T) {
	g := newGate(t, 1)
	all := newPolicy(t, gate.Route("*", g))
	own := newPolicy(t, gate.Route("*", g), gate.Route("/readyz", g), gate.Exempt("/livez"))
	for _, path := range gate.HTTPProbes() {
		wantEqual(t, path+" is a probe", gate.IsHTTPProbe(path), true)
		wantEqual(t, path+" passes", all.ExemptsProbe(path), true)
		wantEqual(t, path+" passes its own rule", own.ExemptsProbe(path), path != "/readyz")
		wantEqual(t, path+" is an exempt route", all.Exempts(path), false)
	}
	for _, path := range []string{"", "/", "/healthz/", "/healthz/db", "/api/healthz", "/Healthz", "healthz", "/grpc.health.v1.Health/Check"} {
		wantEqual(t, path+" is a probe", gate.IsHTTPProbe(path), false)
		wantEqual(t, path+" passes as a probe", all.ExemptsProbe(path), false)
	}
}

func TestProbesAreFoundBehindAWrapper(t *testing.T) {
	g := newGate(t, 1)
	p, ok := gate.AdmitterAs[gate.ProbeExempter](&counting{next: newPolicy(t, gate.Route("/readyz", g))})
	if !ok || p.ExemptsProbe("/readyz") || !p.ExemptsProbe("/livez") {
		t.Error("the probes are not found")
	}
}
