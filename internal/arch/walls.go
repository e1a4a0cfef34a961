package arch

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A wall says what packages may link, the standard library and themselves apart. Patterns are those of go list: "a" is
// one package, "a/..." is a and all below it. Of two walls around a package the one with the longer pattern counts.
type wall struct {
	of       string   // from the root
	own      []string // packages of this module, from the root
	external []string // packages of other modules
}

// walls has a row for every library package. A package without one is an error: adding a package means deciding what
// it may link.
func walls() []wall {
	otel := []string{ // the API only; see bans
		"go.opentelemetry.io/otel/...",
		"go.opentelemetry.io/auto/sdk/...", // linked by the API; does nothing unless an agent attaches to the process
		"github.com/cespare/xxhash/v2",
		"github.com/go-logr/logr/...",
		"github.com/go-logr/stdr",
	}
	details := []string{ // google.rpc.RetryInfo and friends: messages without services
		"google.golang.org/protobuf/...",
		"google.golang.org/genproto/googleapis/rpc/errdetails",
		"google.golang.org/genproto/googleapis/rpc/status",
	}
	grpc := []string{"google.golang.org/grpc/...", "golang.org/x/net/...", "golang.org/x/sys/...", "golang.org/x/text/..."}
	core := []string{"gate", "gate/internal/era"}
	shared := slices.Concat(core, []string{"interceptor", "interceptor/otelgate",
		"interceptor/internal/host", "interceptor/internal/mistake", "interceptor/internal/refusal", "interceptor/internal/shutdown",
		"interceptor/internal/exchange", "interceptor/internal/pace", "interceptor/internal/plain"})
	messages := "interceptor/internal/refusal/details"
	opening := "interceptor/internal/opening"
	return []wall{
		{of: "gate/...", own: []string{"gate/..."}},
		{of: "gate/gateconfig/...", own: []string{"gate/...", "gen/rpcgate/v1"},
			external: []string{"google.golang.org/protobuf/...", "go.yaml.in/yaml/..."}},
		{of: "interceptor", own: shared, external: otel},
		{of: "interceptor/internal/exchange"},
		{of: "interceptor/internal/host", own: shared, external: otel},
		{of: "interceptor/internal/mistake"},
		{of: "interceptor/internal/opening", own: slices.Concat(core, []string{"interceptor/internal/plain"})},
		{of: "interceptor/internal/plain"},
		{of: "interceptor/internal/pace", own: slices.Concat(core, []string{"interceptor/internal/exchange", "interceptor/internal/plain"})},
		{of: "interceptor/internal/refusal", own: core},
		{of: "interceptor/internal/shutdown", own: core},
		{of: messages, own: slices.Concat(core, []string{"interceptor/internal/refusal"}), external: details},
		{of: "interceptor/otelgate/...", own: core, external: otel},
		{of: "interceptor/httpgate/...", own: slices.Concat(shared, []string{opening}), external: otel},
		{of: "interceptor/connectgate/...", own: slices.Concat(shared, []string{opening, messages}),
			external: slices.Concat(otel, details, []string{"connectrpc.com/connect/..."})},
		{of: "interceptor/grpcgate/...", own: slices.Concat(shared, []string{messages}),
			external: slices.Concat(otel, details, grpc)},
		{of: "interceptor/grpcgate/grpchealth", own: slices.Concat(core, []string{"gate/gatehealth", "gate/internal/distinct"}), external: slices.Concat(details, grpc)},
		{of: "interceptor/connectgate/connecthealth", own: slices.Concat(core, []string{"gate/gatehealth", "gate/internal/distinct"}),
			external: slices.Concat(details, []string{"connectrpc.com/connect/...", "connectrpc.com/grpchealth/..."})},
		{of: "interceptor/gatewaygate/...", own: shared,
			external: slices.Concat(otel, details, grpc, []string{
				"github.com/grpc-ecosystem/grpc-gateway/...", "google.golang.org/genproto/googleapis/api/..."})},
	}
}

// A ban names what no library package may link, wherever its wall stands.
type ban struct {
	of, except, why string
}

func (h *House) bans() []ban {
	return []ban{
		{of: h.Module + "/demo/...", why: "the demo uses the kit, never the other way round"},
		{of: h.Module + "/internal/...", why: "internal/ has rigs and tools, which do not ship"},
		{of: h.Module + "/gen/...", except: h.Module + "/gen/rpcgate/v1",
			why: "stubs in gen/ pull grpc into every program"},
		{of: "go.opentelemetry.io/otel/sdk/...", why: "the SDK is the choice of the program, a library uses the API"},
		{of: "go.opentelemetry.io/otel/exporters/...", why: "exporters are the choice of the program"},
		{of: "modernc.org/...", why: "a database belongs to the demo"},
	}
}

// checkWalls finds library packages that link something outside their wall. What a package links is what a program
// that imports nothing else gets.
func checkWalls(h *House) []string {
	var found []string
	for _, importPath := range slices.Sorted(maps.Keys(h.Packages)) {
		rel, ok := h.rel(importPath)
		if !ok || !isLibrary(rel) {
			continue
		}
		w, ok := wallOf(rel)
		if !ok {
			found = append(found, fmt.Sprintf("%s has no wall: say in internal/arch/walls.go what it may link", rel))
			continue
		}
		links := h.links(importPath)
		for _, linked := range slices.Sorted(maps.Keys(links)) {
			if why := h.outside(rel, w, linked); why != "" {
				found = append(found, fmt.Sprintf("%s links %s (%s): %s", rel, linked, h.chain(links, linked), why))
			}
		}
	}
	return found
}

func wallOf(rel string) (wall, bool) {
	var best wall
	for _, w := range walls() {
		if matches(w.of, rel) && len(w.of) > len(best.of) {
			best = w
		}
	}
	return best, best.of != ""
}

// outside says why a package may not link another, or nothing if it may.
func (h *House) outside(rel string, w wall, linked string) string {
	for _, b := range h.bans() {
		if matches(b.of, linked) && linked != b.except {
			return b.why
		}
	}
	own, ok := h.rel(linked)
	if ok && (own == rel || matchesAny(w.own, own)) ||
		!ok && (h.Packages[linked].Standard || matchesAny(w.external, linked)) {
		return ""
	}
	return fmt.Sprintf("outside the wall of %s in internal/arch/walls.go", w.of)
}

func matches(pattern, importPath string) bool {
	dir, below := strings.CutSuffix(pattern, "/...")
	return importPath == dir || below && under(importPath, dir)
}

func matchesAny(patterns []string, importPath string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return matches(p, importPath) })
}

// links walks everything a package links, breadth first, and says for each by whom it was found.
func (h *House) links(importPath string) map[string]string {
	from := map[string]string{importPath: ""}
	for queue := []string{importPath}; len(queue) > 0; queue = queue[1:] {
		p := h.Packages[queue[0]]
		if p == nil || p.Standard {
			continue
		}
		for _, imported := range p.Imports {
			if _, seen := from[imported]; !seen && h.Packages[imported] != nil {
				from[imported] = p.ImportPath
				queue = append(queue, imported)
			}
		}
	}
	return from
}

// chain spells a shortest way from the package whose links these are to one of them.
func (h *House) chain(links map[string]string, to string) string {
	var steps []string
	for at := to; at != ""; at = links[at] {
		name, _ := h.rel(at)
		steps = append(steps, name)
	}
	slices.Reverse(steps)
	return strings.Join(steps, " -> ")
}
