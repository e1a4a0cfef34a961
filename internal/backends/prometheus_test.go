//go:build backends

package backends

import (
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
)

// startPrometheus returns the address of a Prometheus that scrapes target each second.
func startPrometheus(t *testing.T, target string) string {
	t.Helper()
	rules, err := filepath.Abs("../../demo/observability/rules.yml")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	config := filepath.Join(dir, "prometheus.yml")
	text := fmt.Sprintf("global: {scrape_interval: 1s}\nrule_files: [%q]\n"+
		"scrape_configs: [{job_name: demo, static_configs: [{targets: [%q]}]}]\n", rules, target)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	addr := freeAddr(t)
	start(t, "prometheus", nil, "--config.file="+config, "--storage.tsdb.path="+filepath.Join(dir, "data"),
		"--web.listen-address="+addr, "--log.level=warn")
	eventually(t, "Prometheus is ready", func() error { return get("http://"+addr+"/-/ready", nil, nil) })
	return addr
}

// ask returns the value of an expression that has exactly one.
func ask(prometheus, expr string) (float64, error) {
	var answer struct {
		Data struct{ Result []struct{ Value [2]any } }
	}
	if err := get("http://"+prometheus+"/api/v1/query", url.Values{"query": {expr}}, &answer); err != nil {
		return 0, err
	}
	if n := len(answer.Data.Result); n != 1 {
		return 0, fmt.Errorf("%s has %d values, want 1", expr, n)
	}
	text, _ := answer.Data.Result[0].Value[1].(string)
	return strconv.ParseFloat(text, 64)
}

func TestPrometheus(t *testing.T) {
	demo := startDemo(t)
	prometheus := startPrometheus(t, demo)
	eventually(t, "the first scrape", func() error {
		_, err := ask(prometheus, `gate_limit{gate_name="db"} == 1`)
		return err
	})
	seen := load(t, demo, 50)
	for what, check := range map[string]struct {
		expr      string
		low, high float64
	}{
		"refused calls, as the clients counted them": {
			`sum(gate_requests_total{gate_name="db", gate_decision=~"rejected_.*"})`,
			float64(seen.refused.Load()), float64(seen.refused.Load())},
		"answered calls, as the clients counted them": {
			`sum(gate_requests_total{gate_name="db", gate_decision="accepted"})`,
			float64(seen.answered.Load()), float64(seen.answered.Load())},
		"rejection ratio": {`sum(rate(gate_requests_total{gate_name="db", gate_decision=~"rejected_.*"}[2m]))
			/ sum(rate(gate_requests_total{gate_name="db", gate_decision!="abandoned"}[2m]))`, 0.01, 0.9999},
		"p99 of the wait": {`histogram_quantile(0.99,
			sum by (le) (rate(gate_wait_duration_seconds_bucket{gate_name="db"}[2m])))`, 0.02, 5},
		"in flight of the limit": {`max_over_time((sum(gate_in_flight{gate_name="db"})
			/ sum(gate_limit{gate_name="db"}))[2m:1s])`, 1, 1},
		"calls of both protocols": {`count(sum by (rpc_system_name) (rpc_server_call_duration_seconds_count{
			rpc_method="demo.orders.v1.OrderService/ListOpenOrders"}))`, 2, 2},
		"the rule of the fill": {`count(gate:fill:ratio)`, 2, 2},
	} {
		eventually(t, what, func() error {
			got, err := ask(prometheus, check.expr)
			if err == nil && (got < check.low || got > check.high) {
				err = fmt.Errorf("%v, want %v to %v", got, check.low, check.high)
			}
			return err
		})
	}
	if n := seen.failed.Load(); n != 0 {
		t.Errorf("%d calls failed otherwise", n)
	}
}

func TestRules(t *testing.T) {
	for _, args := range [][]string{
		{"check", "rules", "rules.yml"},
		{"check", "config", "prometheus.yml"},
		{"test", "rules", "rules_test.yml"},
	} {
		cmd := exec.CommandContext(t.Context(), "promtool", args...)
		cmd.Dir = "../../demo/observability"
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %v: %v\n%s", args, err, out)
		}
	}
}
