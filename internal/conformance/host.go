package conformance

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/protobuf/proto"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor"
	"github.com/rpcgate/rpcgate/internal/memhttp"
)

// Shape is what a call looks like.
type Shape int

// The shapes.
const (
	Unary Shape = iota
	ClientStream
	ServerStream
	BidiStream
)

// Shapes are all of them.
func Shapes() []Shape { return []Shape{Unary, ClientStream, ServerStream, BidiStream} }

// String is the name of the shape's method in rpcgate.test.v1.EchoService.
func (s Shape) String() string {
	return [...]string{"Unary", "ClientStream", "ServerStream", "BidiStream"}[s]
}

// Route is the route of the shape's method.
func (s Shape) Route() string { return "/rpcgate.test.v1.EchoService/" + s.String() }

// RemoteIP is the address that all clients have, on a port of their own.
const RemoteIP = "192.0.2.7"

// Host is one way to put a gate into a server.
type Host struct {
	// Name is its column in the matrix.
	Name string
	// Shapes are the calls it can serve.
	Shapes []Shape
	// Carriers returns what a client of the host can see of a refusal.
	Carriers func(Shape) Carriers
	// BeforeDecode says that unary calls are gated before their body is read.
	BeforeDecode bool
	// Lacks names the cases that the host cannot pass, with the reason. A
	// reason is a property of the protocol, never of our code.
	Lacks map[string]string
	// Start serves until the test ends and returns a client of the server. For
	// the server its address is [RemoteIP]. It is called in a synctest bubble,
	// for each server of a case.
	Start func(t testing.TB, s Setup) Client
}

func (h Host) has(s Shape) bool { return slices.Contains(h.Shapes, s) }

// Setup is what a host serves.
type Setup struct {
	Admitter gate.Admitter
	Options  []interceptor.Option
	// Handler answers all echo calls, behind the gate. Nil means [Echo].
	Handler Handler
	// Before, if it is not nil, runs in an interceptor in front of the gate, such as
	// one that authenticates. Its error ends the call. With Translated the kit's
	// translator is in front of it.
	Before     func(ctx context.Context) error
	Translated bool
	// Configure, if it is not nil, prepares the server of a host on net/http, such as
	// httpgate.ConfigureServer.
	Configure func(*http.Server)
}

// Serve serves h in memory until the test ends, for hosts on net/http.
func (s Setup) Serve(t testing.TB, h http.Handler) *memhttp.Server {
	srv := &http.Server{Handler: h}
	if s.Configure != nil {
		s.Configure(srv)
	}
	return memhttp.StartServer(t, srv)
}

// Handler answers a call of any shape. If it panics, the host recovers outside the
// gate and answers Internal.
type Handler func(ctx context.Context, shape Shape, s Stream) error

// Stream is the handler's side of a call. If the request is not a stream, the second
// Recv returns io.EOF. If the response is not a stream, there is one Send.
type Stream interface {
	Recv() (string, error)
	Send(text string) error
}

// Echo sends back what it receives. For a ClientStream that is the last text.
func Echo(_ context.Context, shape Shape, s Stream) error {
	last := ""
	for {
		text, err := s.Recv()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		if last = text; shape == ClientStream {
			continue
		}
		if err := s.Send(text); err != nil {
			return err
		}
	}
	if shape == ClientStream {
		return s.Send(last)
	}
	return nil
}

// Client calls the server of a host. The errors of calls are *Failure.
type Client interface {
	// Open begins a call. If the shape is Unary or ServerStream, the first Recv
	// may begin it instead.
	Open(ctx context.Context, shape Shape, header map[string]string) ClientCall
	// Malformed makes a unary call whose body cannot be decoded.
	Malformed(ctx context.Context) error
	// Check makes a health check.
	Check(ctx context.Context) error
}

// ClientCall is the client's side of a call, in the same form as [Stream].
type ClientCall interface {
	// Send sends a request. io.EOF means that Recv has the error.
	Send(text string) error
	CloseSend() error
	// Recv returns a response, io.EOF at the end, or a *Failure.
	Recv() (string, error)
	// Delays returns the delays in the headers and trailers of a stream that has
	// ended well. There should be none.
	Delays() (pushback, retryAfter []string)
}

// Carriers says what a client can see of a refusal.
type Carriers struct {
	Code       bool // of google.rpc
	Details    bool // RetryInfo, ErrorInfo, RequestInfo
	Pushback   bool // grpc-retry-pushback-ms, as metadata at the end
	RetryAfter bool // Retry-After, as header or metadata
	HTTPStatus bool
	Message    bool
}

// Failure is the error of a call as a client sees it.
type Failure struct {
	Code       uint32 // of google.rpc, or 0 if the host has no codes
	Message    string
	HTTPStatus int // 0 if it is not known

	RetryInfo   *errdetails.RetryInfo
	ErrorInfo   *errdetails.ErrorInfo
	RequestInfo *errdetails.RequestInfo

	Pushback     []string
	RetryAfter   []string
	CacheControl []string // of the HTTP response

	// Dump is everything that the client has received, headers, trailers and
	// body, as text. It must not contain internals.
	Dump string
}

// Error describes the failure for the log of the test.
func (f *Failure) Error() string {
	return fmt.Sprintf("code %d (HTTP %d) %q", f.Code, f.HTTPStatus, f.Message)
}

// AddDetail adds a detail of a refusal.
func (f *Failure) AddDetail(m proto.Message) {
	switch m := m.(type) {
	case *errdetails.RetryInfo:
		f.RetryInfo = m
	case *errdetails.ErrorInfo:
		f.ErrorInfo = m
	case *errdetails.RequestInfo:
		f.RequestInfo = m
	}
	f.Dump += fmt.Sprintf("\n%s: %v", m.ProtoReflect().Descriptor().FullName(), m)
}

// The values of google.rpc.Code that the cases expect.
const (
	codeCanceled          = 1
	codeUnknown           = 2
	codeDeadlineExceeded  = 4
	codeResourceExhausted = 8
	codeUnimplemented     = 12
	codeInternal          = 13
	codeUnavailable       = 14
)
