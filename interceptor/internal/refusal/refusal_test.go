package refusal

import (
	"context"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcgate/rpcgate/gate"
)

func TestCarriersOfOneRefusalSayTheSameDelay(t *testing.T) {
	for _, test := range []struct {
		delay      time.Duration
		pushback   string
		retryAfter string
		rounded    time.Duration
	}{
		{0, "0", "1", 0},
		{1, "1", "1", time.Millisecond},
		{999*time.Microsecond + 1, "1", "1", time.Millisecond},
		{time.Second, "1000", "1", time.Second},
		{1500*time.Millisecond + 1, "1501", "2", 1501 * time.Millisecond},
		{gate.MaxRetryDelay, "86400000", "86400", gate.MaxRetryDelay},
	} {
		r := New(t.Context(), &gate.Rejection{RetryDelay: test.delay}, false)
		if r.Delay != test.rounded || r.Pushback() != test.pushback || r.RetryAfter() != test.retryAfter {
			t.Errorf("%s: delay %s, pushback %s, Retry-After %s; want %s, %s, %s",
				test.delay, r.Delay, r.Pushback(), r.RetryAfter(), test.rounded, test.pushback, test.retryAfter)
		}
	}
}

func TestDeadlineNearerThanTheDelayForbidsARetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, test := range []struct {
			left time.Duration
			want string
		}{
			{-time.Second, "-1"}, {time.Second, "-1"}, {2 * time.Second, "-1"}, {2*time.Second + 1, "2000"}, {time.Hour, "2000"},
		} {
			ctx, cancel := context.WithTimeout(t.Context(), test.left)
			defer cancel()
			r := New(ctx, &gate.Rejection{RetryDelay: 2 * time.Second}, false)
			if got := r.Pushback(); got != test.want {
				t.Errorf("%s left: pushback %s, want %s", test.left, got, test.want)
			}
			if r.RetryAfter() != "2" {
				t.Errorf("%s left: Retry-After %s, want 2 for whoever comes back anew", test.left, r.RetryAfter())
			}
		}
	})
}

func TestRefusalsAreToldByTheirKind(t *testing.T) {
	for kind, want := range map[gate.Refusal][2]int{
		gate.TooManyRequests:    {8, 429},
		gate.ServiceUnavailable: {14, 503},
		gate.Unimplemented:      {12, 501},
	} {
		r := New(t.Context(), &gate.Rejection{Refusal: kind}, false)
		if int(r.Code) != want[0] || r.HTTPStatus != want[1] {
			t.Errorf("%s: code %d, HTTP %d, want %v", kind, r.Code, r.HTTPStatus, want)
		}
	}
}

func TestClientsAreToldNothingUnasked(t *testing.T) {
	rejection := &gate.Rejection{Gate: "secret", InFlight: 16, Limit: 16}
	r := New(t.Context(), rejection, false)
	if r.Message() != "server busy" || len(r.State()) != 0 {
		t.Errorf("text %q and state %v, want server busy and none", r.Message(), r.State())
	}
	asked := New(t.Context(), rejection, true).State()
	if len(asked) != 3 || asked["gate"] != "secret" || asked["in_flight"] != "16" || asked["limit"] != "16" {
		t.Errorf("state %v, want gate, in_flight and limit", asked)
	}
}

func TestLocalRefusalsAreMarked(t *testing.T) {
	server := New(t.Context(), &gate.Rejection{}, false)
	local := server.Local()
	if !local.IsLocal() || local.Message() != "client busy" || local.State()["side"] != "client" {
		t.Errorf("text %q and state %v", local.Message(), local.State())
	}
	if server.IsLocal() {
		t.Error("marking a refusal has changed another")
	}
}

func TestPushbackThatIsSetAlreadyCounts(t *testing.T) {
	r := New(t.Context(), &gate.Rejection{RetryDelay: time.Second}, false)
	for _, test := range []struct {
		value, want string
		delay       time.Duration
	}{
		{"250", "250", 250 * time.Millisecond},
		{"0", "0", 0},
		{"-1", "-1", time.Second},
		{"soon", "-1", time.Second}, // as gRFC A6 says
		{"99999999999", "-1", time.Second},
	} {
		if got := r.WithPushback(test.value); got.Pushback() != test.want || got.Delay != test.delay {
			t.Errorf("%s: pushback %s, delay %s, want %s and %s", test.value, got.Pushback(), got.Delay, test.want, test.delay)
		}
	}
}

func TestEveryReasonHasACode(t *testing.T) {
	seen := map[string]gate.Reason{}
	for reason := gate.ReasonLimit; reason <= gate.ReasonDraining; reason++ {
		code := ReasonCode(reason)
		if other, ok := seen[code]; ok || code == "BUSY" {
			t.Errorf("%s has the code %s of %s", reason, code, other)
		}
		seen[code] = reason
	}
	if ReasonCode(0) != "BUSY" || ReasonCode(200) != "BUSY" {
		t.Error("an unknown reason has no code")
	}
}

func TestDrainingSendsClientsElsewhereAtOnce(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Nanosecond)
	defer cancel()
	for _, test := range []struct {
		delay                         time.Duration
		pushback, retryAfter, atFirst string
	}{
		{0, "0", "0", "0"},
		{99*time.Millisecond + 1, "100", "0", "20"},
		{1999 * time.Millisecond, "1999", "1", "20"},
		{2 * time.Second, "2000", "2", "20"},
	} {
		rejection := &gate.Rejection{
			Reason: gate.ReasonDraining, RetryDelay: test.delay, MinRetryDelay: min(20*time.Millisecond, test.delay),
		}
		r := New(ctx, rejection, false)
		if !r.Draining() || r.Pushback() != test.pushback || r.RetryAfter() != test.retryAfter {
			t.Errorf("%s: draining %t, pushback %s, Retry-After %s; want true, %s, %s",
				test.delay, r.Draining(), r.Pushback(), r.RetryAfter(), test.pushback, test.retryAfter)
		}
		for previous, want := range map[string]string{
			"": test.atFirst, "1": test.pushback, "2": test.atFirst, "3": test.pushback, "10": test.atFirst,
			"-2": test.pushback, "two": test.pushback, "99999999999999999998": test.pushback,
		} {
			if got := r.ForAttempt(previous).Pushback(); got != want {
				t.Errorf("%s: after %q attempts the pushback is %s, want %s", test.delay, previous, got, want)
			}
		}
	}
	busy := New(t.Context(), &gate.Rejection{Reason: gate.ReasonLimit, RetryDelay: time.Second}, false)
	if got := busy.ForAttempt("").Pushback(); busy.Draining() || got != "1000" {
		t.Errorf("a full gate: draining %t, pushback %s at first, want false and 1000", busy.Draining(), got)
	}
}

func TestToldDelayIsRoundedUpAndDown(t *testing.T) {
	const n = 1000
	up := 0
	for range n {
		switch got := RetryAfter(2300*time.Millisecond, false); got {
		case "2":
		case "3":
			up++
		default:
			t.Fatalf("2.3 s is %s s", got)
		}
	}
	if up < 200 || up > 400 { // one time in 10^10
		t.Errorf("%d of %d delays of 2.3 s were rounded up, want about 300", up, n)
	}
}

func TestDelayOfCenturiesIsNotNegative(t *testing.T) {
	for _, d := range []time.Duration{math.MaxInt64, math.MaxInt64 - time.Second, math.MaxInt64 / 2} {
		if s := RetryAfter(d, false); s[0] == '-' || len(s) < 10 {
			t.Errorf("RetryAfter(%s) is %s", d, s)
		}
	}
}
