package translate

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// block writes statements. The lanes that run after it are those that ran before it, without those that have left since; the caller sees to that.
func (l *laneWriter) block(list []ast.Stmt) {
	active, depth := l.active, len(l.depth)
	for i := 0; i < len(list); i++ {
		s, exits := list[i], l.scope.exits
		l.pos = s.Pos()
		if n := l.island(list[i:]); n > 0 {
			i += n - 1
			continue
		}
		l.last = l.path != "" && i == len(list)-1 && l.outermost(list)
		if l.statement(s) {
			break // nothing after it runs
		}
		if l.scope.exits > exits {
			l.narrow()
		}
	}
	l.active, l.depth = active, l.depth[:depth]
}

// outermost reports whether a list is the body of the function that is being written.
func (l *laneWriter) outermost(list []ast.Stmt) bool {
	body := declOf(l.p.Package, l.calls[len(l.calls)-1]).Body.List
	return len(body) > 0 && len(list) > 0 && body[0] == list[0]
}

// narrow leaves out of the lanes that run those that have left the loop's round, the loop or the function.
func (l *laneWriter) narrow() {
	mask := l.scope.mask
	if l.scope.awake != "" {
		mask = l.scope.awake
		l.depth = append(l.depth, "continue")
	}
	switch {
	case mask == "": // this try has learnt only now that there is one
	case l.active == "" || l.active == l.scope.start || l.active == mask:
		l.active = mask
	default:
		l.active = l.temp("on", fmt.Sprintf("%s.And(%s)", l.active, mask))
	}
}

// leavable declares the mask of the lanes that have not left a function or loop, if some leave it earlier than others.
func (l *laneWriter) leavable(s *leaving) {
	if l.differs[s.key] {
		s.mask = l.temp("live", l.lanes())
		l.frozen[s.mask] = false
		if s.loop { // in its second round some may have left already
			l.active = s.mask
		}
	}
	s.start = l.active
}

// lanes returns the mask of the lanes that run.
func (l *laneWriter) lanes() string {
	if l.active == "" {
		return fmt.Sprintf("lanes.All%d()", l.bits)
	}
	return l.active
}

// statement writes a statement. It reports whether no lane runs what follows.
func (l *laneWriter) statement(s ast.Stmt) (ended bool) {
	switch s := s.(type) {
	case *ast.EmptyStmt:
	case *ast.BlockStmt:
		l.block(s.List)
	case *ast.AssignStmt:
		l.assignment(s)
	case *ast.IncDecStmt:
		op := token.ADD
		if s.Tok == token.DEC {
			op = token.SUB
		}
		kind := l.kindOf(s.X)
		one := constant.MakeInt64(1)
		l.change(s.X, op, func(x laneValue) laneValue {
			return l.operate(s.Pos(), op, x, laneValue{text: constantText(one, kind), basic: kind, exact: one}, kind)
		})
	case *ast.DeclStmt:
		l.declaration(s)
	case *ast.IfStmt:
		l.ifStatement(s)
	case *ast.ExprStmt:
		c := l.w.cell(s.X)
		if c == nil || c.method != "Set" {
			refuse(s.Pos(), "this statement does not become vector code")
		}
		to := l.element(s.X)
		l.set(to, l.expr(c.call.Args[2]))
	case *ast.ForStmt:
		l.forStatement(s)
	case *ast.RangeStmt:
		l.rangeStatement(s)
	case *ast.ReturnStmt:
		return l.returns(s)
	case *ast.BranchStmt:
		return l.branch(s)
	default:
		refuse(s.Pos(), "this statement does not become vector code")
	}
	return false
}

