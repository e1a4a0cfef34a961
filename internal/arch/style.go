package arch

import (
	"fmt"
	"go/ast"
	"iter"
	"os"
	"path"
	"slices"
	"strings"
)

// Lines allowed. The advice is shorter (a file 60 to 250, a function under 60); these are where the advice ends.
const (
	maxFile     = 350
	maxTestFile = 600
	maxFunc     = 70
)

func checkFileLength(h *House) []string {
	var found []string
	for _, f := range h.Files {
		most := maxFile
		if f.Test {
			most = maxTestFile
		}
		if f.Lines > most {
			found = append(found, fmt.Sprintf("%s has %d lines, at most %d are allowed: split it by concept", f.Path, f.Lines, most))
		}
	}
	return found
}

func checkFuncLength(h *House) []string {
	var found []string
	for _, f := range h.Files {
		for _, decl := range f.AST.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok {
				continue
			}
			first, last := h.Fset.Position(fn.Pos()), h.Fset.Position(fn.End())
			if n := last.Line - first.Line + 1; n > maxFunc {
				found = append(found, fmt.Sprintf("%s:%d: func %s has %d lines, at most %d are allowed",
					f.Path, first.Line, fn.Name.Name, n, maxFunc))
			}
		}
	}
	return found
}

// checkSleep finds tests that sleep on the real clock. Sleeping in a synctest bubble costs no time and races with
// nothing, so it is allowed in tests that call synctest.Test, themselves or through a helper of their package, and in
// helpers of packages that have such tests.
func checkSleep(h *House) []string {
	isBubble := func(fun ast.Expr) bool { return isSelector(fun, "synctest", "Test") }
	makers := map[string][]string{} // by folder, the functions that call synctest.Test
	for fn, f := range h.testFuncs() {
		if dir := path.Dir(f.Path); findCall(fn, isBubble) != nil {
			makers[dir] = append(makers[dir], fn.Name.Name)
		}
	}
	var found []string
	for fn, f := range h.testFuncs() {
		here := makers[path.Dir(f.Path)]
		inBubble := !isTestFunc(fn.Name.Name) && len(here) > 0 || findCall(fn, func(fun ast.Expr) bool {
			name, ok := fun.(*ast.Ident)
			return isBubble(fun) || ok && slices.Contains(here, name.Name)
		}) != nil
		sleep := findCall(fn, func(fun ast.Expr) bool { return isSelector(fun, "time", "Sleep") })
		if sleep != nil && !inBubble {
			found = append(found, fmt.Sprintf("%s:%d: time.Sleep on the real clock in %s: wait for the event, or use synctest",
				f.Path, h.Fset.Position(sleep.Pos()).Line, fn.Name.Name))
		}
	}
	return found
}

// testFuncs yields the functions of test files.
func (h *House) testFuncs() iter.Seq2[*ast.FuncDecl, *File] {
	return func(yield func(*ast.FuncDecl, *File) bool) {
		for _, f := range h.Files {
			for _, decl := range f.AST.Decls {
				if fn, ok := decl.(*ast.FuncDecl); f.Test && ok && !yield(fn, f) {
					return
				}
			}
		}
	}
}

func findCall(in ast.Node, match func(fun ast.Expr) bool) (found *ast.CallExpr) {
	ast.Inspect(in, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && match(call.Fun) {
			found = call
		}
		return found == nil
	})
	return found
}

func isTestFunc(name string) bool {
	return slices.ContainsFunc([]string{"Test", "Benchmark", "Example", "Fuzz"}, func(prefix string) bool {
		return strings.HasPrefix(name, prefix)
	})
}

func isSelector(x ast.Expr, pkg, name string) bool {
	sel, ok := x.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	left, ok := sel.X.(*ast.Ident)
	return ok && left.Name == pkg && (name == "" || sel.Sel.Name == name)
}

// checkTopLevel finds files and folders that do not belong at the top of the repository. Names with a dot in front are
// the business of tools; what .gitignore keeps out of the repository is nobody's.
func checkTopLevel(h *House) []string {
	allowed := []string{"buf.gen.yaml", "buf.yaml", "CHANGELOG.md", "demo", "gate", "gen", "go.mod", "go.sum",
		"interceptor", "internal", "proto", "README.md", "SECURITY.md"}
	ignored := []string{".test", ".out", ".prof"}
	entries, err := os.ReadDir(h.Root)
	if err != nil {
		return []string{err.Error()}
	}
	var found []string
	for _, e := range entries {
		name := e.Name()
		if strings.HasPrefix(name, ".") || name == "bin" || slices.Contains(ignored, path.Ext(name)) ||
			slices.Contains(allowed, name) {
			continue
		}
		found = append(found, name+" is not one of the things allowed at the top: "+strings.Join(allowed, " "))
	}
	return found
}
