package httpgate_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor/httpgate"
	"github.com/rpcgate/rpcgate/internal/memhttp"
)

// windows returns what the server lets a new HTTP/2 client send unasked: on a stream, and on the connection.
func windows(t *testing.T, s *memhttp.Server) (stream, connection uint32) {
	t.Helper()
	conn, err := s.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	framer := http2.NewFramer(conn, conn)
	go func() {
		_, _ = conn.Write([]byte(http2.ClientPreface))
		_ = framer.WriteSettings()
	}()
	const initial = 65535 // RFC 9113, section 6.9.2
	stream, connection = initial, initial
	for range 3 { // settings, their acknowledgement, and the window of the connection
		frame, err := framer.ReadFrame()
		if err != nil {
			t.Fatal(err)
		}
		switch f := frame.(type) {
		case *http2.SettingsFrame:
			if v, ok := f.Value(http2.SettingInitialWindowSize); ok {
				stream = v
			}
		case *http2.WindowUpdateFrame:
			if f.StreamID == 0 {
				connection += f.Increment
			}
		}
	}
	return stream, connection
}

func TestTheWindowsThatClientsSee(t *testing.T) {
	for name, test := range map[string]struct {
		set                *http.HTTP2Config
		opts               []httpgate.ServerOption
		stream, connection uint32
	}{
		"default":        {nil, nil, 1 << 20, 64 << 20},
		"small":          {nil, []httpgate.ServerOption{httpgate.WithSmallWindows()}, 64 << 10, 16 << 20},
		"connection":     {&http.HTTP2Config{MaxReceiveBufferPerConnection: 2 << 20}, nil, 1 << 20, 2 << 20},
		"stream":         {&http.HTTP2Config{MaxReceiveBufferPerStream: 128 << 10}, nil, 128 << 10, 64 << 20},
		"something else": {&http.HTTP2Config{MaxConcurrentStreams: 9}, nil, 1 << 20, 64 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				srv := &http.Server{HTTP2: test.set}
				var before http.HTTP2Config
				if test.set != nil {
					before = *test.set
				}
				httpgate.ConfigureServer(srv, test.opts...)
				if test.set != nil && (test.set.MaxReceiveBufferPerConnection != before.MaxReceiveBufferPerConnection ||
					test.set.MaxReceiveBufferPerStream != before.MaxReceiveBufferPerStream) {
					t.Error("the program's own HTTP2Config was changed")
				}
				stream, connection := windows(t, memhttp.StartServer(t, srv))
				if stream != test.stream || connection != test.connection {
					t.Errorf("a stream has %d and a connection %d bytes, want %d and %d", stream, connection, test.stream, test.connection)
				}
			})
		})
	}
}

// TestConfigureServerKeepsWhatIsSet has a handler, a ConnContext and a Stopper, before and after.
func TestConfigureServerKeepsWhatIsSet(t *testing.T) {
	type key struct{}
	for _, before := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Context().Value(key{}) != "kept" {
					t.Error("the ConnContext was not called")
				}
				w.WriteHeader(http.StatusTeapot)
			})}
			srv.ConnContext = func(ctx context.Context, _ net.Conn) context.Context { return context.WithValue(ctx, key{}, "kept") }
			var stopper *httpgate.Stopper
			if before {
				stopper = httpgate.NewStopper(srv)
			}
			httpgate.ConfigureServer(srv)
			if !before {
				stopper = httpgate.NewStopper(srv)
			}
			s := memhttp.StartServer(t, srv)
			for _, client := range []*http.Client{s.Client(), s.ClientHTTP2()} {
				res, err := client.Post(s.URL, "text/plain", strings.NewReader("hello"))
				if err != nil || res.StatusCode != http.StatusTeapot {
					t.Fatalf("got %v and error %v", res, err)
				}
				_ = res.Body.Close()
				client.CloseIdleConnections()
			}
			if err := stopper.Shutdown(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestConfigureServerUsesTheDefaultMux(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := &http.Server{}
		httpgate.ConfigureServer(srv)
		s := memhttp.StartServer(t, srv)
		res, err := s.Client().Get(s.URL + "/nowhere")
		if err != nil || res.StatusCode != http.StatusNotFound {
			t.Fatalf("got %v and error %v", res, err)
		}
		_ = res.Body.Close()
	})
}