func (l *laneWriter) declaration(s *ast.DeclStmt) {
	d, ok := s.Decl.(*ast.GenDecl)
	if !ok || d.Tok != token.VAR {
		if ok && d.Tok == token.CONST {
			return
		}
		refuse(s.Pos(), "this declaration does not become vector code")
	}
	for _, spec := range d.Specs {
		spec := spec.(*ast.ValueSpec)
		if len(spec.Values) > 0 && len(spec.Values) != len(spec.Names) {
			refuse(s.Pos(), "this declaration does not become vector code")
		}
		var values []laneValue
		for i, id := range spec.Names {
			if len(spec.Values) > 0 {
				values = append(values, l.expr(spec.Values[i]))
				continue
			}
			b, ok := l.p.Info.Defs[id].Type().Underlying().(*types.Basic)
			if !ok {
				refuse(id.Pos(), "%s has type %s; only numbers and bools become vectors", id.Name, l.p.Info.Defs[id].Type())
			}
			zero := constant.MakeInt64(0)
			if b.Kind() == types.Bool {
				zero = constant.MakeBool(false)
			}
			values = append(values, laneValue{text: constantText(zero, b.Kind()), basic: b.Kind(), exact: zero})
		}
		for i, id := range spec.Names {
			if id.Name != "_" {
				l.declare(l.p.Info.Defs[id], values[i])
			}
		}
	}
}

func (l *laneWriter) assignment(s *ast.AssignStmt) {
	if s.Tok != token.ASSIGN && s.Tok != token.DEFINE {
		op := assignOperators[s.Tok]
		kind := l.kindOf(s.Lhs[0])
		if op == token.SHL || op == token.SHR {
			l.change(s.Lhs[0], op, func(x laneValue) laneValue { return l.shift(op, x, s.Rhs[0], kind) })
			return
		}
		y := l.expr(s.Rhs[0])
		l.change(s.Lhs[0], op, func(x laneValue) laneValue { return l.operate(s.Pos(), op, x, y, kind) })
		return
	}
	if len(s.Lhs) != len(s.Rhs) {
		refuse(s.Pos(), "a call with several results does not become vector code")
	}
	var values []laneValue
	for i, r := range s.Rhs {
		v, ok := laneValue{}, false
		if n := l.variable(s.Lhs[i]); n != nil && n.small {
			v, ok = l.smallValue(r)
		}
		if !ok {
			v = l.expr(r)
		}
		values = append(values, v)
	}
	for i := range values { // a later value that uses an earlier variable uses the one before
		for _, to := range s.Lhs[:i] {
			_, named := ast.Unparen(to).(*ast.Ident)
			if n := l.variable(to); !named || n != nil && mentions(values[i].text, n.name) {
				values[i].text = l.temp("v", values[i].text)
				break
			}
		}
	}
	for i, to := range s.Lhs {
		l.set(to, values[i])
	}
}

var assignOperators = map[token.Token]token.Token{token.ADD_ASSIGN: token.ADD, token.SUB_ASSIGN: token.SUB, token.MUL_ASSIGN: token.MUL, token.QUO_ASSIGN: token.QUO,
	token.REM_ASSIGN: token.REM, token.AND_ASSIGN: token.AND, token.OR_ASSIGN: token.OR, token.XOR_ASSIGN: token.XOR, token.SHL_ASSIGN: token.SHL, token.SHR_ASSIGN: token.SHR,
	token.AND_NOT_ASSIGN: token.AND_NOT}

// variable returns the variable that an expression names, or nil.
func (l *laneWriter) variable(e ast.Expr) *laneVar {
	id, ok := ast.Unparen(e).(*ast.Ident)
	if !ok || l.p.Info.Defs[id] != nil {
		return nil
	}
	return l.vars[l.p.Info.ObjectOf(id)]
}

// set assigns a value to a variable or an element.
func (l *laneWriter) set(to ast.Expr, v laneValue) {
	switch to := ast.Unparen(to).(type) {
	case *ast.Ident:
		if to.Name == "_" {
			return
		}
		if obj := l.p.Info.Defs[to]; obj != nil {
			l.declare(obj, v)
			return
		}
		if n := l.vars[l.p.Info.ObjectOf(to)]; n != nil {
			if n.small {
				v = small(v)
			}
			v.basic = n.basic
			l.assign(n, v)
			return
		}
	default:
		if x := l.element(to); x != nil {
			l.store(x, v)
			return
		}
	}
	refuse(to.Pos(), "only variables that are numbers, and elements of the kernel's slices, are assigned in vector code")
}

