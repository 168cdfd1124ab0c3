package translate

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"regexp"
	"slices"
	"strings"
)

// program is the translation of a package.
type program struct {
	own       *Package          // the package with the kernels
	pkg       *Package          // that of the function which is being translated
	known     map[*Package]bool // other packages whose functions are in decls
	took      map[*Package]bool // other packages that the translation depends on
	errs      Errors
	context   *types.Context // of instantiated types
	decls     map[*types.Func]*ast.FuncDecl
	kernels   map[*types.Func]bool
	functions map[*types.Func][]*function
	texts     []string    // of functions, callees first
	made      []*function // the kernels
	launches  map[string]Launch
	launchers []string // the functions that launch them

	barriers bool // the package has barriers or shared memory

	types   []string          // declarations
	typed   map[string]bool   // names of types
	structs map[string]string // names of structures, by their fields
	support []string          // functions of support.go
	needed  map[string]bool   // their names
	layouts []string          // declarations that a compiler refuses if a type has another size than in Go
	sites   []string          // the source lines of checked indexes: file:line
	needs   map[string]int    // what a device must have for what is called so, and for some words of C: needsFloat64 and so on
}

// space is the kind of memory that a pointer points to.
type space string

const (
	private space = ""
	global  space = "GLOBAL "
	local   space = "GO_LOCAL "
)

// param is a parameter of a function.
type param struct {
	v             *variable
	name          string // in Go
	pos           token.Pos
	typ           types.Type
	kind          kind
	space         space // of the memory that a slice or pointer points to
	out           bool  // it is a grid.Out
	read, written bool  // whether the memory that a slice or pointer points to is read, and written
}

// kind is the form of a variable in C.
type kind int

const (
	value   kind = iota // a variable with the Go variable's value
	slice               // a pointer, and a length with _n after the name
	pointer             // a pointer
	shared              // a Go pointer; the C variable is the array that it points to
	thread              // no variable: macros return the thread's indexes
	matrix              // a pointer, the rows with _n and the columns with _m after the name
)

// variable is the C form of a Go variable.
type variable struct {
	c     string
	kind  kind
	space space
	param *param // the parameter, if it is one
	typ   types.Type
}

// function is the translation of a function for certain type arguments and kinds of memory.
type function struct {
	p        *program
	decl     *ast.FuncDecl
	c        string // its name
	kernel   bool
	spaces   []space      // of its parameters
	given    []types.Type // type arguments
	args     map[*types.TypeParam]types.Type
	inside   map[*types.Named]bool // types that substitute is in
	params   []*param
	results  []types.Type
	resultT  string // the C type of its result
	named    []*variable
	busy     bool // it is being translated
	broken   bool // it has errors
	together bool // it has barriers or shared memory
	checks   bool // it, or a function that it calls, has checked indexes or asks for the thread's place

	bytes    int64     // of its arguments, if it is a kernel
	dims     int       // how many dimensions of the grid it, or a function that it calls, uses
	dimsAt   token.Pos // where it uses the last of them
	atomic64 token.Pos // of the first atomic operation of 64 bits in it, or in a function that it calls
	float64  token.Pos // of the first statement that computes with float64 in it, or in a function that it calls
	inexact  token.Pos // of the first function of package math on float32 that is not exact, in the same way
	at       token.Pos // of the statement that is being translated
	launch   Launch    // what is said of its launches, if it is a kernel
	looped   looped    // its loops, if it is a kernel
	argNames []string  // the names of its parameters in the generated file

	vars   map[types.Object]*variable
	used   map[string]bool
	temps  int
	lines  []string
	depth  int
	jumps  []*jump // loops and switches around the statement, the innermost last
	shares []string

	places  map[string][]string // the texts of the elements that are used, by the variable or parameter in which they are
	changed map[string]bool     // variables that are assigned to after their declaration
}

func (p *Package) program() *program {
	p.names, p.taken = map[string]string{}, map[string]bool{}
	g := &program{own: p, pkg: p, known: map[*Package]bool{}, took: map[*Package]bool{}, context: types.NewContext(), decls: map[*types.Func]*ast.FuncDecl{}, kernels: map[*types.Func]bool{}, functions: map[*types.Func][]*function{},
		typed: map[string]bool{}, structs: map[string]string{}, needed: map[string]bool{}}
	g.declare(p)
	for _, decl := range p.marked() {
		if obj, ok := p.info.Defs[decl.Name].(*types.Func); ok {
			g.kernels[obj] = true
		}
	}
	for _, obj := range p.info.Uses {
		if obj.Pkg() != nil && obj.Pkg().Path() == gridPath && (obj.Name() == "Barrier" || obj.Name() == "Shared") {
			g.barriers = true
		}
	}
	return g
}

