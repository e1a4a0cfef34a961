package gatelog_test

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/gate/gatelog"
)

func TestOneLineForEachRouteAndInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out lines
		log := out.logger(gatelog.WithSampleRate(0), gatelog.WithBurst(0, time.Second))
		defer log.Close()
		send(log, 18, accepted("/b"))
		late := accepted("/b")
		late.Waited, late.InFlight = 40*time.Millisecond, 9
		send(log, 2, late)
		send(log, 1, accepted("/a"))
		time.Sleep(30 * time.Second)
		send(log, 3, rejected("/a"))
		timeout := rejected("/a")
		timeout.Decision, timeout.Reason, timeout.Waited = gate.RejectedTimeout, gate.ReasonWaitTimeout, 100*time.Millisecond
		send(log, 1, timeout)
		gone := accepted("/a")
		gone.Decision = gate.Abandoned
		send(log, 2, gone)

		time.Sleep(30*time.Second - 1)
		synctest.Wait()
		out.expect(t)
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		out.expect(t,
			`level=WARN msg="gate summary" gate=db route=/a accepted=1 rejected=4 rejected_queue_full=3 rejected_wait_timeout=1 abandoned=2 waited_ms_mean=20 waited_ms_p95=100 waited_ms_max=100 peak_in_flight=16 limit=16 interval_s=60`,
			`level=INFO msg="gate summary" gate=db route=/b accepted=20 rejected=0 abandoned=0 waited_ms_mean=4 waited_ms_p95=40 waited_ms_max=40 peak_in_flight=9 limit=16 interval_s=60`,
		)
	})
}

func TestNothingHappenedNothingIsWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out lines
		log := out.logger()
		time.Sleep(time.Hour)
		log.Flush(t.Context())
		send(log, 1, accepted("/a"))
		time.Sleep(time.Hour) // one interval with a call, 59 without
		synctest.Wait()
		log.Flush(t.Context())
		log.Close()
		if got := out.take(); len(got) != 1 {
			t.Errorf("want one line, got %q", got)
		}
	})
}

func TestOnlyDecisionsAreCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out lines
		log := out.logger()
		for _, kind := range []gate.EventKind{0, gate.EventRelease, gate.EventMaxHold + 1} {
			e := accepted("/a")
			e.Kind, e.Decision = kind, 0
			send(log, 1000, e)
		}
		log.Close()
		out.expect(t)
	})
}

func TestFlushEndsTheInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out lines
		log := out.logger(gatelog.WithSampleRate(0))
		defer log.Close()
		send(log, 1, accepted("/a"))
		time.Sleep(10 * time.Second)
		log.Flush(t.Context())
		line := `level=INFO msg="gate summary" gate=db route=/a accepted=1 rejected=0 abandoned=0 waited_ms_mean=0 waited_ms_p95=0 waited_ms_max=0 peak_in_flight=3 limit=16 interval_s=`
		out.expect(t, line+"10")
		time.Sleep(20 * time.Second)
		send(log, 1, accepted("/a")) // begins the next interval
		time.Sleep(59 * time.Second)
		synctest.Wait()
		out.expect(t)
		time.Sleep(time.Second)
		synctest.Wait()
		out.expect(t, line+"60")
	})
}

func TestCloseWritesTheRestAndLeavesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // fails if a goroutine is left
		var out lines
		log := out.logger(gatelog.WithSampleRate(0))
		send(log, 5, accepted("/a"))
		time.Sleep(time.Second)
		if err := log.Close(); err != nil {
			t.Error(err)
		}
		out.expect(t, `level=INFO msg="gate summary" gate=db route=/a accepted=5 rejected=0 abandoned=0 waited_ms_mean=0 waited_ms_p95=0 waited_ms_max=0 peak_in_flight=3 limit=16 interval_s=1`)
		send(log, 5, accepted("/a"))
		if log.Interest(t.Context()) != gate.ObserveNothing {
			t.Error("wants events after Close")
		}
		time.Sleep(time.Hour)
		log.Close()
		out.expect(t)
	})
}

func TestDryRunIsMarkedAndCalm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out lines
		log := out.logger(gatelog.WithSampleRate(0), gatelog.WithBurst(1, time.Second))
		e := rejected("/a")
		e.DryRun, e.Rejection = true, nil
		send(log, 2, e)
		log.Close()
		out.expect(t,
			`level=INFO msg="gate decision" gate=db route=/a request_id=r1 decision=rejected_busy reason=queue_full waited_ms=0 in_flight=16 limit=16 waiting=16 dry_run=true detail=burst`,
			`level=INFO msg="gate summary" gate=db route=/a accepted=0 rejected=2 rejected_queue_full=2 abandoned=0 waited_ms_mean=0 waited_ms_p95=0 waited_ms_max=0 peak_in_flight=16 limit=16 interval_s=0 dry_run=true`)
	})
}

func TestRoutesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out lines
		log := out.logger(gatelog.WithSampleRate(0), gatelog.WithMaxRoutes(2))
		defer log.Close()
		count := func(name string, n int) string {
			return fmt.Sprintf(`level=INFO msg="gate summary" gate=db route=%s accepted=%d rejected=0 abandoned=0 waited_ms_mean=0 waited_ms_p95=0 waited_ms_max=0 peak_in_flight=3 limit=16 interval_s=0`, name, n)
		}
		unknown := accepted("/invented/by/a/client")
		unknown.Call.UnknownRoute = true
		send(log, 1, unknown)
		for i := range 100 {
			send(log, 1, accepted(fmt.Sprintf("/%02d", i)))
		}
		log.Flush(t.Context())
		out.expect(t, count("/00", 1), count("/01", 1), count("_OTHER", 99))

		// A route with calls keeps its row, one without is given up.
		send(log, 2, accepted("/01"))
		log.Flush(t.Context())
		send(log, 3, accepted("/50"))
		send(log, 4, accepted("/01"))
		log.Flush(t.Context())
		out.expect(t, count("/01", 2), count("/01", 4), count("/50", 3))
	})
}

func TestBadOptionsPanic(t *testing.T) {
	mustPanic(t, "gatelog: New: want a logger, got nil", func() { gatelog.New(nil) })
	for want, option := range map[string]gatelog.Option{
		"New: want an option, got nil as option 1 of 1":                     nil,
		"WithInterval: want 1ms or more, got 0s":                            gatelog.WithInterval(0),
		"WithSampleRate: want 0 to 1, got 1.5":                              gatelog.WithSampleRate(1.5),
		"WithSampleRate: want 0 to 1, got NaN":                              gatelog.WithSampleRate(math.NaN()),
		"WithBurst: want 0 or more lines and a time above 0, got -1 and 1s": gatelog.WithBurst(-1, time.Second),
		"WithBurst: want 0 or more lines and a time above 0, got 1 and 0s":  gatelog.WithBurst(1, 0),
		"WithMaxDetails: want 0 or more, got -1":                            gatelog.WithMaxDetails(-1),
		"WithMaxRoutes: want a number above 0, got 0":                       gatelog.WithMaxRoutes(0),
	} {
		mustPanic(t, "gatelog: "+want, func() { new(lines).logger(option) })
	}
}

func TestAllMistakesAreNamedAtOnce(t *testing.T) {
	want := "gatelog: New: want a logger, got nil\n" +
		"WithInterval: want 1ms or more, got -1s\n" +
		"New: want an option, got nil as option 3 of 4\n" +
		"WithMaxRoutes: want a number above 0, got -5"
	mustPanic(t, want, func() {
		gatelog.New(nil, gatelog.WithInterval(-time.Second), gatelog.WithMaxDetails(1), nil, gatelog.WithMaxRoutes(-5))
	})
}

// No decision is lost or counted twice while others flush, give up rows or close.
func TestCountsAddUpUnderConcurrency(t *testing.T) {
	var out lines
	log := out.logger(gatelog.WithInterval(time.Millisecond), gatelog.WithSampleRate(0),
		gatelog.WithBurst(0, 1), gatelog.WithMaxRoutes(3))
	const workers, calls = 8, 2000
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := range calls {
				e := accepted(fmt.Sprintf("/%d", (w+i/50)%7))
				e.Gate = fmt.Sprintf("gate-%d", i/500)
				log.OnEvent(context.Background(), e)
				if i%64 == 0 {
					log.Flush(context.Background())
				}
				if i%16 == 0 {
					runtime.Gosched()
				}
			}
		})
	}
	wg.Wait()
	log.Close()
	total := 0
	for _, line := range out.take() {
		var n int
		_, rest, _ := strings.Cut(line, "accepted=")
		if _, err := fmt.Sscanf(rest, "%d ", &n); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		total += n
	}
	if total != workers*calls {
		t.Errorf("want %d calls in all lines, got %d", workers*calls, total)
	}
}

func TestCloseDuringEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out lines
		log := out.logger(gatelog.WithInterval(time.Millisecond), gatelog.WithSampleRate(0))
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for range 1000 {
					log.OnEvent(context.Background(), accepted("/a"))
				}
			})
		}
		wg.Go(func() { log.Close() })
		wg.Wait()
		out.take()
		time.Sleep(time.Hour)
		out.expect(t)
	})
}

func TestSummaryCountsCallsThatWereCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out lines
		log := out.logger(gatelog.WithSampleRate(0))
		release := accepted("/a")
		release.Kind, release.Decision = gate.EventRelease, 0
		send(log, 2, release)
		release.Reason = gate.ReasonSlowRequest
		send(log, 3, release)
		_ = log.Close()
		got := out.take()
		if len(got) != 1 || !strings.Contains(got[0], "cut_off_slow_request=3") || !strings.HasPrefix(got[0], "level=WARN") ||
			!strings.Contains(got[0], "accepted=0") {
			t.Errorf("got\n%s", strings.Join(got, "\n"))
		}
	})
}
