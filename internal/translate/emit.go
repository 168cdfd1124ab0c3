package translate

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/format"
	"go/token"
	"go/types"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-halyard/halyard/internal/syntax"
)

// Output is a translation.
type Output struct {
	C    string // the program in the portable dialect
	Go   []byte // the generated file
	File string // its path

	Test     []byte // the generated test file
	TestFile string // its path

	// Files are the names of all files that the translation is made of, sorted: those of the package, and those of other packages whose functions,
	// types or constants it uses, apart from Go's own and package grid. They are relative to the folder that Load was given if they are below it.
	Files []string

	SIMD     []byte // the generated file with vector code for the host, or nil if no kernel has any
	SIMDFile string // its path

	Vulkan     []byte             // the generated file with SPIR-V for devices of Vulkan
	VulkanFile string             // its path
	Assembly   string             // the modules in it, as text
	modules    map[string]Modules // by the kernels' names in C

	Loops []Loop // how the host runs each kernel

	Footprints []Footprint // what each kernel touches

	Orphans []string // the paths of generated files that no kernel belongs to
}

// Translate translates the kernels of a package. Without kernels, only Orphans is set. If something has no translation, the error is an [Errors].
func (p *Package) Translate() (*Output, error) {
	if p.types == nil { // it has no kernels
		return &Output{Orphans: p.orphans}, nil
	}
	g, err := p.emitted()
	if err != nil {
		return nil, err
	}
	c := g.text()
	if p.Portable != nil {
		if c, g.sites, err = p.Portable(p); err != nil {
			return nil, err
		}
	}
	ptx := ""
	if p.PTX != nil {
		if ptx, err = p.PTX(c); err != nil {
			return nil, fmt.Errorf("package %s: %w", p.Name, err)
		}
	}
	made := &Output{
		C: c, File: filepath.Join(p.Dir, GeneratedName(p.Name)), Files: g.files(),
		Test: p.generatedTest(), TestFile: filepath.Join(p.Dir, testName(p.Name)),
		SIMDFile: filepath.Join(p.Dir, SIMDName(p.Name)), VulkanFile: filepath.Join(p.Dir, VulkanName(p.Name)), Orphans: p.orphans,
	}
	sources, err := p.sources(p.marked())
	if err != nil {
		return nil, err
	}
	if err := p.generate(made, ptx, g.made, g.launchers, g.sites, sources); err != nil {
		return nil, err
	}
	if err := p.vulkan(made, g); err != nil {
		return nil, err
	}
	if made.SIMD == nil {
		made.Orphans = slices.Concat(made.Orphans, p.vectorFiles)
	}
	return made, nil
}

// emitted translates the marked functions, and what they need, to C.
func (p *Package) emitted() (*program, error) {
	g := p.program()
	for _, e := range p.errs { // errors in declarations that kernels may use; errors in a function are reported when it is translated
		if p.outside(e.Pos) {
			g.note(e.Pos, e.Msg)
		}
	}
	for _, name := range p.types.Scope().Names() {
		what := "a package that the generated file imports"
		if _, imported := generatedImports[name]; !imported {
			if _, ok := types.Universe.Lookup(name).(*types.TypeName); !ok {
				continue
			}
			what = "a type of Go that the generated file uses"
		}
		g.note(p.types.Scope().Lookup(name).Pos(), fmt.Sprintf("%s is %s; rename this declaration", name, what))
	}
	decls := p.marked()
	if len(decls) == 0 {
		return nil, fmt.Errorf("no function of package %s is marked %s", p.Name, marker)
	}
	unanswered := g.answered()
	for _, decl := range decls {
		g.try(func() {
			f, launcher := g.kernel(decl)
			g.made, g.launchers = append(g.made, f), append(g.launchers, launcher)
		})
	}
	if err := g.failed(); err != nil { // these are said first
		return nil, err
	}
	if unanswered != nil {
		return nil, fmt.Errorf("the kernels of package %s have a translation and no representation, which is a bug of halyard kernels: %w", p.Name, unanswered)
	}
	return g, nil
}

