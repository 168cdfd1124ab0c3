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
	thread      // a grid.Thread, which launches do not pass
	matrix      // followed by its rows and columns
)

// param is a parameter of a kernel.
type param struct {
	name    string
	pos     token.Pos
	typ     types.Type
	kind    kind
	out     bool // it is a grid.Out
	written bool // it is a slice or matrix to which the kernel writes
}

// function is a kernel, or a part of one that is written as a kernel. Only a kernel has a representation.
type function struct {
	decl     *ast.FuncDecl
	args     []types.Type // of a generic kernel
	first    *function    // the kernel for the first types of the same list; the kernel itself if it is not generic
	params   []*param
	declared []*param    // the same parameters before type arguments replace type parameters
	argNames []string    // the names of its parameters in the generated file
	together bool        // it has barriers or shared memory
	noRow    *load.Error // why it has no function for a row of threads

	instances []*ir.Function // of the first kernel: the kernels for all types of the list

	made    *ir.Function
	printed *ir.Function // made, after package passes has changed it for devices
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
		instances, _ := p.Instances(decl)
		built := slices.DeleteFunc(slices.Clone(program.Functions), func(f *ir.Function) bool { return !f.Kernel || f.Syntax != decl })
		sig := p.Info.Defs[decl.Name].(*types.Func).Signature()
		var first *function
		for i, made := range built { // in the order of the list
			f := &function{decl: decl, args: instances[i], made: made, effects: effects, needs: needs[made], looped: facts.LoopedOf(made), touches: footprint.Of(program, made, effects)}
			if first == nil {
				first = f
			}
			f.first, first.instances = first, append(first.instances, made)
			uses := effects[made]
			f.together = uses.Barriers || uses.Shared || p.hasBarrier(decl.Body) // the representation leaves out barriers at the end
			params := sig.Params()
			if f.args != nil {
				t, _ := types.Instantiate(nil, sig, f.args, false)
				params = t.(*types.Signature).Params()
			}
			for n := range params.Len() {
				m, d := paramOf(params.At(n)), paramOf(sig.Params().At(n))
				if n > 0 { // the first is the thread, which the representation does not have
					m.written = uses.Params[n-1].Written
				}
				f.params, f.declared = append(f.params, m), append(f.declared, d)
				first.declared[n].written = first.declared[n].written || m.written
			}
			all = append(all, f)
		}
	}
	return all
}

// name returns the name of a kernel for people, such as total or total[float32].
func (p *Package) name(f *function) string { return f.decl.Name.Name + p.typeArgs(f) }

// typeArgs returns the type arguments of a kernel in brackets, "" if it has none.
func (p *Package) typeArgs(f *function) string {
	var list []string
	for _, t := range f.args {
		list = append(list, p.typeName(t))
	}
	if list == nil {
		return ""
	}
	return "[" + strings.Join(list, ",") + "]"
}

// typeParams returns the type parameters of a kernel as they are declared, in brackets, "" if it has none.
func (p *Package) typeParams(f *function) string {
	var list []string
	for t := range p.Info.Defs[f.decl.Name].(*types.Func).Signature().TypeParams().TypeParams() {
		list = append(list, t.Obj().Name()+" "+p.typeName(t.Constraint()))
	}
	if list == nil {
		return ""
	}
	return "[" + strings.Join(list, ", ") + "]"
}

// chosen returns the text that finds the kernel for the type arguments of a launch, and the name of the variable in it.
func (p *Package) chosen(f *function, kernels []*function, vars []string) string {
	var cases, names, zeros, listed []string
	for t := range p.Info.Defs[f.decl.Name].(*types.Func).Signature().TypeParams().TypeParams() {
		names, zeros = append(names, t.Obj().Name()), append(zeros, "*new("+t.Obj().Name()+")")
	}
	key := func(list []string) string {
		if len(list) == 1 {
			return "*" + list[0]
		}
		return "func(" + strings.Join(list, ", ") + ")"
	}
	for i, g := range kernels {
		if g.first != f {
			continue
		}
		var types []string
		for _, t := range g.args {
			types = append(types, p.typeName(t))
		}
		listed = append(listed, strings.Join(types, ","))
		cases = append(cases, fmt.Sprintf("case %s:\n\t\tchosen = %s\n", key(types), vars[i]))
	}
	return fmt.Sprintf("var chosen *kernel.Kernel\n\tswitch any((%s)(nil)).(type) {\n%s\tdefault:\n\t\treturn hal.Errorf(%q, hal.ErrInvalidArgument, %q, %s)\n\t}\n",
		key(names), strings.Join(cases, ""), f.decl.Name.Name,
		fmt.Sprintf("the kernel is not for%s; %s lists %s", strings.Repeat(" %T", len(names)), p.Line(f.decl.Pos()), strings.Join(listed, " ")), strings.Join(zeros, ", "))
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

// sizedOf returns the shared memory of a kernel whose length is given at each launch, or nil.
func sizedOf(f *ir.Function) *ir.Local {
	for _, l := range f.Locals {
		if l.Sized != nil {
			return l
		}
	}
	return nil
}

// launched returns the launcher's expression for the length of the memory l, "" if there is none.
func (p *Package) launched(l *ir.Local, names []string) string {
	return footprint.Launched(l.Size, names, p.Types.Scope().Lookup("max") != nil || p.Types.Scope().Lookup("min") != nil)
}

func (f *function) sized() *ir.Local { return sizedOf(f.made) }

// static returns how many bytes the kernel has in shared memory of constant length.
func (f *function) static() (bytes int64) {
	for _, l := range f.made.Locals {
		if l.Space == ir.Shared && l.Sized == nil {
			bytes += l.Type.Size()
		}
	}
	return bytes
}

// over returns the text of an expression for the grid of a kernel's launch, "" if the kernel does not say it.
func (p *Package) over(f *function) string {
	names := f.argNames[1:]
	if l := f.sized(); l != nil {
		names = append(slices.Clone(names), p.launched(l, names))
	}
	return footprint.Over(f.made, f.effects, names, p.Types.Scope().Lookup("max") != nil)
}

// sizes returns the fields of gridgen.Written that say how large a launch may be for the code that keeps integers in 32 bits.
func (f *function) sizes(narrow *facts.Narrow) string {
	var b strings.Builder
	most, sizes := narrow.Limit(f.printed)
	at := 0
	for _, m := range f.made.Params {
		switch n := facts.Wires(m.Type); {
		case n == 2:
			fmt.Fprintf(&b, "{%d}, ", at+1)
		case n == 3:
			fmt.Fprintf(&b, "{%d, %d}, ", at+1, at+2)
		case slices.Contains(sizes, m):
			fmt.Fprintf(&b, "{%d}, ", at)
		}
		at += facts.Wires(m.Type)
	}
	return fmt.Sprintf(", Most: %d, Sizes: [][]int{%s}", most, strings.TrimSuffix(b.String(), ", "))
}

// rounds returns the elements of gridgen.Written.Rounds, "" if all loops have few rounds or none.
func (f *function) rounds() string {
	var b strings.Builder
	for _, product := range f.looped.Most.Products() {
		fmt.Fprintf(&b, "{%s}, ", strings.Join(product, ", "))
	}
	return b.String()
}
