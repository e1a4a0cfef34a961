package gatedebug

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcgate/rpcgate/gate"
)

// TestKeysAreShownAsHashesUnlessSwitchedOn has a call with a key that holds, one that waits and one that is rejected.
func TestKeysAreShownAsHashesUnlessSwitchedOn(t *testing.T) {
	const secret = "sk-live-SECRET"
	for name, test := range map[string]struct {
		options []Option
		raw     bool
	}{
		"by default":  {nil, false},
		"switched on": {[]Option{WithRawKeys()}, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				db := mustGate(t, "db", 1, gate.WithMaxWaiting(1), gate.WithMaxWait(time.Minute))
				p := newPage([]*gate.Gate{db}, test.options...)
				hold(t, db, gate.Call{Key: secret})
				waiting := gate.Call{Key: secret}
				go func() { _, _ = db.Acquire(t.Context(), waiting) }()
				synctest.Wait()
				refuse(t, db, gate.Call{Key: secret})
				want := secret
				if !test.raw {
					want = db.Snapshot().Holders[0].KeyHash()
				}
				v, err := p.hub.join("", false)
				if err != nil {
					t.Fatal(err)
				}
				defer p.hub.leave(v)
				time.Sleep(1500 * time.Millisecond)
				v.next(t, "hello")
				full := v.next(t, "gate").data
				v.next(t, "tick")
				update := v.next(t, "update").data
				for what, body := range map[string]struct {
					json string
					keys int
				}{
					"state.json": {request(p, "GET", "/state.json", "").Body.String(), 3}, // the waiting call, too
					"close-up":   {string(full), 2},
					"update":     {string(update), 2},
				} {
					if n := strings.Count(body.json, want); n != body.keys || !json.Valid([]byte(body.json)) {
						t.Errorf("%s: the key is shown as %s %d times, want %d: %s", what, want, n, body.keys, body.json)
					}
					if !test.raw && strings.Contains(body.json, secret) {
						t.Errorf("%s has the key: %s", what, body.json)
					}
				}
			})
		})
	}
}
