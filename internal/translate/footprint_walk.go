package translate

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"maps"
	"math"
	"slices"
	"strconv"
)

// reach finds what the threads of a kernel read and write of its slices. It follows the kernel's statements as one thread, whose numbers are sums of
// atoms. Numbers that it does not follow are atoms that can be anything.
type reach struct {
	f     *function
	atoms []*atom
	known map[string]*atom // places and arguments, which each have one atom
	all   []access
	lost  string // why nothing is known

	frame *frame
	ctx   []fact // what is known of the thread here
	path  []step // the conditions under which a thread comes here
	steps int
	calls int
	work  int               // for a proof of bounds
	seen  map[ast.Node]bool // the accesses that were found
}

// frame is a function that is followed: the kernel, or one that it calls.
type frame struct {
	pkg     *Package
	env     map[types.Object]val
	unknown map[types.Object]bool // variables whose addresses are taken
	returns []returned
}

type returned struct {
	all []val
	ctx []fact
}

// val is what a variable or an expression is. With no field set it is not followed.
type val struct {
	n    poly // an integer
	cond *condition
	of   *param // a slice or a matrix of the kernel
}

// step is a condition of a path, or a loop.
type step struct {
	id    int
	yes   bool
	exact bool // the constraints say all of it, each about one number of the thread
}

// access is a use of elements.
type access struct {
	of                  *param
	index               poly
	row                 poly // of a matrix
	read, write, atomic bool
	part                bool // only a part of the element is written
	merged              bool // it stands for two others, of which each thread makes one
	ctx                 []fact
	path                []step
	pos                 token.Position
}

// condition is a bool: op is &&, ||, ! or a comparison, or 0 for one that is not followed.
type condition struct {
	op   token.Token
	a, b *condition
	x, y poly
}

var negated = map[token.Token]token.Token{token.LSS: token.GEQ, token.GEQ: token.LSS, token.GTR: token.LEQ, token.LEQ: token.GTR,
	token.EQL: token.NEQ, token.NEQ: token.EQL}

var mirrored = map[token.Token]token.Token{token.LSS: token.GTR, token.GTR: token.LSS, token.LEQ: token.GEQ, token.GEQ: token.LEQ,
	token.EQL: token.EQL, token.NEQ: token.NEQ}

// mostCalls is how many calls are followed. A kernel with more has functions that call others many times, and its footprint would be long.
const mostCalls = 200

func (f *function) reach() *reach {
	w := &reach{f: f, known: map[string]*atom{}, seen: map[ast.Node]bool{}}
	w.frame = w.enter(f.p.own, f.decl)
	wire := 0
	for _, m := range f.params {
		obj := f.inGo(m)
		switch m.kind {
		case thread:
			continue
		case slice:
			w.frame.env[obj] = val{of: m}
			w.argument(wire+1, "len("+m.name+")", true)
			wire++
		case matrix:
			w.frame.env[obj] = val{of: m}
			w.argument(wire+1, m.name+".Rows()", true)
			w.argument(wire+2, m.name+".Cols()", true)
			wire += 2
		default:
			if lo, _, ok := rangeOf(m.typ); ok {
				w.frame.env[obj] = val{n: w.argument(wire, m.name, lo == 0)}
			}
		}
		wire++
	}
	w.list(f.decl.Body.List)
	w.check(f.decl)
	return w
}

func (w *reach) enter(pkg *Package, decl *ast.FuncDecl) *frame {
	fr := &frame{pkg: pkg, env: map[types.Object]val{}, unknown: map[types.Object]bool{}}
	ast.Inspect(decl.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.UnaryExpr:
			if id, ok := ast.Unparen(n.X).(*ast.Ident); ok && n.Op == token.AND {
				fr.unknown[pkg.info.ObjectOf(id)] = true
			}
		case *ast.SelectorExpr: // a method may change the variable
			if id, ok := ast.Unparen(n.X).(*ast.Ident); ok && pkg.info.Selections[n] != nil && pkg.info.Selections[n].Kind() == types.MethodVal {
				if lo, hi, isInt := rangeOf(pkg.info.TypeOf(id)); isInt && lo <= hi {
					fr.unknown[pkg.info.ObjectOf(id)] = true
				}
			}
		}
		return true
	})
	return fr
}

