package connectgate_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/rpcgate/rpcgate/interceptor/connectgate"
	"github.com/rpcgate/rpcgate/internal/memhttp"
)

// envelope is a message as gRPC and Connect streams send it.
func envelope(flags byte, message string) string {
	return string(binary.BigEndian.AppendUint32([]byte{flags}, uint32(len(message)))) + message
}

func TestConnectStreamIsRefusedInItsEndWithRetryAfterInTheMetadata(t *testing.T) {
	request := "POST " + serverStreamRoute + " HTTP/1.1\nHost: test\nContent-Type: application/connect+json\n" +
		"X-Request-Id: id-1\nContent-Length: 7\nConnection: close\n\n" + envelope(0, "{}")
	eachServer(t, func(t *testing.T, s *memhttp.Server) {
		res, body := exchange(t, s, request)
		if res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != "application/connect+json" {
			t.Errorf("status %s and header %v, want 200 and the request's content type", res.Status, res.Header)
		}
		if got := res.Header.Values("Retry-After"); len(got) != 0 {
			t.Errorf("there is a header Retry-After: %q", got)
		}
		if len(body) < 5 || body[0] != 2 || int(binary.BigEndian.Uint32([]byte(body[1:5]))) != len(body)-5 {
			t.Fatalf("%q is not the one message that ends a stream", body)
		}
		var end struct {
			Error    json.RawMessage
			Metadata map[string][]string
		}
		if err := json.Unmarshal([]byte(body[5:]), &end); err != nil {
			t.Fatalf("%v in %s", err, body[5:])
		}
		checkError(t, string(end.Error), "resource_exhausted", "LIMIT")
		if got := end.Metadata; len(got) != 1 || !isRounded(got["Retry-After"]) {
			t.Errorf("metadata is %v, want Retry-After with 1.5 s, rounded, and no more", got)
		}
	})
}

func TestGRPCWebIsRefusedInHeadersWithOnePushback(t *testing.T) {
	request := "POST " + unaryRoute + " HTTP/1.1\nHost: test\nContent-Type: application/grpc-web+proto\n" +
		"X-Request-Id: id-1\nContent-Length: 5\nConnection: close\n\n" + envelope(0, "")
	eachServer(t, func(t *testing.T, s *memhttp.Server) {
		res, body := exchange(t, s, request)
		if res.StatusCode != http.StatusOK || body != "" {
			t.Errorf("status %s and body %q, want 200 and none", res.Status, body)
		}
		checkStatus(t, res.Header)
	})
}

// checkStatus checks the status of gRPC, in headers or trailers.
func checkStatus(t *testing.T, h http.Header) {
	t.Helper()
	for key, want := range map[string]string{
		"Grpc-Status": "8", "Grpc-Message": "server busy", "Grpc-Retry-Pushback-Ms": "1500",
	} {
		if got := h.Values(key); len(got) != 1 || got[0] != want {
			t.Errorf("%s is %q, want one %q", key, got, want)
		}
	}
	if got := h.Values("Retry-After"); len(got) != 0 {
		t.Errorf("there is a Retry-After: %q", got)
	}
	bin, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(h.Get("Grpc-Status-Details-Bin"), "="))
	if err != nil {
		t.Fatal(err)
	}
	var status spb.Status
	if err := proto.Unmarshal(bin, &status); err != nil {
		t.Fatal(err)
	}
	if status.Code != 8 || status.Message != "server busy" {
		t.Errorf("the details say code %d and %q", status.Code, status.Message)
	}
	var details []proto.Message
	for _, packed := range status.Details {
		m, err := packed.UnmarshalNew()
		if err != nil {
			t.Fatal(err)
		}
		details = append(details, m)
	}
	checkDetails(t, details, "LIMIT", "id-1")
}

// frame is what a server has sent in one frame of a stream of HTTP/2.
type frame struct {
	kind   http2.FrameType
	header http.Header
	data   string
	end    bool
}

// String shows a frame, with sorted headers, for comparison.
func (f frame) String() string {
	var b bytes.Buffer
	_ = f.header.Write(&b)
	return fmt.Sprintf("%s end=%v %q\n%s", f.kind, f.end, f.data, b.String())
}