// outside reports whether a position is in a declaration of constants, types or imports.
func (p *Package) outside(pos token.Pos) bool {
	for _, file := range p.files {
		for _, d := range file.Decls {
			if g, ok := d.(*ast.GenDecl); ok && g.Tok != token.VAR && pos >= g.Pos() && pos <= g.End() {
				return true
			}
		}
	}
	return false
}

// kernel translates a kernel, and returns the name of the function that launches it.
func (p *program) kernel(decl *ast.FuncDecl) (*function, string) {
	name := decl.Name.Name
	switch {
	case decl.Recv != nil:
		refuse(decl.Pos(), "a kernel cannot be a method; make the receiver a parameter")
	case decl.Type.TypeParams != nil:
		refuse(decl.Type.TypeParams.Pos(), "a kernel cannot have type parameters; write a generic function, and for each type a kernel that calls it")
	case decl.Type.Results != nil && len(decl.Type.Results.List) > 0:
		refuse(decl.Type.Results.Pos(), "a kernel cannot have results; write them to a slice")
	case len(decl.Type.Params.List) == 0:
		refuse(decl.Name.Pos(), "the first parameter of a kernel, and only the first, must be a grid.Thread")
	case name == "_" || name == "init" || name == "main":
		refuse(decl.Name.Pos(), "a kernel cannot be called %s; rename it", name)
	}
	obj, ok := p.pkg.info.Defs[decl.Name].(*types.Func)
	if !ok {
		refuse(decl.Name.Pos(), "this declaration has no translation")
	}
	first, size := utf8.DecodeRuneInString(name)
	upper := string(unicode.ToUpper(first)) + name[size:]
	launcher := upper
	exists := func(name string) bool {
		return p.pkg.types.Scope().Lookup(name) != nil || p.pkg.taken[name] || p.pkg.types.Scope().Lookup(name+"On") != nil || p.pkg.taken[name+"On"]
	}
	if exists(upper) || upper == name {
		launcher = "Launch" + upper
	}
	if exists(launcher) {
		refuse(decl.Name.Pos(), "the functions that launch this kernel would be called %s and %[1]sOn, or Launch%[1]s and Launch%[1]sOn, and such names exist already; "+
			"rename the kernel", upper)
	}
	p.pkg.taken[launcher+"On"] = true
	p.pkg.taken[launcher] = true
	return p.function(obj, nil, nil, decl.Pos()), launcher
}

var (
	word     = regexp.MustCompile(`\d[\d.]*(?:e[-+]?\d+)?f?|[A-Za-z_]\w*`)
	declared = regexp.MustCompile(`(\w+)\(`)
)

// What a text needs of a device: float64, and atomic operations of 64 bits.
const (
	needsFloat64 = 1 << iota
	needsAtomic64
)

// guards are the lines before what needs something.
var guards = map[int]string{needsFloat64: "#ifdef HALYARD_FLOAT64\n", needsAtomic64: "#ifdef GO_ATOMIC64\n",
	needsFloat64 | needsAtomic64: "#if defined(HALYARD_FLOAT64) && defined(GO_ATOMIC64)\n"}

// isWide reports whether a word of C computes with float64: a type, a macro or a constant.
func isWide(w string) bool {
	switch w {
	case "f64", "GO_F64_BITS", "GO_BITS_F64", "GO_NEG_F64":
		return true
	}
	return w[0] <= '9' && strings.ContainsAny(w, ".e") && !strings.HasSuffix(w, "f")
}

