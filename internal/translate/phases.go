package translate

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strings"

	"github.com/go-halyard/halyard/internal/translate/lanes"
	"github.com/go-halyard/halyard/internal/translate/load"
)

// phases returns the function of the generated file that runs a block of a kernel with barriers on the host. A phase is the code between
// two barriers, and runs for one thread after the other. A variable that a thread needs in a later phase is kept in an array, or computed
// again if it depends only on the thread's place. A loop around barriers runs once for the block, so its head must be the same for all
// threads. A kernel that cannot be divided is refused, with the line and what to write instead: then phases returns nil.
func (w *rowWriter) phases() *rows {
	w.own = func(c *ast.CallExpr) bool {
		_, _, ok := w.threadCall(c)
		return ok || w.p.Calls(c, "Shared")
	}
	if !w.survey() {
		w.no(w.strange, "a kernel with barriers or shared memory cannot %s", w.strangeness)
		return nil
	}
	if w.hidden || w.hidesGrid {
		w.no(w.hiddenAt, "a kernel with barriers or shared memory cannot use a name that is predeclared in Go, or grid, for something else; "+
			"rename this")
		return nil
	}
	text, ok := w.p.print(w.f.decl)
	if !ok {
		return nil
	}
	// Threads that take a loop's rounds together keep variables from before the loop, and may not be able to. Then each takes the loop alone.
	var ph *phaseWriter
	var all []*phase
	for _, together := range [...]bool{true, false} {
		w.refused = nil
		ph = &phaseWriter{
			rowWriter: w, text: text, together: together, same: map[types.Object]bool{}, again: map[types.Object]ast.Expr{}, wholes: map[types.Object]ast.Expr{},
			in: map[types.Object]*phase{}, rows: map[types.Object]string{}, partly: map[ast.Stmt]bool{},
		}
		if !ph.params() {
			return nil
		}
		if all, ok = ph.split(w.p.list(w.f.decl), true); ok {
			if v := ph.clash(); v != nil {
				defer w.rename(v)()
				*w = *w.p.writerOf(w.f)
				return w.phases()
			}
		}
		if ok && ph.leaves() && ph.share() {
			break
		} else if !together {
			return nil
		}
	}

	ph.block, ph.kept = w.fresh("b"), w.fresh("kept")
	for d, name := range [...]string{"x", "y", "z"} {
		ph.local[d], ph.first[d] = w.fresh("t"+name), w.fresh("first"+strings.ToUpper(name))
	}
	ph.label = w.fresh("threads")
	name := w.called("Phases")
	params, args := w.parameters()
	plain, kept, typed, pool := args, "", w.p.typeParams(w.f), ""
	var b strings.Builder
	if len(ph.keeps) > 0 {
		kept = w.p.free("kept", name+"Kept")
		fmt.Fprintf(&b, "// %s holds what the threads of a block of %s keep for later phases, a slice for each variable.\ntype %[1]s%[3]s struct {\n",
			kept, w.f.decl.Name.Name, typed)
		for _, v := range ph.keeps {
			ph.rows[v] = w.fresh(v.Name() + "s")
			fmt.Fprintf(&b, "%s []%s\n", v.Name(), w.p.typeName(v.Type()))
		}
		if pool = ph.pool(name); typed == "" {
			fmt.Fprintf(&b, "}\n\nvar %s grid.Pool[%s]\n\n", pool, kept)
		} else {
			b.WriteString("}\n\n")
			params = fmt.Sprintf(", %s *grid.Pool[%s%s]%s", pool, kept, explicitArgs(w.f), params)
		}
	}
	fmt.Fprintf(&b, "// %s runs %s for a block: the code between two barriers runs for one thread after the other.\n//\n//go:noinline\n", name, w.f.decl.Name.Name)
	fmt.Fprintf(&b, "func %s%s(%s *kernel.Block%s) {\n", name, typed, ph.block, params)
	var loops strings.Builder
	if !ph.write(&loops, all) {
		return nil
	}
	for d := range 3 {
		if ph.global[d] {
			fmt.Fprintf(&b, "%s := int(%s.Index[%d]) * int(%[2]s.Size[%[3]d])\n", ph.first[d], ph.block, d)
		}
	}
	for _, v := range ph.shared {
		memory := w.fresh(v.Name())
		fmt.Fprintf(&b, "var %s %s\n%s := &%[1]s\n", memory, w.p.typeName(v.Type().Underlying().(*types.Pointer).Elem()), v.Name())
	}
	if len(ph.keeps) > 0 {
		held, threads := w.fresh("held"), w.fresh("threads")
		fmt.Fprintf(&b, "%s := %s.Take(1)\n%s := &(*%[1]s)[0]\n", held, ph.pool(name), ph.kept)
		fmt.Fprintf(&b, "%s := int(%s.Size[0]) * int(%[2]s.Size[1]) * int(%[2]s.Size[2])\n", threads, ph.block)
		for _, v := range ph.keeps {
			fmt.Fprintf(&b, "if len(%s.%s) < %s {\n%[1]s.%[2]s = make([]%[4]s, %[3]s)\n}\n", ph.kept, v.Name(), threads, w.p.typeName(v.Type()))
		}
		fmt.Fprintf(&b, "%s%s.Give(%s)\n", loops.String(), ph.pool(name), held)
	} else {
		b.WriteString(loops.String())
	}
	b.WriteString("}\n")
	return &rows{name: name, args: args, plain: plain, kept: kept, imports: w.imports, text: b.String(), parts: ph.parts, noVectors: ph.noVectors}
}

