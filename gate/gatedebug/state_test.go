package gatedebug

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcgate/rpcgate/gate"
)

func TestStateSaysAllThatThePageDoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := mustGate(t, "orders-db", 1, gate.WithMaxWaiting(1), gate.WithKeySecret([]byte("a secret of the fleet")))
		h := Handler(db, WithTraceID(func(context.Context) string { return "trace-1" }))
		hold(t, db, gate.Call{Route: "/report", RequestID: "r1", RemoteIP: "10.0.0.1", Key: "acme"})
		time.Sleep(41 * time.Second)
		go db.Acquire(t.Context(), gate.Call{Route: "/list", RequestID: "r2"})
		time.Sleep(10 * time.Millisecond)
		if _, err := db.Acquire(t.Context(), gate.Call{Route: "/create", RequestID: "r3"}); err == nil {
			t.Fatal("a full queue took one more")
		}
		w := request(h, "GET", "/debug/gate/state.json", "")
		got := decode[map[string]any](t, w.Body.Bytes())
		delete(got["gates"].([]any)[0].(map[string]any)["last_rejections"].([]any)[0].(map[string]any), "retry_delay_ms") // drawn
		want := `{"time":"2000-01-01T00:00:41.01Z","gates":[{
			"name":"orders-db","limit":1,"in_flight":1,"waiting":1,"waiting_by":{"normal":1},"max_waiting":1,"max_wait_ns":100000000,
			"draining":false,"dry_run":false,"keys":0,"observer_panics":0,
			"totals":{"accepted":1,"rejected_busy":1,"rejected_timeout":0,"abandoned":0,"by_reason":{"queue_full":1}},
			"state":"refusing","pressure":2,"since":"2000-01-01T00:00:41.01Z","last_rejected":"2000-01-01T00:00:41.01Z",
			"holders_total":1,"holders":[{"route":"/report","request_id":"r1","remote_ip":"10.0.0.1","key":"b78186d304ea9c2bebf741602542df51","priority":"normal","cost":1,"age_ns":41010000000}],
			"waiters":[{"route":"/list","request_id":"r2","remote_ip":"","priority":"normal","cost":1,"waited_ns":10000000}],
			"last_rejections":[{"seq":1,"t":946684841010,"decision":"rejected_busy","reason":"queue_full","route":"/create","request_id":"r3",
				"trace_id":"trace-1","priority":"normal","waited_ms":0,"in_flight":1,"limit":1}],
			"last_hour":[{"t":946684800,"rejected":1,"abandoned":0,"waited":0,"waited_ms_max":0,"in_flight_max":1,"waiting_max":1}]}]}`
		g, _ := json.MarshalIndent(got, "", " ")
		v, _ := json.MarshalIndent(decode[any](t, []byte(want)), "", " ")
		if string(g) != string(v) {
			t.Errorf("got %s\nwant %s", g, v)
		}
		time.Sleep(time.Second)
	})
}

func TestStateOfAQuietGateHasNoNulls(t *testing.T) {
	w := request(Handler(mustGate(t, "db", 1)), "GET", "/debug/gate/state.json", "")
	if strings.Contains(w.Body.String(), "null") {
		t.Error(w.Body.String())
	}
}

func TestStateCanBeNarrowed(t *testing.T) {
	var gates []*gate.Gate
	for i := range 5 {
		gates = append(gates, mustGate(t, fmt.Sprintf("g%d", i), 10))
		for range 4 {
			hold(t, gates[i], gate.Call{})
		}
	}
	h := Handler(gates)
	type listed struct {
		Name         string
		Holders      []any
		HoldersTotal int `json:"holders_total"`
	}
	s := decode[struct{ Gates []listed }](t, request(h, "GET", "/state.json?gate=g3&gate=g1&holders=2", "").Body.Bytes())
	if len(s.Gates) != 2 || s.Gates[0].Name != "g3" || s.Gates[1].Name != "g1" ||
		len(s.Gates[0].Holders) != 2 || s.Gates[0].HoldersTotal != 4 {
		t.Errorf("got %+v", s)
	}
	for query, want := range map[string]struct {
		code int
		fieldError
	}{
		"gate=nope":           {404, fieldError{"gate", "nope", "there is no gate of that name"}},
		"gate=":               {404, fieldError{"gate", "", "there is no gate of that name"}},
		"gate=g1&gate=nope":   {404, fieldError{"gate", "nope", "there is no gate of that name"}},
		"gate=%zz":            {400, fieldError{"query", "gate=%zz", `want gate=… and holders=… (invalid URL escape "%zz")`}},
		"holders=many":        {400, fieldError{"holders", "many", "want a whole number from 0 to 10000"}},
		"holders=-1":          {400, fieldError{"holders", "-1", "want a whole number from 0 to 10000"}},
		"gate=g1&holders=1e9": {400, fieldError{"holders", "1e9", "want a whole number from 0 to 10000"}},
	} {
		w := request(h, "GET", "/state.json?"+query, "")
		got := decode[struct{ Error fieldError }](t, w.Body.Bytes())
		if w.Code != want.code || got.Error != want.fieldError {
			t.Errorf("%s: want %d %+v, got %d %s", query, want.code, want.fieldError, w.Code, w.Body)
		}
	}
}