// text returns the whole program in C. What needs something that a device lacks is left out there, so that the other kernels compile.
func (p *program) text() string {
	var b strings.Builder
	p.needs = map[string]int{ // words
		"GO_ADD64": needsAtomic64, "GO_XCHG64": needsAtomic64, "GO_CAS64": needsAtomic64,
	}
	open := 0
	guard := func(text string) {
		words := word.FindAllString(text, -1)
		need := 0
		for _, w := range words {
			if isWide(w) {
				need |= needsFloat64
			}
			need |= p.needs[w]
		}
		if text[0] == '#' {
			need = 0
		}
		if need != 0 {
			name := words[len(words)-1] // of a type
			if at := declared.FindStringSubmatch(text); words[0] != "typedef" {
				name = at[1]
			} else if slices.Contains(p.layouts, text) {
				name = words[2]
			}
			p.needs[name] = need
		}
		if need != open && open != 0 {
			b.WriteString("#endif\n")
		}
		if need != open {
			b.WriteString(guards[need])
		}
		open = need
	}
	for _, t := range slices.Concat(p.types, p.layouts, p.support) {
		t = strings.TrimSuffix(t, "\n") + "\n"
		guard(t)
		b.WriteString(t)
	}
	for i, t := range p.texts {
		guard(t)
		if i > 0 || len(p.types)+len(p.support) > 0 {
			b.WriteString("\n")
		}
		b.WriteString(t)
	}
	if open != 0 {
		b.WriteString("#endif\n")
	}
	return b.String()
}