// phase is a list of statements without a barrier, or a loop that contains phases.
type phase struct {
	same     []definition // definitions, before the statements, of variables that are the same for all threads
	stmts    []ast.Stmt
	runs     [][]ast.Stmt          // the statements in groups; between two groups a statement is left out
	gap      bool                  // the last statement was left out
	declares map[types.Object]bool // variables that the statements declare, and that later phases may use

	loop   ast.Stmt
	inside []*phase
	last   bool    // it is the kernel's last phase
	rounds *rounds // not nil for a loop whose rounds the threads may take together; inside is then one round, or the whole loop
	alone  bool    // it has no vectors: it is the whole loop, for threads that cannot take the rounds together
}

// definition is a part of a statement that declares variables, or a statement that declares constants or types.
type definition struct {
	names  []string
	values []ast.Expr
	decl   *ast.DeclStmt
}

// no notes that the kernel cannot be divided into phases, and returns false. The first reason counts.
func (w *rowWriter) no(pos token.Pos, format string, args ...any) bool {
	if w.refused == nil {
		w.refused = w.p.ErrorAt(pos, format, args...)
	}
	return false
}

func (w *rowWriter) line(pos token.Pos) int { return w.p.Fset.Position(pos).Line }

type phaseWriter struct {
	*rowWriter
	text     *printed
	together bool // the threads of a block may take a loop's rounds together
	shared   []types.Object
	same     map[types.Object]bool     // variables that are the same for all threads
	again    map[types.Object]ast.Expr // variables that each phase computes again, with their values
	order    []types.Object            // the keys of again, in the order of their declarations
	in       map[types.Object]*phase   // maps each variable that a phase declares to that phase
	keeps    []types.Object            // variables of in that other phases use
	all      []*phase                  // all phases except loops
	counted  map[types.Object]bool     // see heads
	wholes   map[types.Object]ast.Expr // slices that are the same for all threads, with what they are of
	loads    bool                      // settledInt also takes elements of memory that the kernel does not write
	partly   map[ast.Stmt]bool         // definitions of which some variables are in same or again

	block, kept, label string
	rows               map[types.Object]string // the names, in a phase, of the values that a row of threads keeps
	local, first       [3]string
	global             [3]bool // whether first is needed

	// of phases as vectors
	parts     []*lanes.Vectors
	noVectors *load.Error // why a phase has none
	inParts   bool        // the text that is written is that of a part
	passed    [][2]string // numbers that the part takes: their names, and the texts of a phase
}

func (ph *phaseWriter) pool(name string) string { return ph.p.free("pool", name+"Pool") }

// threadCall returns the method and the dimension of a call such as t.Local(0). For t.Barrier the
// dimension is 0.
func (w *rowWriter) threadCall(c *ast.CallExpr) (method string, dim int, ok bool) {
	s, isSelector := ast.Unparen(c.Fun).(*ast.SelectorExpr)
	if !isSelector {
		return "", 0, false
	}
	id, isIdent := ast.Unparen(s.X).(*ast.Ident)
	if !isIdent || w.p.Info.ObjectOf(id) != w.thread {
		return "", 0, false
	}
	if s.Sel.Name == "Barrier" {
		return s.Sel.Name, 0, true
	}
	if len(c.Args) != 1 || w.p.Info.Types[c.Args[0]].Value == nil {
		return "", 0, false
	}
	d, exact := constant.Int64Val(constant.ToInt(w.p.Info.Types[c.Args[0]].Value))
	return s.Sel.Name, int(d), exact && d >= 0 && d <= 2
}

// params notes the parameters, which are the same for all threads. It reports false if the kernel changes one: then each thread would
// need its own.
func (ph *phaseWriter) params() bool {
	for _, v := range ph.rowWriter.params {
		if v == nil || v == ph.thread || v.Name() == "_" {
			continue
		}
		if ph.writes[v] {
			return ph.no(ph.assigned(v), "a kernel with barriers or shared memory cannot change the parameter %s; use a variable for it", v.Name())
		}
		ph.same[v] = true
	}
	return true
}

// assigned returns where a variable is assigned to, for the first time.
func (ph *phaseWriter) assigned(v types.Object) token.Pos {
	i := slices.IndexFunc(ph.written, func(c change) bool { return c.v == v })
	if i < 0 {
		return v.Pos()
	}
	return ph.written[i].pos
}

// split divides a list of statements into phases.
func (ph *phaseWriter) split(list []ast.Stmt, top bool) (all []*phase, ok bool) {
	now := &phase{declares: map[types.Object]bool{}}
	end := func() {
		if len(now.stmts) > 0 || len(now.same) > 0 {
			all, ph.all = append(all, now), append(ph.all, now)
		}
		now = &phase{declares: map[types.Object]bool{}}
	}
	for _, s := range list {
		if ph.p.isBarrier(s) {
			end()
			continue
		}
		if ph.p.hasBarrier(s) {
			end()
			loop := &phase{loop: s}
			inside, ok := ph.loop(s)
			if !ok {
				return nil, false
			}
			loop.inside = inside
			all = append(all, loop)
			continue
		}
		// Threads that have returned take no rounds: after a return the loop stays in the kernel's last phase.
		if r := ph.roundsOf(s); r != nil && ph.together && !slices.ContainsFunc(now.stmts, returns) {
			end()
			round := &phase{stmts: r.loop.Body.List, runs: [][]ast.Stmt{r.loop.Body.List}, declares: map[types.Object]bool{}, rounds: r}
			whole := &phase{stmts: []ast.Stmt{s}, runs: [][]ast.Stmt{{s}}, declares: map[types.Object]bool{}, alone: true}
			all, ph.all = append(all, &phase{rounds: r, inside: []*phase{round, whole}}), append(ph.all, whole, round)
			continue
		}
		if ph.loaded(s) && !slices.ContainsFunc(now.stmts, returns) { // it is read for the block, after what all threads do before
			end()
		}
		if !ph.declare(now, s) {
			return nil, false
		}
	}
	end()
	if top && len(all) > 0 && all[len(all)-1].loop == nil && all[len(all)-1].rounds == nil {
		all[len(all)-1].last = true
	}
	return all, true
}

