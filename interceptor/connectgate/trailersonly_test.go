package connectgate_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"connectrpc.com/connect"
	connectv2 "connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"
	"golang.org/x/net/http2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	testv1 "github.com/rpcgate/rpcgate/gen/rpcgate/test/v1"
	"github.com/rpcgate/rpcgate/interceptor/connectgate"
	"github.com/rpcgate/rpcgate/internal/memhttp"
)

// plainHandlers write answers to gRPC calls of which no byte may change.
func plainHandlers() map[string]http.HandlerFunc {
	return map[string]http.HandlerFunc{
		"nothing":          func(http.ResponseWriter, *http.Request) {},
		"write":            func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "text") },
		"empty write":      func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(nil) },
		"flush":            func(w http.ResponseWriter, _ *http.Request) { w.(http.Flusher).Flush() },
		"status":           func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusUnsupportedMediaType) },
		"status and flush": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(200); w.(http.Flusher).Flush() },
		"early hints": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Link", "</a>")
			w.WriteHeader(http.StatusEarlyHints)
			fmt.Fprint(w, "text")
		},
		"header after status": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-In-Time", "1")
			w.WriteHeader(200)
			w.WriteHeader(500)
			w.Header().Set("X-Late", "1")
			w.Header().Del("X-In-Time")
			fmt.Fprint(w, "text")
		},
		"header after status, flushed": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(200)
			w.Header().Set("X-Late", "1")
			w.(http.Flusher).Flush()
			fmt.Fprint(w, "text")
		},
		"error after a message": func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, envelope(0, "text"))
			w.Header().Set(http.TrailerPrefix+"Grpc-Status", "8")
		},
		"error after headers sent ahead": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Trailer", "Grpc-Status")
			w.WriteHeader(200)
			w.(http.Flusher).Flush()
			w.Header().Set("Grpc-Status", "8")
		},
		"success without a message": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set(http.TrailerPrefix+"Grpc-Status", "0")
			w.(http.Flusher).Flush()
		},
		"success, announced": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Trailer", "Grpc-Status, X-More")
			w.(http.Flusher).Flush()
			w.Header().Set("Grpc-Status", "0")
			w.Header().Set("X-More", "more")
		},
		"message, announced": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Trailer", "Grpc-Status")
			w.(http.Flusher).Flush()
			fmt.Fprint(w, envelope(0, "text"))
			w.Header().Set("Grpc-Status", "0")
		},
		"trailers only already": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Grpc-Status", "8")
			w.WriteHeader(200)
		},
		"controller": func(w http.ResponseWriter, _ *http.Request) {
			c := http.NewResponseController(w)
			err := errors.Join(c.SetReadDeadline(time.Time{}), c.SetWriteDeadline(time.Time{}), c.Flush(), c.EnableFullDuplex())
			fmt.Fprint(w, err)
		},
		"panic": func(http.ResponseWriter, *http.Request) { panic("broken on purpose") },
		"panic with a status": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Grpc-Status", "8")
			panic(http.ErrAbortHandler)
		},
		"panic after a message": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "text"); panic(http.ErrAbortHandler) },
	}
}

// sameFrames checks that a handler's answer is the same with TrailersOnly and
// without.
func sameFrames(t *testing.T, h http.Handler, route string, header map[string]string, messages ...string) {
	t.Helper()
	want := callHTTP2(t, memhttp.Start(t, h), route, true, header, messages...)
	got := callHTTP2(t, memhttp.Start(t, connectgate.TrailersOnly(h)), route, true, header, messages...)
	if g, w := fmt.Sprint(got), fmt.Sprint(want); g != w {
		t.Errorf("with TrailersOnly:\n%s\nwithout:\n%s", g, w)
	}
}

func TestTrailersOnlyChangesNoByteOfOtherAnswers(t *testing.T) {
	handlers := plainHandlers()
	for _, name := range slices.Sorted(maps.Keys(handlers)) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { sameFrames(t, handlers[name], unaryRoute, nil, "") })
		})
	}
}

func TestTrailersOnlyChangesNoByteOfCallsThatSucceed(t *testing.T) {
	large := string(marshal(t, &testv1.ServerStreamRequest{Payload: make([]byte, 10_000), Count: 3}))
	for name, start := range map[string]func() http.Handler{
		"v1":      func() http.Handler { return handlerV1(nil) },
		"v2":      func() http.Handler { return handlerV2(nil) },
		"grpc-go": func() http.Handler { return handlerGRPC(nil) },
	} {
		t.Run(name, func(t *testing.T) {
			eachShape(t, func(t *testing.T, route string) {
				h := start()
				sameFrames(t, h, route, nil, string(marshal(t, &testv1.UnaryRequest{Text: "hello"})))
				if route == unaryRoute || route == serverStreamRoute {
					sameFrames(t, h, route, map[string]string{"grpc-accept-encoding": "gzip"}, large)
				}
			})
		})
	}
}

func TestTrailersOnlyLeavesOtherRequestsAndTheirWriterAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		same := false
		var given http.ResponseWriter
		inner := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { same = w == given })
		h := connectgate.TrailersOnly(inner)
		s := memhttp.Start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			given = w
			h.ServeHTTP(w, r)
		}))
		for name, contentType := range map[string]string{
			"gRPC-Web": "application/grpc-web+proto", "Connect": "application/connect+proto", "JSON": "application/json",
		} {
			if post(t, s.ClientHTTP2(), s.URL, contentType); !same {
				t.Errorf("%s over HTTP/2: the writer is another one", name)
			}
		}
		if post(t, s.Client(), s.URL, "application/grpc"); !same {
			t.Error("gRPC over HTTP/1.1: the writer is another one")
		}
		if post(t, s.ClientHTTP2(), s.URL, "application/grpc"); same {
			t.Error("gRPC over HTTP/2: the writer is the same, so this test tests nothing")
		}
	})
}

