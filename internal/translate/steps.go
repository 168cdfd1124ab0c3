package translate

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strings"
)

// This file bounds the work of a loop, for the C text of short loops over small arrays: see counted.go. Package facts has such bounds of the representation;
// this goes with the C text that is made from the syntax.

// What counts as how many steps. A step is an operation on numbers.
const (
	loadSteps   = 4  // an element, which may come from memory
	divideSteps = 8  // a division of whole numbers
	callSteps   = 4  // what is around the body of a function
	simpleSteps = 8  // a function of math or math/bits that is a few instructions
	mathSteps   = 60 // another one
	atomicSteps = 20
	mostSteps   = 1 << 20 // more are as good as no bound
	mostShared  = 4096    // bytes of shared memory of a block, which are set to zero
)

// bound is what a number is at most.
type bound struct{ plus int64 }

// noBound is the value of a panic that ends the count.
type noBound struct{}

func (b *bound) add(c bound) { b.plus = min(b.plus+c.plus, mostSteps) }

func (b bound) by(c bound) bound { return bound{min(b.plus*c.plus, mostSteps)} }

// stepCounter counts the steps of a kernel, and of the functions that it calls.
type stepCounter struct {
	p      *Package
	kernel *ast.FuncDecl
	values map[types.Object]ast.Expr // of the kernel's variables that are never changed
	writes map[types.Object]bool
	calls  int // how deep

	// For a loop over an array:
	known  map[types.Object]bound // what variables are at most
	counts map[types.Object]bool  // variables that count the rounds of a loop around, up from 0 or more
}

// survey notes the values of variables, and which variables are changed.
func (s *stepCounter) survey() {
	info := s.p.info
	ast.Inspect(s.kernel.Body, func(n ast.Node) bool {
		if n, ok := n.(*ast.AssignStmt); ok && len(n.Lhs) == len(n.Rhs) {
			for i, l := range n.Lhs {
				if id, ok := l.(*ast.Ident); ok && info.Defs[id] != nil {
					s.values[info.Defs[id]] = n.Rhs[i]
				}
			}
		}
		return true
	})
	s.changes(s.kernel.Body, func(v types.Object) { s.writes[v] = true })
}

// changes calls write for the variables that a node assigns to after their declaration, and for those whose address it takes.
func (s *stepCounter) changes(n ast.Node, write func(types.Object)) {
	info := s.p.info
	change := func(e ast.Expr) {
		if id := root(info, e); id != nil && info.Defs[id] == nil {
			write(info.ObjectOf(id))
		}
	}
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, l := range n.Lhs {
				change(l)
			}
		case *ast.IncDecStmt:
			change(n.X)
		case *ast.UnaryExpr:
			if n.Op == token.AND {
				change(n.X)
			}
		case *ast.SelectorExpr: // a method may change what it is called on
			if sel := info.Selections[n]; sel != nil && sel.Kind() == types.MethodVal {
				change(n.X)
			}
		case *ast.RangeStmt:
			for _, e := range []ast.Expr{n.Key, n.Value} {
				if e != nil {
					change(e)
				}
			}
		}
		return true
	})
}

// block returns the steps of a node with all that is in it.
func (s *stepCounter) block(n ast.Node) (total bound) {
	if n == nil {
		return total
	}
	info := s.p.info
	ast.Inspect(n, func(n ast.Node) bool {
		if e, ok := n.(ast.Expr); ok && (info.Types[e].Value != nil || info.Types[e].IsType()) {
			return false
		}
		switch n := n.(type) {
		case *ast.ForStmt:
			total.add(s.loop(n))
			return false
		case *ast.RangeStmt:
			total.add(s.rangeLoop(n))
			return false
		case *ast.BranchStmt:
			if n.Tok == token.GOTO {
				panic(noBound{})
			}
		case *ast.CallExpr:
			total.add(s.call(n))
		case *ast.IndexExpr:
			total.plus += loadSteps
		case *ast.BinaryExpr:
			total.plus++
			if t, ok := numberOf(info.TypeOf(n)); ok && !t.float && (n.Op == token.QUO || n.Op == token.REM) {
				total.plus += divideSteps
			}
			s.sized(&total, n.X)
		case *ast.UnaryExpr, *ast.StarExpr, *ast.ReturnStmt, *ast.IfStmt, *ast.CaseClause, *ast.IncDecStmt:
			total.plus++
		case *ast.AssignStmt:
			for _, l := range n.Lhs {
				total.plus++
				s.sized(&total, l)
			}
		case *ast.ValueSpec:
			for _, id := range n.Names {
				total.plus++
				s.sized(&total, id)
			}
		case *ast.CompositeLit:
			s.sized(&total, n)
		}
		total.plus = min(total.plus, mostSteps)
		return true
	})
	return total
}

