package load

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"slices"
)

// Table returns the literal with which a variable of the package is declared. If something may change the variable, or if it has no such literal,
// why is the reason, and otherwise "".
func (p *Package) Table(v *types.Var) (lit *ast.CompositeLit, why string) {
	const pass = "; pass it as a parameter"
	switch v.Type().Underlying().(type) {
	case *types.Array, *types.Slice:
	default:
		return nil, fmt.Sprintf("%s is a variable of the package%s, or make it a constant", v.Name(), pass)
	}
	if !p.Standard {
		if p.changes == nil {
			p.findChanges()
		}
		switch how := p.changes[v.Name()]; {
		case how != "":
			return nil, fmt.Sprintf("%s is a variable of the package that %s, and kernels read only variables that nothing changes%s", v.Name(), how, pass)
		case v.Exported():
			return nil, fmt.Sprintf("%s is exported, so other packages may change it; let its name begin with a small letter, or pass it as a parameter", v.Name())
		case p.Constrained(v.Pos()):
			return nil, fmt.Sprintf("%s is in a file that some builds leave out, and the generated file is in all; move it to another file", v.Name())
		}
	}
	for _, file := range p.Files {
		ast.Inspect(file, func(n ast.Node) bool {
			if s, ok := n.(*ast.ValueSpec); ok && len(s.Values) == len(s.Names) {
				for i, name := range s.Names {
					if p.Info.Defs[name] == v {
						lit, _ = ast.Unparen(s.Values[i]).(*ast.CompositeLit)
					}
				}
			}
			return lit == nil
		})
	}
	if lit == nil {
		return nil, fmt.Sprintf("%s is a variable of the package whose declaration has no list of elements%s", v.Name(), pass)
	}
	return lit, ""
}

// findChanges notes for each variable of the package where something may change it: in its files, and in those of tests and of other builds.
func (p *Package) findChanges() {
	p.changes = map[string]string{}
	scope := p.Types.Scope()
	for _, file := range p.Files {
		p.changesIn(file, false, func(id *ast.Ident) bool {
			v, ok := p.Info.ObjectOf(id).(*types.Var)
			return ok && v.Parent() == scope
		})
	}
	if p.Dir == "" {
		return // the package was checked from memory, as tests do
	}
	all, _ := filepath.Glob(filepath.Join(p.Dir, "*.go"))
	for _, name := range all {
		src, err := os.ReadFile(name)
		if err != nil || bytes.HasPrefix(src, []byte(GeneratedBy)) || slices.ContainsFunc(p.Files, func(f *ast.File) bool {
			return filepath.Base(p.Fset.Position(f.Package).Filename) == filepath.Base(name)
		}) {
			continue
		}
		file, err := parser.ParseFile(p.Fset, name, src, 0)
		if err != nil || file.Name.Name != p.Name {
			continue
		}
		open := map[*ast.Ident]bool{} // names that the file does not declare itself
		for _, id := range file.Unresolved {
			open[id] = true
		}
		p.changesIn(file, true, func(id *ast.Ident) bool {
			_, ok := scope.Lookup(id.Name).(*types.Var)
			return ok && open[id]
		})
	}
}

// changes finds what changes variables of a package.
type changes struct {
	p        *Package
	untyped  bool                  // the types in the file are not known, so each method may change its receiver
	variable func(*ast.Ident) bool // whether a name is one of a variable of the package
	reads    map[*ast.Ident]bool   // uses of names that only read
}

const method = "calls a method of, which may change it"

func (p *Package) changesIn(file *ast.File, untyped bool, variable func(*ast.Ident) bool) {
	c := &changes{p, untyped, variable, map[*ast.Ident]bool{}}
	ast.Inspect(file, func(n ast.Node) bool {
		c.node(n)
		return true
	})
}

func (c *changes) node(n ast.Node) {
	switch n := n.(type) {
	case *ast.AssignStmt:
		for _, l := range n.Lhs {
			c.change(l, "changes")
		}
	case *ast.IncDecStmt:
		c.change(n.X, "changes")
	case *ast.RangeStmt:
		c.read(n.X)
		if n.Tok == token.ASSIGN {
			c.change(n.Key, "changes")
			c.change(n.Value, "changes")
		}
	case *ast.UnaryExpr:
		if n.Op == token.AND {
			c.change(n.X, "takes the address of")
		}
	case *ast.SliceExpr:
		c.change(n.X, "slices")
	case *ast.SelectorExpr:
		if c.pointer(n) {
			c.change(n.X, method)
		}
	case *ast.IndexExpr:
		c.read(n.X)
	case *ast.CallExpr:
		switch fun := n.Fun.(type) {
		case *ast.Ident:
			if fun.Name == "len" && len(n.Args) == 1 && (c.untyped || c.p.Info.Types[fun].IsBuiltin()) {
				c.read(n.Args[0])
			}
		case *ast.SelectorExpr:
			if c.untyped {
				c.change(fun.X, method)
			}
		}
	case *ast.ValueSpec:
		for _, id := range n.Names {
			c.reads[id] = true
		}
	case *ast.Ident: // it may give the elements of a slice another name
		if !c.variable(n) || c.reads[n] {
			return
		}
		if _, ok := c.p.Types.Scope().Lookup(n.Name).Type().Underlying().(*types.Slice); ok {
			c.change(n, "uses otherwise than by index")
		}
	}
}

// read notes that an expression is only read.
func (c *changes) read(e ast.Expr) {
	if id, ok := ast.Unparen(e).(*ast.Ident); ok {
		c.reads[id] = true
	}
}

// change notes that the variable that an expression is a part of is changed.
func (c *changes) change(e ast.Expr, how string) {
	if id := root(e); id != nil && c.variable(id) && c.p.changes[id.Name] == "" {
		c.p.changes[id.Name] = c.p.Line(e.Pos()) + " " + how
	}
}

// root returns the name of the variable that an expression is a part of, or nil.
func root(e ast.Expr) *ast.Ident {
	switch x := e.(type) {
	case *ast.ParenExpr:
		return root(x.X)
	case *ast.IndexExpr:
		return root(x.X)
	case *ast.SelectorExpr:
		return root(x.X)
	case *ast.Ident:
		return x
	}
	return nil
}

// pointer reports whether a selector may be a method with a pointer as its receiver.
func (c *changes) pointer(e *ast.SelectorExpr) bool {
	s := c.p.Info.Selections[e]
	if s == nil || s.Kind() != types.MethodVal {
		return false
	}
	return isPointer(s.Obj().(*types.Func).Signature().Recv().Type())
}