// heads returns the variables that loops around barriers are counted with.
func (ph *phaseWriter) heads() map[types.Object]bool {
	if ph.counted != nil {
		return ph.counted
	}
	ph.counted = map[types.Object]bool{}
	note := func(n ast.Node) {
		for _, v := range ph.usedIn(n) {
			ph.counted[v] = true
		}
	}
	ast.Inspect(ph.f.decl.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ForStmt:
			if ph.p.hasBarrier(n) && n.Cond != nil {
				note(n.Cond)
				if n.Init != nil {
					note(n.Init)
				}
			}
		case *ast.RangeStmt:
			if ph.p.hasBarrier(n) {
				note(n.X)
			}
		}
		return true
	})
	return ph.counted
}

// loaded reports whether a statement declares such a variable, with a value from memory.
func (ph *phaseWriter) loaded(s ast.Stmt) (found bool) {
	a, ok := s.(*ast.AssignStmt)
	if !ok || a.Tok != token.DEFINE || !slices.ContainsFunc(a.Lhs, func(l ast.Expr) bool { return ph.heads()[defined(ph.p.Info, l)] }) {
		return false
	}
	for _, e := range a.Rhs {
		ast.Inspect(e, func(n ast.Node) bool {
			x, ok := n.(*ast.IndexExpr)
			found = found || ok && ph.stays(x.X)
			return !found
		})
	}
	return found
}

// constant reports whether an expression is a slice that is a parameter, or a part of one, and that the kernel does not write.
func (ph *phaseWriter) constant(e ast.Expr) bool {
	id, ok := ast.Unparen(e).(*ast.Ident)
	if !ok {
		return false
	}
	if whole := ph.wholes[ph.p.Info.ObjectOf(id)]; whole != nil {
		return ph.stays(whole)
	}
	i := slices.Index(ph.rowWriter.params, ph.p.Info.ObjectOf(id))
	return i >= 0 && ph.f.params[i].kind == slice && !ph.f.params[i].written && !ph.f.params[i].out
}

// stays reports whether an expression is such a slice, or an array that is the same for all threads, or a part of one.
func (ph *phaseWriter) stays(e ast.Expr) bool {
	if part, ok := ast.Unparen(e).(*ast.SliceExpr); ok {
		return ph.stays(part.X)
	}
	_, isArray := ph.p.Info.TypeOf(e).Underlying().(*types.Array)
	return ph.constant(e) || isArray && ph.settledInt(e, false)
}

// declare adds a statement to a phase. It reports false if the statement cannot be part of one.
func (ph *phaseWriter) declare(now *phase, s ast.Stmt) bool {
	info := ph.p.Info
	var ids []*ast.Ident
	var values []ast.Expr
	switch s := s.(type) {
	case *ast.AssignStmt:
		if s.Tok != token.DEFINE {
			break
		}
		for _, l := range s.Lhs {
			ids = append(ids, l.(*ast.Ident))
		}
		values = s.Rhs
	case *ast.DeclStmt:
		g := s.Decl.(*ast.GenDecl)
		if g.Tok != token.VAR {
			now.same, now.gap = append(now.same, definition{decl: s}), true
			for _, spec := range g.Specs {
				if t, ok := spec.(*ast.TypeSpec); ok {
					ids = append(ids, t.Name)
				} else {
					ids = append(ids, spec.(*ast.ValueSpec).Names...)
				}
			}
			for _, id := range ids {
				if id.Name != "_" {
					ph.in[info.Defs[id]] = nil // it holds for all phases
				}
			}
			return true
		}
		for _, spec := range g.Specs {
			v := spec.(*ast.ValueSpec)
			ids = append(ids, v.Names...)
			values = append(values, v.Values...)
		}
		if len(values) == 1 && len(ids) == 1 && ph.p.Calls(values[0], "Shared") {
			break
		}
		values = nil // the declaration may name a type, so it is left as it is
	case *ast.LabeledStmt:
		switch s.Stmt.(type) {
		case *ast.ForStmt, *ast.RangeStmt, *ast.SwitchStmt: // a break or continue of it stays in the phase
		default:
			return ph.no(s.Pos(), "a label of a kernel with barriers or shared memory must belong to a loop or a switch")
		}
	}
	if len(values) == 1 && len(ids) == 1 && ph.p.Calls(values[0], "Shared") {
		v := info.Defs[ids[0]]
		if v == nil || ph.writes[v] {
			return ph.no(s.Pos(), "shared memory must be the value of a variable that does not change")
		}
		if declaredInside(v.Type().Underlying().(*types.Pointer).Elem()) {
			return ph.no(s.Pos(), "the type of %s cannot be declared in the kernel; declare it outside", v.Name())
		}
		ph.shared = append(ph.shared, v)
		ph.same[v] = true
		now.gap = true
		return true
	}
	if len(values) == len(ids) && len(ids) > 0 {
		var d definition
		var same, again []types.Object
		for i, id := range ids {
			v := info.Defs[id]
			ph.loads = len(now.stmts) == 0 && ph.heads()[v]
			switch {
			case v == nil || id.Name == "_" || ph.writes[v] || !ph.settledInt(values[i], true):
			case isSlice(v.Type()) && slices.ContainsFunc(now.stmts, returns): // for a thread that has returned it could panic
			case ph.settledInt(values[i], false):
				d.names, d.values, same = append(d.names, id.Name), append(d.values, values[i]), append(same, v)
				if isSlice(v.Type()) {
					ph.wholes[v] = values[i]
				}
			default:
				again = append(again, v)
				ph.order = append(ph.order, v)
			}
			ph.loads = false
		}
		for i, id := range ids {
			if v := info.Defs[id]; slices.Contains(again, v) {
				ph.again[v] = values[i]
			}
		}
		for _, v := range same {
			ph.same[v] = true
		}
		if len(d.names) > 0 {
			now.same = append(now.same, d)
		}
		if len(same)+len(again) == len(ids) {
			now.gap = true
			return true
		}
		ph.partly[s] = len(same)+len(again) > 0
	}
	for _, id := range ids {
		v := info.Defs[id]
		if id.Name == "_" || v == nil && info.Uses[id] != nil || ph.follows(v) {
			continue
		}
		if v == nil {
			return ph.no(id.Pos(), "%s cannot be declared in a kernel with barriers or shared memory", id.Name)
		}
		now.declares[v] = true
		ph.in[v] = now
	}
	if n := len(now.runs); n == 0 || now.gap {
		now.runs = append(now.runs, []ast.Stmt{s})
	} else {
		now.runs[n-1] = append(now.runs[n-1], s)
	}
	now.stmts, now.gap = append(now.stmts, s), false
	return true
}

