package facts

import (
	"fmt"
	"maps"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/go-halyard/halyard/internal/translate/ir"
)

// Atom is a number of a thread that does not change: its place, an argument, the number of a loop's round, or the result of an operation that is not a sum or
// product.
type Atom struct {
	ID   int
	Kind AtomKind
	Dim  int    // of a place
	Wire int    // of an argument or a length: its position among the launch's arguments
	Name string // the name in Go's text
	Low  bool   // it is never negative
	Same bool   // it is the same for all threads

	Type Range // the range of the atom's type, if nothing else is known

	Op      string // of an operation's result: the method of gridgen.Interval
	Args    []Sum
	Numbers []int64   // arguments of the method that are constants; they follow Args
	Where   [][]Known // if Op is "Or": for each of Args, the conditions under which it was the value
	From    Sum       // of a loop: the first number; if Up is set, Step and End are the step and the end
	Step    Sum
	End     Sum
	Up      bool
}

// Range is the least and the most that an integer can be.
type Range struct{ Least, Most int64 }

// AtomKind says what an atom is.
type AtomKind int

// The kinds of atoms.
const (
	IsPlace AtomKind = iota // t.Global(Dim)
	IsLocal
	IsBlock
	IsSize
	IsBlocks
	IsArgument
	IsRound // the number of a loop's round
	IsResult
	IsUnknown
)

// Small reports whether an atom is so small that adding a small number cannot overflow an int.
func (a *Atom) Small() bool { return a.Kind <= IsBlocks }

// Sum is an integer as a sum of products of atoms. A key lists the IDs of the atoms of a product, in order and with "*" between them, and its value is the
// factor of the product. The key "" is the constant. Its sums and products do not wrap around, except those of 64 bits. A nil Sum has a factor that overflows.
type Sum map[string]int64

// Fixed returns a constant.
func Fixed(n int64) Sum {
	if n == 0 {
		return Sum{}
	}
	return Sum{"": n}
}

// Constant returns the number that a sum is, if the sum is a constant.
func (p Sum) Constant() (int64, bool) {
	n, ok := p[""]
	return n, len(p) == 0 || ok && len(p) == 1
}

// Rest returns a sum without its constant.
func (p Sum) Rest() Sum { return p.Plus(Fixed(p[""]), -1) }

// Plus returns p + by*q, or nil if a factor overflows.
func (p Sum) Plus(q Sum, by int64) Sum {
	if p == nil || q == nil {
		return nil
	}
	sum := maps.Clone(p)
	for m, n := range q {
		high, low := bits.Mul64(magnitude(n), magnitude(by))
		if high != 0 || low > math.MaxInt64>>1 || magnitude(sum[m]) > math.MaxInt64>>1 {
			return nil
		}
		if sum[m] += n * by; sum[m] == 0 {
			delete(sum, m)
		}
	}
	return sum
}

// magnitude returns a number without its sign.
func magnitude(n int64) uint64 {
	if n < 0 {
		return -uint64(n)
	}
	return uint64(n)
}

// Times returns the product of two sums.
func (p Sum) Times(q Sum) Sum {
	product := Sum{}
	for m, n := range q {
		for k, c := range p {
			high, low := bits.Mul64(magnitude(n), magnitude(c))
			if high != 0 || low > math.MaxInt64>>1 {
				return nil
			}
			if product = product.Plus(Sum{productOf(append(Factors(m), Factors(k)...)): n * c}, 1); product == nil {
				return nil
			}
		}
	}
	return product
}

// Factors returns the IDs of the atoms of a product.
func Factors(m string) (ids []int) {
	for f := range strings.SplitSeq(m, "*") {
		if n, err := strconv.Atoi(f); err == nil {
			ids = append(ids, n)
		}
	}
	return ids
}

// productOf returns the product of the atoms with these IDs.
func productOf(ids []int) string {
	slices.Sort(ids)
	var parts []string
	for _, id := range ids {
		parts = append(parts, strconv.Itoa(id))
	}
	return strings.Join(parts, "*")
}

// Sum returns the sum that is the atom alone.
func (a *Atom) Sum() Sum { return Sum{strconv.Itoa(a.ID): 1} }

// Without returns the product m divided by the product k. It returns false if m does not have all factors of k.
func Without(m, k string) (string, bool) {
	ids := Factors(m)
	for _, id := range Factors(k) {
		i := slices.Index(ids, id)
		if i < 0 {
			return "", false
		}
		ids = slices.Delete(ids, i, i+1)
	}
	return productOf(ids), true
}

// Products returns the products of a sum in order: those with more factors first, and the constant last.
func (p Sum) Products() []string {
	return slices.SortedFunc(maps.Keys(p), func(a, b string) int {
		x, y := Factors(a), Factors(b)
		if len(x) != len(y) {
			return len(y) - len(x)
		}
		return slices.Compare(x, y)
	})
}

// Equal reports whether two sums have the same products.
func (p Sum) Equal(q Sum) bool { return maps.Equal(p, q) }