// change assigns a value that is made from the one before.
func (l *laneWriter) change(to ast.Expr, op token.Token, f func(laneValue) laneValue) {
	l.set(to, f(l.expr(to)))
}

func (l *laneWriter) ifStatement(s *ast.IfStmt) {
	if s.Init != nil {
		if l.statement(s.Init) {
			return
		}
		l.pos = s.Pos()
	}
	c := l.expr(s.Cond)
	var other []ast.Stmt
	switch e := s.Else.(type) {
	case nil:
	case *ast.BlockStmt:
		other = e.List
	default:
		other = []ast.Stmt{e}
	}
	switch {
	case c.text == "true":
		l.block(s.Body.List)
		return
	case c.text == "false":
		l.block(other)
		return
	case c.how == alike:
		l.write("if %s {", c.text)
		l.block(s.Body.List)
		if other != nil {
			l.write("} else {")
			l.block(other)
		}
		l.write("}")
		return
	}
	active := l.active
	then, rest := c.text, ""
	if other != nil {
		then = l.temp("c", then)
		if rest = fmt.Sprintf("lanes.Not%d(%s)", l.bits, then); active != "" {
			rest = l.without(active, then)
		}
		rest = l.temp("off", rest)
	}
	if active != "" {
		then = fmt.Sprintf("%s.And(%s)", active, then)
	}
	if !l.frozen[then] {
		then = l.temp("on", then)
	}
	l.depth = append(l.depth, "if")
	l.branchOf(then, s.Body.List)
	if other != nil {
		l.branchOf(rest, other)
	}
	l.depth = l.depth[:len(l.depth)-1]
	l.active = active
}

// branchOf writes a branch of an if statement for the lanes of a mask. A long branch is left out if there are none.
func (l *laneWriter) branchOf(mask string, list []ast.Stmt) {
	l.active = mask
	guarded := len(list) > 3
	for _, s := range list {
		guarded = guarded || l.hasCall(s) || hasLoop(s)
	}
	if guarded {
		l.write("if %s {", l.any(mask))
	}
	l.block(list)
	if guarded {
		l.write("}")
	}
}

func hasLoop(n ast.Node) (found bool) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n.(type) {
		case *ast.ForStmt, *ast.RangeStmt:
			found = true
		}
		return !found
	})
	return found
}

// stores reports whether a statement stores to an element, of a matrix by any call that is a statement.
func stores(n ast.Node) (found bool) {
	index := func(e ast.Expr) {
		switch ast.Unparen(e).(type) {
		case *ast.IndexExpr, *ast.StarExpr:
			found = true
		}
	}
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, e := range n.Lhs {
				index(e)
			}
		case *ast.IncDecStmt:
			index(n.X)
		case *ast.ExprStmt:
			found = true
		}
		return !found
	})
	return found
}

// captured returns the lines that f writes.
func (l *laneWriter) captured(f func()) []laneLine {
	before := l.lines
	l.lines = nil
	f()
	lines := l.lines
	l.lines = before
	return lines
}

