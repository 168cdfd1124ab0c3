package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"
)

const (
	module = "github.com/go-halyard/halyard"
	tags   = "cuda opencl hip vulkan"
)

// listed is what go list says of a package.
type listed struct {
	ImportPath, Dir, Export string
	GoFiles, CgoFiles       []string
	Standard                bool
}

// exported is one exported name: of a package, a method of an exported type, a field of an exported struct, or a method of an exported
// interface.
type exported struct {
	pkg, name string
	used      bool // outside its package and outside tests
}

// usage prints a table: for each package that programs can import, how many names it exports, and how many of them the packages of this
// repository use, those of examples and bench included. Call it in the root of the repository. Uses in tests, and in the package itself, do not count. A method counts as used if
// an interface of this module, or of a few packages of the standard library, has a method that it implements; a type, if a function that is
// used takes or returns its values. The names of packages lanes and gridgen are apart, because "halyard kernels" writes them, and each kernel needs others.
func usage(w io.Writer, unused bool) error {
	all, err := load()
	if err != nil {
		return err
	}
	names, byPackage, order := all.count(), map[string][]*exported{}, []string{}
	generated, err := ofVectors(".")
	if err != nil {
		return err
	}
	for _, n := range names {
		if n.pkg == module+"/"+gridgen {
			generated = append(generated, n)
			continue
		}
		if byPackage[n.pkg] == nil {
			order = append(order, n.pkg)
		}
		byPackage[n.pkg] = append(byPackage[n.pkg], n)
	}
	slices.Sort(order)
	table := tabwriter.NewWriter(w, 0, 4, 1, ' ', 0)
	fmt.Fprint(table, "| package\t| names\t| used\t| not used\t|\n", "|---\t|--:\t|--:\t|--:\t|\n")
	total, in := 0, 0
	for _, p := range order {
		used := 0
		for _, n := range byPackage[p] {
			if n.used {
				used++
			}
		}
		fmt.Fprintf(table, "| %s\t| %d\t| %d\t| %d\t|\n", strings.TrimPrefix(p, module+"/"), len(byPackage[p]), used, len(byPackage[p])-used)
		total, in = total+len(byPackage[p]), in+used
	}
	fmt.Fprintf(table, "| %d packages\t| %d\t| %d\t| %d\t|\n", len(order), total, in, total-in)
	for _, p := range []string{lanes, gridgen} {
		total, in := 0, 0
		for _, n := range generated {
			if n.pkg == module+"/"+p {
				total++
			}
			if n.pkg == module+"/"+p && n.used {
				in++
			}
		}
		fmt.Fprintf(table, "| %s, for generated code\t| %d\t| %d\t| %d\t|\n", p, total, in, total-in)
	}
	if err := table.Flush(); err != nil || !unused {
		return err
	}
	for _, n := range names {
		if !n.used {
			fmt.Fprintf(w, "%s.%s\n", strings.TrimPrefix(n.pkg, module+"/"), n.name)
		}
	}
	return nil
}

// lanes is the package that only builds with package simd have something in, for the files of vectors that "halyard kernels" writes.
const lanes = "kernel/lanes"

// gridgen has what files call that "halyard kernels" writes for all builds.
const gridgen = "kernel/gridgen"

var declaration = regexp.MustCompile(`, (?:func|const|var|type) (\w+)`)

// ofVectors returns the exported names of package lanes. Those count as used that a file of vectors names: such files are read and not
// checked, because the compiler that runs this program need not have package simd.
func ofVectors(root string) (names []*exported, err error) {
	lines, err := listPackage(filepath.Join(root, lanes))
	if err != nil {
		return nil, err
	}
	used := map[string]bool{}
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_kernels_simd.go") {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				if p, ok := s.X.(*ast.Ident); ok && p.Name == "lanes" {
					used[s.Sel.Name] = true
				}
			}
			return true
		})
		return nil
	})
	for _, l := range lines {
		if m := declaration.FindStringSubmatch(l); m != nil {
			names = append(names, &exported{module + "/" + lanes, m[1], used[m[1]]})
		}
	}
	slices.SortFunc(names, func(a, b *exported) int { return strings.Compare(a.name, b.name) })
	return slices.CompactFunc(names, func(a, b *exported) bool { return a.name == b.name }), err
}

