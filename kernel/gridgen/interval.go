package gridgen

import (
	"math"
	"math/bits"

	"github.com/go-halyard/halyard/buffer"
)

// Interval is a range of integers, or none. Generated files compute with intervals which elements the threads of a box
// use: see [Footprint]. The result of an operation has every result that the operation on numbers of the intervals can have. What
// may leave int64 can be any number, because sums and products of Go wrap around.
type Interval struct {
	lo, hi int64 // none if lo > hi
	loose  bool  // it may have numbers that do not come up
}

var (
	none     = Interval{lo: 1}
	anything = Interval{math.MinInt64, math.MaxInt64, true}
)

// Only returns the interval of one number. Where int has 32 bits it can be any number: there are other sums that wrap around.
func Only(n int64) Interval {
	if math.MaxInt != math.MaxInt64 {
		return anything
	}
	return one(n)
}

func one(n int64) Interval { return Interval{lo: n, hi: n} }

func (a Interval) single() bool { return a.lo == a.hi && !a.loose }

// Between returns the numbers from lo to hi. Not all of them need to occur.
func Between(lo, hi int64) Interval { return Interval{lo, hi, true} }

// Anything returns all numbers.
func Anything() Interval { return anything }

// Places returns what t.Global(dim) is for the threads of a box, none if the box has no threads.
func Places(box Box, dim int) Interval {
	for d := range box.Lo {
		if box.Lo[d] >= box.Hi[d] {
			return none
		}
	}
	return Interval{lo: int64(box.Lo[dim]), hi: int64(box.Hi[dim]) - 1}
}

// Blocks returns what t.Block(dim) is for the threads of a box.
func Blocks(box Box, dim int) Interval {
	a, n := Places(box, dim), int64(box.Block[dim])
	if a.empty() || n < 1 {
		return Interval{0, a.hi, true}.When(a)
	}
	return Interval{lo: a.lo / n, hi: a.hi / n}
}

// Locals returns what t.Local(dim) is for the threads of a box.
func Locals(box Box, dim int) Interval {
	a, n := Places(box, dim), int64(box.Block[dim])
	if a.empty() || n < 1 {
		return Interval{0, a.hi, true}.When(a)
	}
	return Interval{hi: n - 1}
}

// Sizes returns what t.Size(dim) is for the threads of a box.
func Sizes(box Box, dim int) Interval {
	if n := int64(box.Block[dim]); n > 0 {
		return one(n)
	}
	return Interval{1, math.MaxInt32, true}
}

// Counts returns what t.Blocks(dim) is for the threads of a box.
func Counts(box Box, dim int) Interval {
	if n := int64(box.Blocks[dim]); n > 0 {
		return one(n)
	}
	return Interval{1, math.MaxInt32, true}
}

func (a Interval) empty() bool { return a.lo > a.hi }

// Plus returns the sums.
func (a Interval) Plus(b Interval) Interval {
	if a.empty() || b.empty() {
		return none
	}
	lo, hi := a.lo+b.lo, a.hi+b.hi
	if (lo < a.lo) != (b.lo < 0) || (hi < a.hi) != (b.hi < 0) {
		return anything
	}
	return Interval{lo, hi, a.loose || b.loose}
}

// Minus returns the differences.
func (a Interval) Minus(b Interval) Interval { return a.Plus(b.Times(one(-1))) }

// Add returns the numbers plus n.
func (a Interval) Add(n int64) Interval { return a.Plus(one(n)) }

// Times returns the products.
func (a Interval) Times(b Interval) Interval {
	if a.empty() || b.empty() {
		return none
	}
	p := Interval{math.MaxInt64, math.MinInt64, a.loose || b.loose}
	for _, x := range [2]int64{a.lo, a.hi} {
		for _, y := range [2]int64{b.lo, b.hi} {
			high, low := bits.Mul64(magnitude(x), magnitude(y))
			if high != 0 || low > math.MaxInt64 {
				return anything
			}
			p.lo, p.hi = min(p.lo, x*y), max(p.hi, x*y)
		}
	}
	return p
}

func magnitude(n int64) uint64 {
	if n < 0 {
		return -uint64(n)
	}
	return uint64(n)
}

// Over returns the quotients as Go rounds them, and 0 where devices divide by zero.
func (a Interval) Over(b Interval) Interval {
	switch {
	case a.empty() || b.empty():
		return none
	case a.lo == math.MinInt64:
		return anything
	case b.single() && b.lo == 0:
		return one(0)
	case b.lo <= 0:
		most := max(a.hi, -a.lo)
		return Interval{-most, most, true}
	}
	return Interval{min(a.lo/b.lo, a.lo/b.hi), max(a.hi/b.lo, a.hi/b.hi), !a.single() || !b.single()}
}

// Rest returns the remainders, which have the sign of a, and 0 where devices divide by zero.
func (a Interval) Rest(b Interval) Interval {
	switch {
	case a.empty() || b.empty():
		return none
	case a.lo >= 0 && a.hi < b.lo:
		return a
	case a.single() && b.single() && b.lo != 0:
		return one(a.lo % b.lo)
	case b.lo == math.MinInt64:
		return anything
	}
	most := max(b.hi, -b.lo, 1) - 1
	return Interval{max(min(a.lo, 0), -most), min(max(a.hi, 0), most), true}
}

