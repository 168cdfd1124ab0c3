package translate

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-halyard/halyard/internal/translate/edges"
	"github.com/go-halyard/halyard/internal/translate/facts"
	"github.com/go-halyard/halyard/internal/translate/ir"
	"github.com/go-halyard/halyard/internal/translate/lanes"
	"github.com/go-halyard/halyard/internal/translate/load"
)

// rows is a function of the generated file that runs a kernel on the host, for the threads of a row of a block. It is a loop around the text of the
// kernel's body. In such a loop the compiler keeps values in registers that would otherwise be passed to a function for each thread. A thread's place
// is t.Global(d), its index along dimension d of the grid.
type rows struct {
	name    string
	args    string            // the arguments of its call, after the row
	plain   string            // the arguments of this call that are also those of the kernel
	kept    string            // the type of what a block keeps, "" if it keeps nothing
	imports map[string]string // imports that the body needs: paths by name
	text    string

	// of a kernel with barriers
	parts     []*lanes.Vectors // phases as vectors
	noVectors *load.Error      // why a phase has none
}

// rows returns the function for a kernel, or nil if none can be written, and why: for instance because a name in the body would mean something else there,
// or because the kernel uses the thread for more than its place.
func (p *Package) rows(f *function) (*rows, *load.Error) {
	w := p.writerOf(f)
	if f.together {
		if r := w.phases(); r != nil {
			return r, nil
		}
		w.no(f.decl.Pos(), "this kernel has barriers or shared memory, and cannot be divided at the barriers, which is a bug of halyard kernels")
		return nil, w.refused
	}
	if !w.survey() {
		return nil, w.noLoop()
	}
	body, ok := w.body(nil)
	if !ok {
		return nil, w.noLoop()
	}
	name := w.called("Row")
	params, args := w.parameters()
	row := w.edges()
	limits, results := w.limits(row)
	var b strings.Builder
	fmt.Fprintf(&b, "// %s runs %s for the threads of a row. It is a separate function, so that its caller's variables take no registers from the loop.\n//\n//go:noinline\n", name, f.decl.Name.Name)
	fmt.Fprintf(&b, "func %s%s(%s gridgen.Row%s) {\n", name, w.p.typeParams(w.f), w.row, params)
	end := w.end(&b, row, limits)
	copies := ""
	for _, m := range facts.Copied(f.made) { // each thread begins with what was passed
		copies += fmt.Sprintf("%[1]s := %[1]s\n_ = %[1]s\n", m.Name)
	}
	found := &rows{name: name, args: args, imports: w.imports}
	inner, within := w.inner(row, results), ""
	if inner != nil {
		if within, ok = w.body(inner); !ok {
			return nil, w.noLoop()
		}
		b.WriteString(inner.before(w, end))
	}
	if w.label != "" {
		fmt.Fprintf(&b, "%s:\n", w.label)
	}
	fmt.Fprintf(&b, "for %s := %s.First(); %s < %s; %s++ {\n", w.x, w.row, w.x, end, w.x)
	if inner != nil {
		b.WriteString(inner.begin(w, copies, within))
	}
	b.WriteString(copies + body)
	fmt.Fprintf(&b, "\n%s\n}\n}\n", backHere)
	found.text = b.String()
	return found, nil
}

// end writes the lines that apply the limits of a row, and returns the text of the place after the row's last thread.
func (w *rowWriter) end(b *strings.Builder, row *edges.Row, limits []edges.Limit) string {
	end := w.row + ".End"
	for _, l := range limits {
		if l.Dim == 0 {
			end = fmt.Sprintf("min(%s, %s)", end, row.Text(l.At))
		} else {
			fmt.Fprintf(b, "if %s.%s >= %s {\nreturn\n}\n", w.row, dims[l.Dim], row.Text(l.At))
		}
	}
	if end == w.row+".End" {
		return end
	}
	stop := w.fresh("end") // so that it is evaluated once
	fmt.Fprintf(b, "%s := %s\n", stop, end)
	return stop
}

// writerOf returns a writer for a kernel.
func (p *Package) writerOf(f *function) *rowWriter {
	w := &rowWriter{p: p, f: f, imports: map[string]string{}, names: map[string]bool{}}
	w.own = func(c *ast.CallExpr) bool { _, ok := w.place(c); return ok }
	for i := range f.decl.Type.Params.List {
		for _, id := range f.decl.Type.Params.List[i].Names {
			w.params = append(w.params, p.Info.Defs[id])
		}
	}
	return w
}