func post(t *testing.T, client *http.Client, url, contentType string) {
	t.Helper()
	res, err := client.Post(url, contentType, strings.NewReader(""))
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
}

func TestErrorWithoutAMessageIsSentAsOneFrameOfHeaders(t *testing.T) {
	refused := connect.NewError(connect.CodeResourceExhausted, errors.New("full"))
	for name, h := range map[string]http.HandlerFunc{
		"error writer v1": func(w http.ResponseWriter, r *http.Request) { _ = connect.NewErrorWriter().Write(w, r, refused) },
		"error writer v2": func(w http.ResponseWriter, r *http.Request) {
			_ = connecthttp.NewErrorWriter().Write(w, r, connectv2.NewError(connectv2.CodeResourceExhausted, "full"))
		},
		"never flushed": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/grpc")
			w.Header().Set(http.TrailerPrefix+"Grpc-Status", "8")
		},
		"announced, never flushed": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Trailer", "Grpc-Status")
			w.Header().Set("Grpc-Status", "8")
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				frames := callHTTP2(t, memhttp.Start(t, connectgate.TrailersOnly(h)), unaryRoute, true, nil, "")
				if len(frames) != 1 || !frames[0].end || frames[0].header.Get("Grpc-Status") != "8" {
					t.Errorf("got %v, want one frame", frames)
				}
			})
		})
	}
}

func TestHeadersAndTrailersOfAnErrorComeTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := func(w http.ResponseWriter, _ *http.Request) {
			h := w.Header()
			h.Set("X-Header", "a")
			h.Set("X-Both", "header")
			h.Set("Grpc-Retry-Pushback-Ms", "1")
			h.Set(http.TrailerPrefix+"X-Both", "trailer")
			h.Set(http.TrailerPrefix+"x-lower-bin", "AA")
			h.Set(http.TrailerPrefix+"Content-Length", "7")
			h.Set(http.TrailerPrefix+"Grpc-Retry-Pushback-Ms", "2")
			h.Set(http.TrailerPrefix+"Grpc-Status", "8")
			w.(http.Flusher).Flush()
		}
		frames := callHTTP2(t, memhttp.Start(t, connectgate.TrailersOnly(http.HandlerFunc(h))), unaryRoute, true, nil, "")
		if len(frames) != 1 || !frames[0].end {
			t.Fatalf("got %v, want one frame", frames)
		}
		got := frames[0].header
		delete(got, ":status")
		want := http.Header{
			"X-Header": {"a"}, "X-Both": {"header", "trailer"}, "X-Lower-Bin": {"AA"},
			"Grpc-Retry-Pushback-Ms": {"2"}, "Grpc-Status": {"8"},
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}

func TestHeadersSentAheadAreNotHeldBack(t *testing.T) {
	for name, h := range map[string]func(wait func()) http.Handler{
		"v1": func(wait func()) http.Handler {
			return connect.NewBidiStreamHandler(bidiRoute,
				func(_ context.Context, s *connect.BidiStream[testv1.BidiStreamRequest, testv1.BidiStreamResponse]) error {
					s.ResponseHeader().Set("X-Ahead", "1")
					defer wait()
					return s.Conn().Send(nil)
				})
		},
		"v2": func(wait func()) http.Handler {
			server := connectv2.NewServer()
			server.Register(connectv2.Method{
				Spec: connectv2.Spec{Procedure: bidiRoute, StreamType: connectv2.StreamTypeBidi},
				Handler: func(ctx context.Context, _ connectv2.Spec, s connectv2.ServerStream) error {
					info, _ := connectv2.CallInfoForServerContext(ctx)
					info.ResponseHeader().Set("X-Ahead", "1")
					defer wait()
					return s.SendHeaders()
				},
			})
			mux := http.NewServeMux()
			connecthttp.Mount(mux, server)
			return mux
		},
		"grpc-go": func(wait func()) http.Handler {
			return handlerGRPC(func(ctx context.Context) error {
				defer wait()
				return grpc.SendHeader(ctx, metadata.Pairs("x-ahead", "1"))
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				hold := make(chan struct{})
				s := memhttp.Start(t, connectgate.TrailersOnly(h(func() { <-hold })))
				stream, err := dialGRPC(t, s).BidiStream(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				header, err := stream.Header()
				if err != nil || len(header.Get("x-ahead")) != 1 {
					t.Errorf("header %v and error %v, want them while the handler waits", header, err)
				}
				close(hold)
				if err := stream.CloseSend(); err != nil {
					t.Error(err)
				}
				if err := ended(stream.RecvMsg(&testv1.BidiStreamResponse{})); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestRefusalIsStillOneFrameBehindAReverseProxy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t)
		defer fill(t, g)()
		backend := memhttp.Start(t, connectgate.TrailersOnly(grpcServers(g)["v1"]))
		target, err := url.Parse(backend.URL)
		if err != nil {
			t.Fatal(err)
		}
		proxy := &httputil.ReverseProxy{
			Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(target) },
			Transport: backend.ClientHTTP2().Transport,
		}
		for name, h := range map[string]http.Handler{"plain": proxy, "wrapped": connectgate.TrailersOnly(proxy)} {
			frames := callHTTP2(t, memhttp.Start(t, h), unaryRoute, true, nil, "")
			if len(frames) != 1 || frames[0].kind != http2.FrameHeaders || !frames[0].end {
				t.Fatalf("%s: got %v, want one frame of headers", name, frames)
			}
			checkStatus(t, frames[0].header)
		}
	})
}
