// Command apilist lists the exported API of the module in api/, one file for each tree of packages and one line for each name,
// in the manner of Go's own api/*.txt. A test fails when the code and the listing differ, so that no change of API goes
// unnoticed.
//
//	go run ./internal/testing/apilist             write the listing anew
//	go run ./internal/testing/apilist -usage      print how many names each package exports, and how many of them are used outside tests
//	go run ./internal/testing/apilist -unused     the same, and list the names that are not used
//
// For the listing it reads declarations and does not check types, so it needs neither a build nor a compiler for another system. A change
// of a type that is aliased shows where that type is declared. A constant that uses iota is listed with the number that iota has, since its
// value depends on its place.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/printer"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A system is one way to build the module.
type system struct {
	name, goos, goarch string
	tags               []string
}

var systems = func() (all []system) {
	for _, s := range []string{"linux-amd64", "linux-arm64", "windows-amd64", "darwin-arm64"} {
		goos, goarch, _ := strings.Cut(s, "-")
		all = append(all, system{s, goos, goarch, nil}, system{s + "-tags", goos, goarch, []string{"cuda", "opencl", "hip"}})
	}
	return all
}()

// vectors are the builds with package simd, by Go 1.27 with GOEXPERIMENT=simd. The listing names them only for what no other build has.
var vectors = []system{{"linux-amd64-simd", "linux", "amd64", nil}, {"linux-arm64-simd", "linux", "arm64", nil}}

func main() {
	counts := flag.Bool("usage", false, "print how many names each package exports, and how many of them are used")
	unused := flag.Bool("unused", false, "the same, and list the names that are not used")
	flag.Parse()
	var err error
	if *counts || *unused {
		err = usage(os.Stdout, *unused)
	} else {
		var listings map[string]string
		if listings, err = list("."); err == nil {
			err = write("api", listings)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "apilist:", err)
		os.Exit(1)
	}
}

// write makes dir hold the listings and no others.
func write(dir string, listings map[string]string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	old, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	if err != nil {
		return err
	}
	for _, name := range old {
		if _, ok := listings[filepath.Base(name)]; !ok {
			if err := os.Remove(name); err != nil {
				return err
			}
		}
	}
	for name, text := range listings {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			return err
		}
	}
	return nil
}

// list returns the text of each file of api/ for the module at root.
func list(root string) (map[string]string, error) {
	trees := map[string][]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		switch name := d.Name(); {
		case rel == ".":
			rel = "halyard"
		case strings.HasPrefix(name, "."), name == "internal", name == "testdata", name == "bin",
			rel == "examples", rel == "docs", rel == "scripts", rel == "cmd", rel == "bench":
			return filepath.SkipDir
		}
		lines, err := listPackage(path)
		tree, _, _ := strings.Cut(rel, "/")
		for _, l := range lines {
			trees[tree] = append(trees[tree], "pkg "+rel+l)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	listings := map[string]string{}
	for tree, lines := range trees {
		slices.Sort(lines)
		listings[tree+".txt"] = strings.Join(lines, "\n") + "\n"
	}
	return listings, nil
}

// listPackage returns a line for each exported name of the package in dir. A name that not every system has is listed with the
// systems that have it.
func listPackage(dir string) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	on, inVectors := map[string][]bool{}, map[string][]string{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		if f.Name.Name == "main" {
			continue
		}
		var lines []string
		for _, d := range f.Decls {
			lines = append(lines, declared(d)...)
		}
		for i, s := range append(slices.Clip(systems), vectors...) {
			c := build.Context{GOOS: s.goos, GOARCH: s.goarch, Compiler: "gc", BuildTags: s.tags, ReleaseTags: build.Default.ReleaseTags}
			if i >= len(systems) {
				c.ToolTags, c.ReleaseTags = []string{"goexperiment.simd"}, append(slices.Clip(c.ReleaseTags), "go1.27")
			}
			match, err := c.MatchFile(dir, filepath.Base(name))
			if err != nil {
				return nil, err
			}
			if !match {
				continue
			}
			for _, l := range lines {
				switch {
				case i >= len(systems):
					inVectors[l] = append(inVectors[l], s.name)
					continue
				case on[l] == nil:
					on[l] = make([]bool, len(systems))
				}
				on[l][i] = true
			}
		}
	}
	return placed(on, inVectors), nil
}

// placed adds to each name where it is, if not everywhere.
func placed(on map[string][]bool, inVectors map[string][]string) (lines []string) {
	for l, has := range on {
		where := ""
		if slices.Contains(has, false) {
			var names []string
			for i, s := range systems {
				if has[i] {
					names = append(names, s.name)
				}
			}
			where = " (" + strings.Join(names, " ") + ")"
		}
		lines = append(lines, where+", "+l)
	}
	for l, where := range inVectors {
		if on[l] == nil {
			lines = append(lines, " ("+strings.Join(where, " ")+"), "+l)
		}
	}
	return lines
}