// sized adds the steps that the copy or comparison of a large value takes.
func (s *stepCounter) sized(total *bound, e ast.Expr) {
	if t := s.p.info.TypeOf(e); t != nil {
		switch t.Underlying().(type) {
		case *types.Array, *types.Struct:
			total.plus += sizeOf(t) / 8
		}
	}
}

// sizeOf returns the bytes of a type. Those of one with a type parameter in it are not known here.
func sizeOf(t types.Type) int64 {
	if generic(t) {
		panic(noBound{})
	}
	return sizes.Sizeof(t)
}

// plainMath are the functions of package math that are a few instructions.
var plainMath = []string{"Sqrt", "Abs", "FMA", "Floor", "Ceil", "Trunc", "Copysign", "Float32bits", "Float32frombits", "Float64bits", "Float64frombits"}

// call returns the steps of a call without those of its arguments.
func (s *stepCounter) call(e *ast.CallExpr) bound {
	info := s.p.info
	id, _ := callee(ast.Unparen(e.Fun))
	if info.Types[e.Fun].IsType() || info.Types[e.Fun].IsBuiltin() {
		return bound{plus: 1}
	}
	f, ok := info.Uses[id].(*types.Func)
	if !ok || f.Pkg() == nil {
		panic(noBound{})
	}
	switch path := f.Pkg().Path(); {
	case path == gridPath && f.Name() == "Shared":
		p, ok := info.TypeOf(e).(*types.Pointer)
		if !ok || sizeOf(p.Elem()) > mostShared {
			panic(noBound{})
		}
		return bound{plus: 1}
	case path == gridPath && strings.HasPrefix(f.Name(), "Atomic"):
		return bound{plus: atomicSteps}
	case path == gridPath:
		return bound{plus: loadSteps} // of a thread or of a matrix
	case path == "math" && slices.Contains(plainMath, f.Name()),
		path == "math/bits":
		return bound{plus: simpleSteps}
	case path == "math" || path == "math/cmplx":
		return bound{plus: mathSteps}
	}
	decl := s.p.declOf(f.Origin())
	if decl == nil || decl.Body == nil || s.calls > 16 {
		panic(noBound{})
	}
	inner := &stepCounter{p: s.p, kernel: decl, calls: s.calls + 1, values: map[types.Object]ast.Expr{}, writes: map[types.Object]bool{}}
	inner.survey()
	total := inner.block(decl.Body)
	total.plus += callSteps
	return total
}

// loop returns the steps of a loop whose variable goes up to a bound, or takes values that are known.
func (s *stepCounter) loop(n *ast.ForStmt) (total bound) {
	each := s.block(n.Body)
	each.add(bound{plus: 2})
	if n.Cond == nil || n.Post == nil || n.Init == nil {
		panic(noBound{})
	}
	each.add(s.block(n.Cond))
	return s.rounds(n).by(each)
}

// rounds returns how often a loop runs at most.
func (s *stepCounter) rounds(n *ast.ForStmt) bound {
	info := s.p.info
	init, ok := n.Init.(*ast.AssignStmt)
	if !ok || init.Tok != token.DEFINE || len(init.Lhs) != 1 || len(init.Rhs) != 1 {
		panic(noBound{})
	}
	v := defined(info, init.Lhs[0])
	is := func(e ast.Expr) bool {
		id, ok := ast.Unparen(e).(*ast.Ident)
		return ok && v != nil && info.ObjectOf(id) == v
	}
	c, ok := ast.Unparen(n.Cond).(*ast.BinaryExpr)
	if !ok || !is(c.X) {
		panic(noBound{})
	}
	s.changes(n.Body, func(o types.Object) {
		if o == v {
			panic(noBound{})
		}
	})
	basic, ok := types.Unalias(v.Type()).(*types.Basic)
	if !ok || numbers[basic.Kind()].bits < 32 { // a narrow one may wrap around and go on
		panic(noBound{})
	}
	op, by := token.ADD, constant.MakeInt64(1)
	var step ast.Expr
	switch post := n.Post.(type) {
	case *ast.IncDecStmt:
		if post.Tok == token.DEC {
			op = token.SUB
		}
		ok = is(post.X)
	case *ast.AssignStmt:
		op, step = assignOperators[post.Tok], post.Rhs[0]
		ok, by = is(post.Lhs[0]), info.Types[step].Value
	}
	if !ok {
		panic(noBound{})
	}
	if rounds, known := simulated(info.Types[init.Rhs[0]].Value, c.Op, info.Types[c.Y].Value, op, by, numbers[basic.Kind()]); known {
		return bound{plus: rounds}
	}
	if n, exact := constant.Int64Val(constant.ToInt(cmp.Or(by, constant.MakeInt64(0)))); s.known != nil && op == token.ADD && (c.Op == token.LSS || c.Op == token.LEQ) && exact && n > 0 {
		if far, ok := s.distance(init.Rhs[0], c.Y); ok {
			return bound{plus: far/n + 1}
		}
	}
	if op != token.ADD || c.Op != token.LSS && c.Op != token.LEQ || !s.from(init.Rhs[0], 0, 2) || step != nil && !s.from(step, 1, 2) {
		panic(noBound{})
	}
	most := s.most(c.Y)
	if c.Op == token.LEQ {
		most.add(bound{plus: 1})
	}
	return most
}