func (w *reach) info() *types.Info { return w.frame.pkg.info }

func (w *reach) at(n ast.Node) token.Position { return w.frame.pkg.Fset.Position(n.Pos()) }

// rangeOf returns the range of a type of integers whose numbers all are in int64.
func rangeOf(t types.Type) (lo, hi int64, ok bool) {
	if t == nil {
		return 0, 0, false
	}
	b, isBasic := t.Underlying().(*types.Basic)
	if !isBasic {
		return 0, 0, false
	}
	switch b.Kind() {
	case types.Int, types.Int64, types.UntypedInt, types.UntypedRune:
		return math.MinInt64, math.MaxInt64, true
	case types.Int8:
		return math.MinInt8, math.MaxInt8, true
	case types.Int16:
		return math.MinInt16, math.MaxInt16, true
	case types.Int32:
		return math.MinInt32, math.MaxInt32, true
	case types.Uint8:
		return 0, math.MaxUint8, true
	case types.Uint16:
		return 0, math.MaxUint16, true
	case types.Uint32:
		return 0, math.MaxUint32, true
	}
	return 0, 0, false
}

func (w *reach) atom(a atom) poly {
	a.id = len(w.atoms)
	a.same = a.kind == isSize || a.kind == isBlocks || a.kind == isArg || a.kind == isResult && a.op != "Or" &&
		!slices.ContainsFunc(a.args, func(p poly) bool { return !w.uniform(p) })
	w.atoms = append(w.atoms, &a)
	return poly{strconv.Itoa(a.id): 1}
}

// once returns the atom of a place or an argument.
func (w *reach) once(key string, a atom) poly {
	if w.known[key] == nil {
		w.known[key] = w.atoms[factors(w.atom(a).monomials()[0])[0]]
	}
	return poly{strconv.Itoa(w.known[key].id): 1}
}

func (w *reach) argument(wire int, name string, low bool) poly {
	return w.once("v"+strconv.Itoa(wire), atom{kind: isArg, wire: wire, name: name, low: low})
}

// size returns the length, the rows or the columns of a parameter: number 1 or 2 behind it in the launch's arguments.
func (w *reach) size(m *param, which int) poly {
	return w.argument(w.wire(m)+which, "", true) // it has its name already
}

// wire returns where a parameter is among the launch's arguments.
func (w *reach) wire(of *param) (wire int) {
	for _, m := range w.f.params {
		switch {
		case m == of:
			return wire
		case m.kind == matrix:
			wire += 3
		case m.kind == slice:
			wire += 2
		case m.kind != thread:
			wire++
		}
	}
	return wire
}

func (w *reach) unknown(t types.Type) val {
	lo, hi, ok := rangeOf(t)
	if !ok {
		return val{}
	}
	return val{n: w.atom(atom{kind: isUnknown, lo: lo, hi: hi, low: lo == 0})}
}

// fit returns a number as one of a type, whose range it may leave.
func (w *reach) fit(p poly, t types.Type) val {
	lo, hi, ok := rangeOf(t)
	switch n, isConstant := p.constant(); {
	case !ok:
		return val{}
	case p == nil:
		return w.unknown(t)
	case lo == math.MinInt64 || isConstant && n >= lo && n <= hi:
		return val{n: p}
	}
	return val{n: w.atom(atom{kind: isResult, op: "Fits(" + strconv.FormatInt(lo, 10) + ", " + strconv.FormatInt(hi, 10) + ")", args: []poly{p}, low: lo == 0})}
}

// narrow is fit for a number of type from.
func (w *reach) narrow(p poly, from, to types.Type) val {
	lo, hi, ok := rangeOf(from)
	if lo2, hi2, ok2 := rangeOf(to); ok && ok2 && lo >= lo2 && hi <= hi2 && p != nil {
		return val{n: p}
	}
	if !ok {
		return w.unknown(to)
	}
	return w.fit(p, to)
}

