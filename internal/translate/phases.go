package translate

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-halyard/halyard/internal/translate/facts"
	"github.com/go-halyard/halyard/internal/translate/ir"
	"github.com/go-halyard/halyard/internal/translate/lanes"
	"github.com/go-halyard/halyard/internal/translate/load"
)

// phases returns the function of the generated file that runs a block of a kernel with barriers on the host. A phase is the code between two barriers, and runs
// for one thread after the other. A variable that a thread needs in a later phase is kept in an array, or computed again if it depends only on the thread's place.
// A loop or an if around barriers runs once for the block. Package facts divides the kernel; this file cuts the text. A kernel that cannot be divided is refused,
// with the line and what to write instead: then phases returns nil.
func (w *rowWriter) phases() *rows {
	w.own = func(c *ast.CallExpr) bool {
		_, _, ok := w.threadCall(c)
		return ok || w.p.Calls(c, "Shared") || w.p.Calls(c, "SharedSlice")
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
	// If the threads run the rounds of a loop together, they have to keep variables from before the loop. Where that is impossible, the second attempt lets
	// each thread run the whole loop alone.
	var ph *phaseWriter
	var all []*phase
	for _, together := range [...]bool{true, false} {
		w.refused = nil
		if ph, all = w.divided(text, together); w.refused == nil {
			if v := ph.clash(); v != nil {
				defer w.rename(v)()
				*w = *w.p.writerOf(w.f)
				return w.phases()
			}
			if ph.share() {
				break
			}
		}
		if !together {
			return nil
		}
	}
	return ph.function(all)
}

// function returns the function of the generated file.
func (ph *phaseWriter) function(all []*phase) *rows {
	ph.block, ph.kept = ph.fresh("b"), ph.fresh("kept")
	for d, name := range [...]string{"x", "y", "z"} {
		ph.local[d], ph.first[d] = ph.fresh("t"+name), ph.fresh("first"+strings.ToUpper(name))
	}
	ph.label = ph.fresh("threads")
	name := ph.called("Phases")
	params, args := ph.parameters()
	plain, kept, typed, pool := args, "", ph.p.typeParams(ph.f), ""
	var b, body strings.Builder
	if len(ph.keeps) > 0 {
		kept, pool = ph.p.free("kept", name+"Kept"), ph.p.free("pool", name+"Pool")
		fmt.Fprintf(&b, "// %s holds what the threads of a block of %s keep for later phases, a slice for each variable.\ntype %[1]s%[3]s struct {\n",
			kept, ph.f.decl.Name.Name, typed)
		for _, v := range ph.keeps {
			ph.rows[v] = ph.fresh(v.Name() + "s")
			fmt.Fprintf(&b, "%s []%s\n", v.Name(), ph.p.typeName(keptAs(v)))
		}
		b.WriteString("}\n\n")
		if typed == "" {
			fmt.Fprintf(&b, "var %s gridgen.Pool[%s]\n\n", pool, kept)
		} else {
			params = fmt.Sprintf(", %s *gridgen.Pool[%s%s]%s", pool, kept, explicitArgs(ph.f), params)
		}
	}
	fmt.Fprintf(&b, "// %s runs %s for a block: the code between two barriers runs for one thread after the other.\n//\n//go:noinline\n", name, ph.f.decl.Name.Name)
	fmt.Fprintf(&b, "func %s%s(%s *kernel.Block%s) {\n", name, typed, ph.block, params)
	if ph.write(&body, all); ph.lost {
		return nil
	}
	ph.begin(&b, pool)
	b.WriteString(body.String())
	if len(ph.keeps) > 0 {
		fmt.Fprintf(&b, "%s.Give(%s)\n", pool, ph.held)
	}
	b.WriteString("}\n")
	return &rows{name: name, args: args, plain: plain, kept: kept, imports: ph.imports, text: b.String(), parts: ph.parts, noVectors: ph.noVectors}
}

// begin writes what comes before the phases.
func (ph *phaseWriter) begin(b *strings.Builder, pool string) {
	for d := range 3 {
		if ph.global[d] {
			fmt.Fprintf(b, "%s := int(%s.Index[%d]) * int(%[2]s.Size[%[3]d])\n", ph.first[d], ph.block, d)
		}
	}
	for _, v := range ph.shared {
		memory := ph.fresh(v.Name())
		fmt.Fprintf(b, "var %s %s\n%s := &%[1]s\n", memory, ph.p.typeName(v.Type().Underlying().(*types.Pointer).Elem()), v.Name())
	}
	if len(ph.keeps) > 0 {
		ph.held = ph.fresh("held")
		threads := ph.fresh("threads")
		fmt.Fprintf(b, "%s := %s.Take(1)\n%s := &(*%[1]s)[0]\n", ph.held, pool, ph.kept)
		fmt.Fprintf(b, "%s := int(%s.Size[0]) * int(%[2]s.Size[1]) * int(%[2]s.Size[2])\n", threads, ph.block)
		for _, v := range ph.keeps {
			fmt.Fprintf(b, "if len(%s.%s) < %s {\n%[1]s.%[2]s = make([]%[4]s, %[3]s)\n}\n", ph.kept, v.Name(), threads, ph.p.typeName(keptAs(v)))
		}
	}
}

// phase is what the threads do between two barriers, or a loop or an if that contains phases.
type phase struct {
	*facts.Phase
	same     []definition // definitions, before the statements, of variables that are the same for all threads
	stmts    []ast.Stmt
	runs     [][]ast.Stmt          // the statements in groups; between two groups a statement is left out
	gap      bool                  // the last statement was left out
	declares map[types.Object]bool // variables that the statements declare, and that later phases may use

	inside, other []*phase // of a loop: its body; of an if: its body and its else. If rounds is set, inside is one round and, after it, the whole loop
	rounds        *rounds  // not nil for a loop whose rounds the threads may run together, and for one round of it
	alone         bool     // it has no vectors: it is the whole loop, for threads that cannot run the rounds together
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

// phaseWriter writes the phases into which package facts divides a kernel.
type phaseWriter struct {
	*rowWriter
	*facts.Division
	text    *printed
	objects map[token.Pos]types.Object // the kernel's variables, by where they are declared
	defined map[token.Pos]ast.Expr     // the values of variables that can be computed before the statements that declare them
	cuts    map[token.Pos]bool         // positions of statements at which a phase can begin
	shared  []types.Object
	same    map[types.Object]bool     // variables that are the same for all threads
	again   map[types.Object]ast.Expr // variables that each phase computes again, with their values
	order   []types.Object            // the keys of again, in the order of their declarations
	in      map[types.Object]*phase   // maps each variable that a phase declares to that phase
	keeps   []types.Object            // those variables in the map in that other phases use
	all     []*phase                  // all phases that have statements
	partly  map[ast.Node]bool         // statements that declare some variables that are in same or again, and some that are not
	jumps   map[ast.Node]string       // what replaces a continue
	lost    bool                      // the text of something was not found, which is a bug of halyard kernels

	block, kept, held, label string
	rows                     map[types.Object]string // the names, in a phase, of the values that a row of threads keeps
	local, first             [3]string
	global                   [3]bool // whether first is needed

	// of phases as vectors
	parts     []*lanes.Vectors
	noVectors *load.Error // why a phase has none
	inParts   bool        // the text that is written is that of a part
	passed    [][2]string // numbers that the part takes: their names, and the texts of a phase
}

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

// divided divides the kernel at its barriers. If it cannot be divided, the reason is in w.refused.
func (w *rowWriter) divided(text *printed, together bool) (*phaseWriter, []*phase) {
	ph := &phaseWriter{
		rowWriter: w, text: text, objects: map[token.Pos]types.Object{}, defined: map[token.Pos]ast.Expr{}, cuts: map[token.Pos]bool{}, same: map[types.Object]bool{},
		again: map[types.Object]ast.Expr{}, in: map[types.Object]*phase{}, rows: map[types.Object]string{}, partly: map[ast.Node]bool{}, jumps: map[ast.Node]string{},
	}
	ast.Inspect(w.f.decl, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && w.p.Info.Defs[id] != nil {
			ph.objects[id.Pos()] = w.p.Info.Defs[id]
		}
		return true
	})
	list := w.p.list(w.f.decl)
	ph.define(list)
	ph.Division = facts.Divide(w.f.instances, w.f.effects, facts.Source{Value: func(at token.Pos) (any, bool) {
		e, ok := ph.defined[at]
		return e, ok
	}, Names: func(e any) (all []token.Pos) {
		for _, v := range ph.usedIn(e.(ast.Expr)) {
			all = append(all, v.Pos())
		}
		return all
	}, Cut: func(at token.Pos) bool { return ph.cuts[at] }, Once: func(at token.Pos) bool { return ph.p.InRounds(at) != "" }}, together)
	if r := ph.Refused; r != nil {
		at := r.At
		if s := r.Around; s != nil {
			if tile, ok := s.Syntax.(*ast.IfStmt); ok && ph.p.InRounds(tile.Pos()) != "" {
				at, r.Text = tile.Cond.Pos(), "the row and the column of a tile must be the same for all threads of the block: they can depend on constants, parameters and the place of the block"
			}
			if loop, ok := s.Syntax.(*ast.RangeStmt); ok && at == s.Pos {
				at = loop.X.Pos()
			}
			r.Text = strings.ReplaceAll(r.Text, "%d", fmt.Sprint(ph.line(s.Pos)))
		}
		ph.no(at, "%s", r.Text)
		return ph, nil
	}
	for at, v := range ph.objects {
		if v.Name() != "_" && ph.Class(at) == facts.Same {
			ph.same[v] = true
		}
	}
	return ph, ph.lay(list, ph.Phases)
}

// declares returns the variables that a statement declares, and the value of each, or nil if the value is not an expression that can be written alone.
func declares(s ast.Stmt) (ids []*ast.Ident, values []ast.Expr) {
	add := func(names []*ast.Ident, list []ast.Expr, typ ast.Expr) {
		if len(list) != len(names) || typ != nil { // a type may not be that of the expression
			list = make([]ast.Expr, len(names))
		}
		ids, values = append(ids, names...), append(values, list...)
	}
	switch s := s.(type) {
	case *ast.AssignStmt:
		if s.Tok == token.DEFINE {
			var names []*ast.Ident
			for _, l := range s.Lhs {
				names = append(names, l.(*ast.Ident))
			}
			add(names, s.Rhs, nil)
		}
	case *ast.DeclStmt:
		for _, spec := range s.Decl.(*ast.GenDecl).Specs {
			switch v := spec.(type) {
			case *ast.ValueSpec:
				add(v.Names, v.Values, v.Type)
			case *ast.TypeSpec:
				add([]*ast.Ident{v.Name}, nil, nil)
			}
		}
	}
	return ids, values
}

// define notes the values of the variables that statements declare, and those in the heads and bodies of loops and ifs around barriers.
func (ph *phaseWriter) define(list []ast.Stmt) {
	for _, s := range list {
		ids, values := declares(s)
		for i, id := range ids {
			if values[i] != nil {
				ph.defined[id.Pos()] = values[i]
			}
		}
		if s = unlabelled(s); s != nil {
			ph.cuts[s.Pos()] = true
		}
		init, body, other := bodies(s)
		if body == nil || !ph.p.hasBarrier(s) {
			continue
		}
		if r, ok := s.(*ast.RangeStmt); ok {
			for _, e := range []ast.Expr{r.Key, r.Value} {
				if e != nil {
					ph.defined[e.Pos()] = nil
				}
			}
		}
		ph.define(slices.Concat([]ast.Stmt{init}, body.List, other))
	}
}

func unlabelled(s ast.Stmt) ast.Stmt {
	if l, ok := s.(*ast.LabeledStmt); ok {
		return l.Stmt
	}
	return s
}

// bodies returns the statement before the condition of a loop or an if, its body, and the statements of its else.
func bodies(s ast.Stmt) (init ast.Stmt, body *ast.BlockStmt, other []ast.Stmt) {
	switch s := s.(type) {
	case *ast.ForStmt:
		return s.Init, s.Body, nil
	case *ast.RangeStmt:
		return nil, s.Body, nil
	case *ast.IfStmt:
		if b, ok := s.Else.(*ast.BlockStmt); ok {
			other = b.List
		} else if s.Else != nil {
			other = []ast.Stmt{s.Else}
		}
		return s.Init, s.Body, other
	}
	return nil, nil, nil
}

// lay lays statements out in the phases of a division.
func (ph *phaseWriter) lay(list []ast.Stmt, found []*facts.Phase) (all []*phase) {
	var now *phase
	begin := func() {
		now = &phase{Phase: found[0], declares: map[types.Object]bool{}}
		all, ph.all, found = append(all, now), append(ph.all, now), found[1:]
	}
	for begin(); len(list) > 0; list = list[1:] {
		s := unlabelled(list[0])
		for len(found) > 0 && found[0].At <= s.Pos() {
			begin()
		}
		_, body, other := bodies(s)
		switch {
		case ph.p.isBarrier(s):
		case now.Around != nil && now.At == s.Pos():
			if now.inside = ph.lay(body.List, now.Inside); now.Else != nil {
				now.other = ph.lay(other, now.Else)
			}
		case now.Together != nil:
			loop := s.(*ast.ForStmt)
			ids, _ := declares(loop.Init)
			now.rounds = &rounds{Together: now.Together, loop: loop, v: ph.p.Info.Defs[ids[0]]}
			round := &phase{Phase: now.Phase, stmts: body.List, runs: [][]ast.Stmt{body.List}, rounds: now.rounds}
			whole := &phase{Phase: now.Phase, stmts: []ast.Stmt{s}, runs: [][]ast.Stmt{{s}}, alone: true}
			now.inside, ph.all = []*phase{round, whole}, append(ph.all, whole, round)
		case ph.p.hasBarrier(s): // a statement that the representation does not have, such as a block
			ast.Inspect(s, func(n ast.Node) bool {
				if b, ok := n.(ast.Stmt); ok && ph.p.isBarrier(b) {
					ph.no(b.Pos(), facts.Divergent, ph.line(list[0].Pos()))
				}
				return true
			})
		default:
			ph.declare(now, list[0])
		}
	}
	return all
}

// declare adds a statement to a phase. Variables that are the same for all threads, or are computed again, are left out of it.
func (ph *phaseWriter) declare(now *phase, s ast.Stmt) {
	ids, values := declares(s)
	decl, isDecl := s.(*ast.DeclStmt)
	holds := isDecl && decl.Decl.(*ast.GenDecl).Tok != token.VAR // a constant or a type: all phases need it
	if holds {
		now.same = append(now.same, definition{decl: decl})
	}
	left, defined := 0, 0 // the number of variables that stay in the statement; the length of now.same with the statement's definition
	for i, id := range ids {
		v, class := ph.p.Info.Defs[id], ph.Class(id.Pos())
		switch {
		case v == nil || v.Name() == "_":
			left++
		case holds:
			ph.in[v] = nil
		case class == facts.Same && ph.Var(v.Pos()).Local != nil:
			if declaredInside(v.Type().Underlying().(*types.Pointer).Elem()) {
				ph.no(s.Pos(), "the type of %s cannot be declared in the kernel; declare it outside", ph.authored(v))
			}
			ph.shared = append(ph.shared, v)
		case class == facts.Same:
			if defined == 0 || isDecl { // in a declaration, a value may use the variable before it
				now.same = append(now.same, definition{})
			}
			defined = len(now.same)
			last := &now.same[defined-1]
			last.names, last.values = append(last.names, v.Name()), append(last.values, values[i])
		case class == facts.Again:
			ph.again[v], ph.order = values[i], append(ph.order, v)
		default:
			left++
			now.declares[v], ph.in[v] = true, now
		}
	}
	if holds || left == 0 && len(ids) > 0 {
		now.gap = true
		return
	}
	ph.partly[s] = left < len(ids)
	if n := len(now.runs); n == 0 || now.gap {
		now.runs = append(now.runs, []ast.Stmt{s})
	} else {
		now.runs[n-1] = append(now.runs[n-1], s)
	}
	now.stmts, now.gap = append(now.stmts, s), false
}

// follows reports whether a variable is computed before the threads run, or again in each phase.
func (ph *phaseWriter) follows(v types.Object) bool { return ph.same[v] || ph.again[v] != nil }

func isSlice(t types.Type) bool {
	_, ok := t.Underlying().(*types.Slice)
	return ok
}

// keptAs returns the type as which a variable is kept. A structure that the kernel declares is kept as a structure without a name.
func keptAs(v types.Object) types.Type {
	if s, ok := v.Type().Underlying().(*types.Struct); ok && declaredInside(v.Type()) {
		return s
	}
	return v.Type()
}

// typeStands reports whether a type can be written outside the function.
func (ph *phaseWriter) typeStands(t types.Type) bool {
	stands := true
	switch t := t.(type) {
	case *types.Basic, *types.TypeParam:
	case *types.Array:
		return ph.typeStands(t.Elem())
	case *types.Struct:
		for f := range t.Fields() {
			stands = stands && ph.typeStands(f.Type())
		}
	case interface { // a type with a name
		Obj() *types.TypeName
		TypeArgs() *types.TypeList
	}:
		stands = t.Obj().Pkg() == ph.p.Types && t.Obj().Parent() == ph.p.Types.Scope()
		for a := range t.TypeArgs().Types() {
			stands = stands && ph.typeStands(a)
		}
	default:
		return false
	}
	return stands
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
	ast.Inspect(ph.f.decl.Body, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && named[id.Name] != nil {
			v, obj := named[id.Name], ph.p.Info.ObjectOf(id)
			selected := obj != nil && (obj.Parent() == nil || obj.Pkg() != nil && obj.Pkg() != ph.p.Types) // a field, a method, or what another package has
			if obj != v && !selected && (obj == nil || obj.Pos() < v.Pos() || obj.Pkg() == nil || obj.Parent() == ph.p.Types.Scope()) {
				found = v
			}
		}
		return found == nil
	})
	return found
}

