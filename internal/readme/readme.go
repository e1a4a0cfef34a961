// Package readme checks what the README says: its test compiles every Go block
// in a module of its own, as a reader would.
package readme

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
)

// Block is a fenced block of Go in a Markdown file.
type Block struct {
	Line int // of its first line of code, from 1
	Code string
}

// Blocks returns the blocks fenced as ```go.
func Blocks(markdown string) []Block {
	var blocks []Block
	var code []string
	begin := 0
	for i, line := range strings.Split(markdown, "\n") {
		switch {
		case begin == 0 && strings.TrimSpace(line) == "```go":
			begin, code = i+2, nil
		case begin > 0 && strings.TrimSpace(line) == "```":
			blocks = append(blocks, Block{begin, strings.Join(code, "\n") + "\n"})
			begin = 0
		case begin > 0:
			code = append(code, line)
		}
	}
	return blocks
}

// File returns the block as a whole file: as it is if it has a package clause,
// otherwise with one and with the imports that it needs, looked up by package
// name.
func (b Block) File(imports map[string]string) (string, error) {
	if strings.HasPrefix(b.Code, "package ") {
		return b.Code, nil
	}
	body := "package snippet\n\n" + b.Code
	file, err := parser.ParseFile(token.NewFileSet(), "snippet.go", body, parser.SkipObjectResolution)
	if err != nil {
		return "", fmt.Errorf("line %d: %w", b.Line, err)
	}
	var paths []string
	ast.Inspect(file, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if pkg, ok := sel.X.(*ast.Ident); ok && imports[pkg.Name] != "" {
				paths = append(paths, pkg.Name)
			}
		}
		return true
	})
	slices.Sort(paths)
	var head strings.Builder
	head.WriteString("package snippet\n\nimport (\n")
	for _, name := range slices.Compact(paths) {
		fmt.Fprintf(&head, "\t%s %q\n", name, imports[name])
	}
	head.WriteString(")\n\n")
	return head.String() + b.Code, nil
}
