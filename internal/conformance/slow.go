package conformance

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/rpcgate/rpcgate/gate"
	testv1 "github.com/rpcgate/rpcgate/gen/rpcgate/test/v1"
	"github.com/rpcgate/rpcgate/internal/memhttp"
)

func slowCases() []Case {
	return []Case{
		{Name: "SlowSenderDoesNotKeepALease", Shapes: []Shape{Unary}, Run: slowSender},
		{Name: "SlowReaderDoesNotKeepALease", Shapes: []Shape{Unary}, Run: slowReader},
		{Name: "CallerThatLeavesWhileWaitingOverHttp1FreesItsTurn", Shapes: []Shape{Unary}, Run: leavesOverHTTP1},
	}
}

// Why a host lacks one of these cases.
const (
	SentWhole = "a client of grpc-go sends its request whole"
	NoHTTP1   = "gRPC needs HTTP/2"
)

// Poster is a [Client] of a server over HTTP, whose requests can be sent by hand.
type Poster interface {
	// Over returns the server and a client of it.
	Over() (*memhttp.Server, *http.Client)
	// Post returns what a unary call with the given text is made of.
	Post(text string) (path string, header http.Header, body string)
}

// PostHeader is the header of a request by hand.
func PostHeader(contentType string) http.Header {
	h := http.Header{"Content-Type": {contentType}}
	if strings.HasPrefix(contentType, "application/grpc") {
		h.Set("Te", "trailers")
	}
	return h
}

// GRPCBody is the body of a unary call in gRPC or gRPC-Web.
func GRPCBody(text string) string {
	message, err := proto.Marshal(&testv1.UnaryRequest{Text: text})
	if err != nil {
		panic(err) // a text that is no UTF-8
	}
	return string(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message)))) + string(message)
}

func (e *Env) poster(c Client) Poster {
	e.Helper()
	p, ok := c.(Poster)
	if !ok {
		e.Fatal("the client cannot send requests by hand")
	}
	return p
}

// slowSender has a client that stops in the middle of its request. Whether it had a lease or not, it has none after
// a while, and is told so if it had.
func slowSender(e *Env) {
	g := e.gate(gate.WithMaxWait(0))
	c := e.start(g, nil)
	p := e.poster(c)
	server, client := p.Over()
	path, header, text := p.Post("hello")
	body, unsent := io.Pipe()
	go func() { _, _ = io.WriteString(unsent, text[:len(text)/2]) }()
	ctx, cancel := context.WithCancel(e.Context())
	answer := e.background(func() error {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL+path, body)
		if err != nil {
			return err
		}
		r.Header = header
		return told(client.Do(r))
	})
	time.Sleep(6 * time.Second)
	e.inFlight(g, 0)
	e.mustCall(e.Context(), c)
	want := uint64(0)
	if e.Host.BeforeDecode {
		want = 1
		if err := answer(); err != nil {
			e.Errorf("the slow client: %v", err)
		}
	}
	if n := g.Snapshot().Totals.CutOff[gate.ReasonSlowRequest]; n != want {
		e.Errorf("%d calls were cut off, want %d", n, want)
	}
	cancel()
	_ = unsent.Close()
	if !e.Host.BeforeDecode {
		_ = answer()
	}
	time.Sleep(time.Second) // until the server has hung up
}

// told returns an error unless a client of any protocol understands that it was too slow.
func told(res *http.Response, err error) error {
	if err != nil {
		return err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	switch {
	case res.StatusCode == http.StatusRequestTimeout, res.StatusCode == http.StatusGatewayTimeout:
	case res.Header.Get("Grpc-Status") == "4", res.Trailer.Get("Grpc-Status") == "4":
	case strings.Contains(strings.ToLower(string(body)), "grpc-status: 4"):
	default:
		return fmt.Errorf("got %s, %v, %q and %v, want to be told of a timeout", res.Status, res.Header, body, res.Trailer)
	}
	return nil
}

// leavesOverHTTP1 has a caller whose connection ends, which net/http only notices when it has read the body.
func leavesOverHTTP1(e *Env) {
	g := e.gate(gate.WithMaxWait(time.Minute))
	release := e.fill(g)
	defer release()
	conn := e.postByHand(e.start(g, e.unreachable()))
	synctest.Wait()
	if n := g.Waiting(); n != 1 {
		e.Fatalf("%d waiting, want 1", n)
	}
	_ = conn.Close()
	synctest.Wait()
	if n := g.Waiting(); n != 0 {
		e.Errorf("%d waiting after the caller has gone", n)
	}
	e.totals(g, 1, 0, 1)
	time.Sleep(time.Second) // until the server has hung up
}

// postByHand sends a unary call over a connection of HTTP/1.1, and reads nothing.
func (e *Env) postByHand(c Client) net.Conn {
	e.Helper()
	p := e.poster(c)
	server, _ := p.Over()
	path, header, text := p.Post("hello")
	conn, err := server.Dial(e.Context())
	if err != nil {
		e.Fatal(err)
	}
	var request bytes.Buffer
	fmt.Fprintf(&request, "POST %s HTTP/1.1\r\nHost: test\r\nContent-Length: %d\r\n", path, len(text))
	_ = header.Write(&request)
	fmt.Fprintf(&request, "\r\n%s", text)
	if _, err := conn.Write(request.Bytes()); err != nil {
		e.Fatal(err)
	}
	return conn
}

// slowReader has a client that reads nothing of a large response. Either the lease is released before it is written, or
// the call is cut off after a while.
func slowReader(e *Env) {
	g := e.gate(gate.WithMaxWait(0))
	large := strings.Repeat("x", 60_000)
	c := e.start(g, func(ctx context.Context, shape Shape, s Stream) error {
		if text, err := s.Recv(); err != nil || text != "hello" {
			return err
		}
		return s.Send(large)
	})
	conn := e.postByHand(c)
	time.Sleep(time.Minute) // 5 s of grace, and 32 s for the first 32 KiB
	e.inFlight(g, 0)
	e.mustCallFor(large, c)
	_ = conn.Close()
	time.Sleep(time.Second) // until the server has hung up
}

// mustCallFor makes a call that must be answered with a text.
func (e *Env) mustCallFor(want string, c Client) {
	e.Helper()
	if got, err := e.call(e.Context(), c, "hello"); err != nil || got != want {
		e.Fatalf("got %d bytes and error %v, want %d bytes", len(got), err, len(want))
	}
}
