package connectgate_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"connectrpc.com/connect"
	"connectrpc.com/vanguard"

	testv1 "github.com/rpcgate/rpcgate/gen/rpcgate/test/v1"
	"github.com/rpcgate/rpcgate/gen/rpcgate/test/v1/testv1connect"
	"github.com/rpcgate/rpcgate/interceptor/connectgate"
	"github.com/rpcgate/rpcgate/interceptor/grpcgate"
	"github.com/rpcgate/rpcgate/internal/memhttp"
)

// TestTranscodedRefusalOfAnOpenStreamDoesNotWaitForItsClient has a transcoder that holds a lock while it waits for the
// client's next message, and needs it to close the request, as Vanguard 0.4 does.
func TestTranscodedRefusalOfAnOpenStreamDoesNotWaitForItsClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t)
		defer fill(t, g)()
		h := connectgate.Transcoded(handlerGRPC(nil, grpcgate.ServerOptions(g)...))
		transcoder, err := vanguard.NewTranscoder([]*vanguard.Service{vanguard.NewService(testv1connect.EchoServiceName, h,
			vanguard.WithTargetProtocols(vanguard.ProtocolGRPC), vanguard.WithTargetCodecs(vanguard.CodecProto))})
		if err != nil {
			t.Fatal(err)
		}
		returned := make(chan time.Duration, 1)
		began := time.Now()
		s := memhttp.Start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			transcoder.ServeHTTP(w, r)
			returned <- time.Since(began)
		}))
		client := testv1connect.NewEchoServiceClient(s.ClientHTTP2(), s.URL)
		stream := client.BidiStream(t.Context())
		_ = stream.Send(&testv1.BidiStreamRequest{Text: "hello"}) // it may have been refused by now
		_, err = stream.Receive()
		if connect.CodeOf(err) != connect.CodeResourceExhausted {
			t.Errorf("got %v, want a refusal", err)
		}
		if took := <-returned; took > 10*time.Millisecond {
			t.Errorf("the server was busy with the refusal for %s", took)
		}
		_ = stream.CloseRequest()
		_ = stream.CloseResponse()
	})
}