// checked is a package of this repository with its types.
type checked struct {
	path  string
	types *types.Package
	info  *types.Info
}

// world is all packages of this repository.
type world struct {
	fset     *token.FileSet
	packages []checked
	std      []*types.Interface // that methods implement
}

// interfaces are those of the standard library whose methods count as used.
var interfaces = []string{"fmt.Stringer", "fmt.Formatter", "fmt.GoStringer", "io.Reader", "io.Writer", "io.Closer", "io.WriterTo", "io.ReaderFrom",
	"io.Seeker", "sort.Interface", "flag.Value", "encoding.TextMarshaler", "encoding.TextUnmarshaler", "encoding/json.Marshaler",
	"encoding/json.Unmarshaler", "log/slog.LogValuer"}

// standard returns the packages of the interfaces.
func standard() (paths []string) {
	for _, name := range interfaces {
		path, _, _ := strings.Cut(name, ".")
		paths = append(paths, path)
	}
	return paths
}

// downstream is a program of another module, which uses this one as any program does.
const downstream = "examples/downstream"

// goList runs go list in a folder, with the packages that those of the patterns need.
func goList(dir, workspace string, patterns ...string) (all []listed, err error) {
	cmd := exec.Command("go", append([]string{"list", "-deps", "-export", "-tags", tags,
		"-json=ImportPath,Dir,Export,GoFiles,CgoFiles,Standard"}, patterns...)...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "CGO_ENABLED=1", "GOWORK="+workspace)
	var failure bytes.Buffer
	cmd.Stderr = &failure
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w\n%s", err, &failure)
	}
	for d := json.NewDecoder(bytes.NewReader(out)); d.More(); {
		var p listed
		if err := d.Decode(&p); err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

func load() (*world, error) {
	all, err := goList(".", "", append(standard(), module+"/...")...)
	if err != nil {
		return nil, err
	}
	more, err := goList(downstream, "off", ".")
	if err != nil {
		return nil, err
	}
	exports := map[string]string{}
	var ours []listed
	for _, p := range append(all, more...) {
		if exports[p.ImportPath] != "" {
			continue
		}
		exports[p.ImportPath] = p.Export
		if within(p.ImportPath) || strings.HasSuffix(filepath.ToSlash(p.Dir), downstream) {
			ours = append(ours, p)
		}
	}
	w := &world{fset: token.NewFileSet()}
	imp := importer.ForCompiler(w.fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	for _, p := range ours {
		var files []*ast.File
		for _, name := range append(p.GoFiles, p.CgoFiles...) {
			f, err := parser.ParseFile(w.fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				return nil, err
			}
			files = append(files, f)
		}
		info := &types.Info{Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}}
		conf := types.Config{Importer: imp, FakeImportC: true}
		if len(p.CgoFiles) > 0 {
			conf.Error = func(error) {} // types of C are unknown, and the names of this module are found all the same
		}
		pkg, err := conf.Check(p.ImportPath, w.fset, files, info)
		if err != nil && len(p.CgoFiles) == 0 {
			return nil, err
		}
		w.packages = append(w.packages, checked{p.ImportPath, pkg, info})
	}
	for _, name := range interfaces {
		path, typ, _ := strings.Cut(name, ".")
		pkg, err := imp.Import(path)
		if err != nil {
			return nil, err
		}
		w.std = append(w.std, pkg.Scope().Lookup(typ).Type().Underlying().(*types.Interface))
	}
	w.std = append(w.std, types.Universe.Lookup("error").Type().Underlying().(*types.Interface))
	return w, nil
}

// key names an object wherever it was loaded from: from source, or from what the compiler exported.
func (w *world) key(o types.Object) string {
	switch v := o.(type) {
	case *types.Func:
		o = v.Origin()
	case *types.Var:
		o = v.Origin()
	}
	at := w.fset.Position(o.Pos())
	return fmt.Sprintf("%s:%s:%d:%s", o.Pkg().Path(), filepath.Base(at.Filename), at.Line, o.Name())
}

// within reports whether a package belongs to this module, its first one included.
func within(path string) bool { return path == module || strings.HasPrefix(path, module+"/") }

// public reports whether programs can import a package.
func public(path string) bool {
	rest := "/" + strings.TrimPrefix(path, module+"/") + "/"
	for _, s := range []string{"/internal/", "/testdata/"} {
		if strings.Contains(rest, s) {
			return false
		}
	}
	for _, s := range []string{"/examples/", "/docs/", "/scripts/", "/cmd/", "/bench/"} {
		if strings.HasPrefix(rest, s) {
			return false
		}
	}
	return true
}

// types notes the types of a function's parameters and results, or of a variable: who uses these has values of the types, whether or not
// their names are written.
func (w *world) types(t types.Type, used map[string]bool) {
	switch t := t.(type) {
	case *types.Alias:
		w.types(types.Unalias(t), used)
		if t.Obj().Pkg() != nil { // any is an alias of no package
			used[w.key(t.Obj())] = true
		}
	case *types.Named:
		if t.Obj().Pkg() != nil {
			used[w.key(t.Obj())] = true
		}
	case *types.Signature:
		if t.Recv() != nil {
			w.types(t.Recv().Type(), used)
		}
		for _, list := range []*types.Tuple{t.Params(), t.Results()} {
			for v := range list.Variables() {
				w.types(v.Type(), used)
			}
		}
	case interface{ Elem() types.Type }: // a pointer, slice, array or channel
		w.types(t.Elem(), used)
	}
}

// count returns the exported names of all packages that programs can import.
func (w *world) count() (names []*exported) {
	used := map[string]bool{}
	known := w.std
	for _, p := range w.packages {
		for _, o := range p.info.Uses {
			if o.Pkg() != nil && o.Pkg().Path() != p.path && within(o.Pkg().Path()) {
				used[w.key(o)] = true
				w.types(o.Type(), used)
			}
		}
		for _, o := range p.info.Defs {
			if t, ok := o.(*types.TypeName); ok {
				if i, ok := t.Type().Underlying().(*types.Interface); ok && i.NumMethods() > 0 {
					known = append(known, i)
				}
			}
		}
	}
	for _, p := range w.packages {
		if !public(p.path) || p.types.Name() == "main" {
			continue
		}
		add := func(name string, used bool) { names = append(names, &exported{p.path, name, used}) }
		for _, name := range p.types.Scope().Names() {
			o := p.types.Scope().Lookup(name)
			if !o.Exported() {
				continue
			}
			add(name, used[w.key(o)])
			t, ok := o.(*types.TypeName)
			if !ok || t.IsAlias() {
				continue
			}
			named := t.Type().(*types.Named)
			for m := range named.Methods() {
				if m.Exported() {
					add(name+"."+m.Name(), used[w.key(m)] || implements(named, m.Name(), known))
				}
			}
			switch u := named.Underlying().(type) {
			case *types.Struct:
				for f := range u.Fields() {
					if f.Exported() && !f.Embedded() {
						add(name+"."+f.Name(), used[w.key(f)])
					}
				}
			case *types.Interface:
				for m := range u.ExplicitMethods() {
					if m.Exported() {
						add(name+"."+m.Name(), used[w.key(m)])
					}
				}
			}
		}
	}
	return names
}

// implements reports whether a method of a type is one of an interface whose methods the type all has. It compares names alone, because
// types that were checked from source are others than those that the compiler exported.
func implements(t *types.Named, method string, interfaces []*types.Interface) bool {
	has := types.NewMethodSet(types.NewPointer(t))
	if has.Lookup(nil, "Error") != nil && slices.Contains([]string{"Is", "As", "Unwrap"}, method) {
		return true // package errors calls it
	}
	return slices.ContainsFunc(interfaces, func(i *types.Interface) bool {
		named := false
		for m := range i.Methods() {
			if has.Lookup(m.Pkg(), m.Name()) == nil {
				return false
			}
			named = named || m.Name() == method
		}
		return named
	})
}