// list follows statements, and reports whether none of them leaves the next statement to follow.
func (w *reach) list(list []ast.Stmt) bool {
	type early struct {
		from, to int
		ctx      []fact
		path     []step
		id       int
		yes      bool
	}
	var merges []early
	ended := false
	for _, s := range list {
		if ended { // it is never run
			break
		}
		branch, ok := s.(*ast.IfStmt)
		if !ok {
			ended = w.stmt(s)
			continue
		}
		m := early{ctx: w.ctx, path: w.path, yes: true}
		m.from, m.to, m.id, m.yes, ended = w.branch(branch)
		if m.to > m.from {
			merges = append(merges, m)
		}
	}
	for _, m := range slices.Backward(merges) {
		w.merge(m.from, m.to, m.to, len(w.all), m.ctx, m.path, m.id, m.yes)
	}
	return ended
}

// merge notes writes that each thread makes on one of two ways: those from a to b where the condition id is yes, and those from c to d where it is not.
func (w *reach) merge(a, b, c, d int, ctx []fact, path []step, id int, yes bool) {
	on := func(p []step, yes bool) bool {
		return len(p) == len(path)+1 && slices.Equal(p[:len(path)], path) && p[len(path)].id == id && p[len(path)].yes == yes
	}
	for _, x := range w.all[a:b] {
		if !x.write || x.part || !on(x.path, yes) {
			continue
		}
		for _, y := range w.all[c:d] {
			if y.write && !y.part && y.of == x.of && y.index.equal(x.index) && on(y.path, !yes) {
				x.ctx, x.path, x.merged = ctx, path, true
				w.all = append(w.all, x)
				break
			}
		}
	}
}

// branch follows an if. If one of its ways leaves the list, the statements behind it follow on the other, and the accesses of the one that
// left are those from from to to.
func (w *reach) branch(s *ast.IfStmt) (from, to, id int, yes, ended bool) {
	if s.Init != nil {
		w.stmt(s.Init)
	}
	c := w.condition(s.Cond)
	w.steps++
	id = w.steps
	from = len(w.all)
	ctx, path, env := w.ctx, w.path, maps.Clone(w.frame.env)
	w.assume(c, true, id)
	thenEnds := w.list(s.Body.List)
	mid, thenEnv, thenCtx, thenPath := len(w.all), w.frame.env, w.ctx, w.path
	w.ctx, w.path, w.frame.env = ctx, path, env
	w.assume(c, false, id)
	elseEnds := false
	switch e := s.Else.(type) {
	case *ast.BlockStmt:
		elseEnds = w.list(e.List)
	case *ast.IfStmt:
		elseEnds = w.list([]ast.Stmt{e})
	}
	switch end := len(w.all); {
	case thenEnds && elseEnds:
		w.merge(from, mid, mid, end, ctx, path, id, true)
		return 0, 0, id, false, true
	case thenEnds && s.Else == nil:
		return from, mid, id, true, false
	case thenEnds || elseEnds:
		if elseEnds {
			w.frame.env, w.ctx, w.path = thenEnv, thenCtx, thenPath
		}
		w.maybe()
		return 0, 0, id, false, false
	default:
		w.join(thenEnv, thenCtx, w.ctx)
		w.ctx, w.path = ctx, path
		if jumpsOut(s, true) {
			w.maybe()
		}
		w.merge(from, mid, mid, end, ctx, path, id, true)
	}
	return 0, 0, id, false, false
}

// maybe notes that some threads do not come here.
func (w *reach) maybe() {
	w.steps++
	w.path = append(slices.Clip(w.path), step{id: w.steps})
}

// jumpsOut reports whether a statement has one that leaves it; continues may count or not.
func jumpsOut(s ast.Node, continues bool) (found bool) {
	ast.Inspect(s, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ReturnStmt:
			found = true
		case *ast.BranchStmt:
			found = found || continues || n.Tok != token.CONTINUE || n.Label != nil
		}
		return true
	})
	return found
}

