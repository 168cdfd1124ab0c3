package facts

import (
	"go/token"
	"math"
	"slices"

	"github.com/go-halyard/halyard/internal/translate/ir"
)

// eval returns what is known of a value where it is used.
func (w *walk) eval(v *ir.Value) val {
	if v.Bound {
		return w.frame.values[v.ID]
	}
	return w.compute(v)
}

// bind keeps what is known of a bound value. A number without a name gets the name of the value.
func (w *walk) bind(v *ir.Value, is val) {
	w.frame.values[v.ID] = w.named(is, v.Type, v.Name)
}

// named returns what is known of a variable after it is set to a value. If the value is a number without a name, it gets the variable's name.
func (w *walk) named(is val, t *ir.Type, name string) val {
	if is.n == nil && is.cond == nil && is.of == nil {
		is = w.unknown(t)
	}
	if a := w.One(is.n); a != nil && a.Name == "" {
		a.Name = name
	}
	return is
}

// compute follows the computation of a value.
func (w *walk) compute(v *ir.Value) val {
	switch v.Op {
	case ir.Const:
		if n, ok := v.Const.(int64); ok {
			return val{n: Fixed(n)}
		} else if _, ok := numbered(v.Type); ok {
			return val{n: Fixed(int64(v.Const.(uint64)))}
		}
		return val{}
	case ir.Argument:
		return w.frame.params[v.Param.Index]
	case ir.Len, ir.Rows:
		return w.size(v, 1)
	case ir.Cols:
		return w.size(v, 2)
	case ir.InGrid, ir.InBlock, ir.BlockOf, ir.Threads, ir.AllBlocks:
		return val{n: w.Once(AtomKind(v.Op-ir.InGrid), v.Which[0])}
	case ir.Load:
		return w.load(v)
	case ir.Atomic:
		w.place(v.Place, Access{Read: true, Write: true, Part: true, Atomic: true}, v.Pos)
		for _, a := range v.Args {
			w.eval(a)
		}
		return w.unknown(v.Type)
	case ir.Call:
		return w.call(v)
	case ir.Both, ir.Either:
		return w.logical(v)
	}
	args := make([]val, len(v.Args))
	for i, a := range v.Args {
		args[i] = w.eval(a)
	}
	switch {
	case v.Op == ir.Not && args[0].cond != nil:
		return val{cond: &condition{op: ir.Not, a: args[0].cond}}
	case v.Op == ir.Neg && args[0].n != nil:
		return w.fit(Fixed(0).Plus(args[0].n, -1), v.Type)
	case v.Op == ir.Convert && args[0].n != nil:
		return w.narrow(args[0].n, v.Args[0].Type, v.Type)
	case v.Op.Compares():
		if args[0].n == nil || args[1].n == nil {
			return val{cond: &condition{}}
		}
		return val{cond: &condition{op: v.Op, x: args[0].n, y: args[1].n}}
	case v.Op == ir.Within || v.Op == ir.UpTo:
		return args[0]
	case v.Op == ir.Shl || v.Op == ir.Shr:
		return w.shift(v, args[0].n)
	case v.Op.Binary():
		return w.arithmetic(v.Op, args[0].n, args[1].n, v.Type)
	}
	return w.unknown(v.Type)
}

// size returns the length of a slice, or the rows or columns of a matrix.
func (w *walk) size(v *ir.Value, which int) val {
	if of := w.frame.params[v.Param.Index].of; of != nil {
		return val{n: w.Size(of, which)}
	}
	return w.unknown(v.Type)
}

// load follows a read.
func (w *walk) load(v *ir.Value) val {
	w.place(v.Place, Access{Read: true}, v.Pos)
	if l := v.Place.Local; l != nil && len(v.Place.Path) == 0 && !w.frame.pointed[l] {
		if is := w.frame.locals[l.Index]; is.n != nil || is.cond != nil {
			return is
		}
	}
	return w.unknown(v.Type)
}