// loop writes a loop around a body. head returns the text in front of the brace and the lines at the beginning of a round.
func (l *laneWriter) loop(s ast.Stmt, begin func(), head func(scope *leaving), body []ast.Stmt) {
	active := l.active
	scope := &leaving{outer: l.scope, loop: true, key: fmt.Sprintf("%sloop@%d", l.path, s.Pos())}
	if stores(s) {
		l.stored = true
	}
	defer l.hoistColumns(s)()
	rounds := 8
	if r, ok := s.(*ast.RangeStmt); ok {
		rounds = l.rounds(r)
	}
	defer func(times int) { l.times = times }(l.times)
	l.times = min(l.times*rounds, 1<<20)
	leave, depth := l.differs[scope.key], len(l.depth)
	if active != "" && !leave { // without a lane that runs it, the loop might not end
		l.write("if %s {", l.any(active))
	} else {
		l.write("{")
	}
	brace := len(l.lines)
	if leave {
		l.depth = append(l.depth, "loop")
	}
	begin()
	l.leavable(scope)
	bare := len(l.lines) == brace && (active == "" || leave) // nothing is declared outside the loop
	outer := l.scope
	l.scope = scope
	head(scope)
	l.pos = s.Pos()
	round := l.active
	if l.differs[scope.key+"#"] {
		scope.awake = l.temp("awake", l.lanes())
		l.frozen[scope.awake] = false
	}
	l.block(body)
	l.active, l.pos = round, s.Pos()
	l.lines = append(l.lines, scope.after...)
	l.write("}")
	if bare {
		l.lines = slices.Delete(l.lines, brace-1, brace)
	} else {
		l.write("}")
	}
	l.scope, l.active, l.depth = outer, active, l.depth[:depth]
}

func (l *laneWriter) forStatement(s *ast.ForStmt) {
	defer l.bounded(s)()
	l.loop(s, func() {
		if s.Init != nil {
			l.statement(s.Init)
		}
	}, func(scope *leaving) {
		var post []laneLine
		if s.Post != nil {
			post = l.captured(func() { l.pos = s.Post.Pos(); l.statement(s.Post) })
		}
		l.pos = s.Pos()
		header := ""
		if scope.post = len(post) <= 1; scope.post && len(post) == 1 {
			header = post[0].text
		} else {
			scope.after = post
		}
		c := laneValue{text: "true"}
		var lines []laneLine
		if s.Cond != nil {
			lines = l.captured(func() { c = l.expr(s.Cond) })
		}
		if c.how == differ {
			l.learn(scope.key)
		}
		cond := ""
		if c.how == alike && len(lines) == 0 && c.text != "true" {
			cond = c.text
		}
		if scope.mask != "" && c.how == alike && len(lines) == 0 {
			cond = strings.TrimPrefix(cond+" && "+l.any(scope.mask), " && ")
		}
		l.write("for ; %s; %s {", cond, header)
		l.lines = append(l.lines, lines...)
		switch {
		case c.how == differ && scope.mask != "":
			l.put(scope.mask, "=", fmt.Sprintf("%s.And(%s)", scope.mask, c.text))
			l.write("if !%s {", l.any(scope.mask))
			l.write("break")
			l.write("}")
		case c.how == alike && len(lines) > 0:
			cond := "!" + c.text
			if scope.mask != "" {
				cond += " || !" + l.any(scope.mask)
			}
			l.write("if %s {", cond)
			l.write("break")
			l.write("}")
		}
	}, s.Body.List)
}