// follows reports whether a variable is computed before the threads run, or again in each phase.
func (ph *phaseWriter) follows(v types.Object) bool { return ph.same[v] || ph.again[v] != nil }

func isSlice(t types.Type) bool {
	_, ok := t.Underlying().(*types.Slice)
	return ok
}

// typeStands reports whether a type can be written outside the function.
func (ph *phaseWriter) typeStands(t types.Type) bool {
	switch t := t.(type) {
	case *types.Basic, *types.TypeParam:
		return true
	case *types.Array:
		return ph.typeStands(t.Elem())
	case *types.Named:
		return t.Obj().Pkg() == ph.p.Types && t.Obj().Parent() == ph.p.Types.Scope() && t.TypeArgs().Len() == 0
	case *types.Alias:
		return t.Obj().Pkg() == ph.p.Types && t.Obj().Parent() == ph.p.Types.Scope() && t.TypeArgs().Len() == 0
	}
	return false
}

// declaredInside reports whether a type consists of one that a function declares.
func declaredInside(t types.Type) bool {
	switch t := t.(type) {
	case *types.Array:
		return declaredInside(t.Elem())
	case *types.TypeParam:
	case interface{ Obj() *types.TypeName }:
		pkg := t.Obj().Pkg()
		return pkg != nil && t.Obj().Parent() != pkg.Scope()
	}
	return false
}

// leastAndMost are Go's functions min and max.
var leastAndMost = []types.Object{types.Universe.Lookup("min"), types.Universe.Lookup("max")}

// settledInt reports whether an expression has the same value for all threads or, if places is set, a value that depends only on the thread's place.
// An expression that uses floating-point arithmetic or memory is not settled, unless it is a constant.
func (ph *phaseWriter) settledInt(e ast.Expr, places bool) bool {
	info := ph.p.Info
	_, open := types.Unalias(info.TypeOf(e)).(*types.TypeParam)
	if n, ok := numberOf(info.TypeOf(e)); (open || ok && n.float) && info.Types[e].Value == nil {
		return false // Go may round it differently in another function
	}
	if info.Types[e].Value != nil {
		return true
	}
	switch e := e.(type) {
	case *ast.ParenExpr:
		return ph.settledInt(e.X, places)
	case *ast.Ident:
		v := info.ObjectOf(e)
		if _, isPointer := v.Type().Underlying().(*types.Pointer); isPointer {
			return false
		}
		return ph.same[v] || places && ph.again[v] != nil
	case *ast.SelectorExpr:
		s := info.Selections[e]
		return s != nil && s.Kind() == types.FieldVal && !s.Indirect() && ph.settledInt(e.X, places)
	case *ast.IndexExpr:
		return ph.loads && ph.stays(e.X) && ph.settledInt(e.Index, false)
	case *ast.SliceExpr:
		id, _ := ast.Unparen(e.X).(*ast.Ident)
		if !slices.Contains(ph.shared, info.ObjectOf(id)) && !ph.settledInt(e.X, places) {
			return false
		}
		return !slices.ContainsFunc([]ast.Expr{e.Low, e.High, e.Max}, func(b ast.Expr) bool { return b != nil && !ph.settledInt(b, places) })
	case *ast.UnaryExpr:
		return (e.Op == token.SUB || e.Op == token.ADD || e.Op == token.XOR || e.Op == token.NOT) && ph.settledInt(e.X, places)
	case *ast.BinaryExpr:
		switch e.Op {
		case token.QUO, token.REM, token.SHL, token.SHR:
			by := info.Types[e.Y].Value
			shift := e.Op == token.SHL || e.Op == token.SHR
			if (by == nil || by.Kind() != constant.Int || constant.Sign(by) <= 0) && (shift || !ph.counts(e.Y)) {
				return false // the divisor may be zero, or the shift count negative
			}
		case token.EQL, token.NEQ:
			if _, ok := numberOf(info.TypeOf(e.X)); !ok {
				return false
			}
		}
		return ph.settledInt(e.X, places) && ph.settledInt(e.Y, places)
	case *ast.CallExpr:
		if method, _, ok := ph.threadCall(e); ok {
			switch method {
			case "Size", "Block", "Blocks":
				return true
			case "Local", "Global":
				return places
			}
			return false
		}
		if m, _ := ph.p.matrixSize(e); m != nil {
			return ph.same[m]
		}
		if id, _ := ast.Unparen(e.Fun).(*ast.Ident); slices.Contains(leastAndMost, info.ObjectOf(id)) {
			return !slices.ContainsFunc(e.Args, func(a ast.Expr) bool { return !ph.settledInt(a, places) })
		}
		if len(e.Args) != 1 {
			return false
		}
		if info.Types[e.Fun].IsType() {
			_, to := numberOf(info.TypeOf(e))
			from, number := numberOf(info.TypeOf(e.Args[0]))
			return to && number && !from.float && ph.settledInt(e.Args[0], places)
		}
		name, ok := ast.Unparen(e.Fun).(*ast.Ident)
		if !ok || info.ObjectOf(name) != types.Universe.Lookup("len") {
			return false
		}
		id, ok := ast.Unparen(e.Args[0]).(*ast.Ident)
		return ok && ph.same[info.ObjectOf(id)]
	}
	return false
}

