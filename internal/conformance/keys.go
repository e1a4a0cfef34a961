package conformance

import (
	"context"
	"strings"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor"
)

func keyCases() []Case {
	const tenant, forwarded = "x-tenant", "x-forwarded-for"
	byTenant := []interceptor.Option{interceptor.WithKeyFromHeader(tenant)}
	byAddress := []interceptor.Option{interceptor.WithKeyFromRemoteIP(), interceptor.WithTrustedProxies(RemoteIP)}
	long := strings.Repeat("k", 128)
	row := func(name string, c clients) Case { return Case{Name: name, Shapes: []Shape{Unary}, Run: c.run} }
	return []Case{
		row("KeysHaveTheirOwnShare", clients{byTenant, tenant, []keyed{
			{"a", true}, {"b", true}, {"a", false}}, false}),
		row("LongKeysThatDifferAtTheEndAreToldApart", clients{byTenant, tenant, []keyed{
			{long, true}, {long + "a", true}, {long + "b", true}, {long + "a", false}}, false}),
		row("CallsWithoutAKeyAreOneClient", clients{byTenant, tenant, []keyed{
			{"", true}, {"", false}, {"a", true}}, false}),
		row("CallsWithoutAKeyMayBeExempt", clients{byTenant, tenant, []keyed{
			{"", true}, {"", true}, {"a", true}, {"a", false}}, true}),
		row("AddressesOfOneNetworkAreOneClient", clients{byAddress, forwarded, []keyed{
			{"2001:db8:0:1::1", true}, {"2001:db8:0:1:ffff::2", false}, {"2001:db8:0:2::1", true}}, false}),
		row("AddressIsOneClientHoweverItIsWritten", clients{byAddress, forwarded, []keyed{
			{"198.51.100.7", true}, {"::ffff:198.51.100.7", false}, {"198.51.100.8", true}}, false}),
	}
}

// keyed is a call with a value of the header that its key comes from, and whether it is
// admitted.
type keyed struct {
	value    string // "": without the header
	admitted bool
}

// clients has calls that come one after the other and stay, at a gate that admits one
// call of each key.
type clients struct {
	options []interceptor.Option
	header  string // that the key comes from
	calls   []keyed
	exempt  bool // calls without a key
}

func (c clients) run(e *Env) {
	gateOptions := []gate.Option{gate.WithKeyLimit(1), gate.WithMaxWait(0)}
	if c.exempt {
		gateOptions = append(gateOptions, gate.WithKeylessExempt())
	}
	g := e.gateOf(10, gateOptions...)
	hold := make(chan struct{})
	client := e.start(g, func(ctx context.Context, shape Shape, s Stream) error {
		<-hold
		return Echo(ctx, shape, s)
	}, c.options...)
	var results []func() error
	inFlight := int64(0)
	for _, call := range c.calls {
		header := map[string]string{c.header: call.value}
		if call.value == "" {
			header = nil
		}
		results = append(results, e.background(func() error {
			_, err := e.callWith(e.Context(), client, Unary, "hello", header)
			return err
		}))
		if call.admitted {
			inFlight++
		}
		if n := g.InFlight(); n != inFlight {
			e.Errorf("%d in flight after the call of %q, want %d", n, call.value, inFlight)
			break
		}
	}
	close(hold)
	for i, result := range results {
		err := result()
		switch {
		case c.calls[i].admitted && err != nil:
			e.Errorf("the call of %q: %v", c.calls[i].value, err)
		case !c.calls[i].admitted && err != nil:
			if f := e.failure(err); f.ErrorInfo != nil && f.ErrorInfo.Reason != "KEY_LIMIT" {
				e.Errorf("the call of %q got %v, want it refused for its key", c.calls[i].value, f)
			}
		}
	}
	e.inFlight(g, 0)
}
