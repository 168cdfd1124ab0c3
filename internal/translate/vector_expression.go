package translate

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"
	"strconv"
	"strings"
)

// kindOf returns the type of an expression of numbers or bools.
func (l *laneWriter) kindOf(e ast.Expr) types.BasicKind {
	t := l.p.Info.TypeOf(e)
	if b, ok := t.Underlying().(*types.Basic); ok {
		if _, ok := numbers[b.Kind()]; ok {
			return b.Kind()
		}
	}
	refuse(e.Pos(), "this has type %s; only numbers and bools become vectors", t)
	return 0
}

// expr returns the value of an expression. It may write lines before.
func (l *laneWriter) expr(e ast.Expr) laneValue {
	info := l.p.Info
	if c := info.Types[e].Value; c != nil {
		kind := l.kindOf(e)
		return laneValue{text: constantText(c, kind), basic: kind, exact: c, still: true}
	}
	switch e := e.(type) {
	case *ast.ParenExpr:
		return l.expr(e.X)
	case *ast.Ident:
		obj := info.ObjectOf(e)
		if v := l.vars[obj]; v != nil {
			if v.small {
				l.whole64[obj], l.again = true, true
				panic(tryAgain{})
			}
			text := v.name
			if v.key == "parameter" {
				if _, named := types.Unalias(obj.Type()).(*types.Named); named {
					text = basicText(v.basic, text)
				}
			}
			return laneValue{text: text, how: v.how, step: v.step, basic: v.basic, exact: v.exact, still: v.still}
		}
	case *ast.SelectorExpr:
		return l.field(e)
	case *ast.UnaryExpr:
		return l.unary(e)
	case *ast.BinaryExpr:
		return l.binary(e)
	case *ast.IndexExpr:
		return l.load(e)
	case *ast.CallExpr:
		if x := l.element(e); x != nil {
			return l.load(x)
		}
		return l.call(e)
	case *ast.StarExpr:
		if x := l.element(e); x != nil {
			return l.load(x)
		}
	}
	refuse(e.Pos(), "this expression does not become a vector")
	return laneValue{}
}

// field returns a field of a parameter, which all threads share.
func (l *laneWriter) field(e *ast.SelectorExpr) laneValue {
	kind := l.kindOf(e)
	text := e.Sel.Name
	x := ast.Expr(e)
	for {
		s, ok := ast.Unparen(x).(*ast.SelectorExpr)
		if !ok {
			break
		}
		sel := l.p.Info.Selections[s]
		if sel == nil || sel.Kind() != types.FieldVal || sel.Indirect() {
			refuse(e.Pos(), "this expression does not become a vector")
		}
		if s != e {
			text = s.Sel.Name + "." + text
		}
		x = s.X
	}
	id, ok := ast.Unparen(x).(*ast.Ident)
	if !ok || !slices.Contains(l.w.params, l.p.Info.ObjectOf(id)) || l.w.writes[l.p.Info.ObjectOf(id)] {
		refuse(e.Pos(), "only fields of a kernel's parameters are used in vectors; use variables that are numbers")
	}
	return laneValue{text: basicText(kind, id.Name+"."+text), basic: kind, still: true}
}

func (l *laneWriter) unary(e *ast.UnaryExpr) laneValue {
	v, kind := l.expr(e.X), l.kindOf(e)
	switch {
	case e.Op != token.SUB && e.Op != token.ADD && e.Op != token.XOR && e.Op != token.NOT:
		refuse(e.Pos(), "%s does not become a vector", e.Op)
	case v.how == alike:
		return laneValue{text: "(" + e.Op.String() + v.text + ")", basic: kind, still: v.still}
	case e.Op == token.ADD:
		return v
	case e.Op == token.NOT:
		return laneValue{text: fmt.Sprintf("lanes.Not%d(%s)", l.bits, v.text), how: differ, basic: kind}
	case e.Op == token.XOR:
		return l.wrapped(fmt.Sprintf("lanes.Not%s(%s)", l.vectorName(kind), l.vector(v)), kind)
	}
	if n := numbers[kind]; !n.float && !n.signed {
		return l.wrapped(fmt.Sprintf("simd.%s{}.Sub(%s)", l.vectorName(kind), l.vector(v)), kind)
	}
	if numbers[kind].float {
		return laneValue{text: l.vector(v) + ".Neg()", how: differ, basic: kind}
	}
	return l.wrapped(fmt.Sprintf("%s.Neg()", l.vector(v)), kind)
}

// wrapped returns the value of a vector whose numbers may need more bits than their type has.
func (l *laneWriter) wrapped(text string, kind types.BasicKind) laneValue {
	if l.widened(kind) {
		text = fmt.Sprintf("%s(%s)", l.ofType("Wrap", kind), text)
	}
	return laneValue{text: text, how: differ, basic: kind}
}

