package resthost

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/rpcgate/rpcgate/internal/conformance"
	"github.com/rpcgate/rpcgate/internal/memhttp"
)

// The paths of the methods in REST.
const (
	unaryPath  = "/v1/echo"
	streamPath = "/v1/stream"
	healthPath = "/v1/health"
)

// client is a client of REST.
type client struct {
	server *memhttp.Server
	http   *http.Client
	// deadline returns the header that tells the server of a deadline.
	deadline func(left time.Duration) (header, value string)
}

func (c *client) Connections() int { return c.server.Connections() }

// Over returns the server and an HTTP/2 client of it.
func (c *client) Over() (*memhttp.Server, *http.Client) { return c.server, c.http }

// Post returns a call as JSON.
func (c *client) Post(text string) (path string, header http.Header, body string) {
	return unaryPath, conformance.PostHeader("application/json"), fmt.Sprintf("{\"text\": %q}", text)
}

func (c *client) Probe(ctx context.Context, path string) error {
	return conformance.Probe(ctx, c.http, c.server.URL+path)
}

func (c *client) Open(ctx context.Context, shape conformance.Shape, header map[string]string) conformance.ClientCall {
	path := unaryPath
	if shape == conformance.ServerStream {
		path = streamPath
	}
	return &call{client: c, ctx: ctx, path: path, header: header}
}

// Malformed sends a number where a text should be.
func (c *client) Malformed(ctx context.Context) error {
	_, err := (&call{client: c, ctx: ctx, path: unaryPath, body: []byte(`{"text": 7}`)}).Recv()
	return err
}

func (c *client) Check(ctx context.Context) error {
	check := &call{client: c, ctx: ctx, path: healthPath, body: []byte(`{}`)}
	return check.begin()
}

// call is a request and its response, which has a line for each message of a stream.
type call struct {
	client *client
	ctx    context.Context
	path   string
	header map[string]string
	body   []byte

	response *http.Response
	lines    *bufio.Scanner
}

func (c *call) Send(text string) (err error) {
	c.body, err = json.Marshal(map[string]string{"text": text})
	return err
}

func (c *call) CloseSend() error { return nil }

// Delays is not needed: there are no streams of requests.
func (c *call) Delays() (pushback, retryAfter []string) { return nil, nil }

func (c *call) Recv() (string, error) {
	if c.response == nil {
		if err := c.begin(); err != nil {
			return "", err
		}
	}
	if !c.lines.Scan() {
		_ = c.response.Body.Close()
		if err := c.lines.Err(); err != nil {
			return "", c.broken(err)
		}
		return "", io.EOF
	}
	var message struct {
		Text   string // of a unary call
		Result struct{ Text string }
		Error  json.RawMessage
	}
	if err := json.Unmarshal(c.lines.Bytes(), &message); err != nil {
		return "", c.broken(err)
	}
	if len(message.Error) > 0 {
		return "", c.failure(c.lines.Bytes())
	}
	return message.Text + message.Result.Text, nil
}

// begin sends the request and returns the error that answers it.
func (c *call) begin() error {
	r, err := http.NewRequestWithContext(c.ctx, http.MethodPost, c.client.server.URL+c.path, bytes.NewReader(c.body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	if deadline, ok := c.ctx.Deadline(); ok {
		r.Header.Set(c.client.deadline(time.Until(deadline)))
	}
	for key, value := range c.header {
		r.Header.Set(key, value)
	}
	if c.response, err = c.client.http.Do(r); err != nil {
		return c.broken(err)
	}
	if c.response.StatusCode == http.StatusOK {
		c.lines = bufio.NewScanner(c.response.Body)
		return nil
	}
	defer c.response.Body.Close()
	body, err := io.ReadAll(c.response.Body)
	if err != nil {
		return c.broken(err)
	}
	return c.failure(body)
}

// broken returns the failure of a call that got no answer.
func (c *call) broken(err error) error {
	f := &conformance.Failure{Code: uint32(codes.Unavailable), Message: err.Error(), Dump: err.Error()}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		f.Code = uint32(codes.DeadlineExceeded)
	case errors.Is(err, context.Canceled):
		f.Code = uint32(codes.Canceled)
	}
	return f
}

// failure reads the answer to a call that failed: a google.rpc.Status, which may be
// the error of a stream, or a short body.
func (c *call) failure(body []byte) error {
	f := &conformance.Failure{
		HTTPStatus: c.response.StatusCode, RetryAfter: c.response.Header.Values("Retry-After"),
		CacheControl: c.response.Header.Values("Cache-Control"),
		Dump:         fmt.Sprintf("%v\n%s", c.response.Header, body),
	}
	var wrapped struct{ Error json.RawMessage }
	if json.Unmarshal(body, &wrapped) == nil && bytes.HasPrefix(wrapped.Error, []byte("{")) {
		body = wrapped.Error
	}
	var status spb.Status
	if protojson.Unmarshal(body, &status) != nil {
		return f
	}
	f.Code, f.Message = uint32(status.GetCode()), status.GetMessage()
	for _, detail := range status.GetDetails() {
		if m, err := detail.UnmarshalNew(); err == nil {
			f.AddDetail(m)
		}
	}
	return f
}
