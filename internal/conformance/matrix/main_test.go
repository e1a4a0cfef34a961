package main

import (
	"strings"
	"testing"
)

func TestMatrixIsReadFromTheOutputOfGoTest(t *testing.T) {
	m, err := read(strings.NewReader(`=== RUN   TestConformance/a_host/RefusedAtTheLimit
--- FAIL: TestConformance (0.01s)
    --- PASS: TestConformance/a_host (0.01s)
        --- PASS: TestConformance/a_host/RefusedAtTheLimit (0.00s)
            --- FAIL: TestConformance/a_host/RefusedAtTheLimit/Unary (0.00s)
        --- SKIP: TestConformance/a_host/RefusedForItsKey (0.00s)
    --- FAIL: TestConformance/another (0.00s)
        --- FAIL: TestConformance/another/RefusedAtTheLimit (0.00s)
--- FAIL: TestOther/another/RefusedForItsKey (0.00s)
ok  	example.com/p	0.01s
`))
	if err != nil {
		t.Fatal(err)
	}
	if !m.failed() {
		t.Error("the failure of a host is not seen")
	}
	var out strings.Builder
	m.print(&out)
	for _, want := range []string{
		"1. a host\n2. another\n\n| promise | 1 | 2 |\n|---|---|---|\n",
		"| Refused at the limit | ✓ | **NO** |\n",
		"| Refused for its key | – | ? |\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("want %q in\n%s", want, out.String())
		}
	}
}

func TestOutputWithoutHostsIsAnError(t *testing.T) {
	for _, out := range []string{"", "# does not compile\n", "--- PASS: TestConformance (0.01s)\n"} {
		if _, err := read(strings.NewReader(out)); err == nil {
			t.Errorf("no error for %q", out)
		}
	}
}