// counts reports whether an expression is the number of a block's threads or of the grid's blocks, which is not zero.
func (ph *phaseWriter) counts(e ast.Expr) bool {
	c, ok := ast.Unparen(e).(*ast.CallExpr)
	if !ok {
		return false
	}
	method, _, ok := ph.threadCall(c)
	return ok && (method == "Size" || method == "Blocks")
}

// loop divides the body of a loop into phases. It refuses other statements, and a loop that threads may run a different number of times.
func (ph *phaseWriter) loop(s ast.Stmt) ([]*phase, bool) {
	info := ph.p.Info
	ph.loads = true
	even := func(body *ast.BlockStmt) ([]*phase, bool) {
		ph.loads = false
		return ph.split(body.List, false)
	}
	uneven := func(pos token.Pos) ([]*phase, bool) {
		return nil, ph.no(pos, "a loop around a barrier must run as often for all threads, and this one may not: its number of rounds can depend on "+
			"constants, parameters that are numbers, the sizes of slices and matrices, the size of the grid, the place of the block, and "+
			"elements of slices that the kernel does not write; "+
			"pass another number to the kernel")
	}
	switch s := s.(type) {
	case *ast.ForStmt:
		var own []types.Object
		if s.Init != nil {
			init, ok := s.Init.(*ast.AssignStmt)
			if !ok || init.Tok != token.DEFINE || len(init.Lhs) != len(init.Rhs) {
				return nil, ph.no(s.Init.Pos(), "a loop around a barrier must begin with variables of its own, as in "+
					"for i := 0; i < n; i++")
			}
			for i, l := range init.Lhs {
				v := defined(info, l)
				if v == nil || !ph.settledInt(init.Rhs[i], false) {
					return uneven(l.Pos())
				}
				own = append(own, v)
			}
		}
		for _, c := range ph.written {
			if slices.Contains(own, c.v) && (s.Post == nil || c.pos < s.Post.Pos() || c.pos >= s.Post.End()) {
				return uneven(c.pos)
			}
		}
		for _, v := range own {
			ph.same[v] = true
		}
		if s.Cond == nil || !ph.settledInt(s.Cond, false) || !ph.steps(s.Post) {
			return uneven(s.Pos())
		}
		return even(s.Body)
	case *ast.RangeStmt:
		if !ph.evenRange(s) {
			return uneven(s.X.Pos())
		}
		for _, e := range []ast.Expr{s.Key, s.Value} {
			if v := defined(info, e); v != nil && v.Name() != "_" {
				if ph.writes[v] {
					return uneven(ph.assigned(v))
				}
				ph.same[v] = true
			}
		}
		return even(s.Body)
	case *ast.LabeledStmt:
		return nil, ph.no(s.Pos(), "a loop around a barrier cannot have a label")
	}
	barrier := s.Pos()
	ast.Inspect(s, func(n ast.Node) bool {
		if b, ok := n.(ast.Stmt); ok && ph.p.isBarrier(b) {
			barrier = b.Pos()
		}
		return true
	})
	return nil, ph.no(barrier, "t.Barrier must be a statement of the kernel itself, or of a loop that all threads run as often; "+
		"write it outside of the statement that begins in line %d, and only the other statements inside", ph.line(s.Pos()))
}

// evenRange reports whether a range has the same rounds for all threads: of a number, or of elements that are integers or that it only counts.
func (ph *phaseWriter) evenRange(s *ast.RangeStmt) bool {
	x, info := ast.Unparen(s.X), ph.p.Info
	if s.Key != nil && s.Tok != token.DEFINE || !ph.settledInt(x, false) {
		return false
	}
	if n, ok := numberOf(info.TypeOf(x)); ok {
		return !n.float && s.Value == nil
	}
	if s.Value == nil {
		return true
	}
	n, ok := numberOf(info.TypeOf(s.Value))
	return ok && !n.float && ph.stays(x)
}

// steps reports whether the post statement of a loop does the same for all threads.
func (ph *phaseWriter) steps(s ast.Stmt) bool {
	switch s := s.(type) {
	case nil:
		return true
	case *ast.IncDecStmt:
		return ph.settledInt(s.X, false)
	case *ast.AssignStmt:
		if len(s.Lhs) != 1 || len(s.Rhs) != 1 || !ph.settledInt(s.Lhs[0], false) {
			return false
		}
		switch s.Tok {
		case token.QUO_ASSIGN, token.REM_ASSIGN, token.SHL_ASSIGN, token.SHR_ASSIGN:
			by := ph.p.Info.Types[s.Rhs[0]].Value
			return by != nil && by.Kind() == constant.Int && constant.Sign(by) > 0
		}
		return ph.settledInt(s.Rhs[0], false)
	}
	return false
}

