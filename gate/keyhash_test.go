package gate_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/rpcgate/rpcgate/gate"
)

// shownKeys returns how a gate shows the key of a call that holds, of one that waits, and of the events about them.
func shownKeys(t *testing.T, key string, options ...gate.Option) map[string]string {
	t.Helper()
	var mu sync.Mutex // the events of the holder and of the waiter come at once
	shown := map[string]string{}
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, 1, append(options, gate.WithOnEvent(func(_ context.Context, e gate.Event) {
			mu.Lock()
			defer mu.Unlock()
			shown[e.Kind.String()] = e.KeyHash()
		}))...)
		holder := acquire(t, g, gate.Call{Key: key})
		waiter := start(t.Context(), g, gate.Call{Key: key})
		snapshot, waiters := g.Snapshot(), g.Waiters()
		shown["holder"], shown["waiter"] = snapshot.Holders[0].KeyHash(), waiters[0].KeyHash()
		shown["holder as JSON"] = keyInJSON(t, snapshot.Holders[0])
		shown["waiter as JSON"] = keyInJSON(t, waiters[0])
		wantEqual(t, "key of the holder", snapshot.Holders[0].Key, key)
		wantEqual(t, "key of the waiter", waiters[0].Key, key)
		if b, err := json.Marshal(snapshot); err != nil || key != "" && strings.Contains(string(b), key) {
			t.Errorf("snapshot as JSON: %s, %v: want no key in it", b, err)
		}
		holder.Release()
		waiter.admitted(t).Release()
	})
	return shown
}

func keyInJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var shown struct{ Key string }
	if err := json.Unmarshal(b, &shown); err != nil {
		t.Fatal(err)
	}
	return shown.Key
}

func TestKeysAreShownAsHashes(t *testing.T) {
	const key = "sk-live-SECRET"
	secret := gate.WithKeySecret([]byte("a secret of the fleet"))
	hashes := map[string]string{}
	for name, options := range map[string][]gate.Option{"by default": nil, "with a secret": {secret}} {
		for range 2 { // two gates of a process or of a fleet agree
			for what, got := range shownKeys(t, key, options...) {
				if hashes[name] == "" {
					hashes[name] = got
				}
				if len(got) != 32 || got != hashes[name] {
					t.Errorf("%s, %s: key %q, want the same hash everywhere, as in %q", name, what, got, hashes[name])
				}
			}
		}
	}
	// printf %s sk-live-SECRET | openssl dgst -sha256 -hmac "a secret of the fleet"
	wantEqual(t, "hash with a secret", hashes["with a secret"], "44bf5e8d8ef542ab2706b89fc1686a44")
	if hashes["by default"] == hashes["with a secret"] {
		t.Error("the secret has no effect")
	}
	for what, got := range shownKeys(t, "sk-live-OTHER", secret) {
		if len(got) != 32 || got == hashes["with a secret"] {
			t.Errorf("another key, %s: %q, want a hash of its own", what, got)
		}
	}
	for what, got := range shownKeys(t, "") {
		wantEqual(t, "no key, "+what, got, "")
	}
}
