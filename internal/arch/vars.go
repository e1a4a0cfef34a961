package arch

import (
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"path"
	"slices"
	"strings"
)

// An Excuse lets one variable of a library package change, and says why it must.
type Excuse struct {
	Package string // from the root
	Var     string
	Why     string
}

// excused has every variable that may change. There should be very few.
func excused() []Excuse {
	return []Excuse{{
		Package: "gate", Var: "made",
		Why: "numbers the gates of the program by age: chains that know nothing of each other need one order",
	}}
}

// checkVars finds package-level variables of library packages that change while the program runs, or that others
// could change. Allowed are error sentinels, interface assertions (var _ I = T{}), and values that are set where they
// are declared and never again: tables, expressions compiled once, sync.OnceValue, pools. And what is excused.
func checkVars(h *House) []string {
	byDir := map[string][]*File{}
	for _, f := range h.Files {
		if dir := path.Dir(f.Path); !f.Test && isLibrary(dir) {
			byDir[dir] = append(byDir[dir], f)
		}
	}
	var found []string
	needed := make([]bool, len(h.Excused))
	for _, dir := range slices.Sorted(maps.Keys(byDir)) {
		for _, v := range h.mutableVars(byDir[dir]) {
			i := slices.IndexFunc(h.Excused, func(e Excuse) bool { return e.Package == dir && e.Var == v.name })
			if i >= 0 {
				needed[i] = true
				continue
			}
			found = append(found, fmt.Sprintf("%s: package-level var %s: %s", v.where, v.name, v.why))
		}
	}
	for i, e := range h.Excused {
		if !needed[i] {
			found = append(found, fmt.Sprintf("%s: var %s needs no excuse: remove it from internal/arch/vars.go", e.Package, e.Var))
		}
	}
	return found
}

type mutableVar struct{ where, name, why string }

func (h *House) mutableVars(files []*File) []mutableVar {
	uses := h.resolve(files)
	written := map[types.Object]bool{}
	for _, f := range files {
		ast.Inspect(f.AST, func(n ast.Node) bool {
			for _, x := range writes(n) {
				if obj := uses.Uses[root(x)]; obj != nil {
					written[obj] = true
				}
			}
			return true
		})
	}
	var found []mutableVar
	for _, f := range files {
		for _, decl := range f.AST.Decls {
			gen, ok := decl.(*ast.GenDecl)
			if !ok || gen.Tok != token.VAR {
				continue
			}
			for _, spec := range gen.Specs {
				spec := spec.(*ast.ValueSpec)
				embedded := isEmbedded(gen, spec)
				for _, name := range spec.Names {
					if why := whyMutable(name, spec, embedded, written[uses.Defs[name]]); why != "" {
						found = append(found, mutableVar{h.at(name), name.Name, why})
					}
				}
			}
		}
	}
	return found
}

// resolve finds what each name means. Imports are left unknown, which is enough to tell a package's own variables from
// local ones of the same name.
func (h *House) resolve(files []*File) *types.Info {
	info := &types.Info{Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}}
	conf := types.Config{Importer: noImporter{}, Error: func(error) {}}
	var trees []*ast.File
	for _, f := range files {
		trees = append(trees, f.AST)
	}
	// The error is always that of the missing imports.
	_, _ = conf.Check(path.Dir(files[0].Path), h.Fset, trees, info)
	return info
}

type noImporter struct{}

func (noImporter) Import(string) (*types.Package, error) {
	return nil, errors.New("imports are not needed here")
}

func whyMutable(name *ast.Ident, spec *ast.ValueSpec, embedded, written bool) string {
	sentinel := strings.HasPrefix(name.Name, "Err") || strings.HasPrefix(name.Name, "err")
	switch {
	case name.Name == "_":
		return ""
	case written:
		return "is written after its declaration; keep state in a value that its user makes"
	case embedded:
		return ""
	case len(spec.Values) == 0:
		return "has no value where it is declared, so it must change later"
	case holdsState(spec):
		return "is made to be changed; keep state in a value that its user makes"
	case name.IsExported() && !sentinel:
		return "is exported, so anybody may change it; use a func or a const"
	}
	return ""
}

// holdsState reports whether a variable's type or first value is one that exists to change.
func holdsState(spec *ast.ValueSpec) bool {
	state := false
	look := func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.CallExpr:
			fn, ok := n.Fun.(*ast.Ident)
			state = state || ok && fn.Name == "make"
		case *ast.SelectorExpr:
			state = state || isSelector(n, "atomic", "") || isSelector(n, "sync", "Mutex") ||
				isSelector(n, "sync", "RWMutex") || isSelector(n, "sync", "Map") || isSelector(n, "sync", "Once") ||
				isSelector(n, "sync", "WaitGroup")
		}
		return true
	}
	if spec.Type != nil {
		ast.Inspect(spec.Type, look)
	}
	for _, v := range spec.Values {
		ast.Inspect(v, look)
	}
	return state
}

// writes lists the expressions that a node changes, or whose address it takes.
func writes(n ast.Node) []ast.Expr {
	switch n := n.(type) {
	case *ast.AssignStmt:
		if n.Tok != token.DEFINE {
			return n.Lhs
		}
	case *ast.IncDecStmt:
		return []ast.Expr{n.X}
	case *ast.RangeStmt:
		if n.Tok == token.ASSIGN {
			return []ast.Expr{n.Key, n.Value}
		}
	case *ast.UnaryExpr:
		if n.Op == token.AND {
			return []ast.Expr{n.X}
		}
	case *ast.CallExpr:
		if fn, ok := n.Fun.(*ast.Ident); ok && len(n.Args) > 0 && (fn.Name == "delete" || fn.Name == "clear") {
			return n.Args[:1]
		}
	}
	return nil
}

// root is the variable that an expression like x.f[i] begins with, or nil.
func root(x ast.Expr) *ast.Ident {
	for {
		switch e := x.(type) {
		case *ast.Ident:
			return e
		case *ast.SelectorExpr:
			x = e.X
		case *ast.IndexExpr:
			x = e.X
		case *ast.StarExpr:
			x = e.X
		case *ast.ParenExpr:
			x = e.X
		default:
			return nil
		}
	}
}

func isEmbedded(decl *ast.GenDecl, spec *ast.ValueSpec) bool {
	for _, doc := range []*ast.CommentGroup{decl.Doc, spec.Doc} {
		if doc == nil {
			continue
		}
		if slices.ContainsFunc(doc.List, func(c *ast.Comment) bool { return strings.HasPrefix(c.Text, "//go:embed ") }) {
			return true
		}
	}
	return false
}
