package translate

import (
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-halyard/halyard/internal/syntax"
	"github.com/go-halyard/halyard/internal/translate/load"
)

// generatedTest returns the test that fails if the sources have changed since the translation. It uses only names that the generated file
// declares: a name of an import could be one of the package's.
func (p *Package) generatedTest() []byte {
	name, as := p.free("test", "testing"), ""
	if name != "testing" {
		as = name + " "
	}
	return fmt.Appendf(nil, `%s

package %s

import %s"testing"

// TestKernelsAreTranslated fails if a kernel has changed since %s was written.
func TestKernelsAreTranslated(t *%s.T) {
	if err := %s.Stale(); err != nil {
		t.Error(err)
	}
}
`, load.GeneratedBy, p.Name, as, load.GeneratedName(p.Name), name, p.free("program", "kernels"))
}

// sources returns the declarations that the translation of the kernels depends on: the kernels, and whatever of the module they or these use. Packages
// of other modules are left out: their files are elsewhere on another machine, and another version of a module is another line of go.mod. Each is a line
// "FILE NAME HASH", as kernel.Source.Sources wants them. A line "FOLDER/ NAME,NAME PACKAGE" has names that the package does not declare, and that
// would change what the kernels mean if it did: names of Go itself, such as min, and methods that would hide those of an embedded structure.
func (p *Package) sources() ([]string, error) {
	declared := map[*load.Package]map[string]declaration{}
	root, own := moduleOf(p.Dir), p.Written()
	home := func(obj types.Object) *load.Package { // the package of the module in which an object is declared, or nil
		if obj == nil || obj.Pkg() == nil {
			return nil
		}
		pkg := own
		if obj.Pkg().Path() != p.Types.Path() {
			if pkg = p.Import(obj.Pkg().Path()); pkg == nil || moduleOf(pkg.Dir) != root {
				return nil
			}
		}
		if declared[pkg] == nil {
			declared[pkg] = declarationsOf(pkg)
		}
		return pkg
	}
	found := map[string]bool{} // "FILE NAME"
	var names []string
	absent := map[*load.Package]map[string]bool{}
	lacks := func(pkg *load.Package, name string) {
		if pkg == nil {
			return
		}
		if absent[pkg] == nil {
			absent[pkg] = map[string]bool{}
		}
		absent[pkg][name] = true
	}
	var visit func(pkg *load.Package, d declaration)
	visit = func(pkg *load.Package, d declaration) {
		file := filepath.Base(p.Fset.File(d.node.Pos()).Name())
		if pkg != own {
			file = folderFrom(pkg, own) + file
		}
		key := file + " " + d.name
		if found[key] || strings.Contains(file, " ") {
			return
		}
		found[key] = true
		names = append(names, key)
		ast.Inspect(d.node, func(n ast.Node) bool {
			if x, ok := n.(*ast.SelectorExpr); ok && pkg.Info.Selections[x] != nil {
				hidden(pkg.Info.Selections[x], func(t *types.TypeName, method string) { lacks(home(t), t.Name()+"."+method) })
			}
			if id, ok := n.(*ast.Ident); ok {
				obj := origin(pkg.Info.Uses[id])
				if obj != nil && obj.Parent() == types.Universe {
					lacks(pkg, obj.Name())
				}
				// Another import could give another meaning to the same text.
				if path := importOf(pkg, obj); path != "" && p.Import(path) != nil && !found[file+" import:"+path] {
					found[file+" import:"+path] = true
					names = append(names, file+" import:"+path)
				}
				if home(obj) != nil {
					if used, ok := declared[home(obj)][nameOf(obj)]; ok {
						visit(home(obj), used)
					}
				}
			}
			return true
		})
	}
	for _, k := range own.Kernels() {
		visit(own, declared[home(own.Info.Defs[k.Name])][k.Name.Name])
	}
	for _, file := range own.Files {
		if load.FastMark(file) != nil {
			names = append(names, filepath.Base(p.Fset.File(file.Pos()).Name())+" halyard:kernel")
		}
	}
	slices.Sort(names)
	sums := map[string]map[string]string{} // by file
	for i, key := range names {
		file, name, _ := strings.Cut(key, " ")
		if sums[file] == nil {
			src, err := os.ReadFile(filepath.Join(p.Dir, filepath.FromSlash(file)))
			if errors.Is(err, os.ErrNotExist) {
				return nil, nil // the package was checked from memory, as tests do
			}
			if err != nil {
				return nil, err
			}
			sums[file] = syntax.Sums(src)
		}
		names[i] = key + " " + sums[file][name]
	}
	for pkg, undeclared := range absent {
		names = append(names, folderFrom(pkg, own)+" "+strings.Join(slices.Sorted(maps.Keys(undeclared)), ",")+" "+pkg.Name)
	}
	slices.Sort(names)
	return names, nil
}

