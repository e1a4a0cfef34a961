// Package httphost has the host of package httpgate for the conformance table.
package httphost

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rpcgate/rpcgate/interceptor/httpgate"
	"github.com/rpcgate/rpcgate/internal/conformance"
	"github.com/rpcgate/rpcgate/internal/memhttp"
)

// Middleware is a server of plain handlers with httpgate.NewMiddleware. A request or
// response is a body; a stream of responses is a body with a line for each.
func Middleware() conformance.Host {
	const noDeadline = "HTTP has no header for a client's deadline"
	return conformance.Host{
		Name:   "httpgate",
		Shapes: []conformance.Shape{conformance.Unary, conformance.ServerStream},
		Carriers: func(conformance.Shape) conformance.Carriers {
			return conformance.Carriers{RetryAfter: true, HTTPStatus: true}
		},
		BeforeDecode: true,
		Lacks: map[string]string{
			"RefusedForItsDeadline":                       noDeadline,
			"DrainingTellsAttemptsInTurnTheShortestDelay": conformance.NoAttempts,
			"DrainingNeverForbidsARetry":                  noDeadline,
			"WaitLeavesHalfOfTheDeadlineForTheWork":       noDeadline,
			"RejectionBeforeTheGateIsARefusal":            conformance.NoInterceptors,
			"RejectionThatNobodyTranslatesLeaksNothing":   conformance.NoInterceptors,
			"HoldMessageHoldsForTheOneRequest":            "an HTTP request is no stream of messages",
			"HoldMessageRefusesAMessage":                  "an HTTP request is no stream of messages",
			"HoldMessagePanicReleasesTheLease":            "an HTTP request is no stream of messages",
		},
		Start: func(t testing.TB, s conformance.Setup) conformance.Client {
			gated := httpgate.NewMiddleware(s.Admitter, s.Options...)
			mux := http.NewServeMux()
			for _, shape := range []conformance.Shape{conformance.Unary, conformance.ServerStream} {
				mux.Handle("POST "+shape.Route(), gated(handler(shape, s.Handler)))
			}
			probed := http.NewServeMux()
			conformance.HandleProbes(probed)
			mux.Handle("/", gated(probed))
			server := s.Serve(t, mux)
			return &client{server: server, http: server.ClientHTTP2()}
		},
	}
}

// handler serves a conformance.Handler over plain HTTP.
func handler(shape conformance.Shape, h conformance.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		if err != nil || !utf8.Valid(text) {
			http.Error(w, "bad request", http.StatusBadRequest)
			return
		}
		s := &stream{w: w, text: string(text)}
		if err := h(r.Context(), shape, s); err != nil && !httpgate.WriteRejection(w, r, err) {
			http.Error(w, "failed", http.StatusInternalServerError)
		}
	})
}

type stream struct {
	w    http.ResponseWriter
	text string
	read bool
}

func (s *stream) Recv() (string, error) {
	if s.read {
		return "", io.EOF
	}
	s.read = true
	return s.text, nil
}

func (s *stream) Send(text string) error {
	if _, err := fmt.Fprintln(s.w, text); err != nil {
		return err
	}
	return http.NewResponseController(s.w).Flush()
}

type client struct {
	server *memhttp.Server
	http   *http.Client
}

func (c *client) Connections() int { return c.server.Connections() }

// Over returns the server and an HTTP/2 client of it.
func (c *client) Over() (*memhttp.Server, *http.Client) { return c.server, c.http }

// Post returns a request: its body is the text.
func (c *client) Post(text string) (path string, header http.Header, body string) {
	return conformance.Unary.Route(), conformance.PostHeader("text/plain"), text
}

func (c *client) Probe(ctx context.Context, path string) error {
	return conformance.Probe(ctx, c.http, c.server.URL+path)
}

func (c *client) Open(ctx context.Context, shape conformance.Shape, header map[string]string) conformance.ClientCall {
	return &call{client: c, ctx: ctx, route: shape.Route(), header: header}
}

// Malformed sends a text that is no UTF-8.
func (c *client) Malformed(ctx context.Context) error {
	call := &call{client: c, ctx: ctx, route: conformance.Unary.Route(), text: "\xff"}
	_, err := call.Recv()
	return err
}

func (c *client) Check(ctx context.Context) error { return c.Probe(ctx, "/healthz") }

type call struct {
	client *client
	ctx    context.Context
	route  string
	header map[string]string
	text   string
	lines  *bufio.Scanner // of the response
	body   io.Closer
}

func (c *call) Send(text string) error { c.text = text; return nil }
func (c *call) CloseSend() error       { return nil }

// Delays is not needed: there are no streams of requests.
func (c *call) Delays() (pushback, retryAfter []string) { return nil, nil }

func (c *call) Recv() (string, error) {
	if c.lines == nil {
		if err := c.send(); err != nil {
			return "", err
		}
	}
	if c.lines.Scan() {
		return c.lines.Text(), nil
	}
	_ = c.body.Close()
	if err := c.lines.Err(); err != nil {
		return "", &conformance.Failure{Message: err.Error(), Dump: err.Error()}
	}
	return "", io.EOF
}

func (c *call) send() error {
	r, err := http.NewRequestWithContext(c.ctx, http.MethodPost, c.client.server.URL+c.route, strings.NewReader(c.text))
	if err != nil {
		return err
	}
	for key, value := range c.header {
		r.Header.Set(key, value)
	}
	res, err := c.client.http.Do(r)
	if err != nil {
		return &conformance.Failure{Message: err.Error(), Dump: err.Error()}
	}
	if res.StatusCode < 300 {
		c.lines, c.body = bufio.NewScanner(res.Body), res.Body
		return nil
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return &conformance.Failure{Message: err.Error(), Dump: err.Error()}
	}
	var dump bytes.Buffer
	_ = res.Header.Write(&dump)
	f := &conformance.Failure{
		HTTPStatus: res.StatusCode, RetryAfter: res.Header.Values("Retry-After"),
		CacheControl: res.Header.Values("Cache-Control"),
		Dump:         dump.String() + string(text),
	}
	var body struct{ Error string }
	if json.Unmarshal(text, &body) == nil {
		f.Message = body.Error
	}
	return f
}
