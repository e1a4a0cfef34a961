package interceptor_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor"
	"github.com/rpcgate/rpcgate/interceptor/httpgate"
)

// noLister is an Admitter that does not list its gates.
type noLister struct{}

func (noLister) Acquire(context.Context, gate.Call) (gate.Lease, error) { return gate.Lease{}, nil }

// wrapper is an Admitter around another one.
type wrapper struct{ gate.Admitter }

func (w wrapper) Unwrap() gate.Admitter { return w.Admitter }

func TestMistakesWithKeysPanic(t *testing.T) {
	plain, other := gate.Must(gate.New("db", 4)), gate.Must(gate.New("reports", 2))
	keyed := gate.Must(gate.New("keyed", 4, gate.WithKeyLimit(2)))
	shared := gate.Must(gate.New("shared", 4, gate.WithKeyShare(0.5)))
	policy := func(rules ...gate.Rule) gate.Admitter {
		p, err := gate.NewPolicy(rules...)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	byIP, byHeader := interceptor.WithKeyFromRemoteIP(), interceptor.WithKeyFromHeader("X-Tenant")
	byFunc := interceptor.WithKeyFunc(func(context.Context, gate.Call, interceptor.Metadata) string { return "" })
	const noKeys = "httpgate: WithKeyFromRemoteIP: want a gate that uses keys, as with gate.WithKeyLimit, got only "
	for name, test := range map[string]struct {
		admitter gate.Admitter
		options  []interceptor.Option
		want     string // "": no panic
	}{
		"a gate without keys":     {plain, []interceptor.Option{byIP}, noKeys + `["db"]`},
		"a chain without keys":    {gate.Chain(plain, other), []interceptor.Option{byIP}, noKeys + `["reports" "db"]`},
		"a policy without keys":   {policy(gate.Route("/a", plain), gate.Route("/b", other)), []interceptor.Option{byIP}, noKeys + `["db" "reports"]`},
		"a wrapper without keys":  {wrapper{wrapper{plain}}, []interceptor.Option{byIP}, noKeys + `["db"]`},
		"a gate with a limit":     {keyed, []interceptor.Option{byIP}, ""},
		"a gate with a share":     {shared, []interceptor.Option{byIP}, ""},
		"a wrapper with a limit":  {wrapper{keyed}, []interceptor.Option{byIP}, ""},
		"a chain with a limit":    {gate.Chain(plain, keyed), []interceptor.Option{byIP}, ""},
		"a policy with a limit":   {policy(gate.Route("/a", plain), gate.Route("/b", keyed)), []interceptor.Option{byIP}, ""},
		"nobody knows":            {noLister{}, []interceptor.Option{byIP}, ""},
		"a policy without a gate": {policy(gate.Exempt("/a")), []interceptor.Option{byIP}, ""},
		"two options": {keyed, []interceptor.Option{byHeader, byIP},
			"httpgate: WithKeyFromRemoteIP: want one option that finds keys, got WithKeyFromHeader before it"},
		"three options": {keyed, []interceptor.Option{byIP, byFunc, byIP},
			"httpgate: WithKeyFunc: want one option that finds keys, got WithKeyFromRemoteIP before it\n" +
				"httpgate: WithKeyFromRemoteIP: want one option that finds keys, got WithKeyFromRemoteIP before it"},
		"no keys, and two options": {plain, []interceptor.Option{byIP, byHeader},
			noKeys + `["db"]` + "\nhttpgate: WithKeyFromHeader: want one option that finds keys, got WithKeyFromRemoteIP before it"},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if got := recover(); got != nil && fmt.Sprint(got) != test.want || got == nil && test.want != "" {
					t.Errorf("panic %v\nwant  %s", got, test.want)
				}
			}()
			httpgate.NewMiddleware(test.admitter, test.options...)
		})
	}
}

func TestTrustedProxiesMayBeWrittenAsIPv6(t *testing.T) {
	for _, proxy := range []string{"10.0.0.1", "10.0.0.0/8", "::ffff:10.0.0.1", "::ffff:10.0.0.0/104"} {
		var key string
		g := gate.Must(gate.New("db", 1, gate.WithKeyLimit(1), gate.WithOnEvent(func(_ context.Context, e gate.Event) { key = e.Call.Key })))
		h := httpgate.NewMiddleware(g, interceptor.WithTrustedProxies(proxy), interceptor.WithKeyFromRemoteIP())(http.NotFoundHandler())
		r := httptest.NewRequest("GET", "/a", nil)
		r.RemoteAddr = "10.0.0.1:1234"
		r.Header.Set("X-Forwarded-For", "192.0.2.7")
		h.ServeHTTP(httptest.NewRecorder(), r)
		if key != "192.0.2.7" {
			t.Errorf("with the proxy %s the key is %q, want the address of its client", proxy, key)
		}
	}
}