// function translates a function, or returns its translation. spaces are the kinds of memory that
// its parameters point to.
func (p *program) function(obj *types.Func, args []types.Type, spaces []space, pos token.Pos) *function {
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
	case decl == nil && obj.Pkg() != nil && obj.Pkg() != p.pkg.types:
		refuse(pos, "%s is a function of another package; write one in this package, and call that", obj.FullName())
	case decl == nil || decl.Body == nil:
		refuse(pos, "%s has no body in Go; write one", obj.Name())
	case p.pkg.constrained[p.pkg.Fset.Position(decl.Pos()).Filename]:
		refuse(pos, "%s is in a file that some builds leave out, because of a build constraint, its name, or cgo, and the generated file is in all; "+
			"move it to another file", obj.Name())
	}
	f := &function{p: p, decl: decl, kernel: p.kernels[obj], busy: true, spaces: spaces, given: args, args: map[*types.TypeParam]types.Type{},
		vars: map[types.Object]*variable{}, used: map[string]bool{}, places: map[string][]string{}, changed: map[string]bool{}, inside: map[*types.Named]bool{}, depth: 1}
	p.functions[obj.Origin()] = append(p.functions[obj.Origin()], f)
	defer func() { f.busy = false }()
	f.c = mangle("f_", strings.ReplaceAll(obj.Name(), ".", "_"))
	if f.kernel {
		f.c = mangle("k_", obj.Name())
	}
	for i := 1; p.needed[f.c]; i++ {
		f.c = fmt.Sprintf("%s_%d", mangle("f_", obj.Name()), i)
	}
	p.needed[f.c] = true

	p.uses(p.pkg.types)
	p.usedIn(p.pkg, decl)
	for _, e := range p.pkg.errs {
		if e.Pos >= decl.Pos() && e.Pos < decl.End() {
			p.note(e.Pos, e.Msg)
			f.broken = true
		}
	}
	if f.broken {
		return f
	}
	before := len(p.errs)
	p.try(func() { f.signature(obj, args, spaces) })
	if len(p.errs) == before {
		f.body()
	}
	f.broken = len(p.errs) > before
	if !f.broken {
		p.try(func() { p.texts = append(p.texts, f.text()) })
	}
	return f
}

