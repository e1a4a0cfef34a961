package gate_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcgate/rpcgate/gate"
)

// TestBadValuesAreErrorsThatNameTheOptionAndTheValue has for each the words that the error must have.
func TestBadValuesAreErrorsThatNameTheOptionAndTheValue(t *testing.T) {
	for _, test := range []struct {
		option gate.Option
		want   string
	}{
		{gate.WithMaxWait(-time.Second), "WithMaxWait: want 0 or at least 10µs, got -1s"},
		{gate.WithMaxWait(150), "WithMaxWait: want 0 or at least 10µs, got 150ns"}, // milliseconds were meant
		{gate.WithDrainDelay(2*time.Second, time.Second), "WithDrainDelay: want 0 <= min <= max, got min 2s and max 1s"},
		{gate.WithDrainDelay(0, 25*time.Hour), "WithDrainDelay: want a max of at most 24h0m0s, got 25h0m0s"},
		{gate.WithMaxWaiting(-3), "WithMaxWaiting: want 0 or more, got -3"},
		{gate.WithDeadlineShare(0), "WithDeadlineShare: want a share above 0 and at most 1, got 0"},
		{gate.WithDeadlineShare(-0.5), "WithDeadlineShare: want a share above 0 and at most 1, got -0.5"},
		{gate.WithDeadlineShare(1.01), "WithDeadlineShare: want a share above 0 and at most 1, got 1.01"},
		{gate.WithDeadlineShare(math.NaN()), "WithDeadlineShare: want a share above 0 and at most 1, got NaN"},
		{gate.WithDeadlineShare(math.Inf(1)), "WithDeadlineShare: want a share above 0 and at most 1, got +Inf"},
		{gate.WithRetryDelay(2*time.Second, time.Second), "WithRetryDelay: want 0 <= min <= max, got min 2s and max 1s"},
		{gate.WithRetryDelay(-1, time.Second), "WithRetryDelay: want 0 <= min <= max, got min -1ns and max 1s"},
		{gate.WithRetryDelay(0, 25*time.Hour), "WithRetryDelay: want a max of at most 24h0m0s, got 25h0m0s"},
		{gate.WithRetryDelayGrowth(0), "WithRetryDelayGrowth: want a ceiling above 0 and at most 24h0m0s, got 0s"},
		{gate.WithRetryDelayGrowth(25 * time.Hour), "WithRetryDelayGrowth: want a ceiling above 0 and at most 24h0m0s, got 25h0m0s"},
		{gate.WithRetryDelayGrowth(time.Second), "WithRetryDelayGrowth: want a ceiling of at least WithRetryDelay's maximum 3s, got 1s"},
		{gate.WithRefusal(7), "WithRefusal: want TooManyRequests, ServiceUnavailable or Unimplemented, got Refusal(7)"},
		{gate.WithOnEvent(nil), "WithOnEvent: want a function, got nil"},
		{gate.WithReserve(gate.Low, 1), "WithReserve: want Normal or Critical, got Priority(-1)"},
		{gate.WithReserve(9, 1), "WithReserve: want Normal or Critical, got Priority(9)"},
		{gate.WithReserve(gate.Critical, -1), "WithReserve: want 0 to 1152921504606846976 units, got -1"},
		{gate.WithReserve(gate.Critical, 8), "WithReserve: want less than the limit 8 in all, got 8"},
		{gate.WithReserve(gate.Normal, gate.MaxLimit), "WithReserve: want less than the limit 8 in all, got 1152921504606846976"},
		{gate.WithKeyLimit(0), "WithKeyLimit: want a limit above 0, got 0"},
		{gate.WithKeyLimit(-5), "WithKeyLimit: want a limit above 0, got -5"},
		{gate.WithKeyShare(0), "WithKeyShare: want a share above 0 and at most 1, got 0"},
		{gate.WithKeyShare(1.5), "WithKeyShare: want a share above 0 and at most 1, got 1.5"},
		{gate.WithKeyShare(math.NaN()), "WithKeyShare: want a share above 0 and at most 1, got NaN"},
		{gate.WithKeyLimitFunc(nil), "WithKeyLimitFunc: want a function, got nil"},
		{gate.WithKeylessExempt(), "WithKeylessExempt: want WithKeyLimit, WithKeyShare or WithKeyLimitFunc with it, got none"},
		{gate.WithKeySecret([]byte("too short")), "WithKeySecret: want at least 16 bytes, got 9"},
		{gate.WithMaxHold(0), "WithMaxHold: want a time above 0, got 0s"},
		{gate.WithMaxHold(-time.Minute), "WithMaxHold: want a time above 0, got -1m0s"},
		{gate.WithCost(nil), "WithCost: want a function, got nil"},
		{nil, "option 1 is nil"},
	} {
		g, err := gate.New("orders-db", 8, gate.WithMaxWait(time.Second), test.option)
		if g != nil || err == nil || err.Error() != `gate.New("orders-db"): `+test.want {
			t.Errorf("got  %v\nwant gate.New(\"orders-db\"): %s", err, test.want)
		}
	}
}