// generate sets the Go files of a translation, and what is said of them.
func (p *Package) generate(made *Output, ptx string, kernels []*function, launchers, sites, sources []string) error {
	c := made.C
	var b bytes.Buffer
	programName := p.free("program", "kernels")
	var vars []string
	for _, f := range kernels {
		vars = append(vars, p.free("kernel", f.decl.Name.Name+"Kernel"))
		f.argNames = p.arguments(f.params)
	}
	loops, imports, err := p.loops(kernels)
	if err != nil {
		return err
	}
	functions, footprints := make([]string, len(kernels)), make([]string, len(kernels))
	for i, f := range kernels {
		name := f.decl.Name.Name
		functions[i], footprints[i] = f.launch.Footprint(p.free("footprint", name+"Footprint"))
		cut, why, slices := f.launch.Said()
		made.Footprints = append(made.Footprints, Footprint{name, p.Fset.Position(f.decl.Pos()), cut, why, slices})
	}
	vectors := make([]*vectors, len(kernels))
	for i, f := range kernels {
		v, why := p.vectors(f, loops[i])
		vectors[i] = v
		parts := loops[i] != nil && len(loops[i].parts) > 0
		if parts {
			why = loops[i].noVectors
		}
		made.Loops = append(made.Loops, Loop{f.decl.Name.Name, p.Fset.Position(f.decl.Pos()), v != nil || parts, why})
	}
	all := vectors
	for _, l := range loops {
		if l != nil {
			all = append(all, l.parts...)
		}
	}
	if made.SIMD, err = p.simd(all); err != nil {
		return err
	}
	fmt.Fprintf(&b, "%s\n\npackage %s\n\nimport (\n\t\"context\"\n%s\n", generatedBy, p.Name, imports)
	b.WriteString("\t\"github.com/go-halyard/halyard/hal\"\n\t\"github.com/go-halyard/halyard/kernel\"\n\t\"github.com/go-halyard/halyard/kernel/grid\"\n)\n\n")
	fmt.Fprintf(&b, "// %s contains the kernels: as Go functions for the host, and in C for devices.\n", programName)
	fmt.Fprintf(&b, "var %s = kernel.New(kernel.Source{Name: %q, Go: kernel.Functions{\n", programName, p.Name)
	for i, f := range kernels {
		made := "kernel.Go("
		switch steps := f.launch.Steps(); {
		case steps == "":
		case f.together:
			made = "kernel.Bounded(grid.Steps(" + steps + "), "
		default:
			made = "kernel.Bounded([]uint32{" + steps + "}, "
		}
		fmt.Fprintf(&b, "\t%q: %sfunc(blk *kernel.Block) {\n", f.decl.Name.Name, made)
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
		call := fmt.Sprintf("%s(%s)", f.decl.Name.Name, strings.Join(args, ", "))
		switch {
		case loops[i] != nil && f.together:
			fmt.Fprintf(&b, "\t\tif grid.InPhases() {\n\t\t\t%s(blk%s)\n\t\t\treturn\n\t\t}\n", loops[i].name, loops[i].args)
		case loops[i] != nil:
			front := ""
			if v := vectors[i]; v != nil {
				front = fmt.Sprintf("if %s != nil {\nrow = %[1]s(row%s)\n}\n", v.hook, loops[i].args)
			}
			fmt.Fprintf(&b, "\t\tif !grid.Covered() {\n\t\t\tfor row := range grid.Rows(blk) {\n%s\t\t\t\t%s(row%s)\n\t\t\t}\n\t\t\treturn\n\t\t}\n", front, loops[i].name, loops[i].args)
		}
		if f.together {
			fmt.Fprintf(&b, "\t\tgrid.RunTogether(blk, func(t grid.Thread) { %s })\n", call)
		} else {
			fmt.Fprintf(&b, "\t\tfor t := range grid.Threads(blk) {\n\t\t\t%s\n\t\t}\n", call)
		}
		b.WriteString("\t}),\n")
	}
	fmt.Fprintf(&b, "}, Indexes: []string{")
	for _, at := range sites {
		fmt.Fprintf(&b, "%q, ", at)
	}
	fmt.Fprintf(&b, "}, Kernels: map[string]kernel.Written{\n")
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
		at := ""
		if f.dims > 1 {
			at = fmt.Sprintf(", Dims: %d, DimsAt: %q", f.dims, p.line(f.dimsAt))
		}
		if f.looped.most != nil {
			at += fmt.Sprintf(", Rounds: [][]int{%s}, RoundsAt: %q", f.looped.literal(), p.line(f.looped.at))
		}
		nests, deepest, bytes := p.nesting(f)
		if nests > 0 {
			at += fmt.Sprintf(", Nests: %d, NestsAt: %q", nests, p.line(deepest))
		}
		if bytes > 0 {
			at += fmt.Sprintf(", Private: %d", bytes)
		}
		if f.atomic64.IsValid() {
			needs := "atomic operations of 64 bits (" + p.line(f.atomic64) + ")"
			if f.p.needs[f.c]&needsFloat64 != 0 {
				needs = "float64, and " + needs
			}
			at += fmt.Sprintf(", Needs: %q", needs)
		}
		fmt.Fprintf(&b, "\t%q: {Code: %q, Params: []string{%s}%s,\nFootprint: %s},\n",
			f.decl.Name.Name, f.c, strings.Join(names, ", "), at, footprints[i])
	}
	image := ""
	if ptx != "" {
		image = fmt.Sprintf("Images: []hal.Image{{Format: hal.FormatPTX, Data: []byte(%s)}}, ", p.free("ptx", programName+"PTX"))
	}
	fmt.Fprintf(&b, "}, Format: %d, Sources: []string{\n", syntax.Format)
	for _, line := range sources {
		fmt.Fprintf(&b, "\t%q,\n", line)
	}
	fmt.Fprintf(&b, "}, %sPortable: `%s`})\n\nvar (\n", image, c)
	for i, f := range kernels {
		fmt.Fprintf(&b, "\t%s = %s.Kernel(%q)\n", vars[i], programName, f.decl.Name.Name)
	}
	b.WriteString(")\n")
	for i, f := range kernels {
		var params, names, args []string
		for i, m := range f.params {
			arg := f.argNames[i]
			switch m.kind {
			case thread:
				continue
			case slice:
				params = append(params, fmt.Sprintf(", %s kernel.Vector[%s]", arg, p.typeName(elem(m))))
				args = append(args, fmt.Sprintf(", kernel.%s(%s), kernel.Value(int64(kernel.Len(%s)))", m.mode(), arg, arg))
			case matrix:
				params = append(params, fmt.Sprintf(", %s kernel.Matrix[%s]", arg, p.typeName(elem(m))))
				args = append(args, fmt.Sprintf(", kernel.%s(kernel.Elements(%s)), kernel.Value(int64(kernel.RowsOf(%[2]s))), kernel.Value(int64(kernel.ColsOf(%[2]s)))", m.mode(), arg))
			default:
				params = append(params, fmt.Sprintf(", %s %s", arg, p.typeName(m.typ)))
				args = append(args, ", "+launched(m, arg))
			}
			names = append(names, ", "+arg)
		}
		name, list := f.decl.Name.Name, strings.Join(params, "")
		over, how := f.over(), "with as many threads as its data have places for"
		if over == "" {
			over, how = "hal.Grid{}", "on the grid of q.Over or q.Grid"
		}
		fmt.Fprintf(&b, "\n// %s launches %s on a queue, %s.\nfunc %[1]s(q kernel.Queue%[4]s) {\n"+
			"\tif ctx, s, over, ok := q.Launching(%[2]q, %[5]s); ok {\n\t\terr := kernel.ErrUnfinished\n"+
			"\t\tdefer func() { q.Launched(err) }()\n\t\terr = %[1]sOn(ctx, s, over%[6]s)\n\t}\n}\n",
			launchers[i], name, how, list, over, strings.Join(names, ""))
		fmt.Fprintf(&b, "\n// %sOn launches %s on a stream.\nfunc %[1]sOn(ctx context.Context, s *hal.Stream, over hal.Grid%[3]s) error {\n\treturn %[4]s.Launch(ctx, s, over%[5]s)\n}\n",
			launchers[i], name, list, vars[i], strings.Join(args, ""))
	}
	if ptx != "" {
		fmt.Fprintf(&b, "\n// %s is the PTX that NVIDIA's compiler makes from the C text.\nconst %s = `%s`\n", p.free("ptx", programName+"PTX"), p.free("ptx", programName+"PTX"), strings.ReplaceAll(ptx, "`", "'"))
	}
	for _, text := range functions {
		fmt.Fprintf(&b, "\n%s", text)
	}
	for _, l := range loops {
		if l != nil {
			fmt.Fprintf(&b, "\n%s", l.text)
		}
	}
	if made.SIMD != nil {
		fmt.Fprintf(&b, "\n// These functions run threads as vectors: the front threads of a row, whose rest they return, or phases of a kernel with barriers. They are set in %s.\nvar (\n", SIMDName(p.Name))
		for _, v := range all {
			if v != nil {
				fmt.Fprintf(&b, "\t%s %s\n", v.hook, v.typ)
			}
		}
		b.WriteString(")\n")
	}
	src, err := format.Source(b.Bytes())
	if err != nil {
		return fmt.Errorf("the generated file is not valid Go, which is a bug of halyard kernels: %w", err)
	}
	made.Go = numbered(src, GeneratedName(p.Name))
	return nil
}

