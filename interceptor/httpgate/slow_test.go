package httpgate_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor"
	"github.com/rpcgate/rpcgate/interceptor/httpgate"
	"github.com/rpcgate/rpcgate/internal/memhttp"
)

// rawClient sends what it is told to over HTTP/1.1.
type rawClient struct {
	t    *testing.T
	conn net.Conn
	in   *bufio.Reader
}

func dialRaw(t *testing.T, s *memhttp.Server) *rawClient {
	t.Helper()
	conn, err := s.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return &rawClient{t, conn, bufio.NewReader(conn)}
}

func (c *rawClient) send(text string) {
	if _, err := io.WriteString(c.conn, strings.ReplaceAll(text, "\n", "\r\n")); err != nil {
		c.t.Error(err)
	}
}

// trickle sends a byte every 50 ms until the connection is closed.
func (c *rawClient) trickle() {
	go func() {
		for {
			if _, err := c.conn.Write([]byte("x")); err != nil {
				return
			}
			time.Sleep(50 * time.Millisecond)
		}
	}()
}

// answer reads the answer to what was sent.
func (c *rawClient) answer() (status int, body string, closed bool) {
	c.t.Helper()
	res, err := http.ReadResponse(c.in, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	text, err := io.ReadAll(res.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return res.StatusCode, string(text), res.Close
}

// leave closes the connection, and waits until the server has done the same.
func (c *rawClient) leave() {
	_ = c.conn.Close()
	time.Sleep(time.Second)
}

const slowPost = "POST / HTTP/1.1\nHost: test\nContent-Length: 1000000\n\n"

func cutOff(g *gate.Gate) uint64 { return g.Snapshot().Totals.CutOff[gate.ReasonSlowRequest] }

func TestSlowSenderGets408WhateverTheHandlerMakesOfIt(t *testing.T) {
	for name, handle := range map[string]func(w http.ResponseWriter, err error){
		"an error":   func(w http.ResponseWriter, err error) { http.Error(w, err.Error(), http.StatusBadRequest) },
		"a success":  func(w http.ResponseWriter, _ error) { fmt.Fprintln(w, "ok") },
		"a copy":     func(w http.ResponseWriter, _ error) { _, _ = io.Copy(w, onlyReader{strings.NewReader("ok")}) },
		"a flush":    func(w http.ResponseWriter, _ error) { w.(http.Flusher).Flush() },
		"no content": func(w http.ResponseWriter, _ error) { w.WriteHeader(http.StatusNoContent) },
		"nothing":    func(http.ResponseWriter, error) {},
	} {
		synctest.Test(t, func(t *testing.T) {
			g := newGate(t)
			s := memhttp.Start(t, httpgate.NewMiddleware(g)(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, err := io.ReadAll(r.Body)
				if !errors.Is(err, os.ErrDeadlineExceeded) {
					t.Errorf("Read returned %v, want a deadline that was exceeded", err)
				}
				handle(w, err)
			})))
			start := time.Now()
			c := dialRaw(t, s)
			defer c.leave()
			c.send(slowPost)
			c.trickle()
			status, body, closed := c.answer()
			if status != http.StatusRequestTimeout || !closed || body != `{"error":"slow_request"}`+"\n" {
				t.Errorf("%s: got %d, %q and closed %t, want 408 and a closed connection", name, status, body, closed)
			}
			if took := time.Since(start).Round(50 * time.Millisecond); took != 5100*time.Millisecond {
				t.Errorf("%s: cut off after %s, want 5 s and 0.1 s for 100 bytes", name, took)
			}
			synctest.Wait()
			if cutOff(g) != 1 || g.InFlight() != 0 {
				t.Errorf("%s: %d cut off and %d in flight, want 1 and 0", name, cutOff(g), g.InFlight())
			}
		})
	}
}

func TestSlowSenderOverHTTP2LeavesItsConnectionUsable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t)
		s := memhttp.Start(t, httpgate.NewMiddleware(g)(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, err := io.ReadAll(r.Body)
			fmt.Fprint(w, err)
		})))
		client := s.ClientHTTP2()
		body, unsent := io.Pipe()
		defer unsent.Close()
		res, err := client.Post(s.URL, "text/plain", body)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(res.Body)
		if res.StatusCode != http.StatusRequestTimeout || string(text) != `{"error":"slow_request"}`+"\n" || cutOff(g) != 1 {
			t.Errorf("got %s %q and %d cut off", res.Status, text, cutOff(g))
		}
		if res, _ := do(t, client, http.MethodGet, s.URL); res.StatusCode != http.StatusOK || s.Connections() != 1 {
			t.Errorf("then got %s over %d connections", res.Status, s.Connections())
		}
	})
}