// edges returns what is known of the threads of a row, with texts for the function of the row.
func (w *rowWriter) edges() *edges.Row {
	names := edges.Names{Place: ir.InGrid, Name: func(v *ir.Value) string { return edges.Named(v, w.row) }}
	if w.f.args != nil {
		names.Closed = func(v *ir.Value) bool {
			e, ok := v.Syntax.(ast.Expr)
			return ok && load.Mentions(w.p.Info.TypeOf(e), func(*types.TypeParam) bool { return true })
		}
	}
	return edges.New(names)
}

// limits returns the limits of a row: see [edges.Row.Limits].
func (w *rowWriter) limits(row *edges.Row) ([]edges.Limit, map[*ir.Value]bool) {
	chooses := false
	ast.Inspect(w.f.decl.Body, func(n ast.Node) bool {
		_, ok := n.(*ast.TypeSwitchStmt)
		chooses = chooses || ok
		return !chooses
	})
	if w.hidden || chooses && w.f.args != nil { // the representation has the clause for the first types only
		return nil, nil
	}
	return row.Limits(w.f.made.Body)
}

// called returns the name of the function: the kernel's name with an ending.
func (w *rowWriter) called(ending string) string {
	kernel := w.f.decl.Name.Name
	first, size := utf8.DecodeRuneInString(kernel)
	name := string(unicode.ToLower(first)) + kernel[size:] + ending
	return w.p.free("loop", name, slices.AppendSeq(slices.Clone(w.f.argNames), maps.Keys(w.names))...)
}

// parameters returns the function's parameters and arguments after the first, each with a comma in front.
func (w *rowWriter) parameters() (params, args string) {
	for i, m := range w.f.declared {
		if m.kind == thread {
			continue
		}
		label := m.name
		if label == "" {
			label = "_"
		}
		params += ", " + label + " " + w.p.typeName(m.typ)
		args += ", " + w.f.argNames[i]
	}
	return params, args
}

// loops returns the functions of the kernels, nil for a kernel that has none, and the lines of their imports. A kernel with barriers or
// shared memory must have one.
func (p *Package) loops(kernels []*function) (all []*rows, imports string, err error) {
	needed := maps.Clone(p.imported)
	var refused load.Errors
	for _, f := range kernels {
		if f.first != f {
			again := all[slices.Index(kernels, f.first)]
			if again != nil {
				copied := *again
				again = &copied
			}
			f.noRow = f.first.noRow
			all = append(all, again)
			continue
		}
		r, why := p.rows(f)
		if r != nil && !merge(needed, r.imports) {
			r, why = nil, p.ErrorAt(f.decl.Pos(), "two files with kernels import different packages by the same name; use another name in one of them")
		}
		if r == nil && f.together {
			refused = append(refused, *why)
		}
		f.noRow = why
		all = append(all, r)
	}
	if len(refused) > 0 {
		return nil, "", refused
	}
	for _, name := range slices.Sorted(maps.Keys(needed)) {
		if path.Base(needed[name]) == name {
			imports += fmt.Sprintf("\t%q\n", needed[name])
		} else {
			imports += fmt.Sprintf("\t%s %q\n", name, needed[name])
		}
	}
	return all, imports, nil
}

var dims = [...]string{"", "Y", "Z"} // fields of gridgen.Row

// rowWriter writes the function of one kernel.
type rowWriter struct {
	p       *Package
	f       *function
	params  []types.Object
	thread  types.Object
	imports map[string]string
	names   map[string]bool          // all names in the kernel
	own     func(*ast.CallExpr) bool // calls of the thread's methods that are replaced by other text
	hidden  bool                     // the package, or a parameter, has a name that is predeclared in Go

	hidesGrid bool // something in the kernel has the name of package grid

	// Why the body would mean something else in another function, and where. Only the author of a kernel with barriers is told: the function
	// of any other kernel is called as it is.
	hiddenAt    token.Pos // where hidden or hidesGrid was found
	strange     token.Pos
	strangeness string
	refused     *load.Error // why a kernel with barriers cannot be divided into phases

	row, x, label string

	printing map[*ast.Ident]bool // uses of the thread as an argument of grid.Println
}