var (
	laneOperators = map[token.Token]string{token.ADD: "Add", token.SUB: "Sub", token.MUL: "Mul", token.QUO: "Div",
		token.AND: "And", token.OR: "Or", token.XOR: "Xor", token.AND_NOT: "AndNot"}
	laneComparisons = map[token.Token]string{token.EQL: "Equal", token.NEQ: "NotEqual", token.LSS: "Less", token.LEQ: "LessEqual", token.GTR: "Greater", token.GEQ: "GreaterEqual"}
	turned          = map[token.Token]token.Token{token.EQL: token.EQL, token.NEQ: token.NEQ, token.LSS: token.GTR, token.LEQ: token.GEQ, token.GTR: token.LSS, token.GEQ: token.LEQ}
)

func (l *laneWriter) binary(e *ast.BinaryExpr) laneValue {
	switch e.Op {
	case token.LAND, token.LOR:
		return l.both(e)
	case token.SHL, token.SHR:
		return l.shift(e.Op, l.expr(e.X), e.Y, l.kindOf(e))
	}
	if truth, ok := l.row.truths[e]; ok && l.path == "" { // the comparison with the row's end
		return laneValue{text: fmt.Sprint(truth), basic: types.Bool}
	}
	x, y := l.expr(e.X), l.expr(e.Y)
	if _, ok := laneComparisons[e.Op]; ok {
		return l.compare(e, x, y)
	}
	return l.operate(e.Pos(), e.Op, x, y, l.kindOf(e))
}

// notZero leaves the row to the loop if a divisor is 0, which panics.
func (l *laneWriter) notZero(pos token.Pos, y laneValue) {
	zero := y.text + " == 0"
	switch {
	case y.exact != nil:
	case l.part != nil && l.part.rounds != nil:
		refuse(pos, "a division between barriers does not become vector code in a loop; divide before the loop")
	case y.still && !slices.ContainsFunc(l.hoisted, func(h laneLine) bool { return mentions(y.text, h.name) }): // it is asked once for the row
		if !slices.Contains(l.fits, zero) {
			l.fits = append(l.fits, zero)
		}
	case l.stored:
		refuse(pos, "this divisor is looked at only here, after something was stored; divide before")
	default:
		l.write("if %s {", zero)
		l.write("return %s.From(%s + %s) // the row's loop tells", l.w.row, l.from, l.at)
		l.write("}")
	}
}

// operate returns the result of an operator with two operands of the same type.
func (l *laneWriter) operate(pos token.Pos, op token.Token, x, y laneValue, kind types.BasicKind) laneValue {
	n := numbers[kind]
	if (op == token.QUO || op == token.REM) && !n.float {
		if x.how != alike || y.how != alike || y.exact != nil && constant.Sign(y.exact) == 0 {
			refuse(pos, "package simd has no division of integers: divide numbers that all threads of a row have, or floats")
		}
		l.notZero(pos, y)
	}
	switch {
	case x.how == alike && y.how == alike:
		return laneValue{text: fmt.Sprintf("(%s %s %s)", x.text, op, y.text), basic: kind, still: x.still && y.still}
	case x.how != differ && y.how != differ:
		if v, ok := l.led(op, x, y, kind); ok {
			return v
		}
	}
	if l.indexing {
		refuse(pos, notNeighbours)
	}
	l.gains += l.times
	a, b := l.vector(x), l.vector(y)
	if l.bits == 64 && !n.float && op == token.MUL {
		how := "" // the processor has no such multiplication
		if n.bits <= 32 {
			how = "Low"
		}
		return l.wrapped(fmt.Sprintf("lanes.Mul%s%s(%s, %s)", how, l.vectorName(kind), a, b), kind)
	}
	method := laneOperators[op]
	switch op {
	case token.AND, token.OR, token.XOR, token.AND_NOT:
		return laneValue{text: fmt.Sprintf("lanes.%s%s(%s, %s)", method, l.vectorName(kind), a, b), how: differ, basic: kind}
	}
	if method == "" {
		refuse(pos, "%s does not become a vector", op)
	}
	text := fmt.Sprintf("%s.%s(%s)", a, method, b)
	return l.wrapped(text, kind)
}

