package conformance

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing/synctest"
	"time"

	"github.com/rpcgate/rpcgate/gate"
)

// connectionCases are promises to those who share a connection with a call that waits or
// is refused.
func connectionCases() []Case {
	unary := []Shape{Unary}
	return []Case{
		{Name: "WaitingCallsLeaveTheConnectionUsable", Run: besideWaiters},
		{Name: "RefusedBodiesLeaveTheConnectionUsable", Run: afterRefusedBodies},
		{Name: "RefusedBodiesLeaveTheConnectionUsableOverHttp1", Shapes: unary, Run: afterRefusedBodiesHTTP1},
		{Name: "RefusedWhileTheBodyIsUnderWay", Shapes: []Shape{Unary, BidiStream}, Run: refusedUnderWay},
		{Name: "RefusedWhileTheBodyIsUnderWayOverHttp1", Shapes: unary, Run: refusedUnderWayHTTP1},
	}
}

// ReadFirst is why a host lacks RefusedWhileTheBodyIsUnderWay.
const ReadFirst = "a unary request is decoded before the interceptors run"

// Windows of HTTP/2 that net/http has by default: a client can send no more before a
// handler reads, or a drain.
const (
	defaultStreamWindow = 1 << 20
	defaultConnWindow   = 1 << 20
)

// promptly is the time in which a refusal must be told: the drain of a client that keeps
// its stream open takes 10 ms.
const promptly = 50 * time.Millisecond

// switched is an Admitter that uses another gate once it is switched.
type switched struct {
	before, after gate.Admitter
	done          atomic.Bool
}

func (s *switched) Acquire(ctx context.Context, call gate.Call) (gate.Lease, error) {
	if s.done.Load() {
		return s.after.Acquire(ctx, call)
	}
	return s.before.Acquire(ctx, call)
}

// besideWaiters has calls whose requests, which nobody reads while they wait, are larger
// together than the window of a connection.
func besideWaiters(e *Env) {
	const waiters = 4
	text := strings.Repeat("x", defaultConnWindow/2)
	full, free := e.gate(gate.WithMaxWait(time.Minute)), e.gate()
	release := e.fill(full)
	a := &switched{before: full, after: free}
	c := e.start(a, func(_ context.Context, _ Shape, s Stream) error {
		if err := recvAll(s); err != nil {
			return err
		}
		return s.Send("read")
	})
	call := func() error {
		got, err := e.call(e.Context(), c, text)
		if err == nil && got != "read" {
			err = fmt.Errorf("got %q", got)
		}
		return err
	}
	var answers []func() error
	for range waiters {
		answers = append(answers, e.background(call))
	}
	if n := full.Waiting(); n != waiters {
		e.Fatalf("%d waiting, want %d", n, waiters)
	}
	a.done.Store(true)
	began := time.Now()
	if err := call(); err != nil {
		e.Errorf("the call beside them: %v", err)
	}
	e.took(began, 0)
	release()
	for _, answer := range answers {
		if err := answer(); err != nil {
			e.Errorf("a call that waited: %v", err)
		}
	}
	e.oneConnection(c)
}

// oneConnection checks that the client has used a single connection, if that is known.
func (e *Env) oneConnection(c Client) {
	e.Helper()
	over, ok := c.(interface{ Connections() int })
	if ok && over.Connections() != 1 {
		e.Errorf("%d connections, want 1", over.Connections())
	}
}

// afterRefusedBodies has refused calls whose requests are larger than the window of a
// stream: a client has sent all of it only if somebody has read.
func afterRefusedBodies(e *Env) {
	text := strings.Repeat("x", 2*defaultStreamWindow)
	g := e.gate(gate.WithMaxWait(0))
	release := e.fill(g)
	c := e.start(g, nil)
	for range 2 {
		_, err := e.call(e.Context(), c, text)
		e.checkRefusal(e.failure(err), e.Shape, busy("LIMIT"))
	}
	synctest.Wait()
	release()
	e.mustCall(e.Context(), c)
	e.oneConnection(c)

	p, ok := c.(Poster)
	if !ok || e.Shape != Unary {
		return
	}
	defer e.fill(g)()
	server, _ := p.Over()
	path, header, body := p.Post(text)
	e.refusedWhole(server.ClientHTTP2(), server.URL+path, header, body)
}

// afterRefusedBodiesHTTP1 has a body that a server reads before it answers, and one that
// is too large for that.
func afterRefusedBodiesHTTP1(e *Env) {
	g := e.gate(gate.WithMaxWait(0))
	release := e.fill(g)
	p := e.poster(e.start(g, nil))
	server, _ := p.Over()
	client := server.Client()
	for range 3 {
		path, header, body := p.Post(strings.Repeat("x", 50_000))
		e.refusedWhole(client, server.URL+path, header, body)
		synctest.Wait()
	}
	if n := server.Connections(); n != 1 {
		e.Errorf("%d connections, want 1", n)
	}
	path, header, body := p.Post(strings.Repeat("x", 500_000))
	e.refusedOne(client, server.URL+path, header, strings.NewReader(body))
	time.Sleep(time.Second) // until the server has hung up
	release()
	path, header, body = p.Post("hello")
	res, err := post(e.Context(), client, server.URL+path, header, strings.NewReader(body))
	if err != nil || refusedAs(res) == nil || res.StatusCode != http.StatusOK {
		e.Errorf("the call after them: %v, %v", res, err)
	}
}