func (l *laneWriter) rangeStatement(s *ast.RangeStmt) {
	info := l.p.Info
	if s.Tok == token.ASSIGN {
		refuse(s.Pos(), "this loop assigns to variables that were declared before; declare them in the loop")
	}
	if _, ok := info.TypeOf(s.X).Underlying().(*types.Array); ok {
		l.unrolled(s)
		return
	}
	var count, slice, below string
	var elem types.BasicKind
	kind := types.Int
	if t, ok := info.TypeOf(s.X).Underlying().(*types.Basic); ok && t.Info()&types.IsInteger != 0 {
		n := l.expr(s.X)
		if n.how != alike {
			refuse(s.X.Pos(), "the number of rounds differs between threads; write a for statement with a condition")
		}
		if count = n.text; n.exact != nil {
			below = constant.ToInt(n.exact).ExactString()
		}
		if kind = n.basic; kind == types.UntypedInt {
			kind = types.Int
		}
	} else if v := l.sliceOfArrays(s.X); v != nil && s.Value == nil {
		count = "len(" + v.Name() + ")"
		below = count
	} else {
		at := &ast.IndexExpr{X: s.X}
		v, k := l.slice(at)
		elem, slice = k, v.Name()
		count = "len(" + slice + ")"
		below = count
		if s.Value != nil {
			if l.stored || stores(s) {
				refuse(s.Pos(), "%s is read in a loop that stores, or after a store; read it before", slice)
			}
			l.loads = append(l.loads, slice)
			if !slices.Contains(l.whole, slice) {
				l.whole = append(l.whole, slice)
			}
		}
	}
	var objects [2]types.Object
	for i, e := range []ast.Expr{s.Key, s.Value} {
		id, ok := e.(*ast.Ident)
		if !ok || id.Name == "_" {
			continue
		}
		if objects[i] = info.Defs[id]; i == 0 && (l.path == "" && l.w.writes[objects[i]] || l.path != "" && l.writtenIn(objects[i])) {
			refuse(id.Pos(), "%s is changed in the loop; use another variable", id.Name)
		}
	}
	l.loop(s, func() {}, func(scope *leaving) {
		scope.post = true
		key := ""
		if objects[0] != nil || objects[1] != nil {
			base := "k"
			if objects[0] != nil {
				base = objects[0].Name()
			}
			key = l.fresh(base)
			l.lines = append(l.lines, laneLine{text: fmt.Sprintf("for %s := range %s {", key, count), pos: l.pos, name: key, head: true})
			l.lines = append(l.lines, laneLine{text: "_ = " + key, pos: l.pos, name: key, keep: true})
			l.frozen[key] = true
		} else {
			l.write("for range %s {", count)
		}
		if objects[0] != nil {
			l.vars[objects[0]] = &laneVar{name: key, basic: kind, depth: len(l.depth), key: fmt.Sprintf("%s%s@%d", l.path, key, s.Pos())}
			l.below[objects[0]] = below
		}
		if scope.mask != "" {
			l.write("if !%s {", l.any(scope.mask))
			l.write("break")
			l.write("}")
		}
		if objects[1] != nil {
			l.declare(objects[1], laneValue{text: slice + "[" + key + "]", basic: elem})
		}
	}, s.Body.List)
}

// branch writes a break or a continue.
func (l *laneWriter) branch(s *ast.BranchStmt) bool {
	if s.Label != nil || s.Tok != token.BREAK && s.Tok != token.CONTINUE || !l.scope.loop {
		refuse(s.Pos(), "%s with a label, goto and fallthrough do not become vector code", s.Tok)
	}
	scope := l.scope
	all := l.active == scope.start
	switch {
	case all && (s.Tok == token.BREAK || scope.post):
		l.write("%s", s.Tok)
		return true
	case s.Tok == token.BREAK:
		l.learn(scope.key)
		l.leave(scope.mask, scope.awake)
	default:
		l.learn(scope.key + "#")
		l.leave(scope.awake)
	}
	scope.exits++
	return true
}

// leave takes lanes out of masks.
func (l *laneWriter) leave(masks ...string) {
	on := l.lanes()
	masks = slices.DeleteFunc(masks, func(m string) bool { return m == "" })
	slices.SortStableFunc(masks, func(a, b string) int { return strings.Compare(fmt.Sprint(a == on), fmt.Sprint(b == on)) }) // on itself changes last
	for _, m := range slices.Compact(masks) {
		l.put(m, "=", l.without(m, on))
	}
}