// callHTTP2 makes a gRPC call with the given messages on a connection of its own
// and returns the frames of the answer. The client half-closes at the end if
// closes is set. The date is left out.
func callHTTP2(t *testing.T, s *memhttp.Server, route string, closes bool, header map[string]string, messages ...string) []frame {
	t.Helper()
	conn, err := s.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	framer := http2.NewFramer(conn, conn)
	framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	written := make(chan error, 1)
	go func() { written <- writeCall(conn, framer, route, closes, header, messages) }()
	var frames []frame
	for {
		f, err := framer.ReadFrame()
		if err != nil {
			t.Fatal(err)
		}
		got := frame{kind: f.Header().Type, end: f.Header().Flags.Has(http2.FlagDataEndStream)}
		switch f := f.(type) {
		case *http2.MetaHeadersFrame:
			got.header = http.Header{}
			for _, field := range f.Fields {
				if field.Name != "date" {
					got.header.Add(field.Name, field.Value)
				}
			}
		case *http2.DataFrame:
			got.data = string(f.Data())
		case *http2.RSTStreamFrame:
			got.end = true
		default:
			continue
		}
		if frames = append(frames, got); got.end {
			break
		}
	}
	if err := <-written; err != nil {
		t.Error(err)
	}
	return frames
}

func writeCall(w io.Writer, framer *http2.Framer, route string, closes bool, header map[string]string, messages []string) error {
	if _, err := io.WriteString(w, http2.ClientPreface); err != nil {
		return err
	}
	if err := framer.WriteSettings(); err != nil {
		return err
	}
	var block bytes.Buffer
	enc := hpack.NewEncoder(&block)
	fields := []string{
		":method", "POST", ":scheme", "http", ":authority", "test", ":path", route,
		"content-type", "application/grpc+proto", "te", "trailers", "x-request-id", "id-1",
	}
	for key, value := range header {
		fields = append(fields, key, value)
	}
	for i := 0; i < len(fields); i += 2 {
		if err := enc.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]}); err != nil {
			return err
		}
	}
	err := framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block.Bytes(), EndHeaders: true})
	if err != nil {
		return err
	}
	for i, message := range messages {
		if err := framer.WriteData(1, closes && i == len(messages)-1, []byte(envelope(0, message))); err != nil {
			return err
		}
	}
	return nil
}

// eachShape runs a test with each route and a whole call of it.
func eachShape(t *testing.T, test func(t *testing.T, route string)) {
	for _, route := range []string{unaryRoute, clientStreamRoute, serverStreamRoute, bidiRoute} {
		t.Run(route[strings.LastIndexByte(route, '/')+1:], func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(t, route) })
		})
	}
}

func TestGRPCRefusalIsOneFrameOfHeadersThatEndsTheStream(t *testing.T) {
	for _, name := range []string{"v1", "v2", "middleware/v1", "middleware/v2"} {
		t.Run(name, func(t *testing.T) {
			eachShape(t, func(t *testing.T, route string) {
				g := newGate(t)
				defer fill(t, g)()
				handler := servers(g, nil)[name]
				if !strings.HasPrefix(name, "middleware") {
					handler = connectgate.TrailersOnly(handler)
				}
				frames := callHTTP2(t, memhttp.Start(t, handler), route, true, nil, "")
				if len(frames) != 1 || frames[0].kind != http2.FrameHeaders || !frames[0].end {
					t.Fatalf("got %v, want one frame of headers that ends the stream", frames)
				}
				checkStatus(t, frames[0].header)
				for key := range frames[0].header {
					if strings.HasPrefix(key, "Trailer") || key == "Content-Length" {
						t.Errorf("there is a header %s", key)
					}
				}
			})
		})
	}
}

func TestGRPCRefusalWithoutTrailersOnlyHasOnePushbackInItsTrailer(t *testing.T) {
	for _, name := range []string{"v1", "v2"} {
		t.Run(name, func(t *testing.T) {
			eachShape(t, func(t *testing.T, route string) {
				g := newGate(t)
				defer fill(t, g)()
				frames := callHTTP2(t, memhttp.Start(t, servers(g, nil)[name]), route, true, nil, "")
				if len(frames) != 2 {
					t.Fatalf("got %v, want headers and trailers", frames)
				}
				checkStatus(t, frames[1].header)
			})
		})
	}
}
