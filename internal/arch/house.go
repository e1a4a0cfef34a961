package arch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
)

// House is what the rules look at: the packages of one module with all they link, and its hand-written Go files.
type House struct {
	Root     string
	Module   string
	Packages map[string]*Package // by import path, also those of other modules and of the standard library
	Files    []*File             // without gen/ and testdata/, but with nested modules
	Fset     *token.FileSet
	Excused  []Excuse // variables that may change
}

// Package is what go list says about a package.
type Package struct {
	ImportPath string
	Standard   bool
	Imports    []string // of the files that are not tests
}

// File is one hand-written Go file.
type File struct {
	Path  string // from the root, with slashes
	Lines int
	Test  bool
	AST   *ast.File
}

// Load reads the house at root.
func Load(root string) (*House, error) {
	h := &House{Root: root, Packages: map[string]*Package{}, Fset: token.NewFileSet(), Excused: excused()}
	out, err := goList(root, "-m")
	if err != nil {
		return nil, err
	}
	h.Module = strings.TrimSpace(string(out))
	if err := h.loadPackages(); err != nil {
		return nil, err
	}
	return h, h.loadFiles()
}

func (h *House) loadPackages() error {
	out, err := goList(h.Root, "-deps", "-json=ImportPath,Standard,Imports", "./...")
	if err != nil {
		return err
	}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p Package
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("output of go list: %w", err)
		}
		h.Packages[p.ImportPath] = &p
	}
}

func goList(dir string, args ...string) ([]byte, error) {
	cmd := exec.Command("go", append([]string{"list"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "PWD="+dir)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list %s: %w\n%s", strings.Join(args, " "), err, stderr.Bytes())
	}
	return out, nil
}

func (h *House) loadFiles() error {
	return filepath.WalkDir(h.Root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(h.Root, name)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			if rel == "gen" || d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && rel != "." {
				return fs.SkipDir
			}
			return nil
		}
		if path.Ext(rel) != ".go" {
			return nil
		}
		return h.addFile(name, rel)
	})
}

func (h *House) addFile(name, rel string) error {
	src, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	file, err := parser.ParseFile(h.Fset, rel, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	if ast.IsGenerated(file) {
		return nil
	}
	h.Files = append(h.Files, &File{
		Path:  rel,
		Lines: bytes.Count(src, []byte("\n")),
		Test:  strings.HasSuffix(rel, "_test.go"),
		AST:   file,
	})
	return nil
}

// rel is the import path without the module's path, and whether the package belongs to the module at all.
func (h *House) rel(importPath string) (string, bool) {
	return strings.CutPrefix(importPath, h.Module+"/")
}

// at says in which file and line a node stands.
func (h *House) at(n ast.Node) string {
	pos := h.Fset.Position(n.Pos())
	return fmt.Sprintf("%s:%d", pos.Filename, pos.Line)
}

// isLibrary reports whether a package, named from the root, is for other people to import.
func isLibrary(rel string) bool {
	return under(rel, "gate") || under(rel, "interceptor")
}

// under reports whether a path is dir or lies below it.
func under(name, dir string) bool {
	rest, ok := strings.CutPrefix(name, dir)
	return ok && (rest == "" || rest[0] == '/')
}