// returns writes a return.
func (l *laneWriter) returns(s *ast.ReturnStmt) bool {
	function := l.scope
	for function.loop {
		function = function.outer
	}
	if l.path == "" && l.active == "" { // all threads of the vector are done
		l.write("continue %s", l.label)
		return true
	}
	if l.path != "" {
		if len(s.Results) != 1 {
			refuse(s.Pos(), "only functions with one result that has no name become vector code")
		}
		v := l.expr(s.Results[0])
		v.basic = function.kind
		if l.last && function.exits == 0 {
			if l.differs[function.result.key] {
				v = laneValue{text: l.vector(v), how: differ, basic: function.kind}
			}
			function.value = &v
			return true
		}
		l.learn(function.result.key)
		if r := function.result; r.how == differ {
			if function.exits > 0 && l.active == function.start {
				l.narrow()
			}
			l.put(r.name, "=", l.blend(l.vector(v), r, true))
		}
		if l.last {
			return true
		}
	}
	var masks []string
	for scope := l.scope; ; scope = scope.outer {
		l.learn(scope.key)
		masks = append(masks, scope.awake, scope.mask)
		scope.exits++
		if !scope.loop {
			break
		}
	}
	l.leave(masks...)
	return true
}

// inlined writes a call of a function of the package in place of the call, and returns its result.
func (l *laneWriter) inlined(e *ast.CallExpr, f *types.Func) laneValue {
	decl := declOf(l.p.Package, f)
	sig := f.Signature()
	switch {
	case decl == nil || decl.Body == nil || sig.TypeParams() != nil || sig.Variadic() || sig.Recv() != nil:
		refuse(e.Pos(), "a call of %s does not become vector code; only functions of the package, without type parameters, do", f.Name())
	case sig.Results().Len() != 1 || sig.Results().At(0).Name() != "":
		refuse(e.Pos(), "only functions with one result that has no name become vector code")
	case slices.Contains(l.calls, f) || len(l.calls) > 16:
		refuse(e.Pos(), "%s calls itself", f.Name())
	case len(e.Args) != sig.Params().Len():
		refuse(e.Pos(), "a call with several results does not become vector code")
	}
	l.fused = l.fused || l.p.fuses(decl)
	kind := l.kindOf(e)
	var values []laneValue
	for _, a := range e.Args {
		l.kindOf(a)
		values = append(values, l.expr(a))
	}
	path, active, depth, scope, last, at := l.path, l.active, l.depth, l.scope, l.last, l.pos
	l.path += fmt.Sprintf("%s@%d/", f.Name(), e.Pos())
	l.calls = append(l.calls, f)
	l.depth = slices.Clip(l.depth)
	var names []*ast.Ident
	for _, field := range decl.Type.Params.List {
		names = append(names, field.Names...)
	}
	for i, id := range names {
		if obj := l.p.Info.Defs[id]; obj != nil && id.Name != "_" {
			l.declare(obj, values[i])
		}
	}
	inner := &leaving{key: l.path + "leaves", kind: kind}
	inner.result = &laneVar{basic: kind, key: l.path + "result", depth: len(l.depth)}
	if l.differs[inner.result.key] {
		inner.result.how = differ
		inner.result.name = l.fresh(f.Name() + "_")
		l.lines = append(l.lines, laneLine{text: fmt.Sprintf("var %s simd.%s", inner.result.name, l.typeOf(kind)), pos: l.pos, name: inner.result.name})
	}
	l.scope = inner
	l.leavable(inner)
	l.block(decl.Body.List)
	v := laneValue{text: inner.result.name, how: inner.result.how, basic: kind}
	if inner.value != nil {
		v = *inner.value
	} else if v.text == "" {
		panic(tryAgain{}) // this try has learnt that the result differs
	}
	l.calls = l.calls[:len(l.calls)-1]
	l.path, l.active, l.depth, l.scope, l.last, l.pos = path, active, depth, scope, last, at
	return v
}

// typeOf returns the name of the type, in package simd, of lanes of a type.
func (l *laneWriter) typeOf(kind types.BasicKind) string {
	if numbers[kind].truth {
		return fmt.Sprintf("Mask%ds", l.bits)
	}
	l.lane(kind)
	return l.vectorName(kind)
}
