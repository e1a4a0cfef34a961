package refusal

import (
	"net/http"
	"testing"
)

func TestBothFormsOfANameAreTheSame(t *testing.T) {
	for metadata, header := range map[string]string{
		PushbackMetadata: PushbackHeader, AttemptsMetadata: AttemptsHeader, RequestIDMetadata: RequestIDHeader,
	} {
		if want := http.CanonicalHeaderKey(metadata); header != want {
			t.Errorf("%s as a header is %s, want %s", metadata, header, want)
		}
	}
}
