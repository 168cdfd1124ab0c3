package lanes

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-halyard/halyard/internal/translate/facts"
	"github.com/go-halyard/halyard/internal/translate/ir"
)

// affine is a number of type int: the thread's place along the row, times a step, plus a sum that is the same for the whole row. Its text can stand before
// the first thread.
type affine struct {
	step  int64
	terms []string // each with its sign in front
	plus  int64
}

func (a affine) text() string {
	s := strings.Join(a.terms, " ")
	if a.plus != 0 || s == "" {
		s += fmt.Sprintf(" %+d", a.plus)
	}
	return strings.TrimPrefix(strings.TrimSpace(s), "+")
}

func (a affine) plusOf(b affine) affine {
	return affine{a.step + b.step, slices.Concat(a.terms, b.terms), a.plus + b.plus}
}

// times returns a product with a number, which is not 0.
func (a affine) times(n int64) affine {
	c := affine{step: a.step * n, plus: a.plus * n}
	for _, t := range a.terms {
		sign, text := either((t[0] == '-') == (n < 0), "+", "-"), t[1:]
		if n != 1 && n != -1 {
			text = fmt.Sprintf("%d*(%s)", max(n, -n), text)
		}
		c.terms = append(c.terms, sign+text)
	}
	return c
}

func (a affine) minus(b affine) affine { return a.plusOf(b.times(-1)) }

// near limits the steps and the constants of an affine number, so that sums of a few of them fit in 32 bits.
const near = 1 << 20

func (a affine) isNear() bool { return max(a.step, -a.step) < near && max(a.plus, -a.plus) < near }

// affine returns a number of type int as a sum. Sums of ints wrap around, so the order does not matter.
func (w *writer) affine(v *ir.Value) (affine, bool) {
	if v.Type.Kind != ir.Int {
		return affine{}, false
	}
	if n, ok := facts.Constant(v); ok {
		return affine{plus: n}, max(n, -n) < near
	}
	switch v.Op {
	case ir.InGrid:
		if v.Which[0] == 0 {
			return affine{step: 1}, true
		}
	case ir.Argument:
		if x := w.given[v.Param]; x != nil {
			return w.affine(x)
		}
	case ir.Within, ir.UpTo: // it is checked where it is computed
		return w.affine(v.Args[0])
	case ir.Add, ir.Sub, ir.Mul:
		a, ok1 := w.affine(v.Args[0])
		b, ok2 := w.affine(v.Args[1])
		switch {
		case !ok1 || !ok2:
		case v.Op == ir.Add:
			a = a.plusOf(b)
			return a, a.isNear()
		case v.Op == ir.Sub:
			a = a.minus(b)
			return a, a.isNear()
		case a.step == 0 && b.step == 0: // a number of the row
		default:
			if a.step == 0 {
				a, b = b, a
			}
			if b.step == 0 && len(b.terms) == 0 && b.plus > 0 {
				a = a.times(b.plus)
				return a, a.isNear()
			}
			return affine{}, false
		}
	}
	if text, ok := w.same(v, true); ok {
		return affine{terms: []string{"+" + text}}, true
	}
	return affine{}, false
}

// same returns the text of an integer that has the same value for all threads of a row, in a form that the function's first lines can evaluate. The places of
// the row along other dimensions are known there if rowKnown is set.
func (w *writer) same(v *ir.Value, rowKnown bool) (string, bool) {
	if !v.Type.Integer() && v.Type.Kind != ir.Struct {
		return "", false // Go may round a float differently in another function
	}
	k := v.Type.Kind
	switch v.Op {
	case ir.Const:
		return converted(k, literal(v.Const, k)), true
	case ir.Argument:
		if x := w.given[v.Param]; x != nil {
			return w.same(x, rowKnown)
		}
		p := w.param(v.Param)
		if p.Named && v.Type.Integer() {
			return converted(k, p.Name), true
		}
		return p.Name, true
	case ir.Extract:
		x, ok := "", false
		if len(v.Which) > 0 && v.Args[0].Type.Kind == ir.Struct {
			x, ok = w.same(v.Args[0], rowKnown)
			x += "." + v.Args[0].Type.Fields[v.Which[0]].Name
		}
		return either(v.Type.Integer(), converted(k, x), x), ok
	case ir.InGrid:
		return w.row + "." + dims[v.Which[0]], v.Which[0] > 0 && rowKnown
	case ir.Len:
		return "len(" + w.param(v.Param).Name + ")", true
	case ir.Rows, ir.Cols:
		return fmt.Sprintf("%s.%s()", w.param(v.Param).Name, title(v.Op.String())), true
	case ir.Convert:
		x, ok := w.same(v.Args[0], rowKnown)
		return converted(k, x), ok
	case ir.Div:
		if n, ok := facts.Constant(v.Args[1]); !ok || n <= 0 {
			return "", false
		}
		fallthrough
	case ir.Add, ir.Sub, ir.Mul, ir.And, ir.Or, ir.Xor, ir.AndNot: // operations that cannot panic
		x, ok1 := w.same(v.Args[0], rowKnown)
		y, ok2 := w.same(v.Args[1], rowKnown)
		return "(" + x + " " + v.Op.String() + " " + y + ")", ok1 && ok2
	}
	return "", false
}

// pure reports whether evaluating a value cannot panic, reads no slice and calls nothing.
func pure(v *ir.Value) bool {
	switch v.Op {
	case ir.Call, ir.Atomic, ir.Within, ir.UpTo:
		return false
	case ir.Load:
		return v.Place.Local != nil && len(v.Place.Path) == 0
	case ir.Div, ir.Rem:
		if n, ok := facts.Constant(v.Args[1]); v.Type.Integer() && (!ok || n == 0) {
			return false
		}
	case ir.Shl, ir.Shr:
		if _, ok := facts.Constant(v.Args[1]); !ok && v.Args[1].Type.Signed() {
			return false
		}
	}
	return !slices.ContainsFunc(v.Args, func(a *ir.Value) bool { return !a.Bound && !pure(a) })
}

