package hosts

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/rpcgate/rpcgate/internal/conformance"
	"github.com/rpcgate/rpcgate/internal/memhttp"
)

// overHTTP are the clients of servers that speak HTTP.
type overHTTP interface {
	// Over returns the server and an HTTP/2 client of it.
	Over() (*memhttp.Server, *http.Client)
}

// body is what is sent by hand: slowly, or in chunks of an unknown number, or not to its end.
type body struct {
	text    string // JSON
	chunked bool
	pauses  int // while it is sent
	cut     int // where it is cut off, or its length
}

func drawBody(r *rand.Rand) body {
	sizes := []int{0, 20, 3000, 70_000, 300_000, 1 << 20}
	b := body{chunked: r.IntN(2) == 0, pauses: r.IntN(3)}
	verb := []string{echo, pause, linger}[r.IntN(3)]
	b.text = fmt.Sprintf("{\"text\": %q}", verb+" "+strings.Repeat("x", sizes[r.IntN(len(sizes))]))
	if b.cut = len(b.text); r.IntN(3) == 0 {
		b.cut = r.IntN(len(b.text))
	}
	return b
}

func (b body) whole() bool { return b.cut == len(b.text) }

// reader sends the body to its end, or to where it is cut off, which is an error.
func (b body) reader() io.Reader { return &slow{body: b, rest: b.text[:b.cut], parts: b.pauses + 1} }

// slow reads a body in parts, with pauses between them.
type slow struct {
	body  body
	rest  string
	parts int // that are left
	part  string
}

func (s *slow) Read(p []byte) (int, error) {
	for s.part == "" {
		switch {
		case s.parts == 0 && s.body.whole():
			return 0, io.EOF
		case s.parts == 0:
			return 0, errCut
		case s.parts <= s.body.pauses:
			<-time.After(time.Duration(rand.IntN(3000)) * time.Microsecond)
		}
		n := len(s.rest) / s.parts
		s.part, s.rest, s.parts = s.rest[:n], s.rest[n:], s.parts-1
	}
	n := copy(p, s.part)
	s.part = s.part[n:]
	return n, nil
}

var errCut = errors.New("cut off")

// send sends some bodies to the server, over a connection of HTTP/1.1 or of HTTP/2.
func (w *world) send(server *memhttp.Server, client *http.Client, r *rand.Rand) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if r.IntN(2) == 0 {
		w.sendByClient(ctx, client, server.URL, r)
		return
	}
	conn, err := server.Dial(ctx)
	if err != nil {
		w.problem("dial: %v", err)
		return
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patience))
	answers := bufio.NewReader(conn)
	for range 1 + r.IntN(4) {
		if !w.sendHTTP1(conn, answers, r) {
			return
		}
	}
}

// paths are those of unary calls in RPC and in REST. The other one is not found, which is an answer.
var paths = []string{conformance.Unary.Route(), "/v1/echo"}

// sendHTTP1 sends a body and reads its answer at the same time, as good clients do. It reports whether the connection can
// be used again.
func (w *world) sendHTTP1(conn net.Conn, answers *bufio.Reader, r *rand.Rand) (again bool) {
	b, path := drawBody(r), paths[r.IntN(len(paths))]
	written := make(chan error, 1)
	go func() { written <- b.write(conn, path) }()
	answer, err := http.ReadResponse(answers, nil)
	if err == nil {
		_, err = io.Copy(io.Discard, answer.Body)
	}
	if err != nil {
		_ = conn.Close() // ends the writer
	}
	writeErr := <-written
	switch {
	case !b.whole():
		w.inPart.Add(1)
		return false
	case err != nil:
		w.problem("HTTP/1.1, a body of %d bytes got no answer: %v (written: %v)", len(b.text), err, writeErr)
		return false
	}
	w.bodies.Add(1)
	return writeErr == nil && !answer.Close
}

// write writes a request of HTTP/1.1. It closes the connection if the body is cut off.
func (b body) write(conn net.Conn, path string) error {
	length, to := fmt.Sprintf("Content-Length: %d", len(b.text)), io.Writer(conn)
	if b.chunked {
		length, to = "Transfer-Encoding: chunked", chunks{conn}
	}
	_, err := fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: in-memory.test\r\nContent-Type: application/json\r\n%s\r\n\r\n", path, length)
	if err == nil {
		_, err = io.Copy(to, b.reader())
	}
	if err == nil && b.chunked {
		_, err = io.WriteString(conn, "0\r\n\r\n")
	}
	if errors.Is(err, errCut) {
		_ = conn.Close()
	}
	return err
}

// chunks writes each part as a chunk.
type chunks struct{ w io.Writer }

func (c chunks) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	_, err := fmt.Fprintf(c.w, "%x\r\n%s\r\n", len(p), p)
	return len(p), err
}

// sendByClient sends a body on the connections of all clients, over HTTP/2 or, to some hosts, HTTP/1.1. It may need another
// attempt: a handler that ends its goroutine ends a connection of HTTP/1.1 that may look idle to its client.
func (w *world) sendByClient(ctx context.Context, client *http.Client, url string, r *rand.Rand) {
	b, path := drawBody(r), paths[r.IntN(len(paths))]
	err := b.post(ctx, client, url+path)
	for i := 0; i < attempts && err != nil && b.whole(); i++ {
		w.again.Add(1)
		err = b.post(ctx, client, url+path)
	}
	switch {
	case !b.whole():
		w.inPart.Add(1)
	case err != nil:
		w.problem("a body of %d bytes got no answer from a client: %v", len(b.text), err)
	default:
		w.bodies.Add(1)
	}
}

// post sends the body and reads the answer.
func (b body) post(ctx context.Context, client *http.Client, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, b.reader())
	if err != nil {
		return err
	}
	// So that a call that a closing connection has not taken can be made on another.
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(b.reader()), nil }
	req.Header.Set("Content-Type", "application/json")
	if !b.chunked {
		req.ContentLength = int64(len(b.text))
	}
	answer, err := client.Do(req)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	_, err = io.Copy(io.Discard, answer.Body)
	return err
}
