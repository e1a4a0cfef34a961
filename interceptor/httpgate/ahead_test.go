package httpgate_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor/httpgate"
	"github.com/rpcgate/rpcgate/internal/memhttp"
)

// echoBody answers with the body.
func echoBody(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	_ = r.Body.Close()
	if _, again := r.Body.Read(make([]byte, 1)); r.ProtoMajor == 1 && again != http.ErrBodyReadAfterClose {
		err = fmt.Errorf("then read %v", again)
	}
	fmt.Fprint(w, string(body), err)
}

// waitingServer has a gate that is full, at which a call may wait for a minute.
func waitingServer(t *testing.T, h http.HandlerFunc) (s *memhttp.Server, g *gate.Gate, release func()) {
	t.Helper()
	g = newGate(t, gate.WithMaxWait(time.Minute))
	return memhttp.Start(t, httpgate.NewMiddleware(g)(h)), g, fill(t, g)
}

func post(length int, body string) string {
	return fmt.Sprintf("POST / HTTP/1.1\nHost: test\nContent-Length: %d\n\n%s", length, body)
}

func TestCallerThatLeavesWhileItsCallWaitsOverHTTP1FreesItsTurn(t *testing.T) {
	for _, sent := range []string{"hello", "hel", ""} {
		synctest.Test(t, func(t *testing.T) {
			s, g, release := waitingServer(t, echoBody)
			c := dialRaw(t, s)
			c.send(post(5, sent))
			synctest.Wait()
			if g.Waiting() != 1 {
				t.Fatalf("%d wait, want 1", g.Waiting())
			}
			_ = c.conn.Close()
			synctest.Wait()
			if g.Waiting() != 0 {
				t.Errorf("after %q the caller has left, and %d wait", sent, g.Waiting())
			}
			if totals := g.Snapshot().Totals; totals.Abandoned != 1 || len(totals.ByReason) != 0 {
				t.Errorf("after %q the totals are %+v, want one abandoned call", sent, totals)
			}
			release()
			time.Sleep(time.Second)
		})
	}
}

func TestBodyThatWasReadWhileTheCallWaitedGoesToTheHandler(t *testing.T) {
	for _, size := range []int{1, 5000, 64 << 10, 64<<10 + 1, 200_000} {
		synctest.Test(t, func(t *testing.T) {
			s, g, release := waitingServer(t, echoBody)
			body := strings.Repeat("x", size)
			for _, client := range []*http.Client{s.Client(), s.ClientHTTP2()} {
				for range 2 {
					release()
					time.AfterFunc(time.Second, fill(t, g))
					res, err := client.Post(s.URL, "text/plain", strings.NewReader(body))
					if err != nil {
						t.Fatal(err)
					}
					got, err := io.ReadAll(res.Body)
					if err != nil || string(got) != body+"<nil>" {
						t.Errorf("got %d bytes back of %d, %v", len(got), size, err)
					}
				}
			}
			if s.Connections() != 2 {
				t.Errorf("%d connections, want 2 that are used again", s.Connections())
			}
		})
	}
}

// TestSlowBodyIsBoundedFromTheLease has a body of which a part comes before the lease.
func TestSlowBodyIsBoundedFromTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, g, release := waitingServer(t, echoBody)
		c := dialRaw(t, s)
		defer c.leave()
		c.send(post(100, "hello"))
		time.AfterFunc(30*time.Second, release)
		start := time.Now()
		status, _, closed := c.answer()
		if took := time.Since(start); status != http.StatusRequestTimeout || !closed || took.Round(time.Second) != 35*time.Second {
			t.Errorf("got %d and closed %t after %s, want 408 5 s after the lease", status, closed, took)
		}
		if cutOff(g) != 1 {
			t.Errorf("%d cut off, want 1", cutOff(g))
		}
	})
}

