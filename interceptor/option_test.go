package interceptor_test

import (
	"strings"
	"testing"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor"
	"github.com/rpcgate/rpcgate/interceptor/httpgate"
)

func TestBadValuesAreAllToldAtOnce(t *testing.T) {
	want := strings.Join([]string{
		`httpgate: WithKeyFromHeader: want the name of a header, got ""`,
		`httpgate: WithKeyFunc: want a function, got nil`,
		`httpgate: WithKeyFromRemoteIPPrefix: want prefixes of 1 to 32 and 1 to 128 bits, got 0 and 64`,
		`httpgate: WithKeyFromRemoteIPPrefix: want prefixes of 1 to 32 and 1 to 128 bits, got 33 and 64`,
		`httpgate: WithKeyFromRemoteIPPrefix: want prefixes of 1 to 32 and 1 to 128 bits, got 32 and 0`,
		`httpgate: WithKeyFromRemoteIPPrefix: want prefixes of 1 to 32 and 1 to 128 bits, got 32 and 129`,
		`httpgate: WithPriorityFromHeader: want the name of a header, got ""`,
		`httpgate: WithTrustedProxies: want addresses or prefixes, got "proxy.test"`,
		`httpgate: WithTrustedProxies: want addresses or prefixes, got "10.0.0.0/33"`,
		`httpgate: WithCost: want a function, got nil`,
		`httpgate: WithSize: want a function, got nil`,
		`httpgate: WithUnknownSize: want a size above 0, got 0`,
		`httpgate: WithUnknownSize: want a size above 0, got -1`,
		`httpgate: WithMinRate: want a rate above 0, got 0`,
		`httpgate: WithMinRate: want a grace of 0 or more, got -1ns`,
		`httpgate: WithMeterProvider: want a provider, got nil`,
		`httpgate: WithTracerProvider: want a provider, got nil`,
	}, "\n")
	defer func() {
		if got := recover(); got != want {
			t.Errorf("panic\n%v\nwant\n%s", got, want)
		}
	}()
	httpgate.NewMiddleware(gate.Must(gate.New("db", 1)),
		interceptor.WithKeyFromHeader(""),
		interceptor.WithKeyFunc(nil),
		interceptor.WithKeyFromRemoteIPPrefix(0, 64),
		interceptor.WithKeyFromRemoteIPPrefix(33, 64),
		interceptor.WithKeyFromRemoteIPPrefix(32, 0),
		interceptor.WithKeyFromRemoteIPPrefix(32, 129),
		interceptor.WithPriorityFromHeader(""),
		interceptor.WithTrustedProxies("10.0.0.0/8", "proxy.test", "::1", "10.0.0.0/33"),
		interceptor.WithCost(nil),
		interceptor.WithSize(nil),
		interceptor.WithUnknownSize(0),
		interceptor.WithUnknownSize(-1),
		interceptor.WithMinRate(0, -1),
		interceptor.WithMeterProvider(nil),
		interceptor.WithTracerProvider(nil),
	)
}