// led returns the result of an operator on numbers of which one at least leads, if it leads, too, or is the same in all lanes.
func (l *laneWriter) led(op token.Token, x, y laneValue, kind types.BasicKind) (laneValue, bool) {
	text := fmt.Sprintf("(%s %s %s)", x.text, op, y.text)
	step := func(v laneValue) string {
		if v.how == alike {
			return "0"
		} else if v.step == "" {
			return "1"
		}
		return v.step
	}
	a, b := step(x), step(y)
	var combined string
	m, errX := strconv.ParseInt(a, 10, 32)
	n, errY := strconv.ParseInt(b, 10, 32)
	switch {
	case op == token.MUL && x.how == leads && y.how == leads:
		return laneValue{}, false
	case op == token.MUL:
		if x.how == alike {
			x, y, m, errX, a = y, x, n, errY, b
		}
		factor, err := int64(0), strconv.ErrSyntax
		if y.exact != nil {
			factor, err = strconv.ParseInt(constant.ToInt(y.exact).ExactString(), 10, 32)
		}
		switch {
		case err == nil && errX == nil && m*factor < 1<<31 && m*factor >= -1<<31:
			combined = fmt.Sprint(m * factor)
		case !l.frozen[y.text] && y.exact == nil:
			return laneValue{}, false // the step is used later, when y may have changed
		case a == "1":
			combined = y.text
		default:
			return laneValue{}, false
		}
	case op != token.ADD && op != token.SUB:
		return laneValue{}, false
	case b == "0":
		combined = a
	case a == "0" && op == token.ADD:
		combined = b
	case op == token.SUB && a == b:
		combined = "0"
	case errX == nil && errY == nil && op == token.ADD:
		combined = fmt.Sprint(m + n)
	case errX == nil && errY == nil:
		combined = fmt.Sprint(m - n)
	default:
		return laneValue{}, false
	}
	switch combined {
	case "0":
		return laneValue{text: text, basic: kind}, true
	case "1":
		combined = ""
	}
	return laneValue{text: text, how: leads, step: combined, basic: kind}, true
}

func (l *laneWriter) compare(e *ast.BinaryExpr, x, y laneValue) laneValue {
	op := e.Op
	switch {
	case x.how == alike && y.how == alike:
		return laneValue{text: fmt.Sprintf("(%s %s %s)", x.text, op, y.text), basic: types.Bool, still: x.still && y.still}
	case x.how == alike && y.how == leads && y.step == "":
		x, y, op = y, x, turned[op]
		fallthrough
	case x.how == leads && x.step == "" && y.how == alike:
		if truth, ok := l.within(e); ok {
			return laneValue{text: fmt.Sprint(truth), basic: types.Bool}
		}
		if x.text == l.x && y.still {
			return laneValue{text: fmt.Sprintf("%s.%s(%s)", l.xs, laneComparisons[op], l.bound(y.text)), how: differ, basic: types.Bool}
		}
		return laneValue{text: fmt.Sprintf("lanes.Lanes%d().%s(lanes.Against%[1]d(%[3]s, %[4]s))", l.bits, laneComparisons[op], x.text, y.text), how: differ, basic: types.Bool}
	case x.how == leads && y.how == leads && x.step == y.step && (op == token.EQL || op == token.NEQ):
		return laneValue{text: fmt.Sprintf("(%s %s %s)", x.text, op, y.text), basic: types.Bool}
	}
	if x.basic == types.Bool {
		refuse(e.Pos(), "a comparison of bools does not become a vector")
	}
	l.gains += l.times
	return laneValue{text: fmt.Sprintf("%s.%s(%s)", l.vector(x), laneComparisons[op], l.vector(y)), how: differ, basic: types.Bool}
}

// mostLeft is how many threads at each end of a row are left to the loop, so that the others need no mask.
const mostLeft = 4

// within returns the result of a comparison of the thread's place with a number near zero, or near the end of the row, for the threads that are not between
// that number and the end. These are left to the loop. With loops the threads do so much that the mask costs little.
func (l *laneWriter) within(e *ast.BinaryExpr) (truth, ok bool) {
	if l.path != "" || l.part != nil || hasLoop(l.w.f.decl.Body) || l.hasCall(l.w.f.decl.Body) {
		return false, false
	}
	a, ok1 := l.w.affine(e.X)
	b, ok2 := l.w.affine(e.Y)
	op := e.Op
	if ok2 && b.place {
		a, b, op = b, a, turned[op]
	}
	if !ok1 || !ok2 || !a.place || b.place || len(a.terms) > 0 || op == token.EQL || op == token.NEQ {
		return false, false
	}
	b.plus -= a.plus // the place, and a number
	if op == token.LEQ || op == token.GTR {
		b.plus++ // as for < and >=
	}
	if len(b.terms) == 0 && b.plus >= 0 && b.plus <= mostLeft {
		l.leaveOut(fmt.Sprintf("%s = max(%[1]s, %d)\n", l.from, b.plus))
		return op == token.GTR || op == token.GEQ, true
	}
	for _, limit := range l.row.limits {
		if limit.dim == 0 && slices.Equal(b.terms, []string{"+" + limit.limit}) && b.plus <= 0 && b.plus >= -mostLeft {
			l.leaveOut(fmt.Sprintf("%s = min(%[1]s, %s)\n", l.to, b.text()))
			return op == token.LSS || op == token.LEQ, true
		}
	}
	return false, false
}