// simulated returns how often a loop runs that depends on constants alone. No number of it may wrap around.
func simulated(v constant.Value, compare token.Token, end constant.Value, op token.Token, by constant.Value, n number) (rounds int64, known bool) {
	if v == nil || end == nil || by == nil || n.float {
		return 0, false
	}
	v, end, by = constant.ToInt(v), constant.ToInt(end), constant.ToInt(by)
	for ; ; rounds++ {
		if rounds > mostShared || constant.BitLen(v) > 31 || !n.signed && constant.Sign(v) < 0 {
			return 0, false
		}
		if !constant.Compare(v, compare, end) {
			return rounds, true
		}
		switch c, exact := constant.Uint64Val(by); {
		case (op == token.SHL || op == token.SHR) && exact && c < 32:
			v = constant.Shift(v, op, uint(c))
		case op == token.QUO && exact && c > 0:
			v = constant.BinaryOp(v, token.QUO_ASSIGN, by)
		case op == token.ADD || op == token.SUB || op == token.MUL:
			v = constant.BinaryOp(v, op, by)
		default:
			return 0, false
		}
	}
}

// rangeLoop returns the steps of a loop over the numbers below another, or over a slice or an array.
func (s *stepCounter) rangeLoop(n *ast.RangeStmt) bound {
	each := s.block(n.Body)
	each.add(bound{plus: 2})
	if n.Value != nil {
		each.add(bound{plus: loadSteps})
	}
	t := s.p.info.TypeOf(n.X).Underlying()
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem().Underlying()
	}
	switch t := t.(type) {
	case *types.Array:
		return each.by(bound{plus: t.Len()})
	case *types.Slice:
		return each.by(s.argument(n.X))
	case *types.Basic:
		return each.by(s.most(n.X))
	}
	panic(noBound{})
}

// argument returns the number that a launch passes for a parameter: a number, or the length of a slice.
func (s *stepCounter) argument(e ast.Expr) bound {
	if id, ok := ast.Unparen(e).(*ast.Ident); ok {
		v := s.p.info.ObjectOf(id)
		if most, ok := s.known[v]; ok && v != nil {
			return most
		}
	}
	panic(noBound{})
}

// most returns what a whole number is at most.
func (s *stepCounter) most(e ast.Expr) bound {
	info := s.p.info
	if c := info.Types[e].Value; c != nil {
		n, exact := constant.Int64Val(constant.ToInt(c))
		if !exact {
			panic(noBound{})
		}
		return bound{plus: min(max(n, 0), mostSteps)}
	}
	if s.known != nil {
		if most, ok := s.also(e); ok {
			return most
		}
	}
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		v := info.ObjectOf(e)
		if x := s.values[v]; x != nil && !s.writes[v] {
			return s.most(x)
		}
		return s.argument(e)
	case *ast.CallExpr:
		if info.Types[e.Fun].IsType() && len(e.Args) == 1 {
			to, ok := numberOf(info.TypeOf(e))
			from, ok2 := numberOf(info.TypeOf(e.Args[0]))
			if ok && ok2 && !to.float && !from.float && to.bits >= from.bits && (to.signed || !from.signed || s.natural(e.Args[0])) {
				return s.most(e.Args[0])
			}
			break
		}
		if id, ok := ast.Unparen(e.Fun).(*ast.Ident); ok {
			switch {
			case info.ObjectOf(id) == types.Universe.Lookup("len") && len(e.Args) == 1:
				return s.argument(e.Args[0])
			case info.ObjectOf(id) == types.Universe.Lookup("min"):
				return s.most(e.Args[len(e.Args)-1])
			}
		}
	case *ast.BinaryExpr:
		switch by := info.Types[e.Y].Value; {
		case e.Op == token.ADD:
			sum := s.most(e.X)
			sum.add(s.most(e.Y))
			return sum
		case by == nil || constant.Sign(by) <= 0:
		case e.Op == token.QUO || e.Op == token.SHR || e.Op == token.SUB && s.signed(e) && s.from(e.Y, 1, 1):
			return s.most(e.X)
		}
	}
	panic(noBound{})
}

