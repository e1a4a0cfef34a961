package observability_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// TestCompose reads the compose file and the files that it mounts. It does not run them, since that needs Docker.
func TestCompose(t *testing.T) {
	type service struct {
		Image       string
		Command     []string
		Volumes     []string
		Ports       []string
		Environment map[string]string
		DependsOn   []string `yaml:"depends_on"`
	}
	var c struct {
		Services map[string]service
		Volumes  map[string]any
	}
	read(t, "compose.yml", yaml.Unmarshal, &c)
	exists := func(host string) bool {
		name, _, _ := strings.Cut(host, ":")
		_, ok := c.Services[name]
		return ok
	}
	for name, s := range c.Services {
		if s.Image == "" {
			t.Errorf("%s has no image", name)
		}
		for _, v := range s.Volumes {
			from, _, _ := strings.Cut(v, ":")
			_, named := c.Volumes[from]
			if _, err := os.Stat(from); err != nil && !named {
				t.Errorf("%s mounts a file that does not exist: %s", name, v)
			}
		}
		for _, p := range s.Ports {
			if !strings.HasPrefix(p, "127.0.0.1:") {
				t.Errorf("%s opens port %s to everybody", name, p)
			}
		}
		for _, on := range s.DependsOn {
			if !exists(on) {
				t.Errorf("%s depends on %s, which is not a service", name, on)
			}
		}
	}
	if i := slices.Index(c.Services["demo"].Command, "-C"); i < 0 {
		t.Error("the demo's command does not say in which module it runs")
	} else if module := filepath.Join("../..", c.Services["demo"].Command[i+1], "go.mod"); !isFile(module) {
		t.Errorf("the demo's command runs a module that is not there: %s", module)
	}
	if to := c.Services["demo"].Environment["OTEL_EXPORTER_OTLP_ENDPOINT"]; !exists(strings.TrimPrefix(to, "http://")) {
		t.Errorf("the demo sends its spans to %q", to)
	}
	checkAsked(t, exists)
}

// checkAsked checks that all hosts that Prometheus and Grafana ask are services.
func checkAsked(t *testing.T, exists func(host string) bool) {
	t.Helper()
	var p struct {
		Scrape []struct {
			Static []struct{ Targets []string } `yaml:"static_configs"`
		} `yaml:"scrape_configs"`
	}
	read(t, "prometheus.yml", yaml.Unmarshal, &p)
	for _, s := range p.Scrape {
		for _, static := range s.Static {
			for _, target := range static.Targets {
				if !exists(target) {
					t.Errorf("Prometheus scrapes %s, which is not a service", target)
				}
			}
		}
	}
	var d struct{ Datasources []struct{ URL string } }
	read(t, "grafana/datasources.yml", yaml.Unmarshal, &d)
	for _, s := range d.Datasources {
		if !exists(strings.TrimPrefix(s.URL, "http://")) {
			t.Errorf("Grafana asks %s, which is not a service", s.URL)
		}
	}
}

func isFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}