func (l *laneWriter) leaveOut(line string) {
	if !slices.Contains(l.inside, line) {
		l.inside = append(l.inside, line)
	}
}

// bound returns the vector of a number with which the threads' places are compared. It is made once.
func (l *laneWriter) bound(n string) string {
	if few := l.to + " > 1<<31-64"; l.bits == 32 && !slices.Contains(l.fits, few) {
		l.fits = append(l.fits, few) // so that a place, and that of each lane, fits
	}
	return l.hoist("bound", fmt.Sprintf("lanes.Bound%d(%s)", l.bits, n))
}

// both returns x && y, or x || y. If y has a call, only the lanes that y decides for evaluate it: for others it might not end.
func (l *laneWriter) both(e *ast.BinaryExpr) laneValue {
	x := l.expr(e.X)
	active, depth := l.active, len(l.depth)
	if x.how == differ && l.hasCall(e.Y) {
		x.text = l.temp("c", x.text)
		on := x.text
		if e.Op == token.LOR {
			on = fmt.Sprintf("lanes.Not%d(%s)", l.bits, on)
		}
		if active != "" {
			on = fmt.Sprintf("%s.And(%s)", active, on)
		}
		l.active, l.depth = l.temp("on", on), append(l.depth, "operand")
	}
	before := len(l.lines)
	y := l.expr(e.Y)
	l.active, l.depth = active, l.depth[:depth]
	switch decides := fmt.Sprint(e.Op == token.LOR); {
	case x.how == alike && x.text == decides:
		return x
	case x.how == alike && x.text == fmt.Sprint(e.Op == token.LAND):
		return y
	case y.how == alike && y.text == fmt.Sprint(e.Op == token.LAND):
		return x
	case x.how == alike && len(l.lines) > before:
		refuse(e.Y.Pos(), "this is evaluated only after what stands before %s; use an if statement", e.Op)
	case x.how == alike && y.how == alike:
		return laneValue{text: fmt.Sprintf("(%s %s %s)", x.text, e.Op, y.text), basic: types.Bool, still: x.still && y.still}
	}
	method := "And"
	if e.Op == token.LOR {
		method = "Or"
	}
	if l.unrolling { // Go 1.27.0 does not compile some sequences of such operations for 512 bits
		a, b, c := l.vector(x), l.vector(y), fmt.Sprintf("simd.Mask%ds{}", l.bits)
		if e.Op == token.LOR {
			b, c = fmt.Sprintf("lanes.All%d()", l.bits), b
		}
		return laneValue{text: fmt.Sprintf("lanes.Choose%d(%s, %s, %s)", l.bits, a, b, c), how: differ, basic: types.Bool}
	}
	return laneValue{text: fmt.Sprintf("%s.%s(%s)", l.vector(x), method, l.vector(y)), how: differ, basic: types.Bool}
}

// hasCall reports whether an expression calls a function of the package.
func (l *laneWriter) hasCall(n ast.Node) (found bool) {
	ast.Inspect(n, func(n ast.Node) bool {
		if c, ok := n.(*ast.CallExpr); ok {
			if id, ok := ast.Unparen(c.Fun).(*ast.Ident); ok {
				_, isFunc := l.p.Info.ObjectOf(id).(*types.Func)
				found = found || isFunc
			}
		}
		return !found
	})
	return found
}

// shift returns x shifted by a number that all threads share.
func (l *laneWriter) shift(op token.Token, x laneValue, count ast.Expr, kind types.BasicKind) laneValue {
	n := l.expr(count)
	if n.how != alike {
		refuse(count.Pos(), "package simd shifts all lanes by the same number")
	}
	if numbers[n.basic].signed && (n.exact == nil || constant.Sign(n.exact) < 0) {
		refuse(count.Pos(), "a shift by a negative number would panic; convert the number to an unsigned type")
	}
	if x.how == alike {
		return laneValue{text: fmt.Sprintf("(%s %s %s)", x.text, op, n.text), basic: kind, still: x.still && n.still}
	}
	v, name := l.vector(x), l.vectorName(kind)
	direction := "Left"
	if op == token.SHR {
		direction = "Right"
	}
	text := fmt.Sprintf("lanes.Shift%s%s(%s, uint64(%s))", direction, name, v, n.text)
	if n.exact != nil {
		by, _ := constant.Int64Val(constant.ToInt(n.exact))
		if by == 0 { // Go 1.27.0 gets the instruction wrong
			return laneValue{text: v, how: differ, basic: kind}
		}
		if by < int64(l.bits) && name+direction != "Int64sRight" {
			text = fmt.Sprintf("lanes.Alone%s(%s.ShiftAll%s(%d))", name, v, direction, by)
		}
	}
	if op == token.SHL {
		return l.wrapped(text, kind)
	}
	return laneValue{text: text, how: differ, basic: kind}
}

