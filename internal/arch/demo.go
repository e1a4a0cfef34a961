package arch

import (
	"fmt"
	"slices"
	"strconv"
)

// checkDemo finds files outside the demo that import it: tests, files with build tags and those of nested modules, too.
func checkDemo(h *House) []string {
	var found []string
	for _, f := range h.Files {
		if !under(f.Path, "demo") && slices.ContainsFunc(f.imports(), func(i string) bool { return under(i, h.Module+"/demo") }) {
			found = append(found, fmt.Sprintf("%s imports demo: only packages below demo/ may", f.Path))
		}
	}
	return found
}

// imports are the paths that a file imports.
func (f *File) imports() []string {
	var paths []string
	for _, spec := range f.AST.Imports {
		if importPath, err := strconv.Unquote(spec.Path.Value); err == nil { // always, or the file would not parse
			paths = append(paths, importPath)
		}
	}
	return paths
}
