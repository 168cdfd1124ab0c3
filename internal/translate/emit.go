package translate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"go/format"
	"go/types"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-halyard/halyard/internal/syntax"
	"github.com/go-halyard/halyard/internal/translate/build"
	"github.com/go-halyard/halyard/internal/translate/cprint"
	"github.com/go-halyard/halyard/internal/translate/facts"
	"github.com/go-halyard/halyard/internal/translate/footprint"
	"github.com/go-halyard/halyard/internal/translate/ir"
	"github.com/go-halyard/halyard/internal/translate/lanes"
	"github.com/go-halyard/halyard/internal/translate/load"
	"github.com/go-halyard/halyard/internal/translate/passes"
	"github.com/go-halyard/halyard/internal/translate/vulkan"
)

// Package is a package whose kernels are translated.
type Package struct {
	*load.Package

	// PTX compiles a translation for NVIDIA's devices, and the generated file contains the result. If it is nil,
	// the file contains no PTX.
	PTX func(c string) (ptx string, err error)

	names    map[string]string // names of the generated file, by what they are for
	taken    map[string]bool   // the same names, and those of the functions that launch kernels
	imported map[string]string // packages of the types of kernels' parameters: paths by name

	narrow *facts.Narrow // which integers of the kernels are kept in 32 bits

	allVectors bool // kernels have vectors even if these do not pay, for tests
}

// Load returns the packages that match patterns of the go command in dir and that have kernels or a generated file: see [load.Load].
func Load(ctx context.Context, dir string, patterns ...string) ([]*Package, error) {
	found, err := load.Load(ctx, dir, patterns...)
	all := make([]*Package, len(found))
	for i, p := range found {
		all[i] = &Package{Package: p}
	}
	return all, err
}

// Output is a translation.
type Output struct {
	C    string // the program in the portable dialect
	Go   []byte // the generated file
	File string // its path

	Test     []byte // the generated test file
	TestFile string // its path

	SIMD     []byte // the generated file with vector code for the host, or nil if no kernel has any
	SIMDFile string // its path

	Vulkan     []byte                    // the generated file with SPIR-V for devices of Vulkan
	VulkanFile string                    // its path
	Assembly   string                    // the modules in it, as text
	modules    map[string]vulkan.Modules // by the kernels' names in C

	Loops []Loop // how the host runs each kernel

	Footprints []Footprint // what each kernel touches

	Warnings []load.Error // what is allowed and most likely a mistake

	Orphans []string // the paths of generated files that no kernel belongs to
}

// Translate translates the kernels of a package. Without kernels, only Orphans is set. If something has no translation, the error is a [load.Errors].
func (p *Package) Translate() (*Output, error) {
	if p.Types == nil { // it has no kernels
		return &Output{Orphans: p.Orphans}, nil
	}
	program, launchers, err := p.built()
	if err != nil {
		return nil, err
	}
	devices := passes.Devices(program)
	p.narrow = facts.NarrowOf(devices)
	printed := cprint.Print(devices, p.narrow)
	ptx := ""
	if p.PTX != nil {
		if ptx, err = p.PTX(printed.C); err != nil {
			return nil, fmt.Errorf("package %s: %w", p.Name, err)
		}
	}
	made := &Output{
		C: printed.C, File: filepath.Join(p.Dir, load.GeneratedName(p.Name)), Test: p.generatedTest(), TestFile: filepath.Join(p.Dir, load.TestName(p.Name)),
		SIMDFile: filepath.Join(p.Dir, load.SIMDName(p.Name)), VulkanFile: filepath.Join(p.Dir, load.VulkanName(p.Name)), Orphans: p.Orphans,
	}
	sources, err := p.sources()
	if err != nil {
		return nil, err
	}
	kernels := p.kernels(program)
	for _, f := range kernels {
		f.printed = devices.Functions[slices.Index(program.Functions, f.made)]
	}
	if err := p.generate(made, program, ptx, kernels, launchers, printed.Sites, printed.Prints, sources); err != nil {
		return nil, err
	}
	if err := p.vulkan(made, devices, kernels, printed.Sites); err != nil {
		return nil, err
	}
	if made.SIMD == nil {
		made.Orphans = slices.Concat(made.Orphans, p.Vectors)
	}
	return made, nil
}

