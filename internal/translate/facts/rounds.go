package facts

import (
	"cmp"
	"fmt"
	"go/token"
	"math"
	"strconv"

	"github.com/go-halyard/halyard/internal/translate/ir"
)

// This file bounds the rounds of all loops of a thread together, for drivers that end the loops of a thread after some number of rounds. On such a device
// threads run in step, and a round of one thread counts for all threads. So each loop counts with its bound, and not with the rounds that a thread really
// takes. The bound of a loop is multiplied by the bounds of the loops around it.

const (
	fewRounds = 1 << 15 // no driver ends loops that take fewer rounds together
	halvings  = 64      // the most rounds of a loop that halves or doubles a whole number
)

// Looped is what is known of a kernel's loops.
type Looped struct {
	Most Bound // the bound of all rounds together; nil if there are few rounds or none
	From token.Pos
	At   token.Pos // the first loop with many rounds or an unknown number of them
}

// unknownRounds is the bound of a loop whose number of rounds is not known.
var unknownRounds = Bound{"": math.MaxInt32}

// LoopedOf finds how many rounds the loops of a kernel take.
func LoopedOf(f *ir.Function) Looped {
	w := &roundCounter{Bounds: *BoundsOf(f)}
	w.device, w.counts = true, map[any]Bound{}
	l := &w.looped
	l.Most = w.function(f)
	l.At = cmp.Or(l.At, l.From)
	if len(l.Most) == 0 || len(l.Most) == 1 && l.Most[""] > 0 && l.Most[""] < fewRounds {
		l.Most = nil
	}
	return *l
}

// roundCounter counts the rounds of a function.
type roundCounter struct {
	Bounds
	calls  int // the depth of calls
	looped Looped
}

func (w *roundCounter) function(f *ir.Function) Bound {
	total := Bound{}
	for _, l := range f.Locals {
		switch {
		case l.Space != ir.Shared || l.Block:
		case l.Sized != nil: // the kernel sets it to zero in a loop
			most, _ := w.argument(l.Sized, 0)
			total = total.Plus(most)
			defer func() { w.looped.From = cmp.Or(w.looped.From, l.Pos) }()
		default:
			total = total.Plus(Times(l.Type.Size()))
		}
	}
	return total.Plus(w.region(f.Body))
}

// region returns the rounds of the loops in a region's statements.
func (w *roundCounter) region(r *ir.Region) Bound {
	total := Bound{}
	if r == nil {
		return total
	}
	for i, s := range r.List {
		if s.Do == ir.Switch || s.Label != "" { // a compiler may make a loop of a switch or a labelled statement
			total = total.Plus(Times(1))
		}
		for _, v := range s.Operands() {
			if !v.Bound || s.Do == ir.Let {
				total = total.Plus(w.value(v))
			}
		}
		if s.Do == ir.Loop {
			var before *ir.Stmt
			if i > 0 {
				before = r.List[i-1]
			}
			total = total.Plus(w.loop(s, before))
			continue
		}
		for _, c := range s.Clauses {
			for _, t := range c.Tests {
				total = total.Plus(w.value(t.Cond))
			}
		}
		for _, in := range s.Regions() {
			total = total.Plus(w.region(in))
		}
	}
	return total
}

// value returns the rounds of the loops that compute a value.
func (w *roundCounter) value(v *ir.Value) Bound {
	total := Bound{}
	for _, a := range v.Operands() {
		if !a.Bound {
			total = total.Plus(w.value(a))
		}
	}
	switch {
	case v.Op.Compares() && v.Args[0].Type.Kind == ir.Array: // arrays are compared in a loop
		return total.Plus(Times(v.Args[0].Type.Size() + 1))
	case v.Op == ir.Go && !Plain(v.Of):
		return total.Plus(Times(cmp.Or(mathRounds[v.Of], 16)))
	case v.Op == ir.Call:
		return total.Plus(w.call(v))
	}
	return total
}

// loop returns the rounds of a loop and of the loops in it. The test that ends a loop counts as one more round.
func (w *roundCounter) loop(s, before *ir.Stmt) Bound {
	if !w.looped.From.IsValid() {
		w.looped.From = s.Pos
	}
	n := unknownRounds
	w.begins = ""
	c, counts := countingOf(s, before)
	if most, ok := w.few(c, counts); ok {
		n = Bound{"": most[""]}
		step := w.stride(c)
		for at, times := range most {
			if at != "" {
				n[at+step] = times
			}
		}
		if w.begins != "" {
			n[w.begins] += 0 // the launch must see that this argument is not negative
		}
		w.note(c)
	}
	if _, constant := n[""]; (len(n) > 1 || !constant || n[""] >= fewRounds) && !w.looped.At.IsValid() {
		w.looped.At = s.Pos
	}
	inside := Times(1)
	for _, r := range s.Regions() {
		inside = inside.Plus(w.region(r))
	}
	if s.Value != nil && !s.Value.Bound {
		inside = inside.Plus(w.value(s.Value))
	}
	return n.By(inside).Plus(Times(1))
}

