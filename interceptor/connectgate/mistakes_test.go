package connectgate_test

import (
	"testing"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor"
	"github.com/rpcgate/rpcgate/interceptor/connectgate"
)

func TestMistakesPanicAndSayWhatIsWrong(t *testing.T) {
	const noGate = "connectgate: Admitter: want a gate or a policy, got nil"
	g := gate.Must(gate.New("db", 1))
	for _, test := range []struct {
		want string
		f    func()
	}{
		{noGate, func() { connectgate.NewInterceptor(nil) }},
		{noGate, func() { connectgate.NewServerInterceptor(nil) }},
		{noGate, func() { connectgate.NewClientInterceptor(nil) }},
		{noGate + "\nconnectgate: WithCost: want a function, got nil", func() {
			connectgate.NewMiddleware(nil, interceptor.WithCost(nil))
		}},
		{"connectgate: NewMiddleware: want a handler, got nil", func() { connectgate.NewMiddleware(g)(nil) }},
		{"connectgate: TrailersOnly: want a handler, got nil", func() { connectgate.TrailersOnly(nil) }},
		{"connectgate: Transcoded: want a handler, got nil", func() { connectgate.Transcoded(nil) }},
	} {
		func() {
			defer func() {
				if got := recover(); got != test.want {
					t.Errorf("panic %q, want %q", got, test.want)
				}
			}()
			test.f()
		}()
	}
}
