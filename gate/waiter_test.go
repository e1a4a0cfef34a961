package gate

import (
	"reflect"
	"testing"
	"testing/synctest"
	"time"
)

func TestWaitersAreListedInTheOrderOfService(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := Must(New("db", 1, WithMaxWaiting(5), WithMaxWait(time.Second)))
		lease, err := g.Acquire(t.Context(), Call{})
		if err != nil {
			t.Fatal(err)
		}
		defer lease.Release()
		for _, c := range []Call{
			{Route: "/low", Priority: Low, RequestID: "1"},
			{Route: "/normal", RequestID: "2", RemoteIP: "10.0.0.1", Key: "k", Cost: 3},
			{Route: "/critical", Priority: Critical, RequestID: "3"},
		} {
			go g.Acquire(t.Context(), c)
			time.Sleep(10 * time.Millisecond)
		}
		want := []Waiter{
			{Route: "/critical", RequestID: "3", Priority: Critical, Cost: 1, Waited: 10 * time.Millisecond},
			{Route: "/normal", RequestID: "2", RemoteIP: "10.0.0.1", Key: "k", Cost: 3, Waited: 20 * time.Millisecond},
			{Route: "/low", RequestID: "1", Priority: Low, Cost: 1, Waited: 30 * time.Millisecond},
		}
		got := g.Waiters()
		for i, w := range got {
			if w.Call.Route != w.Route {
				t.Errorf("waiter %d: %q is not the call of %q", i, w.Call.Route, w.Route)
			}
			got[i].Call = Call{}
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got  %+v\nwant %+v", got, want)
		}
		time.Sleep(time.Minute)
		if got := g.Waiters(); len(got) != 0 {
			t.Errorf("nobody waits any more, got %+v", got)
		}
	})
}