// Mask returns what & gives.
func (a Interval) Mask(b Interval) Interval {
	switch {
	case a.empty() || b.empty():
		return none
	case a.single() && b.single():
		return one(a.lo & b.lo)
	case a.lo < 0 && b.lo < 0:
		return anything
	case a.lo < 0:
		return Interval{0, b.hi, true}
	case b.lo < 0:
		return Interval{0, a.hi, true}
	}
	return Interval{0, min(a.hi, b.hi), true}
}

// Right returns the numbers shifted to the right by n, from 0 to 63.
func (a Interval) Right(n int) Interval { return Interval{a.lo >> n, a.hi >> n, a.loose}.When(a) }

// Min returns the smaller ones of each two numbers.
func (a Interval) Min(b Interval) Interval {
	return Interval{min(a.lo, b.lo), min(a.hi, b.hi), !a.single() || !b.single()}.When(a).When(b)
}

// Max returns the larger ones of each two numbers.
func (a Interval) Max(b Interval) Interval {
	return Interval{max(a.lo, b.lo), max(a.hi, b.hi), !a.single() || !b.single()}.When(a).When(b)
}

// Or returns the smallest interval with the numbers of both.
func (a Interval) Or(b Interval) Interval {
	switch {
	case a.empty():
		return b
	case b.empty():
		return a
	}
	return Interval{min(a.lo, b.lo), max(a.hi, b.hi), true}
}

// And returns the numbers that are in both.
func (a Interval) And(b Interval) Interval {
	return Interval{max(a.lo, b.lo), min(a.hi, b.hi), a.loose || !b.single()}.When(a).When(b)
}

// When returns a, or none if b is none.
func (a Interval) When(b Interval) Interval {
	if a.empty() || b.empty() {
		return none
	}
	a.loose = a.loose || b.loose // b may have no number that comes up
	return a
}

// between returns the numbers from lo to hi. by is the interval that a bound comes from.
func (a Interval) between(lo, hi int64, by Interval) Interval {
	return Interval{max(a.lo, lo), min(a.hi, hi), a.loose || !by.single()}.When(a).When(by)
}

// Below returns the numbers that are less than one of b.
func (a Interval) Below(b Interval) Interval {
	if b.empty() || b.hi == math.MinInt64 {
		return none
	}
	return a.between(math.MinInt64, b.hi-1, b)
}

// UpTo returns the numbers that are at most one of b.
func (a Interval) UpTo(b Interval) Interval { return a.between(math.MinInt64, b.hi, b) }

// Above returns the numbers that are more than one of b.
func (a Interval) Above(b Interval) Interval {
	if b.empty() || b.lo == math.MaxInt64 {
		return none
	}
	return a.between(b.lo+1, math.MaxInt64, b)
}

// From returns the numbers that are at least one of b.
func (a Interval) From(b Interval) Interval { return a.between(b.lo, math.MaxInt64, b) }

// Not returns the numbers without n, if n is one number at an end.
func (a Interval) Not(n Interval) Interval {
	switch {
	case n.empty() || a.empty():
		return none
	case a.lo == n.lo && a.hi == n.hi && a.lo == a.hi:
		return none
	case n.lo == n.hi && a.lo == n.lo:
		a.lo++
	case n.lo == n.hi && a.hi == n.lo:
		a.hi--
	}
	a.loose = true
	return a
}

// Steps returns the numbers of a loop from a number of a, in steps of a number of by, which is positive, for as long as they are below end.
func (a Interval) Steps(by, end Interval) Interval {
	switch {
	case a.empty() || end.empty() || by.empty():
		return none
	case by.lo < 1 || end.Plus(by) == anything:
		return anything.Below(end)
	}
	return Interval{a.lo, math.MaxInt64, !a.single() || !by.single() || by.lo != 1}.Below(end)
}

// Fits returns the numbers if they are from lo to hi, the range of a type, and else all of the type: numbers beyond its ends wrap around.
func (a Interval) Fits(lo, hi int64) Interval {
	if a.empty() || a.lo >= lo && a.hi <= hi {
		return a
	}
	return Interval{lo, hi, true}
}

// Span returns the elements of a slice of n elements.
func (a Interval) Span(n int64) buffer.Range {
	lo, hi := max(a.lo, 0), min(a.hi, n-1)
	if a.empty() || lo > hi {
		return buffer.Range{}
	}
	return buffer.Range{Lo: int(lo), Hi: int(hi) + 1}
}

// Filled reports whether threads fill a span: for each choice of numbers of the intervals there is a thread, and it writes as many elements as
// the parameter each says.
func Filled(s buffer.Range, each int64, of ...Interval) bool {
	n := one(each)
	for _, a := range of {
		if a.loose || a.empty() || uint64(a.hi)-uint64(a.lo) >= math.MaxInt64 {
			return false
		}
		n = n.Times(one(a.hi - a.lo + 1))
	}
	return n.single() && n.lo == int64(s.Hi-s.Lo)
}
