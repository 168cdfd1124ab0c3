package build

import (
	"go/ast"
	"go/constant"
	"go/token"

	"github.com/go-halyard/halyard/internal/translate/ir"
)

// statements builds statements one by one, so that an error in one does not hide the errors in others.
func (f *function) statements(list []ast.Stmt) {
	for _, s := range list {
		f.p.try(func() { f.statement(s, "") })
	}
}

// region returns the region of statements.
func (f *function) region(list ...ast.Stmt) *ir.Region { return f.In(func() { f.statements(list) }) }

func (f *function) statement(s ast.Stmt, label string) {
	f.Pos, f.Syntax = s.Pos(), s
	if _, isBlock := s.(*ast.BlockStmt); isBlock && label != "" {
		refuse(s.Pos(), "a label can only be before a loop or a switch; move it")
	}
	switch s := s.(type) {
	case *ast.EmptyStmt:
	case *ast.BlockStmt:
		f.statements(s.List)
	case *ast.LabeledStmt:
		f.statement(s.Stmt, s.Label.Name)
	case *ast.ExprStmt:
		call, ok := ast.Unparen(s.X).(*ast.CallExpr)
		if !ok {
			refuse(s.Pos(), "a channel has no translation; threads share buffers and grid.Shared memory")
		}
		for _, v := range f.call(call) {
			f.evaluate(v)
		}
	case *ast.AssignStmt:
		f.assign(s)
	case *ast.IncDecStmt:
		op := ir.Add
		if s.Tok == token.DEC {
			op = ir.Sub
		}
		f.change(op, s.X, nil, s.Pos())
	case *ast.DeclStmt:
		f.declaration(s.Decl)
	case *ast.ReturnStmt:
		f.returns(s)
	case *ast.IfStmt:
		f.branch(s)
	case *ast.SwitchStmt:
		f.switches(s, label)
	case *ast.TypeSwitchStmt:
		f.typeSwitch(s)
	case *ast.ForStmt:
		f.loop(s, label)
	case *ast.RangeStmt:
		f.ranges(s, label)
	case *ast.BranchStmt:
		f.leave(s)
	default:
		f.refuseStatement(s)
	}
}

func (f *function) refuseStatement(s ast.Stmt) {
	switch s.(type) {
	case *ast.GoStmt:
		refuse(s.Pos(), "a goroutine has no translation; threads of the grid run at once")
	case *ast.DeferStmt:
		refuse(s.Pos(), "defer has no translation; write what it does before each return")
	case *ast.SendStmt:
		refuse(s.Pos(), "a channel has no translation; threads share buffers and grid.Shared memory")
	case *ast.SelectStmt:
		refuse(s.Pos(), "select has no translation; threads share buffers and grid.Shared memory")
	}
	refuse(s.Pos(), "this statement has no translation")
}

// assign builds assignments and short declarations.
func (f *function) assign(s *ast.AssignStmt) {
	if s.Tok != token.ASSIGN && s.Tok != token.DEFINE {
		f.update(s)
		return
	}
	if len(s.Rhs) == 1 && f.p.pkg.Calls(s.Rhs[0], "Shared") {
		if id, ok := s.Lhs[0].(*ast.Ident); ok && s.Tok == token.DEFINE {
			if v, ok := f.vars[f.info().Defs[id]]; ok && (v == nil || v.kind == shared) {
				return // declareShared has declared or refused it
			}
		}
		f.refuseShared(ast.Unparen(s.Rhs[0]).(*ast.CallExpr))
	}
	if len(s.Rhs) == 1 && f.p.pkg.Calls(s.Rhs[0], "SharedSlice") {
		f.sharedSlice(s)
		return
	}
	switch {
	case len(s.Lhs) > 1:
		f.assignAll(s)
	case f.assignPart(s.Lhs[0], s.Rhs[0]):
	case f.choose(s):
	case blank(s.Lhs[0]):
		f.discard(s.Rhs[0])
	case s.Tok == token.ASSIGN:
		at := f.place(s.Lhs[0])
		f.Store(at, f.exprAs(s.Rhs[0], f.typeOf(s.Lhs[0])))
	default:
		f.set(s.Lhs[0], f.exprAs(s.Rhs[0], f.lhsType(s.Lhs[0])))
	}
}

