package build

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"github.com/go-halyard/halyard/internal/translate/ir"
)

func (f *function) switches(s *ast.SwitchStmt, label string) {
	if s.Init != nil {
		f.statement(s.Init, "")
	}
	f.Pos, f.Syntax = s.Pos(), s
	var tag *ir.Value
	var t types.Type
	if s.Tag != nil {
		t = f.typeOf(s.Tag)
		if b, ok := t.(*types.Basic); ok && b.Info()&types.IsUntyped != 0 {
			t = types.Default(t)
		}
		switch t.Underlying().(type) {
		case *types.Interface, *types.Pointer, *types.Slice:
			refuseAs(s.Tag.Pos(), t)
		}
		f.p.typ(t, s.Tag.Pos())
		tag = f.Let(f.exprAs(s.Tag, t))
	}
	made := f.Stmt(ir.Switch)
	made.Label = label
	for _, c := range s.Body.List {
		clause := &ir.Clause{}
		for _, e := range c.(*ast.CaseClause).List {
			test := ir.Test{}
			test.Head = f.In(func() { test.Cond = f.matches(tag, t, e) })
			clause.Tests = append(clause.Tests, test)
		}
		made.Clauses = append(made.Clauses, clause)
	}
	f.inside(label, made, func() {
		for i, c := range s.Body.List {
			body := c.(*ast.CaseClause).Body
			if n := len(body); n > 0 {
				if b, ok := body[n-1].(*ast.BranchStmt); ok && b.Tok == token.FALLTHROUGH {
					made.Clauses[i].Falls, body = true, body[:n-1]
				}
			}
			made.Clauses[i].Body = f.region(body...)
		}
	})
}

// matches returns the condition of a case. The parameter tag is nil if the switch has no tag expression.
func (f *function) matches(tag *ir.Value, t types.Type, e ast.Expr) *ir.Value {
	if tag == nil {
		return f.expr(e)
	}
	et := f.typeOf(e)
	if _, ok := et.Underlying().(*types.Interface); ok {
		refuseAs(e.Pos(), et)
	}
	return f.Value(ir.Eq, ir.Basic(ir.Bool), tag, f.exprAs(e, t))
}

func (f *function) loop(s *ast.ForStmt, label string) {
	if f.counts(s, label) {
		return
	}
	if s.Init != nil {
		f.statement(s.Init, "")
	}
	f.Pos, f.Syntax = s.Pos(), s
	made := f.Stmt(ir.Loop)
	made.Label = label
	if s.Cond != nil {
		made.Head = f.In(func() { made.Value = f.expr(s.Cond) })
	}
	if s.Post != nil {
		made.Step = f.In(func() { f.statement(s.Post, "") })
	}
	f.inside(label, made, func() { made.Then = f.region(s.Body.List...) })
}

// counts builds a loop if its variable changes only in the step, by a constant, and its end does not change. For any other loop it builds nothing and returns
// false.
func (f *function) counts(s *ast.ForStmt, label string) bool {
	init, ok := s.Init.(*ast.AssignStmt)
	if !ok || init.Tok != token.DEFINE || len(init.Lhs) != 1 || len(init.Rhs) != 1 || s.Cond == nil || s.Post == nil {
		return false
	}
	id, _ := init.Lhs[0].(*ast.Ident)
	obj := f.info().Defs[id]
	cond, isBinary := ast.Unparen(s.Cond).(*ast.BinaryExpr)
	if obj == nil || !isBinary || f.changes[obj] != 1 || f.object(cond.X) != obj {
		return false
	}
	t := f.substitute(obj.Type())
	n := basic(t)
	op := operators[cond.Op]
	by, ok := f.steps(s.Post, obj)
	if n == nil || !n.Integer() || !op.Compares() || op == ir.Eq || !ok || by == 0 || !f.steady(cond.Y, obj) {
		return false
	}
	f.Pos, f.Syntax = s.Pos(), s
	from := f.exprAs(init.Rhs[0], t)
	c := &ir.Count{From: from, End: f.exprAs(cond.Y, t), Op: op, By: by}
	f.counted(s, label, c, n, obj.Name(), func(i *ir.Value) {
		f.vars[obj] = &variable{typ: t, is: i}
		f.statements(s.Body.List)
	})
	return true
}

// counted builds a loop that counts.
func (f *function) counted(s ast.Stmt, label string, c *ir.Count, t *ir.Type, name string, body func(i *ir.Value)) {
	f.Pos, f.Syntax = s.Pos(), s
	made := f.Stmt(ir.Loop)
	made.Label, made.Count = label, c
	c.Index = f.Value(ir.Counter, t)
	c.Index.Name, c.Index.Bound = name, true
	f.inside(label, made, func() { made.Then = f.In(func() { body(c.Index) }) })
}

// ranges builds a loop over an integer, an array or a slice.
func (f *function) ranges(s *ast.RangeStmt, label string) {
	wantValue := s.Value != nil && !blank(s.Value)
	end, element := f.ranged(s, wantValue)
	name := ""
	if id, ok := s.Key.(*ast.Ident); ok && s.Tok == token.DEFINE {
		name = id.Name
	}
	c := &ir.Count{From: f.Int(end.Type, 0), End: end, Op: ir.Lt, By: 1}
	f.counted(s, label, c, end.Type, name, func(i *ir.Value) {
		f.assignRound(s, i, element)
		f.statements(s.Body.List)
	})
}

