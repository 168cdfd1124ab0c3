package translate

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/format"
	"go/token"
	"go/types"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-halyard/halyard/internal/translate/load"
)

// A kernel without barriers gets a second function for the host, in a file that only Go 1.27 with GOEXPERIMENT=simd builds. It runs the front threads
// of a row as vectors, and leaves the others to the row's loop. A lane of a vector is a thread. What is the same for the whole row stays scalar Go.
// An index must be the thread's place plus something that is the same for the row, so that the elements of the lanes are neighbours; this is for the
// threads that inner, too, finds. The last vector of a row may run threads of the one before again, if no thread loads what is stored. Where threads
// differ in what they run, all of it runs, each part for the lanes of a mask.
//
// The result has the bits of the row's loop. In the loop a thread's stores come before the loads of the next thread. With vectors they come after
// those of the same vector. So before the first thread the function looks whether the elements that a lane stores are another lane's in memory, and
// leaves such a row to the loop. Whatever could panic, it leaves to the loop as well, and it asks before the first store: an index is within its
// slice, or the function returns.
//
// Stores to elements of arrays at indexes that differ between threads run thread by thread in between; if one of these panics, another thread's panic may
// be told than in the loop.
//
// What does not fit is a reason to have no such function for a kernel; see [Output.Loops].

// vectors is the function for a kernel.
type vectors struct {
	hook    string // the variable through which it is called
	typ     string // of it
	name    string
	imports map[string]string
	text    string
	fused   bool // where Go fuses x*y + z, the row's loop gives other bits
}

// laneWriter writes the function of one kernel. Which variables differ between lanes, and how wide a lane is, is found by trying: a try that learns of
// one more starts again.
type laneWriter struct {
	w       *rowWriter
	p       *Package
	row     *rows
	part    *part                 // if the function is for a phase
	bits    int                   // of a lane
	differs map[string]bool       // variables that differ between lanes, and loops and functions that lanes leave at different times
	whole64 map[types.Object]bool // variables that need all bits of an int
	again   bool                  // this try has learnt something
	names   map[string]bool
	imports map[string]string
	fused   bool // a product of floats is not converted, so that Go may fuse it with a sum

	// of a try
	lines     []laneLine
	frozen    map[string]bool   // variables of Go that keep their value
	hoisted   []laneLine        // vectors that are the same in the whole function
	named     map[string]string // their names
	views     []laneView
	spread    []laneSpread
	whole     []string                    // slices of which any element may be loaded
	loads     []string                    // slices of which elements are loaded
	rows      map[*ast.Ident]types.Object // rows of matrices, as slices
	spans     map[string]string           // the names of those that are known before the threads run, by text
	late      map[types.Object]string     // the others, and the text of the matrix's elements
	nested    []laneNested                // elements of arrays, which are elements of slices
	columns   map[string][]laneValue      // arrays that are in vectors already, by the text that they have in the kernel
	times     int                         // how often the loops around what is written next run, or a guess
	gains     int                         // operations on vectors, as often as they run
	costs     int                         // how many such operations it takes to make the loads and stores of elements that are apart worth while
	costsAt   token.Pos                   // the first of these
	unrolling bool                        // the rounds of a loop are written one after the other
	below     map[types.Object]string     // variables whose values, in the lanes that run, are not negative and below this number
	fits      []string                    // conditions under which the row is left to the loop
	inside    []string                    // lines that leave out threads at an end of the row, for which a comparison is not as for the others
	stored    bool                        // a store may come before what is written next
	from, to  string
	count     string
	end       string
	at, x     string // where the vector begins: in the views, and in the grid
	xs        string // the places of its threads
	label     string
	path      string // of the calls around, which tells variables of two calls of a function apart
	calls     []*types.Func
	vars      map[types.Object]*laneVar
	depth     []narrowing
	active    string // the mask of the lanes that run what is written next, or "" for all
	scope     *leaving
	indexing  bool      // an index is being written
	last      bool      // the statement is the last of a function
	pos       token.Pos // of the statement
}

// laneLine is a line of the function, and the statement that it is from.
type laneLine struct {
	text string
	pos  token.Pos
	name string // the variable that the line assigns to, and nothing else
	head bool   // it begins a loop, too
	keep bool   // it is needed if no other line uses the variable, and only then
	raw  bool   // it is several lines, with line numbers of their own
	sets string // the text's beginning, with variables of the kernel for which the function's of the same name are not used
}

// laneView is a part of a slice, of one element for each thread from the first on.
type laneView struct {
	name, slice, offset string
	stored              bool
}

// laneSpread is elements of a slice that are the same distance apart: the place of each thread, times step, plus offset.
type laneSpread struct {
	slice  string
	step   int64
	offset affine
	stored bool
	pos    token.Pos
}

// laneVar is a variable of the kernel, or of a function that it calls.
type laneVar struct {
	name  string
	key   string
	how   how
	step  string // of leads
	depth int    // how many narrowings were around its declaration
	basic types.BasicKind
	exact constant.Value // of a constant
	still bool           // as that of its value
	small bool           // an int of which a lane holds the low 32 bits
}

