package grpcgate_test

import (
	"context"
	"net"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor"
	"github.com/rpcgate/rpcgate/interceptor/grpcgate"
)

// strAddr is what grpc.Server.ServeHTTP gives as the peer's address.
type strAddr string

func (strAddr) Network() string  { return "tcp" }
func (a strAddr) String() string { return string(a) }

func TestCallersAddressIsFoundOnEveryTransport(t *testing.T) {
	proxy := interceptor.WithTrustedProxies("10.0.0.0/8")
	for name, test := range map[string]struct {
		addr    net.Addr
		md      metadata.MD
		options []grpcgate.Option
		want    string
	}{
		"tcp":                    {addr: &net.TCPAddr{IP: net.IPv4(192, 0, 2, 7), Port: 80}, want: "192.0.2.7"},
		"tcp6":                   {addr: &net.TCPAddr{IP: net.ParseIP("2001:db8::7"), Port: 80}, want: "2001:db8::7"},
		"ServeHTTP":              {addr: strAddr("192.0.2.7:80"), want: "192.0.2.7"},
		"unix socket":            {addr: &net.UnixAddr{Name: "@", Net: "unix"}, want: ""},
		"no peer":                {want: ""},
		"untrusted proxy":        {addr: strAddr("192.0.2.7:80"), md: metadata.Pairs("x-forwarded-for", "1.1.1.1"), options: []grpcgate.Option{proxy}, want: "192.0.2.7"},
		"header without option":  {addr: strAddr("10.0.0.1:80"), md: metadata.Pairs("x-forwarded-for", "1.1.1.1"), want: "10.0.0.1"},
		"trusted proxy":          {addr: strAddr("10.0.0.1:80"), md: metadata.Pairs("x-forwarded-for", "6.6.6.6, 192.0.2.7, 10.0.0.2"), options: []grpcgate.Option{proxy}, want: "192.0.2.7"},
		"header on several rows": {addr: strAddr("10.0.0.1:80"), md: metadata.Pairs("x-forwarded-for", "6.6.6.6", "x-forwarded-for", "192.0.2.7"), options: []grpcgate.Option{proxy}, want: "192.0.2.7"},
	} {
		t.Run(name, func(t *testing.T) {
			var calls []gate.Call
			g := newGate(t, "db", decisions(&calls), gate.WithKeyLimit(1))
			ctx := metadata.NewIncomingContext(t.Context(), test.md)
			if test.addr != nil {
				ctx = peer.NewContext(ctx, &peer.Peer{Addr: test.addr})
			}
			intercept := grpcgate.UnaryServerInterceptor(g, append(test.options, interceptor.WithKeyFromRemoteIPPrefix(32, 128))...)
			_, err := intercept(ctx, nil, &grpc.UnaryServerInfo{FullMethod: "/a.B/C"},
				func(context.Context, any) (any, error) { return nil, nil })
			if err != nil || len(calls) != 1 {
				t.Fatalf("got the calls %+v and error %v", calls, err)
			}
			if calls[0].RemoteIP != test.want || calls[0].Key != test.want {
				t.Errorf("remote ip %q and key %q, want %q", calls[0].RemoteIP, calls[0].Key, test.want)
			}
		})
	}
}
