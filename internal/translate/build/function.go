package build

import (
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/go-halyard/halyard/internal/translate/facts"
	"github.com/go-halyard/halyard/internal/translate/ir"
)

// function builds a function, or returns the one that is built already. The slice forms says how its arguments are passed.
func (p *program) function(obj *types.Func, args []types.Type, forms []form, pos token.Pos) *function {
	for _, f := range p.functions[obj.Origin()] {
		if f.made.Fast == p.fast && slices.EqualFunc(f.forms, forms, form.same) && slices.EqualFunc(f.given, args, types.Identical) {
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
		refuseForeign(pos, obj)
	case decl == nil || decl.Body == nil:
		refuse(pos, "%s has no body in Go; write one", obj.Name())
	case p.pkg.Constrained(decl.Pos()):
		refuse(pos, "%s is in a file that some builds leave out, because of a build constraint, its name, or cgo, and the generated file is in all; "+
			"move it to another file", obj.Name())
	}
	made := &ir.Function{Name: strings.ReplaceAll(obj.Name(), ".", "_"), Kernel: p.kernels[obj], Fast: p.fast, Syntax: decl}
	if made.Kernel {
		made.Types = p.suffix(args)
		made.Name += made.Types
	}
	r := reader{p: p, decl: decl, kernel: made.Kernel, args: map[*types.TypeParam]types.Type{}, replaced: map[*types.Named]bool{},
		vars: map[types.Object]*variable{}, changes: map[types.Object]int{}}
	f := &function{values: values{operations{r, ir.NewBuilder(made)}}, made: made, busy: true, forms: forms, given: args}
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
	f.declareTables()
	f.declareChoices()
	f.broken = true
	p.try(func() {
		f.signature(obj)
		f.broken = false // an error in another form of the function is not noted again
	})
	if !f.broken {
		f.body()
	}
	if f.broken = f.broken || len(p.errs) > before; !f.broken {
		f.finish()
	}
	return f
}

// finish adds the function to the program, and checks that a kernel writes each grid.Out.
func (f *function) finish() {
	f.made.Vars = f.declared()
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

// declared returns the variables of the Go function, without its grid.Thread and without those of the package.
func (f *function) declared() (all []*ir.Var) {
	for obj, v := range f.vars {
		if v == nil || v.kind == thread || obj.Parent() == f.p.pkg.Types.Scope() {
			continue
		}
		w := &ir.Var{Name: obj.Name(), Pos: obj.Pos(), Param: v.param, Local: v.local, Value: v.is}
		if v.part != nil {
			w.Of, w.Part = v.part.of, []*ir.Value{v.part.from, v.part.len, v.part.cap}
		}
		all = append(all, w)
	}
	slices.SortFunc(all, func(a, b *ir.Var) int { return int(a.Pos - b.Pos) })
	return all
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
	if f.kernel {
		f.trim()
	}
}

// trim leaves out barriers at a kernel's end. They are not needed, because no statement follows them, and threads that have returned earlier would never come
// to them.
func (f *function) trim() {
	list := f.made.Body.List
	for n := len(list); n > 0 && (list[n-1].Do == ir.Barrier || list[n-1].Do == ir.Return); n-- {
		list = list[:n-1]
	}
	f.made.Body.List = list
}