// assignAll builds an assignment to several places. First the places are evaluated, then all values, and then the assignments are made from left
// to right.
func (f *function) assignAll(s *ast.AssignStmt) {
	places := make([]*ir.Place, len(s.Lhs))
	for i, l := range s.Lhs {
		if id, isName := l.(*ast.Ident); !isName || !blank(l) && f.info().Defs[id] == nil {
			places[i] = f.Frozen(f.place(l))
		}
	}
	var values []*ir.Value
	if len(s.Rhs) == 1 {
		call, ok := ast.Unparen(s.Rhs[0]).(*ast.CallExpr)
		if !ok {
			refuse(s.Pos(), "this assignment has no translation")
		}
		values = f.call(call)
	} else {
		for i, r := range s.Rhs {
			if f.assignPart(s.Lhs[i], r) {
				values = append(values, nil)
			} else if blank(s.Lhs[i]) {
				values = append(values, f.expr(r))
			} else {
				values = append(values, f.exprAs(r, f.lhsType(s.Lhs[i])))
			}
		}
		fresh := true // all names are new, so no value can use one of them
		for _, p := range places {
			fresh = fresh && p == nil
		}
		for i, v := range values {
			if v != nil && !fresh && !blank(s.Lhs[i]) && v.Op > ir.AllBlocks {
				values[i] = f.Let(v)
			}
		}
	}
	if len(values) != len(s.Lhs) {
		refuse(s.Pos(), "this assignment has no translation")
	}
	for i, l := range s.Lhs {
		switch {
		case values[i] == nil:
		case places[i] != nil:
			f.Store(places[i], values[i])
		case blank(l):
			f.evaluate(values[i])
		default:
			f.set(l, values[i])
		}
	}
}

// set assigns to a variable, or declares a new one.
func (f *function) set(l ast.Expr, v *ir.Value) {
	if id, ok := l.(*ast.Ident); ok {
		if obj := f.info().Defs[id]; obj != nil {
			t := f.substitute(obj.Type())
			f.p.typ(t, l.Pos())
			f.declare(obj, t, v)
			return
		}
	}
	f.Store(f.place(l), v)
}

// update builds x op= y.
func (f *function) update(s *ast.AssignStmt) {
	op, ok := map[token.Token]ir.Op{token.ADD_ASSIGN: ir.Add, token.SUB_ASSIGN: ir.Sub, token.MUL_ASSIGN: ir.Mul, token.QUO_ASSIGN: ir.Div, token.REM_ASSIGN: ir.Rem,
		token.AND_ASSIGN: ir.And, token.OR_ASSIGN: ir.Or, token.XOR_ASSIGN: ir.Xor, token.SHL_ASSIGN: ir.Shl, token.SHR_ASSIGN: ir.Shr, token.AND_NOT_ASSIGN: ir.AndNot}[s.Tok]
	if !ok {
		refuse(s.Pos(), "operator %s has no translation", s.Tok)
	}
	f.change(op, s.Lhs[0], s.Rhs[0], s.Pos())
}

// change builds x = x op y. A nil y means the constant 1.
func (f *function) change(op ir.Op, x, y ast.Expr, pos token.Pos) {
	n, t := f.number(x), f.typeOf(x)
	at := f.Frozen(f.place(x))
	old := f.read(ref{place: at}, pos)
	var v *ir.Value
	switch {
	case y == nil:
		v = f.arithmetic(op, n, old, f.constant(constant.MakeInt64(1), t, pos), x)
	case op == ir.Shl || op == ir.Shr:
		v = f.shift(op, n, old, y)
	default:
		v = f.arithmetic(op, n, old, f.exprAs(y, t), y)
	}
	v.Pos = pos
	f.Store(f.AgainAt(at), v)
}

func (f *function) declaration(d ast.Decl) {
	g, ok := d.(*ast.GenDecl)
	if !ok || g.Tok != token.VAR {
		return // constants and types are built where they are used
	}
	for _, spec := range g.Specs {
		if v, ok := spec.(*ast.ValueSpec); ok {
			f.variables(v)
		}
	}
}

