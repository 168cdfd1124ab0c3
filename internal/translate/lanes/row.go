package lanes

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-halyard/halyard/internal/translate/edges"
	"github.com/go-halyard/halyard/internal/translate/facts"
	"github.com/go-halyard/halyard/internal/translate/ir"
)

// index is a number of type int: the thread's place along the row, times a step, plus an offset that is the same for the whole row. The text of the offset
// can stand before the first thread.
type index struct {
	step   int64
	offset facts.Sum
	text   string // of the offset
}

// rowFacts knows what holds for the threads of the row that run as vectors.
type rowFacts struct {
	vectorTypes
	*Kernel
	long bool // the kernel has loops, or calls functions

	shared *edges.Row
	limits []edges.Limit
	truths map[*ir.Value]bool      // comparisons whose results the limits decide
	given  map[*ir.Param]*ir.Param // the structures that are passed to functions which the kernel calls
	fits   []string                // conditions under which the row is left to the loop
	only   []string                // lines that leave out threads which do nothing
	sane   []string                // conditions under which these lines are wrong, because a sum could overflow
	inside []string                // lines that leave out threads at an end of the row for which a comparison has another result

	row, from, to string
	at, x, xs     string // where the vector begins: in the views, and in the grid; the places of its threads
}

// known returns a number of type int as such a sum, if it is one.
func (w *rowFacts) known(v *ir.Value) (index, bool) {
	step, offset, ok := w.shared.Of(v)
	if !ok {
		return index{}, false
	}
	return index{step, offset, w.shared.Text(offset)}, true
}

// rowName returns the text of a value that is a parameter of the function, or belongs to the row.
func (w *rowFacts) rowName(v *ir.Value) string {
	if v.Param != nil && !slices.Contains(w.Function.Params, v.Param) {
		return "" // it is a parameter of a function that the kernel calls
	}
	switch v.Op {
	case ir.Argument:
		if p := w.Params[v.Param.Index]; p.Named && v.Type.Number() {
			return converted(v.Type.Kind, p.Name)
		}
		return w.Params[v.Param.Index].Name
	case ir.Len:
		return "len(" + w.param(v.Param).Name + ")"
	case ir.Rows, ir.Cols:
		return w.param(v.Param).Name + "." + title(v.Op.String()) + "()"
	}
	return edges.Named(v, w.row)
}

// mostLeft is how many threads at each end of a row are left to the loop, so that the others need no mask.
const mostLeft = 4

// within returns the result of a comparison if it is the same for all threads of the row except a few at its ends. It leaves these few to the loop, and rows
// in which the result is another one. In kernels with loops or calls it does nothing: there a mask costs little.
func (w *rowFacts) within(v *ir.Value) (truth, ok bool) {
	if w.long || w.Part != nil {
		return false, false
	}
	a, ok1 := w.known(v.Args[0])
	b, ok2 := w.known(v.Args[1])
	op, equality := v.Op, v.Op == ir.Eq || v.Op == ir.Ne
	if b.step != 0 {
		a, b, op = b, a, facts.Mirrored(op)
	}
	if !ok1 || !ok2 || b.step != 0 || a.step > 1 || a.step < 0 {
		return false, false
	}
	far := b.offset.Plus(a.offset, -1)
	_, constant := far.Constant()
	plus, near := a.offset.Constant()
	switch {
	case a.step == 0 && equality && !constant && !strings.ContainsAny(a.text+b.text, "&%"): // rows with equal numbers must be rare: with & and % they may not be
		w.leaveIf(fmt.Sprintf("%s == %s", a.text, b.text))
		return op == ir.Ne, true
	case a.step == 1 && equality:
		w.leaveOut(fmt.Sprintf("%[1]s, %[2]s = gridgen.Without(%[1]s, %[2]s, %[3]s)\n", w.from, w.to, w.shared.Text(far)))
		return op == ir.Ne, true
	case a.step == 1 && near && max(plus, -plus) < 1<<20: // the place, and a number
		return w.atEnd(op, far)
	}
	return false, false
}