// slice returns the parameter that an index expression indexes, and the type of its elements.
func (l *laneWriter) slice(e *ast.IndexExpr) (types.Object, types.BasicKind) {
	id, ok := ast.Unparen(e.X).(*ast.Ident)
	if !ok || l.path != "" {
		refuse(e.Pos(), "only slices that are the kernel's parameters are indexed in vectors")
	}
	v := l.rows[id]
	ofMatrix := v != nil
	if !ofMatrix {
		v = l.p.Info.ObjectOf(id)
	}
	s, ok := v.Type().Underlying().(*types.Slice)
	if !ok || !ofMatrix && (!slices.Contains(l.w.params, v) || l.w.writes[v]) {
		refuse(e.Pos(), "only slices that are the kernel's parameters are indexed in vectors")
	}
	elem, ok := types.Unalias(s.Elem()).(*types.Basic)
	if !ok {
		refuse(e.Pos(), "the elements of %s have type %s; only the predeclared types of numbers become vectors", v.Name(), s.Elem())
	}
	return v, elem.Kind()
}

// view returns the part of a slice that begins with the first thread's element, for an index that is known before the threads run.
func (l *laneWriter) view(v types.Object, index ast.Expr, stored bool) (string, bool) {
	a, ok := l.w.affine(index)
	if !ok || !a.place || l.path != "" || l.late[v] != "" {
		return "", false
	}
	for i := range l.views {
		if l.views[i].slice == v.Name() && l.views[i].offset == a.text() {
			l.views[i].stored = l.views[i].stored || stored
			return l.views[i].name, true
		}
	}
	n := laneView{l.fresh(fmt.Sprintf("%s%d", v.Name(), len(l.views))), v.Name(), a.text(), stored}
	l.views = append(l.views, n)
	return n.name, true
}

const notNeighbours = "the elements of the threads are not neighbours: the index is not the thread's place plus a number that all threads of a row have"

// load returns an element of a slice.
func (l *laneWriter) load(e *ast.IndexExpr) laneValue {
	if n := l.inArray(e); n != nil {
		return l.loadNested(n)
	}
	v, kind := l.slice(e)
	l.loads = append(l.loads, cmp.Or(l.late[v], v.Name()))
	if name, ok := l.view(v, e.Index, false); ok {
		return l.loaded(kind, name, l.at)
	}
	if at, step, ok := l.spreads(v, e.Index, false); ok && !l.widened(kind) {
		return l.gathered(kind, v.Name(), at, step)
	}
	outer := l.indexing
	l.indexing = true
	at := l.expr(e.Index)
	if l.indexing = outer; at.how == differ {
		refuse(e.Index.Pos(), notNeighbours)
	}
	if at.how == alike && at.basic != types.Int {
		at.text = basicText(types.Int, at.text)
		if k := numbers[at.basic]; k.bits == 64 && !k.signed {
			refuse(e.Index.Pos(), "an index of 64 bits without sign does not become a vector; use an int")
		}
	}
	whole := cmp.Or(l.late[v], v.Name())
	if !slices.Contains(l.whole, whole) {
		l.whole = append(l.whole, whole)
	}
	if at.how == alike && whole == v.Name() {
		fits := ""
		if at.exact != nil {
			at.text = constant.ToInt(at.exact).ExactString()
			fits = fmt.Sprintf("len(%s) <= %s", v.Name(), at.text)
		} else if a, ok := l.w.affine(e.Index); ok && l.path == "" {
			fits = fmt.Sprintf("uint(%s) >= uint(len(%s))", a.text(), v.Name())
		}
		if fits != "" { // it is asked once for the row
			if !slices.Contains(l.fits, fits) {
				l.fits = append(l.fits, fits)
			}
			// In the rounds of a loop the index changes from round to round.
			still := l.part == nil || l.part.rounds == nil
			return laneValue{text: fmt.Sprintf("%s[%s]", v.Name(), at.text), basic: kind, still: still && at.still}
		}
	}
	if l.stored {
		refuse(e.Pos(), "%s is read at an index that is checked only here, after something was stored; read it before", v.Name())
	}
	if !l.frozen[at.text] {
		at.text = l.temp("i", at.text)
	}
	back := fmt.Sprintf("return %s.From(%s + %s)", l.w.row, l.from, l.at)
	if at.how == alike {
		l.write("if uint(%s) >= uint(len(%s)) {", at.text, v.Name())
		l.write("%s // the row's loop tells", back)
		l.write("}")
		return laneValue{text: fmt.Sprintf("%s[%s]", v.Name(), at.text), basic: kind}
	}
	if at.step != "" {
		if l.widened(kind) {
			refuse(e.Index.Pos(), notNeighbours)
		}
		l.write("if !lanes.Covers(%s, %s, lanes.Lanes%d().Len(), len(%s)) {", at.text, at.step, l.bits, v.Name())
		l.write("%s // the row's loop tells", back)
		l.write("}")
		return l.gathered(kind, v.Name(), at.text, at.step)
	}
	l.write("if uint(%s) > uint(len(%s)) || len(%[2]s)-%[1]s < lanes.Lanes%[3]d().Len() {", at.text, v.Name(), l.bits)
	l.write("%s // the row's loop tells", back)
	l.write("}")
	return l.loaded(kind, v.Name(), at.text)
}

