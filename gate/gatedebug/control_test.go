package gatedebug

import (
	"net/http"
	"strings"
	"testing"

	"github.com/rpcgate/rpcgate/gate"
)

const asJSON = "application/json"

func TestControlSetsLimitAndDryRun(t *testing.T) {
	db := mustGate(t, "orders-db", 16)
	h := Handler([]*gate.Gate{mustGate(t, "other", 3), db}, WithControl())
	for _, tc := range []struct {
		body, want string
	}{
		{`{"gate":"orders-db","limit":20}`, `{"gate":"orders-db","limit":20,"dry_run":false}`},
		{`{"gate":"orders-db","dry_run":true}`, `{"gate":"orders-db","limit":20,"dry_run":true}`},
		{` { "limit" : 1 , "dry_run" : false , "gate" : "orders-db" } `, `{"gate":"orders-db","limit":1,"dry_run":false}`},
		{`{"gate":"orders-db","limit":1152921504606846976}`, `{"gate":"orders-db","limit":1152921504606846976,"dry_run":false}`},
	} {
		w := request(h, "POST", "/debug/gate/control", tc.body, "Content-Type", "application/json; charset=utf-8")
		if w.Code != 200 || w.Body.String() != tc.want+"\n" {
			t.Errorf("%s: want %s, got %d %s", tc.body, tc.want, w.Code, w.Body)
		}
	}
	if db.Limit() != gate.MaxLimit || db.DryRun() {
		t.Errorf("limit %d, dry run %v", db.Limit(), db.DryRun())
	}
}

func TestControlNamesWhatIsWrong(t *testing.T) {
	db := mustGate(t, "db", 16)
	h := Handler(db, WithControl())
	const limit = "want a whole number from 1 to 1152921504606846976"
	for _, tc := range []struct {
		body string
		code int
		want fieldError
	}{
		{``, 400, fieldError{"body", "", "want a JSON object"}},
		{`null`, 400, fieldError{"body", "null", "want a JSON object"}},
		{`[]`, 400, fieldError{"body", "[]", "want a JSON object"}},
		{`{"gate":"db","limit":3}{}`, 400, fieldError{"body", `{"gate":"db","limit":3}{}`, "want a JSON object"}},
		{`{"limit":3}`, 400, fieldError{"gate", "", "want the name of a gate"}},
		{`{"gate":7,"limit":3}`, 400, fieldError{"gate", "7", "want the name of a gate"}},
		{`{"gate":"<db>","limit":3}`, 404, fieldError{"gate", "<db>", "there is no gate of that name"}},
		{`{"gate":"db"}`, 400, fieldError{"limit", "", "want limit or dry_run"}},
		{`{"gate":"db","limit":0}`, 400, fieldError{"limit", "0", limit}},
		{`{"gate":"db","limit":-3}`, 400, fieldError{"limit", "-3", limit}},
		{`{"gate":"db","limit":1.5}`, 400, fieldError{"limit", "1.5", limit}},
		{`{"gate":"db","limit":"9"}`, 400, fieldError{"limit", `"9"`, limit}},
		{`{"gate":"db","limit":null}`, 400, fieldError{"limit", "null", limit}},
		{`{"gate":"db","limit":1152921504606846977}`, 400, fieldError{"limit", "1152921504606846977", limit}},
		{`{"gate":"db","dry_run":"yes"}`, 400, fieldError{"dry_run", `"yes"`, "want true or false"}},
		{`{"gate":"db","dry_run":1}`, 400, fieldError{"dry_run", "1", "want true or false"}},
		{`{"gate":"db","limits":3}`, 400, fieldError{"limits", "3", "unknown field, want gate and limit or dry_run"}},
		{`{"gate":"` + strings.Repeat("x", maxCommand) + `"}`, 413, fieldError{"body", "", "want at most 4096 bytes"}},
	} {
		w := request(h, "POST", "/control", tc.body, "Content-Type", asJSON)
		got := decode[struct {
			Error   fieldError
			Message string
		}](t, w.Body.Bytes())
		if w.Code != tc.code || got.Error != tc.want {
			t.Errorf("%.60s: want %d %+v, got %d %s", tc.body, tc.code, tc.want, w.Code, w.Body)
		}
		if got.Message != tc.want.Error() || w.Header().Get("Content-Type") != asJSON {
			t.Errorf("%.60s: %q as %q", tc.body, got.Message, w.Header().Get("Content-Type"))
		}
	}
	// All of a command is checked before any of it is done.
	request(h, "POST", "/control", `{"gate":"db","limit":3,"dry_run":"yes"}`, "Content-Type", asJSON)
	request(h, "POST", "/control", `{"gate":"db","dry_run":true,"limit":0}`, "Content-Type", asJSON)
	if db.Limit() != 16 || db.DryRun() {
		t.Errorf("a bad command did something: limit %d, dry run %v", db.Limit(), db.DryRun())
	}
}

