//go:build interop

package interop

import (
	"net/http"
	"sync"
	"testing"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor/httpgate"
)

// TestNginxBoundsTheConnectionsOfAnAddress has a client with three requests under way where two may be.
func TestNginxBoundsTheConnectionsOfAnAddress(t *testing.T) {
	g := gate.Must(gate.New("db", 10))
	inside, leave := make(chan struct{}), make(chan struct{})
	leaveAll := sync.OnceFunc(func() { close(leave) })
	defer leaveAll()
	upstream := serveHTTP(t, httpgate.NewMiddleware(g)(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		inside <- struct{}{}
		<-leave
	})))
	p := startNginx(t, []string{upstream}, "limit_conn per_address 512;", "limit_conn per_address 2;")
	statuses := make(chan int, 2)
	for range 2 {
		go func() { statuses <- getStatus(t, p.http1) }()
		<-inside
	}
	if got := getStatus(t, p.http1); got != http.StatusServiceUnavailable {
		t.Errorf("the third request got status %d, want 503", got)
	}
	leaveAll()
	for range 2 {
		if got := <-statuses; got != http.StatusOK {
			t.Errorf("a request within the limit got status %d", got)
		}
	}
	if n := g.Snapshot().Totals.Accepted; n != 2 {
		t.Errorf("%d requests came to the gate, want 2", n)
	}
}

func getStatus(t *testing.T, url string) int {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Get(url)
	if err != nil {
		t.Error(err)
		return 0
	}
	_ = res.Body.Close()
	return res.StatusCode
}
