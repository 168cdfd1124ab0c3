package translate

import (
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-halyard/halyard/internal/syntax"
)

// testName returns the name of the generated test file of a package with that name.
func testName(pkg string) string { return strings.TrimSuffix(GeneratedName(pkg), ".go") + "_test.go" }

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
`, generatedBy, p.Name, as, GeneratedName(p.Name), name, p.free("program", "kernels"))
}

// sources returns the declarations that the translation of the kernels depends on: the kernels, and whatever of the package they or these
// use. Each is a line "FILE NAME HASH", as kernel.Source.Sources wants them.
func (p *Package) sources(kernels []*ast.FuncDecl) ([]string, error) {
	declared := p.declarations()
	found := map[string]bool{} // "FILE NAME"
	var names []string
	var visit func(d declaration)
	visit = func(d declaration) {
		key := filepath.Base(p.Fset.File(d.node.Pos()).Name()) + " " + d.name
		if found[key] {
			return
		}
		found[key] = true
		names = append(names, key)
		ast.Inspect(d.node, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				if used, ok := declared[origin(p.info.Uses[id])]; ok {
					visit(used)
				}
			}
			return true
		})
	}
	for _, k := range kernels {
		visit(declared[p.info.Defs[k.Name]])
	}
	slices.Sort(names)
	sums := map[string]map[string]string{} // by file
	for i, key := range names {
		file, name, _ := strings.Cut(key, " ")
		if sums[file] == nil {
			src, err := os.ReadFile(filepath.Join(p.Dir, file))
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
	return names, nil
}

// declaration is something that is declared at the top of a file.
type declaration struct {
	name string // as package syntax has it
	node ast.Node
}

// declarations returns what is declared at the top of the package's files. Constants of one pair of parentheses stand for each other.
func (p *Package) declarations() map[types.Object]declaration {
	all := map[types.Object]declaration{}
	for _, file := range p.files {
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				name := d.Name.Name
				if f, ok := p.info.Defs[d.Name].(*types.Func); ok && d.Recv != nil {
					name = receiver(f) + "." + name
				}
				all[p.info.Defs[d.Name]] = declaration{name, d}
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
						all[p.info.Defs[name]] = declaration{name.Name, node}
					}
				}
			}
		}
	}
	delete(all, nil)
	return all
}

// receiver returns the name of a method's type.
func receiver(f *types.Func) string {
	t := f.Signature().Recv().Type()
	if ptr, ok := t.(*types.Pointer); ok {
		t = ptr.Elem()
	}
	if named, ok := t.(*types.Named); ok {
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
