package build

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"
	"unicode"

	"github.com/go-halyard/halyard/internal/translate/load"
)

// mostInstances limits the lists of type arguments for which a kernel is built.
const mostInstances = 32

// instances returns the lists of type arguments for which a kernel is built. For a kernel that is not generic, it returns a single empty list.
func (p *program) instances(decl *ast.FuncDecl) [][]types.Type {
	mark, words := load.Mark(decl)
	list := decl.Type.TypeParams
	obj, ok := p.pkg.Info.Defs[decl.Name].(*types.Func)
	switch {
	case list == nil && len(words) > 0:
		refuse(mark.Pos(), "%s is not generic; write %s, and nothing else in the line", decl.Name.Name, load.Marker)
	case list == nil || !ok:
		return [][]types.Type{nil}
	case len(words) == 0:
		refuse(list.Pos(), "a generic kernel is translated for the types that its mark lists; write %s float32 float64, for instance", load.Marker)
	case len(words) > mostInstances:
		refuse(mark.Pos(), "this lists %d kernels, and %d are the most; list fewer types", len(words), mostInstances)
	}
	all, why := p.pkg.Instances(decl)
	if why != nil {
		refuse(mark.Pos(), "%s", why.Text)
	}
	sig := obj.Signature()
	for t := range sig.TypeParams().TypeParams() {
		if !mentions(sig.Params(), t) {
			refuse(t.Obj().Pos(), "no parameter of this kernel has type %s, so a launch could not infer it; add a parameter", t)
		}
	}
	for i, args := range all {
		if len(args) != sig.TypeParams().Len() {
			refuse(mark.Pos(), "%s lists %d types, and %s has %d type parameters; write a type for each, with commas and without spaces",
				words[i], len(args), obj.Name(), sig.TypeParams().Len())
		}
		if _, err := types.Instantiate(p.context, sig, args, true); err != nil {
			refuse(mark.Pos(), "%v; list types that it allows", err)
		}
		for _, t := range args {
			if b, ok := t.Underlying().(*types.Basic); ok && (b.Kind() == types.Int || b.Kind() == types.Uint) {
				refuse(mark.Pos(), "%s has another width on other machines; list %s32 or %[2]s64", t, b.Name())
			}
		}
		for _, f := range p.pkg.Types.Scope().Names() {
			if made, ok := p.pkg.Types.Scope().Lookup(f).(*types.Func); ok && p.kernels[made] && f == obj.Name()+p.suffix(args) {
				refuse(mark.Pos(), "the kernel for %s would have the name of kernel %s; rename that", words[i], f)
			}
		}
		if slices.ContainsFunc(all[:i], func(before []types.Type) bool { return p.suffix(before) == p.suffix(args) }) {
			refuse(mark.Pos(), "%s is listed twice, or two types have the same name; remove one", words[i])
		}
	}
	return all
}

// mentions reports whether a type has a type parameter in it.
func mentions(t types.Type, of *types.TypeParam) bool {
	switch t := types.Unalias(t).(type) {
	case *types.TypeParam:
		return t == of
	case *types.Named:
		return slices.ContainsFunc(slices.Collect(t.TypeArgs().Types()), func(a types.Type) bool { return mentions(a, of) })
	case *types.Slice:
		return mentions(t.Elem(), of)
	case *types.Array:
		return mentions(t.Elem(), of)
	case *types.Tuple:
		return slices.ContainsFunc(slices.Collect(t.Variables()), func(v *types.Var) bool { return mentions(v.Type(), of) })
	}
	return false
}

// suffix returns the end of the name of the kernel that is built for a list of type arguments.
func (p *program) suffix(args []types.Type) (all string) {
	for _, t := range args {
		name := types.TypeString(t, types.RelativeTo(p.own.Types))
		all += "_" + strings.Map(func(r rune) rune {
			if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
				return '_'
			}
			return r
		}, name)
	}
	return all
}

// typeSwitch builds the one clause of a switch over the type of a value whose type is a type parameter.
func (f *function) typeSwitch(s *ast.TypeSwitchStmt) {
	const only = "an interface has no translation; use a concrete type, or a generic function, in which switch any(x).(type) decides for a type parameter"
	var asserted ast.Expr
	switch a := s.Assign.(type) {
	case *ast.ExprStmt:
		asserted = a.X
	case *ast.AssignStmt:
		asserted = a.Rhs[0]
	}
	x, ok := ast.Unparen(asserted).(*ast.TypeAssertExpr)
	if !ok || s.Init != nil {
		refuse(s.Pos(), only)
	}
	made, ok := ast.Unparen(x.X).(*ast.CallExpr)
	if !ok || len(made.Args) != 1 || !f.info().Types[made.Fun].IsType() {
		refuse(s.Pos(), only)
	}
	if _, ok := types.Unalias(f.info().TypeOf(made.Args[0])).(*types.TypeParam); !ok {
		refuse(s.Pos(), only)
	}
	t := f.typeOf(made.Args[0])
	var chosen *ast.CaseClause
	for _, c := range s.Body.List {
		c := c.(*ast.CaseClause)
		if c.List == nil && chosen == nil || slices.ContainsFunc(c.List, func(e ast.Expr) bool {
			return f.info().Types[e].IsType() && types.Identical(f.typeOf(e), t)
		}) {
			chosen = c
			if c.List != nil {
				break
			}
		}
	}
	if chosen == nil {
		return
	}
	if v := f.info().Implicits[chosen]; v != nil && len(chosen.List) == 1 {
		f.declare(v, t, f.exprAs(made.Args[0], t))
	} else {
		f.discard(made.Args[0])
	}
	f.jumps = append(f.jumps, jump{})
	f.statements(chosen.Body)
	f.jumps = f.jumps[:len(f.jumps)-1]
}
