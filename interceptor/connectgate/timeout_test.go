package connectgate_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor/connectgate"
)

// TestRefusalWhileATimeoutHandlerGivesUp refuses calls at the very time at which http.TimeoutHandler answers them on
// another goroutine. It says most with -race.
func TestRefusalWhileATimeoutHandlerGivesUp(t *testing.T) {
	const wait = 20 * time.Millisecond
	for name, middleware := range map[string]bool{"middleware": true, "interceptors": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := gate.Must(gate.New("db", 1, gate.WithMaxWait(wait), gate.WithDeadlineShare(1), gate.WithMaxWaiting(1000)))
				defer fill(t, g)()
				for kind, h := range servers(g, nil) {
					if middleware {
						h = connectgate.NewMiddleware(g)(h)
					}
					s := configured(t, http.TimeoutHandler(h, wait, "too late"))
					for range 20 {
						for _, client := range []*http.Client{s.Client(), s.ClientHTTP2()} {
							body := struct{ *strings.Reader }{strings.NewReader(strings.Repeat(" ", 1000))}
							r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+bidiRoute, body)
							if err != nil {
								t.Fatal(err)
							}
							r.Header.Set("Content-Type", "application/connect+json")
							res, err := client.Do(r)
							if err != nil {
								t.Errorf("%s: %v", kind, err)
								continue
							}
							_ = res.Body.Close()
							client.CloseIdleConnections()
						}
					}
				}
			})
		})
	}
}
