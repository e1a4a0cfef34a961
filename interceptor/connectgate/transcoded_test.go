package connectgate_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/rpcgate/rpcgate/interceptor/connectgate"
)

func packedDelay(t *testing.T, delay time.Duration) string {
	t.Helper()
	detail, err := anypb.New(&errdetails.RetryInfo{RetryDelay: durationpb.New(delay)})
	if err != nil {
		t.Fatal(err)
	}
	other, err := anypb.New(&errdetails.ErrorInfo{Reason: "LIMIT"})
	if err != nil {
		t.Fatal(err)
	}
	packed, err := proto.Marshal(&spb.Status{Code: 8, Details: []*anypb.Any{other, detail}})
	if err != nil {
		t.Fatal(err)
	}
	return connect.EncodeBinaryHeader(packed)
}

func TestTranscodedTurnsTheDelayIntoRetryAfter(t *testing.T) {
	for _, test := range []struct {
		name     string
		trailers map[string]string
		want     []string
	}{
		{"pushback", map[string]string{"Grpc-Retry-Pushback-Ms": "2000"}, []string{"2"}},
		{"at once", map[string]string{"Grpc-Retry-Pushback-Ms": "0"}, []string{"1"}},
		{"no retry in time", map[string]string{
			"Grpc-Retry-Pushback-Ms": "-1", "Grpc-Status-Details-Bin": packedDelay(t, 3*time.Second),
		}, []string{"3"}},
		{"a pushback that no client takes", map[string]string{
			"Grpc-Retry-Pushback-Ms": "3000000000000000", "Grpc-Status-Details-Bin": packedDelay(t, 3*time.Second),
		}, []string{"3"}},
		{"no retry, delay below 0", map[string]string{
			"Grpc-Retry-Pushback-Ms": "-1", "Grpc-Status-Details-Bin": packedDelay(t, -2500*time.Millisecond),
		}, nil},
		{"no retry, no details", map[string]string{"Grpc-Retry-Pushback-Ms": "-1"}, nil},
		{"no retry, broken details", map[string]string{
			"Grpc-Retry-Pushback-Ms": "-1", "Grpc-Status-Details-Bin": "?",
		}, nil},
		{"no retry, details of another kind", map[string]string{
			"Grpc-Retry-Pushback-Ms": "-1", "Grpc-Status-Details-Bin": connect.EncodeBinaryHeader([]byte("\xff")),
		}, nil},
		{"said already", map[string]string{"Grpc-Retry-Pushback-Ms": "1200", "Retry-After": "7"}, []string{"7"}},
		{"another error", nil, nil},
		{"another error with a delay", map[string]string{"Grpc-Status-Details-Bin": packedDelay(t, time.Second)}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			h := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set(http.TrailerPrefix+"Grpc-Status", "8")
				for key, value := range test.trailers {
					w.Header().Set(http.TrailerPrefix+key, value)
				}
			})
			if got := transcode(connectgate.Transcoded(h)); len(got) != len(test.want) || len(got) == 1 && got[0] != test.want[0] {
				t.Errorf("Retry-After %q, want %q", got, test.want)
			}
			if got := transcode(connectgate.TrailersOnly(h)); test.trailers["Retry-After"] == "" && len(got) > 0 {
				t.Errorf("Retry-After %q with TrailersOnly, whose clients have no use for it", got)
			}
		})
	}
}

// transcode calls a handler as a transcoder does and returns its Retry-After.
func transcode(h http.Handler) []string { return transcodedHeader(h)["Retry-After"] }

// transcodedHeader is transcode for all headers.
func transcodedHeader(h http.Handler) http.Header {
	r := httptest.NewRequest(http.MethodPost, unaryRoute, nil)
	r.Proto, r.ProtoMajor, r.ProtoMinor = "HTTP/2", 2, 0
	r.Header.Set("Content-Type", "application/grpc+proto")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result().Header
}