// join makes the variables those of two ways that come together.
func (w *reach) join(other map[types.Object]val, otherCtx, ctx []fact) {
	order := slices.SortedFunc(maps.Keys(w.frame.env), func(a, b types.Object) int { return int(a.Pos() - b.Pos()) })
	for _, obj := range order {
		a := w.frame.env[obj]
		b, ok := other[obj]
		switch {
		case !ok:
			delete(w.frame.env, obj)
		case a.cond != b.cond:
			w.frame.env[obj] = val{}
		case a.n != nil && b.n != nil && !a.n.equal(b.n):
			w.frame.env[obj] = val{n: w.either([]poly{a.n, b.n}, [][]fact{ctx, otherCtx}, obj.Type(), obj.Name())}
		case (a.n == nil) != (b.n == nil):
			w.frame.env[obj] = val{}
		}
	}
}

func (w *reach) either(all []poly, ctxs [][]fact, t types.Type, name string) poly {
	lo, _, _ := rangeOf(t)
	return w.atom(atom{kind: isResult, op: "Or", args: all, ctxs: ctxs, low: lo == 0, name: name})
}

// forget makes the variables that a statement assigns to unknown.
func (w *reach) forget(s ast.Node) {
	lost := func(e ast.Expr) {
		if id, ok := ast.Unparen(e).(*ast.Ident); ok {
			if obj := w.info().ObjectOf(id); obj != nil {
				if v, ok := w.frame.env[obj]; ok && v.of == nil {
					w.frame.env[obj] = w.unknown(obj.Type())
				}
			}
		}
	}
	ast.Inspect(s, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, l := range n.Lhs {
				lost(l)
			}
		case *ast.IncDecStmt:
			lost(n.X)
		case *ast.RangeStmt:
			if n.Tok == token.ASSIGN {
				lost(n.Key)
				if n.Value != nil {
					lost(n.Value)
				}
			}
		}
		return true
	})
}

// stmt follows a statement, and reports whether it leaves the list.
func (w *reach) stmt(s ast.Stmt) bool {
	switch s := s.(type) {
	case *ast.AssignStmt:
		w.assign(s)
	case *ast.DeclStmt:
		if g, ok := s.Decl.(*ast.GenDecl); ok && g.Tok == token.VAR {
			for _, spec := range g.Specs {
				if v, ok := spec.(*ast.ValueSpec); ok {
					w.declare(v)
				}
			}
		}
	case *ast.IncDecStmt:
		w.update(s.X, token.ADD, fixed(map[token.Token]int64{token.INC: 1, token.DEC: -1}[s.Tok]))
	case *ast.ExprStmt:
		w.eval(s.X)
	case *ast.BlockStmt:
		return w.list(s.List)
	case *ast.LabeledStmt:
		return w.stmt(s.Stmt)
	case *ast.IfStmt:
		return w.list([]ast.Stmt{s})
	case *ast.ForStmt:
		w.loop(s)
	case *ast.RangeStmt:
		w.ranges(s)
	case *ast.SwitchStmt:
		w.switches(s)
	case *ast.ReturnStmt:
		var all []val
		for _, e := range s.Results {
			all = append(all, w.eval(e))
		}
		w.frame.returns = append(w.frame.returns, returned{all, w.ctx})
		return true
	case *ast.BranchStmt:
		return s.Tok != token.FALLTHROUGH
	case *ast.EmptyStmt, nil:
	default:
		w.lost = "has a statement that is not followed"
	}
	return false
}

func (w *reach) declare(v *ast.ValueSpec) {
	for i, id := range v.Names {
		is := val{}
		switch obj := w.info().Defs[id]; {
		case len(v.Values) == len(v.Names):
			is = w.eval(v.Values[i])
		case len(v.Values) > 0:
			if i == 0 {
				w.eval(v.Values[0])
			}
			is = w.unknown(obj.Type())
		default:
			if _, _, ok := rangeOf(obj.Type()); ok {
				is.n = fixed(0)
			}
		}
		w.bind(id, is)
	}
}

// bind sets a variable.
func (w *reach) bind(id *ast.Ident, is val) {
	obj := w.info().ObjectOf(id)
	if obj == nil || id.Name == "_" {
		return
	}
	if w.frame.unknown[obj] || is.n == nil && is.cond == nil && is.of == nil {
		is = w.unknown(obj.Type())
	}
	if a := w.one(is.n); a != nil && a.name == "" {
		a.name = obj.Name()
	}
	w.frame.env[obj] = is
}