// how is in what way a value depends on the thread.
type how int

const (
	alike  how = iota // all threads of the row have it
	leads             // an int: a number that all threads have, plus the number of the lane times a step; its text is the number for lane 0
	differ            // each lane has its own; its text is a vector, or a mask for a bool
)

// laneValue is the value of an expression.
type laneValue struct {
	text  string
	how   how
	step  string // of leads: the number by which lanes differ, a text that means the same everywhere, or "" for 1
	basic types.BasicKind
	exact constant.Value // of a constant
	still bool           // all threads of all vectors have it, and its text can stand before the first of them
}

// narrowing is a place from which fewer lanes run: those that are left out may come back, and would see what was assigned since.
type narrowing string

// leaving is what lanes may leave before its end: a function or a loop.
type leaving struct {
	outer *leaving
	loop  bool
	key   string
	mask  string // the variable with the lanes that have not left
	awake string // the variable with those of them that have not left this round of the loop
	start string // what active was at the start of a round
	exits int    // how often lanes have left it

	post  bool       // of a loop: a continue can be one of Go, because the loop's last statement is in its head
	after []laneLine // else the lines of this statement

	kind   types.BasicKind // of the result of a function
	result *laneVar        // the result, if lanes return at different places
	value  *laneValue      // the result, if all return at the end
}

// refusal is the value of a panic that ends a try, because something does not become vector code.
type refusal struct {
	pos  token.Pos
	text string
}

func refuse(pos token.Pos, format string, args ...any) {
	panic(refusal{pos, fmt.Sprintf(format, args...)})
}

// tryAgain is the value of a panic that ends a try early.
type tryAgain struct{}

// vectors returns the function for a kernel, or the reason why it has none.
func (p *Package) vectors(f *function, row *rows) (v *vectors, why *load.Error) {
	no := func(pos token.Pos, format string, args ...any) (*vectors, *load.Error) {
		return nil, p.ErrorAt(pos, format, args...)
	}
	if row == nil {
		return nil, f.noRow
	}
	if f.together {
		if row.noVectors == nil {
			return no(f.decl.Pos(), "nothing between the barriers of this kernel is for all threads")
		}
		return nil, row.noVectors
	}
	return p.vectorsOf(f, row, nil)
}

// vectorsOf returns the function for a kernel, or for a part of one, or the reason why it has none.
func (p *Package) vectorsOf(f *function, row *rows, of *part) (v *vectors, why *load.Error) {
	no := func(pos token.Pos, format string, args ...any) (*vectors, *load.Error) {
		return nil, p.ErrorAt(pos, format, args...)
	}
	if at := p.open(f.decl); at.IsValid() {
		return no(at, "what has the type of a type parameter has no vector code")
	}
	w := row.writer
	if w.hidden || w.hidesGrid {
		return no(w.hiddenAt, "this name hides one that the generated file uses; rename it")
	}
	for _, name := range laneImports {
		parameter := slices.ContainsFunc(f.params, func(m *param) bool { return m.name == name })
		if p.Types.Scope().Lookup(name) != nil || parameter {
			return no(f.decl.Pos(), "%s is a package that the generated file imports; rename what has this name", name)
		}
	}
	w.settle()
	l := &laneWriter{w: w, p: p, row: row, part: of, bits: 32, differs: map[string]bool{}, whole64: map[types.Object]bool{}, fused: p.fuses(f.decl)}
	for range 64 { // each try knows more than the one before; programs need a few
		var r refusal
		v, r = l.try()
		if r.text != "" {
			return no(r.pos, "%s", r.text)
		}
		if v != nil {
			return v, nil
		}
	}
	return no(f.decl.Pos(), "this kernel has too many variables that differ between threads")
}

// fuses reports whether a function has a product of floats that is not rounded by a conversion. Products of products, and those that are divided or
// compared, are not added to anything.
func (p *Package) fuses(decl *ast.FuncDecl) (found bool) {
	isFloat := func(e ast.Expr) bool {
		n, ok := numberOf(p.Info.TypeOf(e))
		return ok && n.float && p.Info.Types[e].Value == nil
	}
	rounded := map[ast.Expr]bool{}
	ast.Inspect(decl.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if p.Info.Types[n.Fun].IsType() && len(n.Args) == 1 && isFloat(n) {
				rounded[ast.Unparen(n.Args[0])] = true
			}
		case *ast.BinaryExpr:
			if n.Op != token.ADD && n.Op != token.SUB {
				rounded[ast.Unparen(n.X)], rounded[ast.Unparen(n.Y)] = true, true
			}
			found = found || n.Op == token.MUL && isFloat(n) && !rounded[n]
		case *ast.AssignStmt:
			found = found || n.Tok == token.MUL_ASSIGN && isFloat(n.Lhs[0])
		}
		return !found
	})
	return found
}