// loaded returns the vector of a slice's elements from an index on, where it is known that the slice has them.
func (l *laneWriter) loaded(kind types.BasicKind, slice, at string) laneValue {
	l.lane(kind)
	if l.widened(kind) {
		return laneValue{text: fmt.Sprintf("%s(%s[%s:])", l.ofType("Load", kind), slice, at), how: differ, basic: kind}
	}
	return laneValue{text: fmt.Sprintf("lanes.Load[simd.%s](&%s[%s])", l.vectorOf(kind), slice, at), how: differ, basic: kind}
}

// gathered returns the vector of elements of a slice that are a step apart.
func (l *laneWriter) gathered(kind types.BasicKind, slice, at, step string) laneValue {
	l.lane(kind)
	l.apartCosts(costOfGather)
	return laneValue{text: fmt.Sprintf("lanes.Gather%s(%s, %s, %s)", l.vectorOf(kind), slice, at, step), how: differ, basic: kind}
}

// spreads notes elements that are a step apart, for an index that is known before the threads run. It returns the index of the vector's
// first thread and the step.
func (l *laneWriter) spreads(v types.Object, index ast.Expr, stored bool) (at, step string, ok bool) {
	if l.path != "" || l.late[v] != "" {
		return "", "", false
	}
	by, offset, ok := l.w.scaled(index)
	if !ok || by < 2 || by > 1<<16 {
		return "", "", false
	}
	i := slices.IndexFunc(l.spread, func(s laneSpread) bool {
		return s.slice == v.Name() && s.step == by && s.offset.text() == offset.text()
	})
	if i < 0 {
		i = len(l.spread)
		l.spread = append(l.spread, laneSpread{slice: v.Name(), step: by, offset: offset, pos: index.Pos()})
	}
	l.spread[i].stored = l.spread[i].stored || stored
	return fmt.Sprintf("%d*%s+%s", by, l.x, parenthesized(offset.text())), fmt.Sprint(by), true
}

// store writes an element of a slice.
func (l *laneWriter) store(e *ast.IndexExpr, value laneValue) {
	if n := l.inArray(e); n != nil {
		l.storeNested(n, value)
		return
	}
	v, kind := l.slice(e)
	name, ok := l.view(v, e.Index, true)
	if at, step, spread := l.spreads(v, e.Index, true); !ok && spread && !l.widened(kind) {
		value.basic = kind
		l.lane(kind)
		l.stored = true
		l.apartCosts(costOfScatter)
		l.write("lanes.Scatter%s(%s, %s, %s, %s, %s)", l.vectorOf(kind), l.vector(value), l.lanes(), v.Name(), at, step)
		return
	}
	if !ok {
		refuse(e.Index.Pos(), "the stores of the threads are not to neighbours: the index is not the thread's place plus a number that is known before the row")
	}
	value.basic = kind
	l.lane(kind)
	l.stored = true
	to := fmt.Sprintf("%s[%s:]", name, l.at)
	text := l.vector(value)
	if l.widened(kind) {
		l.write("%s(%s, %s, %s)", l.ofType("Store", kind), text, l.lanes(), to)
		return
	}
	if l.active == "" {
		l.write("lanes.Store(%s, &%s[%s])", text, name, l.at)
		return
	}
	l.write("lanes.Store%s(%s, %s, %s)", l.vectorOf(kind), text, l.active, to)
}

