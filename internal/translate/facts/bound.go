package facts

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-halyard/halyard/internal/translate/ir"
)

// Bound is an upper bound: a sum of products of arguments of the launch. The values of the map are the factors of the products. The key of a product lists the
// positions of its arguments in the launch, as in "1 4"; the key "" is the constant. An argument may be divided by the step of a loop. The step is then an
// argument or the number of threads of the grid: see gridgen.Written.Rounds. A negative argument counts as a very large one.
type Bound map[string]int64

// MostSteps is the largest factor in a bound. A larger factor is as good as no bound.
const MostSteps = 1 << 20

// Times returns the constant bound n.
func Times(n int64) Bound { return Bound{"": min(n, MostSteps)} }

// Plus returns the sum of two bounds.
func (b Bound) Plus(c Bound) Bound {
	sum := Bound{}
	maps.Copy(sum, b)
	for at, n := range c {
		sum[at] = min(sum[at]+n, MostSteps)
	}
	return sum
}

// By returns the product of two bounds.
func (b Bound) By(c Bound) Bound {
	product := Bound{}
	for x, n := range b {
		for y, m := range c {
			at := strings.Fields(x + " " + y)
			slices.Sort(at)
			key := strings.Join(at, " ")
			product[key] = min(product[key]+min(n*m, MostSteps), MostSteps)
		}
	}
	return product
}

// Products returns the products of a bound, each as its factor and then the positions of its arguments. Short products come first.
func (b Bound) Products() (all [][]string) {
	for _, at := range slices.SortedFunc(maps.Keys(b), func(x, y string) int { return cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(x, y)) }) {
		if b[at] > 0 || at != "" {
			parts := strings.FieldsFunc(at, func(c rune) bool { return c == ' ' || c == '/' })
			all = append(all, append([]string{fmt.Sprint(b[at])}, parts...))
		}
	}
	return all
}

// Bounds finds upper bounds of the integers of a function. An integer that is computed from memory has no bound, and neither has one that may wrap around.
type Bounds struct {
	wires  map[*ir.Param]int   // the positions of a kernel's parameters among the arguments
	passed map[*ir.Param]Bound // upper bounds of a called function's parameters, or of the lengths of its slices

	// These are for the rounds of loops, which some devices limit.
	device bool
	counts map[any]Bound // upper bounds of loop counters, and of locals that count; all these numbers start at 0 or above and go up
	begins string        // the position of the argument at which the loop's counter starts, or ""
}

// BoundsOf returns the bounds of a kernel.
func BoundsOf(f *ir.Function) *Bounds {
	b := &Bounds{wires: map[*ir.Param]int{}}
	at := 0
	for _, m := range f.Params {
		b.wires[m] = at
		at += Wires(m.Type)
	}
	return b
}

// largest is the largest constant that a loop may start from, step by, or subtract. In a small launch, the places of threads are not larger than that either.
// So neither the sum nor the product of two such numbers wraps around.
const largest = 1 << 15

// mostLocal is how many threads a block has at most on the devices whose drivers end loops.
const mostLocal = 1024

// argument returns an upper bound of a parameter, if the parameter called of is 0. Otherwise it returns one of the length, the rows or the columns.
func (b *Bounds) argument(m *ir.Param, of int) (Bound, bool) {
	if most, ok := b.passed[m]; ok {
		return most, true
	}
	at, ok := b.wires[m]
	return Bound{strconv.Itoa(at + of): 1}, ok
}