// TestOnlySlowClientsAreCutOff has calls that take a minute or longer and must not be cut off.
func TestOnlySlowClientsAreCutOff(t *testing.T) {
	readAll := func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		fmt.Fprint(w, len(body), err)
	}
	for name, test := range map[string]struct {
		handle http.HandlerFunc
		opts   []httpgate.Option
	}{
		"a handler that thinks between reads": {handle: func(w http.ResponseWriter, r *http.Request) {
			n, err := io.CopyN(io.Discard, r.Body, 10)
			time.Sleep(time.Minute)
			body, end := io.ReadAll(r.Body)
			fmt.Fprint(w, n+int64(len(body)), errors.Join(err, end))
		}},
		"a handler that released its lease": {handle: func(w http.ResponseWriter, r *http.Request) {
			lease, _ := gate.LeaseFromContext(r.Context())
			lease.Release()
			readAll(w, r)
		}},
		"no bound":                           {handle: readAll, opts: []httpgate.Option{interceptor.WithoutMinRate()}},
		"a grace without an end":             {handle: readAll, opts: []httpgate.Option{interceptor.WithMinRate(1, math.MaxInt64)}},
		"a bound that it keeps":              {handle: readAll, opts: []httpgate.Option{interceptor.WithMinRate(1, 2*time.Minute)}},
		"streams of RPCs, which may be idle": {handle: readAll},
		"tunnels, which may be idle":         {handle: readAll},
	} {
		synctest.Test(t, func(t *testing.T) {
			g := newGate(t)
			s := memhttp.Start(t, httpgate.NewMiddleware(g, test.opts...)(test.handle))
			c := dialRaw(t, s)
			defer c.leave()
			kind := "text/plain"
			if strings.HasPrefix(name, "streams") {
				kind = "application/grpc"
			}
			method := "POST /"
			if strings.HasPrefix(name, "tunnels") {
				method = "CONNECT test:80"
			}
			c.send(method + " HTTP/1.1\nHost: test\nContent-Type: " + kind + "\nContent-Length: 20\n\n0123456789")
			if !strings.HasPrefix(name, "a handler that thinks") {
				time.Sleep(time.Minute)
			}
			c.send("0123456789")
			status, body, _ := c.answer()
			if status != 200 || body != "20 <nil>" && body != "20<nil>" || cutOff(g) != 0 {
				t.Errorf("%s: got %d, %q and %d cut off", name, status, body, cutOff(g))
			}
		})
	}
}

func TestSlowSenderIsCutOffAlsoAfterTheHandlerHasThought(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t)
		var took time.Duration
		s := memhttp.Start(t, httpgate.NewMiddleware(g)(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.CopyN(io.Discard, r.Body, 1)
			time.Sleep(time.Minute)
			start := time.Now()
			_, _ = io.ReadAll(r.Body)
			took = time.Since(start)
		})))
		c := dialRaw(t, s)
		defer c.leave()
		c.send(slowPost + "x")
		status, _, _ := c.answer()
		if status != http.StatusRequestTimeout || cutOff(g) != 1 || took.Round(time.Millisecond) != 5001*time.Millisecond {
			t.Errorf("got %d after %s and %d cut off, want 408 after 5 s and what a byte adds", status, took, cutOff(g))
		}
	})
}

func TestReadTimeoutOfTheServerStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t)
		start := time.Now()
		h := httpgate.NewMiddleware(g)(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, err := io.ReadAll(r.Body)
			fmt.Fprintf(w, "%s %t", time.Since(start), errors.Is(err, os.ErrDeadlineExceeded))
		}))
		s := memhttp.StartServer(t, &http.Server{Handler: h, ReadTimeout: 2 * time.Second})
		c := dialRaw(t, s)
		defer c.leave()
		c.send(slowPost + "x")
		if status, body, _ := c.answer(); status != 200 || body != "2s true" || cutOff(g) != 0 {
			t.Errorf("got %d, %q and %d cut off, want the server's own timeout", status, body, cutOff(g))
		}
	})
}

func TestAnswerThatHasBegunIsLeftToTheHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t)
		s := memhttp.Start(t, httpgate.NewMiddleware(g)(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			rc := http.NewResponseController(w)
			if err := errors.Join(rc.EnableFullDuplex(), write(w, "begun "), rc.Flush()); err != nil {
				t.Error(err)
			}
			_, err := io.ReadAll(r.Body)
			fmt.Fprint(w, err)
		})))
		c := dialRaw(t, s)
		defer c.leave()
		c.send(slowPost)
		if status, body, _ := c.answer(); status != 200 || body != "begun request too slow" || cutOff(g) != 1 {
			t.Errorf("got %d, %q and %d cut off", status, body, cutOff(g))
		}
	})
}

func write(w io.Writer, text string) error {
	_, err := io.WriteString(w, text)
	return err
}

func TestWhatServersDoWithABodyGoesOnWorking(t *testing.T) {
	backend := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		fmt.Fprint(w, string(body), err)
	})
	for name, handler := range map[string]func(*memhttp.Server) http.Handler{
		"MaxBytesReader": func(*memhttp.Server) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 3))
				_, tooLarge := errors.AsType[*http.MaxBytesError](err)
				fmt.Fprint(w, "hello<nil>"[:10], !tooLarge)
			})
		},
		"ReverseProxy": func(s *memhttp.Server) http.Handler {
			to, _ := url.Parse(s.URL)
			proxy := httputil.NewSingleHostReverseProxy(to)
			proxy.Transport = s.Client().Transport
			return proxy
		},
		"Hijack": func(*memhttp.Server) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				conn, buf, hijackErr := http.NewResponseController(w).Hijack()
				if hijackErr != nil {
					t.Error(hijackErr)
					return
				}
				defer conn.Close()
				time.Sleep(time.Minute)
				fmt.Fprintf(buf, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n%s%v", body, err)
				_ = buf.Flush()
			})
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			g := newGate(t)
			s := memhttp.Start(t, httpgate.NewMiddleware(g)(handler(memhttp.Start(t, backend))))
			c := dialRaw(t, s)
			defer c.leave()
			c.send("POST / HTTP/1.1\nHost: test\nContent-Length: 5\nConnection: close\n\nhello")
			want := "hello<nil>"
			if name == "MaxBytesReader" {
				want += "false"
			}
			if status, body, _ := c.answer(); status != 200 || body != want || cutOff(g) != 0 {
				t.Errorf("%s: got %d, %q and %d cut off", name, status, body, cutOff(g))
			}
		})
	}
}