// clash returns a variable that a phase declares or computes again, or a constant or type, if its name means something else elsewhere in the kernel. Another
// variable may have the same name only within a statement. If there is none, it returns nil.
func (ph *phaseWriter) clash() (found types.Object) {
	all := slices.Collect(maps.Keys(ph.same))
	all = slices.AppendSeq(slices.AppendSeq(all, maps.Keys(ph.again)), maps.Keys(ph.in))
	slices.SortFunc(all, func(a, b types.Object) int { return int(a.Pos() - b.Pos()) })
	named := map[string]types.Object{}
	for _, v := range all {
		if was := named[v.Name()]; was != nil && was != v {
			return v
		}
		named[v.Name()] = v
	}
	selected := map[*ast.Ident]bool{}
	ast.Inspect(ph.f.decl.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			selected[n.Sel] = true
		case *ast.KeyValueExpr:
			if id, ok := n.Key.(*ast.Ident); ok {
				if f, ok := ph.p.Info.Uses[id].(*types.Var); ok && f.IsField() {
					selected[id] = true
				}
			}
		case *ast.Ident:
			v, obj := named[n.Name], ph.p.Info.ObjectOf(n)
			if v != nil && obj != v && !selected[n] && (obj == nil || obj.Pos() < v.Pos() || obj.Pkg() != v.Pkg() || obj.Parent() == ph.p.Types.Scope()) {
				found = v
			}
		}
		return found == nil
	})
	return found
}

// rename gives what a kernel declares a name of its own, and returns what gives the name back.
func (w *rowWriter) rename(v types.Object) (back func()) {
	name, info := w.fresh(v.Name()), w.p.Info
	var now types.Object
	switch v := v.(type) {
	case *types.Const:
		now = types.NewConst(v.Pos(), v.Pkg(), name, v.Type(), v.Val())
	case *types.TypeName:
		now = types.NewTypeName(v.Pos(), v.Pkg(), name, v.Type())
	default:
		now = types.NewVar(v.Pos(), v.Pkg(), name, v.Type())
	}
	change := func(from, to types.Object) {
		ast.Inspect(w.f.decl.Body, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			switch {
			case !ok:
			case info.Defs[id] == from:
				id.Name, info.Defs[id] = to.Name(), to
			case info.Uses[id] == from:
				id.Name, info.Uses[id] = to.Name(), to
			}
			return true
		})
	}
	change(v, now)
	return func() { change(now, v) }
}

// leaves reports whether no statement jumps out of its phase. Only statements of the last phase may
// return.
func (ph *phaseWriter) leaves() bool {
	fine := true
	var look func(n ast.Node, breaks, continues bool, p *phase)
	look = func(n ast.Node, breaks, continues bool, p *phase) {
		ast.Inspect(n, func(c ast.Node) bool {
			if c == n {
				return true
			}
			switch c := c.(type) {
			case *ast.ForStmt, *ast.RangeStmt:
				look(c, true, true, p)
				return false
			case *ast.SwitchStmt:
				look(c, true, continues, p)
				return false
			}
			ph.leaving(c, breaks, continues, p, &fine)
			return true
		})
	}
	for _, p := range ph.all {
		for _, s := range p.stmts {
			switch s.(type) {
			case *ast.ForStmt, *ast.RangeStmt:
				look(s, true, true, p)
			case *ast.SwitchStmt:
				look(s, true, false, p)
			default:
				ph.leaving(s, false, false, p, &fine)
				look(s, false, false, p)
			}
		}
	}
	return fine
}

func (ph *phaseWriter) leaving(n ast.Node, breaks, continues bool, p *phase, fine *bool) {
	leave := func(verb string) {
		*fine = ph.no(n.Pos(), "threads that %s here do not come to the barriers that follow, where the others of their block wait for them; "+
			"put the statements that they leave out into an if, and t.Barrier outside of it", verb)
	}
	switch n := n.(type) {
	case *ast.ReturnStmt:
		if !p.last {
			leave("return")
		}
	case *ast.BranchStmt:
		switch {
		case n.Tok == token.GOTO:
			leave("go to a label")
		case n.Label != nil: // the labelled loop or switch is in the phase
		case n.Tok == token.BREAK && !breaks, n.Tok == token.CONTINUE && !continues:
			leave(n.Tok.String())
		}
	}
}

// share notes the variables that are used in another phase than the one that declares them. It refuses one whose type cannot be written
// there.
func (ph *phaseWriter) share() bool {
	for _, p := range ph.all {
		for _, v := range ph.used(p) {
			if in := ph.in[v]; in != nil && in != p && !slices.Contains(ph.keeps, v) {
				ph.keeps = append(ph.keeps, v)
			}
		}
	}
	slices.SortFunc(ph.keeps, func(a, b types.Object) int { return int(a.Pos() - b.Pos()) })
	for _, v := range ph.keeps {
		if isSlice(v.Type()) {
			return ph.no(v.Pos(), "a slice that depends on more than the thread's place, or that is of an array of the thread, cannot be kept "+
				"for the code after a barrier; keep where it begins and ends, and write x[i:j] there again")
		}
		if !ph.typeStands(v.Type()) {
			return ph.no(v.Pos(), "the type of %s cannot be kept for the code after a barrier; use a number, an array, or a type that this "+
				"package declares", v.Name())
		}
	}
	return true
}

// used returns the variables that the statements of a phase use.
func (ph *phaseWriter) used(p *phase) (all []types.Object) {
	for _, s := range p.stmts {
		all = append(all, ph.usedIn(s)...)
	}
	return all
}