// Most returns an upper bound of a whole number.
func (b *Bounds) Most(v *ir.Value) (Bound, bool) {
	if n, ok := Constant(v); ok {
		return Times(max(n, 0)), true
	}
	switch v.Op {
	case ir.Counter, ir.Load:
		most, ok := b.counts[counted(v)]
		return most, ok
	case ir.Argument:
		if v.Type.Integer() && v.Type.Bits() >= 32 { // a launch passes an integer of fewer bits without its sign
			return b.argument(v.Param, 0)
		}
	case ir.Len:
		return b.argument(v.Param, 1)
	case ir.Rows, ir.Cols:
		if b.device {
			return b.argument(v.Param, 1+int(v.Op-ir.Rows))
		}
	case ir.InBlock, ir.Threads:
		return Times(mostLocal), b.device
	case ir.Mul:
		return Times(mostLocal), b.device && allThreads(v) // a block has no more in all dimensions together
	case ir.Convert:
		to, from := v.Type, v.Args[0].Type
		if to.Integer() && from.Integer() && to.Bits() >= from.Bits() && (to.Signed() || !from.Signed() || b.natural(v.Args[0])) {
			return b.Most(v.Args[0])
		}
	case ir.Min:
		if most, ok := b.Most(v.Args[0]); ok && b.device {
			return most, true
		}
		return b.Most(v.Args[1])
	case ir.Within, ir.UpTo:
		if most, ok := b.Most(v.Args[0]); ok {
			return most, true
		}
		return b.Most(v.Args[1])
	case ir.Add:
		x, ok := b.Most(v.Args[0])
		y, ok2 := b.Most(v.Args[1])
		return x.Plus(y), ok && ok2
	case ir.Div, ir.Shr, ir.Sub:
		if by, ok := Constant(v.Args[1]); ok && by > 0 && (v.Op != ir.Sub || v.Type.Signed() && by <= largest) {
			return b.Most(v.Args[0])
		}
	}
	return nil, false
}

// allThreads reports whether v is a product of numbers of threads of different dimensions.
func allThreads(v *ir.Value) bool {
	return v.Op == ir.Threads && v.Of != "" || v.Op == ir.Mul && allThreads(v.Args[0]) && allThreads(v.Args[1])
}

// counted returns the counter or the local that a value reads, or nil for another value. The result is the key of the value in Bounds.counts.
func counted(v *ir.Value) any {
	if v.Op == ir.Counter {
		return v
	}
	if l := Loaded(v); l != nil {
		return l
	}
	return nil
}

// natural reports whether an integer that has an upper bound is known to be at least 0. A negative integer would become large when it is converted to an
// unsigned type.
func (b *Bounds) natural(v *ir.Value) bool {
	if n, ok := Constant(v); ok {
		return n >= 0
	}
	switch v.Op {
	case ir.Argument, ir.Len, ir.Rows, ir.Cols, ir.Counter, ir.Load:
		return true
	case ir.Convert:
		return b.natural(v.Args[0])
	case ir.Add, ir.Mul, ir.Div, ir.Rem, ir.Shr, ir.And:
		return b.natural(v.Args[0]) && b.natural(v.Args[1])
	}
	return false
}

// from reports whether v is known to be >= least and not to wrap around. The parameter least is 0 or 1. If v is a sum or product, its operands are small
// integers, and there are at most as many as the parameter numbers says.
func (b *Bounds) from(v *ir.Value, least int64, numbers int) bool {
	if n, ok := Constant(v); ok {
		return n >= least && n <= largest
	}
	if b.device && b.atLeast(v, least) {
		return true
	}
	switch v.Op {
	case ir.Counter, ir.Load:
		_, ok := b.counts[counted(v)]
		return ok && least == 0
	case ir.Argument:
		at, ok := b.wires[v.Param]
		if !ok || !b.device || least > 0 || !v.Type.Integer() || v.Type.Bits() < 32 {
			return false
		}
		b.begins = fmt.Sprint(at) // the launch sees whether the argument is negative
		return true
	case ir.Threads, ir.AllBlocks:
		return true
	case ir.InGrid, ir.InBlock, ir.BlockOf:
		return least == 0
	case ir.Add, ir.Mul:
		return numbers > 1 && b.from(v.Args[0], least, numbers-1) && b.from(v.Args[1], least, numbers-1)
	}
	return false
}