func TestCallThatIsRefusedAfterItsWaitIsAnsweredAtOnce(t *testing.T) {
	for _, test := range []struct {
		sent   string
		closed bool
	}{{"hello", false}, {"hel", true}} {
		synctest.Test(t, func(t *testing.T) {
			s, _, release := waitingServer(t, echoBody)
			defer release()
			c := dialRaw(t, s)
			defer c.leave()
			start := time.Now()
			c.send(post(5, test.sent))
			status, _, closed := c.answer()
			if took := time.Since(start); status != http.StatusTooManyRequests || took-time.Minute > 10*time.Millisecond || closed != test.closed {
				t.Errorf("after %q got %d after %s and closed %t, want 429 after the wait, and closed %t",
					test.sent, status, took, closed, test.closed)
			}
			if !closed {
				release()
				c.send(post(5, "again"))
				if status, body, _ := c.answer(); status != 200 || body != "again<nil>" {
					t.Errorf("then got %d %q", status, body)
				}
			}
		})
	}
}

// TestBodyThatClientsDoNotSendUnaskedIsNotRead has a client that sends its body only when it is asked to.
func TestBodyThatClientsDoNotSendUnaskedIsNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _, release := waitingServer(t, echoBody)
		c := dialRaw(t, s)
		defer c.leave()
		c.send("POST / HTTP/1.1\nHost: test\nContent-Length: 5\nExpect: 100-continue\n\n")
		time.AfterFunc(time.Second, release)
		start := time.Now()
		line, _ := c.in.ReadString('\n')
		if took := time.Since(start); line != "HTTP/1.1 100 Continue\r\n" || took != time.Second {
			t.Errorf("got %q after %s, want to be asked for the body when the lease is there", line, took)
		}
		_, _ = c.in.ReadString('\n')
		c.send("hello")
		if status, body, _ := c.answer(); status != 200 || body != "hello<nil>" {
			t.Errorf("then got %d %q", status, body)
		}
	})
}

func TestHandlerMayCloseABodyStillOnItsWayAndGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, g, release := waitingServer(t, func(w http.ResponseWriter, r *http.Request) {
			read := make(chan error, 1)
			go func() {
				_, err := io.ReadAll(r.Body)
				read <- err
			}()
			time.Sleep(time.Second)
			err := r.Body.Close()
			fmt.Fprint(w, err, <-read, r.Context().Err())
		})
		c := dialRaw(t, s)
		defer c.leave()
		c.send(post(100, "hello"))
		time.AfterFunc(time.Second, release)
		want := fmt.Sprint(nil, http.ErrBodyReadAfterClose, nil)
		if status, body, closed := c.answer(); status != 200 || body != want || !closed {
			t.Errorf("got %d %q and closed %t, want %q", status, body, closed, want)
		}
		if cutOff(g) != 0 {
			t.Errorf("%d cut off, want none", cutOff(g))
		}
	})
}

// replaced is a body that other middleware has put in the place of net/http's.
type replaced struct{ io.Reader }

func (replaced) Close() error { return nil }

type panicking struct{}

func (panicking) Read([]byte) (int, error) { panic(http.ErrAbortHandler) }

func TestBodyThatOtherMiddlewareHasReplaced(t *testing.T) {
	large := strings.Repeat("x", 200_000)
	for _, test := range []struct {
		body io.Reader
		want string
	}{
		{strings.NewReader(large), large + "<nil>"}, // as after a decompression
		{strings.NewReader("x"), "x<nil>"},
		{panicking{}, http.ErrAbortHandler.Error()},
	} {
		synctest.Test(t, func(t *testing.T) {
			g := newGate(t, gate.WithMaxWait(time.Minute))
			gated := httpgate.NewMiddleware(g)(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				defer func() {
					if p := recover(); p != nil {
						fmt.Fprint(w, p)
					}
				}()
				body, err := io.ReadAll(r.Body)
				fmt.Fprint(w, string(body), err)
			}))
			s := memhttp.Start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				r.Body = replaced{test.body}
				gated.ServeHTTP(w, r)
			}))
			time.AfterFunc(time.Second, fill(t, g))
			c := dialRaw(t, s)
			defer c.leave()
			c.send(post(5, "hello"))
			if status, body, _ := c.answer(); status != 200 || body != test.want {
				t.Errorf("got %d and %d bytes, want 200 and %d", status, len(body), len(test.want))
			}
		})
	}
}
