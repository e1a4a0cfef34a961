package observability_test

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// query is one PromQL expression and where it is used.
type query struct{ where, expr, legend string }

func dashboard(t *testing.T) []query {
	t.Helper()
	var d struct {
		Panels []struct {
			Title      string
			Datasource struct{ UID string }
			Targets    []struct{ Expr, LegendFormat string }
		}
		Templating struct {
			List []struct {
				Name  string
				Query json.RawMessage
			}
		}
	}
	read(t, "grafana/dashboard.json", json.Unmarshal, &d)
	var all []query
	for _, p := range d.Panels {
		if p.Datasource.UID != "${datasource}" || p.Title == "" {
			t.Errorf("panel %q uses the data source %q, want the selected one", p.Title, p.Datasource.UID)
		}
		for _, target := range p.Targets {
			all = append(all, query{"panel " + p.Title, target.Expr, target.LegendFormat})
		}
	}
	for _, v := range d.Templating.List {
		all = append(all, query{"variable " + v.Name, string(v.Query), ""})
	}
	if len(all) < 10 {
		t.Fatalf("%d queries on the dashboard", len(all))
	}
	return all
}

func rules(t *testing.T) []query {
	t.Helper()
	var f struct {
		Groups []struct {
			Rules []struct{ Record, Alert, Expr string }
		}
	}
	read(t, "rules.yml", yaml.Unmarshal, &f)
	var all []query
	for _, g := range f.Groups {
		for _, r := range g.Rules {
			all = append(all, query{where: "rule " + r.Record + r.Alert, expr: r.Expr})
		}
	}
	if len(all) < 5 {
		t.Fatalf("%d rules", len(all))
	}
	return all
}

func read(t *testing.T, name string, unmarshal func([]byte, any) error, into any) {
	t.Helper()
	b, err := os.ReadFile(name)
	if err == nil {
		err = unmarshal(b, into)
	}
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// nameInQuery finds metrics and labels alike, but not the names of recording rules, which have colons.
func nameInQuery() *regexp.Regexp { return regexp.MustCompile(`\b(?:gate|rpc)_\w+`) }

func TestEveryNameIsExported(t *testing.T) {
	e := scrape(t)
	for _, q := range append(dashboard(t), rules(t)...) {
		names := nameInQuery().FindAllString(q.expr, -1)
		if len(names) == 0 && !strings.Contains(q.expr, "gate:") && !strings.HasPrefix(q.where, "variable datasource") {
			t.Errorf("%s asks for no metric of a gate: %s", q.where, q.expr)
		}
		for _, name := range names {
			if !e.samples[name] && !e.labels[name] {
				t.Errorf("%s: %s is neither a metric nor a label: %s", q.where, name, q.expr)
			}
		}
		for _, m := range regexp.MustCompile(`{{(.*?)}}`).FindAllStringSubmatch(q.legend, -1) {
			if !e.labels[m[1]] {
				t.Errorf("%s: the legend names %s, which is not a label", q.where, m[1])
			}
		}
	}
}

func TestEveryMetricIsOnTheDashboard(t *testing.T) {
	var shown strings.Builder
	for _, q := range dashboard(t) {
		shown.WriteString(q.expr + "\n")
	}
	e := scrape(t)
	found := 0
	for family := range e.families {
		if !strings.HasPrefix(family, "gate_") {
			continue
		}
		found++
		if !regexp.MustCompile(`\b` + family + `(_bucket|_sum|_count)?\b`).MatchString(shown.String()) {
			t.Errorf("%s is not on the dashboard", family)
		}
	}
	if want := 7; found != want {
		t.Errorf("%d metrics of gates are exported, want %d: %v", found, want, e.families)
	}
}
