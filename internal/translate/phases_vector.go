package translate

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-halyard/halyard/internal/translate/load"
)

// This file runs phases of kernels with barriers as vectors, and rounds that threads take together. Each becomes a kernel without
// barriers: the places of its threads are those in their block, and its parameters are what the phase uses from outside. For that kernel
// [laneWriter] writes a function. It runs all threads or none of them, so the loop over the threads stays as it is.

// part is a phase, or a round, as a kernel without barriers.
type part struct {
	args    string   // what a call passes, each with a comma behind
	private []string // parameters whose memory no other parameter shares
	rounds  *rounds
}

// uniform returns the name of a number that all threads have, in the text of a part. In the text of a phase it is an expression.
func (ph *phaseWriter) uniform(name, text string) string {
	if !slices.ContainsFunc(ph.passed, func(a [2]string) bool { return a[0] == name }) {
		ph.passed = append(ph.passed, [2]string{name, text})
	}
	return name
}

// inPart returns what replaces a call of a method of the thread in the text of a part.
func (ph *phaseWriter) inPart(method string, d int) string {
	place := ph.thread.Name() + ".Global(0)"
	if d > 0 {
		place = ph.local[d]
		if method == "Local" || method == "Global" {
			ph.uniform(place, place)
		}
	}
	switch method {
	case "Local":
		return place
	case "Global":
		ph.global[d] = true
		return fmt.Sprintf("(%s + %s)", ph.uniform(ph.first[d], ph.first[d]), place)
	}
	field := map[string]string{"Size": "Size", "Block": "Index", "Blocks": "Grid"}[method]
	name := strings.ToLower(field[:1]) + field[1:] + strings.ToUpper(ph.local[d][1:])
	for ph.names[name] {
		name += "_"
	}
	return ph.uniform(name, fmt.Sprintf("int(%s.%s[%d])", ph.block, field, d))
}

// vectors returns the function that runs the threads of a phase, or of a round, as vectors, and the arguments of its call. It returns nil
// if there is none, and notes why.
func (ph *phaseWriter) vectors(p *phase) (*vectors, string) {
	if p.alone {
		return nil, ""
	}
	if s, ok := p.stmts[0].(*ast.IfStmt); ok && len(p.stmts) == 1 {
		if c, ok := s.Cond.(*ast.BinaryExpr); ok && c.Op == token.EQL {
			return nil, "" // one thread runs
		}
	}
	f, m, ok := ph.asKernel(p)
	if !ok {
		ph.scalar(ph.p.ErrorAt(p.stmts[0].Pos(), "what is between two barriers here uses memory, or a variable, that does not become a vector"))
		return nil, ""
	}
	w := &rowWriter{p: ph.p, f: f, imports: map[string]string{}, names: map[string]bool{}, known: map[types.Object]ast.Expr{},
		guards: map[ast.Node]bool{}}
	w.own = func(c *ast.CallExpr) bool { _, ok := w.place(c); return ok }
	for _, field := range f.decl.Type.Params.List {
		for _, id := range field.Names {
			w.params = append(w.params, ph.p.Info.Defs[id])
		}
	}
	if !w.survey() {
		return nil, ""
	}
	row := &rows{name: ph.f.decl.Name.Name, writer: w, limits: w.limits(), truths: w.guards}
	v, why := ph.p.vectorsOf(f, row, m)
	if v == nil {
		ph.scalar(why)
		return nil, ""
	}
	ph.parts = append(ph.parts, v)
	return v, m.args
}

// scalar notes the first reason why a part has no vectors.
func (ph *phaseWriter) scalar(why *load.Error) {
	if ph.noVectors == nil {
		ph.noVectors = why
	}
}