// built returns the representation of the kernels, and the names of the functions that launch them. What the generated file cannot say is refused
// together with what has no representation.
func (p *Package) built() (program *ir.Program, launchers []string, err error) {
	p.names, p.taken, p.imported = map[string]string{}, map[string]bool{}, map[string]string{}
	decls := p.Kernels()
	if len(decls) == 0 {
		return nil, nil, fmt.Errorf("no function of package %s is marked %s", p.Name, load.Marker)
	}
	var bad load.Errors
	if program, err = build.Program(p.Package); err != nil && !errors.As(err, &bad) {
		return nil, nil, err
	}
	var built []*ir.Function
	if program != nil {
		built = program.Functions
	}
	for _, f := range built {
		if l := sizedOf(f); l != nil && p.launched(l, make([]string, len(f.Params))) == "" {
			bad = append(bad, *p.ErrorAt(l.Pos, "a launch must know the length of %s; compute it with +, -, *, /, %%, min and max from constants, integers that are "+
				"parameters and do not change, and lengths of slices", l.Name))
		}
	}
	for _, name := range p.Types.Scope().Names() {
		what := "a package that the generated file imports"
		if _, imported := generatedImports[name]; !imported {
			if _, ok := types.Universe.Lookup(name).(*types.TypeName); !ok {
				continue
			}
			what = "a type of Go that the generated file uses"
		}
		bad = append(bad, *p.ErrorAt(p.Types.Scope().Lookup(name).Pos(), "%s is %s; rename this declaration", name, what))
	}
	for _, decl := range decls {
		obj, ok := p.Info.Defs[decl.Name].(*types.Func)
		if !ok || decl.Recv != nil {
			continue // it has no representation
		}
		launcher, why := p.launcherOf(decl)
		for v := range obj.Signature().Params().Variables() {
			if why == nil {
				why = p.importable(paramOf(v))
			}
		}
		instances, _ := p.Instances(decl)
		for t := range obj.Signature().TypeParams().TypeParams() {
			instances = append(instances, []types.Type{t.Constraint()})
		}
		for _, t := range slices.Concat(instances...) {
			if why == nil {
				why = p.importable(&param{typ: t, pos: decl.Name.Pos()})
			}
		}
		if why != nil {
			bad = append(bad, *why)
		}
		launchers = append(launchers, launcher)
	}
	return program, launchers, load.Sorted(bad)
}

