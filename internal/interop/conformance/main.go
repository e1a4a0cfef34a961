// Command conformance is a server for the suite with which Connect tests implementations, connectrpc.com/conformance:
// one of Connect v1, of Connect v2 or of grpc-go, plain or, with -wrapped, behind connectgate.TrailersOnly and
// connectgate.NewMiddleware, which must make no difference. Its test runs the suite against each, both ways:
//
//	go generate ./... && go test ./...
//
// The first command makes the code of the suite's service, which is not committed; without it nothing here builds. With
// -race the servers have the race detector, too.
//
// The suite starts the server, tells it by standard input what to serve, and reads from its standard output where.
package main

//go:generate ./generate

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor/connectgate"
	conformancev1 "github.com/rpcgate/rpcgate/internal/interop/conformance/made-by-go-generate/connectrpc/conformance/v1"
	"github.com/rpcgate/rpcgate/internal/interop/conformance/made-by-go-generate/connectrpc/conformance/v1/conformancev1connect"
)

func main() {
	server := flag.String("server", "connect-v1", "which to run: connect-v1, connect-v2 or grpc-go")
	wrapped := flag.Bool("wrapped", false, "put connectgate.TrailersOnly and connectgate.NewMiddleware around the handler")
	flag.Parse()
	if err := run(*server, *wrapped, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "conformance:", err)
		os.Exit(1)
	}
}

// run serves what the request on in asks for, until the process is ended.
func run(server string, wrapped bool, in io.Reader, out io.Writer) error {
	var req conformancev1.ServerCompatRequest
	if err := readMessage(in, &req); err != nil {
		return err
	}
	h, err := handler(server, int(req.GetMessageReceiveLimit()))
	if err != nil {
		return err
	}
	if wrapped {
		wide := gate.Must(gate.New("wide", 10_000))
		h = connectgate.TrailersOnly(connectgate.NewMiddleware(wide)(h))
	}
	srv := &http.Server{
		Handler:           h,
		Protocols:         new(http.Protocols),
		ReadHeaderTimeout: 5 * time.Second,
		ErrorLog:          log.New(io.Discard, "", 0), // the suite breaks connections on purpose
	}
	switch req.GetHttpVersion() {
	case conformancev1.HTTPVersion_HTTP_VERSION_1:
		srv.Protocols.SetHTTP1(true)
	case conformancev1.HTTPVersion_HTTP_VERSION_2:
		srv.Protocols.SetHTTP2(true)
		srv.Protocols.SetUnencryptedHTTP2(true)
	default:
		return fmt.Errorf("no server for %v", req.GetHttpVersion())
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	addr := listener.Addr().(*net.TCPAddr)
	res := &conformancev1.ServerCompatResponse{Host: "127.0.0.1", Port: uint32(addr.Port)}
	serve := func() error { return srv.Serve(listener) }
	if req.GetUseTls() {
		if srv.TLSConfig, err = tlsConfig(&req); err != nil {
			return err
		}
		res.PemCert = req.GetServerCreds().GetCert()
		serve = func() error { return srv.ServeTLS(listener, "", "") }
	}
	if err := writeMessage(out, res); err != nil {
		return err
	}
	return serve()
}

func handler(server string, limit int) (http.Handler, error) {
	switch server {
	case "connect-v1":
		return connectV1(limit), nil
	case "connect-v2":
		return connectV2(limit), nil
	case "grpc-go":
		return grpcGo(limit), nil
	default:
		return nil, fmt.Errorf("no server %q", server)
	}
}

// bidiOverHTTP1 is for handlers of Connect, which refuse bidirectional streams over HTTP/1.1. The suite tests them all
// the same, half-duplex, and its own server does what is done here, too.
func bidiOverHTTP1(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor == 1 && strings.HasSuffix(r.URL.Path, conformancev1connect.ConformanceServiceBidiStreamProcedure) {
			r.ProtoMajor, r.ProtoMinor = 2, 0
		}
		h.ServeHTTP(w, r)
	})
}

func tlsConfig(req *conformancev1.ServerCompatRequest) (*tls.Config, error) {
	cert, err := tls.X509KeyPair(req.GetServerCreds().GetCert(), req.GetServerCreds().GetKey())
	if err != nil {
		return nil, err
	}
	config := &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}
	if clients := req.GetClientTlsCert(); len(clients) > 0 {
		config.ClientAuth = tls.RequireAndVerifyClientCert
		config.ClientCAs = x509.NewCertPool()
		if !config.ClientCAs.AppendCertsFromPEM(clients) {
			return nil, errors.New("the certificate of clients cannot be read")
		}
	}
	return config, nil
}

// readMessage and writeMessage know the suite's framing: four bytes of length, then the message.
func readMessage(r io.Reader, m proto.Message) error {
	var length [4]byte
	if _, err := io.ReadFull(r, length[:]); err != nil {
		return err
	}
	b := make([]byte, binary.BigEndian.Uint32(length[:]))
	if _, err := io.ReadFull(r, b); err != nil {
		return err
	}
	return proto.Unmarshal(b, m)
}

func writeMessage(w io.Writer, m proto.Message) error {
	b, err := proto.Marshal(m)
	if err != nil {
		return err
	}
	_, err = w.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...))
	return err
}
