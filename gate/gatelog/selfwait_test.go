package gatelog_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/gate/gatelog"
)

func TestACallThatWaitsForItselfIsMarked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out lines
		log := out.logger(gatelog.WithSampleRate(1))
		defer log.Close()
		db := gate.Must(gate.New("db", 1, gate.WithOnEvent(log.OnEvent)))
		call := gate.Call{Route: "/a.B/C"}
		lease, err := db.Acquire(t.Context(), call)
		if err != nil {
			t.Fatal(err)
		}
		defer lease.Release()
		if _, err := db.Acquire(gate.NewContext(t.Context(), lease, db, &call), call); err == nil {
			t.Fatal("a full gate took one more")
		}
		if _, err := db.Acquire(t.Context(), call); err == nil {
			t.Fatal("a full gate took one more")
		}
		var marked []bool
		for _, line := range details(out.take()) {
			marked = append(marked, strings.Contains(line, " self_wait=true"))
		}
		if len(marked) != 3 || marked[0] || !marked[1] || marked[2] {
			t.Errorf("marked: %v, want the second of three", marked)
		}
	})
}
