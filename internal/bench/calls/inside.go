package calls

import (
	"context"
	"io"
	"net/http"
	"time"

	"connectrpc.com/connect"
	connectv2 "connectrpc.com/connect/v2"
	"google.golang.org/grpc"

	"github.com/rpcgate/rpcgate/internal/bench/echo"
)

// inside is a call that is going on, as an interceptor sees it. One of the four is set. Contexts, headers and peers are
// those of a real call, with a deadline; only what would come next is not.
type inside struct {
	grpc      *grpcCall
	connectV1 *connectCallV1
	connectV2 *connectCallV2
	http      *httpCall
}

// host names the host of the call, with the call's context.
func (i *inside) host() (string, context.Context) {
	switch {
	case i.grpc != nil:
		return "grpc-go", i.grpc.ctx
	case i.connectV1 != nil:
		return "Connect v1", i.connectV1.ctx
	case i.connectV2 != nil:
		return "Connect v2", i.connectV2.ctx
	default:
		return "net/http", i.http.r.Context()
	}
}

type grpcCall struct {
	ctx  context.Context
	req  any
	info *grpc.UnaryServerInfo
}

type connectCallV1 struct {
	ctx context.Context
	req connect.AnyRequest
	// What net/http middleware sees of it.
	w http.ResponseWriter
	r *http.Request
}

type connectCallV2 struct {
	ctx    context.Context
	spec   connectv2.Spec
	stream connectv2.ServerStream
}

type httpCall struct {
	w http.ResponseWriter
	r *http.Request
}

func inGRPC(f func(*inside)) error {
	server, err := echo.NewGRPC(nil, grpc.UnaryInterceptor(
		func(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
			f(&inside{grpc: &grpcCall{ctx, req, info}})
			return handler(ctx, req)
		}))
	if err != nil {
		return err
	}
	return callOnce(server)
}

func inConnectV1(f func(*inside)) error {
	call := new(connectCallV1)
	intercept := connect.UnaryInterceptorFunc(func(next connect.UnaryFunc) connect.UnaryFunc {
		return func(ctx context.Context, req connect.AnyRequest) (connect.AnyResponse, error) {
			call.ctx, call.req = ctx, req
			f(&inside{connectV1: call})
			return next(ctx, req)
		}
	})
	handler := echo.ConnectV1(intercept)
	server, err := echo.NewHTTP(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		call.w, call.r = w, r
		handler.ServeHTTP(w, r)
	}))
	if err != nil {
		return err
	}
	return callOnce(server)
}

func inConnectV2(f func(*inside)) error {
	server, err := echo.NewHTTP(echo.ConnectV2(func(next connectv2.ServerFunc) connectv2.ServerFunc {
		return func(ctx context.Context, spec connectv2.Spec, stream connectv2.ServerStream) error {
			f(&inside{connectV2: &connectCallV2{ctx, spec, stream}})
			return next(ctx, spec, stream)
		}
	}))
	if err != nil {
		return err
	}
	return callOnce(server)
}

func inHTTP(f func(*inside)) error {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /orders/{id}", func(w http.ResponseWriter, r *http.Request) {
		f(&inside{http: &httpCall{w, r}})
	})
	server, err := echo.NewHTTP(mux)
	if err != nil {
		return err
	}
	defer server.Close()
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	transport := &http.Transport{Protocols: &protocols}
	defer transport.CloseIdleConnections()
	res, err := (&http.Client{Transport: transport}).Get("http://" + server.Addr + "/orders/42")
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, res.Body)
	_ = res.Body.Close()
	return err
}

// callOnce makes the call in which things are measured, and closes the server.
func callOnce(server echo.Server) error {
	defer server.Close()
	client, err := echo.NewClient(server.Protocol, server.Addr, 100)
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	return client.Expect(ctx, false)
}
