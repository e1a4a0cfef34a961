package main

import (
	"errors"
	"strings"
	"testing"
)

func TestTableSaysWhatWasSeenOnceAndWhatIsWrong(t *testing.T) {
	curl := tool{name: "curl", packages: []string{"curl"}}
	servers := []server{{name: "one"}, {name: "two"}}
	rows := []row{
		{client: curl, servers: servers, tried: "gets 429"},
		{client: curl, servers: servers, tried: "fails"},
		{client: curl, servers: servers, tried: "is known to fail", known: "It is old"},
		{client: curl, servers: servers, tried: "is not there"},
	}
	good, bad := result{server: "one", seen: "429"}, result{server: "two", err: errors.New("got | 502")}
	outcomes := []outcome{
		{versions: []string{"curl 7"}, servers: []result{good, {server: "two", seen: "429"}}},
		{versions: []string{"curl 7"}, servers: []result{good, bad}},
		{versions: []string{"curl 7"}, servers: []result{good, bad}},
		{missing: []tool{curl}},
	}
	got := markdown(rows, outcomes)
	for _, want := range []string{
		"| curl 7 | one, two | gets 429 | 429 | ✓ |\n",
		"| curl 7 | one, two | fails | one: 429. two: **got / 502** | **✗** |\n",
		"| curl 7 | one, two | is known to fail | one: 429. two: **got / 502**. It is old | (✗) |\n",
		"| curl | one, two | is not there | curl not installed: `apt-get install curl` | – |\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("want %q in\n%s", want, got)
		}
	}
	if n := failures(rows, outcomes); n != 1 {
		t.Errorf("%d failures, want 1", n)
	}
}
