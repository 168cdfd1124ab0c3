package translate

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"strings"
)

// jump is a loop or a switch that contains a statement.
type jump struct {
	label      string // in Go
	loop       bool
	id         int
	left, next bool // a goto leaves it; a goto continues with its next round
}

// statements translates statements one by one, so that an error in one does not hide the errors in
// others.
func (f *function) statements(list []ast.Stmt) {
	for _, s := range list {
		f.p.try(func() { f.statement(s, "") })
	}
}

// block translates statements into a block of C.
func (f *function) block(list []ast.Stmt) {
	f.depth++
	f.statements(list)
	f.depth--
}

func (f *function) statement(s ast.Stmt, label string) {
	f.at = s.Pos()
	if label != "" {
		switch s.(type) {
		case *ast.ForStmt, *ast.RangeStmt, *ast.SwitchStmt:
		case *ast.BlockStmt:
			refuse(s.Pos(), "a label can only be before a loop or a switch; move it")
		}
	}
	switch s := s.(type) {
	case *ast.EmptyStmt:
	case *ast.BlockStmt:
		f.line("{")
		f.block(s.List)
		f.line("}")
	case *ast.LabeledStmt:
		f.statement(s.Stmt, s.Label.Name)
	case *ast.ExprStmt:
		call, ok := ast.Unparen(s.X).(*ast.CallExpr)
		if !ok {
			refuse(s.Pos(), "a channel has no translation; threads share buffers and grid.Shared memory")
		}
		f.call(call, false)
	case *ast.AssignStmt:
		f.assign(s)
	case *ast.IncDecStmt:
		op := token.ADD
		if s.Tok == token.DEC {
			op = token.SUB
		}
		one := f.constant(constant.MakeInt64(1), f.typeOf(s.X), s.Pos())
		var value string
		z, isComplex := complexOf(f.typeOf(s.X))
		at := f.place(s.X)
		if isComplex {
			value = f.complexArithmetic(op, z, f.read(at, s.Pos()), one, s.Pos())
		} else {
			value = f.arithmetic(op, f.number(s.X), f.read(at, s.Pos()), one, s.X)
		}
		f.line("%s = %s;", f.store(at), value)
	case *ast.DeclStmt:
		f.declaration(s.Decl)
	case *ast.ReturnStmt:
		f.returns(s)
	case *ast.IfStmt:
		if chain := ladder(s); chain != nil {
			f.switches(chain, label)
			return
		}
		f.line("{")
		f.depth++
		if s.Init != nil {
			f.statement(s.Init, "")
		}
		f.line("if (%s) {", f.expr(s.Cond))
		f.block(s.Body.List)
		if s.Else != nil {
			f.line("} else {")
			f.block([]ast.Stmt{s.Else})
		}
		f.line("}")
		f.depth--
		f.line("}")
	case *ast.SwitchStmt:
		f.switches(s, label)
	case *ast.ForStmt:
		f.loop(s, label)
	case *ast.RangeStmt:
		f.ranges(s, label)
	case *ast.BranchStmt:
		f.branch(s)
	case *ast.GoStmt:
		refuse(s.Pos(), "a goroutine has no translation; threads of the grid run at once")
	case *ast.DeferStmt:
		refuse(s.Pos(), "defer has no translation; write what it does before each return")
	case *ast.SendStmt:
		refuse(s.Pos(), "a channel has no translation; threads share buffers and grid.Shared memory")
	case *ast.SelectStmt:
		refuse(s.Pos(), "select has no translation; threads share buffers and grid.Shared memory")
	case *ast.TypeSwitchStmt:
		refuse(s.Pos(), "an interface has no translation; use a concrete type, or a generic function")
	default:
		refuse(s.Pos(), "this statement has no translation")
	}
}

