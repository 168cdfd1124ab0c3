package facts

import (
	"math"
	"math/bits"

	"github.com/go-halyard/halyard/internal/translate/ir"
)

// Range is the least and the most that an integer can be. For an unsigned type of 64 bits, a Most of math.MaxInt64 stands for all that is larger as well.
type Range struct{ Least, Most int64 }

// Within reports whether all numbers of r are from least to most.
func (r Range) Within(least, most int64) bool { return r.Least >= least && r.Most <= most }

// with returns the smallest range that has the numbers of both.
func (r Range) with(s Range) Range { return Range{min(r.Least, s.Least), max(r.Most, s.Most)} }

// and returns the numbers that both ranges have. If there are none, the place is never reached, and any range is right.
func (r Range) and(s Range) Range {
	if both := (Range{max(r.Least, s.Least), min(r.Most, s.Most)}); both.Least <= both.Most {
		return both
	}
	return r
}

// RangeOf returns the range of a type of integers. Other types have an empty range, from 0 to 0.
func RangeOf(t *ir.Type) Range {
	switch {
	case t == nil || !t.Integer():
		return Range{}
	case t.Signed() && t.Bits() == 64:
		return Range{math.MinInt64, math.MaxInt64}
	case t.Signed():
		return Range{-1 << (t.Bits() - 1), 1<<(t.Bits()-1) - 1}
	case t.Bits() == 64:
		return Range{0, math.MaxInt64}
	}
	return Range{0, 1<<t.Bits() - 1}
}

// mostPlace is the largest number of a thread or block along a dimension: a launch is refused if it has more.
const mostPlace = math.MaxInt32

// Ranges are the ranges of the integers of a function, whatever its arguments are.
type Ranges struct {
	Values  []Range // by a value's ID: where it is computed
	Locals  []Range // by a local's index: all that is ever in it
	Results []Range

	of      map[*ir.Function]*Ranges
	pointed map[*ir.Local]bool // its address is passed
	bounded map[int]Range      // what conditions around say of bound values, by their IDs
	pass    int
	changed bool
}

// RangesOf returns the ranges of a function. of has those of the functions that it calls.
func RangesOf(f *ir.Function, of map[*ir.Function]*Ranges) *Ranges {
	r := &Ranges{Values: make([]Range, f.NumValues()), Locals: make([]Range, len(f.Locals)), Results: make([]Range, len(f.Results)), of: of,
		pointed: pointedAt(f), bounded: map[int]Range{}}
	stored := make([]bool, len(f.Locals))
	for i, l := range f.Locals {
		if r.pointed[l] || l.Space == ir.Shared {
			r.Locals[i], stored[i] = RangeOf(l.Type), true
		}
	}
	returned := false
	for r.changed = true; r.changed; r.pass++ { // a local may be stored to further below, in a loop
		r.changed = false
		r.region(f.Body, func(s *ir.Stmt) {
			switch {
			case s.Do == ir.Return:
				for i, v := range s.Values {
					r.grow(&r.Results[i], r.value(v), !returned, v.Type)
				}
				returned = returned || len(s.Values) > 0
			case s.Place.Local != nil && len(s.Place.Path) == 0:
				i := s.Place.Local.Index
				r.grow(&r.Locals[i], r.value(s.Value), !stored[i], s.Place.Local.Type)
				stored[i] = true
			}
		})
	}
	return r
}

// pointedAt returns the locals whose addresses a function passes to others.
func pointedAt(f *ir.Function) map[*ir.Local]bool {
	all := map[*ir.Local]bool{}
	f.Body.Visit(nil, func(v *ir.Value) {
		if v.Op == ir.Address && v.Place.Local != nil {
			all[v.Place.Local] = true
		}
	})
	return all
}

// mostPasses is after how many passes a range that still grows becomes that of its type.
const mostPasses = 3

func (r *Ranges) grow(at *Range, by Range, first bool, t *ir.Type) {
	was := *at
	switch {
	case first:
		*at, r.changed = by, true
		return
	case r.pass >= mostPasses && at.with(by) != *at:
		*at = RangeOf(t)
	default:
		*at = at.with(by)
	}
	r.changed = r.changed || *at != was
}