// settle notes the values of all variables that are never changed, those in loops too.
func (w *rowWriter) settle() {
	maps.DeleteFunc(w.known, func(v types.Object, _ ast.Expr) bool { return w.writes[v] })
	ast.Inspect(w.f.decl.Body, func(n ast.Node) bool {
		if a, ok := n.(*ast.AssignStmt); ok && a.Tok == token.DEFINE && len(a.Lhs) == len(a.Rhs) {
			for i, e := range a.Lhs {
				if id, ok := e.(*ast.Ident); ok && w.p.Info.Defs[id] != nil && !w.writes[w.p.Info.Defs[id]] {
					w.known[w.p.Info.Defs[id]] = a.Rhs[i]
				}
			}
		}
		return true
	})
}

// try writes the function. It returns nil if it has learnt something that the next try needs.
func (l *laneWriter) try() (v *vectors, r refusal) {
	defer func() {
		switch found := recover().(type) {
		case nil:
		case refusal:
			if v, r = nil, found; l.again {
				r = refusal{}
			}
		case tryAgain:
			v, r = nil, refusal{}
		default:
			panic(found)
		}
	}()
	w := l.w
	l.again, l.lines, l.hoisted, l.named, l.frozen = false, nil, nil, map[string]string{}, map[string]bool{}
	l.views, l.spread, l.whole, l.fits, l.inside, l.stored, l.path, l.calls = nil, nil, nil, nil, nil, false, "", nil
	l.pos = w.f.decl.Pos()
	l.loads, l.nested, l.columns, l.below = nil, nil, map[string][]laneValue{}, map[types.Object]string{}
	l.rows, l.spans, l.late = map[*ast.Ident]types.Object{}, map[string]string{}, map[types.Object]string{}
	l.times, l.gains, l.costs, l.unrolling = 1, 0, 0, false
	l.vars, l.depth, l.active, l.last, l.indexing = map[types.Object]*laneVar{}, nil, "", false, false
	l.names, l.imports = map[string]bool{w.row: true}, map[string]string{}
	params, kinds, args := l.parameters()
	l.from, l.to, l.count, l.at = l.fresh("from"), l.fresh("to"), l.fresh("count"), l.fresh("at")
	l.x, l.xs, l.label, l.end = l.fresh("x"), l.fresh("xs"), l.fresh("vectors"), l.fresh("end")
	l.frozen[l.x] = true
	for _, obj := range w.params {
		if obj == nil || obj == w.thread || obj.Name() == "_" {
			continue
		}
		b, isNumber := obj.Type().Underlying().(*types.Basic)
		if !w.writes[obj] {
			if isNumber {
				l.vars[obj] = &laneVar{name: obj.Name(), basic: b.Kind(), key: "parameter", still: l.part == nil || l.part.rounds == nil || obj.Name() != l.part.rounds.round}
				_, named := types.Unalias(obj.Type()).(*types.Named)
				l.frozen[obj.Name()] = !named
			}
			continue
		}
		if !isNumber {
			refuse(l.writtenAt(obj), "%s is changed; use a variable of the kernel", obj.Name())
		}
		l.declare(obj, laneValue{text: basicText(b.Kind(), obj.Name()), basic: b.Kind()}) // each thread begins with what was passed
	}
	l.scope = &leaving{key: "kernel"}
	l.leavable(l.scope)
	l.block(w.f.decl.Body.List)
	if l.again {
		return nil, refusal{}
	}
	l.own()
	if l.costs > l.gains && !l.p.allVectors {
		refuse(l.costsAt, "the kernel computes so little with elements that are apart that loading and storing them would take longer than vectors save")
	}
	stores := slices.ContainsFunc(l.views, func(v laneView) bool { return v.stored }) || slices.ContainsFunc(l.nested, func(n laneNested) bool { return n.stored })
	if !stores && !slices.ContainsFunc(l.spread, func(v laneSpread) bool { return v.stored }) {
		refuse(w.f.decl.Pos(), "this kernel stores nothing at its threads' places")
	}
	if l.part != nil {
		n := 1
		for p := l.row.name; l.p.names[fmt.Sprintf("hook %sPhase%dVectors", p, n)] != ""; n++ {
		}
		phase := fmt.Sprintf("%sPhase%d", l.row.name, n)
		hook, name := l.p.free("hook", phase+"Vectors"), l.p.free("vectors", phase+"Lanes")
		result := "bool"
		if l.part.rounds != nil {
			kinds, result = kinds+", int, int", "int"
		}
		return &vectors{hook, fmt.Sprintf("func(%s, int) %s", strings.TrimPrefix(kinds, ", "), result), name, l.imports, l.partFunction(name, params), l.fused}, refusal{}
	}
	kernel := strings.TrimRight(strings.TrimSuffix(l.row.name, "_"), "_")
	kernel = strings.TrimSuffix(kernel, "Row")
	hook, name := l.p.free("hook", kernel+"Vectors", l.w.f.argNames...), l.p.free("vectors", kernel+"Lanes", l.w.f.argNames...)
	return &vectors{hook, fmt.Sprintf("func(grid.Row%s) grid.Row", kinds), name, l.imports, l.function(name, params, args), l.fused}, refusal{}
}

