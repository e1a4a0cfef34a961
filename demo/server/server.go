package server

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"

	"github.com/rpcgate/rpcgate/demo/store"
	"github.com/rpcgate/rpcgate/interceptor"
	"github.com/rpcgate/rpcgate/interceptor/connectgate"
	"github.com/rpcgate/rpcgate/interceptor/grpcgate/grpchealth"
	"github.com/rpcgate/rpcgate/interceptor/httpgate"
)

// Pool is how many database connections the demo has. 20 is a usual size for a pool, and far more than an embedded
// database can use on two cores.
const Pool = 20

// Server is the demo's server.
type Server struct {
	gates  *Gates
	probed *health.Server
	grpc   *grpc.Server
	http   *http.Server
	stop   *httpgate.Stopper
	ended  context.Context    // done when the server ends
	end    context.CancelFunc // ends it, and calls that would never end by themselves: see endable
}

// New returns a server of the orders in st. If gates is nil, every call goes straight to the pool of the database. The
// observer and ops may be nil, too.
func New(st *store.Store, gates *Gates, observe Observer, ops *Ops) *Server {
	if observe == nil {
		observe = func(string) func() { return func() {} }
	}
	s := &shop{store: st, observe: observe, now: time.Now}
	probed, byConnect := health.NewServer(), newConnectHealth(gates.all())
	g := newGRPCServer(s, probed, append(ops.grpcOptions(), gates.grpcOptions()...)...)
	c := newConnectHandler(s, byConnect, append(ops.connectOptions(), gates.connectOptions()...)...)
	c.Handle(restGRPCPath, newRESTHandlerGRPC(restGRPCPath, g))
	ended, end := context.WithCancel(context.Background())
	mux := http.NewServeMux()
	web := &http.Server{
		Handler:   endable(ended, connectgate.TrailersOnly(split(g, mux))),
		Protocols: protocols(),
		HTTP2:     &http.HTTP2Config{MaxConcurrentStreams: 1000},
	}
	web.RegisterOnShutdown(end)
	stop := httpgate.NewStopper(web,
		interceptor.WithNotReady(probed.Shutdown), interceptor.WithNotReady(byConnect.shutdown), ops.grace())
	httpgate.ConfigureServer(web) // last, when all else is set
	mux.Handle("/", withCORS(c))
	mux.Handle("/readyz", stop.Ready())
	ops.mount(mux, gates.all())
	return &Server{
		gates:  gates,
		probed: probed,
		grpc:   g,
		http:   web,
		stop:   stop,
		ended:  ended,
		end:    end,
	}
}

// protocols returns HTTP/1.1, for curl and browsers, and HTTP/2 without TLS, for gRPC.
func protocols() *http.Protocols {
	p := new(http.Protocols)
	p.SetHTTP1(true)
	p.SetUnencryptedHTTP2(true)
	return p
}

// split sends each request to the host that speaks its protocol.
//
// The other way to share a port is cmux, which gives a whole connection to one host after a look at its first request.
// That goes wrong when a proxy in front mixes clients on one connection. To see the first request, cmux also has to
// send HTTP/2 settings of its own, and net/http takes their acknowledgement for an attack.
//
// The price of deciding by request is that grpc.Server runs behind net/http. It is slower there than on a listener of
// its own, and needs connectgate.TrailersOnly around it: otherwise gRPC clients would not retry after a refusal.
func split(grpcHost, rest http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor == 2 && isGRPC(r.Header.Get("Content-Type")) {
			grpcHost.ServeHTTP(w, r)
			return
		}
		rest.ServeHTTP(w, r)
	})
}

// isGRPC matches application/grpc and application/grpc+proto, but not application/grpc-web.
func isGRPC(contentType string) bool {
	rest, ok := strings.CutPrefix(contentType, "application/grpc")
	return ok && (rest == "" || rest[0] == '+' || rest[0] == ';')
}

// endable ends calls of health and reflection when ended is done. They may last forever, and no gate waits for them.
func endable(ended context.Context, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/grpc.") {
			ctx, cancel := context.WithCancel(r.Context())
			defer cancel()
			defer context.AfterFunc(ended, cancel)()
			r = r.WithContext(ctx)
		}
		next.ServeHTTP(w, r)
	})
}

// Serve accepts connections on l until Shutdown, then returns nil.
func (s *Server) Serve(l net.Listener) error {
	go grpchealth.Report(s.ended, s.probed, HealthOfGates, s.gates.all()...)
	if err := s.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Shutdown tells the clients of health services that the server is not ready, sends all clients elsewhere, and waits
// for the calls in flight, those that wait at a gate among them. When ctx ends, it ends what is left.
func (s *Server) Shutdown(ctx context.Context) error {
	err := s.stop.Shutdown(ctx, s.gates.all()...)
	s.grpc.Stop()
	return err
}
