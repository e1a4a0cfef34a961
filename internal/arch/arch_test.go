package arch

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestHouse holds every rule against this repository.
func TestHouse(t *testing.T) {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	h := load(t, root)
	if gate := h.Module + "/gate"; h.Packages[gate] == nil || !slices.ContainsFunc(h.Files, func(f *File) bool { return under(f.Path, "gate") }) {
		t.Fatalf("package %s was not found below %s: the rules looked at the wrong tree", gate, root)
	}
	for _, rule := range Rules() {
		t.Run(rule.Name, func(t *testing.T) {
			for _, found := range rule.Check(h) {
				t.Error(found)
			}
		})
	}
}

// TestBrokenHouse holds every rule against a house in which each of them is broken, and next to each offence stands
// something alike that is allowed.
func TestBrokenHouse(t *testing.T) {
	h := load(t, brokenHouse(t))
	h.Excused = []Excuse{
		{Package: "gate/pool", Var: "excused", Why: "the excuse is for this one"},
		{Package: "gate/pool", Var: "names", Why: "it does not change"},
		{Package: "gate", Var: "seen", Why: "only another package has one"},
	}
	for _, rule := range Rules() {
		t.Run(rule.Name, func(t *testing.T) {
			want := offences[rule.Name]
			if len(want) == 0 {
				t.Fatal("the broken house does not break this rule: the rule is not tested")
			}
			got := rule.Check(h)
			for i := range max(len(got), len(want)) {
				switch {
				case i >= len(got):
					t.Errorf("not found: %s", want[i])
				case i >= len(want):
					t.Errorf("found beyond what was broken: %s", got[i])
				case !strings.HasPrefix(got[i], want[i]):
					t.Errorf("found %q\nwant  %q…", got[i], want[i])
				}
			}
		})
	}
}

// offences says how each finding in the broken house must begin, in order.
var offences = map[string][]string{
	"Walls": {
		"gate links connectrpc.com/connect (gate -> connectrpc.com/connect): outside the wall of gate",
		"gate links github.com/rpcgate/rpcgate/gen/rpcgate/v1 (gate -> gen/rpcgate/v1): outside the wall of gate",
		"interceptor/connectgate links github.com/rpcgate/rpcgate/gen/rpcgate/test/v1 (interceptor/connectgate -> interceptor/internal/mapping -> gen/rpcgate/test/v1): stubs in gen/",
		"interceptor/connectgate links github.com/rpcgate/rpcgate/interceptor/internal/mapping (interceptor/connectgate -> interceptor/internal/mapping): outside the wall of interceptor/connectgate",
		"interceptor/connectgate links google.golang.org/grpc (interceptor/connectgate -> interceptor/internal/mapping -> gen/rpcgate/test/v1 -> google.golang.org/grpc): outside the wall of interceptor/connectgate",
		"interceptor/grpcgate links connectrpc.com/connect (interceptor/grpcgate -> connectrpc.com/connect): outside",
		"interceptor/grpcgate links go.opentelemetry.io/otel/sdk (interceptor/grpcgate -> go.opentelemetry.io/otel/sdk): the SDK",
		"interceptor/httpgate links connectrpc.com/connect",
		"interceptor/httpgate links github.com/rpcgate/rpcgate/demo/app (interceptor/httpgate -> demo/app): the demo uses the kit",
		"interceptor/httpgate links github.com/rpcgate/rpcgate/gen/rpcgate/v1",
		"interceptor/httpgate links github.com/rpcgate/rpcgate/internal/rig (interceptor/httpgate -> internal/rig): internal/ has rigs",
		"interceptor/httpgate links google.golang.org/grpc",
		"interceptor/internal/mapping has no wall",
		"interceptor/othergate has no wall",
	},
	"Demo": {
		"gate/pool/pool_test.go imports demo",
		"interceptor/httpgate/httpgate.go imports demo",
		"internal/bench/tagged.go imports demo",
		"internal/unlinked/unlinked.go imports demo",
	},
	"FileLength": {
		"demo/long/long.go has 351 lines, at most 350",
		"internal/long/long.go has 351 lines, at most 350",
		"internal/long/long_test.go has 601 lines, at most 600",
	},
	"FuncLength": {
		"demo/long/long.go:3: func long has 71 lines, at most 70",
		"internal/long/long.go:3: func long has 71 lines, at most 70",
	},
	"Sleep": {
		"demo/app/app_test.go:10: time.Sleep",
		"gate/extra/extra_test.go:5: time.Sleep",
		"gate/pool/helper_test.go:13: time.Sleep",
		"gate/pool/pool_test.go:18: time.Sleep",
	},
	"Vars": {
		"gate/pool/vars.go:21: package-level var later: has no value",
		"gate/pool/vars.go:22: package-level var counter: has no value",
		"gate/pool/vars.go:23: package-level var lock: is made to be changed",
		"gate/pool/vars.go:24: package-level var seen: is made to be changed",
		"gate/pool/vars.go:25: package-level var table: is written",
		"gate/pool/vars.go:26: package-level var level: is written",
		"gate/pool/vars.go:27: package-level var config: is written",
		"gate/pool/vars.go:28: package-level var shared: is written",
		"gate/pool/vars.go:29: package-level var Default: is exported",
		"interceptor/internal/mapping/mapping.go:5: package-level var State: has no value",
		"gate/pool: var names needs no excuse",
		"gate: var seen needs no excuse",
	},
	"TopLevel": {"Makefile is not one of"},
}

// brokenHouse builds the house of testdata in a temporary folder, with a go.mod for it, its demo and its bench, and with
// files that are too long.
func brokenHouse(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata")); err != nil {
		t.Fatal(err)
	}
	var main strings.Builder
	main.WriteString("module github.com/rpcgate/rpcgate\n\ngo 1.26\n")
	for name, module := range map[string]string{
		"grpc": "google.golang.org/grpc", "connect": "connectrpc.com/connect", "sdk": "go.opentelemetry.io/otel/sdk",
	} {
		write(t, filepath.Join(dir, "others", name, "go.mod"), "module "+module+"\n")
		fmt.Fprintf(&main, "require %s v0.0.0\nreplace %[1]s => ../others/%s\n", module, name)
	}
	main.WriteString("require github.com/rpcgate/rpcgate/demo v0.0.0\nreplace github.com/rpcgate/rpcgate/demo => ./demo\n")
	root := filepath.Join(dir, "broken")
	write(t, filepath.Join(root, "go.mod"), main.String())
	for _, nested := range []string{"demo", "internal/bench"} {
		write(t, filepath.Join(root, nested, "go.mod"), "module github.com/rpcgate/rpcgate/"+nested+"\n\ngo 1.26\n")
	}

	long := "package long\n\nfunc long() {" + strings.Repeat("\n", 70) + "}\n\nfunc fits() {" + strings.Repeat("\n", 69) + "}\n"
	write(t, filepath.Join(root, "demo", "long", "long.go"), pad(long, maxFile+1))
	write(t, filepath.Join(root, "internal", "long", "long.go"), pad(long, maxFile+1))
	write(t, filepath.Join(root, "internal", "long", "fits.go"), pad("package long\n", maxFile))
	write(t, filepath.Join(root, "internal", "long", "long_test.go"), pad("package long\n", maxTestFile+1))
	write(t, filepath.Join(root, "internal", "long", "fits_test.go"), pad("package long\n", maxTestFile))
	return root
}

func load(t *testing.T, root string) *House {
	t.Helper()
	h, err := Load(root)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

// pad adds empty lines until there are n.
func pad(text string, n int) string {
	return text + strings.Repeat("\n", n-strings.Count(text, "\n"))
}