// few bounds the rounds of a loop.
func (w *roundCounter) few(c counting, counts bool) (Bound, bool) {
	if !counts {
		return nil, false
	}
	if w.halves(c) {
		return Times(halvings), true
	}
	return w.rounds(c)
}

// note stores an upper bound of a loop's counter, for the loops inside that loop.
func (w *roundCounter) note(c counting) {
	begins := w.begins
	if c.op == ir.Add && (c.compares == ir.Lt || c.compares == ir.Le) && c.from != nil && w.from(c.from, 0, 2) {
		if most, ok := w.Most(c.end); ok {
			w.counts[c.of] = most
		}
	}
	w.begins = begins
}

// stride returns the divisor of a product, such as "/-5", if a loop steps by the number of threads of the grid in a dimension, or by one argument. See
// gridgen.Written.Rounds for the numbers.
func (w *roundCounter) stride(c counting) string {
	if c.op != ir.Add || c.by == nil {
		return ""
	}
	if c.by.Op == ir.Mul {
		x, y := c.by.Args[0], c.by.Args[1]
		if (x.Op == ir.Threads && y.Op == ir.AllBlocks || x.Op == ir.AllBlocks && y.Op == ir.Threads) && x.Which[0] == y.Which[0] {
			return fmt.Sprintf("/%d", -1-x.Which[0])
		}
	}
	most, ok := w.Most(c.by)
	all := int64(0)
	for _, times := range most {
		all += times
	}
	for at, times := range most { // the step must be one argument, and nothing else
		if argument, err := strconv.Atoi(at); ok && err == nil && times == 1 && all == 1 {
			return fmt.Sprintf("/%d", -4-argument)
		}
	}
	return ""
}

// halves reports whether a loop divides or multiplies a whole number in each round until it is small or large.
func (w *roundCounter) halves(c counting) bool {
	least := int64(2)
	if c.op == ir.Shr || c.op == ir.Shl {
		least = 1
	}
	if c.by != nil || c.fixed < least {
		return false
	}
	switch c.op {
	case ir.Div, ir.Shr: // a negative number that is shifted stays negative
		end, ok := Constant(c.end)
		return ok && (c.compares == ir.Gt && end >= 0 || c.compares == ir.Ge && end > 0)
	case ir.Mul, ir.Shl: // a number that wraps around may be small again; constant ends are left to simulated
		_, isConstant := Constant(c.end)
		_, ok := w.Most(c.end)
		return ok && !isConstant && c.from != nil && w.from(c.from, 1, 1) && (c.compares == ir.Lt || c.compares == ir.Le)
	}
	return false
}

// call returns the rounds of a called function.
func (w *roundCounter) call(v *ir.Value) Bound {
	if w.calls > 16 {
		return unknownRounds
	}
	in := &roundCounter{calls: w.calls + 1, Bounds: Bounds{device: true, counts: map[any]Bound{}, passed: map[*ir.Param]Bound{}}}
	for i, m := range v.Call.Params {
		arg, most, ok := v.Args[i], Bound(nil), false
		switch {
		case m.Type.Kind == ir.Slice:
			most, ok = w.argument(arg.Param, 1)
		case m.Type.Integer():
			most, ok = w.Most(arg)
			ok = ok && w.natural(arg)
		}
		if ok {
			in.passed[m] = most
		}
	}
	total := in.function(v.Call)
	if in.looped.From.IsValid() && !w.looped.From.IsValid() {
		w.looped.From = v.Pos
	}
	if in.looped.At.IsValid() && !w.looped.At.IsValid() {
		w.looped.At = in.looped.At
	}
	return total.Plus(Times(1))
}

// Plain reports whether a function of the standard library compiles to a few instructions.
func Plain(name string) bool {
	switch name {
	case "math.Sqrt", "math.Abs", "math.FMA", "math.FMA32", "math.Floor", "math.Ceil", "math.Trunc", "math.Copysign", "math.Float32bits", "math.Float32frombits",
		"math.Float64bits", "math.Float64frombits", "cmplx.Abs":
		return true
	}
	return false
}

// mathRounds are the rounds of the standard library's functions that take many.
var mathRounds = map[string]int64{"math.Mod": 2200, "math.Remainder": 2200, "math.Erf": 600, "math.Erfc": 600,
	"bits.OnesCount": halvings, "bits.OnesCount8": halvings, "bits.OnesCount16": halvings, "bits.OnesCount32": halvings, "bits.OnesCount64": halvings,
	"bits.Reverse": halvings, "bits.Reverse8": halvings, "bits.Reverse16": halvings, "bits.Reverse32": halvings, "bits.Reverse64": halvings}