// region goes through statements, and calls keep for stores and returns.
func (r *Ranges) region(in *ir.Region, keep func(*ir.Stmt)) {
	if in == nil {
		return
	}
	before := r.bounded
	for _, s := range in.List {
		r.statement(s, keep)
	}
	r.bounded = before
}

func (r *Ranges) statement(s *ir.Stmt, keep func(*ir.Stmt)) {
	switch s.Do {
	case ir.Let:
		r.compute(s.Value)
	case ir.Store:
		for _, i := range s.Place.Indexes() {
			r.value(i)
		}
		r.value(s.Value)
		keep(s)
	case ir.Return:
		keep(s)
	case ir.If:
		r.value(s.Value)
		r.where(s.Value, true, func() { r.region(s.Then, keep) })
		r.where(s.Value, false, func() { r.region(s.Else, keep) })
		switch thenLeaves, elseLeaves := Leaves(s.Then), Leaves(s.Else); {
		case thenLeaves && !elseLeaves:
			r.bounded = r.after(s.Value, false)
		case elseLeaves && !thenLeaves:
			r.bounded = r.after(s.Value, true)
		}
	case ir.Loop:
		if c := s.Count; c != nil {
			r.Values[c.Index.ID] = r.counter(c)
		}
		r.region(s.Head, keep)
		if s.Value != nil {
			r.value(s.Value)
			r.where(s.Value, true, func() { r.region(s.Then, keep) })
		} else {
			r.region(s.Then, keep)
		}
		r.region(s.Step, keep)
	case ir.Switch:
		for _, c := range s.Clauses {
			for _, t := range c.Tests {
				r.region(t.Head, keep)
				r.value(t.Cond)
			}
			r.region(c.Body, keep)
		}
	}
}

// counter returns the range of a loop's index.
func (r *Ranges) counter(c *ir.Count) Range {
	from, end, all := r.value(c.From), r.value(c.End), RangeOf(c.Index.Type)
	last := func(inclusive bool, by int64) int64 { // the end of the last round, whose step must not wrap
		at := end.Most
		if by < 0 {
			at = end.Least
		}
		if inclusive || by > 0 && (at == math.MinInt64 || all.Least == 0 && at == math.MaxInt64) || by < 0 && at == math.MaxInt64 {
			return at
		}
		return at - by/max(by, -by)
	}
	switch inclusive := c.Op == ir.Le || c.Op == ir.Ge; {
	case c.By > 0 && (c.Op == ir.Lt || c.Op == ir.Le):
		most := last(inclusive, c.By)
		if c.Op == ir.Lt && c.By == 1 || most <= all.Most-c.By {
			return Range{from.Least, max(from.Least, most)}
		}
	case c.By < 0 && (c.Op == ir.Gt || c.Op == ir.Ge):
		least := last(inclusive, c.By)
		if c.Op == ir.Gt && c.By == -1 || least >= all.Least-c.By {
			return Range{min(from.Most, least), from.Most}
		}
	}
	return all
}

// value returns the range of a value where it is used.
func (r *Ranges) value(v *ir.Value) Range {
	if !v.Bound {
		return r.compute(v)
	}
	return r.known(v)
}

// known returns the range of a value that has been computed.
func (r *Ranges) known(v *ir.Value) Range {
	if b, ok := r.bounded[v.ID]; ok {
		return r.Values[v.ID].and(b)
	}
	return r.Values[v.ID]
}

// compute finds the range of a value where it is computed.
func (r *Ranges) compute(v *ir.Value) Range {
	if v.Op != ir.Both && v.Op != ir.Either {
		for _, a := range v.Operands() {
			r.value(a)
		}
	} else {
		r.value(v.Args[0])
		r.where(v.Args[0], v.Op == ir.Both, func() { r.value(v.Args[1]) })
	}
	all := RangeOf(v.Type)
	if v.Type != nil && v.Type.Integer() {
		if is := r.result(v); is.Within(all.Least, all.Most) {
			all = is
		}
	}
	r.Values[v.ID] = all
	return all
}