// assign translates assignments and short declarations.
func (f *function) assign(s *ast.AssignStmt) {
	if s.Tok != token.ASSIGN && s.Tok != token.DEFINE {
		f.update(s)
		return
	}
	if len(s.Rhs) == 1 && f.isShared(s.Rhs[0]) {
		if id, ok := s.Lhs[0].(*ast.Ident); ok && s.Tok == token.DEFINE {
			if v := f.vars[f.p.pkg.info.Defs[id]]; v != nil && v.kind == shared {
				return // declareShared has declared it
			}
		}
		f.refuseShared(ast.Unparen(s.Rhs[0]).(*ast.CallExpr))
	}
	if len(s.Lhs) == 1 {
		if s.Tok == token.ASSIGN && !blank(s.Lhs[0]) {
			at := f.place(s.Lhs[0])
			value := f.exprAs(s.Rhs[0], f.typeOf(s.Lhs[0]))
			f.line("%s = %s;", f.store(at), value)
			return
		}
		if blank(s.Lhs[0]) {
			f.discard(s.Rhs[0])
			return
		}
		f.set(s.Lhs[0], f.exprAs(s.Rhs[0], f.lhsType(s.Lhs[0])))
		return
	}
	// First the places are evaluated, then all values, and then the assignments are made from left
	// to right.
	places := make([]*place, len(s.Lhs))
	for i, l := range s.Lhs {
		if _, isName := l.(*ast.Ident); !isName {
			at := f.frozen(l)
			places[i] = &at
		}
	}
	var values []string
	if len(s.Rhs) == 1 {
		call, ok := ast.Unparen(s.Rhs[0]).(*ast.CallExpr)
		if !ok {
			refuse(s.Pos(), "this assignment has no translation")
		}
		values = f.call(call, true)
	} else {
		for i, r := range s.Rhs {
			if blank(s.Lhs[i]) {
				values = append(values, f.expr(r))
			} else {
				values = append(values, f.exprAs(r, f.lhsType(s.Lhs[i])))
			}
		}
		fresh := true // each name is new, so no value can use it
		for _, l := range s.Lhs {
			id, ok := l.(*ast.Ident)
			fresh = fresh && ok && (id.Name == "_" || f.p.pkg.info.Defs[id] != nil)
		}
		if !fresh {
			for i, v := range values {
				if blank(s.Lhs[i]) {
					continue
				}
				name := f.temp()
				f.line("%s %s = %s;", f.p.cType(f.lhsType(s.Lhs[i]), s.Pos()), name, v)
				values[i] = name
			}
		}
	}
	if len(values) != len(s.Lhs) {
		refuse(s.Pos(), "this assignment has no translation")
	}
	for i, l := range s.Lhs {
		switch {
		case places[i] != nil:
			f.line("%s = %s;", f.store(*places[i]), values[i])
		case blank(l):
			if len(s.Rhs) > 1 {
				f.line("(void)(%s);", values[i])
			}
		default:
			f.set(l, values[i])
		}
	}
}

func blank(e ast.Expr) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == "_"
}

// discard evaluates an expression whose value is not used.
func (f *function) discard(e ast.Expr) {
	if tv := f.p.pkg.info.Types[e]; tv.Value != nil {
		return
	}
	value := f.expr(e)
	f.p.cType(f.typeOf(e), e.Pos())
	f.line("(void)(%s);", value)
}

// calls reports whether an expression has a call, apart from conversions and constants.
func (f *function) calls(e ast.Expr) bool {
	found := false
	ast.Inspect(e, func(n ast.Node) bool {
		c, ok := n.(*ast.CallExpr)
		found = found || ok && f.p.pkg.info.Types[c].Value == nil && !f.p.pkg.info.Types[c.Fun].IsType()
		return !found
	})
	return found
}

// lhsType returns the type of the left side of an assignment.
func (f *function) lhsType(e ast.Expr) types.Type {
	if id, ok := e.(*ast.Ident); ok {
		if obj := f.p.pkg.info.ObjectOf(id); obj != nil {
			return f.substitute(obj.Type())
		}
	}
	return f.typeOf(e)
}