// place follows the indexes of a place, and notes the access if the place is in an element of a slice or a matrix.
func (w *walk) place(p *ir.Place, a Access, pos token.Pos) {
	first := 0
	if p.Param != nil && p.Param.Type.Kind != ir.Pointer {
		first = 1
	}
	for _, s := range slices.Backward(p.Path[first:]) {
		if s.Index != nil {
			w.eval(s.Index)
		}
	}
	if first == 0 {
		return
	}
	a.Part = a.Part || len(p.Path) > 1
	a.Of = w.frame.params[p.Param.Index].of
	i := w.eval(p.Path[0].Index).n
	if p.Path[0].Col == nil {
		a.Index = i
		w.note(a, pos)
		return
	}
	j := w.eval(p.Path[0].Col).n
	if i == nil || j == nil {
		w.note(a, pos)
		return
	}
	before, cols := w.known, w.Size(a.Of, 2)
	w.compare(j, ir.Ge, Fixed(0))
	w.compare(j, ir.Lt, cols)
	a.Row = i
	if rows := i.Times(cols); rows != nil {
		a.Index = rows.Plus(j, 1)
	}
	w.note(a, pos)
	w.known = before
}

// note adds an access of the thread that is followed.
func (w *walk) note(a Access, pos token.Pos) {
	if a.Known, a.Path = w.known, w.path; w.position != nil {
		a.Pos = w.position(pos)
	}
	if a.Index == nil {
		a.Index = w.unknown(ir.Basic(ir.Int)).n
	}
	if a.Of.Type.Kind == ir.Matrix && a.Row != nil {
		before := w.known
		w.compare(a.Row, ir.Ge, Fixed(0))
		w.compare(a.Row, ir.Lt, w.Size(a.Of, 1))
		a.Known, w.known = w.known, before
	}
	w.Accesses = append(w.Accesses, a)
}

// logical follows && and ||. The right side is evaluated only for some threads.
func (w *walk) logical(v *ir.Value) val {
	x := w.eval(v.Args[0])
	known, path := w.known, w.path
	w.steps++
	w.assume(x.cond, v.Op == ir.Both, w.steps)
	y := w.eval(v.Args[1])
	w.known, w.path = known, path
	return val{cond: &condition{op: v.Op, a: orNone(x.cond), b: orNone(y.cond)}}
}

func orNone(c *condition) *condition {
	if c == nil {
		return &condition{}
	}
	return c
}

// arithmetic returns the result of an operation on integers of a type.
func (w *walk) arithmetic(op ir.Op, x, y Sum, t *ir.Type) val {
	if _, ok := numbered(t); !ok || x == nil || y == nil {
		return w.unknown(t)
	}
	result := func(method string, low bool) Sum {
		return w.atom(Atom{Kind: IsResult, Op: method, Args: []Sum{x, y}, Low: low}).Sum()
	}
	n, ok1 := x.Constant()
	m, ok2 := y.Constant()
	switch {
	case (op == ir.Min || op == ir.Max) && x.Equal(y):
		return val{n: x}
	case op == ir.Min && ok1 && ok2:
		return val{n: Fixed(min(n, m))}
	}
	lowX, lowY := w.Low(x), w.Low(y)
	switch op {
	case ir.Add:
		return w.fit(w.placed(x.Plus(y, 1)), t)
	case ir.Sub:
		return w.fit(x.Plus(y, -1), t)
	case ir.Mul:
		return w.fit(x.Times(y), t)
	case ir.Div:
		return w.fit(result("Over", lowX && lowY), t)
	case ir.Rem:
		return w.fit(result("Rest", lowX), t)
	case ir.And:
		return w.fit(result("Mask", lowX || lowY), t)
	case ir.Min:
		return val{n: result("Min", lowX && lowY)}
	case ir.Max:
		return val{n: result("Max", lowX || lowY)}
	}
	return w.unknown(t)
}

// shift returns the result of a shift by a constant.
func (w *walk) shift(v *ir.Value, x Sum) val {
	by := v.Args[1]
	if _, ok := numbered(v.Type); !ok || x == nil || by.Op != ir.Const {
		return w.unknown(v.Type)
	}
	n, ok := by.Const.(int64)
	if !ok {
		n = int64(min(by.Const.(uint64), 64))
	}
	switch {
	case v.Op == ir.Shr && n >= 0 && n < 64:
		return w.fit(w.atom(Atom{Kind: IsResult, Op: "Right", Args: []Sum{x}, Numbers: []int64{n}, Low: w.Low(x)}).Sum(), v.Type)
	case v.Op == ir.Shl && n >= 0 && n < 62:
		return w.fit(x.Times(Fixed(1<<n)), v.Type)
	}
	return w.unknown(v.Type)
}