// call returns the result of a call.
func (l *laneWriter) call(e *ast.CallExpr) laneValue {
	info := l.p.Info
	if l.path == "" {
		if dim, ok := l.w.place(e); ok && dim == 0 {
			return laneValue{text: l.x, how: leads, basic: types.Int}
		} else if ok {
			return laneValue{text: l.w.row + "." + dims[dim], basic: types.Int, still: true}
		}
		if m, method := l.w.p.matrixSize(e); m != nil && slices.Contains(l.w.params, m) && !l.w.writes[m] {
			return laneValue{text: m.Name() + "." + method + "()", basic: types.Int}
		}
	}
	if info.Types[e.Fun].IsType() && len(e.Args) == 1 {
		return l.convert(e)
	}
	switch f := ast.Unparen(e.Fun).(type) {
	case *ast.Ident:
		switch obj := info.ObjectOf(f).(type) {
		case *types.Builtin:
			return l.builtin(e, obj.Name())
		case *types.Func:
			return l.inlined(e, obj)
		}
	case *ast.SelectorExpr:
		if obj, ok := info.ObjectOf(f.Sel).(*types.Func); ok && obj.Pkg() != nil && obj.Pkg().Path() == "math" {
			return l.math(e, obj.Name())
		}
	}
	refuse(e.Pos(), "this call does not become a vector")
	return laneValue{}
}

func (l *laneWriter) builtin(e *ast.CallExpr, name string) laneValue {
	kind := l.kindOf(e)
	switch name {
	case "len":
		id, ok := ast.Unparen(e.Args[0]).(*ast.Ident)
		if ok && l.path == "" && slices.Contains(l.w.params, l.p.Info.ObjectOf(id)) && !l.w.writes[l.p.Info.ObjectOf(id)] {
			text := "len(" + id.Name + ")"
			l.frozen[text] = true
			return laneValue{text: text, basic: types.Int, still: true}
		}
	case "min", "max":
		v := l.expr(e.Args[0])
		for _, arg := range e.Args[1:] {
			y := l.expr(arg)
			if v.how == alike && y.how == alike {
				v = laneValue{text: fmt.Sprintf("%s(%s, %s)", name, v.text, y.text), basic: kind, still: v.still && y.still}
				continue
			}
			v.basic, y.basic = kind, kind
			l.gains += l.times
			a, b := l.vector(v), l.vector(y)
			upper := strings.ToUpper(name[:1]) + name[1:]
			v = laneValue{text: fmt.Sprintf("%s.%s(%s)", a, upper, b), how: differ, basic: kind}
			if numbers[kind].float || l.bits == 64 {
				v.text = fmt.Sprintf("lanes.%s%s(%s, %s)", upper, l.vectorName(kind), a, b)
			}
		}
		return v
	}
	refuse(e.Pos(), "%s does not become a vector", name)
	return laneValue{}
}

// math returns the result of a function of package math.
func (l *laneWriter) math(e *ast.CallExpr, name string) laneValue {
	var args []laneValue
	scalar, still := true, true
	for _, a := range e.Args {
		args = append(args, l.expr(a))
		scalar, still = scalar && args[len(args)-1].how == alike, still && args[len(args)-1].still
	}
	kind := l.kindOf(e)
	if scalar {
		l.imports["math"] = "math"
		texts := make([]string, len(args))
		for i := range args {
			texts[i] = args[i].text
		}
		return laneValue{text: fmt.Sprintf("math.%s(%s)", name, strings.Join(texts, ", ")), basic: kind, still: still}
	}
	method := map[string]string{"Sqrt": "Sqrt", "Abs": "Abs", "Float32bits": "ToBits", "Float64bits": "ToBits", "Float32frombits": "BitsToFloat32", "Float64frombits": "BitsToFloat64"}[name]
	if method == "" {
		refuse(e.Pos(), "package simd has no math.%s", name)
	}
	text := l.vector(args[0])
	l.gains += gainOfRoot * l.times
	if l.bits == 64 && strings.HasPrefix(name, "Float32") {
		refuse(e.Pos(), "math.%s does not become a vector beside numbers of 64 bits that differ between threads", name)
	}
	return laneValue{text: fmt.Sprintf("%s.%s()", text, method), how: differ, basic: kind}
}

