package exchange

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcgate/rpcgate/internal/memhttp"
)

// refusing serves every request with an exchange and refuses it; before is called with the inner request.
func refusing(before func(r *http.Request)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x, r := Begin(w, r)
		defer x.End()
		x.Refuse(w.Header())
		before(r)
		w.WriteHeader(http.StatusTooManyRequests)
	})
}

// answerTo sends the head of a request over HTTP/1.1, and returns the status line, and when the server had hung up.
func answerTo(t *testing.T, h http.Handler, head string) (status string, told, hungUp time.Duration) {
	t.Helper()
	conn, err := memhttp.Start(t, h).Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	_ = conn.SetDeadline(began.Add(time.Minute))
	if _, err := fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: a\r\n%s", head); err != nil {
		t.Fatal(err)
	}
	answer := bufio.NewReader(conn)
	if status, err = answer.ReadString('\n'); err != nil {
		t.Errorf("no answer: %v", err)
	}
	told = time.Since(began)
	_, _ = io.Copy(io.Discard, answer)
	return status, told, time.Since(began)
}

// TestRefusalOverHTTP1IsToldAtOnce has handlers that close the body, also twice, and clients that send no more of it.
func TestRefusalOverHTTP1IsToldAtOnce(t *testing.T) {
	for name, head := range map[string]string{
		"length":  "Content-Length: 200000\r\n\r\nx",
		"chunked": "Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n",
		"expect":  "Content-Length: 1000\r\nExpect: 100-continue\r\n\r\n",
	} {
		for closes := range 3 {
			synctest.Test(t, func(t *testing.T) {
				h := refusing(func(r *http.Request) {
					for range closes {
						_ = r.Body.Close()
					}
				})
				status, told, hungUp := answerTo(t, h, head)
				if !strings.Contains(status, "429") || told > arrivalTime || hungUp > time.Second {
					t.Errorf("%s, closed %d times: %q after %s, hung up after %s", name, closes, status, told, hungUp)
				}
			})
		}
	}
}

// TestARefusalThatComesLateTouchesNothing has a handler that was given up, as http.TimeoutHandler does it.
func TestARefusalThatComesLateTouchesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var late context.Context
		s := memhttp.Start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			x, r := Begin(w, r)
			defer x.End()
			late = r.Context()
		}))
		for name, client := range map[string]*http.Client{"HTTP/1.1": s.Client(), "HTTP/2": s.ClientHTTP2()} {
			res, err := client.Post(s.URL, "text/plain", strings.NewReader("hello"))
			if err != nil {
				t.Fatal(err)
			}
			_ = res.Body.Close()
			func() {
				defer func() {
					if p := recover(); p != nil {
						t.Errorf("%s: panic: %v", name, p)
					}
				}()
				Refuse(late, http.Header{})
			}()
		}
	})
}
