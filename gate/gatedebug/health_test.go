package gatedebug

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcgate/rpcgate/gate"
)

func TestHealth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := mustGate(t, "db", 2, gate.WithMaxWaiting(1))
		h := Health(db, mustGate(t, "reports", 1), db)
		expect := func(status, gateStatus, reason, numbers string) {
			t.Helper()
			w := request(h, "GET", "/healthz", "")
			if reason != "" {
				reason = `"reason":"` + reason + `",`
			}
			want := `{"status":"` + status + `","gates":[{"name":"db","status":"` + gateStatus + `",` + reason + numbers + `},` +
				`{"name":"reports","status":"ok","in_flight":0,"limit":1,"waiting":0,"draining":false,"dry_run":false}]}` + "\n"
			if w.Code != 200 || w.Body.String() != want {
				t.Errorf("got  %d %swant 200 %s", w.Code, w.Body, want)
			}
		}
		expect("ok", "ok", "", `"in_flight":0,"limit":2,"waiting":0,"draining":false,"dry_run":false`)

		a := hold(t, db, gate.Call{})
		hold(t, db, gate.Call{})
		expect("ok", "ok", "", `"in_flight":2,"limit":2,"waiting":0,"draining":false,"dry_run":false`)

		go db.Acquire(t.Context(), gate.Call{}) // waits, then holds a lease to the end of the test
		synctest.Wait()
		expect("degraded", "degraded", "full", `"in_flight":2,"limit":2,"waiting":1,"draining":false,"dry_run":false`)

		refuse(t, db, gate.Call{})
		a.Release()
		synctest.Wait()
		expect("degraded", "degraded", "rejecting", `"in_flight":2,"limit":2,"waiting":0,"draining":false,"dry_run":false`)
		time.Sleep(recently)
		expect("degraded", "degraded", "rejecting", `"in_flight":2,"limit":2,"waiting":0,"draining":false,"dry_run":false`)
		time.Sleep(time.Nanosecond)
		expect("ok", "ok", "", `"in_flight":2,"limit":2,"waiting":0,"draining":false,"dry_run":false`)

		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_ = db.Drain(ctx)
		expect("degraded", "degraded", "draining", `"in_flight":2,"limit":2,"waiting":0,"draining":true,"dry_run":false`)
		db.SetDryRun(true)
		expect("ok", "ok", "", `"in_flight":2,"limit":2,"waiting":0,"draining":true,"dry_run":true`)
	})
}

func TestKeyOverItsShareIsNoTroubleOfTheGate(t *testing.T) {
	db := mustGate(t, "db", 10, gate.WithKeyLimit(1))
	h := Health(db)
	hold(t, db, gate.Call{Key: "greedy"})
	refuse(t, db, gate.Call{Key: "greedy"})
	if got := decode[healthAnswer](t, request(h, "GET", "/", "").Body.Bytes()); got.Status != StatusOK {
		t.Errorf("%+v", got)
	}
}

func TestDryRunDegradesNothing(t *testing.T) {
	db := mustGate(t, "db", 1, gate.WithDryRun(), gate.WithMaxWait(0))
	h := Health(db)
	hold(t, db, gate.Call{})
	hold(t, db, gate.Call{})
	got := decode[healthAnswer](t, request(h, "GET", "/", "").Body.Bytes())
	if got.Status != StatusOK || got.Gates[0].InFlight != 2 || !got.Gates[0].DryRun {
		t.Errorf("%+v", got)
	}
	db.SetDryRun(false) // what was let pass before is no rejection
	if got := decode[healthAnswer](t, request(h, "GET", "/", "").Body.Bytes()); got.Status != StatusOK {
		t.Errorf("%+v", got)
	}
}

func TestHealthIsForReading(t *testing.T) {
	h := Health()
	for method, code := range map[string]int{"GET": 200, "HEAD": 200, "POST": 405, "OPTIONS": 405} {
		w := request(h, method, "/healthz", "")
		if w.Code != code || w.Header().Get("Cache-Control") != "no-store" || w.Header().Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %d %v", method, w.Code, w.Header())
		}
		switch method {
		case "GET":
			if want := `{"status":"ok","gates":[]}` + "\n"; w.Body.String() != want || w.Header().Get("Content-Type") != asJSON {
				t.Errorf("%v %s", w.Header(), w.Body)
			}
		case "HEAD":
			if w.Body.Len() != 0 || w.Header().Get("Content-Length") == "" {
				t.Errorf("HEAD: %v %s", w.Header(), w.Body)
			}
		default:
			if w.Header().Get("Allow") != "GET, HEAD" {
				t.Errorf("%s: Allow is %q", method, w.Header().Get("Allow"))
			}
		}
	}
}