// fresh returns a name that the kernel does not have.
func (w *rowWriter) fresh(name string) string {
	for w.names[name] {
		name += "_"
	}
	w.names[name] = true
	return name
}

// noLoop returns why a kernel has no loop over threads.
func (w *rowWriter) noLoop() *load.Error {
	switch {
	case w.strange.IsValid():
		return w.p.ErrorAt(w.strange, "a loop over threads cannot %s", w.strangeness)
	case w.hiddenAt.IsValid():
		return w.p.ErrorAt(w.hiddenAt, "this hides a name that a loop over threads needs; rename it")
	}
	return w.p.ErrorAt(w.f.decl.Pos(), "the kernel does not use its thread")
}

// odd notes why the body would mean something else in another function.
func (w *rowWriter) odd(pos token.Pos, format string, args ...any) {
	if !w.strange.IsValid() {
		w.strange, w.strangeness = pos, fmt.Sprintf(format, args...)
	}
}

// survey visits all names of the kernel, and reports whether its body means the same in another
// function.
func (w *rowWriter) survey() bool {
	if len(w.params) == 0 || w.params[0] == nil {
		return false
	}
	w.thread, w.printing = w.params[0], map[*ast.Ident]bool{}
	selected, methods := map[*ast.Ident]bool{}, map[ast.Expr]string{}
	returns := false
	ast.Inspect(w.f.decl, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			selected[n.Sel], methods[n.X] = true, n.Sel.Name
		case *ast.ReturnStmt:
			returns = true
		}
		return true
	})
	ast.Inspect(w.f.decl.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ExprStmt: // a call such as t.Global(0) as a statement: its replacement is not a statement
			if c, ok := ast.Unparen(n.X).(*ast.CallExpr); ok && w.own(c) {
				if method, _, _ := w.threadCall(c); method != "Barrier" {
					w.odd(n.Pos(), "call a method of its thread without using the result; remove the call")
				}
			}
		case *ast.CallExpr:
			if id, ok := w.prints(n); ok {
				w.printing[id] = true
			}
			return !w.own(n)
		case *ast.Ident:
			w.identifier(n, selected[n], methods[n])
		}
		return true
	})
	w.predeclared()
	w.row, w.x = w.fresh("r"), w.fresh("x")
	if returns {
		w.label = w.fresh("threads")
	}
	return !w.strange.IsValid()
}

// identifier notes a name in the body. It may be selected from something, or have a method selected from it.
func (w *rowWriter) identifier(n *ast.Ident, selected bool, method string) {
	info := w.p.Info
	w.names[n.Name] = true
	obj := info.ObjectOf(n)
	if info.Defs[n] != nil && types.Universe.Lookup(n.Name) != nil {
		w.hides(n.Pos())
	}
	switch {
	case obj == nil, w.printing[n]:
	case obj == w.thread && method != "" && !w.f.together:
		w.odd(n.Pos(), "use %s.%s; use %[1]s.Global if that is enough", n.Name, method)
	case obj == w.thread: // it is used for more than its place
		w.odd(n.Pos(), "pass its thread to a function; pass what the function needs of it, such as %s.Global(0)", n.Name)
	case selected:
	case obj.Pkg() != nil && obj.Pkg() != w.p.Types && obj.Parent() == obj.Pkg().Scope():
		w.odd(n.Pos(), "use names of a package that is imported with a dot; import it with a name")
	}
	name, ok := obj.(*types.PkgName)
	if !ok && ofGrid(n.Name) && !selected {
		w.hidesGrid = true
		w.hidesAt(n.Pos())
	}
	if !ok {
		return
	}
	path := name.Imported().Path()
	if was, ok := generatedImports[n.Name]; !ok {
		w.imports[n.Name] = path
	} else if was != path {
		w.odd(n.Pos(), "use a package by the name %s, which the generated file imports another one by; import it by another name", n.Name)
	}
}