func (w *reach) assign(s *ast.AssignStmt) {
	if s.Tok != token.ASSIGN && s.Tok != token.DEFINE {
		op, _ := binaryOf(s.Tok)
		w.update(s.Lhs[0], op, w.eval(s.Rhs[0]).n)
		return
	}
	var all []val
	for _, e := range s.Rhs {
		all = append(all, w.eval(e))
	}
	if len(all) != len(s.Lhs) { // a call
		all = make([]val, len(s.Lhs))
	}
	for i, l := range s.Lhs {
		if id, ok := ast.Unparen(l).(*ast.Ident); ok {
			w.bind(id, all[i])
		} else {
			w.place(l, false, true)
		}
	}
}

// binaryOf returns + for +=.
func binaryOf(t token.Token) (token.Token, bool) {
	if t >= token.ADD_ASSIGN && t <= token.AND_NOT_ASSIGN {
		return t + token.ADD - token.ADD_ASSIGN, true
	}
	return t, false
}

// update follows x += n, and the like.
func (w *reach) update(l ast.Expr, op token.Token, n poly) {
	id, ok := ast.Unparen(l).(*ast.Ident)
	if !ok {
		w.place(l, true, true)
		return
	}
	w.bind(id, w.arithmetic(op, w.eval(id).n, n, w.info().TypeOf(l)))
}

// loop follows a for.
func (w *reach) loop(s *ast.ForStmt) {
	if s.Init != nil {
		w.stmt(s.Init)
	}
	ctx, path := w.ctx, w.path
	round, exact := w.round(s)
	w.forget(s.Body)
	if s.Post != nil {
		w.forget(s.Post)
	}
	if round != nil {
		w.frame.env[round] = val{n: w.atom(*exact.a)}
	}
	w.steps++
	id := w.steps
	if s.Cond != nil {
		w.assume(w.condition(s.Cond), true, id)
		w.path[len(w.path)-1].exact = w.path[len(w.path)-1].exact && exact.whole && !jumpsOut(s.Body, false)
	} else {
		w.maybe()
	}
	w.list(s.Body.List)
	if s.Post != nil {
		w.stmt(s.Post)
	}
	w.forget(s.Body)
	if s.Post != nil {
		w.forget(s.Post)
	}
	w.ctx, w.path = ctx, path
	if jumpsOut(s.Body, false) {
		w.maybe()
	}
}

// counted is the number of a loop's round.
type counted struct {
	a     *atom
	whole bool // each number from the first to the end is that of a round
}

// round returns the variable that counts a loop's rounds, nil if there is none.
func (w *reach) round(s *ast.ForStmt) (types.Object, counted) {
	var x ast.Expr
	var op token.Token
	var by poly
	switch p := s.Post.(type) {
	case *ast.IncDecStmt:
		x, op, by = p.X, token.ADD, fixed(1)
		if p.Tok == token.DEC {
			op = token.SUB
		}
	case *ast.AssignStmt:
		if len(p.Lhs) != 1 || len(p.Rhs) != 1 {
			return nil, counted{}
		}
		assigning := false
		if op, assigning = binaryOf(p.Tok); !assigning {
			return nil, counted{}
		}
		seen, all := len(w.all), w.lost
		x, by = p.Lhs[0], w.eval(p.Rhs[0]).n
		w.all, w.lost = w.all[:seen], all
	default:
		return nil, counted{}
	}
	id, ok := ast.Unparen(x).(*ast.Ident)
	if !ok || s.Cond == nil || by == nil {
		return nil, counted{}
	}
	obj := w.info().ObjectOf(id)
	from := w.frame.env[obj].n
	if from == nil || w.frame.unknown[obj] || assigns(w.info(), s.Body, obj) {
		return nil, counted{}
	}
	a := &atom{kind: isRound, name: obj.Name(), from: from, step: by}
	lo, hi, _ := rangeOf(obj.Type())
	if p, ok := s.Post.(*ast.AssignStmt); ok && w.varies(p.Rhs[0], s.Body, obj) {
		return nil, counted{}
	}
	cmp, end := w.end(s, obj)
	n, constant := by.constant()
	floor, floored := end.constant()
	switch {
	case end == nil:
		return nil, counted{}
	case op == token.ADD && (cmp == token.LSS || cmp == token.LEQ) && (hi == math.MaxInt64 || cmp == token.LSS && constant && n == 1):
		if a.end = end; cmp == token.LEQ {
			a.end = end.plus(fixed(1), 1)
		}
		if a.up = true; a.end == nil {
			return nil, counted{}
		}
		a.low = w.low(from)
		return obj, counted{a, constant && n == 1 && w.uniform(from) && w.uniform(end)}
	case op == token.SUB && (cmp == token.GTR || cmp == token.GEQ) && constant && n > 0 && floored && floor >= 0 && n < 1<<31 && lo < -1<<31:
		a.end = end
		a.low = true
		return obj, counted{a, n == 1 && w.uniform(from)}
	case (op == token.QUO && constant && n > 0 || op == token.SHR) && lo < 0 && cmp != token.ILLEGAL:
		a.end = fixed(0)
		a.low = w.low(from)
		return obj, counted{a, false}
	}
	return nil, counted{}
}