func TestControlRefusesOtherSites(t *testing.T) {
	const body = `{"gate":"db","limit":1}`
	for _, tc := range []struct {
		name   string
		code   int
		header []string
	}{
		{"the page itself", 200, []string{"Content-Type", asJSON, "Sec-Fetch-Site", "same-origin", "Origin", "http://localhost"}},
		{"curl", 200, []string{"Content-Type", asJSON}},
		{"an old browser, the page itself", 200, []string{"Content-Type", asJSON, "Origin", "http://localhost"}},
		{"another site", 403, []string{"Content-Type", asJSON, "Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example"}},
		{"a sibling domain", 403, []string{"Content-Type", asJSON, "Sec-Fetch-Site", "same-site", "Origin", "http://blog.localhost"}},
		{"an old browser, another site", 403, []string{"Content-Type", asJSON, "Origin", "https://evil.example"}},
		{"a sandboxed frame", 403, []string{"Content-Type", asJSON, "Origin", "null"}},
		{"a form", 415, []string{"Content-Type", "application/x-www-form-urlencoded"}},
		{"a form that looks like JSON", 415, []string{"Content-Type", "text/plain"}},
		{"no content type", 415, nil},
		{"a bad content type", 415, []string{"Content-Type", ";"}},
	} {
		db := mustGate(t, "db", 16)
		w := request(Handler(db, WithControl()), "POST", "/control", body, tc.header...)
		if w.Code != tc.code {
			t.Errorf("%s: want %d, got %d %s", tc.name, tc.code, w.Code, w.Body)
		}
		if obeyed := db.Limit() == 1; obeyed != (tc.code == http.StatusOK) {
			t.Errorf("%s: obeyed %v", tc.name, obeyed)
		}
	}
}

// The Host header is the only thing that tells a site with DNS rebinding from the page
// itself: to the browser, both are of the same origin.
func TestControlIsForKnownHosts(t *testing.T) {
	for _, tc := range []struct {
		host    string
		options []string // of WithControl
		code    int
	}{
		{"localhost:8080", nil, 200},
		{"LOCALHOST.", nil, 200},
		{"demo.localhost:8080", nil, 200},
		{"127.0.0.1:8080", nil, 200},
		{"127.9.9.9", nil, 200},
		{"[::1]:8080", nil, 200},
		{"[::1]", nil, 200},
		{"[::ffff:127.0.0.1]:80", nil, 200},
		{"evil.example:8080", nil, 403},
		{"localhost.evil.example", nil, 403},
		{"127.0.0.1.evil.example", nil, 403},
		{"notlocalhost", nil, 403},
		{"10.0.0.7:8080", nil, 403},
		{"0.0.0.0:8080", nil, 403},
		{"", nil, 403},
		{":8080", nil, 403},
		{"ops.example.com:8080", []string{"10.0.0.7", "Ops.Example.com."}, 200},
		{"10.0.0.7:8080", []string{"10.0.0.7", "ops.example.com"}, 200},
		{"[2001:DB8::1]:8080", []string{"2001:db8:0::1"}, 200},
		{"[2001:db8::1]", []string{"[2001:db8::1]"}, 200},
		{"x.ops.example.com", []string{"ops.example.com"}, 403},
		{"127.0.0.1", []string{"ops.example.com"}, 200},
	} {
		db := mustGate(t, "db", 16)
		w := request(Handler(db, WithControl(tc.options...)), "POST", "/control", `{"gate":"db","limit":1}`,
			"Host", tc.host, "Content-Type", asJSON, "Sec-Fetch-Site", "same-origin", "Origin", "http://"+tc.host)
		if w.Code != tc.code || (db.Limit() == 1) != (tc.code == 200) {
			t.Errorf("%q with %q: want %d, got %d, limit %d, %s", tc.host, tc.options, tc.code, w.Code, db.Limit(), w.Body)
		}
		want := fieldError{"Host", tc.host, "want localhost, a loopback address or a host that the program allows with WithControl"}
		if got := decode[struct{ Error fieldError }](t, w.Body.Bytes()).Error; w.Code == 403 && got != want {
			t.Errorf("%q: want %+v, got %+v", tc.host, want, got)
		}
	}
}

func TestReadOnlyPageHasNoControl(t *testing.T) {
	db := mustGate(t, "db", 16)
	h := Handler(db)
	for _, method := range []string{"GET", "POST", "PUT", "PATCH"} {
		request(h, method, "/debug/gate/control?gate=db&limit=1", `{"gate":"db","limit":1}`, "Content-Type", asJSON)
		request(Handler(db, WithControl()), method, "/debug/gate/control?gate=db&limit=1", "", "Content-Type", asJSON)
	}
	if db.Limit() != 16 {
		t.Errorf("the limit was set to %d", db.Limit())
	}
}