// atEnd returns the result of a comparison of the thread's place with a number near an end of the row.
func (w *rowFacts) atEnd(op ir.Op, n facts.Sum) (truth, ok bool) {
	if op == ir.Le || op == ir.Gt {
		n = n.Plus(facts.Fixed(1), 1) // x <= n is x < n+1, and x > n is x >= n+1
	}
	if c, ok := n.Constant(); ok && c >= 0 && c <= mostLeft {
		w.leaveOut(fmt.Sprintf("%s = max(%[1]s, %d)\n", w.from, c))
		return op == ir.Gt || op == ir.Ge, true
	}
	for _, l := range w.limits {
		if c, ok := n.Plus(l.At, -1).Constant(); ok && l.Dim == 0 && c <= 0 && c >= -mostLeft {
			w.leaveOut(fmt.Sprintf("%s = min(%[1]s, %s)\n", w.to, w.shared.Text(n)))
			return op == ir.Lt || op == ir.Le, true
		}
	}
	return false, false
}

// clamped leaves out the threads at an end of the row whose index is clamped to far.
func (w *rowFacts) clamped(op ir.Op, far facts.Sum) bool {
	stays, ok := false, false
	if w.Part == nil {
		stays, ok = w.atEnd(either(op == ir.Max, ir.Ge, ir.Le), far)
	}
	return ok && stays
}

// leaveOut adds a line that leaves out threads at an end of the row.
func (w *rowFacts) leaveOut(line string) {
	if !slices.Contains(w.inside, line) {
		w.inside = append(w.inside, line)
	}
}

// leaveOutside leaves out threads for which an index is not below a length.
func (w *rowFacts) leaveOutside(a index, length string) {
	w.leaveOut(fmt.Sprintf("%[1]s, %[2]s = gridgen.Within(%[1]s, %[2]s, %[3]s, %[4]s)\n", w.from, w.to, a.text, length))
}

// leaveIf leaves the row to the loop under a condition.
func (w *rowFacts) leaveIf(condition string) {
	if !slices.Contains(w.fits, condition) {
		w.fits = append(w.fits, condition)
	}
}

// goBack adds a test in the middle of the vector code: under a condition, the rest of the row is left to the loop. Nothing may be stored before.
func (w *rowFacts) goBack(condition string) {
	w.write("if %s {", condition)
	w.write("lanes.ClearUpper()")
	if w.Part == nil {
		w.write("return %s.From(%s + %s) // the row's loop tells", w.row, w.from, w.at)
	} else {
		w.write("return %s + %s // the loop over the threads tells", w.from, w.at)
	}
	w.write("}")
}

// tooFar are conditions under which the sums of a comparison could overflow.
func tooFar(sums ...index) (all []string) {
	for _, x := range sums {
		if n, ok := x.offset.Constant(); !ok || max(n, -n) > 1<<20 {
			all = append(all, fmt.Sprintf("uint(%s+1<<61) > 1<<62", parenthesized(x.text)))
		}
	}
	return all
}

// leavesOthers leaves out the threads for which a condition is false, because they do nothing. It reports false unless the condition compares the place with
// a number that is known before the row.
func (w *rowFacts) leavesOthers(v *ir.Value) bool {
	if !v.Op.Compares() || v.Op == ir.Eq || v.Op == ir.Ne {
		return false
	}
	a, ok1 := w.known(v.Args[0])
	b, ok2 := w.known(v.Args[1])
	op, n := v.Op, b.offset.Plus(a.offset, -1)
	if b.step-a.step == 1 {
		op, n = facts.Mirrored(op), facts.Fixed(0).Plus(n, -1)
	} else if a.step-b.step != 1 {
		return false
	}
	if !ok1 || !ok2 {
		return false
	}
	if op == ir.Le || op == ir.Gt {
		n = n.Plus(facts.Fixed(1), 1)
	}
	if op == ir.Lt || op == ir.Le {
		w.only = append(w.only, fmt.Sprintf("%s = min(%[1]s, %s)\n", w.to, w.shared.Text(n)))
	} else {
		w.only = append(w.only, fmt.Sprintf("%s = max(%[1]s, %s)\n", w.from, w.shared.Text(n)))
	}
	w.sane = unique(append(w.sane, tooFar(a, b)...))
	return true
}

// terms returns the parts of a condition that an operator joins.
func terms(v *ir.Value, op ir.Op) []*ir.Value {
	if v.Op == op {
		return append(terms(v.Args[0], op), terms(v.Args[1], op)...)
	}
	return []*ir.Value{v}
}

func parenthesized(sum string) string {
	if strings.ContainsAny(sum, " ") || strings.HasPrefix(sum, "-") {
		return "(" + sum + ")"
	}
	return sum
}