// generate sets the Go files of a translation, and what is said of them.
func (p *Package) generate(made *Output, program *ir.Program, ptx string, kernels []*function, launchers, sites, prints, sources []string) error {
	c := made.C
	var b bytes.Buffer
	programName := p.free("program", "kernels")
	var vars []string
	for _, f := range kernels {
		vars = append(vars, p.free("kernel", f.made.Name+"Kernel"))
		f.argNames = p.arguments(f.params)
	}
	loops, imports, err := p.loops(kernels)
	if err != nil {
		return err
	}
	footprints := make([]string, len(kernels)) // the names of their functions
	for i, f := range kernels {
		name := p.name(f)
		footprints[i] = p.free("footprint", f.made.Name+"Footprint")
		if at := slices.Index(kernels, f.first); f.touches.Func("Of") == strings.ReplaceAll(f.first.touches.Func("Of"), f.first.made.Name+".", f.made.Name+".") {
			footprints[i] = footprints[at]
		}
		made.Footprints = append(made.Footprints, Footprint{name, p.Fset.Position(f.decl.Pos()), f.touches.Cut, f.touches.Why, f.touches.Said()})
	}
	vectors := make([]*lanes.Vectors, len(kernels))
	for i, f := range kernels {
		v, why := p.vectors(f, loops[i])
		vectors[i] = v
		parts := loops[i] != nil && len(loops[i].parts) > 0
		if parts {
			why = loops[i].noVectors
		}
		if f.first == f {
			for _, s := range facts.Races(f.made, f.effects) {
				what := "every thread writes the same element, and only the value of one of them stays; give each thread an element"
				if s.Reads {
					what = "every thread changes the same element, and changes of other threads are lost; use grid.AtomicAdd"
				}
				made.Warnings = append(made.Warnings, *p.ErrorAt(s.Pos, "%s, or write if t.Global(0) == 0 before it", what))
			}
		}
		at := p.Fset.Position(f.decl.Pos())
		if why != nil && !strings.ContainsAny(why.Pos.Filename, "/\\") { // in text that this package has written
			why.Pos.Filename = filepath.Join(filepath.Dir(at.Filename), why.Pos.Filename)
		}
		made.Loops = append(made.Loops, Loop{p.name(f), at, v != nil || parts, f.made.Fast, why})
	}
	all := vectors
	for i, l := range loops {
		if l != nil && kernels[i].first == kernels[i] {
			all = append(all, l.parts...)
		}
	}
	if made.SIMD, err = p.simd(all); err != nil {
		return err
	}
	fmt.Fprintf(&b, "%s\n\npackage %s\n\nimport (\n\t\"context\"\n%s\n", load.GeneratedBy, p.Name, imports)
	b.WriteString("\t\"github.com/go-halyard/halyard/hal\"\n\t\"github.com/go-halyard/halyard/kernel\"\n\t\"github.com/go-halyard/halyard/kernel/grid\"\n" + gridgenImport + ")\n\n")
	fmt.Fprintf(&b, "// %s contains the kernels: as Go functions for the host, and in C for devices.\n", programName)
	fmt.Fprintf(&b, "var %s = kernel.New(kernel.Source{Name: %q, Go: kernel.Functions{\n", programName, p.Name)
	for i, f := range kernels {
		made := "kernel.Go("
		switch steps := footprint.Steps(f.made); {
		case steps == "":
		case f.together:
			made = "gridgen.Bounded(gridgen.Steps(" + steps + "), "
		default:
			made = "gridgen.Bounded([]uint32{" + steps + "}, "
		}
		fmt.Fprintf(&b, "\t%q: %sfunc(blk *kernel.Block) {\n", p.name(f), made)
		var args []string
		wire := 0
		for i, m := range f.params {
			arg := f.argNames[i]
			switch m.kind {
			case thread:
				args = append(args, "t")
				continue
			case slice:
				fmt.Fprintf(&b, "\t\t%s := kernel.Slice[%s](blk, %d)\n", arg, p.typeName(elem(m)), wire)
				wire++
			case matrix:
				made := "MatrixOf"
				if m.out {
					made = "OutMatrixOf"
				}
				fmt.Fprintf(&b, "\t\t%s := grid.%s(kernel.Slice[%s](blk, %d), int(kernel.Number[int64](blk, %d)), int(kernel.Number[int64](blk, %d)))\n",
					arg, made, p.typeName(elem(m)), wire, wire+1, wire+2)
				wire += 2
			default:
				fmt.Fprintf(&b, "\t\t%s := %s\n", arg, p.number(m, fmt.Sprintf("blk, %d", wire)))
			}
			args = append(args, arg)
			wire++
		}
		call := fmt.Sprintf("%s(%s)", p.name(f), strings.Join(args, ", "))
		loop := "" // the function of the loops, and its arguments after the first
		if loops[i] != nil {
			loop = loops[i].name + p.typeArgs(f)
			if loops[i].kept != "" && f.args != nil {
				loops[i].args = ", &" + p.free("pool", f.made.Name+"Pool") + loops[i].plain
			}
		}
		switch {
		case loops[i] != nil && f.together:
			fmt.Fprintf(&b, "\t\tif gridgen.InPhases() {\n\t\t\t%s(blk%s)\n\t\t\treturn\n\t\t}\n", loop, loops[i].args)
		case loops[i] != nil:
			front := ""
			if v := vectors[i]; v != nil {
				front = fmt.Sprintf("if %s != nil {\nif row = %[1]s(row%s); row.First() >= row.End {\ncontinue\n}\n}\n", v.Hook, loops[i].args)
			}
			fmt.Fprintf(&b, "\t\tif !gridgen.Covered() {\n\t\t\tfor row := range gridgen.Rows(blk) {\n%s\t\t\t\t%s(row%s)\n\t\t\t}\n\t\t\treturn\n\t\t}\n", front, loop, loops[i].args)
		}
		if f.together {
			fmt.Fprintf(&b, "\t\tgrid.RunTogether(blk, func(t grid.Thread) { %s })\n", call)
		} else {
			fmt.Fprintf(&b, "\t\tfor t := range grid.Threads(blk) {\n\t\t\t%s\n\t\t}\n", call)
		}
		b.WriteString("\t}),\n")
	}
	fmt.Fprintf(&b, "}, Source: gridgen.Source{Indexes: []string{")
	for _, at := range sites {
		fmt.Fprintf(&b, "%q, ", at)
	}
	if len(prints) > 0 {
		fmt.Fprintf(&b, "}, Prints: []string{")
		for _, text := range prints {
			fmt.Fprintf(&b, "%q, ", text)
		}
	}
	fmt.Fprintf(&b, "}, Kernels: map[string]gridgen.Written{\n")
	for i, f := range kernels {
		var names []string
		for i, m := range f.params {
			name := m.name
			if name == "" || name == "_" {
				name = f.argNames[i]
			}
			switch m.kind {
			case thread:
			case slice:
				names = append(names, fmt.Sprintf("%q, %q", name, "len("+name+")"))
			case matrix:
				names = append(names, fmt.Sprintf("%q, %q, %q", name, name+".Rows()", name+".Cols()"))
			default:
				names = append(names, fmt.Sprintf("%q", name))
			}
		}
		at := f.sizes(p.narrow)
		if f.needs.Dims > 1 {
			at += fmt.Sprintf(", Dims: %d, DimsAt: %q", f.needs.Dims, p.Line(f.needs.DimsAt))
		}
		if rounds := f.rounds(); rounds != "" {
			at += fmt.Sprintf(", Rounds: [][]int{%s}, RoundsAt: %q", rounds, p.Line(f.looped.At))
		}
		nests, deepest, bytes := p.nesting(f)
		if nests > 0 {
			at += fmt.Sprintf(", Nests: %d, NestsAt: %q", nests, p.Line(deepest))
		}
		if slices.ContainsFunc(f.made.Locals, func(l *ir.Local) bool { return l.Block }) {
			at += fmt.Sprintf(", Threads: %d", load.MostTogether)
		}
		if bytes > 0 {
			at += fmt.Sprintf(", Private: %d", bytes)
		}
		if l := f.sized(); l != nil {
			names = append(names, fmt.Sprintf("%q", "len("+l.Name+")"))
			at += fmt.Sprintf(", SharedElem: %d, SharedStatic: %d, SharedAt: %q", l.Type.Elem.Size(), f.static(), p.Line(l.Pos))
		}
		if f.needs.Atomic64.IsValid() {
			needs := "atomic operations of 64 bits (" + p.Line(f.needs.Atomic64) + ")"
			if f.needs.Float64.IsValid() {
				needs = "float64, and " + needs
			}
			at += fmt.Sprintf(", Needs: %q", needs)
		}
		if f.made.Fast {
			at += ", Fast: true"
		}
		if types := cprint.Types(program, f.made); types > 0 {
			at += fmt.Sprintf(", Types: %d", types)
		}
		fmt.Fprintf(&b, "\t%q: {Code: %q, Params: []string{%s}%s,\nFootprint: %s},\n",
			p.name(f), cprint.Entry(f.made), strings.Join(names, ", "), at, f.touches.Literal(footprints[i]))
	}
	image := ""
	if ptx != "" {
		image = fmt.Sprintf("Images: []hal.Image{{Format: hal.FormatPTX, Data: []byte(%s)}}, ", p.free("ptx", programName+"PTX"))
	}
	fmt.Fprintf(&b, "}, Format: %d, Sources: []string{\n", syntax.Format)
	for _, line := range sources {
		fmt.Fprintf(&b, "\t%q,\n", line)
	}
	fmt.Fprintf(&b, "}}, %sPortable: `%s`})\n\nvar (\n", image, c)
	for i, f := range kernels {
		fmt.Fprintf(&b, "\t%s = %s.Kernel(%q)\n", vars[i], programName, p.name(f))
	}
	for i, f := range kernels {
		if l := loops[i]; l != nil && l.kept != "" && f.args != nil {
			fmt.Fprintf(&b, "\t%s gridgen.Pool[%s%s]\n", p.free("pool", f.made.Name+"Pool"), l.kept, p.typeArgs(f))
		}
	}
	b.WriteString(")\n")
	launched := -1
	for i, f := range kernels {
		if f.first != f {
			continue
		}
		launched++
		var params, names, args []string
		for i, m := range f.declared {
			arg := f.argNames[i]
			switch m.kind {
			case thread:
				continue
			case slice:
				params = append(params, fmt.Sprintf(", %s kernel.Vector[%s]", arg, p.typeName(elem(m))))
				args = append(args, fmt.Sprintf(", kernel.%s(%s), kernel.Value(int64(kernel.Len(%s)))", m.mode(), arg, arg))
			case matrix:
				params = append(params, fmt.Sprintf(", %s kernel.Matrix[%s]", arg, p.typeName(elem(m))))
				args = append(args, fmt.Sprintf(", kernel.%s(kernel.Elements(%s)), kernel.Value(int64(gridgen.RowsOf(%[2]s))), kernel.Value(int64(gridgen.ColsOf(%[2]s)))", m.mode(), arg))
			default:
				params = append(params, fmt.Sprintf(", %s %s", arg, p.typeName(m.typ)))
				args = append(args, ", "+passed(m, arg))
			}
			names = append(names, ", "+arg)
		}
		if l := f.sized(); l != nil {
			args = append(args, fmt.Sprintf(", kernel.Value(int64(%s))", p.launched(l, f.argNames[1:])))
		}
		name, list := f.decl.Name.Name, strings.Join(params, "")
		over, how := p.over(f), "with as many threads as its data have places for"
		if over == "" {
			over, how = "hal.Grid{}", "on the grid of q.Over or q.Grid"
		}
		chosen, of, typed := "", vars[i], p.typeParams(f)
		if typed != "" {
			chosen, of = p.chosen(f, kernels, vars), "chosen"
		}
		launcher, explicit := launchers[launched], explicitArgs(f)
		fmt.Fprintf(&b, "\n// %s launches %s on a queue, %s.\nfunc %[1]s%[7]s(q kernel.Queue%[4]s) {\n"+
			"\tif ctx, _, over, ok := q.Launching(%[2]q, %[5]s); ok {\n\t\terr := kernel.ErrUnfinished\n"+
			"\t\tdefer func() { q.Launched(err) }()\n\t\terr = %[1]sOn%[8]s(ctx, q.On(), over%[6]s)\n\t}\n}\n",
			launcher, name, how, list, over, strings.Join(names, ""), typed, explicit)
		fmt.Fprintf(&b, "\n// %sOn launches %s on a stream, a Split or a Step.\nfunc %[1]sOn%[6]s(ctx context.Context, on kernel.Target, over hal.Grid%[3]s) error {\n\t%[7]sreturn %[4]s.Launch(ctx, on, over%[5]s)\n}\n",
			launcher, name, list, of, strings.Join(args, ""), typed, chosen)
	}
	if ptx != "" {
		fmt.Fprintf(&b, "\n// %s is the PTX that NVIDIA's compiler makes from the C text.\nconst %s = `%s`\n", p.free("ptx", programName+"PTX"), p.free("ptx", programName+"PTX"), strings.ReplaceAll(ptx, "`", "'"))
	}
	for i, f := range kernels {
		if slices.Index(footprints, footprints[i]) == i {
			fmt.Fprintf(&b, "\n%s", f.touches.Func(footprints[i]))
		}
	}
	for i, l := range loops {
		if l != nil && kernels[i].first == kernels[i] {
			fmt.Fprintf(&b, "\n%s", l.text)
		}
	}
	if made.SIMD != nil {
		fmt.Fprintf(&b, "\n// These functions run threads as vectors: the front threads of a row, whose rest they return, or phases of a kernel with barriers. They are set in %s.\nvar (\n", load.SIMDName(p.Name))
		for _, v := range all {
			if v != nil {
				fmt.Fprintf(&b, "\t%s %s\n", v.Hook, v.Type)
			}
		}
		b.WriteString(")\n")
	}
	src, err := format.Source(b.Bytes())
	if err != nil {
		return fmt.Errorf("the generated file is not valid Go, which is a bug of halyard kernels: %w", err)
	}
	made.Go = numbered(src, load.GeneratedName(p.Name))
	return nil
}

