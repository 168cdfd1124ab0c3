package build

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/go-halyard/halyard/internal/translate/facts"
	"github.com/go-halyard/halyard/internal/translate/ir"
)

// kind is the form of a Go variable.
type kind int

const (
	value   kind = iota // a value, or a local
	slice               // a parameter
	pointer             // a parameter
	shared              // a Go pointer to shared memory, which is a local
	thread              // nothing: the thread's place is asked for by operations
	matrix              // a parameter
)

// variable is what a Go variable became.
type variable struct {
	kind  kind
	typ   types.Type
	name  string
	param *ir.Param
	local *ir.Local
	is    *ir.Value // of a variable that does not change; nil for a parameter and a local
}

// function is a function for certain type arguments and kinds of memory.
type function struct {
	*ir.Builder
	p        *program
	decl     *ast.FuncDecl
	made     *ir.Function
	kernel   bool
	spaces   []ir.Space   // that its parameters point to
	given    []types.Type // type arguments
	args     map[*types.TypeParam]types.Type
	replaced map[*types.Named]bool // types that substitute is in
	params   []*variable
	results  []types.Type // in Go
	named    []*variable  // results with names
	busy     bool         // it is being built
	broken   bool         // it has errors
	bytes    int64        // of its arguments, if it is a kernel
	vars     map[types.Object]*variable
	changes  map[types.Object]int // how often a variable is changed after its declaration; its address counts
	jumps    []jump
}

// jump is a loop or switch around the statement.
type jump struct {
	label string
	stmt  *ir.Stmt
}

func (f *function) info() *types.Info { return f.p.pkg.Info }

// function builds a function, or returns it. spaces are the kinds of memory that its parameters point to.
func (p *program) function(obj *types.Func, args []types.Type, spaces []ir.Space, pos token.Pos) *function {
	for _, f := range p.functions[obj.Origin()] {
		if slices.Equal(f.spaces, spaces) && slices.EqualFunc(f.given, args, types.Identical) {
			if f.busy {
				refuse(pos, "%s calls itself; write a loop", obj.Name())
			}
			return f
		}
		if f.busy && len(p.functions[obj.Origin()]) > 50 { // a generic function that calls itself with another type each time
			refuse(pos, "%s calls itself; write a loop", obj.Name())
		}
	}
	decl := p.decls[obj.Origin()]
	switch {
	case decl == nil && obj.Pkg() != nil && obj.Pkg() != p.pkg.Types:
		refuse(pos, "%s is a function of another package; write one in this package, and call that", obj.FullName())
	case decl == nil || decl.Body == nil:
		refuse(pos, "%s has no body in Go; write one", obj.Name())
	case p.pkg.Constrained(decl.Pos()):
		refuse(pos, "%s is in a file that some builds leave out, because of a build constraint, its name, or cgo, and the generated file is in all; "+
			"move it to another file", obj.Name())
	}
	made := &ir.Function{Name: strings.ReplaceAll(obj.Name(), ".", "_"), Kernel: p.kernels[obj], Syntax: decl}
	f := &function{
		Builder: ir.NewBuilder(made), p: p, decl: decl, made: made, kernel: p.kernels[obj], busy: true, spaces: spaces, given: args,
		args: map[*types.TypeParam]types.Type{}, vars: map[types.Object]*variable{}, changes: map[types.Object]int{}, replaced: map[*types.Named]bool{},
	}
	p.functions[obj.Origin()] = append(p.functions[obj.Origin()], f)
	defer func() { f.busy = false }()
	for _, e := range p.pkg.Errors {
		if e.Pos >= decl.Pos() && e.Pos < decl.End() {
			p.note(e.Pos, e.Msg)
			f.broken = true
		}
	}
	if f.broken {
		return f
	}
	before := len(p.errs)
	f.countChanges()
	p.try(func() { f.signature(obj) })
	if len(p.errs) == before {
		f.body()
	}
	if f.broken = len(p.errs) > before; !f.broken {
		f.finish()
	}
	return f
}