// atLeast does the same as the method from, but for more operations. A length counts as at least 1: a loop that steps by a length of 0 never ends.
func (b *Bounds) atLeast(v *ir.Value, least int64) bool {
	switch v.Op {
	case ir.Len:
		return true
	case ir.Div:
		return least == 0 && b.from(v.Args[0], 0, 2) && b.from(v.Args[1], 1, 2)
	case ir.Min:
		return b.from(v.Args[0], least, 3) && b.from(v.Args[1], least, 3)
	case ir.Max:
		return b.from(v.Args[0], least, 3) || b.from(v.Args[1], least, 3)
	}
	return false
}

// counting describes a loop that changes a number only in its step.
type counting struct {
	of       any // a counter or a local
	t        *ir.Type
	from     *ir.Value // nil if it is not known
	op       ir.Op     // of the step
	by       *ir.Value // nil for a constant step
	fixed    int64
	compares ir.Op
	end      *ir.Value
	implied  bool // the loop is a range over an integer or a slice
}

// countingOf returns how a loop counts, or false if it does not count. The parameter before is the statement in front of the loop.
func countingOf(s, before *ir.Stmt) (c counting, ok bool) {
	if n := s.Count; n != nil {
		c = counting{of: n.Index, t: n.Index.Type, from: n.From, op: ir.Add, fixed: n.By, compares: n.Op, end: n.End, implied: implicit(n.From, s)}
		if c.fixed < 0 {
			c.op, c.fixed = ir.Sub, -c.fixed
		}
		return c, true
	}
	l, v := Stepped(s)
	if l == nil || s.Value == nil || !s.Value.Op.Compares() || s.Head != nil && len(s.Head.List) > 0 {
		return c, false
	}
	x, op, end := s.Value.Args[0], s.Value.Op, s.Value.Args[1]
	if Loaded(end) == l {
		x, op, end = end, Mirrored(op), x
	}
	if Loaded(x) != l {
		return c, false
	}
	c = counting{of: l, t: l.Type, op: v.Op, by: v.Args[1], compares: op, end: end}
	if n, isConstant := Constant(c.by); isConstant {
		c.by, c.fixed = nil, n
	}
	if before != nil && Stored(before) == l {
		c.from = before.Value
	}
	return c, true
}

// Begins reports whether the statement s sets the first value of the counter of a loop. The loop follows s.
func Begins(s, loop *ir.Stmt) bool {
	if loop.Do != ir.Loop || loop.Count != nil {
		return false
	}
	c, ok := countingOf(loop, s)
	return ok && c.from != nil
}

// Rounds returns how often a loop runs at most. The parameter before is the statement in front of the loop, or nil.
func (b *Bounds) Rounds(s, before *ir.Stmt) (Bound, bool) {
	c, ok := countingOf(s, before)
	if !ok {
		return nil, false
	}
	return b.rounds(c)
}

func (b *Bounds) rounds(c counting) (Bound, bool) {
	// An integer of fewer than 32 bits may wrap around, and then the loop goes on.
	if c.from == nil || c.t.Bits() < 32 && !(c.op == ir.Add && c.by == nil && c.fixed == 1 && c.compares == ir.Lt) {
		return nil, false
	}
	if n, known := c.simulated(); known {
		return Times(n), true
	}
	up := c.op == ir.Add && (c.compares == ir.Lt || c.compares == ir.Le)
	if b.device && up && !c.implied && c.by == nil && c.fixed > 0 {
		if far, ok := b.distance(c.from, c.end); ok {
			return Times(far/c.fixed + 1), true
		}
	}
	if !up || !b.from(c.from, 0, 2) || c.by != nil && !b.from(c.by, 1, 2) || c.by == nil && (c.fixed < 1 || c.fixed > largest) {
		return nil, false
	}
	most, ok := b.Most(c.end)
	if c.compares == ir.Le {
		most = most.Plus(Times(1))
	}
	return most, ok
}

