package rush

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func config() Config {
	return Config{Clients: 300, Deadline: time.Second, Duration: 8 * time.Second, Gate: 8}
}

func result() Result {
	return Result{
		OK: true,
		Ungated: Side{
			Offered: 2400, AnsweredInTime: 50, Late: 2350, GoodputPerS: 6.2, P50Ms: 460.1, P99Ms: 980.9,
			CallP50Ms: 460.1, CallP99Ms: 980.9, MaxInFlight: 322, HeldP50Ms: 1001.7, HeldP99Ms: 1270.6, Reports: 2,
		},
		Gated: Side{
			Offered: 2400, AnsweredInTime: 600, Late: 20, Rejected: 1780, Retried: 7000, GoodputPerS: 75, P50Ms: 150.2,
			P99Ms: 260.4, CallP50Ms: 450.9, CallP99Ms: 970, MaxInFlight: 8, HeldP50Ms: 80.5, HeldP99Ms: 160, Reports: 8,
		},
	}
}

func TestTable(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	r := result()
	r.Promises = promises(r.Ungated, r.Gated, config())
	if err := r.WriteTable(&b, config()); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(b.String()) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 {
			t.Errorf("%d columns, want at most 80: %s", n, line)
		}
	}
	for _, want := range []string{
		"300 clients (210 gRPC, 90 Connect) ask at once, 8 times",
		"answered in time                                     50        600\n",
		"answers, p99                                     981 ms     260 ms\n",
		"most calls in their handlers at once                322          8\n",
		"kept   more answers in time: 600 with the gate, 50 without\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, b.String())
		}
	}
}

func TestTableSaysWhatIsBroken(t *testing.T) {
	t.Parallel()
	r := result()
	r.Gated.MaxInFlight = 9
	r.Gated.Failed = 3
	r.Promises = promises(r.Ungated, r.Gated, config())
	var b strings.Builder
	if err := r.WriteTable(&b, config()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"BROKEN calls at once behind the gate: 9 of at most 8\n", "failed otherwise"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, b.String())
		}
	}
}

func TestJSON(t *testing.T) {
	t.Parallel()
	b, err := json.Marshal(result())
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	if keys := slices.Sorted(maps.Keys(got)); !slices.Equal(keys, []string{"gated", "ok", "ungated"}) {
		t.Errorf("keys %q, want gated, ok and ungated", keys)
	}
	gated, _ := got["gated"].(map[string]any)
	for key, want := range map[string]float64{
		"offered": 2400, "answered_in_time": 600, "late": 20, "rejected": 1780, "retried": 7000, "goodput_per_s": 75,
		"p50_ms": 150.2, "p99_ms": 260.4, "max_in_flight": 8,
	} {
		if gated[key] != want {
			t.Errorf("%s is %v, want %v", key, gated[key], want)
		}
	}
}

func TestPromises(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		change func(*Result)
		broken string // empty: none
	}{
		{"kept", func(*Result) {}, ""},
		{"at the bound", func(r *Result) { r.Gated.P99Ms = 100 + 3*160 }, ""},
		{"slow", func(r *Result) { r.Gated.P99Ms = 100 + 3*160 + 1 }, "581 ms of at most 100 ms wait + 3 x 160 ms service = 580 ms"},
		{"no better", func(r *Result) { r.Ungated.AnsweredInTime = 600 }, "600 with the gate, 600 without"},
		{"nothing to do better", func(r *Result) { r.Ungated.AnsweredInTime, r.Gated.AnsweredInTime = 2400, 2400 }, ""},
		{"let in too many", func(r *Result) { r.Gated.MaxInFlight = 9 }, "9 of at most 8"},
	} {
		r := result()
		tt.change(&r)
		var broken []string
		for _, p := range promises(r.Ungated, r.Gated, config()) {
			if !p.Kept {
				broken = append(broken, p.Text)
			}
		}
		got := strings.Join(broken, "\n")
		if (got == "") != (tt.broken == "") || !strings.Contains(got, tt.broken) {
			t.Errorf("%s: broken %q, want %q", tt.name, got, tt.broken)
		}
	}
}