const gridgenImport = "\t\"github.com/go-halyard/halyard/kernel/gridgen\"\n"

// explicitArgs returns the names of a kernel's type parameters in brackets, "" if it has none: "[T]" of "[T grid.Number]".
func explicitArgs(f *function) string {
	if f.decl.Type.TypeParams == nil {
		return ""
	}
	var names []string
	for _, field := range f.decl.Type.TypeParams.List {
		for _, id := range field.Names {
			names = append(names, id.Name)
		}
	}
	return "[" + strings.Join(names, ", ") + "]"
}

// free returns the name of something in the generated file: the given name, with underscores added if the package or the file uses it for
// something else, or if it is one of those in except.
func (p *Package) free(what, name string, except ...string) string {
	if found := p.names[what+" "+name]; found != "" {
		return found
	}
	free := name
	for p.Types.Scope().Lookup(free) != nil || p.taken[free] || slices.Contains(except, free) {
		free += "_"
	}
	p.names[what+" "+name], p.taken[free] = free, true
	return free
}

// arguments returns names for the parameters of a kernel in the generated file. They hide nothing that the file uses.
func (p *Package) arguments(params []*param) (names []string) {
	for i, m := range params {
		name := m.name
		if name == "" || name == "_" {
			name = fmt.Sprintf("p%d", i)
		}
		for slices.Contains(reserved, name) || slices.Contains(names, name) || p.taken[name] || generatedImports[name] != "" || name == "buffer" ||
			p.Types.Scope().Lookup(name) != nil || types.Universe.Lookup(name) != nil {
			name += "_"
		}
		names = append(names, name)
	}
	return names
}