// rename gives an object that a kernel declares a new name, and returns a function that restores the old one.
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
		if !ph.typeStands(keptAs(v)) {
			return ph.no(v.Pos(), "the type of %s cannot be kept for the code after a barrier; use a number, an array, or a type that this "+
				"package declares", ph.authored(v))
		}
	}
	return true
}

// authored returns the name that a variable has for its author, before a function with barriers was written into the kernel.
func (ph *phaseWriter) authored(v types.Object) string {
	at := ph.p.Fset.Position(v.Pos())
	for id := range ph.p.Written().Info.Defs {
		if p := ph.p.Fset.Position(id.Pos()); p.Line == at.Line && p.Column == at.Column && filepath.Base(p.Filename) == filepath.Base(at.Filename) {
			return id.Name
		}
	}
	return strings.TrimRight(v.Name(), "_")
}

// used returns the variables that the statements of a phase use.
func (ph *phaseWriter) used(p *phase) (all []types.Object) {
	for _, s := range p.stmts {
		all = append(all, ph.usedIn(s)...)
	}
	return all
}

// usedIn returns the variables in a node, in the order of the text. It looks at the syntax, because several variables may be one value in package ir.
func (ph *phaseWriter) usedIn(n ast.Node) (all []types.Object) {
	ast.Inspect(n, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && ph.p.Info.ObjectOf(id) != nil {
			all = append(all, ph.p.Info.ObjectOf(id))
		}
		return true
	})
	return all
}