func (f *function) variables(v *ast.ValueSpec) {
	if len(v.Values) == 1 && f.p.pkg.Calls(v.Values[0], "Shared") {
		if w, ok := f.vars[f.info().Defs[v.Names[0]]]; ok && (w == nil || w.kind == shared) {
			return
		}
		f.refuseShared(ast.Unparen(v.Values[0]).(*ast.CallExpr))
	}
	var values []*ir.Value
	if len(v.Values) == 1 && len(v.Names) > 1 {
		call, ok := ast.Unparen(v.Values[0]).(*ast.CallExpr)
		if !ok {
			refuse(v.Pos(), "this declaration has no translation")
		}
		values = f.call(call)
	} else {
		for i, e := range v.Values {
			if f.assignPart(v.Names[i], e) {
				values = append(values, nil)
			} else {
				values = append(values, f.exprAs(e, f.substitute(f.info().Defs[v.Names[i]].Type())))
			}
		}
	}
	for i, id := range v.Names {
		if i < len(values) && values[i] == nil {
			continue
		}
		obj := f.info().Defs[id]
		if w := f.vars[obj]; w != nil && w.kind == chosen { // the pointer is nil, so no table has this number
			f.Store(w.local.At(), f.Int(ir.Basic(ir.Int), -1))
			continue
		}
		t := f.substitute(obj.Type())
		made := f.p.typ(t, id.Pos())
		var is *ir.Value
		if len(values) > i {
			is = values[i]
		} else {
			is = f.Zero(made)
		}
		if blank(id) {
			f.evaluate(is)
		} else {
			f.declare(obj, t, is)
		}
	}
}

func (f *function) returns(s *ast.ReturnStmt) {
	var values []*ir.Value
	switch {
	case len(s.Results) == 1 && len(f.results) > 1:
		call, ok := ast.Unparen(s.Results[0]).(*ast.CallExpr)
		if !ok {
			refuse(s.Pos(), "this return has no translation")
		}
		values = f.call(call)
	case len(s.Results) == 0:
		for _, v := range f.named {
			values = append(values, f.Load(v.local.At()))
		}
	default:
		for i, e := range s.Results {
			values = append(values, f.exprAs(e, f.results[i]))
		}
	}
	f.Stmt(ir.Return).Values = values
}

func (f *function) branch(s *ast.IfStmt) {
	if s.Init != nil {
		f.statement(s.Init, "")
	}
	if f.assembly(s.Cond) {
		return
	}
	cond := f.expr(s.Cond)
	f.Pos, f.Syntax = s.Pos(), s
	made := f.Stmt(ir.If)
	made.Value, made.Then = cond, f.region(s.Body.List...)
	if s.Else != nil {
		made.Else = f.region(s.Else)
	}
}

// inside calls fn for the parts of a loop or a switch that break and continue may leave.
func (f *function) inside(label string, s *ir.Stmt, fn func()) {
	f.jumps = append(f.jumps, jump{label, s})
	defer func() { f.jumps = f.jumps[:len(f.jumps)-1] }()
	fn()
}

// leave builds break and continue.
func (f *function) leave(s *ast.BranchStmt) {
	switch s.Tok {
	case token.GOTO:
		f.jump(s)
		return
	case token.FALLTHROUGH:
		refuse(s.Pos(), "fallthrough has no translation here")
	}
	for i := len(f.jumps) - 1; i >= 0; i-- {
		j := f.jumps[i]
		if j.stmt == nil { // a type switch, of which only one clause is built
			if s.Label == nil && s.Tok == token.BREAK {
				refuse(s.Pos(), "break out of a switch over types has no translation; write an if around what comes after it")
			}
			continue
		}
		if s.Label == nil && (s.Tok == token.BREAK || j.stmt.Do == ir.Loop) || s.Label != nil && j.label == s.Label.Name {
			do := ir.Break
			if s.Tok == token.CONTINUE {
				do = ir.Continue
			}
			f.Stmt(do).Target = j.stmt
			return
		}
	}
	refuse(s.Pos(), "this %s has no translation", s.Tok)
}
