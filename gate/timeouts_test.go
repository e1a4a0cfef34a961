package gate_test

import (
	"context"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/rpcgate/rpcgate/gate"
)

// otherAdmitter does not say which gates it has.
type otherAdmitter struct{}

func (otherAdmitter) Acquire(context.Context, gate.Call) (gate.Lease, error) {
	return gate.Lease{}, nil
}

func TestProxyMustNotGiveUpBeforeTheServer(t *testing.T) {
	db := gate.Must(gate.New("db", 4))
	slow := gate.Must(gate.New("reports", 1, gate.WithMaxWait(2*time.Second)))
	hard := gate.Must(gate.New("hard", 1, gate.WithMaxWait(0)))
	policy, err := gate.NewPolicy(gate.Route("/a.B/*", db), gate.Route("/a.C/*", slow, db))
	patient := newPolicy(t, gate.Route("/a.B/*", db).MaxWait(3*time.Second), gate.Route("/a.C/D", slow, db).MaxWait(time.Second))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name           string
		admitter       gate.Admitter
		handler, proxy time.Duration
		want           []string // of the error; nil: there is none
	}{
		{"in order", db, 30 * time.Second, 35 * time.Second, nil},
		{"just in order", db, 30 * time.Second, 30100*time.Millisecond + 1, nil},
		{"just not", db, 30 * time.Second, 30100 * time.Millisecond, []string{"100ms", `"db"`, "30s", "30.1s"}},
		{"the longest wait counts", policy, 30 * time.Second, 32 * time.Second, []string{"2s", `"reports"`, "32s"}},
		{"of a rule", patient, 30 * time.Second, 33 * time.Second, []string{"3s", `"db"`, `"/a.B/*"`, "33s"}},
		{"of a rule, in order", patient, 30 * time.Second, 33*time.Second + 1, nil},
		{"one wait for a chain", gate.Chain(slow, db), 30 * time.Second, 32050 * time.Millisecond, nil},
		{"no wait", hard, 30 * time.Second, 30 * time.Second, []string{"30s"}},
		{"no wait, in order", hard, 30 * time.Second, 31 * time.Second, nil},
		{"no deadline", db, 0, 30 * time.Second, []string{"no deadline"}},
		{"for centuries", db, math.MaxInt64, math.MaxInt64, []string{"100ms"}},
		{"no proxy", db, time.Second, 0, []string{"proxy", "0s"}},
		{"negative", db, time.Second, -time.Second, []string{"proxy", "-1s"}},
		{"unknown gates", otherAdmitter{}, time.Second, time.Minute, []string{"otherAdmitter"}},
		{"nil", nil, time.Second, time.Minute, []string{"nil"}},
	} {
		err := gate.CheckTimeouts(test.admitter, test.handler, test.proxy)
		if (err != nil) != (len(test.want) > 0) {
			t.Errorf("%s: got %v", test.name, err)
			continue
		}
		for _, part := range test.want {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %q does not say %s", test.name, err, part)
			}
		}
	}
}
