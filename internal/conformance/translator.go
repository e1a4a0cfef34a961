package conformance

import (
	"context"
	"strings"

	"github.com/rpcgate/rpcgate/gate"
)

func translatorCases() []Case {
	return []Case{
		{Name: "RejectionBeforeTheGateIsARefusal", Run: translated},
		{Name: "RejectionThatNobodyTranslatesLeaksNothing", Run: untranslated},
	}
}

// NoInterceptors is why a host lacks these cases.
const NoInterceptors = "a net/http handler returns no error: it calls httpgate.WriteRejection"

// translated has an interceptor before the gate with a gate of its own, which is full.
func translated(e *Env) {
	auth := e.gate(gate.WithMaxWait(0))
	defer e.fill(auth)()
	e.checkRefusal(e.refused(e.Context(), e.startAuthenticating(auth, true), nil), e.Shape, busy("LIMIT"))
}

// untranslated is the same without a translator. What the client reads depends on the
// host.
func untranslated(e *Env) {
	auth := e.gate(gate.WithMaxWait(0))
	defer e.fill(auth)()
	f := e.refused(e.Context(), e.startAuthenticating(auth, false), nil)
	for _, internal := range []string{secret, "1 of 1", "in_flight", "rejected", "limit"} {
		if strings.Contains(f.Dump, internal) {
			e.Errorf("the client sees %q in\n%s", internal, f.Dump)
		}
	}
}

// startAuthenticating serves calls that must pass the gate auth before the server's.
func (e *Env) startAuthenticating(auth *gate.Gate, translated bool) Client {
	return e.Host.Start(e.T, Setup{
		Configure: configure,
		Admitter:  e.gate(), Handler: e.unreachable(), Translated: translated,
		Before: func(ctx context.Context) error {
			return auth.Do(ctx, gate.Call{}, func(context.Context) error { return nil })
		},
	})
}