// predeclared notes parameters, and names of the package, that hide names which are predeclared in Go.
func (w *rowWriter) predeclared() {
	for _, v := range w.params {
		if v == nil {
			continue
		}
		w.names[v.Name()] = true
		if types.Universe.Lookup(v.Name()) != nil {
			w.hides(v.Pos())
		}
		if ofGrid(v.Name()) {
			w.hidesGrid = true
			w.hidesAt(v.Pos())
		}
	}
	for _, name := range types.Universe.Names() {
		if obj := w.p.Types.Scope().Lookup(name); obj != nil {
			w.hides(obj.Pos())
		}
	}
}

func (w *rowWriter) hides(pos token.Pos) {
	w.hidden = true
	w.hidesAt(pos)
}

func (w *rowWriter) hidesAt(pos token.Pos) {
	if !w.hiddenAt.IsValid() {
		w.hiddenAt = pos
	}
}

// generatedImports maps the names of a generated file's imports to their paths. The path of buffer is "", which equals no path, because not every
// file imports it: a kernel that uses an import of that name gets no function.
var generatedImports = map[string]string{
	"context": "context", "buffer": "", "hal": "github.com/go-halyard/halyard/hal", "kernel": "github.com/go-halyard/halyard/kernel", "grid": load.GridPath,
	"gridgen": "github.com/go-halyard/halyard/kernel/gridgen",
}

// ofGrid reports whether a name is that of package grid or gridgen, which the loops over threads call.
func ofGrid(name string) bool { return name == "grid" || name == "gridgen" }

// merge adds imports to those of a file. It reports false, and adds nothing, if a name already
// means another package.
func merge(all, more map[string]string) bool {
	for name, path := range more {
		if was, ok := all[name]; ok && was != path {
			return false
		}
	}
	maps.Copy(all, more)
	return true
}

// place returns the dimension of a call such as t.Global(0).
func (w *rowWriter) place(c *ast.CallExpr) (dim int, ok bool) {
	s, isSelector := ast.Unparen(c.Fun).(*ast.SelectorExpr)
	if !isSelector || len(c.Args) != 1 {
		return 0, false
	}
	id, isIdent := ast.Unparen(s.X).(*ast.Ident)
	v := w.p.Info.Types[c.Args[0]].Value
	if !isIdent || w.p.Info.ObjectOf(id) != w.thread || v == nil || s.Sel.Name != "Global" {
		return 0, false
	}
	d, exact := constant.Int64Val(constant.ToInt(v))
	return int(d), exact && d >= 0 && d <= 2
}

// prints returns the thread in a call of grid.Println.
func (w *rowWriter) prints(c *ast.CallExpr) (id *ast.Ident, ok bool) {
	if w.p.Calls(c, "Println") && len(c.Args) > 0 {
		id, ok = ast.Unparen(c.Args[0]).(*ast.Ident)
	}
	return id, ok && w.p.Info.ObjectOf(id) == w.thread
}

// unprinted replaces names in calls of grid.Println: these loops print nothing.
func (w *rowWriter) unprinted(text *printed, was *ast.Ident, now ast.Node) []edit {
	switch f, ok := w.p.Info.Uses[was].(*types.Func); {
	case ok && f.Pkg() != nil && f.Pkg().Path() == load.GridPath && f.Name() == "Println":
		return []edit{text.replace(now, "Unprinted")}
	case w.printing[was]:
		return []edit{text.replace(now, "nil")}
	}
	return nil
}

// global returns the text that replaces a thread's place.
func (w *rowWriter) global(dim int) string {
	if dim == 0 {
		return w.x
	}
	return w.row + "." + dims[dim]
}

