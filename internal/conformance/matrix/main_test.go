package main

import (
	"strings"
	"testing"
)

func TestMatrixIsReadFromTheOutputOfGoTest(t *testing.T) {
	m, err := read(strings.NewReader(`{"Action":"start","Package":"p"}
{"Action":"run","Test":"TestConformance/a_host/RefusedAtTheLimit"}
{"Action":"pass","Test":"TestConformance/a_host/RefusedAtTheLimit/Unary"}
{"Action":"pass","Test":"TestConformance/a_host/RefusedAtTheLimit"}
{"Action":"skip","Test":"TestConformance/a_host/RefusedForItsKey"}
{"Action":"fail","Test":"TestConformance/another/RefusedAtTheLimit"}
{"Action":"pass","Test":"TestConformance"}`))
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	m.print(&out)
	for _, want := range []string{
		"| promise | a host | another |\n|---|---|---|\n",
		"| Refused at the limit | yes | **NO** |\n",
		"| Refused for its key | – | ? |\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("want %q in\n%s", want, out.String())
		}
	}
}

func TestOutputWithoutHostsIsAnError(t *testing.T) {
	for _, out := range []string{"", "# does not compile\n", `{"Action":"fail","Package":"p"}`} {
		if _, err := read(strings.NewReader(out)); err == nil {
			t.Errorf("no error for %q", out)
		}
	}
}