// Extract returns p as m*q + rest, with m a sum of products. If there is no such m, both results are nil.
func Extract(p, q Sum) (m, rest Sum) {
	first := q.Products()[0]
	m, rest = Sum{}, p
	for _, k := range p.Products() {
		by, ok := Without(k, first)
		if !ok || p[k]%q[first] != 0 {
			continue
		}
		part := Sum{by: p[k] / q[first]}
		whole := part.Times(q)
		for n := range whole {
			ok = ok && p[n] == whole[n]
		}
		if !ok {
			continue
		}
		if m, rest = m.Plus(part, 1), rest.Plus(whole, -1); m == nil || rest == nil {
			return nil, nil
		}
	}
	if len(m) == 0 {
		return nil, nil
	}
	return m, rest
}

// Known is a condition that holds: Of + Plus Op Bound, such as i + 1 < n.
type Known struct {
	Of, Plus Sum
	Op       ir.Op // a comparison
	Bound    Sum
}

// Same reports whether two conditions say the same.
func (k *Known) Same(l *Known) bool {
	return k.Op == l.Op && k.Of.Equal(l.Of) && k.Plus.Equal(l.Plus) && k.Bound.Equal(l.Bound)
}

// Atoms are the atoms of a kernel, by their IDs.
type Atoms []*Atom

// One returns the atom that a sum is. If the sum is not one atom alone, it returns nil.
func (w Atoms) One(p Sum) *Atom {
	if len(p) == 1 {
		for m, n := range p {
			if ids := Factors(m); n == 1 && len(ids) == 1 {
				return w[ids[0]]
			}
		}
	}
	return nil
}

// Split returns the part of a sum that differs between threads, and the rest.
func (w Atoms) Split(p Sum) (varying, rest Sum) {
	varying, rest = Sum{}, Sum{}
	for m, n := range p {
		if slices.ContainsFunc(Factors(m), func(id int) bool { return !w[id].Same }) {
			varying[m] = n
		} else {
			rest[m] = n
		}
	}
	return varying, rest
}

// Uniform reports whether a sum is the same for all threads.
func (w Atoms) Uniform(p Sum) bool {
	v, _ := w.Split(p)
	return len(v) == 0
}

// Low reports whether a number is never negative.
func (w Atoms) Low(p Sum) bool {
	if a := w.One(p); a != nil {
		return a.Low
	}
	n, ok := p.Constant()
	return ok && n >= 0
}

// By returns p as step*a + rest. The step is nil if a product of p has the factor a twice.
func (w Atoms) By(p Sum, a *Atom) (step, rest Sum) {
	step, rest = Sum{}, Sum{}
	me := productOf([]int{a.ID})
	for m, n := range p {
		k, ok := Without(m, me)
		if !ok {
			rest[m] = n
			continue
		}
		if _, twice := Without(k, me); twice {
			return nil, nil
		}
		step[k] = n
	}
	return step, rest
}

// Depends reports whether a sum is computed from the atom with the given ID.
func (w Atoms) Depends(p Sum, id int) bool {
	seen := map[int]bool{}
	w.mention(p, seen, true)
	return seen[id]
}

// Mentioned adds to seen the IDs of the atoms that a sum is computed from. It leaves out the arguments of an Or, since the value may be any one of them.
func (w Atoms) Mentioned(p Sum, seen map[int]bool) { w.mention(p, seen, false) }

func (w Atoms) mention(p Sum, seen map[int]bool, ors bool) {
	for m := range p {
		for _, id := range Factors(m) {
			a := w[id]
			if seen[id] {
				continue
			}
			seen[id] = true
			if a.Op == "Or" && !ors {
				continue
			}
			for _, q := range append(slices.Clone(a.Args), a.From, a.End, a.Step) {
				w.mention(q, seen, ors)
			}
		}
	}
}

// Named reports whether all atoms of a sum have short names.
func (w Atoms) Named(p Sum) bool {
	for m := range p {
		if slices.ContainsFunc(Factors(m), func(id int) bool { return w[id].name() == "" }) {
			return false
		}
	}
	return true
}

// name returns the short name of an atom, or "" if it has none.
func (a *Atom) name() string {
	if a.Name == "" && a.Kind < IsArgument {
		return fmt.Sprintf("t.%s(%d)", ir.InGrid+ir.Op(a.Kind), a.Dim)
	}
	return a.Name
}

// Text returns a sum as people write it.
func (w Atoms) Text(p Sum) string {
	var b strings.Builder
	for _, m := range p.Products() {
		n := p[m]
		var names []string
		for _, id := range Factors(m) {
			names = append(names, w[id].name())
		}
		text := strings.Join(names, "*")
		switch size := magnitude(n); {
		case text == "":
			text = fmt.Sprint(size)
		case size != 1:
			text = fmt.Sprintf("%d*%s", size, text)
		}
		switch {
		case n < 0:
			b.WriteString("-")
		case b.Len() > 0:
			b.WriteString("+")
		}
		b.WriteString(text)
	}
	if b.Len() == 0 {
		return "0"
	}
	return b.String()
}