// body returns the statements of the kernel, with the line numbers of the kernel's file. A thread's place is replaced by a variable, and a
// return by a continue with the next thread. In the text for the threads of inner, checks that these threads do not need are left out.
func (w *rowWriter) body(inner *inner) (string, bool) {
	text, ok := w.p.print(w.f.decl)
	if !ok {
		return "", false
	}
	var change func(was, now ast.Node) []edit
	change = func(was, now ast.Node) []edit {
		switch n := was.(type) {
		case *ast.RangeStmt:
			return w.unrolled(text, n, now, change)
		case *ast.Ident:
			return w.unprinted(text, n, now)
		case *ast.CallExpr:
			if dim, ok := w.place(n); ok {
				return []edit{text.replace(now, w.global(dim))}
			}
			if x, ok := now.(*ast.CallExpr); ok && inner != nil && inner.shown[n].name != "" {
				return inner.cell(text, n, x)
			}
		case *ast.ReturnStmt:
			label := w.label
			if inner != nil {
				label = inner.label
			}
			return []edit{text.replace(now, "continue "+label)}
		case *ast.IndexExpr:
			x, ok := now.(*ast.IndexExpr)
			if inner == nil || inner.shown[n].name == "" || !ok {
				break
			}
			return []edit{text.replace(x.X, inner.shown[n].name), text.insert(x.Index.Pos(), "gridgen.At("+inner.at+", "), text.insert(x.Index.End(), ")")}
		case *ast.BinaryExpr:
			if inner == nil {
				break
			}
			if truth, ok := inner.truths[n]; ok && truth {
				return []edit{text.insert(now.Pos(), "(true || "), text.insert(now.End(), ")")}
			} else if ok {
				return []edit{text.insert(now.Pos(), "(false && "), text.insert(now.End(), ")")}
			}
		}
		return nil
	}
	return text.cut(text.at(text.body.Lbrace)+1, text.at(text.body.Rbrace), change)
}

// mostRounds is the largest number of rounds of a loop that are written one after the other.
const mostRounds = 16

// unrolled writes the rounds of a short loop over an array of numbers one after the other. Go's compiler copies such an array to memory first, and counts
// the rounds.
func (w *rowWriter) unrolled(text *printed, s *ast.RangeStmt, now ast.Node, change func(was, now ast.Node) []edit) []edit {
	info := w.p.Info
	array, ok := info.TypeOf(s.X).Underlying().(*types.Array)
	again, isRange := now.(*ast.RangeStmt)
	if !ok || !isRange || s.Tok != token.DEFINE || array.Len() < 1 || array.Len() > mostRounds || w.hidden || !w.repeatable(s.X) {
		return nil
	}
	key, ok1 := s.Key.(*ast.Ident)
	value, ok2 := s.Value.(*ast.Ident)
	if b, ok := array.Elem().Underlying().(*types.Basic); !ok || b.Info()&types.IsComplex != 0 || !ok1 || !ok2 || value.Name == "_" {
		return nil
	}
	plain, size := true, 0
	ast.Inspect(s.Body, func(n ast.Node) bool {
		switch n.(type) {
		case *ast.ForStmt, *ast.RangeStmt, *ast.BranchStmt, *ast.LabeledStmt, *ast.ReturnStmt, *ast.FuncLit, *ast.SwitchStmt:
			plain = false
		case ast.Expr:
			size++
		}
		return plain
	})
	if !plain || size > mostExpressions {
		return nil
	}
	body, ok := text.cut(text.at(again.Body.Lbrace)+1, text.at(again.Body.Rbrace), change)
	x, okX := text.cut(text.at(again.X.Pos()), text.at(again.X.End()), change)
	if !ok || !okX {
		return nil
	}
	var names, values []string
	var rounds strings.Builder
	for k := range array.Len() {
		names, values = append(names, w.fresh(fmt.Sprintf("e%d", k))), append(values, fmt.Sprintf("%s[%d]", x, k))
		fmt.Fprintf(&rounds, "{\n%s, %s := %d, %s\n", key.Name, value.Name, k, names[k])
		if key.Name != "_" {
			fmt.Fprintf(&rounds, "_ = %s\n", key.Name)
		}
		fmt.Fprintf(&rounds, "_ = %s\n{\n%s\n}\n}\n", value.Name, body)
	}
	at := w.p.Fset.Position(s.Pos())
	all := strings.Join(names, ", ") + " := " + strings.Join(values, ", ")
	return []edit{text.replace(now, fmt.Sprintf("{\n//line %s:%d\n%s\n%s}", filepath.Base(at.Filename), at.Line, all, rounds.String()))}
}

// mostExpressions is the largest number of expressions in the body of such a loop.
const mostExpressions = 40

// repeatable reports whether an expression consists of variables, their elements and numbers, so that it is the same each time.
func (w *rowWriter) repeatable(e ast.Expr) bool {
	same := true
	ast.Inspect(e, func(n ast.Node) bool {
		switch n.(type) {
		case nil, *ast.Ident, *ast.IndexExpr, *ast.SelectorExpr, *ast.BasicLit, *ast.BinaryExpr, *ast.ParenExpr:
		default:
			same = false
		}
		return same
	})
	return same
}
