package translate

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-halyard/halyard/internal/translate/build"
	"github.com/go-halyard/halyard/internal/translate/lanes"
	"github.com/go-halyard/halyard/internal/translate/load"
)

// This file runs phases of kernels with barriers as vectors, and rounds that threads take together. Each becomes a kernel without
// barriers: the places of its threads are those in their block, and its parameters are what the phase uses from outside. For that kernel
// package lanes writes a function. It runs the threads at the front of a row, and the loop runs the others; for rounds it runs all threads or none.

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
func (ph *phaseWriter) vectors(p *phase) (*lanes.Vectors, string) {
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
	made, err := build.Part(ph.p.Package, f.decl)
	if err != nil {
		var errs load.Errors
		if errors.As(err, &errs) {
			ph.scalar(&errs[0])
		}
		return nil, ""
	}
	n, kernel := 1, ph.f.decl.Name.Name
	for ; ph.p.names[fmt.Sprintf("hook %sPhase%dVectors", kernel, n)] != ""; n++ {
	}
	phase := fmt.Sprintf("%sPhase%d", kernel, n)
	part := &lanes.Part{Private: m.private}
	if m.rounds != nil {
		part.Round = m.rounds.round
	}
	v, why := ph.p.vectorsOf(f, made, lanes.Kernel{Part: part, File: lanes.File{Names: func() (hook, name string) {
		return ph.p.free("hook", phase+"Vectors"), ph.p.free("vectors", phase+"Lanes")
	}}})
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
		params = append(params, paramOf(types.NewVar(token.NoPos, ph.p.Types, name, t)))
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
		sized := ph.sizedIs(v)
		if passed = append(passed, v); isSlice(v.Type()) && !sized && !slices.Contains(ph.rowWriter.params, v) || declaredInside(v.Type()) {
			return nil, nil, false // it shares its elements with another slice, or its type has no name outside of the kernel
		}
		if sized {
			if !fixed(numberIn(v.Type().Underlying().(*types.Slice).Elem())) {
				return nil, nil, false
			}
			m.private = append(m.private, v.Name())
			pass(v.Name(), types.NewSlice(v.Type().Underlying().(*types.Slice).Elem()), "gridgen.Lent("+v.Name()+")")
			continue
		}
		if !slices.Contains(ph.shared, v) {
			pass(v.Name(), v.Type(), v.Name())
			continue
		}
		a, ok := v.Type().Underlying().(*types.Pointer).Elem().Underlying().(*types.Array)
		if !ok || !fixed(numberIn(a.Elem())) {
			return nil, nil, false
		}
		m.private = append(m.private, v.Name())
		pass(v.Name(), types.NewSlice(a.Elem()), "gridgen.Lent("+v.Name()+"[:])")
	}
	for _, v := range ph.keeps {
		if slices.Contains(load, v) || slices.Contains(store, v) {
			if !fixed(v.Type()) {
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

// sizedIs reports whether a variable is the shared memory whose length is given at each launch.
func (ph *phaseWriter) sizedIs(v types.Object) bool {
	l := ph.f.sized()
	return l != nil && v.Pos() == l.Sized.Pos
}