// parameters returns the function's parameters, their types, and the arguments of a call with the same, each with a comma in front.
func (l *laneWriter) parameters() (params, kinds, args string) {
	for i, m := range l.w.f.params {
		if m.kind == thread {
			continue
		}
		label := m.name
		if label == "" || label == "_" {
			label = l.w.f.argNames[i]
		}
		l.names[label] = true
		params += ", " + label + " " + l.p.typeName(m.typ)
		kinds += ", " + l.p.typeName(m.typ)
		args += ", " + label
	}
	return params, kinds, args
}

// function returns the text of the function around the lines.
func (l *laneWriter) function(name, params, args string) string {
	w := l.w
	var b strings.Builder
	fmt.Fprintf(&b, "// %s runs the front threads of a row as vectors, and returns the rest of the row.\nfunc %[1]s(%[2]s grid.Row%[3]s) grid.Row {\n", name, w.row, params)
	end := w.row + ".End"
	for _, m := range l.row.limits {
		if m.dim == 0 {
			end = fmt.Sprintf("min(%s, %s)", end, m.limit)
		} else {
			fmt.Fprintf(&b, "if %s.%s >= %s {\nreturn %[1]s\n}\n", w.row, dims[m.dim], m.limit)
		}
	}
	head := b.String()
	b.Reset()
	fmt.Fprintf(&b, "%s, %s := %s.First(), %s\n", l.from, l.to, w.row, end)
	for _, v := range l.views {
		fmt.Fprintf(&b, "%[1]s, %[2]s = grid.Within(%[1]s, %[2]s, %[3]s, len(%[4]s))\n", l.from, l.to, v.offset, v.slice)
	}
	for _, v := range l.spread {
		fmt.Fprintf(&b, "%[1]s, %[2]s = lanes.Within(%[1]s, %[2]s, %[3]d, %[4]s, len(%[5]s))\n", l.from, l.to, v.step, v.offset.text(), v.slice)
	}
	for _, edge := range l.row.edges {
		fmt.Fprintf(&b, "%[1]s, %[2]s = grid.Without(%[1]s, %[2]s, %[3]s)\n", l.from, l.to, edge)
	}
	for _, line := range l.inside {
		b.WriteString(line)
	}
	wide := fmt.Sprintf("lanes.Lanes%d().Len()", l.bits)
	scalar := slices.Concat([]string{fmt.Sprintf("%s-%s < %s", l.to, l.from, wide)}, l.row.never, l.fits)
	fmt.Fprintf(&b, "if %s {\nreturn %s\n}\n", strings.Join(scalar, " || "), w.row)
	fmt.Fprintf(&b, "%s := %s - %s\n", l.count, l.to, l.from)
	lines, apart := l.needed(), strings.Join(l.apart(), " || ")
	for _, v := range l.views {
		if mentioned(lines, v.name) || mentions(apart, v.name) {
			fmt.Fprintf(&b, "%s := %s[%s+%s:][:%s]\n", v.name, v.slice, l.from, parenthesized(v.offset), l.count)
		}
	}
	if apart != "" {
		fmt.Fprintf(&b, "if %s {\nreturn %s // a thread uses what another one stores\n}\n", apart, w.row)
	}
	fmt.Fprintf(&b, "%s(%s.Until(%s)%s)\n", l.row.name, w.row, l.from, args)
	b.WriteString(l.before(lines))
	fmt.Fprintf(&b, "%s := 0\n", l.at)
	never, twice := l.twice()
	if twice {
		b.WriteString("for {\n")
	}
	if mentioned(lines, l.label) {
		fmt.Fprintf(&b, "%s:\n", l.label)
	}
	fmt.Fprintf(&b, "for ; %s <= %s-%s; %[1]s += %[3]s {\n", l.at, l.count, wide)
	fmt.Fprintf(&b, "%s%s}\n", l.places(lines, l.from+" + "+l.at), l.withLines(lines))
	if twice {
		fmt.Fprintf(&b, "if %s {\nbreak\n}\n", strings.Join(append([]string{fmt.Sprintf("%s == %s", l.at, l.count)}, never...), " || "))
		fmt.Fprintf(&b, "%s = %s - %s // some threads run again, to the same effect\n}\n", l.at, l.count, wide)
	}
	fmt.Fprintf(&b, "return %s.From(%s + %s)\n}\n", w.row, l.from, l.at)
	return head + l.rowsOf(b.String()) + b.String()
}

// withLines returns the text of lines with the line numbers of the kernel's file.
func (l *laneWriter) withLines(lines []laneLine) string {
	var b strings.Builder
	file, line := "", 0
	for _, t := range lines {
		if t.raw {
			b.WriteString(t.text + "\n")
			file = ""
			continue
		}
		if pos := l.p.Fset.Position(t.pos); t.text[0] != '}' && (filepath.Base(pos.Filename) != file || pos.Line != line) {
			file, line = filepath.Base(pos.Filename), pos.Line
			fmt.Fprintf(&b, "//line %s:%d\n", file, line)
		}
		b.WriteString(t.text + "\n")
		line++
	}
	b.WriteString(backHere + "\n")
	return b.String()
}