// set assigns to a variable, or declares it.
func (f *function) set(l ast.Expr, value string) {
	if id, ok := l.(*ast.Ident); ok {
		if obj := f.p.pkg.info.Defs[id]; obj != nil {
			t := f.substitute(obj.Type())
			c := f.p.cType(t, l.Pos())
			f.line("%s %s = %s;", c, f.declare(obj, t).c, value)
			return
		}
	}
	at := f.place(l)
	f.line("%s = %s;", f.store(at), value)
}

// update translates x op= y.
func (f *function) update(s *ast.AssignStmt) {
	op, ok := map[token.Token]token.Token{token.ADD_ASSIGN: token.ADD, token.SUB_ASSIGN: token.SUB, token.MUL_ASSIGN: token.MUL, token.QUO_ASSIGN: token.QUO,
		token.REM_ASSIGN: token.REM, token.AND_ASSIGN: token.AND, token.OR_ASSIGN: token.OR, token.XOR_ASSIGN: token.XOR, token.SHL_ASSIGN: token.SHL,
		token.SHR_ASSIGN: token.SHR, token.AND_NOT_ASSIGN: token.AND_NOT}[s.Tok]
	if !ok {
		refuse(s.Pos(), "operator %s has no translation", s.Tok)
	}
	t := f.typeOf(s.Lhs[0])
	if z, ok := complexOf(t); ok {
		at := f.place(s.Lhs[0])
		value := f.complexArithmetic(op, z, f.read(at, s.Pos()), f.exprAs(s.Rhs[0], t), s.Pos())
		f.line("%s = %s;", f.store(at), value)
		return
	}
	n := f.number(s.Lhs[0])
	at := f.place(s.Lhs[0])
	old := f.read(at, s.Pos())
	var value string
	if op == token.SHL || op == token.SHR {
		value = f.shift(op, n, old, s.Rhs[0])
	} else {
		value = f.arithmetic(op, n, old, f.exprAs(s.Rhs[0], t), s.Rhs[0])
	}
	f.line("%s = %s;", f.store(at), value)
}

func (f *function) declaration(d ast.Decl) {
	g, ok := d.(*ast.GenDecl)
	if !ok || g.Tok != token.VAR {
		return // constants and types are translated where they are used
	}
	for _, spec := range g.Specs {
		v, ok := spec.(*ast.ValueSpec)
		if !ok {
			continue
		}
		if len(v.Values) == 1 && f.isShared(v.Values[0]) {
			if w := f.vars[f.p.pkg.info.Defs[v.Names[0]]]; w != nil && w.kind == shared {
				continue
			}
			f.refuseShared(ast.Unparen(v.Values[0]).(*ast.CallExpr))
		}
		var values []string
		if len(v.Values) == 1 && len(v.Names) > 1 {
			call, ok := ast.Unparen(v.Values[0]).(*ast.CallExpr)
			if !ok {
				refuse(v.Pos(), "this declaration has no translation")
			}
			values = f.call(call, true)
		} else {
			for i, e := range v.Values {
				values = append(values, f.exprAs(e, f.substitute(f.p.pkg.info.Defs[v.Names[i]].Type())))
			}
		}
		for i, id := range v.Names {
			obj := f.p.pkg.info.Defs[id]
			t := f.substitute(obj.Type())
			c := f.p.cType(t, id.Pos())
			value := zero(t)
			if len(values) > i {
				value = values[i]
			}
			f.line("%s %s = %s;", c, f.declare(obj, t).c, value)
		}
	}
}

