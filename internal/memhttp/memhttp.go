// Package memhttp serves HTTP over an in-memory network, for tests: HTTP/1.1 and
// HTTP/2 on one address, with TLS and without. It works in a synctest bubble.
package memhttp

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
)

// Addr is the address that clients seem to have.
const Addr = "192.0.2.7:1234"

// Server is an HTTP server on an in-memory network.
type Server struct {
	// URL is the address of the server, as in "http://in-memory.test".
	URL string

	listener *listener
	roots    *x509.CertPool // nil: without TLS
	testing  testing.TB
}

// Start serves h without TLS, HTTP/1.1 and HTTP/2 with prior knowledge, until
// the test ends.
func Start(t testing.TB, h http.Handler) *Server {
	return StartServer(t, &http.Server{Handler: h})
}

// StartServer is Start for a server of the test's own, whose Protocols and ErrorLog it
// sets.
func StartServer(t testing.TB, srv *http.Server) *Server {
	s := &Server{URL: "http://in-memory.test", listener: newListener(), testing: t}
	configure(srv)
	s.serve(srv, func() error { return srv.Serve(s.listener) })
	return s
}

// StartTLS serves h with TLS.
func StartTLS(t testing.TB, h http.Handler) *Server {
	s := &Server{URL: "https://in-memory.test", listener: newListener(), testing: t}
	srv := &http.Server{Handler: h}
	configure(srv)
	srv.TLSConfig, s.roots = NewTLS(t)
	s.serve(srv, func() error { return srv.ServeTLS(s.listener, "", "") })
	return s
}

func configure(srv *http.Server) {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	// What it logs are panics, which tests cause on purpose.
	srv.Protocols, srv.ErrorLog = &protocols, log.New(io.Discard, "", 0)
}

func (s *Server) serve(srv *http.Server, serve func() error) {
	done := make(chan error, 1)
	go func() { done <- serve() }()
	s.testing.Cleanup(func() {
		if err := srv.Close(); err != nil {
			s.testing.Errorf("memhttp: close: %v", err)
		}
		if err := <-done; !errors.Is(err, http.ErrServerClosed) {
			s.testing.Errorf("memhttp: serve: %v", err)
		}
	})
}

// Dial returns a new connection to the server, closed when the test ends.
func (s *Server) Dial(ctx context.Context) (net.Conn, error) {
	conn, err := s.listener.dial(ctx)
	if err != nil {
		return nil, err
	}
	s.testing.Cleanup(func() { _ = conn.Close() })
	return conn, nil
}

// Client returns an HTTP/1.1 client.
func (s *Server) Client() *http.Client {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	return s.client(&protocols)
}

// ClientHTTP2 returns an HTTP/2 client.
func (s *Server) ClientHTTP2() *http.Client {
	var protocols http.Protocols
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	return s.client(&protocols)
}

func (s *Server) client(protocols *http.Protocols) *http.Client {
	transport := &http.Transport{
		DialContext:       func(ctx context.Context, _, _ string) (net.Conn, error) { return s.listener.dial(ctx) },
		Protocols:         protocols,
		ForceAttemptHTTP2: protocols.HTTP2(),
		TLSClientConfig:   s.TLS(),
	}
	s.testing.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// TLS is what a client needs to trust the server, or nil without TLS.
func (s *Server) TLS() *tls.Config {
	if s.roots == nil {
		return nil
	}
	return &tls.Config{RootCAs: s.roots, ServerName: "in-memory.test"}
}

// Connections returns how many connections clients have made so far.
func (s *Server) Connections() int { return int(s.listener.dialed.Load()) }

// listener accepts connections that dial makes.
type listener struct {
	dialed atomic.Int64
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newListener() *listener {
	return &listener{conns: make(chan net.Conn), closed: make(chan struct{})}
}

func (l *listener) dial(ctx context.Context) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case l.conns <- conn{server}:
		l.dialed.Add(1)
		return client, nil
	case <-l.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *listener) Addr() net.Addr { return address("in-memory.test:80") }

// conn has a peer with an address.
type conn struct{ net.Conn }

func (conn) RemoteAddr() net.Addr { return address(Addr) }

type address string

func (address) Network() string  { return "tcp" }
func (a address) String() string { return string(a) }
