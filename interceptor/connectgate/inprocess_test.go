package connectgate_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	connectv2 "connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connectinprocess"

	testv1connectv2 "github.com/rpcgate/rpcgate/gen/connectv2/rpcgate/test/v1/testv1connect"
	testv1 "github.com/rpcgate/rpcgate/gen/rpcgate/test/v1"
	"github.com/rpcgate/rpcgate/interceptor/connectgate"
)

// TestRefusedCallWithinTheProcessLeavesTheOuterBody has a handler that makes a call of its own to a full gate, in this
// process, before it reads its request's body.
func TestRefusedCallWithinTheProcessLeavesTheOuterBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t)
		defer fill(t, g)()
		inner := connectv2.NewServer(connectgate.NewServerInterceptor(g))
		testv1connectv2.RegisterEchoServiceHandler(inner, echoV2{})
		client := testv1connectv2.NewEchoServiceClient(connectv2.NewClient(connectinprocess.New(inner)))
		s := configured(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if _, err := client.Unary(r.Context(), &testv1.UnaryRequest{}); connectv2.CodeOf(err) != connectv2.CodeResourceExhausted {
				t.Errorf("got %v, want a refusal", err)
			}
			if body, err := io.ReadAll(r.Body); string(body) != "hello" {
				t.Errorf("the handler reads %q, and error %v", body, err)
			}
		}))
		for _, c := range []*http.Client{s.Client(), s.ClientHTTP2()} {
			res, err := c.Post(s.URL, "text/plain", strings.NewReader("hello"))
			if err != nil {
				t.Fatal(err)
			}
			_ = res.Body.Close()
		}
	})
}

// TestCallWithinTheProcessDoesNotBoundTheOuterResponse has a call of a handler's own that is in flight while the handler's
// client reads nothing: the lease is not for that client.
func TestCallWithinTheProcessDoesNotBoundTheOuterResponse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t)
		var outer http.ResponseWriter
		inner := connectv2.NewServer(connectgate.NewServerInterceptor(g))
		testv1connectv2.RegisterEchoServiceHandler(inner, echoV2{func(context.Context) error {
			_, _ = outer.Write(make([]byte, 200_000))
			return nil
		}})
		client := testv1connectv2.NewEchoServiceClient(connectv2.NewClient(connectinprocess.New(inner)))
		took := make(chan time.Duration, 1)
		s := configured(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			began := time.Now()
			outer = w
			_, _ = client.Unary(r.Context(), &testv1.UnaryRequest{})
			took <- time.Since(began)
		}))
		conn, err := s.Dial(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
		time.Sleep(time.Hour)
		_ = conn.Close()
		if d := <-took; d != time.Hour || g.Snapshot().Totals.CutOff != nil {
			t.Errorf("the handler took %s, totals %+v; want it to wait for its client", d, g.Snapshot().Totals)
		}
	})
}
