package arch

import (
	"fmt"
	"go/ast"
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
// nothing, so it is allowed: between the brackets of synctest.Test, and in helpers (not tests) of a file that imports
// testing/synctest.
func checkSleep(h *House) []string {
	var found []string
	for _, f := range h.Files {
		if !f.Test {
			continue
		}
		bubbles := f.imports("testing/synctest")
		for _, decl := range f.AST.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if ok && bubbles && !isTestFunc(fn.Name.Name) {
				continue
			}
			ast.Inspect(decl, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				if isSelector(call.Fun, "time", "Sleep") {
					found = append(found, fmt.Sprintf(
						"%s:%d: time.Sleep in a test outside synctest.Test: wait for the event, or use a bubble",
						f.Path, h.Fset.Position(n.Pos()).Line))
				}
				return !isSelector(call.Fun, "synctest", "Test")
			})
		}
	}
	return found
}

func (f *File) imports(importPath string) bool {
	return slices.ContainsFunc(f.AST.Imports, func(spec *ast.ImportSpec) bool {
		return strings.Trim(spec.Path.Value, `"`) == importPath
	})
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
	allowed := []string{"buf.gen.yaml", "buf.yaml", "demo", "gate", "gen", "go.mod", "go.sum", "interceptor", "internal",
		"proto", "README.md"}
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