// usedIn returns the variables in a node, in the order of the text.
func (ph *phaseWriter) usedIn(n ast.Node) (all []types.Object) {
	ast.Inspect(n, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			if v := ph.p.Info.ObjectOf(id); v != nil {
				all = append(all, v)
			}
		}
		return true
	})
	return all
}

// write writes the text of phases.
func (ph *phaseWriter) write(b *strings.Builder, all []*phase) bool {
	for _, p := range all {
		if p.rounds != nil {
			if !ph.writeRounds(b, p) {
				return false
			}
			continue
		}
		if p.loop != nil {
			if !ph.writeLoop(b, p) {
				return false
			}
			continue
		}
		for _, d := range p.same {
			if d.decl != nil {
				n := ph.text.twin(d.decl)
				fmt.Fprintf(b, "%s\n", ph.text.text[ph.text.at(n.Pos()):ph.text.at(n.End())])
				continue
			}
			values, ok := ph.values(d.values)
			if !ok {
				return false
			}
			names := strings.Join(d.names, ", ")
			fmt.Fprintf(b, "%s := %s\n%s = %s\n", names, values, strings.TrimSuffix(strings.Repeat("_, ", len(d.names)), ", "), names)
		}
		if len(p.stmts) > 0 && !ph.writePhase(b, p) {
			return false
		}
	}
	return true
}

func (ph *phaseWriter) writeLoop(b *strings.Builder, p *phase) bool {
	n := ph.text.twin(p.loop)
	var body *ast.BlockStmt
	switch n := n.(type) {
	case *ast.ForStmt:
		body = n.Body
	case *ast.RangeStmt:
		body = n.Body
	default:
		return false
	}
	head, ok := ph.text.cut(ph.text.at(n.Pos()), ph.text.at(body.Lbrace)+1, ph.change)
	if !ok {
		return false
	}
	fmt.Fprintf(b, "%s\n%s\n", head, backHere)
	if !ph.write(b, p.inside) {
		return false
	}
	fmt.Fprintf(b, "}\n%s\n", backHere)
	return true
}

// values returns the text of expressions, with commas between them.
func (ph *phaseWriter) values(list []ast.Expr) (string, bool) {
	var all []string
	for _, e := range list {
		n := ph.text.twin(ast.Unparen(e))
		if n == nil {
			return "", false
		}
		text, ok := ph.text.cut(ph.text.at(n.Pos()), ph.text.at(n.End()), ph.change)
		if !ok {
			return "", false
		}
		all = append(all, text)
	}
	return strings.Join(all, ", "), true
}

// change replaces calls of the thread's methods, and return statements.
func (ph *phaseWriter) change(was, now ast.Node) []edit {
	switch n := was.(type) {
	case *ast.CallExpr:
		method, d, ok := ph.threadCall(n)
		if !ok {
			break
		}
		switch {
		case ph.inParts && method != "Barrier":
			return []edit{ph.text.replace(now, ph.inPart(method, d))}
		case method == "Local":
			return []edit{ph.text.replace(now, ph.local[d])}
		case method == "Global":
			ph.global[d] = true
			return []edit{ph.text.replace(now, fmt.Sprintf("(%s + %s)", ph.first[d], ph.local[d]))}
		default:
			field := map[string]string{"Size": "Size", "Block": "Index", "Blocks": "Grid"}[method]
			return []edit{ph.text.replace(now, fmt.Sprintf("int(%s.%s[%d])", ph.block, field, d))}
		}
	case *ast.ReturnStmt:
		return []edit{ph.text.replace(now, "continue "+ph.label)}
	case *ast.AssignStmt: // some of the variables that it defines have their values from elsewhere
		to, ok := now.(*ast.AssignStmt)
		if !ok || !ph.partly[n] {
			break
		}
		var edits []edit
		left := false
		for i, l := range n.Lhs {
			v := defined(ph.p.Info, l)
			if v != nil && ph.follows(v) {
				edits = append(edits, ph.text.replace(to.Lhs[i], "_"))
			}
			left = left || v != nil && v.Name() != "_" && !ph.follows(v)
		}
		if edits != nil && !left {
			edits = append(edits, edit{ph.text.at(to.TokPos), ph.text.at(to.TokPos) + len(":="), "="})
		}
		return edits
	}
	return nil
}