// elem returns the type of the elements of a slice or a matrix.
func elem(m *param) types.Type {
	if m.kind == matrix {
		return matrixOf(m.typ)
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

// free returns the name of something in the generated file: the given name, with underscores added if the package or the file uses it for
// something else, or if it is in not.
func (p *Package) free(what, name string, not ...string) string {
	if found := p.names[what+" "+name]; found != "" {
		return found
	}
	free := name
	for p.types.Scope().Lookup(free) != nil || p.taken[free] || slices.Contains(not, free) {
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
			p.types.Scope().Lookup(name) != nil || types.Universe.Lookup(name) != nil {
			name += "_"
		}
		names = append(names, name)
	}
	return names
}

// reserved are the names of variables in the functions of the generated file.
var reserved = []string{"ctx", "s", "over", "t", "row", "blk", "q", "ok"}

func (p *Package) typeName(t types.Type) string {
	return types.TypeString(t, func(q *types.Package) string {
		if q == p.types {
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

// launched returns the text with which a launch passes an argument by value.
func launched(m *param, arg string) string {
	b, ok := m.typ.Underlying().(*types.Basic)
	switch {
	case !ok:
		return fmt.Sprintf("kernel.Struct(&%s)", arg)
	case b.Kind() == types.Int:
		return fmt.Sprintf("kernel.Value(int64(%s))", arg)
	case b.Kind() == types.Uint:
		return fmt.Sprintf("kernel.Value(uint64(%s))", arg)
	}
	return fmt.Sprintf("kernel.Value(%s)", arg)
}
