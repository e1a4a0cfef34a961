package gate

import (
	"reflect"
	"testing"
	"testing/synctest"
	"time"
)

func TestOverviewIsASnapshotWithoutHolders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := Must(New("db", 1, WithMaxWaiting(1)))
		lease, err := g.Acquire(t.Context(), Call{})
		if err != nil {
			t.Fatal(err)
		}
		go g.Acquire(t.Context(), Call{Priority: Low}) // waits in vain
		synctest.Wait()
		if _, err := g.Acquire(t.Context(), Call{Priority: Low}); err == nil {
			t.Fatal("a full queue took one more")
		}
		got := g.Overview()
		if g.clocked.Load() {
			t.Error("admissions read the clock after an Overview")
		}
		want := g.Snapshot()
		want.Holders = nil
		if !reflect.DeepEqual(got, want) || got.Waiting != 1 || got.InFlight != 1 {
			t.Errorf("got  %+v\nwant %+v", got, want)
		}
		time.Sleep(time.Second)
		lease.Release()
	})
}