// end returns how a loop's condition compares its variable, and with what, if that does not change in the loop.
func (w *reach) end(s *ast.ForStmt, obj types.Object) (token.Token, poly) {
	seen := len(w.all)
	defer func() { w.all = w.all[:seen] }()
	var find func(e ast.Expr) (token.Token, poly)
	find = func(e ast.Expr) (token.Token, poly) {
		b, ok := ast.Unparen(e).(*ast.BinaryExpr)
		if !ok {
			return token.ILLEGAL, nil
		}
		if b.Op == token.LAND {
			if op, end := find(b.X); end != nil {
				return op, end
			}
			return find(b.Y)
		}
		x, y, op := b.X, b.Y, b.Op
		if id, ok := ast.Unparen(y).(*ast.Ident); ok && w.info().ObjectOf(id) == obj {
			x, y, op = y, x, mirrored[op]
		}
		if id, ok := ast.Unparen(x).(*ast.Ident); !ok || w.info().ObjectOf(id) != obj || mirrored[op] == token.ILLEGAL {
			return token.ILLEGAL, nil
		}
		if w.varies(y, s.Body, obj) {
			return token.ILLEGAL, nil
		}
		return op, w.eval(y).n
	}
	return find(s.Cond)
}

// varies reports whether an expression may change in the rounds of a loop that are counted by a variable.
func (w *reach) varies(e ast.Expr, body ast.Node, round types.Object) (changes bool) {
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			obj := w.info().ObjectOf(n)
			changes = changes || obj == round || obj != nil && assigns(w.info(), body, obj)
		case *ast.IndexExpr:
			changes = true
		}
		return true
	})
	return changes
}

// assigns reports whether statements assign to a variable.
func assigns(info *types.Info, body ast.Node, obj types.Object) (found bool) {
	is := func(e ast.Expr) bool {
		if e == nil {
			return false
		}
		id, ok := ast.Unparen(e).(*ast.Ident)
		return ok && info.ObjectOf(id) == obj
	}
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			found = found || slices.ContainsFunc(n.Lhs, is)
		case *ast.IncDecStmt:
			found = found || is(n.X)
		case *ast.RangeStmt:
			found = found || n.Tok == token.ASSIGN && (is(n.Key) || is(n.Value))
		case *ast.UnaryExpr:
			found = found || n.Op == token.AND && is(n.X)
		}
		return true
	})
	return found
}