// needed returns the lines without those that only assign to variables that no other line uses: Go refuses such variables.
func (l *laneWriter) needed() []laneLine {
	lines := slices.Clone(l.lines)
	for {
		unused := map[string]bool{}
		for _, t := range lines {
			if t.name != "" && !t.keep && !t.head && !slices.ContainsFunc(lines, func(o laneLine) bool { return o.name != t.name && o.mentions(t.name) }) {
				unused[t.name] = true
			}
		}
		before := len(lines)
		lines = slices.DeleteFunc(lines, func(t laneLine) bool { return unused[t.name] })
		if len(lines) == before {
			break
		}
	}
	return slices.DeleteFunc(lines, func(t laneLine) bool {
		return t.keep && slices.ContainsFunc(lines, func(o laneLine) bool { return o.name != t.name && o.mentions(t.name) })
	})
}

// mentions reports whether the line has the name. Statements of the kernel as they are have none of the function's: see island.
func (t laneLine) mentions(name string) bool {
	if t.sets != "" {
		return mentions(strings.TrimPrefix(t.text, t.sets), name)
	}
	return !t.raw && mentions(t.text, name)
}

// places returns the lines that declare the place of a vector's first thread, and those of all its threads, where lines use them.
func (l *laneWriter) places(lines []laneLine, first string) (text string) {
	all := mentioned(lines, l.xs)
	if all || mentioned(lines, l.x) {
		text = fmt.Sprintf("%s := %s\n", l.x, first)
	}
	if all {
		text += fmt.Sprintf("%s := lanes.Int%ds(%s)\n", l.xs, l.bits, l.x)
	}
	return text
}

// before returns the text of what lines use of l.hoisted.
func (l *laneWriter) before(lines []laneLine) (text string) {
	lines = slices.Clone(lines)
	for _, h := range slices.Backward(l.hoisted) {
		if mentioned(lines, h.name) {
			lines = append(lines, h)
			text = h.text + "\n" + text
		}
	}
	return text
}

func mentioned(lines []laneLine, name string) bool {
	return slices.ContainsFunc(lines, func(t laneLine) bool { return t.mentions(name) })
}

// mentions reports whether a name is a word of a text.
func mentions(text, name string) bool {
	for at := 0; ; {
		i := strings.Index(text[at:], name)
		if i < 0 {
			return false
		}
		i += at
		at = i + len(name)
		before, _ := utf8.DecodeLastRuneInString(text[:i])
		after, _ := utf8.DecodeRuneInString(text[at:])
		if part := func(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }; !part(before) && !part(after) && before != '.' {
			return true
		}
	}
}

// apart returns conditions under which a lane may use memory that another lane stores to.
func (l *laneWriter) apart() (found []string) {
	all := slices.Clone(l.whole)
	for _, v := range l.spread {
		all = append(all, v.slice)
	}
	all = unique(all)
	for i, s := range l.views {
		if !s.stored {
			continue
		}
		for j, v := range l.views {
			if i != j && !(v.stored && j < i) && !slices.Contains(all, v.slice) && !l.alone(s.slice, v.slice) {
				found = append(found, fmt.Sprintf("!lanes.Apart(%s, %s)", s.name, v.name))
			}
		}
		for _, slice := range all {
			if !l.alone(s.slice, slice) {
				found = append(found, fmt.Sprintf("!lanes.Disjoint(%s, %s)", s.name, slice))
			}
		}
	}
	for _, v := range l.views {
		all = append(all, v.slice)
	}
	for _, s := range l.nested {
		for _, slice := range unique(all) {
			if s.stored && slice != s.slice {
				found = append(found, fmt.Sprintf("!lanes.Disjoint(%s, %s)", s.slice, slice))
			}
		}
	}
	for _, s := range l.spread {
		if !s.stored {
			continue
		}
		for _, slice := range unique(all) {
			if slice != s.slice && !l.alone(s.slice, slice) {
				found = append(found, fmt.Sprintf("!lanes.Disjoint(%s, %s)", s.slice, slice))
			}
		}
	}
	return unique(found)
}

// twice reports whether threads may run twice, unless one of the conditions is true: no thread loads what it or another one has stored.
func (l *laneWriter) twice() (never []string, ok bool) {
	stored := map[string]bool{}
	for _, v := range l.views {
		stored[v.slice] = stored[v.slice] || v.stored
	}
	for _, v := range l.spread {
		stored[v.slice] = stored[v.slice] || v.stored
	}
	for _, n := range l.nested {
		stored[n.slice] = stored[n.slice] || n.stored
	}
	for _, s := range slices.Sorted(maps.Keys(stored)) {
		if !stored[s] {
			continue
		}
		for _, v := range l.loads {
			if v == s {
				return nil, false
			}
			if !l.alone(s, v) {
				never = append(never, fmt.Sprintf("!lanes.Disjoint(%s, %s)", s, v))
			}
		}
	}
	return unique(never), true
}

// alone reports whether two slices share no memory because one of them is not the program's.
func (l *laneWriter) alone(a, b string) bool {
	return l.part != nil && a != b && (slices.Contains(l.part.private, a) || slices.Contains(l.part.private, b))
}

