package build

import (
	"go/token"
	"go/types"
	"maps"
	"slices"

	"github.com/go-halyard/halyard/internal/translate/load"
)

// called returns a function that is called. The function may be one of another package. If such a function has no translation, the error is at the call, and
// names the position in the other package.
func (p *program) called(obj *types.Func, args []types.Type, forms []form, pos token.Pos) *function {
	src, there := p.pkg.Home(obj)
	switch {
	case src == nil:
		refuseForeign(pos, obj)
	case src == p.pkg:
		return p.function(obj, args, forms, pos)
	}
	p.declare(src)
	from, before := p.pkg, len(p.errs)
	f := func() *function {
		defer func() { p.pkg = from }()
		p.pkg = src
		return p.function(there, args, forms, pos)
	}()
	if bad := slices.Clone(p.errs[before:]); len(bad) > 0 {
		p.errs = p.errs[:before]
		refuse(pos, "%s, which is called here, has no translation: %v", obj.FullName(), bad[0])
	}
	return f
}

// declare adds the functions of a package to decls.
func (p *program) declare(src *load.Package) {
	if !p.known[src] {
		p.known[src] = true
		maps.Copy(p.decls, src.Declared())
	}
}
