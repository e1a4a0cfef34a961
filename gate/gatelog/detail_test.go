package gatelog_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/gate/gatelog"
)

// details keeps the lines of detail only.
func details(all []string) []string {
	return slices.DeleteFunc(all, func(s string) bool { return strings.Contains(s, "gate summary") })
}

func TestSampleIsEveryNthCallOfARoute(t *testing.T) {
	for _, tc := range []struct {
		rate  float64
		calls int
		want  int
	}{
		{0, 1000, 0}, {0.001, 999, 0}, {0.001, 1000, 1}, {0.01, 99, 0}, {0.01, 100, 1}, {0.01, 1000, 10},
		{0.1, 9, 0}, {0.1, 10, 1}, {0.3, 3, 0}, {0.3, 4, 1}, {0.3, 100, 30}, {1, 7, 7},
	} {
		synctest.Test(t, func(t *testing.T) {
			var out lines
			log := out.logger(gatelog.WithSampleRate(tc.rate), gatelog.WithMaxDetails(1000))
			for range tc.calls { // two routes by turns: each has its own count
				send(log, 1, accepted("/a"))
				send(log, 1, accepted("/b"))
			}
			log.Close()
			got := details(out.take())
			for _, route := range []string{"/a", "/b"} {
				n := 0
				for _, line := range got {
					if strings.Contains(line, "route="+route+" ") {
						n++
					}
				}
				if n != tc.want {
					t.Errorf("rate %v, %d calls of %s: want %d lines, got %d", tc.rate, tc.calls, route, tc.want, n)
				}
			}
		})
	}
}

func TestDetailSaysAllThatIsKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out lines
		log := out.logger(gatelog.WithSampleRate(1), gatelog.WithRawKeys())
		send(log, 1, accepted("/a"))
		e := rejected("/a")
		e.Waited = 12345 * time.Microsecond
		e.Call.RequestID, e.Call.RemoteIP, e.Call.Key = "id-7", "10.0.0.1", "acme"
		e.Call.Priority, e.Call.Cost = gate.Low, 4
		send(log, 1, e)
		log.Close()
		got := details(out.take())
		want := []string{
			`level=INFO msg="gate decision" gate=db route=/a request_id=r1 decision=accepted waited_ms=0 in_flight=3 limit=16 waiting=0 detail=sample`,
			`level=WARN msg="gate decision" gate=db route=/a request_id=id-7 decision=rejected_busy reason=queue_full waited_ms=12 in_flight=16 limit=16 waiting=16 retry_delay_ms=1500 remote_ip=10.0.0.1 key=acme priority=low cost=4 detail=burst`,
		}
		if !slices.Equal(got, want) {
			t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}

func TestKeysAreWrittenAsHashes(t *testing.T) {
	const secret = "sk-live-SECRET"
	synctest.Test(t, func(t *testing.T) {
		var out lines
		log := out.logger(gatelog.WithSampleRate(1))
		e := accepted("/a")
		e.Call.Key = secret
		held := e
		held.Kind = gate.EventMaxHold
		send(log, 1, e)
		send(log, 1, held)
		log.Close()
		got := out.take()
		if n := strings.Count(strings.Join(got, "\n"), " key="+e.KeyHash()); n != 2 {
			t.Errorf("the hash of the key is in %d lines, want 2:\n%s", n, strings.Join(got, "\n"))
		}
		for _, line := range got {
			if strings.Contains(line, secret) {
				t.Errorf("the key is in the log: %s", line)
			}
		}
	})
}

func TestBurstAfterTheFirstRejection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out lines
		log := out.logger(gatelog.WithSampleRate(0), gatelog.WithBurst(5, 2*time.Second))
		defer log.Close()
		burst := func(want int) {
			t.Helper()
			if got := details(out.take()); len(got) != want {
				t.Errorf("want %d lines of detail, got %d", want, len(got))
			}
		}
		send(log, 10, accepted("/a"))
		burst(0)
		send(log, 1, rejected("/a"))
		send(log, 2, accepted("/b")) // a burst has every decision of the gate
		burst(3)
		other := accepted("/a")
		other.Gate = "reports" // but none of another gate
		send(log, 1, other)
		burst(0)
		send(log, 10, accepted("/a"))
		burst(2) // 5 in all

		// No further burst begins while rejections go on, until an interval
		// without one.
		for range 100 {
			time.Sleep(59 * time.Second)
			send(log, 1, rejected("/a"))
		}
		burst(0)
		time.Sleep(time.Minute)
		send(log, 1, rejected("/a"))
		time.Sleep(2 * time.Second) // its time ends before its lines do
		send(log, 10, accepted("/a"))
		burst(1)
	})
}

func TestLinesOfDetailAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out lines
		log := out.logger(gatelog.WithSampleRate(1), gatelog.WithMaxDetails(3), gatelog.WithBurst(0, 1))
		for range 2 {
			send(log, 5, accepted("/a"))
			log.Flush(t.Context())
			got := out.take()
			if n := len(details(slices.Clone(got))); n != 3 {
				t.Errorf("want 3 lines of detail in an interval, got %d", n)
			}
			if last := got[len(got)-1]; !strings.HasSuffix(last, "interval_s=0 details_dropped=2") {
				t.Errorf("the summary does not say how many were left out: %s", last)
			}
		}
		log.Close()
	})
}

func TestLeaseHeldTooLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out lines
		log := out.logger()
		g := gate.Must(gate.New("db", 2, gate.WithMaxHold(3*time.Second), gate.WithOnEvent(log.OnEvent)))
		lease, err := g.Acquire(t.Context(), gate.Call{Route: "/report", RequestID: "r9"})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		synctest.Wait()
		lease.Release()
		log.Close()
		out.expect(t,
			`level=WARN msg="gate lease held too long" gate=db route=/report request_id=r9 held_ms=3000 in_flight=1 limit=2`,
			`level=WARN msg="gate summary" gate=db route=/report accepted=1 rejected=0 abandoned=0 waited_ms_mean=0 waited_ms_p95=0 waited_ms_max=0 peak_in_flight=1 limit=2 interval_s=5 held_too_long=1`)
	})
}

func TestStringsOfClientsAreCleaned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out lines
		log := out.logger(gatelog.WithSampleRate(1))
		e := accepted("/" + strings.Repeat("x", 1<<20))
		e.Call.RequestID = "a\x1b[31m\nlevel=ERROR \u202e\xff" + strings.Repeat("é", 1000)
		send(log, 3, e)
		log.Close()
		got := out.take()
		if len(got) != 4 {
			t.Fatalf("want 3 lines of detail and a summary, got %d", len(got))
		}
		for _, line := range got {
			if len(line) > 1200 || strings.ContainsAny(line, "\x1b\u202e") || !utf8.ValidString(line) || !strings.Contains(line, "x… ") {
				t.Errorf("not clean: %q", line)
			}
		}
		if !strings.Contains(got[3], "accepted=3") {
			t.Errorf("a long route is not counted as one: %s", got[3])
		}
	})
}

func TestObserverIsAddedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out lines
		log := out.logger(gatelog.WithSampleRate(1))
		g := gate.Must(gate.New("db", 2))
		other := new(lines).logger()
		for i, want := range []struct {
			observer *gatelog.Logger
			added    bool
		}{{log, true}, {log, false}, {other, true}} {
			if present, added := g.Observe(want.observer); added != want.added || present != gate.Observer(want.observer) {
				t.Errorf("observer %d: added %v, want %v", i+1, added, want.added)
			}
		}
		lease, err := g.Acquire(t.Context(), gate.Call{Route: "/a", Caller: caller{}})
		if err != nil {
			t.Fatal(err)
		}
		lease.Release()
		log.Close()
		got := details(out.take())
		want := `level=INFO msg="gate decision" gate=db route=/a request_id=asked waited_ms=0`
		want = strings.Replace(want, " waited_ms", " decision=accepted waited_ms", 1)
		if len(got) != 1 || !strings.HasPrefix(got[0], want) || !strings.Contains(got[0], "remote_ip=10.1.1.1") {
			t.Errorf("want one line that begins %s, got %q", want, got)
		}
	})
}

func TestGateWithoutCallsIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out lines
		log := out.logger(gatelog.WithSampleRate(0.5))
		defer log.Close()
		for i := range 1000 {
			e := accepted("/a")
			e.Gate = fmt.Sprintf("tenant-%d", i)
			send(log, 1, e)
		}
		log.Flush(t.Context())
		if n := log.Gates(); n != 1000 {
			t.Errorf("want 1000 gates, got %d", n)
		}
		send(log, 1, accepted("/a"))
		log.Flush(t.Context())
		if n := log.Gates(); n != 1 {
			t.Errorf("want one gate, got %d", n)
		}
	})
}
