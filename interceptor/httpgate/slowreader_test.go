package httpgate_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor"
	"github.com/rpcgate/rpcgate/interceptor/httpgate"
	"github.com/rpcgate/rpcgate/internal/memhttp"
)

const (
	grace = 5 * time.Second
	part  = 32 * time.Second // for 32 KiB at 1 KiB/s
)

// slowReader is a request over HTTP/1.1 whose client reads nothing unless it is told to.
type slowReader struct {
	conn net.Conn
	gate *gate.Gate
	done chan time.Duration // how long the handler took
}

func readSlowly(t *testing.T, configured bool, handler http.HandlerFunc, opts ...httpgate.Option) *slowReader {
	t.Helper()
	s := &slowReader{gate: gate.Must(gate.New("db", 1)), done: make(chan time.Duration, 1)}
	h := httpgate.NewMiddleware(s.gate, opts...)(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		defer func() { s.done <- time.Since(began) }()
		handler(w, r)
	}))
	srv := &http.Server{Handler: h}
	if configured {
		httpgate.ConfigureServer(srv)
	}
	var err error
	if s.conn, err = memhttp.StartServer(t, srv).Dial(t.Context()); err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(s.conn, "GET /report HTTP/1.1\r\nHost: a\r\n\r\n")
	return s
}

// want checks how long the handler took, and whether its call was cut off.
func (s *slowReader) want(t *testing.T, took time.Duration, cutOff uint64) {
	t.Helper()
	got := <-s.done
	synctest.Wait()
	if got != took || s.gate.Snapshot().Totals.CutOff[gate.ReasonSlowResponse] != cutOff || s.gate.InFlight() != 0 {
		t.Errorf("the handler took %s, want %s; totals %+v, want %d cut off; %d in flight",
			got, took, s.gate.Snapshot().Totals, cutOff, s.gate.InFlight())
	}
}

func TestAClientThatReadsNothingLosesItsLease(t *testing.T) {
	large := bytes.Repeat([]byte("x"), 200_000)
	file := filepath.Join(t.TempDir(), "report")
	if err := os.WriteFile(file, large, 0o600); err != nil {
		t.Fatal(err)
	}
	write := func(w http.ResponseWriter, _ *http.Request) {
		if _, err := w.Write(large); err == nil {
			panic("what nobody has read was written")
		}
	}
	for name, test := range map[string]struct {
		handler http.HandlerFunc
		opts    []httpgate.Option
		want    time.Duration
	}{
		"one write": {write, nil, grace + part},
		"flushes": {func(w http.ResponseWriter, _ *http.Request) {
			for http.NewResponseController(w).Flush() == nil {
				_, _ = w.Write(large[:10])
			}
		}, nil, grace},
		"a file": {func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, file) }, nil, grace + part},
		"a reader": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.Copy(w, io.MultiReader(bytes.NewReader(large)))
		}, nil, grace + part},
		"faster": {write, []httpgate.Option{interceptor.WithMinRate(32<<10, 2*time.Second)}, 3 * time.Second},
	} {
		for _, configured := range []bool{false, true} {
			t.Run(fmt.Sprint(name, configured), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					readSlowly(t, configured, test.handler, test.opts...).want(t, test.want, 1)
				})
			})
		}
	}
}

// TestOnlyTheTimeOfWritesCounts has clients that read all at once, and handlers that take their time.
func TestOnlyTheTimeOfWritesCounts(t *testing.T) {
	const hour = time.Hour
	for name, handler := range map[string]http.HandlerFunc{
		"a handler that thinks": func(w http.ResponseWriter, _ *http.Request) {
			for range 3 {
				fmt.Fprintln(w, "text")
				_ = http.NewResponseController(w).Flush()
				time.Sleep(hour)
			}
		},
		"a source that waits": func(w http.ResponseWriter, _ *http.Request) {
			r, feed := io.Pipe()
			go func() {
				defer feed.Close()
				for range 3 {
					fmt.Fprintln(feed, "text")
					time.Sleep(hour)
				}
			}()
			_, _ = io.Copy(w, r)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := readSlowly(t, false, handler)
				go func() { _, _ = io.Copy(io.Discard, s.conn) }()
				s.want(t, 3*hour, 0)
			})
		})
	}
}

// TestAClientThatReadsFastEnoughKeepsItsLease has one that takes 2 KiB each second.
func TestAClientThatReadsFastEnoughKeepsItsLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := readSlowly(t, true, func(w http.ResponseWriter, _ *http.Request) {
			if _, err := w.Write(make([]byte, 400<<10)); err != nil {
				panic(err)
			}
		})
		go func() {
			for buf := make([]byte, 2<<10); ; time.Sleep(time.Second) {
				if _, err := io.ReadFull(s.conn, buf); err != nil {
					return
				}
			}
		}()
		if took := <-s.done; took < 150*time.Second || s.gate.Snapshot().Totals.CutOff != nil {
			t.Errorf("the handler took %s; totals %+v, want nobody cut off", took, s.gate.Snapshot().Totals)
		}
		_ = s.conn.Close()
	})
}

// TestNobodyIsCutOffWithoutALease has handlers that have released their lease, and a host without a bound.
func TestNobodyIsCutOffWithoutALease(t *testing.T) {
	for name, opts := range map[string][]httpgate.Option{"released": nil, "no bound": {interceptor.WithoutMinRate()}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := readSlowly(t, true, func(w http.ResponseWriter, r *http.Request) {
					if opts == nil {
						lease, _ := gate.LeaseFromContext(r.Context())
						lease.Release()
					}
					_, _ = w.Write(make([]byte, 100_000))
				}, opts...)
				time.Sleep(time.Hour)
				_ = s.conn.Close()
				s.want(t, time.Hour, 0)
			})
		})
	}
}
