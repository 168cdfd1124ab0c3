// Command surface counts the exported names of the packages that a program imports. A name is a constant, variable, function or type,
// a method of an exported type, a field of an exported struct, or a method of an exported interface. With -budget it fails if the total
// is more than the budget.
//
//	go run ./internal/testing/surface
package main

import (
	"cmp"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
)

func main() {
	budget := flag.Int("budget", 0, "fail if the total is more than this; 0 means no budget")
	names := flag.Bool("names", false, "list the names")
	flag.Parse()
	dirs := flag.Args()
	if len(dirs) == 0 {
		dirs = []string{"coherence", "hal", "buffer", "kernel", "conformance"}
	}
	total, err := run(os.Stdout, dirs, *names)
	if err != nil {
		fmt.Fprintln(os.Stderr, "surface:", err)
		os.Exit(2)
	}
	if *budget > 0 && total > *budget {
		fmt.Fprintf(os.Stderr, "surface: %d names, %d more than the budget\n", total, total-*budget)
		os.Exit(1)
	}
}

// run prints a line for each package in or below dirs and returns the number of names.
func run(w io.Writer, dirs []string, list bool) (total int, err error) {
	out := tabwriter.NewWriter(w, 0, 4, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(out, "top level\twith members\t\tpackage")
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case !d.IsDir():
				return nil
			case d.Name() == "internal" || d.Name() == "testdata":
				return filepath.SkipDir
			}
			p, err := count(path)
			if err != nil || len(p) == 0 {
				return err
			}
			top := 0
			for _, n := range p {
				if !strings.Contains(n, ".") {
					top++
				}
			}
			fmt.Fprintf(out, "%d\t%d\t\t%s\n", top, len(p), filepath.ToSlash(path))
			if list {
				for _, n := range p {
					fmt.Fprintf(out, "\t\t\t  %s\n", n)
				}
			}
			total += len(p)
			return nil
		})
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			return 0, err
		}
	}
	fmt.Fprintf(out, "\t%d\t\tin all\n", total)
	return total, out.Flush()
}

// count returns the exported names of the package in a directory, sorted. A name that is defined once for each of several operating systems counts once.
func count(dir string) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	set := map[string]bool{}
	fset := token.NewFileSet()
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		if f.Name.Name == "main" {
			continue
		}
		for _, d := range f.Decls {
			add(set, d)
		}
	}
	names := make([]string, 0, len(set))
	for n := range set {
		names = append(names, n)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Compare(a, b) })
	return names, nil
}

func add(set map[string]bool, d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if !d.Name.IsExported() {
			return
		}
		if d.Recv == nil {
			set[d.Name.Name] = true
		} else if on := receiver(d.Recv.List[0].Type); ast.IsExported(on) {
			set[on+"."+d.Name.Name] = true
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.ValueSpec:
				for _, n := range spec.Names {
					if n.IsExported() {
						set[n.Name] = true
					}
				}
			case *ast.TypeSpec:
				if spec.Name.IsExported() {
					set[spec.Name.Name] = true
					members(set, spec.Name.Name, spec.Type)
				}
			}
		}
	}
}

func members(set map[string]bool, of string, t ast.Expr) {
	var fields *ast.FieldList
	switch t := t.(type) {
	case *ast.StructType:
		fields = t.Fields
	case *ast.InterfaceType:
		fields = t.Methods
	default:
		return
	}
	for _, f := range fields.List {
		for _, n := range f.Names {
			if n.IsExported() {
				set[of+"."+n.Name] = true
			}
		}
	}
}

// receiver is the name of a receiver's type.
func receiver(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.Ident:
		return t.Name
	case *ast.StarExpr:
		return receiver(t.X)
	case *ast.IndexExpr:
		return receiver(t.X)
	case *ast.IndexListExpr:
		return receiver(t.X)
	}
	return ""
}
