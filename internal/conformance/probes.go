package conformance

import (
	"context"
	"net/http"

	"github.com/rpcgate/rpcgate/gate"
)

func probeCases() []Case {
	return []Case{{Name: "HttpProbesPassAFullGate", Shapes: []Shape{Unary}, Run: probes}}
}

// NoProbes is why a host lacks HttpProbesPassAFullGate.
const NoProbes = "the server has no paths but those of RPCs"

// Prober is a [Client] of a server that answers the GET requests of gate.HTTPProbes.
type Prober interface {
	// Probe asks for a path. It returns a *Failure if the answer is not OK.
	Probe(ctx context.Context, path string) error
}

// HandleProbes adds the handlers of probes to a mux.
func HandleProbes(mux *http.ServeMux) {
	for _, path := range gate.HTTPProbes() {
		mux.HandleFunc("GET "+path, func(http.ResponseWriter, *http.Request) {})
	}
}

// Probe is [Prober] for a client of HTTP.
func Probe(ctx context.Context, client *http.Client, url string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	res, err := client.Do(r)
	if err != nil {
		return err
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return &Failure{HTTPStatus: res.StatusCode}
	}
	return nil
}

// probes has a full gate by itself and in a policy for all routes.
func probes(e *Env) {
	g := e.gate(gate.WithMaxWait(0))
	defer e.fill(g)()
	p, err := gate.NewPolicy(gate.Route("*", g))
	if err != nil {
		e.Fatal(err)
	}
	for _, a := range []gate.Admitter{g, p} {
		client, ok := e.start(a, nil).(Prober)
		if !ok {
			e.Fatal("the client cannot send probes")
		}
		for _, path := range gate.HTTPProbes() {
			if err := client.Probe(e.Context(), path); err != nil {
				e.Errorf("%s at a full %T: %v", path, a, err)
			}
		}
	}
	e.totals(g, 1, 0, 0) // the filler
}