// write writes the text of phases.
func (ph *phaseWriter) write(b *strings.Builder, all []*phase) {
	for _, p := range all {
		for _, d := range p.same {
			names := strings.Join(d.names, ", ")
			if d.decl != nil {
				n := ph.text.twin(d.decl)
				fmt.Fprintf(b, "%s\n", ph.text.text[ph.text.at(n.Pos()):ph.text.at(n.End())])
				continue
			}
			fmt.Fprintf(b, "%s := %s\n%s = %[1]s\n", names, ph.values(d.values...), strings.TrimSuffix(strings.Repeat("_, ", len(d.names)), ", "))
		}
		switch {
		case p.rounds != nil:
			ph.writeRounds(b, p)
		case p.Around != nil:
			ph.writeAround(b, p)
		case len(p.stmts) > 0:
			ph.writePhase(b, p)
		}
	}
}

// writeAround writes a loop or an if around phases.
func (ph *phaseWriter) writeAround(b *strings.Builder, p *phase) {
	if text := ph.p.InRounds(p.Around.Syntax.(ast.Node).Pos()); text != "" {
		at := ph.p.Fset.Position(p.Around.Syntax.(ast.Node).Pos()) // where a tile's matrix may have no element
		fmt.Fprintf(b, "//line %s:%d\n%s\n%s\n", filepath.Base(at.Filename), at.Line, text, backHere)
		return
	}
	n := ph.text.twin(p.Around.Syntax.(ast.Node)).(ast.Stmt)
	_, body, _ := bodies(n)
	fmt.Fprintf(b, "%s\n%s\n", ph.between(n.Pos(), body.Lbrace+1), backHere)
	ph.write(b, p.inside)
	if p.other != nil {
		fmt.Fprintf(b, "} else {\n%s\n", backHere)
		ph.write(b, p.other)
	}
	fmt.Fprintf(b, "}\n%s\n", backHere)
}