func TestBadNamesAndLimitsAreErrors(t *testing.T) {
	for _, test := range []struct {
		name  string
		limit int64
		want  string
	}{
		{"", 1, `gate.New(""): the name is empty`},
		{"  \t", 1, `the name is empty: "  \t"`},
		{"a\nb", 1, `the name has a character that cannot be printed: '\n'`},
		{"a\x00", 1, `the name has a character that cannot be printed: '\x00'`},
		{"a\u202eb", 1, `the name has a character that cannot be printed: '\u202e'`},
		{"a\xffb", 1, `the name is not valid UTF-8: "a\xffb"`},
		{strings.Repeat("a", 129), 1, "the name is longer than 128 bytes: 129"},
		{"db", 0, `gate.New("db"): maxInFlight: want 1 to 1152921504606846976, got 0`},
		{"db", -1, "maxInFlight: want 1 to 1152921504606846976, got -1"},
		{"db", math.MaxInt64, "maxInFlight: want 1 to 1152921504606846976, got 9223372036854775807"},
	} {
		g, err := gate.New(test.name, test.limit)
		if g != nil || err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("New(%q, %d): %v, want %s", test.name, test.limit, err, test.want)
		}
	}
}

func TestGoodNamesAreTaken(t *testing.T) {
	for _, name := range []string{"a", "orders-db", "orders db", "Aufträge", "注文", strings.Repeat("a", 128)} {
		g, err := gate.New(name, 1)
		if err != nil {
			t.Error(err)
			continue
		}
		wantEqual(t, "name", g.Name(), name)
	}
}

// TestTheOrderOfOptionsDoesNotMatter has pairs of options that depend on each other.
func TestTheOrderOfOptionsDoesNotMatter(t *testing.T) {
	for _, pair := range [][2]gate.Option{
		{gate.WithRetryDelay(0, time.Minute), gate.WithRetryDelayGrowth(time.Minute)},
		{gate.WithReserve(gate.Critical, 3), gate.WithReserve(gate.Normal, 4)},
	} {
		newGate(t, 8, pair[0], pair[1])
		newGate(t, 8, pair[1], pair[0])
	}
	if _, err := gate.New("db", 8, gate.WithRetryDelayGrowth(time.Minute), gate.WithRetryDelay(0, time.Hour)); err == nil {
		t.Error("a ceiling below the range was taken")
	}
}

func TestMustPanicsWithTheError(t *testing.T) {
	wantEqual(t, "gate", gate.Must(gate.New("db", 1)).Name(), "db")
	panicked := end(func() { gate.Must(gate.New("", 1)) })
	if err, ok := panicked.(error); !ok || !strings.Contains(err.Error(), "the name is empty") {
		t.Errorf("panic: %v, want the error", panicked)
	}
}

func TestRefusalIsAsConfigured(t *testing.T) {
	for _, test := range []struct {
		options []gate.Option
		want    gate.Refusal
	}{
		{nil, gate.TooManyRequests},
		{[]gate.Option{gate.WithRefusal(gate.TooManyRequests)}, gate.TooManyRequests},
		{[]gate.Option{gate.WithRefusal(gate.ServiceUnavailable)}, gate.ServiceUnavailable},
		{[]gate.Option{gate.WithRefusal(gate.Unimplemented)}, gate.Unimplemented},
	} {
		g := newGate(t, 1, test.options...)
		holder := acquire(t, g, gate.Call{})
		_, err := g.TryAcquire(gate.Call{})
		wantEqual(t, "refusal", refused(t, err, gate.ReasonLimit).Refusal, test.want)
		holder.Release()
	}
}

func TestRejectionNamesTheCall(t *testing.T) {
	g := newGate(t, 1)
	holder := acquire(t, g, gate.Call{})
	for _, test := range []struct {
		call gate.Call
		want string
	}{
		{gate.Call{RequestID: "own"}, "own"},
		{gate.Call{Caller: callerStub{"asked", ""}}, "asked"},
		{gate.Call{RequestID: "own", Caller: callerStub{"asked", ""}}, "own"},
	} {
		_, err := g.TryAcquire(test.call)
		wantEqual(t, "request id", refused(t, err, gate.ReasonLimit).RequestID, test.want)
	}
	_, one := g.TryAcquire(gate.Call{})
	_, two := g.TryAcquire(gate.Call{Caller: callerStub{}})
	first, second := refused(t, one, gate.ReasonLimit).RequestID, refused(t, two, gate.ReasonLimit).RequestID
	if len(first) != 32 || len(second) != 32 || first == second {
		t.Errorf("ids made up: %q and %q", first, second)
	}
	holder.Release()
}

func TestRejectionReadsWellInALog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newNamed(t, "orders-db", 2)
		holder := acquire(t, g, gate.Call{Cost: 2})
		_, err := g.Acquire(t.Context(), gate.Call{})
		wantEqual(t, "error", fmt.Sprintf("%+v", err),
			`server busy: gate "orders-db": rejected_timeout (wait_timeout) after 100ms with 2 of 2 in flight`)
		holder.Release()
	})
}