// finish adds the function to the program, and checks what it does.
func (f *function) finish() {
	f.p.made.Functions = append(f.p.made.Functions, f.made)
	effects := facts.EffectsOf(f.made, f.p.effects)
	f.p.effects[f.made] = effects
	for _, m := range f.made.Params {
		if f.kernel && m.Out && !effects.Params[m.Index].Written {
			f.p.note(m.Pos, m.Name+" is a grid.Out, and the kernel does not write it; write every element, or make it a []T")
			f.broken = true
		}
	}
}

// countChanges counts the changes of each variable after its declaration.
func (f *function) countChanges() {
	change := func(e ast.Expr) {
		if e == nil {
			return
		}
		if v := f.root(e); v != nil {
			f.changes[v]++
		}
	}
	ast.Inspect(f.decl.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, l := range n.Lhs {
				if id, ok := l.(*ast.Ident); !ok || f.info().Defs[id] == nil {
					change(l)
				}
			}
		case *ast.IncDecStmt:
			change(n.X)
		case *ast.RangeStmt:
			if n.Tok == token.ASSIGN {
				change(n.Key)
				change(n.Value)
			}
		case *ast.UnaryExpr:
			if n.Op == token.AND {
				change(n.X)
			}
		case *ast.SelectorExpr: // a method may take the address of its receiver
			s := f.info().Selections[n]
			if s == nil || s.Kind() != types.MethodVal {
				break
			}
			if recv := s.Obj().(*types.Func).Signature().Recv().Type(); matrixOf(recv) == nil && !gridType(recv, "Thread") {
				if _, ok := recv.Underlying().(*types.Struct); !ok {
					change(n.X)
				}
			}
		}
		return true
	})
}

// root returns the variable that an expression is a part of, or nil.
func (f *function) root(e ast.Expr) types.Object {
	for {
		switch x := e.(type) {
		case *ast.ParenExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.SelectorExpr:
			e = x.X
		case *ast.Ident:
			return f.info().ObjectOf(x)
		default:
			return nil
		}
	}
}

// signature declares parameters and results.
func (f *function) signature(obj *types.Func) {
	sig := obj.Origin().Type().(*types.Signature)
	list := sig.TypeParams()
	if sig.Recv() != nil {
		list = sig.RecvTypeParams()
	}
	for i := range list.Len() {
		if i >= len(f.given) {
			refuse(f.decl.Pos(), "type arguments of %s are not known", obj.Name())
		}
		f.args[list.At(i)] = f.given[i]
	}
	if sig.Variadic() {
		refuse(f.decl.Type.Params.List[len(f.decl.Type.Params.List)-1].Pos(), "a variadic function has no translation; name each parameter")
	}
	var vars []*types.Var
	if sig.Recv() != nil {
		vars = append(vars, sig.Recv())
	}
	for v := range sig.Params().Variables() {
		vars = append(vars, v)
	}
	f.Pos, f.Syntax = f.decl.Pos(), f.decl
	for i, v := range vars {
		f.parameter(v, i)
	}
	for v := range sig.Results().Variables() {
		t := f.substitute(v.Type())
		f.made.Results = append(f.made.Results, f.p.typ(t, v.Pos()))
		f.results = append(f.results, t)
		if v.Name() != "" {
			f.changes[v]++
			w := f.declare(v, t, f.Zero(f.p.typ(t, v.Pos())))
			f.named = append(f.named, w)
		}
	}
}

// body builds the function's statements.
func (f *function) body() {
	if f.kernel {
		f.declareShared()
	}
	f.statements(f.decl.Body.List)
}

// declare adds a variable with its first value.
func (f *function) declare(obj types.Object, t types.Type, is *ir.Value) *variable {
	v := &variable{typ: t, name: obj.Name()}
	f.vars[obj] = v
	switch {
	case f.changes[obj] > 0:
		v.local = f.Local(obj.Name(), f.p.typ(t, obj.Pos()), ir.Private)
		f.Store(v.local.At(), is)
	case is.Bound: // another variable, or a part of a call's results
		v.is = is
	default:
		is.Name = obj.Name()
		v.is = f.Let(is)
	}
	return v
}