// placed writes t.Block(d)*t.Size(d) + t.Local(d) as t.Global(d).
func (w *walk) placed(p Sum) Sum {
	for d := range 3 {
		local, block, size := w.Place(IsLocal, d), w.Place(IsBlock, d), w.Place(IsSize, d)
		if p == nil || local == nil || block == nil || size == nil {
			continue
		}
		global := Sum{productOf([]int{block.ID, size.ID}): 1}.Plus(local.Sum(), 1)
		if m, _ := Extract(p, global); m != nil {
			p = p.Plus(m.Times(global), -1).Plus(m.Times(w.Once(IsPlace, d)), 1)
		}
	}
	return p
}

// condition follows the computation of a bool.
func (w *walk) condition(v *ir.Value) *condition { return orNone(w.eval(v).cond) }

// assume notes that a condition holds, or that it does not.
func (w *walk) assume(c *condition, holds bool, id int) {
	w.known = slices.Clip(w.known)
	w.path = append(slices.Clip(w.path), Step{ID: id, Yes: holds, Exact: w.suppose(c, holds)})
}

// suppose adds what follows from a condition, or from its negation if holds is false. It reports whether it has added all that follows.
func (w *walk) suppose(c *condition, holds bool) bool {
	switch {
	case c == nil || c.op == ir.Const:
		return false
	case c.op == ir.Not:
		return w.suppose(c.a, !holds)
	case c.op == ir.Both && holds || c.op == ir.Either && !holds:
		a := w.suppose(c.a, holds)
		return w.suppose(c.b, holds) && a
	case c.op == ir.Both || c.op == ir.Either:
		return false
	case holds:
		return w.compare(c.x, c.op, c.y)
	}
	return w.compare(c.x, Negated(c.op), c.y)
}

// compare notes the comparison x op y. It reports whether the comparison limits a single atom by a number that is the same for all threads.
func (w *walk) compare(x Sum, op ir.Op, y Sum) bool {
	if x == nil || y == nil {
		return false
	}
	a := w.constrain(x, op, y)
	b := w.constrain(y, Mirrored(op), x)
	return (a && w.Uniform(y) || b && w.Uniform(x)) && op != ir.Ne
}

func (w *walk) constrain(x Sum, op ir.Op, bound Sum) (single bool) {
	q, plus := w.Split(x)
	if len(q) == 0 {
		if !w.Uniform(bound) {
			return false
		}
		if q, plus = x.Rest(), Fixed(x[""]); w.One(q) == nil {
			return false
		}
	}
	if w.Low(x) && op == ir.Ge && len(bound) == 0 {
		return true // Low says so already
	}
	if a := w.One(q); op == ir.Ne && a != nil && a.Kind == IsUnknown && !w.Uniform(bound) {
		return false // the comparison would exclude one number of an unknown range
	}
	for m := range q { // a bound that depends on q itself would be circular, as happens with counters of nested loops
		for _, id := range Factors(m) {
			if w.Depends(bound, id) {
				return false
			}
		}
	}
	w.known = append(slices.Clip(w.known), Known{q, plus, op, bound})
	a := w.One(q)
	_, constant := plus.Constant()
	return a != nil && constant && (a.Kind == IsPlace || a.Kind == IsRound || a.Kind == IsArgument || a.Kind == IsBlock || a.Kind == IsLocal)
}

// fit returns a number after its conversion to a type, which may not hold it.
func (w *walk) fit(p Sum, t *ir.Type) val {
	all, ok := numbered(t)
	switch n, isConstant := p.Constant(); {
	case !ok:
		return val{}
	case p == nil:
		return w.unknown(t)
	case all.Least == math.MinInt64 || isConstant && n >= all.Least && n <= all.Most:
		return val{n: p}
	}
	return val{n: w.atom(Atom{Kind: IsResult, Op: "Fits", Args: []Sum{p}, Numbers: []int64{all.Least, all.Most}, Low: all.Least == 0}).Sum()}
}

// narrow returns a number after its conversion to the second type. Before, the number was one of the first type.
func (w *walk) narrow(p Sum, from, to *ir.Type) val {
	a, ok := numbered(from)
	if b, ok2 := numbered(to); ok && ok2 && a.Least >= b.Least && a.Most <= b.Most && p != nil {
		return val{n: p}
	}
	if !ok {
		return w.unknown(to)
	}
	return w.fit(p, to)
}
