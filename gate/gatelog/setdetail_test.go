package gatelog_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcgate/rpcgate/gate/gatelog"
)

func TestDetailIsChangedForSomeTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out lines
		log := out.logger(gatelog.WithSampleRate(0), gatelog.WithBurst(0, time.Second), gatelog.WithMaxDetails(7))
		defer log.Close()
		usual := gatelog.Detail{BurstTime: time.Second, MaxDetails: 7}
		wantDetail(t, log, usual, 0)
		send(log, 10, accepted("/a"))
		out.expect(t)

		all := gatelog.Detail{SampleRate: 1, BurstTime: time.Second, MaxDetails: 1000}
		if err := log.SetDetail(all, 5*time.Minute); err != nil {
			t.Fatal(err)
		}
		out.expect(t, `level=INFO msg="gate log detail changed" sample_rate=1 burst_lines=0 burst_s=1 max_details=1000 for_s=300`)
		send(log, 10, accepted("/a"))
		wantDetails(t, &out, 10)
		time.Sleep(5*time.Minute - 1)
		wantDetail(t, log, all, 1)
		out.take() // a summary
		send(log, 10, accepted("/a"))
		wantDetails(t, &out, 10)

		time.Sleep(time.Nanosecond)
		send(log, 10, accepted("/a"))
		out.expect(t, `level=INFO msg="gate log detail as before"`)
		wantDetail(t, log, usual, 0)
	})
}

// wantDetail checks what the Logger says of itself.
func wantDetail(t *testing.T, log *gatelog.Logger, want gatelog.Detail, wantLeft time.Duration) {
	t.Helper()
	if d, left := log.Detail(); d != want || left != wantLeft {
		t.Errorf("got %+v for %s, want %+v for %s", d, left, want, wantLeft)
	}
}

func wantDetails(t *testing.T, out *lines, want int) {
	t.Helper()
	n, got := 0, out.take()
	for _, line := range got {
		if strings.Contains(line, "gate decision") {
			n++
		}
	}
	if n != want {
		t.Errorf("%d lines of detail, want %d:\n%s", n, want, strings.Join(got, "\n"))
	}
}

// TestTheEndOfAChangeIsWrittenWithoutCalls has no event after the change: the summary notices.
func TestTheEndOfAChangeIsWrittenWithoutCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out lines
		log := out.logger()
		defer log.Close()
		send(log, 1, accepted("/a"))
		_ = log.SetDetail(gatelog.Detail{BurstTime: 1}, time.Second)
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := out.take(); len(got) != 3 || got[1] != `level=INFO msg="gate log detail as before"` {
			t.Errorf("got\n%s", strings.Join(got, "\n"))
		}
	})
}

// TestAChangeBeginsABurst has rejections that went on before, so that no burst would begin by itself.
func TestAChangeBeginsABurst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out lines
		log := out.logger(gatelog.WithSampleRate(0), gatelog.WithBurst(3, time.Second))
		defer log.Close()
		send(log, 10, rejected("/a"))
		wantDetails(t, &out, 3)
		if err := log.SetDetail(gatelog.Detail{BurstLines: 5, BurstTime: time.Hour}, 10*time.Second); err != nil {
			t.Fatal(err)
		}
		send(log, 2, accepted("/a"))
		wantDetails(t, &out, 0)
		send(log, 1, rejected("/a"))
		send(log, 2, accepted("/a"))
		wantDetails(t, &out, 3)
		time.Sleep(10 * time.Second)
		send(log, 10, accepted("/a")) // no burst outlives the change
		send(log, 10, rejected("/a")) // and none begins at its end
		wantDetails(t, &out, 0)
	})
}

func TestDetailIsResetByHand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out lines
		log := out.logger(gatelog.WithSampleRate(0))
		defer log.Close()
		log.ResetDetail()
		out.expect(t)
		_ = log.SetDetail(gatelog.Detail{SampleRate: 1, BurstTime: 1, MaxDetails: 9}, time.Hour)
		out.take()
		log.ResetDetail()
		log.ResetDetail()
		send(log, 10, accepted("/a"))
		out.expect(t, `level=INFO msg="gate log detail as before"`)
	})
}

// TestAChangeOfAnotherBubbleIsOver has a Logger that is a variable of a package.
func TestAChangeOfAnotherBubbleIsOver(t *testing.T) {
	var out lines
	log := out.logger(gatelog.WithSampleRate(0))
	synctest.Test(t, func(*testing.T) {
		_ = log.SetDetail(gatelog.Detail{SampleRate: 1, BurstTime: 1, MaxDetails: 9}, time.Hour)
	})
	synctest.Test(t, func(t *testing.T) {
		out.take()
		send(log, 3, accepted("/a"))
		out.expect(t, `level=INFO msg="gate log detail as before"`)
		_ = log.Close()
	})
}

func TestBadDetailsAreErrors(t *testing.T) {
	var out lines
	log := out.logger()
	good := gatelog.Detail{SampleRate: 1, BurstTime: 1}
	for _, test := range []struct {
		detail gatelog.Detail
		time   time.Duration
		want   []string
	}{
		{gatelog.Detail{SampleRate: 2, BurstLines: -1, MaxDetails: -2}, time.Minute, []string{
			"SampleRate: want 0 to 1, got 2", "BurstLines: want 0 or more, got -1", "BurstTime: want a time above 0, got 0s",
			"MaxDetails: want 0 or more, got -2"}},
		{good, 0, []string{"time: want more than 0 and at most 24h0m0s, got 0s"}},
		{good, 25 * time.Hour, []string{"got 25h0m0s"}},
	} {
		err := log.SetDetail(test.detail, test.time)
		for _, want := range test.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got error %v, want one with %q", err, want)
			}
		}
	}
	if _, left := log.Detail(); left != 0 {
		t.Error("a bad value changed the detail")
	}
	out.expect(t)
}

func TestAddressesAreShortenedOrLeftOut(t *testing.T) {
	for want, opts := range map[string][]gatelog.Option{
		" remote_ip=192.0.2.77":    nil,
		" remote_ip=192.0.2.0/24":  {gatelog.WithShortAddresses()},
		"":                         {gatelog.WithoutAddresses()},
		"\x00both, whatever order": {gatelog.WithoutAddresses(), gatelog.WithShortAddresses()},
	} {
		synctest.Test(t, func(t *testing.T) {
			var out lines
			log := out.logger(append(opts, gatelog.WithSampleRate(1))...)
			e := accepted("/a")
			e.Call.RemoteIP = "192.0.2.77"
			send(log, 1, e)
			_ = log.Close()
			got := out.take()[0]
			if want == "" || want[0] == 0 {
				if strings.Contains(got, "remote_ip") || strings.Contains(got, "192.0") {
					t.Errorf("the line has an address: %s", got)
				}
			} else if !strings.Contains(got, want) || strings.Contains(got, "192.0.2.77") != (len(opts) == 0) {
				t.Errorf("got %s, want%s", got, want)
			}
		})
	}
}