// refusedWhole makes a call that is refused, and checks that its body was sent whole.
func (e *Env) refusedWhole(client *http.Client, url string, header http.Header, body string) {
	e.Helper()
	unsent := strings.NewReader(body)
	e.refusedOne(client, url, header, struct{ io.Reader }{unsent})
	synctest.Wait()
	if n := unsent.Len(); n > 0 {
		e.Errorf("%d of %d bytes were not sent: the stream was reset", n, len(body))
	}
}

// refusedOne makes a call that is refused promptly.
func (e *Env) refusedOne(client *http.Client, url string, header http.Header, body io.Reader) {
	e.Helper()
	began := time.Now()
	res, err := post(e.Context(), client, url, header, body)
	if err == nil {
		err = refusedAs(res)
	}
	if took := time.Since(began); err != nil || took > promptly {
		e.Errorf("after %s: %v, want a refusal", took, err)
	}
}

func post(ctx context.Context, client *http.Client, url string, header http.Header, body io.Reader) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, body)
	if err != nil {
		return nil, err
	}
	r.Header = header
	return client.Do(r)
}

// refusedAs reads a response. It returns an error unless a client of any protocol
// understands that its call was refused.
func refusedAs(res *http.Response) error {
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	switch {
	case res.StatusCode == http.StatusTooManyRequests:
	case res.Header.Get("Grpc-Status") == "8", res.Trailer.Get("Grpc-Status") == "8":
	case strings.Contains(strings.ToLower(string(body)), "grpc-status: 8"):
	default:
		return fmt.Errorf("got %s, %v, %.100q and %v", res.Status, res.Header, body, res.Trailer)
	}
	return nil
}

// refusedUnderWay has a client that has sent the beginning of its request, or the first
// message of a stream, and goes on when it has the answer.
func refusedUnderWay(e *Env) {
	g := e.gate(gate.WithMaxWait(0))
	defer e.fill(g)()
	c := e.start(g, e.unreachable())
	if e.Shape == BidiStream {
		e.refusedOpenStream(c)
		return
	}
	if !e.Host.BeforeDecode {
		e.Skip(ReadFirst)
	}
	p, ok := c.(Poster)
	if !ok {
		e.Skip(SentWhole)
	}
	server, client := p.Over()
	path, header, text := p.Post(strings.Repeat("x", 200_000))
	body, unsent := io.Pipe()
	go func() { _, _ = io.WriteString(unsent, text[:1000]) }()
	e.refusedOne(client, server.URL+path, header, body)
	_ = unsent.Close()
}

func (e *Env) refusedOpenStream(c Client) {
	ctx, cancel := context.WithCancel(e.Context())
	defer cancel()
	began := time.Now()
	call := c.Open(ctx, BidiStream, nil)
	_ = call.Send("hello") // Recv has the error
	_, err := last(call)
	e.checkRefusal(e.failure(err), BidiStream, busy("LIMIT"))
	if took := time.Since(began); took > promptly {
		e.Errorf("told after %s", took)
	}
}

func refusedUnderWayHTTP1(e *Env) {
	g := e.gate(gate.WithMaxWait(0))
	defer e.fill(g)()
	p := e.poster(e.start(g, e.unreachable()))
	server, _ := p.Over()
	path, header, text := p.Post(strings.Repeat("x", 200_000))
	for _, length := range []string{fmt.Sprintf("Content-Length: %d", len(text)), "Transfer-Encoding: chunked"} {
		conn, err := server.Dial(e.Context())
		if err != nil {
			e.Fatal(err)
		}
		_ = conn.SetDeadline(time.Now().Add(promptly))
		var request strings.Builder
		fmt.Fprintf(&request, "POST %s HTTP/1.1\r\nHost: test\r\n%s\r\n", path, length)
		_ = header.Write(&request)
		fmt.Fprintf(&request, "\r\n%x\r\n%s", len(text), text[:1000])
		if err := answeredOver(conn, request.String()); err != nil {
			e.Errorf("%s: %v", length, err)
		}
		_ = conn.Close()
	}
	time.Sleep(time.Second) // until the server has hung up
}

// answeredOver sends the beginning of a request, and reads the refusal.
func answeredOver(conn net.Conn, request string) error {
	sent := make(chan error, 1)
	go func() {
		_, err := io.WriteString(conn, request)
		sent <- err
	}()
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return errors.Join(err, conn.Close(), <-sent)
	}
	return refusedAs(res)
}