// own refuses a kernel that stores elements with a step between them, if an element could be another thread's, too.
func (l *laneWriter) own() {
	l.ownNested()
	for _, s := range l.spread {
		if !s.stored {
			continue
		}
		for _, o := range l.spread {
			d := s.offset.minus(o.offset)
			alike := o.step == s.step && slices.Equal(s.offset.terms, o.offset.terms)
			if o.slice == s.slice && (!alike || max(d.plus, -d.plus) >= s.step) {
				refuse(s.pos, "threads may share elements of %s: the indexes of a slice that is stored to with a step must differ by "+
					"less than the step", s.slice)
			}
		}
		if slices.Contains(l.whole, s.slice) || slices.ContainsFunc(l.views, func(v laneView) bool { return v.slice == s.slice }) {
			refuse(s.pos, "threads may share elements of %s, which is indexed in another way, too", s.slice)
		}
	}
}

// writtenAt returns where a variable is changed.
func (l *laneWriter) writtenAt(obj types.Object) token.Pos {
	for _, c := range l.w.written {
		if c.v == obj {
			return c.pos
		}
	}
	return obj.Pos()
}

// fresh returns a name that no other variable of the function has, and neither the package nor Go.
func (l *laneWriter) fresh(name string) string {
	unique := name
	for i := 2; l.names[unique] || l.p.taken[unique] || l.p.Types.Scope().Lookup(unique) != nil || types.Universe.Lookup(unique) != nil ||
		generatedImports[unique] != "" || slices.Contains(laneImports, unique); i++ {
		unique = fmt.Sprintf("%s_%d", name, i)
	}
	l.names[unique] = true
	return unique
}

// Loads and stores of elements that are apart cost, beside those of the row's loop, about as much as so many operations on vectors save.
const (
	costOfGather  = 6
	costOfFour    = 16
	costOfScatter = 12
	gainOfRoot    = 4
)

// apartCosts notes a load or a store of elements that are apart.
func (l *laneWriter) apartCosts(cost int) {
	if l.costs == 0 {
		l.costsAt = l.pos
	}
	l.costs += cost * l.times * l.bits / 32 // a vector of longer numbers has fewer, and saves less
}

// laneImports are names of imports of the file with vector code that [generatedImports] does not have.
var laneImports = []string{"simd", "lanes", "math"}

// write adds a line.
func (l *laneWriter) write(format string, args ...any) {
	l.lines = append(l.lines, laneLine{text: fmt.Sprintf(format, args...), pos: l.pos})
}

// learn notes that something differs between lanes. The current try goes on, so that the next one knows more.
func (l *laneWriter) learn(key string) {
	if !l.differs[key] {
		l.differs[key], l.again = true, true
	}
}

// declare adds a variable, with its first value. A variable that is never changed has no line of its own if its value has a name already.
func (l *laneWriter) declare(obj types.Object, v laneValue) {
	b, ok := obj.Type().Underlying().(*types.Basic)
	if !ok {
		refuse(l.pos, "%s has type %s; only numbers and bools become vectors", obj.Name(), obj.Type())
	}
	n := &laneVar{basic: b.Kind(), depth: len(l.depth), key: fmt.Sprintf("%s%s@%d", l.path, obj.Name(), obj.Pos())}
	v.basic = b.Kind()
	l.vars[obj] = n
	written := l.path == "" && l.w.writes[obj] || l.path != "" && l.writtenIn(obj)
	if !written {
		n.exact = v.exact
	}
	// A constant keeps a variable of its own: in Go, what is computed with constants alone must not overflow.
	if !written && v.exact == nil && l.frozen[v.text] {
		n.name, n.how, n.step = v.text, v.how, v.step
		return
	}
	if written && v.how == differ {
		l.learn(n.key)
	}
	if l.differs[n.key] && l.isSmall(obj, nil) {
		n.small, n.basic, v = true, types.Int32, small(v)
	}
	n.name, n.how, n.step = l.fresh(obj.Name()), v.how, v.step
	l.frozen[n.name] = !written
	if l.differs[n.key] {
		n.how = differ
		v.text = l.vector(v)
	}
	if !written && v.how == alike && v.still && n.how == alike {
		l.hoisted = append(l.hoisted, laneLine{text: n.name + " := " + v.text, name: n.name})
		n.still = true
		return
	}
	l.put(n.name, ":=", v.text)
	if number := numbers[n.basic]; !written && n.how == alike && !number.truth && number.bits <= l.bits {
		// One vector of it serves all that follows.
		text := l.vector(laneValue{text: n.name, basic: n.basic})
		l.named[text] = l.fresh(n.name + "_all")
		l.put(l.named[text], ":=", text)
	}
}

// put writes a line that only assigns to a variable.
func (l *laneWriter) put(name, op, text string) {
	l.lines = append(l.lines, laneLine{text: name + " " + op + " " + text, pos: l.pos, name: name})
}