// A gate that is named often is listed once, and a query that is longer than a list of
// gates is refused. Both took 968 MB for a query of 70 kB.
func TestStateOfAGateNamedOftenIsSmall(t *testing.T) {
	h := Handler([]*gate.Gate{mustGate(t, "a", 1), mustGate(t, "b", 1)})
	once := request(h, "GET", "/state.json?gate=b&gate=a", "").Body.Len()
	often := request(h, "GET", "/state.json?gate=b"+strings.Repeat("&gate=a&gate=b", 500), "")
	if often.Code != 200 || often.Body.Len() > once+100 { // the time has more or fewer digits
		t.Errorf("%d, %d bytes for 1001 names of two gates, want %d", often.Code, often.Body.Len(), once)
	}
	for _, path := range []string{"/state.json", "/"} {
		w := request(h, "GET", path+"?"+strings.Repeat("gate=a&", 10_000), "")
		got := decode[struct{ Error fieldError }](t, w.Body.Bytes()).Error
		if want := (fieldError{"query", "70000 bytes", "want at most 8192 bytes"}); w.Code != 414 || got != want {
			t.Errorf("%s: want 414 %+v, got %d %s", path, want, w.Code, w.Body)
		}
	}
}

// The state is sent gate by gate: what is kept in memory at once is that of one gate.
func TestStateIsSentGateByGate(t *testing.T) {
	var gates []*gate.Gate
	for i := range 20 {
		gates = append(gates, mustGate(t, fmt.Sprintf("g%d", i), 1))
	}
	w := &writes{ResponseRecorder: httptest.NewRecorder()}
	Handler(gates).ServeHTTP(w, httptest.NewRequest("GET", "/state.json", nil))
	if got := decode[struct{ Gates []gateState }](t, w.Body.Bytes()).Gates; len(got) != 20 || got[19].Name != "g19" {
		t.Errorf("%d gates: %s", len(got), w.Body)
	}
	if w.longest > w.Body.Len()/10 {
		t.Errorf("%d of %d bytes in one write", w.longest, w.Body.Len())
	}
}

// writes is a response that notes its longest write.
type writes struct {
	*httptest.ResponseRecorder
	longest int
}

func (w *writes) Write(b []byte) (int, error) {
	w.longest = max(w.longest, len(b))
	return w.ResponseRecorder.Write(b)
}

// Clients can send anything. It reaches the page as JSON, without markup and cut
// to size.
func TestStringsOfClientsAreHarmless(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const evil = "</script><img src=x onerror=alert(1)>&\u2028\u202e\r\n\ndata: x\x00"
		db := mustGate(t, evil[:20], 1, gate.WithMaxWaiting(0))
		p := newPage([]*gate.Gate{db}, WithTraceID(func(context.Context) string { return evil }), WithRawKeys())
		long := strings.Repeat("<", 100_000)
		hold(t, db, gate.Call{Route: evil, RequestID: evil, RemoteIP: evil, Key: evil + long})
		refuse(t, db, gate.Call{Route: evil, RequestID: evil + long, RemoteIP: evil, Key: evil})
		v, err := p.hub.join("", false)
		if err != nil {
			t.Fatal(err)
		}
		defer p.hub.leave(v)
		time.Sleep(1500 * time.Millisecond)
		bodies := map[string]string{"state.json": request(p, "GET", "/state.json", "").Body.String()}
		for _, name := range []string{"hello", "gate", "tick", "update"} {
			bodies[name] = string(v.next(t, name).data)
		}
		for name, body := range bodies {
			if strings.ContainsAny(body, "<>&\u2028\u202e\x00") || len(body) > 20_000 {
				t.Errorf("%s, %d bytes: %.2000s", name, len(body), body)
			}
		}
		if !strings.Contains(bodies["gate"], `\u003cimg src=x onerror=alert(1)\u003e`) {
			t.Errorf("the text is lost: %s", bodies["gate"])
		}
	})
}