func TestTheTimeoutsOfAConfiguredServer(t *testing.T) {
	const set = 7 * time.Second
	for name, test := range map[string]struct {
		srv          *http.Server
		header, idle time.Duration
	}{
		"unset":  {&http.Server{}, 10 * time.Second, 2 * time.Minute},
		"header": {&http.Server{ReadHeaderTimeout: set}, set, 2 * time.Minute},
		"idle":   {&http.Server{IdleTimeout: set}, 10 * time.Second, set},
		"read":   {&http.Server{ReadTimeout: set}, 0, 0},
		"off":    {&http.Server{ReadHeaderTimeout: -1, IdleTimeout: -1}, -1, -1},
	} {
		if httpgate.ConfigureServer(test.srv); test.srv.ReadHeaderTimeout != test.header || test.srv.IdleTimeout != test.idle {
			t.Errorf("%s: %s and %s, want %s and %s", name, test.srv.ReadHeaderTimeout, test.srv.IdleTimeout, test.header, test.idle)
		}
	}
}

// TestAClientThatSaysNothingIsDisconnected has connections without a request, in the middle of one, and after one.
func TestAClientThatSaysNothingIsDisconnected(t *testing.T) {
	for name, test := range map[string]struct {
		sent string
		want time.Duration
	}{
		"no request":            {"", 10 * time.Second},
		"a part of its headers": {"GET / HTTP/1.1\r\nHost:", 10 * time.Second},
		"after a request":       {"GET / HTTP/1.1\r\nHost: a\r\n\r\n", 2 * time.Minute},
	} {
		synctest.Test(t, func(t *testing.T) {
			srv := &http.Server{Handler: http.NotFoundHandler()}
			httpgate.ConfigureServer(srv)
			conn, err := memhttp.StartServer(t, srv).Dial(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			if test.sent != "" {
				go func() { _, _ = io.WriteString(conn, test.sent) }()
			}
			_, err = io.Copy(io.Discard, conn) // to the end of the connection
			if took := time.Since(began); err != nil || took.Round(time.Second) != test.want {
				t.Errorf("%s: the connection ended after %s with error %v, want %s", name, took, err, test.want)
			}
		})
	}
}

func TestMistakesOfConfigureServerPanic(t *testing.T) {
	for want, f := range map[string]func(){
		"httpgate: ConfigureServer: want a server, got nil": func() { httpgate.ConfigureServer(nil) },
		"httpgate: option 0: want an Option, got nil":       func() { httpgate.ConfigureServer(&http.Server{}, nil) },
	} {
		func() {
			defer func() {
				if got := recover(); got != want {
					t.Errorf("got the panic %v, want %s", got, want)
				}
			}()
			f()
		}()
	}
}

// TestAHandlerThatPanicsAfterARefusalAnswersNothing has a handler with a bug: its client must not see an empty 200.
func TestAHandlerThatPanicsAfterARefusalAnswersNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gate.Must(gate.New("db", 1, gate.WithMaxWait(0)))
		_, _ = g.TryAcquire(gate.Call{})
		srv := &http.Server{}
		srv.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, err := g.TryAcquire(gate.Call{})
			httpgate.WriteRejection(brokenWriter{w}, r, err)
		})
		httpgate.ConfigureServer(srv)
		conn, err := memhttp.StartServer(t, srv).Dial(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		go func() { _, _ = io.WriteString(conn, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\nx") }()
		if answer, _ := io.ReadAll(conn); len(answer) != 0 {
			t.Errorf("the client got %q", answer)
		}
	})
}

// brokenWriter panics when headers are written.
type brokenWriter struct{ http.ResponseWriter }

func (w brokenWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (brokenWriter) WriteHeader(int) { panic(http.ErrAbortHandler) }