// writtenIn reports whether a called function changes a variable.
func (l *laneWriter) writtenIn(obj types.Object) (found bool) {
	decl := declOf(l.p.Package, l.calls[len(l.calls)-1])
	ast.Inspect(decl.Body, func(n ast.Node) bool {
		is := func(e ast.Expr) bool {
			id, ok := ast.Unparen(e).(*ast.Ident)
			return ok && l.p.Info.Uses[id] == obj
		}
		switch n := n.(type) {
		case *ast.AssignStmt:
			found = found || slices.ContainsFunc(n.Lhs, is)
		case *ast.IncDecStmt:
			found = found || is(n.X)
		case *ast.RangeStmt:
			found = found || n.Key != nil && is(n.Key)
		}
		return !found
	})
	return found
}

// declOf returns the declaration of a function of the package, or nil.
func declOf(p *load.Package, f *types.Func) *ast.FuncDecl {
	for _, file := range p.Files {
		for _, d := range file.Decls {
			if d, ok := d.(*ast.FuncDecl); ok && p.Info.Defs[d.Name] == f {
				return d
			}
		}
	}
	return nil
}

// assign changes a variable in the lanes that run.
func (l *laneWriter) assign(n *laneVar, v laneValue) {
	if n.key == "parameter" {
		refuse(l.pos, "%s is changed", n.name) // not reached: such a parameter is declared again
	}
	narrowed := len(l.depth) > n.depth
	if led := n.how == leads && v.how == leads && v.step == n.step; narrowed || !led && (v.how != alike || n.how == leads) {
		l.learn(n.key)
	}
	if n.how != differ {
		l.put(n.name, "=", v.text)
		return
	}
	l.put(n.name, "=", l.blend(l.vector(v), n, narrowed))
}

// blend returns the vector that has the lanes of a text where lanes run, and those of a variable elsewhere, if it is needed there.
func (l *laneWriter) blend(text string, n *laneVar, narrowed bool) string {
	switch {
	case !narrowed || l.active == "":
		return text
	case n.basic == types.Bool:
		return fmt.Sprintf("lanes.Choose%d(%s, %s, %s)", l.bits, l.active, text, n.name)
	}
	return fmt.Sprintf("%s.IfElse(%s, %s)", text, l.active, n.name)
}

func (l *laneWriter) without(m, n string) string {
	return fmt.Sprintf("lanes.Without%d(%s, %s)", l.bits, m, n)
}

func (l *laneWriter) any(m string) string { return fmt.Sprintf("lanes.Any%d(%s)", l.bits, m) }

// temp declares a variable of the function alone, and returns its name.
func (l *laneWriter) temp(name, text string) string {
	name = l.fresh(name)
	l.put(name, ":=", text)
	l.frozen[name] = true
	return name
}

// vectorOf returns the name of the vector type, without package, for values of a type.
func (l *laneWriter) vectorOf(kind types.BasicKind) string {
	l.lane(kind)
	if numbers[kind].truth {
		return fmt.Sprintf("Mask%ds", l.bits)
	}
	return l.vectorName(kind)
}

// lane asks for lanes that hold values of a type.
func (l *laneWriter) lane(kind types.BasicKind) {
	if n := numbers[kind]; !n.truth && n.bits > l.bits {
		l.bits, l.again = 64, true
		panic(tryAgain{})
	}
}

// widened reports whether a type has fewer bits than a lane. A lane holds such a number in its own bits: an integer with its sign, and a
// float32 as the float64 that it equals.
func (l *laneWriter) widened(kind types.BasicKind) bool {
	n := numbers[kind]
	return !n.truth && n.bits < l.bits
}

// ofType returns the name of a function of package lanes for a type that has fewer bits than a lane.
func (l *laneWriter) ofType(verb string, kind types.BasicKind) string {
	name := types.Typ[kind].Name()
	if l.bits == 64 {
		verb += "64"
	}
	return "lanes." + verb + strings.ToUpper(name[:1]) + name[1:]
}

func (l *laneWriter) vectorName(kind types.BasicKind) string {
	n := numbers[kind]
	switch {
	case n.float:
		return fmt.Sprintf("Float%ds", l.bits)
	case n.signed:
		return fmt.Sprintf("Int%ds", l.bits)
	}
	return fmt.Sprintf("Uint%ds", l.bits)
}

// vector returns the vector of a value, or the mask of a bool.
func (l *laneWriter) vector(v laneValue) string {
	if v.basic == types.Bool || v.basic == types.UntypedBool {
		if v.how == differ {
			return v.text
		}
		return fmt.Sprintf("lanes.Mask%d(%s)", l.bits, v.text)
	}
	if l.widened(v.basic) && v.how == alike {
		wide := l.wide(v.basic)
		if v.exact != nil && numbers[v.basic].float {
			f, _ := constant.Float32Val(v.exact)
			v.exact = constant.MakeFloat64(float64(f))
		}
		return l.broadcast(l.vectorName(v.basic), laneValue{text: basicText(wide, v.text), basic: wide, exact: v.exact, still: v.still})
	}
	name := l.vectorOf(v.basic)
	switch v.how {
	case differ:
		return v.text
	case leads: // int, so lanes have 64 bits
		if v.step != "" {
			return fmt.Sprintf("lanes.Steps(%s, %s)", v.text, v.step)
		}
		return fmt.Sprintf("lanes.Int64s(%s)", v.text)
	}
	if numbers[v.basic].bits == 64 && (v.basic == types.Int || v.basic == types.Uint) {
		v.text = basicText(map[types.BasicKind]types.BasicKind{types.Int: types.Int64, types.Uint: types.Uint64}[v.basic], v.text)
	}
	return l.broadcast(name, v)
}

