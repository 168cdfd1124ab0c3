package translate

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-halyard/halyard/internal/translate/facts"
	"github.com/go-halyard/halyard/internal/translate/footprint"
	"github.com/go-halyard/halyard/internal/translate/ir"
	"github.com/go-halyard/halyard/internal/translate/load"
)

// kind is the form of a parameter.
type kind int

const (
	value  kind = iota
	slice       // followed by its length
	thread      // none in a launch
	matrix      // followed by its rows and columns
)

// param is a parameter of a kernel.
type param struct {
	name    string
	pos     token.Pos
	typ     types.Type
	kind    kind
	out     bool // it is a grid.Out
	written bool // the memory of a slice or matrix is
}

// function is a kernel, or a part of one that is written as a kernel. Only a kernel has a representation.
type function struct {
	decl     *ast.FuncDecl
	params   []*param
	argNames []string // the names of its parameters in the generated file
	together bool     // it has barriers or shared memory

	made    *ir.Function
	effects map[*ir.Function]*facts.Effects
	needs   facts.Needs
	looped  facts.Looped
	touches *footprint.Footprint
}

// Footprint says what a kernel touches, for people.
type Footprint struct {
	Kernel string
	Pos    token.Position
	Cut    [3]bool  // the dimensions in which the grid can be cut
	Why    string   // why it cannot be cut
	Slices []string // what a thread uses of each slice, such as "x: reads rows y-1 to y+1"
}

// kernels returns the kernels of the package, in the order of the source, and finds out what is known about them.
func (p *Package) kernels(program *ir.Program) (all []*function) {
	effects, needs := map[*ir.Function]*facts.Effects{}, map[*ir.Function]facts.Needs{}
	for _, f := range program.Functions {
		effects[f], needs[f] = facts.EffectsOf(f, effects), facts.NeedsOf(f, needs)
	}
	for _, decl := range p.Kernels() {
		at := slices.IndexFunc(program.Functions, func(f *ir.Function) bool { return f.Kernel && f.Syntax == decl })
		made := program.Functions[at]
		f := &function{decl: decl, made: made, effects: effects, needs: needs[made], looped: facts.LoopedOf(made), touches: footprint.Of(program, made, effects)}
		uses := effects[made]
		f.together = uses.Barriers || uses.Shared || p.hasBarrier(decl.Body) // the representation leaves out barriers at the end
		for v := range p.Info.Defs[decl.Name].(*types.Func).Signature().Params().Variables() {
			m := paramOf(v)
			if n := len(f.params) - 1; n >= 0 { // the first is the thread, which the representation does not have
				m.written = uses.Params[n].Written
			}
			f.params = append(f.params, m)
		}
		all = append(all, f)
	}
	return all
}

func paramOf(v *types.Var) *param {
	m := &param{name: v.Name(), pos: v.Pos(), typ: v.Type(), out: load.GridType(v.Type(), "Out") || load.GridType(v.Type(), "OutMatrix")}
	switch _, ok := v.Type().Underlying().(*types.Slice); {
	case ok:
		m.kind = slice
	case load.GridType(v.Type(), "Thread"):
		m.kind = thread
	case load.MatrixOf(v.Type()) != nil:
		m.kind = matrix
	}
	return m
}

// elem returns the type of the elements of a slice or a matrix.
func elem(m *param) types.Type {
	if m.kind == matrix {
		return load.MatrixOf(m.typ)
	}
	return m.typ.Underlying().(*types.Slice).Elem()
}

// mode returns the function of package kernel with which a launch passes elements.
func (m *param) mode() string {
	switch {
	case m.out:
		return "Out"
	case m.written:
		return "InOut"
	}
	return "In"
}

// launcherOf returns the name of the function that launches a kernel, or why there can be none.
func (p *Package) launcherOf(decl *ast.FuncDecl) (string, *load.Error) {
	name := decl.Name.Name
	first, size := utf8.DecodeRuneInString(name)
	upper := string(unicode.ToUpper(first)) + name[size:]
	launcher := upper
	exists := func(name string) bool {
		return p.Types.Scope().Lookup(name) != nil || p.taken[name] || p.Types.Scope().Lookup(name+"On") != nil || p.taken[name+"On"]
	}
	if exists(upper) || upper == name {
		launcher = "Launch" + upper
	}
	if exists(launcher) {
		return "", p.ErrorAt(decl.Name.Pos(), "the functions that launch this kernel would be called %s and %[1]sOn, or Launch%[1]s and Launch%[1]sOn, and such names exist already; "+
			"rename the kernel", upper)
	}
	p.taken[launcher+"On"] = true
	p.taken[launcher] = true
	return launcher, nil
}

// importable refuses a parameter with a type of another package that the generated file cannot name, and notes the imports that it needs for others.
func (p *Package) importable(m *param) (why *load.Error) {
	t := m.typ
	switch m.kind {
	case thread:
		return nil
	case slice, matrix:
		t = elem(m)
	}
	types.TypeString(t, func(q *types.Package) string {
		path, used := generatedImports[q.Name()]
		switch was := p.imported[q.Name()]; {
		case q == p.Types || used && path == q.Path() || why != nil:
		case used || was != "" && was != q.Path() || p.Types.Scope().Lookup(q.Name()) != nil:
			why = p.ErrorAt(m.pos,
				"type %s belongs to package %q, whose name %s means something else in the generated file; declare a type in this package", t, q.Path(), q.Name())
		case q.Name() == "main" || strings.HasPrefix(q.Path(), "vendor/"):
			why = p.ErrorAt(m.pos, "type %s belongs to another package, which cannot be imported; declare a type in this package", t)
		default:
			p.imported[q.Name()] = q.Path()
		}
		return q.Name()
	})
	return why
}

// over returns the text of an expression for the grid of a kernel's launch, "" if the kernel does not say it.
func (p *Package) over(f *function) string {
	return footprint.Over(f.made, f.effects, f.argNames[1:], p.Types.Scope().Lookup("max") != nil)
}

// rounds returns the elements of kernel.Written.Rounds, "" if all loops have few rounds or none.
func (f *function) rounds() string {
	var b strings.Builder
	for _, product := range f.looped.Most.Products() {
		fmt.Fprintf(&b, "{%s}, ", strings.Join(product, ", "))
	}
	return b.String()
}