// limit is an upper bound: threads whose place along the dimension is not below it do nothing.
type limit struct {
	dim  int
	text string
}

// findLimits finds the limits that follow from the guard at the beginning of the kernel, and the comparisons whose results are known for the threads below them.
func (w *writer) findLimits() {
	w.truths, w.limits = map[*ir.Value]bool{}, nil
	list := w.Function.Body.List
	for i, s := range list {
		switch {
		case (s.Do == ir.Let || facts.Stored(s) != nil) && pure(s.Value):
			continue
		case s.Do != ir.If || s.Else != nil && len(s.Else.List) > 0 || !pure(s.Value):
			return
		case len(s.Then.List) == 1 && s.Then.List[0].Do == ir.Return:
			for _, c := range terms(s.Value, ir.Either) {
				w.bound1(c, ir.Ge)
			}
		case i == len(list)-1: // nothing follows the statement
			for _, c := range terms(s.Value, ir.Both) {
				w.bound1(c, ir.Lt)
			}
			return
		default:
			return
		}
	}
}

// terms returns the parts of a condition that an operator joins.
func terms(v *ir.Value, op ir.Op) []*ir.Value {
	if v.Op == op {
		return append(terms(v.Args[0], op), terms(v.Args[1], op)...)
	}
	return []*ir.Value{v}
}

// bound1 adds the limit that follows from a comparison with a thread's place. The operator is op if the place is on the left.
func (w *writer) bound1(c *ir.Value, op ir.Op) {
	if c.Op != op && c.Op != facts.Mirrored(op) {
		return
	}
	place, most := c.Args[0], c.Args[1]
	if c.Op != op {
		place, most = most, place
	}
	if place.Op != ir.InGrid || most.Type.Kind != ir.Int {
		return
	}
	text, ok := w.same(most, place.Which[0] == 0)
	if !ok {
		return
	}
	w.truths[c] = op == ir.Lt
	if l := (limit{place.Which[0], text}); !slices.Contains(w.limits, l) {
		w.limits = append(w.limits, l)
	}
}

// mostLeft is how many threads at each end of a row are left to the loop, so that the others need no mask.
const mostLeft = 4

// within returns the result of a comparison for the threads that run as vectors, if it is the same for all but a few at an end of the row. These, or rows in
// which it is not, are left to the loop. Where threads run loops or call functions they do so much that the mask costs little.
func (w *writer) within(v *ir.Value) (truth, ok bool) {
	if w.long || w.Part != nil {
		return false, false
	}
	a, ok1 := w.affine(v.Args[0])
	b, ok2 := w.affine(v.Args[1])
	op, equality := v.Op, v.Op == ir.Eq || v.Op == ir.Ne
	if b.step != 0 {
		a, b, op = b, a, facts.Mirrored(op)
	}
	switch {
	case !ok1 || !ok2 || b.step != 0:
	case a.step == 0 && equality && len(a.terms)+len(b.terms) > 0:
		w.leaveIf(fmt.Sprintf("%s == %s", a.text(), b.text()))
		return op == ir.Ne, true
	case a.step == 1 && equality:
		a.step = 0
		w.leaveOut(fmt.Sprintf("%[1]s, %[2]s = grid.Without(%[1]s, %[2]s, %[3]s)\n", w.from, w.to, b.minus(a).text()))
		return op == ir.Ne, true
	case a.step == 1 && len(a.terms) == 0:
		b.plus -= a.plus // the place, and a number
		if op == ir.Le || op == ir.Gt {
			b.plus++ // as for < and >=
		}
		if len(b.terms) == 0 && b.plus >= 0 && b.plus <= mostLeft {
			w.leaveOut(fmt.Sprintf("%s = max(%[1]s, %d)\n", w.from, b.plus))
			return op == ir.Gt || op == ir.Ge, true
		}
		for _, l := range w.limits {
			if l.dim == 0 && slices.Equal(b.terms, []string{"+" + l.text}) && b.plus <= 0 && b.plus >= -mostLeft {
				w.leaveOut(fmt.Sprintf("%s = min(%[1]s, %s)\n", w.to, b.text()))
				return op == ir.Lt || op == ir.Le, true
			}
		}
	}
	return false, false
}

// leaveOut adds a line that leaves out threads at an end of the row.
func (w *writer) leaveOut(line string) {
	if !slices.Contains(w.inside, line) {
		w.inside = append(w.inside, line)
	}
}

// leaveOutside leaves out threads for which an index is not below a length.
func (w *writer) leaveOutside(index affine, length string) {
	index.step = 0
	w.leaveOut(fmt.Sprintf("%[1]s, %[2]s = grid.Within(%[1]s, %[2]s, %[3]s, %[4]s)\n", w.from, w.to, index.text(), length))
}

// leaveIf leaves the row to the loop under a condition.
func (w *writer) leaveIf(condition string) {
	if !slices.Contains(w.fits, condition) {
		w.fits = append(w.fits, condition)
	}
}

// goBack leaves the rest of the row to the loop under a condition that is found where nothing is stored yet.
func (w *writer) goBack(condition string) {
	w.write("if %s {", condition)
	w.write("return %s.From(%s + %s) // the row's loop tells", w.row, w.from, w.at)
	w.write("}")
}

func parenthesized(sum string) string {
	if strings.ContainsAny(sum, " ") || strings.HasPrefix(sum, "-") {
		return "(" + sum + ")"
	}
	return sum
}