// wide returns the type with as many bits as a lane that holds a narrower one.
func (l *laneWriter) wide(kind types.BasicKind) types.BasicKind {
	switch n := numbers[kind]; {
	case n.float:
		return types.Float64
	case n.signed && l.bits == 64:
		return types.Int64
	case n.signed:
		return types.Int32
	case l.bits == 64:
		return types.Uint64
	}
	return types.Uint32
}

// broadcast returns a vector with the same number in each lane. Vectors of numbers that all vectors have are made once.
func (l *laneWriter) broadcast(name string, v laneValue) string {
	if v.exact != nil { // the function's parameter gives it its type
		v.text = literal(v.exact, v.basic)
	}
	text := fmt.Sprintf("simd.Broadcast%s(%s)", name, v.text)
	switch was := l.named[text]; {
	case was != "":
		return was
	case v.exact != nil:
		return l.hoist("c", text)
	case v.still:
		return l.hoist("all", text)
	}
	return text
}

// hoist returns the name of a vector that is made once, before the first thread runs.
func (l *laneWriter) hoist(base, text string) string {
	if l.named[text] == "" {
		l.named[text] = l.fresh(fmt.Sprintf("%s%d", base, len(l.hoisted)))
		l.hoisted = append(l.hoisted, laneLine{text: l.named[text] + " := " + text, name: l.named[text]})
	}
	return l.named[text]
}

// basicText returns a conversion to a predeclared type.
func basicText(kind types.BasicKind, text string) string {
	return types.Typ[kind].Name() + "(" + text + ")"
}

// constantText returns a constant as Go text with its type.
func constantText(v constant.Value, kind types.BasicKind) string {
	kind = types.Default(types.Typ[kind]).(*types.Basic).Kind()
	if text := literal(v, kind); kind == types.Bool || kind == types.Int && text[0] != '-' {
		return text
	}
	return basicText(kind, literal(v, kind))
}

// literal returns a constant as Go text without a type.
func literal(v constant.Value, kind types.BasicKind) string {
	switch n := numbers[kind]; {
	case n.truth:
		return v.String()
	case n.float && n.bits == 32:
		f, _ := constant.Float32Val(v)
		return strconv.FormatFloat(float64(f), 'g', -1, 32)
	case n.float:
		f, _ := constant.Float64Val(v)
		return strconv.FormatFloat(f, 'g', -1, 64)
	}
	return constant.ToInt(v).ExactString()
}

// Loop says how the host runs a kernel.
type Loop struct {
	Kernel  string
	Pos     token.Position
	Vectors bool        // threads of a row, or of parts between barriers, run as vectors in builds with package simd
	Why     *load.Error // the first thing that keeps them, or those of another part, from it
}

// simdBuilds are the builds that have package simd. Its emulation is several times slower than scalar code, so other processors are left out.
const simdBuilds = "//go:build go1.27 && goexperiment.simd && (amd64 || arm64 || wasm)"

// simd returns the file with vector code, or nil if no kernel has any.
func (p *Package) simd(all []*vectors) ([]byte, error) {
	needed := map[string]string{}
	var b strings.Builder
	var hooks [2]string // the second are those that need that Go does not fuse
	for _, v := range all {
		if v != nil {
			for name, path := range v.imports {
				if mentions(v.text, name) { // else what needs it is not used
					needed[name] = path
				}
			}
			i := 0
			if v.fused {
				i = 1
			}
			hooks[i] += fmt.Sprintf("%s = %s\n", v.hook, v.name)
		}
	}
	if hooks[0]+hooks[1] == "" {
		return nil, nil
	}
	fmt.Fprintf(&b, "%s\n\n%s\n\npackage %s\n\nimport (\n", load.GeneratedBy, simdBuilds, p.Name)
	for _, path := range slices.Sorted(maps.Values(needed)) {
		fmt.Fprintf(&b, "\t%q\n", path)
	}
	b.WriteString("\t\"simd\"\n\n\t\"github.com/go-halyard/halyard/kernel/grid\"\n\t\"github.com/go-halyard/halyard/kernel/lanes\"\n)\n\n")
	b.WriteString("func init() {\n")
	for i, condition := range []string{"lanes.Hardware()", "lanes.Hardware() && !lanes.Fuses"} {
		if hooks[i] != "" {
			fmt.Fprintf(&b, "if %s {\n%s}\n", condition, hooks[i])
		}
	}
	b.WriteString("}\n")
	for _, v := range all {
		if v != nil {
			b.WriteString("\n" + v.text)
		}
	}
	src, err := format.Source([]byte(b.String()))
	if err != nil {
		return nil, fmt.Errorf("the generated file is not valid Go, which is a bug of halyard kernels: %w", err)
	}
	return numbered(src, load.SIMDName(p.Name)), nil
}