// signature declares parameters and results.
func (f *function) signature(obj *types.Func, args []types.Type, spaces []space) {
	sig := obj.Origin().Type().(*types.Signature)
	list := sig.TypeParams()
	if sig.Recv() != nil {
		list = sig.RecvTypeParams()
	}
	for i := range list.Len() {
		if i >= len(args) {
			refuse(f.decl.Pos(), "type arguments of %s are not known", obj.Name())
		}
		f.args[list.At(i)] = args[i]
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
	for i, v := range vars {
		f.parameter(v, i, spaces)
	}
	for v := range sig.Results().Variables() {
		t := f.substitute(v.Type())
		f.p.cType(t, v.Pos())
		f.results = append(f.results, t)
		if v.Name() != "" {
			f.named = append(f.named, f.declare(v, t))
		}
	}
	switch len(f.results) {
	case 0:
		f.resultT = "void"
	case 1:
		f.resultT = f.p.cType(f.results[0], f.decl.Pos())
	default:
		f.resultT = "R_" + f.c
		text := "typedef struct {"
		for i, t := range f.results {
			text += fmt.Sprintf(" %s r%d;", f.p.cType(t, f.decl.Pos()), i)
		}
		f.p.types = append(f.p.types, text+" } "+f.resultT+";")
	}
}

func (f *function) parameter(v *types.Var, i int, spaces []space) {
	t := f.substitute(v.Type())
	m := &param{name: v.Name(), pos: v.Pos(), typ: t, out: gridType(t, "Out") || gridType(t, "OutMatrix")}
	switch u := t.Underlying().(type) {
	case *types.Slice:
		m.kind, m.space = slice, global
		if _, inner := u.Elem().Underlying().(*types.Slice); inner {
			refuse(v.Pos(), "%s", why(t))
		}
		f.element(u.Elem(), v.Pos())
		if f.kernel {
			f.own(u.Elem(), v.Pos())
		}
	case *types.Pointer:
		m.kind, m.space = pointer, private
		if i < len(spaces) {
			m.space = spaces[i]
		}
		if f.kernel {
			refuse(v.Pos(), "a kernel cannot have a pointer parameter; use a slice, which may have one element")
		}
		f.p.cType(u.Elem(), v.Pos())
	default:
		if gridType(t, "Thread") {
			m.kind = thread
			break
		}
		if of := matrixOf(t); of != nil {
			m.kind, m.space = matrix, global
			f.element(of, v.Pos())
			if f.kernel {
				f.own(of, v.Pos())
			}
			break
		}
		f.p.cType(t, v.Pos())
	}
	if f.kernel {
		if (i == 0) != (m.kind == thread) {
			refuse(v.Pos(), "the first parameter of a kernel, and only the first, must be a grid.Thread")
		}
		if m.kind == value {
			f.wire(t, v.Pos(), true)
		}
		if m.kind != thread {
			shown := t
			if m.kind == slice || m.kind == matrix {
				shown = elem(m)
			}
			f.importable(shown, v.Pos())
		}
		f.passed(m)
	}
	f.params = append(f.params, m)
	w := &variable{kind: m.kind, space: m.space, typ: t, param: m}
	m.v = w
	name := v.Name()
	if name == "" || name == "_" {
		name = fmt.Sprintf("_%d", i)
	}
	w.c = f.name(name)
	f.vars[v] = w
}

// mostPassed is how many bytes of arguments a kernel may have. CUDA passes 4096, and HALYARD_CHECK=bounds needs 8 of them. With more, no
// kernel of the package could be loaded.
const mostPassed = 4096 - 8

// passed counts the bytes of a kernel's arguments.
func (f *function) passed(m *param) {
	n := int64(16) // the address and the length of a slice
	switch m.kind {
	case thread:
		return
	case matrix:
		n = 24
	case value:
		n = sizes.Sizeof(m.typ)
	}
	if n > mostPassed {
		refuse(m.pos, "%s has %d bytes, and a kernel's arguments have at most %d in all; pass it in a slice", m.name, n, mostPassed)
	}
	if f.bytes += (n + 7) &^ 7; f.bytes > mostPassed {
		refuse(m.pos, "the arguments up to %s have %d bytes, and a kernel's arguments have at most %d in all; pass some in a slice", m.name, f.bytes, mostPassed)
	}
}

// wire refuses types that a launch cannot pass by value.
func (f *function) wire(t types.Type, pos token.Pos, whole bool) {
	switch u := t.Underlying().(type) {
	case *types.Basic:
		if (u.Kind() == types.Int || u.Kind() == types.Uint) && !whole {
			refuse(pos, "a structure that is passed to a kernel must have fields of fixed width; use int32 or int64")
		}
	case *types.Array:
		f.wire(u.Elem(), pos, false)
	case *types.Struct:
		for i := range u.NumFields() {
			if u.Field(i).Name() == "_" {
				refuse(pos, "a structure that is passed to a kernel cannot have a field _; give the field a name")
			}
			f.wire(u.Field(i).Type(), pos, false)
		}
	}
	f.own(t, pos)
}

// own refuses types of other packages that the function which launches the kernel cannot name.
func (f *function) own(t types.Type, pos token.Pos) {
	var name *types.TypeName // as it is printed, which may be an alias
	switch t := t.(type) {
	case *types.Alias:
		name = t.Obj()
	case *types.Named:
		name = t.Obj()
	}
	if name != nil && name.Pkg() != f.p.own.types && name.Pkg() != nil && !name.Exported() {
		refuse(pos, "type %s belongs to another package, which does not export it; declare a type in this package", t)
	}
}

// body translates the function's statements.
func (f *function) body() {
	for _, v := range f.named {
		f.line("%s %s = %s;", f.p.cType(v.typ, f.decl.Pos()), v.c, zero(v.typ))
	}
	if f.kernel {
		if f.launch = f.p.launches[f.decl.Name.Name]; f.launch != nil {
			f.looped.most, f.looped.from, f.looped.at = f.launch.Rounds()
		}
		f.declareShared()
	}
	list := f.decl.Body.List
	if f.kernel {
		list = f.list()
	}
	f.statements(list)
	if f.kernel {
		f.split()
		if f.looped.most != nil {
			f.line("GO_LOOPED")
		}
		for _, m := range f.params {
			if m.out && !m.written && len(f.p.errs) == 0 {
				f.p.note(m.pos, fmt.Sprintf("%s is a grid.Out, and the kernel does not write it; write every element, or make it a []T", m.name))
			}
		}
	}
}

// text returns the C text of the function. A kernel changes a copy of a structure that it is passed: PoCL 3.1 keeps one for all threads.
func (f *function) text() string {
	var params, copies []string
	for _, m := range f.params {
		c := m.v.c
		constant := "const "
		if m.written {
			constant = ""
		}
		switch m.kind {
		case thread:
		case slice:
			elem := m.typ.Underlying().(*types.Slice).Elem()
			params = append(params, fmt.Sprintf("%s%s%s *%s, i64 %s_n", constant, m.space, f.p.cType(elem, m.pos), c, c))
		case matrix:
			params = append(params, fmt.Sprintf("%s%s%s *%s, i64 %s_n, i64 %s_m", constant, m.space, f.p.cType(matrixOf(m.typ), m.pos), c, c, c))
		case pointer:
			elem := m.typ.Underlying().(*types.Pointer).Elem()
			params = append(params, fmt.Sprintf("%s%s%s *%s", constant, m.space, f.p.cType(elem, m.pos), c))
			if m.space == local {
				f.p.needLocal()
			}
		default:
			t := f.p.cType(m.typ, m.pos)
			if _, ok := numberOf(m.typ); !ok && f.kernel && m.written {
				copies = append(copies, fmt.Sprintf("\t%s %s = v_%s;\n", t, c, c))
				c = "v_" + c
			}
			params = append(params, t+" "+c)
		}
	}
	body := strings.Join(slices.Concat(f.shares, copies, f.lines), "")
	for _, m := range f.params {
		begin, end := once(m.v.c)
		if m.written {
			body = strings.NewReplacer(begin, "GO_ONCE(", end, ")").Replace(body)
		} else {
			body = strings.NewReplacer(begin, "", end, "").Replace(body)
		}
	}
	for memory := range f.places {
		begin, end := once(stored + memory)
		if f.mixed(memory) {
			again := fmt.Sprintf("GO_ONCE(%s) = %[1]s;\n", memory)
			if !f.kernel && slices.ContainsFunc(f.params, func(m *param) bool { return m.kind == value && m.v.c == memory }) {
				body = "\t" + again + body
			}
			declared := regexp.MustCompile(`(?m)^(\t*)T_\w+ ` + memory + ` = .*;\n`)
			body = declared.ReplaceAllString(body, "${0}${1}"+again)
			body = strings.NewReplacer(begin, "GO_ONCE(", end, ")").Replace(body)
		} else {
			body = strings.NewReplacer(begin, "", end, "").Replace(body)
		}
	}
	head := "FUNCTION " + f.resultT
	if f.kernel {
		head = "KERNEL void"
	}
	list := strings.Join(params, ", ")
	if f.kernel {
		f.checks = true // so that all kernels take the same arguments
	}
	switch {
	case f.checks && len(params) == 0:
		list = "GO_FAULTS_ALONE"
	case f.checks:
		list += " GO_FAULTS"
	case len(params) == 0:
		list = "void"
	}
	return fmt.Sprintf("%s %s(%s) {\n%s}\n", head, f.c, list, body)
}

// name returns a C name for a variable that no other variable of the function has.
func (f *function) name(name string) string {
	c := mangle("h_", name)
	for i := 1; f.used[c] || f.used[c+"_n"] || f.used[c+"_m"]; i++ {
		c = fmt.Sprintf("%s_%d", mangle("h_", name), i)
	}
	f.used[c], f.used[c+"_n"], f.used[c+"_m"] = true, true, true
	return c
}

// temp returns a name for a variable that the translation adds.
func (f *function) temp() string {
	f.temps++
	return fmt.Sprintf("v_%d", f.temps)
}

// line writes a line.
func (f *function) line(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if !f.float64.IsValid() && slices.ContainsFunc(word.FindAllString(text, -1), isWide) {
		f.float64 = f.at
	}
	f.lines = append(f.lines, strings.Repeat("\t", f.depth)+text+"\n")
}

// capture returns the lines that fn writes, instead of adding them to the function's lines.
func (f *function) capture(fn func()) []string {
	before := f.lines
	f.lines = nil
	defer func() { f.lines = before }()
	fn()
	return f.lines
}

func (f *function) write(lines []string) { f.lines = append(f.lines, lines...) }

// declare adds a C variable for a Go variable of type t.
func (f *function) declare(obj types.Object, t types.Type) *variable {
	f.p.cType(t, obj.Pos())
	v := &variable{c: f.name(obj.Name()), typ: t}
	f.vars[obj] = v
	return v
}
