package arch

import (
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

// A user is somebody's module that imports one package of the kit and nothing else.
type user struct {
	imports string // from the root
	most    int    // modules in its build list, itself and the kit included
}

// TestUsersInheritFewModules checks what go list -m all says in the module of a user. It is what scanners for
// vulnerabilities and licences read, whatever is linked in the end.
func TestUsersInheritFewModules(t *testing.T) {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range []user{{"gate", 30}, {"interceptor/connectgate", 40}, {"interceptor/grpcgate", 60}} {
		t.Run(path.Base(u.imports), func(t *testing.T) {
			t.Parallel()
			modules := u.buildList(t, root)
			if len(modules) > u.most {
				t.Errorf("%d modules, at most %d are allowed:\n%s", len(modules), u.most, strings.Join(modules, "\n"))
			}
			for _, m := range modules {
				if unwelcome(m) {
					t.Errorf("%s is among the modules: databases, exporters and Prometheus belong to the demo and the rigs", m)
				}
			}
		})
	}
}

func TestUnwelcomeModules(t *testing.T) {
	for module, want := range map[string]bool{
		"modernc.org/sqlite v1.62.0":                                           true,
		"github.com/mattn/go-sqlite3 v1.14.0":                                  true,
		"github.com/prometheus/client_golang v1.25.0":                          true,
		"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc v1.2": true,
		"go.opentelemetry.io/contrib/exporters/autoexport v0.72.0":             true,
		"go.opentelemetry.io/otel v1.47.0":                                     false,
		"google.golang.org/grpc v1.85.0":                                       false,
	} {
		if got := unwelcome(module); got != want {
			t.Errorf("%s: got %v, want %v", module, got, want)
		}
	}
}

// unwelcome reports whether a line of go list -m all names a database, an exporter or Prometheus.
func unwelcome(module string) bool {
	name, _, _ := strings.Cut(module, " ")
	for _, word := range []string{"sqlite", "modernc.org", "exporter", "prometheus"} {
		if strings.Contains(name, word) {
			return true
		}
	}
	return false
}

// buildList returns the lines of go list -m all, after go mod tidy. The sums are those of the kit, so that nothing is
// looked up that is not in the cache anyway.
func (u user) buildList(t *testing.T, root string) []string {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "go.mod"), fmt.Sprintf("module example.com/user\n\ngo 1.26\n\n"+
		"require github.com/rpcgate/rpcgate v0.0.0\n\nreplace github.com/rpcgate/rpcgate => %s\n", root))
	write(t, filepath.Join(dir, "user.go"), fmt.Sprintf("package user\n\nimport _ %q\n", "github.com/rpcgate/rpcgate/"+u.imports))
	sums, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "go.sum"), string(sums))
	tidy := exec.CommandContext(t.Context(), "go", "mod", "tidy")
	tidy.Dir = dir
	tidy.Env = append(os.Environ(), "GOWORK=off")
	if out, err := tidy.CombinedOutput(); err != nil {
		t.Fatalf("go mod tidy: %v\n%s", err, out)
	}
	out, err := goList(dir, "-m", "all")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}