// hidden calls fn for each method that would be selected, if it were declared, in place of a field or method of an embedded structure.
func hidden(s *types.Selection, fn func(t *types.TypeName, method string)) {
	level := []types.Type{s.Recv()}
	for range s.Index()[1:] {
		var next []types.Type
		for _, t := range level {
			if p, ok := t.Underlying().(*types.Pointer); ok {
				t = p.Elem()
			}
			if named, ok := types.Unalias(t).(*types.Named); ok {
				fn(named.Obj(), s.Obj().Name())
			}
			if u, ok := t.Underlying().(*types.Struct); ok {
				for f := range u.Fields() {
					if f.Embedded() {
						next = append(next, f.Type())
					}
				}
			}
		}
		level = next
	}
}

// folderFrom returns the package's folder, relative to that of another one and with a slash at its end.
func folderFrom(p, from *load.Package) string {
	rel, err := filepath.Rel(from.Dir, p.Dir)
	if p == from || err != nil {
		return "./"
	}
	return filepath.ToSlash(rel) + "/"
}

// importOf returns the path of the other package that declares an object outside of functions and types, or "".
func importOf(p *load.Package, obj types.Object) string {
	if obj == nil || obj.Pkg() == nil || obj.Pkg() == p.Types || obj.Parent() != obj.Pkg().Scope() {
		return ""
	}
	return obj.Pkg().Path()
}

// moduleOf returns the folder of the module that a folder is in: the nearest with a go.mod.
func moduleOf(dir string) string {
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil || dir == filepath.Dir(dir) {
			return dir
		}
		dir = filepath.Dir(dir)
	}
}

// declaration is something that is declared at the top of a file.
type declaration struct {
	name string // as package syntax has it
	node ast.Node
}

// declarationsOf returns what is declared at the top of the package's files, by name. For a constant the node is the
// whole declaration, because its value may depend on other constants in the same parentheses.
func declarationsOf(p *load.Package) map[string]declaration {
	all := map[string]declaration{}
	for _, file := range p.Files {
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if f, ok := p.Info.Defs[d.Name].(*types.Func); ok {
					all[nameOf(f)] = declaration{written(d), d}
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					var names []*ast.Ident
					switch s := s.(type) {
					case *ast.TypeSpec:
						names = []*ast.Ident{s.Name}
					case *ast.ValueSpec:
						names = s.Names
					}
					for _, name := range names {
						node := ast.Node(s)
						if d.Tok == token.CONST {
							node = d
						}
						all[name.Name] = declaration{name.Name, node}
					}
				}
			}
		}
	}
	return all
}

// written returns the name of a function as package syntax has it: a method may be declared with an alias of its type.
func written(d *ast.FuncDecl) string {
	if d.Recv == nil || len(d.Recv.List) == 0 {
		return d.Name.Name
	}
	for t := d.Recv.List[0].Type; ; {
		switch e := t.(type) {
		case *ast.ParenExpr:
			t = e.X
		case *ast.StarExpr:
			t = e.X
		case *ast.IndexExpr:
			t = e.X
		case *ast.IndexListExpr:
			t = e.X
		case *ast.Ident:
			return e.Name + "." + d.Name.Name
		default:
			return d.Name.Name
		}
	}
}

// nameOf returns the name of an object that is declared at the top of a file: TYPE.NAME for a method, "" for what is declared elsewhere.
func nameOf(obj types.Object) string {
	if f, ok := obj.(*types.Func); ok && f.Signature().Recv() != nil {
		return receiver(f) + "." + f.Name()
	}
	if obj.Parent() != obj.Pkg().Scope() {
		return ""
	}
	return obj.Name()
}

// receiver returns the name of a method's type.
func receiver(f *types.Func) string {
	t := f.Signature().Recv().Type()
	if ptr, ok := t.(*types.Pointer); ok {
		t = ptr.Elem()
	}
	if named, ok := types.Unalias(t).(*types.Named); ok {
		return named.Obj().Name()
	}
	return ""
}

// origin returns the generic function or variable that an object is an instance of, else the object.
func origin(obj types.Object) types.Object {
	switch obj := obj.(type) {
	case *types.Func:
		return obj.Origin()
	case *types.Var:
		return obj.Origin()
	}
	return obj
}