// ConstantRounds returns how often a counting loop runs, if this number follows from constants and is at most mostSimulated.
func ConstantRounds(s *ir.Stmt) (int64, bool) {
	c, ok := countingOf(s, nil)
	if !ok {
		return 0, false
	}
	return c.simulated()
}

// mostSimulated limits how many rounds are simulated of a loop that depends on constants alone.
const mostSimulated = 4096

// simulated counts the rounds of a loop that depends on constants alone. It gives up if a number might wrap around.
func (c counting) simulated() (rounds int64, known bool) {
	v, ok := Constant(c.from)
	end, ok2 := Constant(c.end)
	if !ok || !ok2 || c.by != nil {
		return 0, false
	}
	for ; ; rounds++ {
		if rounds > mostSimulated || max(v, -v) >= 1<<31 || v < 0 && !c.t.Signed() {
			return 0, false
		}
		if !Holds(v, c.compares, end) {
			return rounds, true
		}
		switch by := c.fixed; {
		case max(by, -by) >= 1<<31:
			return 0, false
		case c.op == ir.Shl && by >= 0 && by < 32:
			v <<= by
		case c.op == ir.Shr && by >= 0 && by < 32:
			v >>= by
		case c.op == ir.Div && by > 0:
			v /= by
		case c.op == ir.Add:
			v += by
		case c.op == ir.Sub:
			v -= by
		case c.op == ir.Mul:
			v *= by
		default:
			return 0, false
		}
	}
}

// distance returns an upper bound of the difference to - from, if the two expressions show it: for t.Local(0) and t.Local(0)+8 it is 8.
func (b *Bounds) distance(from, to *ir.Value) (far int64, ok bool) {
	if to.Op == ir.Min {
		for _, a := range to.Args {
			if far, ok = b.distance(from, a); ok {
				return far, true
			}
		}
		return 0, false
	}
	sum := linear{}
	if !b.linear(to, 1, sum) || !b.linear(from, -1, sum) {
		return 0, false
	}
	for of, n := range sum {
		if of != (term{}) && (n > 0 || n < 0 && of.negative) {
			return 0, false
		}
	}
	return max(sum[term{}], 0), true
}

// linear is a sum of terms, each with its factor.
type linear map[term]int64

// term is a number whose computation is not followed: a place of the thread, a counter, or another value. The empty term is the constant.
type term struct {
	op       ir.Op
	dim      int
	of       any
	negative bool
}

// linear adds times*v to sum.
func (b *Bounds) linear(v *ir.Value, times int64, sum linear) bool {
	if n, ok := Constant(v); ok {
		sum[term{}] += times * n
		return max(n, -n) <= largest
	}
	if v.Bound && v.Op != ir.Counter {
		if try := maps.Clone(sum); b.parts(v, times, try) {
			maps.Copy(sum, try)
			return true
		}
		sum[term{of: v, negative: true}] += times
		return true
	}
	return b.parts(v, times, sum)
}

// parts adds times*v to sum, as sums and products of v's operands.
func (b *Bounds) parts(v *ir.Value, times int64, sum linear) bool {
	switch v.Op {
	case ir.Counter, ir.Load:
		of := counted(v)
		_, ok := b.counts[of]
		sum[term{of: of, negative: !ok}] += times
		return ok || v.Op == ir.Counter
	case ir.Argument:
		sum[term{of: v.Param, negative: true}] += times
		return true
	case ir.InGrid, ir.InBlock, ir.BlockOf, ir.Threads, ir.AllBlocks:
		sum[term{op: v.Op, dim: v.Which[0]}] += times
		return true
	case ir.Add:
		return b.linear(v.Args[0], times, sum) && b.linear(v.Args[1], times, sum)
	case ir.Sub:
		return v.Type.Signed() && b.linear(v.Args[0], times, sum) && b.linear(v.Args[1], -times, sum)
	case ir.Mul:
		n, ok := Constant(v.Args[1])
		return ok && n >= 0 && n*max(times, -times) <= largest && b.linear(v.Args[0], n*times, sum)
	}
	return false
}