// result returns the range of an integer. It may be outside that of its type: then the operation may wrap.
func (r *Ranges) result(v *ir.Value) Range {
	all := RangeOf(v.Type)
	arg := func(i int) Range { return r.known(v.Args[i]) }
	switch v.Op {
	case ir.Const:
		if n, ok := v.Const.(int64); ok {
			return Range{n, n}
		}
		if n := v.Const.(uint64); n <= math.MaxInt64 {
			return Range{int64(n), int64(n)}
		}
	case ir.Len, ir.Rows, ir.Cols:
		return Range{0, math.MaxInt64}
	case ir.InGrid, ir.InBlock, ir.BlockOf:
		return Range{0, mostPlace - 1}
	case ir.Threads, ir.AllBlocks:
		return Range{1, mostPlace}
	case ir.Convert:
		if a := v.Args[0].Type; a.Integer() && !(a.Bits() == 64 && !a.Signed() && arg(0).Most == math.MaxInt64) {
			return arg(0)
		}
	case ir.Load:
		if l := v.Place.Local; l != nil && len(v.Place.Path) == 0 {
			return r.Locals[l.Index]
		}
	case ir.Call:
		return r.of[v.Call].Results[0]
	case ir.Extract:
		if a := v.Args[0]; a.Op == ir.Call && len(v.Args) == 1 && len(a.Call.Results) > 1 { // else a part of the only result
			return r.of[a.Call].Results[v.Which[0]]
		}
	case ir.Go:
		return goRange(v.Of, all)
	case ir.Min, ir.Max:
		is := arg(0)
		for i := range v.Args[1:] {
			if with := arg(i + 1); v.Op == ir.Min {
				is = Range{min(is.Least, with.Least), min(is.Most, with.Most)}
			} else {
				is = Range{max(is.Least, with.Least), max(is.Most, with.Most)}
			}
		}
		return is
	case ir.Neg:
		if v.Type.Signed() {
			return Range{0, 0}.minus(arg(0), all)
		}
	case ir.Add:
		return arg(0).plus(arg(1), all)
	case ir.Sub:
		return arg(0).minus(arg(1), all)
	case ir.Mul:
		return arg(0).times(arg(1), all)
	case ir.Div:
		if x, y := arg(0), arg(1); x.Least >= 0 && y.Least > 0 {
			if x.Most == math.MaxInt64 && y.Least == 1 {
				return all.and(Range{0, math.MaxInt64})
			}
			return Range{x.Least / y.Most, x.Most / y.Least}
		}
	case ir.Rem:
		if x, y := arg(0), arg(1); y.Least > 0 && x.Least >= 0 {
			return Range{0, min(x.Most, y.Most-1)}
		} else if y.Least > 0 {
			return Range{max(x.Least, 1-y.Most), max(0, min(x.Most, y.Most-1))}
		}
	case ir.And:
		if x, y := arg(0), arg(1); x.Least >= 0 || y.Least >= 0 {
			most := int64(math.MaxInt64)
			for _, a := range []Range{x, y} {
				if a.Least >= 0 {
					most = min(most, a.Most)
				}
			}
			return Range{0, most}
		}
	case ir.Or, ir.Xor:
		if x, y := arg(0), arg(1); x.Least >= 0 && y.Least >= 0 {
			return Range{0, 1<<bits.Len64(uint64(x.Most|y.Most)) - 1}
		}
	case ir.Shr:
		if x, n := arg(0), arg(1); n.Least >= 0 && all.Least < 0 || x.Most < math.MaxInt64 {
			least, most := min(max(n.Least, 0), 63), min(max(n.Most, 0), 63)
			return Range{min(x.Least, x.Least>>least), max(x.Most, 0) >> least}.with(Range{x.Most >> most, x.Most >> most})
		}
	case ir.Shl:
		if n := arg(1); n.Least == n.Most && n.Least >= 0 && n.Least < 62 {
			return arg(0).times(Range{1 << n.Least, 1 << n.Least}, all)
		}
	}
	return all
}

// goRange returns the range of a result of a function of package math/bits.
func goRange(name string, all Range) Range {
	switch name {
	case "bits.Len", "bits.Len64", "bits.LeadingZeros", "bits.LeadingZeros64", "bits.TrailingZeros", "bits.TrailingZeros64", "bits.OnesCount", "bits.OnesCount64":
		return Range{0, 64}
	case "bits.Len32", "bits.LeadingZeros32", "bits.TrailingZeros32", "bits.OnesCount32":
		return Range{0, 32}
	case "bits.Len16", "bits.LeadingZeros16", "bits.TrailingZeros16", "bits.OnesCount16":
		return Range{0, 16}
	case "bits.Len8", "bits.LeadingZeros8", "bits.TrailingZeros8", "bits.OnesCount8":
		return Range{0, 8}
	}
	return all
}