// writePhase writes the loops over the threads around the statements of a phase.
func (ph *phaseWriter) writePhase(b *strings.Builder, p *phase) bool {
	var load, store, rows []string
	loads, stores := ph.keptIn(p)
	for _, v := range loads {
		load = append(load, v.Name(), fmt.Sprintf("%s[%s]", ph.rows[v], ph.local[0]))
	}
	for _, v := range stores {
		store = append(store, fmt.Sprintf("%s[%s]", ph.rows[v], ph.local[0]), v.Name())
	}
	for _, v := range ph.keeps {
		if slices.Contains(loads, v) || slices.Contains(stores, v) {
			rows = append(rows, fmt.Sprintf("%s := %s.%s[%%s:][:%%s]\n", ph.rows[v], ph.kept, v.Name()))
		}
	}
	end, only, ok := ph.end(p)
	if !ok {
		return false
	}
	list, runs := p.stmts, p.runs
	if only != nil {
		list, runs = only.Body.List, nil
	}
	label := ""
	if slices.ContainsFunc(p.stmts, returns) {
		label = ph.label + ":\n"
	}
	moved, ok := ph.moved(list)
	if !ok {
		return false
	}
	if len(rows) > 0 || p.rounds != nil {
		moved = nil
	}
	var v *lanes.Vectors
	var args string
	if p.rounds == nil && moved == nil {
		v, args = ph.vectors(p)
	}
	fmt.Fprintf(b, "for %s := range int(%s.Size[2]) {\nfor %s := range int(%[2]s.Size[1]) {\n", ph.local[2], ph.block, ph.local[1])
	if len(rows) > 0 || v != nil || moved != nil {
		count := ph.fresh("count")
		fmt.Fprintf(b, "%s := %s\n", count, end)
		end = count
		first := fmt.Sprintf("(%s*int(%s.Size[1])+%s)*int(%[2]s.Size[0])", ph.local[2], ph.block, ph.local[1])
		for _, row := range rows {
			fmt.Fprintf(b, row, first, count)
		}
	}
	switch {
	case v != nil:
		fmt.Fprintf(b, "if %s == nil || !%[1]s(%s%s) {\n", v.Hook, args, end)
	case moved != nil:
		to, from := ph.fresh("to"), ph.fresh("from")
		fmt.Fprintf(b, "%s, %s := 0, 0\n{\n%s := 0\n_, _, _ = %[3]s, %s, %s\n", to, from, ph.local[0], ph.local[1], ph.local[2])
		if !ph.writeAgain(b, list...) {
			return false
		}
		fmt.Fprintf(b, "%s, %s = %s, %s\n}\n", to, from, moved.to, moved.from)
		fmt.Fprintf(b, "if !grid.Copies(%s, %s, %s, %s, %s) {\n", moved.dst, to, moved.src, from, end)
	}
	fmt.Fprintf(b, "%sfor %s := range %s {\n_, _, _ = %[2]s, %[4]s, %[5]s\n", label, ph.local[0], end, ph.local[1], ph.local[2])
	if r := p.rounds; r != nil {
		fmt.Fprintf(b, "%s := %s + %s\n_ = %[1]s\n", r.v.Name(), r.round, ph.local[0])
	}
	if !ph.writeAgain(b, list...) {
		return false
	}
	ph.pairs(b, load, ":=")
	if p.rounds != nil || only != nil {
		b.WriteString("{\n") // what the loop's body declares may have the names of variables outside of it
	}
	if only != nil {
		n := ph.text.twin(only).(*ast.IfStmt)
		body, ok := ph.text.cut(ph.text.at(n.Body.Lbrace)+1, ph.text.at(n.Body.Rbrace), ph.change)
		if !ok {
			return false
		}
		fmt.Fprintf(b, "%s\n", body)
	}
	for _, run := range runs {
		first, last := ph.text.twin(run[0]), ph.text.twin(run[len(run)-1])
		if first == nil || last == nil {
			return false
		}
		body, ok := ph.text.cut(ph.text.at(first.Pos()), ph.text.at(last.End()), ph.change)
		if !ok {
			return false
		}
		fmt.Fprintf(b, "%s\n", body)
	}
	if p.rounds != nil || only != nil {
		b.WriteString("}\n")
	}
	fmt.Fprintf(b, "%s\n", backHere)
	ph.pairs(b, store, "=")
	if v != nil || moved != nil {
		b.WriteString("}\n")
	}
	b.WriteString("}\n}\n}\n")
	return true
}

// keptIn returns the variables that the threads keep from phase to phase, and that a phase takes from there and puts there.
func (ph *phaseWriter) keptIn(p *phase) (load, store []types.Object) {
	uses := ph.used(p)
	for _, v := range ph.keeps {
		if !slices.Contains(uses, v) {
			continue
		}
		if !p.declares[v] {
			load = append(load, v)
		}
		if (p.declares[v] || ph.changes(p, v)) && !p.last {
			store = append(store, v)
		}
	}
	return load, store
}

// returns reports whether a statement contains a return.
func returns(s ast.Stmt) (found bool) {
	ast.Inspect(s, func(n ast.Node) bool {
		_, is := n.(*ast.ReturnStmt)
		found = found || is
		return !found
	})
	return found
}

// pairs writes an assignment to every other of the texts, of the text that follows.
func (ph *phaseWriter) pairs(b *strings.Builder, list []string, op string) {
	for i := 0; i < len(list); i += 2 {
		fmt.Fprintf(b, "%s %s %s\n", list[i], op, list[i+1])
		if op == ":=" {
			fmt.Fprintf(b, "_ = %s\n", list[i])
		}
	}
}

// needsAgain returns the variables that statements or expressions use, and that are computed again in each phase.
func (ph *phaseWriter) needsAgain(list ...ast.Stmt) (needed []types.Object) {
	again := map[types.Object]bool{}
	var need func(e ast.Node)
	need = func(e ast.Node) {
		ast.Inspect(e, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				if v := ph.p.Info.Uses[id]; v != nil && ph.again[v] != nil && !again[v] {
					again[v] = true
					need(ph.again[v])
				}
			}
			return true
		})
	}
	for _, s := range list {
		need(s)
	}
	for _, v := range ph.order {
		if again[v] {
			needed = append(needed, v)
		}
	}
	return needed
}

// writeAgain writes the definitions of these variables.
func (ph *phaseWriter) writeAgain(b *strings.Builder, list ...ast.Stmt) bool {
	for _, v := range ph.needsAgain(list...) {
		value, ok := ph.values([]ast.Expr{ph.again[v]})
		if !ok {
			return false
		}
		fmt.Fprintf(b, "%s := %s\n", v.Name(), value)
	}
	return true
}

// changes reports whether a phase assigns to a variable.
func (ph *phaseWriter) changes(p *phase, v types.Object) bool {
	return slices.ContainsFunc(ph.written, func(c change) bool {
		return c.v == v && slices.ContainsFunc(p.stmts, func(s ast.Stmt) bool { return s.Pos() <= c.pos && c.pos < s.End() })
	})
}
