package build

import (
	"go/ast"
	"go/types"
	"slices"

	"github.com/go-halyard/halyard/internal/translate/load"
)

// mostInstances limits the lists of type arguments for which a kernel is built.
const mostInstances = 32

// instances returns the lists of type arguments for which a kernel is built. For a kernel that is not generic, it returns a single empty list.
func (p *program) instances(decl *ast.FuncDecl) [][]types.Type {
	mark, words, _ := load.Mark(decl)
	list := decl.Type.TypeParams
	obj, ok := p.pkg.Info.Defs[decl.Name].(*types.Func)
	switch {
	case list == nil && len(words) > 0:
		refuse(mark.Pos(), "%s is not generic; write %s or %[2]s fast, and nothing else in the line", decl.Name.Name, load.Marker)
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
		if !load.Mentions(sig.Params(), func(in *types.TypeParam) bool { return in == t }) {
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