func declared(d ast.Decl) (lines []string) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if !d.Name.IsExported() {
			return nil
		}
		if d.Recv == nil {
			return []string{"func " + d.Name.Name + typeParams(d.Type.TypeParams) + signature(d.Type)}
		}
		on := text(d.Recv.List[0].Type)
		if !ast.IsExported(strings.TrimPrefix(on, "*")) {
			return nil
		}
		return []string{"method (" + on + ") " + d.Name.Name + signature(d.Type)}
	case *ast.GenDecl:
		var typ ast.Expr // a constant without a type and values repeats the last ones
		var values []ast.Expr
		for n, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.ValueSpec:
				if d.Tok == token.VAR || spec.Values != nil {
					typ, values = spec.Type, spec.Values
				}
				for i, name := range spec.Names {
					if !name.IsExported() {
						continue
					}
					line := d.Tok.String() + " " + name.Name
					if typ != nil {
						line += " " + text(typ)
					}
					// A variable's value is listed only if no type is written, because the value gives the type.
					if i < len(values) && (d.Tok == token.CONST || typ == nil) {
						line += " = " + text(values[i])
						if d.Tok == token.CONST && counts(values[i]) {
							line += fmt.Sprintf(" (iota %d)", n)
						}
					}
					lines = append(lines, line)
				}
			case *ast.TypeSpec:
				if spec.Name.IsExported() {
					lines = append(lines, typeLines(spec)...)
				}
			}
		}
	}
	return lines
}

func counts(e ast.Expr) (found bool) {
	ast.Inspect(e, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && id.Name == "iota" {
			found = true
		}
		return !found
	})
	return found
}

func typeLines(spec *ast.TypeSpec) []string {
	head := "type " + spec.Name.Name + typeParams(spec.TypeParams)
	if spec.Assign.IsValid() {
		return []string{head + " = " + text(spec.Type)}
	}
	var fields *ast.FieldList
	switch t := spec.Type.(type) {
	case *ast.StructType:
		head, fields = head+" struct", t.Fields
	case *ast.InterfaceType:
		head, fields = head+" interface", t.Methods
	default:
		return []string{head + " " + text(t)}
	}
	lines := []string{head}
	for _, f := range fields.List {
		tag := ""
		if f.Tag != nil {
			tag = " " + f.Tag.Value
		}
		if len(f.Names) == 0 {
			if base := strings.TrimLeft(text(f.Type), "*"); ast.IsExported(base[strings.LastIndex(base, ".")+1:]) || !token.IsIdentifier(base) {
				lines = append(lines, head+", embedded "+text(f.Type)+tag)
			}
		}
		for _, n := range f.Names {
			switch method, ok := f.Type.(*ast.FuncType); {
			case !n.IsExported():
				// No other package can implement an interface with such a method, nor fill such a struct without names.
				lines = append(lines, head+", unexported members")
			case ok && strings.HasSuffix(head, " interface"):
				lines = append(lines, head+", "+n.Name+signature(method))
			default:
				lines = append(lines, head+", "+n.Name+" "+text(f.Type)+tag)
			}
		}
	}
	return slices.Compact(slices.Sorted(slices.Values(lines)))
}

func typeParams(list *ast.FieldList) string {
	if list == nil {
		return ""
	}
	var params []string
	for _, f := range list.List {
		for _, n := range f.Names {
			params = append(params, n.Name+" "+text(f.Type))
		}
	}
	return "[" + strings.Join(params, ", ") + "]"
}

// signature is a function's type without the names of parameters, which callers do not depend on.
func signature(t *ast.FuncType) string {
	s := "(" + strings.Join(unnamed(t.Params), ", ") + ")"
	switch results := unnamed(t.Results); len(results) {
	case 0:
		return s
	case 1:
		return s + " " + results[0]
	default:
		return s + " (" + strings.Join(results, ", ") + ")"
	}
}

func unnamed(list *ast.FieldList) (types []string) {
	if list == nil {
		return nil
	}
	for _, f := range list.List {
		for range max(1, len(f.Names)) {
			types = append(types, text(f.Type))
		}
	}
	return types
}

// text is an expression on one line, without comments.
func text(e ast.Expr) string {
	var b bytes.Buffer
	if err := printer.Fprint(&b, token.NewFileSet(), e); err != nil {
		panic(err) // writing to a bytes.Buffer does not fail
	}
	return strings.Join(strings.Fields(b.String()), " ")
}