// ranges follows a range.
func (w *reach) ranges(s *ast.RangeStmt) {
	x := val{}
	var end poly
	switch t := w.info().TypeOf(s.X).Underlying().(type) {
	case *types.Slice:
		if x = w.slice(s.X); x.of != nil {
			end = w.size(x.of, 1)
			w.seen[s] = true
		}
	case *types.Array:
		if s.Value != nil {
			w.eval(s.X)
		} else {
			w.ignore(s.X)
		}
		end = fixed(t.Len())
	case *types.Pointer:
		w.eval(s.X)
		if a, ok := t.Elem().Underlying().(*types.Array); ok {
			end = fixed(a.Len())
		}
	default:
		end = w.eval(s.X).n
	}
	ctx, path := w.ctx, w.path
	w.forget(s) // a range with = assigns to variables that its places may use
	round := val{}
	if end != nil {
		round.n = w.atom(atom{kind: isRound, from: fixed(0), step: fixed(1), end: end, up: true, low: true})
		w.steps++
		w.compare(round.n, token.LSS, end)
		w.path = append(slices.Clip(w.path), step{id: w.steps, yes: true, exact: w.uniform(end) && !jumpsOut(s.Body, false)})
		if x.of != nil && s.Value != nil {
			w.note(access{of: x.of, index: round.n, read: true}, s.X)
		}
	} else {
		w.maybe()
	}
	vars := []ast.Expr{s.Key, s.Value}
	for _, e := range vars { // places first, then assignments
		if _, ok := e.(*ast.Ident); !ok && e != nil {
			w.place(e, false, true)
		}
	}
	for i, is := range []val{round, {}} {
		if id, ok := vars[i].(*ast.Ident); ok {
			w.bind(id, is)
		}
	}
	w.list(s.Body.List)
	w.forget(s)
	w.ctx, w.path = ctx, path
	if jumpsOut(s.Body, false) {
		w.maybe()
	}
}

// switches follows a switch. Nothing is known behind its cases but what is before it.
func (w *reach) switches(s *ast.SwitchStmt) {
	if s.Init != nil {
		w.stmt(s.Init)
	}
	tag := val{}
	if s.Tag != nil {
		tag = w.eval(s.Tag)
	}
	falls := false
	ast.Inspect(s.Body, func(n ast.Node) bool {
		b, ok := n.(*ast.BranchStmt)
		falls = falls || ok && b.Tok == token.FALLTHROUGH
		return true
	})
	ctx, path, env := w.ctx, w.path, maps.Clone(w.frame.env)
	for _, c := range s.Body.List {
		clause, ok := c.(*ast.CaseClause)
		if !ok {
			continue
		}
		w.ctx, w.path, w.frame.env = ctx, path, maps.Clone(env)
		if falls {
			w.forget(s.Body)
		}
		w.maybe()
		for _, e := range clause.List {
			switch {
			case s.Tag == nil:
				cond := w.condition(e)
				if len(clause.List) == 1 && !falls {
					w.assume(cond, true, w.steps)
					w.path[len(w.path)-1].exact = false
				}
			default:
				x := w.eval(e)
				if len(clause.List) == 1 && !falls && x.n != nil && tag.n != nil {
					w.compare(tag.n, token.EQL, x.n)
				}
			}
		}
		w.list(clause.Body)
	}
	w.ctx, w.path, w.frame.env = ctx, path, env
	w.forget(s.Body)
	if jumpsOut(s.Body, true) {
		w.maybe()
	}
}

// condition follows a bool.
func (w *reach) condition(e ast.Expr) *condition {
	switch v := w.eval(e); {
	case v.cond != nil:
		return v.cond
	default:
		return &condition{}
	}
}

// assume notes that a condition holds, or that it does not.
func (w *reach) assume(c *condition, holds bool, id int) {
	w.ctx = slices.Clip(w.ctx)
	w.path = append(slices.Clip(w.path), step{id: id, yes: holds, exact: w.suppose(c, holds)})
}

// suppose adds the constraints of a condition, and reports whether they say all of it.
func (w *reach) suppose(c *condition, holds bool) bool {
	switch {
	case c == nil || c.op == token.ILLEGAL:
		return false
	case c.op == token.NOT:
		return w.suppose(c.a, !holds)
	case c.op == token.LAND && holds || c.op == token.LOR && !holds:
		a := w.suppose(c.a, holds)
		return w.suppose(c.b, holds) && a
	case c.op == token.LAND || c.op == token.LOR:
		return false
	case holds:
		return w.compare(c.x, c.op, c.y)
	}
	return w.compare(c.x, negated[c.op], c.y)
}

// compare adds the constraint that x compares with y, and reports whether it is about one number of the thread.
func (w *reach) compare(x poly, op token.Token, y poly) bool {
	if x == nil || y == nil || op == token.ILLEGAL {
		return false
	}
	a := w.constrain(x, op, y)
	b := w.constrain(y, mirrored[op], x)
	return (a && w.uniform(y) || b && w.uniform(x)) && op != token.NEQ
}