func (f *function) returns(s *ast.ReturnStmt) {
	if f.looped.most != nil && f.looped.from < s.Pos() {
		f.line("GO_LOOPED")
	}
	var values []string
	switch {
	case len(s.Results) == 1 && len(f.results) > 1:
		call, ok := ast.Unparen(s.Results[0]).(*ast.CallExpr)
		if !ok {
			refuse(s.Pos(), "this return has no translation")
		}
		values = f.call(call, true)
	case len(s.Results) == 0:
		for _, v := range f.named {
			values = append(values, v.c)
		}
	default:
		for i, e := range s.Results {
			values = append(values, f.exprAs(e, f.results[i]))
		}
	}
	switch len(values) {
	case 0:
		f.line("return;")
	case 1:
		f.line("return %s;", values[0])
	default:
		name := f.temp()
		f.line("%s %s;", f.resultT, name)
		for i, v := range values {
			f.line("%s.r%d = %s;", name, i, v)
		}
		f.line("return %s;", name)
	}
}

// enter is called at the beginning of a loop or a switch, and leave at its end.
func (f *function) enter(label string, loop bool) *jump {
	f.temps++
	j := &jump{label: label, loop: loop, id: f.temps}
	f.jumps = append(f.jumps, j)
	return j
}

func (f *function) leave(j *jump) {
	f.jumps = f.jumps[:len(f.jumps)-1]
	if j.left {
		f.line("v_left_%d:;", j.id)
	}
}

// round translates the body of a loop. If a goto continues with the next round, the body is a block of its
// own with the label after it.
func (f *function) round(j *jump, body *ast.BlockStmt) {
	lines := f.captureDeeper(func() { f.block(body.List) })
	if !j.next {
		for i := range lines {
			lines[i] = lines[i][1:]
		}
		f.write(lines)
		return
	}
	f.line("\t{")
	f.write(lines)
	f.line("\t}")
	f.line("\tv_next_%d:;", j.id)
}

func (f *function) branch(s *ast.BranchStmt) {
	if s.Tok == token.GOTO {
		refuse(s.Pos(), "goto has no translation; write a loop, or break and continue with a label")
	}
	if s.Tok == token.FALLTHROUGH {
		refuse(s.Pos(), "fallthrough has no translation here")
	}
	inner := true // no other loop is between the statement and its target
	for i := len(f.jumps) - 1; i >= 0; i-- {
		j := f.jumps[i]
		if s.Label == nil && (s.Tok == token.BREAK || j.loop) || s.Label != nil && j.label == s.Label.Name {
			switch {
			case s.Tok == token.BREAK && j.loop && inner:
				f.line("break;")
			case s.Tok == token.BREAK:
				j.left = true
				f.line("goto v_left_%d;", j.id)
			case inner:
				f.line("continue;")
			default:
				j.next = true
				f.line("goto v_next_%d;", j.id)
			}
			return
		}
		inner = inner && !(j.loop) // a switch is translated without a C statement that break or continue would refer to
	}
	refuse(s.Pos(), "this %s has no translation", s.Tok)
}