// source returns the text from the beginning of a node to the end of another one, as it is in the phases.
func (ph *phaseWriter) source(from, to ast.Node) string {
	first, last := ph.text.twin(from), ph.text.twin(to)
	if first == nil || last == nil {
		ph.lost = true
		return ""
	}
	return ph.between(first.Pos(), last.End())
}

// between returns the text between two positions, as it is in the phases.
func (ph *phaseWriter) between(from, to token.Pos) string {
	text, ok := ph.text.cut(ph.text.at(from), ph.text.at(to), ph.change)
	ph.lost = ph.lost || !ok
	return text
}

// values returns the text of expressions, with commas between them.
func (ph *phaseWriter) values(list ...ast.Expr) string {
	var all []string
	for _, e := range list {
		all = append(all, ph.source(ast.Unparen(e), ast.Unparen(e)))
	}
	return strings.Join(all, ", ")
}

// change replaces calls of the thread's methods, and return statements.
func (ph *phaseWriter) change(was, now ast.Node) []edit {
	switch n := was.(type) {
	case *ast.Ident:
		return ph.unprinted(ph.text, n, now)
	case *ast.CallExpr:
		if c, ok := now.(*ast.CallExpr); ok && ph.p.Calls(n, "SharedSlice") {
			id, _ := load.Callee(ast.Unparen(c.Fun))
			return []edit{ph.text.replace(id, "SharedOf"), ph.text.replace(c.Args[0], ph.block)}
		}
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
	case *ast.BranchStmt:
		if to := ph.jumps[n]; to != "" {
			return []edit{ph.text.replace(now, to)}
		}
	case *ast.AssignStmt, *ast.DeclStmt: // some of its variables may be computed elsewhere: see follows
		if ph.partly[n] {
			return ph.left(n.(ast.Stmt), now.(ast.Stmt))
		}
	}
	return nil
}

