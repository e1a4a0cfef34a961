package gate_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcgate/rpcgate/gate"
)

var update = flag.Bool("update", false, "write the golden files")

// wantGolden compares a snapshot's JSON with a file: tools outside read it, so its names must not change by accident.
func wantGolden(t *testing.T, name string, s gate.Snapshot) {
	t.Helper()
	got, err := json.MarshalIndent(s, "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	if *update {
		if err := os.WriteFile(name, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s: got\n%s", name, got)
	}
}

func TestSnapshotAsJSON(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wantGolden(t, "testdata/snapshot_empty.json", newNamed(t, "empty", 16).Snapshot())

		g := newNamed(t, "orders-db", 4, gate.WithKeyLimit(3), gate.WithKeylessExempt(), gate.WithKeySecret([]byte("a secret of the fleet")),
			gate.WithMaxWaiting(3), gate.WithMaxHold(time.Hour),
			gate.WithMaxWait(50*time.Millisecond), gate.WithReserve(gate.Critical, 1))
		one := acquire(t, g, gate.Call{Route: "/orders.v1.OrderService/ListOpen", RequestID: "1", RemoteIP: "192.0.2.1", Key: "ann", Cost: 2})
		advance(time.Second)
		two := acquire(t, g, gate.Call{Route: "/orders.v1.OrderService/Get", Priority: gate.Critical, Caller: callerStub{"2", "192.0.2.2"}})
		start(t.Context(), g, gate.Call{})
		advance(50 * time.Millisecond) // in vain
		start(t.Context(), g, gate.Call{Key: "ann", Cost: 2})
		waiters := []*attempt{
			start(t.Context(), g, gate.Call{Priority: gate.Low}), start(t.Context(), g, gate.Call{Priority: gate.Low}), start(t.Context(), g, gate.Call{}),
		}
		g.SetDryRun(true)
		three := acquire(t, g, gate.Call{Route: "/reports.v1.ReportService/Monthly", Priority: gate.Low})
		wantGolden(t, "testdata/snapshot_busy.json", g.Snapshot())
		g.SetDryRun(false)
		for _, lease := range []gate.Lease{one, two, three} {
			lease.Release()
		}
		for _, w := range waiters {
			w.admitted(t).Release()
		}
	})
}

func TestSnapshotCountsEveryDecisionOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, 1)
		holder := acquire(t, g, gate.Call{})
		waiter := start(t.Context(), g, gate.Call{})
		start(t.Context(), g, gate.Call{}).refused(t, gate.ReasonQueueFull)
		_, err := g.TryAcquire(gate.Call{})
		refused(t, err, gate.ReasonLimit)
		short, cancel := withTimeout(t, time.Millisecond)
		defer cancel()
		advance(100 * time.Millisecond)
		waiter.refused(t, gate.ReasonWaitTimeout)
		start(short, g, gate.Call{}).failed(t, short.Err())
		shorter, cancel := withTimeout(t, time.Microsecond)
		defer cancel()
		start(shorter, g, gate.Call{}).refused(t, gate.ReasonDeadline)
		holder.Release()

		totals := g.Snapshot().Totals
		wantEqual(t, "accepted", totals.Accepted, 1)
		wantEqual(t, "abandoned", totals.Abandoned, 1)
		wantEqual(t, "timed out", totals.RejectedTimeout, 1)
		wantEqual(t, "busy", totals.RejectedBusy, 3)
		for reason, want := range map[gate.Reason]uint64{
			gate.ReasonLimit: 1, gate.ReasonQueueFull: 1, gate.ReasonDeadline: 1, gate.ReasonWaitTimeout: 1,
			gate.ReasonKeyLimit: 0, gate.ReasonDraining: 0,
		} {
			wantEqual(t, reason.String(), totals.ByReason[reason], want)
		}
		wantEqual(t, "reasons that came up", len(totals.ByReason), 4)
	})
}

func TestNamesOfValuesAreWhatTelemetrySays(t *testing.T) {
	for want, got := range map[string]interface{ String() string }{
		"accepted": gate.Accepted, "rejected_busy": gate.RejectedBusy, "rejected_timeout": gate.RejectedTimeout,
		"abandoned": gate.Abandoned, "limit": gate.ReasonLimit, "queue_full": gate.ReasonQueueFull,
		"wait_timeout": gate.ReasonWaitTimeout, "key_limit": gate.ReasonKeyLimit, "deadline": gate.ReasonDeadline,
		"draining": gate.ReasonDraining, "low": gate.Low, "normal": gate.Normal, "critical": gate.Critical,
		"decision": gate.EventDecision, "release": gate.EventRelease, "max_hold": gate.EventMaxHold,
		"too_many_requests": gate.TooManyRequests, "service_unavailable": gate.ServiceUnavailable,
		"hold_stream": gate.HoldStream, "hold_opening": gate.HoldOpening, "hold_message": gate.HoldMessage,
	} {
		wantEqual(t, "name", got.String(), want)
	}
	for _, none := range []interface{ String() string }{
		gate.Decision(0), gate.Decision(99), gate.Reason(0), gate.Reason(99), gate.EventKind(0), gate.EventKind(99),
	} {
		wantEqual(t, "name of nothing", none.String(), "")
	}
	wantEqual(t, "rejected", gate.RejectedBusy.Rejected() && gate.RejectedTimeout.Rejected(), true)
	wantEqual(t, "not rejected", gate.Accepted.Rejected() || gate.Abandoned.Rejected(), false)
}