// reserved are the names of variables in the functions of the generated file.
var reserved = []string{"ctx", "on", "over", "t", "row", "blk", "q", "ok"}

func (p *Package) typeName(t types.Type) string {
	return types.TypeString(t, func(q *types.Package) string {
		if q == p.Types {
			return ""
		}
		return q.Name()
	})
}

// number returns the text with which the host's function reads an argument that is passed by value.
func (p *Package) number(m *param, at string) string {
	name := p.typeName(m.typ)
	if b, ok := m.typ.Underlying().(*types.Basic); ok {
		switch b.Kind() {
		case types.Int:
			return fmt.Sprintf("%s(kernel.Number[int64](%s))", name, at)
		case types.Uint:
			return fmt.Sprintf("%s(kernel.Number[uint64](%s))", name, at)
		case types.Bool: // a launch by hand may pass any byte
			return fmt.Sprintf("%s(kernel.Number[uint8](%s) != 0)", name, at)
		}
	}
	return fmt.Sprintf("kernel.Number[%s](%s)", name, at)
}

// passed returns the text with which a launch passes an argument by value.
func passed(m *param, arg string) string {
	b, ok := m.typ.Underlying().(*types.Basic)
	_, open := types.Unalias(m.typ).(*types.TypeParam)
	switch {
	case open, !ok: // Struct takes numbers, too
		return fmt.Sprintf("kernel.Struct(&%s)", arg)
	case b.Kind() == types.Int:
		return fmt.Sprintf("kernel.Value(int64(%s))", arg)
	case b.Kind() == types.Uint:
		return fmt.Sprintf("kernel.Value(uint64(%s))", arg)
	}
	return fmt.Sprintf("kernel.Value(%s)", arg)
}