// asKernel returns a phase, or a round, as a kernel without barriers.
func (ph *phaseWriter) asKernel(p *phase) (*function, *part, bool) {
	ph.inParts, ph.passed = true, nil
	defer func() { ph.inParts = false }()
	m := &part{rounds: p.rounds}
	var body strings.Builder
	line := func(pos token.Pos) {
		at := ph.p.Fset.Position(pos)
		fmt.Fprintf(&body, "//line %s:%d\n", filepath.Base(at.Filename), at.Line)
	}
	begin, end := p.stmts[0].Pos(), p.stmts[len(p.stmts)-1].End()
	place := ph.thread.Name() + ".Global(0)"
	if p.rounds != nil {
		line(begin)
		body.WriteString(p.rounds.begin(place) + "\n")
	}
	again := ph.needsAgain(p.stmts...)
	for _, v := range again {
		line(begin)
		fmt.Fprintf(&body, "%s := %s\n", v.Name(), ph.values(ph.again[v]))
	}
	load, store := ph.keptIn(p)
	for _, v := range load {
		line(begin)
		fmt.Fprintf(&body, "%s := %s[%s]\n", v.Name(), ph.rows[v], place)
	}
	if p.rounds != nil {
		body.WriteString("{\n")
	}
	for _, run := range p.runs {
		body.WriteString(ph.source(run[0], run[len(run)-1]) + "\n")
	}
	if p.rounds != nil {
		body.WriteString("}\n")
	}
	for _, v := range store {
		line(end)
		fmt.Fprintf(&body, "%s[%s] = %s\n", ph.rows[v], place, v.Name())
	}

	params := []*param{{name: ph.thread.Name(), kind: thread}}
	var list strings.Builder
	pass := func(name string, t types.Type, text string) {
		params = append(params, &param{name: name, typ: t})
		fmt.Fprintf(&list, ", %s %s", name, ph.p.typeName(t))
		m.args += text + ", "
	}
	if p.rounds != nil {
		pass(p.rounds.round, types.Typ[types.Int], p.rounds.round)
	}
	for _, a := range ph.passed {
		pass(a[0], types.Typ[types.Int], a[1])
	}
	uses := ph.used(p)
	for _, v := range again {
		uses = append(uses, ph.usedIn(ph.again[v])...)
	}
	var passed []types.Object
	for _, v := range uses {
		if !ph.same[v] || slices.Contains(passed, v) {
			continue
		}
		if passed = append(passed, v); isSlice(v.Type()) && !slices.Contains(ph.rowWriter.params, v) {
			return nil, nil, false // it shares its elements with another slice
		}
		if !slices.Contains(ph.shared, v) {
			pass(v.Name(), v.Type(), v.Name())
			continue
		}
		a, ok := v.Type().Underlying().(*types.Pointer).Elem().Underlying().(*types.Array)
		if !ok || !loadable(a.Elem()) {
			return nil, nil, false
		}
		m.private = append(m.private, v.Name())
		pass(v.Name(), types.NewSlice(a.Elem()), "grid.Lent("+v.Name()+"[:])")
	}
	for _, v := range ph.keeps {
		if slices.Contains(load, v) || slices.Contains(store, v) {
			if !loadable(v.Type()) {
				return nil, nil, false
			}
			m.private = append(m.private, ph.rows[v])
			text := ph.rows[v]
			if p.rounds != nil {
				text = ph.kept + "." + v.Name()
			}
			pass(ph.rows[v], types.NewSlice(v.Type()), text)
		}
	}
	text := fmt.Sprintf("func(%s grid.Thread%s) {\n%s}", ph.thread.Name(), list.String(), body.String())
	e, err := parser.ParseExprFrom(ph.p.Fset, "", text, parser.SkipObjectResolution)
	lit, ok := e.(*ast.FuncLit)
	if err != nil || !ok || types.CheckExpr(ph.p.Fset, ph.p.Types, ph.f.decl.Body.Rbrace, e, ph.p.Info) != nil {
		return nil, nil, false
	}
	decl := &ast.FuncDecl{Name: ast.NewIdent(ph.f.decl.Name.Name), Type: lit.Type, Body: lit.Body}
	return &function{decl: decl, params: params}, m, true
}

// loadable reports whether vectors are loaded from elements of a type: a number with as many bits on every processor.
func loadable(t types.Type) bool {
	b, ok := t.(*types.Basic)
	if !ok || b.Kind() == types.Int || b.Kind() == types.Uint {
		return false
	}
	n, ok := numbers[b.Kind()]
	return ok && !n.truth
}