// natural reports whether a whole number that has a bound is not negative: else it is a large one after the conversion to an unsigned type.
func (s *stepCounter) natural(e ast.Expr) bool {
	info := s.p.info
	if c := info.Types[e].Value; c != nil {
		return constant.Sign(c) >= 0
	}
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		x := s.values[info.ObjectOf(e)]
		return x == nil || s.natural(x)
	case *ast.CallExpr:
		id, ok := ast.Unparen(e.Fun).(*ast.Ident)
		return info.Types[e.Fun].IsType() && s.natural(e.Args[0]) || ok && info.ObjectOf(id) == types.Universe.Lookup("len")
	case *ast.BinaryExpr:
		return e.Op != token.SUB && s.natural(e.X) && s.natural(e.Y)
	}
	return false
}

// largest is the largest constant from which a loop starts, by which it steps, or that is taken from a number, and no place of a thread in
// a small launch is larger. So neither the sum nor the product of two wraps around.
const largest = 1 << 15

// signed reports whether the type of a whole number has negative numbers: else a difference below zero is a large number.
func (s *stepCounter) signed(e ast.Expr) bool {
	n, ok := numberOf(s.p.info.TypeOf(e))
	return ok && n.signed
}

// from reports whether a whole number is not below another, 0 or 1, and is made of few enough numbers not to wrap around.
func (s *stepCounter) from(e ast.Expr, least int64, numbers int) bool {
	info := s.p.info
	if c := info.Types[e].Value; c != nil {
		c = constant.ToInt(c)
		return constant.Compare(c, token.GEQ, constant.MakeInt64(least)) && constant.Compare(c, token.LEQ, constant.MakeInt64(largest))
	}
	if s.known != nil && s.atLeast(e, least) {
		return true
	}
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		v := info.ObjectOf(e)
		if s.counts[v] {
			return least == 0
		}
		x := s.values[v]
		return x != nil && !s.writes[v] && s.from(x, least, numbers)
	case *ast.CallExpr:
		id, _ := callee(ast.Unparen(e.Fun))
		f, ok := info.Uses[id].(*types.Func)
		if !ok || f.Pkg() == nil || f.Pkg().Path() != gridPath || f.Signature().Recv() == nil {
			return false
		}
		switch f.Name() {
		case "Size", "Blocks": // of a thread
			return true
		case "Global", "Local", "Block":
			return least == 0
		}
	case *ast.BinaryExpr:
		return (e.Op == token.ADD || e.Op == token.MUL) && numbers > 1 && s.from(e.X, least, numbers-1) && s.from(e.Y, least, numbers-1)
	}
	return false
}

// unknown reports whether fn finds no bound.
func (s *stepCounter) unknown(fn func()) (none bool) {
	defer func() {
		switch found := recover().(type) {
		case nil:
		case noBound:
			none = true
		default:
			panic(found)
		}
	}()
	fn()
	return false
}

// distance returns how far a number is above another at most, if that follows from how they are made: t.Local(0)+8 and t.Local(0).
func (s *stepCounter) distance(from, to ast.Expr) (far int64, ok bool) {
	if c, isCall := ast.Unparen(to).(*ast.CallExpr); isCall {
		if id, isName := ast.Unparen(c.Fun).(*ast.Ident); isName && s.p.info.ObjectOf(id) == types.Universe.Lookup("min") {
			for _, arg := range c.Args {
				if far, ok = s.distance(from, arg); ok {
					return far, true
				}
			}
			return 0, false
		}
	}
	sum := map[string]int64{}
	if !s.linear(to, 1, sum) || !s.linear(from, -1, sum) {
		return 0, false
	}
	for of, n := range sum {
		if of != "" && (n > 0 || n < 0 && of[0] == '?') {
			return 0, false
		}
	}
	return max(sum[""], 0), true
}