// convert returns the value of a conversion.
func (l *laneWriter) convert(e *ast.CallExpr) laneValue {
	kind := l.kindOf(e)
	if inner := l.rootOf(e); inner != nil {
		if v := l.expr(inner.arg); v.how == differ {
			l.gains += gainOfRoot * l.times // for float32 the root of the float64, rounded, is the root
			return l.wrapped(fmt.Sprintf("%s.%s()", l.vector(v), inner.method), types.Float32)
		}
	}
	v, ok := l.smallValue(e.Args[0])
	if !ok {
		v = l.expr(e.Args[0])
	}
	to := types.Typ[kind].Name()
	from, into := numbers[v.basic], numbers[kind]
	switch {
	case v.how == alike:
		return laneValue{text: basicText(kind, v.text), basic: kind, still: v.still}
	case v.how == leads && kind == types.Int:
		return v
	case v.how == leads && v.step != "" && into.bits < 64:
		refuse(e.Pos(), "a conversion of the thread's place times a number does not become a vector; convert the place before")
	case from.truth:
		return v
	case v.how == leads && v.step == "" && kind == types.Float64:
		l.lane(kind)
		return laneValue{text: fmt.Sprintf("lanes.Float64s(%s)", v.text), how: differ, basic: kind}
	case v.how == leads && l.bits == 32 && into.bits <= 32 && (kind == types.Float32 || kind == types.Int32):
		return laneValue{text: fmt.Sprintf("lanes.%ss(%s)", strings.ToUpper(to[:1])+to[1:], v.text), how: differ, basic: kind}
	case v.how == leads && l.bits == 32 && into.bits <= 32:
		v = laneValue{text: fmt.Sprintf("lanes.Int32s(%s)", v.text), how: differ, basic: types.Int32}
		from = numbers[types.Int32]
	default:
		l.lane(v.basic)
		l.lane(kind)
	}
	if l.bits == 64 {
		return laneValue{text: l.convert64(v, kind), how: differ, basic: kind}
	}
	text := v.text
	switch {
	case from.float && into.float:
		return laneValue{text: text, how: differ, basic: kind}
	case from.float && into.bits == 32:
		return laneValue{text: fmt.Sprintf("lanes.%ssOfFloat32s(%s)", strings.ToUpper(to[:1])+to[1:], text), how: differ, basic: kind}
	case from.float:
		refuse(e.Pos(), "a conversion from a float to %s does not become a vector; convert to int32 first", to)
	case into.float && v.basic == types.Uint32:
		return laneValue{text: fmt.Sprintf("lanes.Float32sOfUint32s(%s)", text), how: differ, basic: kind}
	case into.float && !from.signed:
		return laneValue{text: text + ".BitsToInt32().ConvertToFloat32()", how: differ, basic: kind}
	case into.float:
		return laneValue{text: text + ".ConvertToFloat32()", how: differ, basic: kind}
	}
	if from.signed && !into.signed {
		text += ".ToBits()"
	} else if !from.signed && into.signed {
		text += ".BitsToInt32()"
	}
	if into.bits < from.bits || into.bits < 32 && from.signed != into.signed && !(into.signed && into.bits > from.bits) {
		return l.wrapped(text, kind)
	}
	return laneValue{text: text, how: differ, basic: kind}
}

// convert64 returns a conversion in lanes of 64 bits.
func (l *laneWriter) convert64(v laneValue, kind types.BasicKind) string {
	text := l.vector(v)
	from, into := numbers[v.basic], numbers[kind]
	have, want := l.vectorName(v.basic), l.vectorName(kind)
	switch {
	case from.float && into.float:
		if into.bits < from.bits {
			text = fmt.Sprintf("%s(%s)", l.ofType("Wrap", kind), text)
		}
		return text
	case into.float && from.bits == 64 && into.bits == 32: // rounded once
		return fmt.Sprintf("lanes.Round%s(%s)", have, text)
	case into.float:
		return l.wrapped(fmt.Sprintf("lanes.%sOf%s(%s)", want, have, text), kind).text
	case from.float && into.bits == 64:
		return fmt.Sprintf("lanes.%sOf%s(%s)", want, have, text)
	case from.float:
		return fmt.Sprintf("%s(%s)", l.ofType("Cut", kind), text)
	case from.signed && !into.signed:
		text += ".ToBits()"
	case !from.signed && into.signed:
		text += ".BitsToInt64()"
	}
	if into.bits < from.bits || into.bits < 64 && from.signed && !into.signed || into.bits == from.bits && from.signed != into.signed {
		return l.wrapped(text, kind).text
	}
	return text
}

// root32 is float32(math.Sqrt(float64(arg))), or the same with math.Abs, for an arg of type float32.
type root32 struct {
	method string
	arg    ast.Expr
}

func (l *laneWriter) rootOf(e *ast.CallExpr) *root32 {
	info := l.p.Info
	if l.kindOf(e) != types.Float32 {
		return nil
	}
	c, ok := ast.Unparen(e.Args[0]).(*ast.CallExpr)
	if !ok || len(c.Args) != 1 {
		return nil
	}
	s, ok := ast.Unparen(c.Fun).(*ast.SelectorExpr)
	if !ok {
		return nil
	}
	f, ok := info.ObjectOf(s.Sel).(*types.Func)
	if !ok || f.Pkg() == nil || f.Pkg().Path() != "math" || f.Name() != "Sqrt" && f.Name() != "Abs" {
		return nil
	}
	wide, ok := ast.Unparen(c.Args[0]).(*ast.CallExpr)
	if !ok || len(wide.Args) != 1 || !info.Types[wide.Fun].IsType() || info.Types[wide.Args[0]].Value != nil || l.kindOf(wide.Args[0]) != types.Float32 {
		return nil
	}
	return &root32{f.Name(), wide.Args[0]}
}