// assignRound assigns the index and the element of a round to the variables of a range. It evaluates both places and reads the element before either variable
// changes.
func (f *function) assignRound(s *ast.RangeStmt, i *ir.Value, element func(i *ir.Value) *ir.Value) {
	var values []*ir.Value
	var places []*ir.Place
	left := []ast.Expr{s.Key, s.Value}
	for n, e := range left {
		v := i
		if e == nil || blank(e) {
			left[n] = nil
		} else if s.Tok == token.ASSIGN {
			places = append(places, f.Frozen(f.place(e)))
		}
		if n == 1 && left[n] != nil {
			v = element(i)
			if s.Tok == token.ASSIGN {
				v = f.Let(v)
			}
		}
		values = append(values, v)
	}
	for n, e := range left {
		switch {
		case e == nil:
		case s.Tok == token.DEFINE:
			f.set(e, values[n])
		default:
			f.Store(places[0], values[n])
			places = places[1:]
		}
	}
}

// ranged returns the number of rounds of a range loop, and a function that reads the element of a round. The function is nil if the loop needs no elements.
func (f *function) ranged(s *ast.RangeStmt, wantValue bool) (end *ir.Value, element func(i *ir.Value) *ir.Value) {
	t := f.typeOf(s.X)
	rounds := func(n int64) *ir.Value { return f.Int(ir.Basic(ir.Int), n) }
	switch u := t.Underlying().(type) {
	case *types.Pointer:
		if a, ok := u.Elem().Underlying().(*types.Array); ok {
			at := f.Frozen(f.pointee(s.X))
			return rounds(a.Len()), func(i *ir.Value) *ir.Value { return f.read(ref{place: f.AgainAt(at).Part(0, i, nil)}, s.X.Pos()) }
		}
	case *types.Basic:
		if u.Info()&types.IsInteger == 0 || wantValue { // only a type parameter whose type set also has maps allows a second variable
			break
		}
		if u.Info()&types.IsUntyped != 0 {
			t = types.Typ[types.Int]
			if s.Key != nil && !blank(s.Key) {
				t = f.lhsType(s.Key)
			}
		}
		return f.exprAs(s.X, t), nil
	case *types.Array:
		if at := f.tableOf(s.X); wantValue && at != nil {
			at = f.Frozen(at)
			return rounds(u.Len()), func(i *ir.Value) *ir.Value { return f.read(ref{place: f.AgainAt(at).Part(0, i, nil)}, s.X.Pos()) }
		}
		if wantValue { // Go ranges over a copy of the array
			f.p.typ(t, s.X.Pos())
			all := f.Let(f.expr(s.X))
			return rounds(u.Len()), func(i *ir.Value) *ir.Value { return f.Extract(all, 0, i) }
		}
		if s.Value != nil || f.calls(s.X) { // for one variable Go evaluates the expression only if it has calls
			f.discard(s.X)
		}
		return rounds(u.Len()), nil
	case *types.Slice:
		p := f.slice(s.X)
		return f.Again(p.len), func(i *ir.Value) *ir.Value {
			return f.read(ref{place: f.elementAt(p, i, token.NoPos, true)}, s.X.Pos())
		}
	case *types.Signature:
		refuse(s.X.Pos(), "a range over a function has no translation; write a loop with an index")
	}
	refuseAs(s.X.Pos(), t)
	return nil, nil
}

// typeSwitch builds the one clause of a switch over the type of a value whose type is a type parameter.
func (f *function) typeSwitch(s *ast.TypeSwitchStmt) {
	const only = "an interface has no translation; use a concrete type, or a generic function, in which switch any(x).(type) decides for a type parameter"
	var asserted ast.Expr
	switch a := s.Assign.(type) {
	case *ast.ExprStmt:
		asserted = a.X
	case *ast.AssignStmt:
		asserted = a.Rhs[0]
	}
	x, ok := ast.Unparen(asserted).(*ast.TypeAssertExpr)
	if !ok || s.Init != nil {
		refuse(s.Pos(), only)
	}
	made, ok := ast.Unparen(x.X).(*ast.CallExpr)
	if !ok || len(made.Args) != 1 || !f.info().Types[made.Fun].IsType() {
		refuse(s.Pos(), only)
	}
	if _, ok := types.Unalias(f.info().TypeOf(made.Args[0])).(*types.TypeParam); !ok {
		refuse(s.Pos(), only)
	}
	t := f.typeOf(made.Args[0])
	var chosen *ast.CaseClause
	for _, c := range s.Body.List {
		c := c.(*ast.CaseClause)
		if c.List == nil && chosen == nil || slices.ContainsFunc(c.List, func(e ast.Expr) bool {
			return f.info().Types[e].IsType() && types.Identical(f.typeOf(e), t)
		}) {
			chosen = c
			if c.List != nil {
				break
			}
		}
	}
	if chosen == nil {
		return
	}
	if v := f.info().Implicits[chosen]; v != nil && len(chosen.List) == 1 {
		f.declare(v, t, f.exprAs(made.Args[0], t))
	} else {
		f.discard(made.Args[0])
	}
	f.jumps = append(f.jumps, jump{})
	f.statements(chosen.Body)
	f.jumps = f.jumps[:len(f.jumps)-1]
}

// tableOf returns the place of a table, or of a part of it, if an expression is one.
func (f *values) tableOf(e ast.Expr) *ir.Place {
	obj := f.root(e)
	if v := f.vars[obj]; v == nil || v.local == nil || v.local.Space != ir.Constant {
		return nil
	}
	return f.ref(e).place
}