// linear adds a number of times a number to a sum of constants and of what threads ask for, by its text. The text of what may be negative begins with a
// question mark.
func (s *stepCounter) linear(e ast.Expr, times int64, sum map[string]int64) bool {
	info := s.p.info
	if c := info.Types[e].Value; c != nil {
		n, exact := constant.Int64Val(constant.ToInt(c))
		sum[""] += times * n
		return exact && max(n, -n) <= largest
	}
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		v := info.ObjectOf(e)
		switch {
		case s.counts[v]:
			sum[fmt.Sprint(e.Name, v.Pos())] += times
		case v == nil || s.writes[v]:
			return false
		case s.values[v] != nil && s.linear(s.values[v], times, maps.Clone(sum)):
			return s.linear(s.values[v], times, sum)
		default:
			sum[fmt.Sprint("?", v.Pos())] += times
		}
		return true
	case *ast.CallExpr:
		name, d := s.extent(e)
		sum[fmt.Sprint(name, d)] += times
		return name != ""
	case *ast.BinaryExpr:
		switch by := info.Types[e.Y].Value; {
		case e.Op == token.ADD:
			return s.linear(e.X, times, sum) && s.linear(e.Y, times, sum)
		case e.Op == token.SUB && s.signed(e):
			return s.linear(e.X, times, sum) && s.linear(e.Y, -times, sum)
		case e.Op == token.MUL && by != nil:
			n, exact := constant.Int64Val(constant.ToInt(by))
			return exact && n >= 0 && n*max(times, -times) <= largest && s.linear(e.X, n*times, sum)
		}
	}
	return false
}

// extent returns the name and the argument of a method of a thread.
func (s *stepCounter) extent(e ast.Expr) (name string, d int64) {
	c, ok := ast.Unparen(e).(*ast.CallExpr)
	if !ok || len(c.Args) != 1 || s.p.info.Types[c.Args[0]].Value == nil {
		return "", 0
	}
	sel, ok := c.Fun.(*ast.SelectorExpr)
	if !ok || !gridType(s.p.info.TypeOf(sel.X), "Thread") {
		return "", 0
	}
	d, _ = constant.Int64Val(s.p.info.Types[c.Args[0]].Value)
	return sel.Sel.Name, d
}

// mostLocal is how many threads a block has at most on the devices whose drivers end loops.
const mostLocal = 1024

// also returns what a whole number is at most, for forms that [stepCounter.most] leaves out.
func (s *stepCounter) also(e ast.Expr) (most bound, ok bool) {
	c, isCall := ast.Unparen(e).(*ast.CallExpr)
	if !isCall {
		return most, false
	}
	if name, _ := s.extent(e); name == "Local" || name == "Size" {
		return bound{plus: mostLocal}, true
	}
	if id, isName := ast.Unparen(c.Fun).(*ast.Ident); isName && s.p.info.ObjectOf(id) == types.Universe.Lookup("min") {
		for _, arg := range c.Args {
			if !s.unknown(func() { most = s.most(arg) }) {
				return most, true
			}
		}
	}
	return most, false
}

// atLeast is [stepCounter.from] for more forms: a length counts as 1, because a loop that steps by 0 never ends.
func (s *stepCounter) atLeast(e ast.Expr, least int64) bool {
	info := s.p.info
	c, ok := ast.Unparen(e).(*ast.CallExpr)
	if !ok {
		b, ok := ast.Unparen(e).(*ast.BinaryExpr)
		return ok && b.Op == token.QUO && least == 0 && s.from(b.X, 0, 2) && s.from(b.Y, 1, 2)
	}
	id, ok := ast.Unparen(c.Fun).(*ast.Ident)
	if !ok {
		return false
	}
	switch info.ObjectOf(id) {
	case types.Universe.Lookup("len"):
		return true
	case types.Universe.Lookup("min"):
		return !slices.ContainsFunc(c.Args, func(e ast.Expr) bool { return !s.from(e, least, 3) })
	case types.Universe.Lookup("max"):
		return slices.ContainsFunc(c.Args, func(e ast.Expr) bool { return s.from(e, least, 3) })
	}
	return false
}

// each returns the rounds of a range, and notes what its key is at most.
func (s *stepCounter) each(n *ast.RangeStmt) (most bound) {
	t := s.p.info.TypeOf(n.X).Underlying()
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem().Underlying()
	}
	switch t := t.(type) {
	case *types.Array:
		most = bound{plus: min(t.Len(), mostSteps)}
	case *types.Slice:
		most = s.argument(n.X)
	case *types.Basic:
		most = s.most(n.X)
	default:
		panic(noBound{})
	}
	if v := s.key(n); v != nil {
		s.known[v], s.counts[v] = most, true
	}
	return most
}

// key returns the variable of a range that counts its rounds, if nothing else changes it.
func (s *stepCounter) key(n *ast.RangeStmt) types.Object {
	v := defined(s.p.info, n.Key)
	if v == nil {
		return nil
	}
	s.changes(n.Body, func(o types.Object) {
		if o == v {
			v = nil
		}
	})
	return v
}