func (w *reach) constrain(x poly, op token.Token, bound poly) (single bool) {
	q, plus := w.split(x)
	if len(q) == 0 {
		if !w.uniform(bound) {
			return false
		}
		if q, plus = x.plus(fixed(x[""]), -1), fixed(x[""]); w.one(q) == nil {
			return false
		}
	}
	if w.low(x) && op == token.GEQ && len(bound) == 0 {
		return true // it is known
	}
	for m := range q { // a loop's number is bounded by that of another, and not the other way round
		for _, id := range factors(m) {
			if w.depends(bound, id, map[int]bool{}) {
				return false
			}
		}
	}
	w.ctx = append(slices.Clip(w.ctx), fact{q, plus, op, bound})
	a := w.one(q)
	_, constant := plus.constant()
	return a != nil && constant && (a.kind == isPlace || a.kind == isRound || a.kind == isArg || a.kind == isBlock || a.kind == isLocal)
}

// depends reports whether a sum is computed from an atom.
func (w *reach) depends(p poly, id int, seen map[int]bool) bool {
	for m := range p {
		for _, other := range factors(m) {
			if other == id {
				return true
			}
			if seen[other] {
				continue
			}
			seen[other] = true
			a := w.atoms[other]
			for _, q := range append(slices.Clone(a.args), a.from, a.end, a.step) {
				if w.depends(q, id, seen) {
					return true
				}
			}
		}
	}
	return false
}

// low reports whether a number is never negative.
func (w *reach) low(p poly) bool {
	if a := w.one(p); a != nil {
		return a.low
	}
	n, ok := p.constant()
	return ok && n >= 0
}

// check makes sure that no access was missed.
func (w *reach) check(decl *ast.FuncDecl) {
	info := w.frame.pkg.info
	ast.Inspect(decl.Body, func(n ast.Node) bool {
		missed := false
		switch n := n.(type) {
		case *ast.IndexExpr:
			_, isSlice := typeUnder[*types.Slice](info.TypeOf(n.X))
			missed = isSlice
		case *ast.RangeStmt:
			_, isSlice := typeUnder[*types.Slice](info.TypeOf(n.X))
			missed = isSlice
		case *ast.CallExpr:
			if sel, ok := ast.Unparen(n.Fun).(*ast.SelectorExpr); ok && matrixOf(info.TypeOf(sel.X)) != nil {
				missed = sel.Sel.Name != "Rows" && sel.Sel.Name != "Cols"
			}
		case *ast.FuncLit:
			missed = true
		}
		if missed && !w.seen[n] && w.lost == "" && !w.dead(n, decl) {
			w.lost = w.frame.pkg.line(n.Pos()) + ": this access is not followed"
		}
		return true
	})
}

// dead reports whether a node stands behind a statement that leaves its list.
func (w *reach) dead(n ast.Node, decl *ast.FuncDecl) (dead bool) {
	ast.Inspect(decl.Body, func(b ast.Node) bool {
		var list []ast.Stmt
		switch b := b.(type) {
		case *ast.BlockStmt:
			list = b.List
		case *ast.CaseClause:
			list = b.Body
		}
		for i, s := range list {
			if s.Pos() <= n.Pos() && n.Pos() < s.End() && i > 0 {
				for _, before := range list[:i] {
					switch before := before.(type) {
					case *ast.ReturnStmt:
						dead = true
					case *ast.BranchStmt:
						dead = dead || before.Tok != token.FALLTHROUGH
					}
				}
			}
		}
		return true
	})
	return dead
}

func typeUnder[T types.Type](t types.Type) (u T, ok bool) {
	if t == nil {
		return u, false
	}
	u, ok = t.Underlying().(T)
	return u, ok
}

func (w *reach) constantOf(e ast.Expr) (poly, bool) {
	v := w.info().Types[e].Value
	if _, _, ok := rangeOf(w.info().TypeOf(e)); !ok || v == nil {
		return nil, false
	}
	n, exact := constant.Int64Val(constant.ToInt(v))
	if !exact {
		return nil, false
	}
	return fixed(n), true
}