func (f *function) switches(s *ast.SwitchStmt, label string) {
	f.line("{")
	f.depth++
	if s.Init != nil {
		f.statement(s.Init, "")
	}
	var tag string
	var t types.Type
	if s.Tag != nil {
		t = f.typeOf(s.Tag)
		if b, ok := t.(*types.Basic); ok && b.Info()&types.IsUntyped != 0 {
			t = types.Default(t)
		}
		switch t.Underlying().(type) {
		case *types.Interface, *types.Pointer, *types.Slice:
			refuse(s.Tag.Pos(), "%s", why(t))
		}
		c := f.p.cType(t, s.Tag.Pos())
		value := f.exprAs(s.Tag, t)
		tag = f.temp()
		f.line("%s %s = %s;", c, tag, value)
	}
	// The number of the clause that runs.
	which := f.temp()
	clauses := s.Body.List
	other := len(clauses)
	for i, c := range clauses {
		if c.(*ast.CaseClause).List == nil {
			other = i
		}
	}
	f.line("i32 %s = %d;", which, other)
	open, flat, constants := 0, false, s.Tag != nil
	for _, c := range clauses {
		for _, e := range c.(*ast.CaseClause).List {
			open++
			flat, constants = open > mostLadder, constants && f.p.pkg.info.Types[e].Value != nil
		}
	}
	open = 0
	for i, c := range clauses {
		for _, e := range c.(*ast.CaseClause).List {
			if flat && !constants {
				f.line("if (%s == %d) {", which, other)
				f.depth++
			}
			var cond string
			if s.Tag == nil {
				cond = f.expr(e)
			} else {
				et := f.typeOf(e)
				if _, ok := et.Underlying().(*types.Interface); ok {
					refuse(e.Pos(), "%s", why(et))
				}
				cond = f.compare(token.EQL, t, tag, f.exprAs(e, t), e.Pos())
			}
			f.line("if (%s) {", cond)
			f.line("\t%s = %d;", which, i)
			switch {
			case flat && !constants:
				f.line("}")
				f.depth--
				fallthrough
			case flat:
				f.line("}")
			default:
				f.line("} else {")
				f.depth++
				open++
			}
		}
	}
	for range open {
		f.depth--
		f.line("}")
	}
	var j *jump
	if s.Switch.IsValid() {
		j = f.enter(label, false)
	}
	for i, c := range clauses {
		body := c.(*ast.CaseClause).Body
		through := false
		if n := len(body); n > 0 {
			if b, ok := body[n-1].(*ast.BranchStmt); ok && b.Tok == token.FALLTHROUGH {
				through, body = true, body[:n-1]
			}
		}
		f.line("if (%s == %d) {", which, i)
		f.block(body)
		if through {
			f.line("\t%s = %d;", which, i+1)
		}
		f.line("}")
	}
	f.depth--
	f.line("}")
	if j != nil {
		f.leave(j)
	}
}

// mostLadder is how many conditions are nested, each in the else of the one before. More are tried one after the other: drivers do not nest them
// without end.
const mostLadder = 16

// ladder returns a long chain of "else if" as a switch, which has no position because a break does not leave it; nil if it is short.
func ladder(s *ast.IfStmt) *ast.SwitchStmt {
	chain := &ast.SwitchStmt{Body: &ast.BlockStmt{}}
	for {
		if s.Init != nil {
			return nil
		}
		chain.Body.List = append(chain.Body.List, &ast.CaseClause{Case: s.If, List: []ast.Expr{s.Cond}, Body: s.Body.List})
		next, ok := s.Else.(*ast.IfStmt)
		if !ok {
			break
		}
		s = next
	}
	if len(chain.Body.List) <= mostLadder {
		return nil
	}
	if last, ok := s.Else.(*ast.BlockStmt); ok {
		chain.Body.List = append(chain.Body.List, &ast.CaseClause{Case: last.Pos(), Body: last.List})
	}
	return chain
}

func (f *function) loop(s *ast.ForStmt, label string) {
	f.line("%s", f.around(s))
	f.depth++
	if s.Init != nil {
		f.statement(s.Init, "")
	}
	var cond string
	condLines := f.captureDeeper(func() {
		if s.Cond != nil {
			cond = f.expr(s.Cond)
		}
	})
	var post []string
	if s.Post != nil {
		post = f.captureDeeper(func() { f.statement(s.Post, "") })
	}
	j := f.enter(label, true)
	if len(condLines) == 0 && len(post) <= 1 {
		step := ""
		if len(post) == 1 {
			step = strings.TrimSuffix(strings.TrimSpace(post[0]), ";")
		}
		f.line("%sfor (; %s; %s) {", f.ordered(s), cond, step)
	} else {
		first := ""
		if len(post) > 0 {
			first = f.temp()
			f.line("u8 %s = 1;", first)
		}
		f.line("%sfor (;;) {", f.ordered(s))
		if first != "" {
			f.line("\tif (!%s) {", first)
			for _, l := range post {
				f.lines = append(f.lines, "\t"+l)
			}
			f.line("\t}")
			f.line("\t%s = 0;", first)
		}
		f.write(condLines)
		if s.Cond != nil {
			f.line("\tif (!%s) break;", cond)
		}
	}
	f.round(j, s.Body)
	f.line("}")
	f.depth--
	f.line("}")
	f.leave(j)
}