// left replaces by _ the variables of a definition that are computed elsewhere: see follows.
func (ph *phaseWriter) left(was, now ast.Stmt) (edits []edit) {
	left := false
	ids, _ := declares(was)
	to, _ := declares(now)
	for i, id := range ids {
		v := ph.p.Info.Defs[id]
		if v != nil && ph.follows(v) {
			edits = append(edits, ph.text.replace(to[i], "_"))
		}
		left = left || v != nil && v.Name() != "_" && !ph.follows(v)
	}
	if a, ok := now.(*ast.AssignStmt); ok && edits != nil && !left {
		edits = append(edits, edit{ph.text.at(a.TokPos), ph.text.at(a.TokPos) + len(":="), "="})
	}
	return edits
}

// writePhase writes the loops over the threads around the statements of a phase.
func (ph *phaseWriter) writePhase(b *strings.Builder, p *phase) {
	load, store, rows := ph.rowsOf(p)
	end, only := ph.end(p)
	list, made := p.stmts, p.List
	if only != nil {
		list, made = only.Syntax.(*ast.IfStmt).Body.List, only.Then.List
	}
	next := ""
	if len(p.Continues) > 0 {
		next = ph.fresh("next")
	}
	for _, s := range p.Continues {
		ph.jumps[s.Syntax.(ast.Node)] = "goto " + next
	}
	var moved *move
	if len(rows) == 0 && p.rounds == nil {
		moved = ph.moved(list, made)
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
	each := fmt.Sprintf("range %s", end)
	switch {
	case v != nil:
		done := ph.fresh("done")
		fmt.Fprintf(b, "%s := 0\nif %s != nil {\n%[1]s = %[2]s(%s%s)\n}\n", done, v.Hook, args, end)
		each = fmt.Sprintf("%s & (1<<30 - 1); %s < %s; %[2]s++", done, ph.local[0], end) // the compiler sees that it is not negative
	case moved != nil:
		to, from := ph.fresh("to"), ph.fresh("from")
		fmt.Fprintf(b, "%s, %s := 0, 0\n{\n%s := 0\n_, _, _ = %[3]s, %s, %s\n", to, from, ph.local[0], ph.local[1], ph.local[2])
		ph.writeAgain(b, list...)
		fmt.Fprintf(b, "%s, %s = %s, %s\n}\n", to, from, moved.to, moved.from)
		fmt.Fprintf(b, "if !gridgen.Copies(%s, %s, %s, %s, %s) {\n", moved.dst, to, moved.src, from, end)
	}
	if p.Returns {
		fmt.Fprintf(b, "%s:\n", ph.label)
	}
	fmt.Fprintf(b, "for %s := %s {\n_, _, _ = %[1]s, %[3]s, %[4]s\n", ph.local[0], each, ph.local[1], ph.local[2])
	if r := p.rounds; r != nil {
		fmt.Fprintf(b, "%s\n_ = %s\n", r.begin(ph.local[0]), r.v.Name())
	}
	ph.writeAgain(b, list...)
	ph.pairs(b, load, ":=")
	ph.writeBody(b, p, only, next)
	fmt.Fprintf(b, "%s\n", backHere)
	ph.pairs(b, store, "=")
	if moved != nil {
		b.WriteString("}\n")
	}
	b.WriteString("}\n}\n}\n")
}

// writeBody writes the statements of a phase or, if only is set, those in its only if. The label next follows them, unless it is "".
func (ph *phaseWriter) writeBody(b *strings.Builder, p *phase, only *ir.Stmt, next string) {
	apart := p.rounds != nil || only != nil || next != ""
	if apart {
		b.WriteString("{\n") // the statements may declare names that are also used outside of them
	}
	if only != nil {
		body := ph.text.twin(only.Syntax.(ast.Node)).(*ast.IfStmt).Body
		fmt.Fprintf(b, "%s\n", ph.between(body.Lbrace+1, body.Rbrace))
	} else {
		for _, run := range p.runs {
			fmt.Fprintf(b, "%s\n", ph.source(run[0], run[len(run)-1]))
		}
	}
	if apart {
		b.WriteString("}\n")
	}
	if next != "" {
		fmt.Fprintf(b, "%s:\n", next)
	}
}

// rowsOf returns texts for the variables that threads keep in rows: load has pairs of a variable and the element from which a phase reads it, store pairs of
// an element and the variable that a phase writes to it, and rows the definitions of the rows.
func (ph *phaseWriter) rowsOf(p *phase) (load, store, rows []string) {
	loads, stores := ph.keptIn(p)
	for _, v := range ph.keeps {
		element := fmt.Sprintf("%s[%s]", ph.rows[v], ph.local[0])
		if slices.Contains(loads, v) {
			load = append(load, v.Name(), element)
		}
		if slices.Contains(stores, v) {
			store = append(store, element, v.Name())
		}
		if slices.Contains(loads, v) || slices.Contains(stores, v) {
			rows = append(rows, fmt.Sprintf("%s := %s.%s[%%s:][:%%s]\n", ph.rows[v], ph.kept, v.Name()))
		}
	}
	return load, store, rows
}

// keptIn returns those kept variables that a phase reads from memory at its beginning (load), and those that it writes back at its end (store).
func (ph *phaseWriter) keptIn(p *phase) (load, store []types.Object) {
	uses := ph.used(p)
	for _, v := range ph.keeps {
		if !slices.Contains(uses, v) {
			continue
		}
		if !p.declares[v] {
			load = append(load, v)
		}
		if (p.declares[v] || p.Changes(ph.Var(v.Pos()))) && !p.Last {
			store = append(store, v)
		}
	}
	return load, store
}

// pairs writes an assignment for each pair in the list: a variable and its value.
func (ph *phaseWriter) pairs(b *strings.Builder, list []string, op string) {
	for i := 0; i < len(list); i += 2 {
		fmt.Fprintf(b, "%s %s %s\n", list[i], op, list[i+1])
		if op == ":=" {
			fmt.Fprintf(b, "_ = %s\n", list[i])
		}
	}
}

// needsAgain returns the variables that statements use, and that are computed again in each phase.
func (ph *phaseWriter) needsAgain(list ...ast.Stmt) (needed []types.Object) {
	uses := map[types.Object]bool{}
	use := func(n ast.Node) {
		ast.Inspect(n, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok { // not one that only defines it
				uses[ph.p.Info.Uses[id]] = true
			}
			return true
		})
	}
	for _, s := range list {
		use(s)
	}
	for _, v := range slices.Backward(ph.order) {
		if uses[v] {
			use(ph.again[v])
			needed = append(needed, v)
		}
	}
	slices.Reverse(needed)
	return needed
}

// writeAgain writes the definitions of these variables.
func (ph *phaseWriter) writeAgain(b *strings.Builder, list ...ast.Stmt) {
	for _, v := range ph.needsAgain(list...) {
		fmt.Fprintf(b, "%s := %s\n", v.Name(), ph.values(ph.again[v]))
	}
}