// plus returns the range of a sum, and all if one may wrap.
func (r Range) plus(s, all Range) Range {
	least, most := r.Least+s.Least, r.Most+s.Most
	if (least < r.Least) != (s.Least < 0) || (most < r.Most) != (s.Most < 0) {
		return all
	}
	return Range{least, most}.wrapped(r, s, all)
}

func (r Range) minus(s, all Range) Range {
	if s.Least == math.MinInt64 {
		return all
	}
	return r.plus(Range{-s.Most, -s.Least}, all)
}

func (r Range) times(s, all Range) Range {
	is := Range{math.MaxInt64, math.MinInt64}
	for _, x := range []int64{r.Least, r.Most} {
		for _, y := range []int64{s.Least, s.Most} {
			n := x * y
			if high, low := bits.Mul64(uint64(max(x, -x)), uint64(max(y, -y))); x == math.MinInt64 || y == math.MinInt64 || high != 0 || low > math.MaxInt64 {
				return all
			}
			is = is.with(Range{n, n})
		}
	}
	return is.wrapped(r, s, all)
}

// wrapped returns a result, and all if an operand stands for numbers that int64 does not have.
func (r Range) wrapped(x, y, all Range) Range {
	if all == (Range{0, math.MaxInt64}) && (x.Most == math.MaxInt64 || y.Most == math.MaxInt64) || !r.Within(all.Least, all.Most) {
		return all
	}
	return r
}

// where calls fn where a condition holds, or does not.
func (r *Ranges) where(cond *ir.Value, holds bool, fn func()) {
	before := r.bounded
	r.bounded = r.after(cond, holds)
	fn()
	r.bounded = before
}

// after returns what is known of bound values where a condition holds, or does not.
func (r *Ranges) after(cond *ir.Value, holds bool) map[int]Range {
	before := r.bounded
	defer func() { r.bounded = before }()
	switch {
	case cond.Op == ir.Not:
		return r.after(cond.Args[0], !holds)
	case cond.Op == ir.Both && holds || cond.Op == ir.Either && !holds:
		r.bounded = r.after(cond.Args[0], holds)
		return r.after(cond.Args[1], holds)
	case !cond.Op.Compares() || !cond.Args[0].Type.Integer():
		return before
	}
	op := cond.Op
	if !holds {
		op = negated(op)
	}
	now := map[int]Range{}
	for id, b := range before {
		now[id] = b
	}
	for i, v := range cond.Args {
		if i == 1 {
			op = Mirrored(op)
		}
		if v.Bound {
			now[v.ID] = r.known(v).and(bound(op, r.known(cond.Args[1-i])))
		}
	}
	return now
}

// bound returns the numbers that compare with one of a range.
func bound(op ir.Op, with Range) Range {
	all := Range{math.MinInt64, math.MaxInt64}
	unknown := with.Most == math.MaxInt64 // it may stand for more
	switch {
	case op == ir.Eq && !unknown:
		return with
	case op == ir.Lt && !unknown && with.Most > all.Least:
		all.Most = with.Most - 1
	case op == ir.Le && !unknown:
		all.Most = with.Most
	case op == ir.Gt && with.Least < all.Most:
		all.Least = with.Least + 1
	case op == ir.Ge || op == ir.Eq:
		all.Least = with.Least
	}
	return all
}

// negated returns the comparison that holds where op does not, for integers.
func negated(op ir.Op) ir.Op {
	return map[ir.Op]ir.Op{ir.Lt: ir.Ge, ir.Ge: ir.Lt, ir.Gt: ir.Le, ir.Le: ir.Gt, ir.Eq: ir.Ne, ir.Ne: ir.Eq}[op]
}

// Mirrored returns the comparison of y with x for that of x with y.
func Mirrored(op ir.Op) ir.Op {
	return map[ir.Op]ir.Op{ir.Lt: ir.Gt, ir.Gt: ir.Lt, ir.Le: ir.Ge, ir.Ge: ir.Le, ir.Eq: ir.Eq, ir.Ne: ir.Ne}[op]
}