// partFunction returns the text of a part's function around the lines.
func (l *laneWriter) partFunction(name, params string) string {
	w, m := l.w, l.part
	if len(l.spans)+len(l.late) > 0 {
		refuse(w.f.decl.Pos(), "rows of matrices between barriers do not become vector code")
	}
	end := l.count
	for _, limit := range l.row.limits {
		end = fmt.Sprintf("min(%s, %s)", end, limit.limit)
	}
	wide := fmt.Sprintf("lanes.Lanes%d().Len()", l.bits)
	lines, apart := l.needed(), l.apart()
	for _, t := range lines {
		if strings.HasPrefix(t.text, "return ") {
			refuse(t.pos, "an index that is checked while the threads of a block run keeps them from running as vectors")
		}
	}
	var b, views, vectors strings.Builder
	for _, v := range l.views {
		if mentioned(lines, v.name) || slices.ContainsFunc(apart, func(c string) bool { return mentions(c, v.name) }) {
			fmt.Fprintf(&views, "%s := %s[%s:][:%s]\n", v.name, v.slice, v.offset, l.to)
		}
	}
	if mentioned(lines, l.label) {
		fmt.Fprintf(&vectors, "%s:\n", l.label)
	}
	fmt.Fprintf(&vectors, "for %s := 0; %[1]s < %[2]s; %[1]s += %[3]s {\n", l.at, l.to, wide)
	vectors.WriteString(l.places(lines, l.at) + l.withLines(lines) + "}\n")
	hoisted := l.before(lines)
	if r := m.rounds; r != nil {
		if len(l.row.limits) > 0 || len(l.spread) > 0 || len(apart) > 0 {
			refuse(w.f.decl.Pos(), "the rounds of this loop do not become vector code")
		}
		stop, step := l.fresh("stop"), l.fresh("step")
		fmt.Fprintf(&b, "// %s takes rounds of a loop as vectors while all threads take part, and returns where the next round begins.\n", name)
		fmt.Fprintf(&b, "func %s(%s, %s, %s, %s int) int {\n", name, strings.TrimPrefix(params, ", "), stop, step, l.to)
		fmt.Fprintf(&b, "if %[1]s < %[2]s || %[1]s%%%[2]s != 0 {\nreturn %[3]s\n}\n", l.to, wide, r.round)
		fmt.Fprintf(&b, "%sfor ; %s-%s >= %s; %[3]s += %[5]s {\n", hoisted, stop, r.round, l.to, step)
		if len(l.fits) > 0 {
			fmt.Fprintf(&b, "if %s {\nbreak\n}\n", strings.Join(l.fits, " || "))
		}
		fmt.Fprintf(&b, "%s%s}\nreturn %s\n}\n", views.String(), vectors.String(), r.round)
		return b.String()
	}
	fmt.Fprintf(&b, "// %s runs threads of a block as vectors: all of them, or none and returns false.\n", name)
	fmt.Fprintf(&b, "func %s(%s, %s int) bool {\n", name, strings.TrimPrefix(params, ", "), l.count)
	fmt.Fprintf(&b, "%s := %s\n%s, %s := 0, %[1]s\n", l.end, end, l.from, l.to)
	for _, v := range l.views {
		fmt.Fprintf(&b, "%[1]s, %[2]s = grid.Within(%[1]s, %[2]s, %[3]s, len(%[4]s))\n", l.from, l.to, v.offset, v.slice)
	}
	for _, v := range l.spread {
		fmt.Fprintf(&b, "%[1]s, %[2]s = lanes.Within(%[1]s, %[2]s, %[3]d, %[4]s, len(%[5]s))\n", l.from, l.to, v.step, v.offset.text(), v.slice)
	}
	scalar := append([]string{fmt.Sprintf("%s != 0 || %s != %s || %[2]s < %[4]s || %[2]s%%%[4]s != 0", l.from, l.to, l.end, wide)}, l.fits...)
	fmt.Fprintf(&b, "if %s {\nreturn false\n}\n%s", strings.Join(scalar, " || "), views.String())
	if len(apart) > 0 {
		fmt.Fprintf(&b, "if %s {\nreturn false // a thread uses what another one stores\n}\n", strings.Join(apart, " || "))
	}
	fmt.Fprintf(&b, "%s%sreturn true\n}\n", hoisted, vectors.String())
	return b.String()
}