// ranges translates a loop over an integer, an array or a slice.
func (f *function) ranges(s *ast.RangeStmt, label string) {
	f.line("%s", f.around(s))
	f.depth++
	defer func() { f.depth = max(f.depth, 1) }()
	t := f.typeOf(s.X)
	var end, index string // the number of rounds, and the type of the index
	var element func(i string) string
	var elementType types.Type
	wantValue := s.Value != nil && !blank(s.Value)
	u := t.Underlying()
	if p, ok := u.(*types.Pointer); ok {
		if a, ok := p.Elem().Underlying().(*types.Array); ok {
			at := f.pointee(s.X)
			end, index, elementType = fmt.Sprint(a.Len()), "i64", a.Elem()
			element = func(i string) string { at := at; at.c += ".a[" + i + "]"; return f.valueAt(at, a.Elem(), s.X.Pos()) }
		} else {
			refuse(s.X.Pos(), "%s", why(t))
		}
	} else {
		switch u := u.(type) {
		case *types.Basic:
			if u.Info()&types.IsInteger == 0 {
				refuse(s.X.Pos(), "%s", why(t))
			}
			if u.Info()&types.IsUntyped != 0 {
				t = types.Typ[types.Int]
				if s.Key != nil && !blank(s.Key) {
					t = f.lhsType(s.Key)
				}
			}
			n, _ := numberOf(t)
			index = n.c
			value := f.exprAs(s.X, t)
			end = f.temp()
			f.line("%s %s = %s;", index, end, value)
		case *types.Array:
			end, index, elementType = fmt.Sprint(u.Len()), "i64", u.Elem()
			if wantValue { // Go ranges over a copy of the array
				c := f.p.cType(t, s.X.Pos())
				value := f.expr(s.X)
				name := f.temp()
				f.line("%s %s = %s;", c, name, value)
				element = func(i string) string { return truth(name+".a["+i+"]", u.Elem()) }
			} else if f.calls(s.X) { // Go does not evaluate other expressions
				f.discard(s.X)
			}
		case *types.Slice:
			v := f.slice(s.X)
			end, index, elementType = v.c+"_n", "i64", u.Elem()
			element = func(i string) string {
				return f.valueAt(place{fmt.Sprintf("%s[%s]", v.c, i), v.space, v.param}, u.Elem(), s.X.Pos())
			}
		case *types.Signature:
			refuse(s.X.Pos(), "a range over a function has no translation; write a loop with an index")
		default:
			refuse(s.X.Pos(), "%s", why(t))
		}
	}
	i := f.temp()
	j := f.enter(label, true)
	f.line("%sfor (%s %s = 0; %s < %s; %s++) {", f.ordered(s), index, i, i, end, i)
	f.depth++
	// The places are found and the element is read before either variable changes.
	var assigns []func()
	assign := func(e ast.Expr, value string) {
		if s.Tok == token.DEFINE {
			assigns = append(assigns, func() { f.set(e, value) })
			return
		}
		at := f.frozen(e)
		assigns = append(assigns, func() { f.line("%s = %s;", f.store(at), value) })
	}
	if s.Key != nil && !blank(s.Key) {
		assign(s.Key, i)
	}
	if wantValue {
		c, value := f.p.cType(elementType, s.X.Pos()), element(i)
		if s.Tok == token.ASSIGN && len(assigns) > 0 {
			name := f.temp()
			f.line("%s %s = %s;", c, name, value)
			value = name
		}
		assign(s.Value, value)
	}
	for _, set := range assigns {
		set()
	}
	f.depth--
	f.round(j, s.Body)
	f.line("}")
	f.depth--
	f.line("}")
	f.leave(j)
}
