package footprint

import (
	"fmt"
	"go/token"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-halyard/halyard/internal/translate/facts"
	"github.com/go-halyard/halyard/internal/translate/ir"
)

// intervals writes Go text that computes intervals. A part of the text that is used twice gets a variable.
type intervals struct {
	w     *facts.Reach
	nodes map[string]*node
	order []*node
	taken map[string]bool
	depth int
	work  int // the steps of work for the current access: see mostWork
}

func newIntervals(w *facts.Reach) *intervals {
	return &intervals{w: w, nodes: map[string]*node{}, taken: map[string]bool{"box": true, "v": true, "touch": true, "gridgen": true, "kernel": true}}
}

// node is a part of the text: a call of a method on the first of args, a call of a function, or a leaf.
type node struct {
	method string // the method of gridgen.Interval
	text   string // the text of a leaf, or the name of a function
	args   []*node
	given  bool // a leaf that is computed from the box or from what a launch passes
	broken bool // a new line begins before the method
	uses   int
	name   string // of its variable
	hint   string
}

// leaf returns a part without arguments.
func (e *intervals) leaf(text string) *node { return e.known(&node{text: text}) }

// given returns a leaf that gets a variable if it is used twice.
func (e *intervals) given(hint, text string) *node {
	return e.known(&node{text: text, given: true, hint: hint})
}

// call returns a call of a method.
func (e *intervals) call(hint, method string, args ...*node) *node {
	return e.known(&node{method: method, args: args, hint: hint})
}

// arithmetic returns a call of a method whose result is unlimited if an operand is unlimited.
func (e *intervals) arithmetic(method string, args ...*node) *node {
	for _, a := range args {
		if a.text == anything {
			return a
		}
	}
	return e.call("", method, args...)
}

// known returns the part equal to n that exists already. If there is none, it adds n and returns n.
func (e *intervals) known(n *node) *node {
	if !token.IsIdentifier(n.hint) {
		n.hint = ""
	}
	key := n.method + "(" + n.text
	for _, a := range n.args {
		key += "|" + strconv.Itoa(slices.Index(e.order, a))
	}
	if n := e.nodes[key]; n != nil {
		return n
	}
	e.nodes[key] = n
	e.order = append(e.order, n)
	return n
}

const anything = "gridgen.Anything()"

func (e *intervals) anything() *node { return e.leaf(anything) }

func (e *intervals) number(n int64) *node { return e.leaf(strconv.FormatInt(n, 10)) }

// only returns the interval of one number.
func (e *intervals) only(n int64) *node { return e.leaf(fmt.Sprintf("gridgen.Only(%d)", n)) }

// deepest limits how deep the operations of an interval are nested. mostWork limits how many operations are tried for one access. Beyond these limits the
// interval is gridgen.Anything, or conditions are left out.
const (
	deepest  = 60
	mostWork = 2000
)

// of returns the interval of a sum under the conditions in known.
func (e *intervals) of(p facts.Sum, known []facts.Known) *node {
	e.depth++
	defer func() { e.depth-- }()
	if e.work++; p == nil || e.depth > deepest || e.work > mostWork {
		return e.anything()
	}
	for i := len(known) - 1; i >= 0; i-- {
		if q := known[i].Of; len(q) > 1 {
			if m, rest := facts.Extract(p, q); m != nil {
				return e.sum(e.times(e.of(m, known), e.bounded(e.plain(q, known[:i]), q, known)), rest, known)
			}
		}
	}
	return e.plain(p, known)
}

// plain returns the interval of a sum, like [intervals.of], but does not use conditions on sums of several products.
func (e *intervals) plain(p facts.Sum, known []facts.Known) *node {
	if n, ok := p.Constant(); ok {
		return e.only(n)
	}
	return e.sum(nil, p, known)
}

// sum adds the products of a sum to an interval, which may be nil.
func (e *intervals) sum(all *node, p facts.Sum, known []facts.Known) *node {
	negative := []string{}
	for _, m := range p.Products() {
		switch {
		case m == "":
		case all != nil && p[m] < 0:
			negative = append(negative, m)
		case all == nil:
			all = e.product(m, p[m], known)
		default:
			all = e.arithmetic("Plus", all, e.product(m, p[m], known))
		}
	}
	for _, m := range negative {
		all = e.arithmetic("Minus", all, e.product(m, -p[m], known))
	}
	if n := p[""]; n != 0 {
		all = e.plus(all, n)
	}
	return all
}

func (e *intervals) plus(a *node, n int64) *node {
	return e.arithmetic("Add", a, e.number(n))
}

func (e *intervals) times(a, b *node) *node {
	if a == e.only(1) {
		return b
	}
	return e.arithmetic("Times", b, a)
}

func (e *intervals) product(m string, by int64, known []facts.Known) *node {
	var all *node
	for _, id := range facts.Factors(m) {
		if n := e.atom(e.w.Atoms[id], known); all == nil {
			all = n
		} else {
			all = e.arithmetic("Times", all, n)
		}
	}
	if by != 1 {
		all = e.arithmetic("Times", all, e.only(by))
	}
	return all
}

// atom returns the interval of an atom under the conditions in known.
func (e *intervals) atom(a *facts.Atom, known []facts.Known) *node {
	var n *node
	switch a.Kind {
	case facts.IsPlace:
		n = e.given(a.Name, fmt.Sprintf("gridgen.Places(box, %d)", a.Dim))
	case facts.IsLocal:
		n = e.given(a.Name, fmt.Sprintf("gridgen.Locals(box, %d)", a.Dim))
	case facts.IsBlock:
		n = e.given(a.Name, fmt.Sprintf("gridgen.Blocks(box, %d)", a.Dim))
	case facts.IsSize:
		n = e.given(a.Name, fmt.Sprintf("gridgen.Sizes(box, %d)", a.Dim))
	case facts.IsBlocks:
		n = e.given(a.Name, fmt.Sprintf("gridgen.Counts(box, %d)", a.Dim))
	case facts.IsArgument:
		n = e.given(a.Name, fmt.Sprintf("gridgen.Only(v[%d])", a.Wire))
	case facts.IsRound:
		from := e.of(a.From, known)
		if a.Up {
			n = e.call(a.Name, "Steps", from, e.of(a.Step, known), e.of(a.End, known))
		} else {
			n = e.call(a.Name, "Or", from, e.of(a.End, known))
		}
	case facts.IsResult:
		n = e.result(a, known)
	default:
		if a.Type.Least == math.MinInt64 {
			n = e.anything()
		} else {
			n = e.leaf(fmt.Sprintf("gridgen.Between(%d, %d)", a.Type.Least, a.Type.Most))
		}
	}
	return e.bounded(n, a.Sum(), known)
}

// result returns the interval of the result of an operation.
func (e *intervals) result(a *facts.Atom, known []facts.Known) (n *node) {
	if a.Op != "Or" {
		var args []*node
		for _, p := range a.Args {
			args = append(args, e.of(p, known))
		}
		for _, n := range a.Numbers {
			args = append(args, e.number(n))
		}
		return e.call(a.Name, a.Op, args...)
	}
	around := slices.DeleteFunc(slices.Clone(known), func(c facts.Known) bool { return e.w.Depends(c.Of, a.ID) || e.w.Depends(c.Bound, a.ID) })
	for i, p := range a.Args {
		own := slices.DeleteFunc(slices.Clone(a.Where[i]), func(c facts.Known) bool {
			return slices.ContainsFunc(around, func(d facts.Known) bool { return d.Same(&c) })
		})
		inside := slices.Concat(around, own)
		part := e.when(e.of(p, inside), p, inside, own)
		if n == nil {
			n = part
		} else {
			n = e.call(a.Name, "Or", n, part)
		}
	}
	return n
}

var methods = map[ir.Op]string{ir.Lt: "Below", ir.Le: "UpTo", ir.Gt: "Above", ir.Ge: "From", ir.Eq: "And", ir.Ne: "Not"}

// bounded returns the node n, limited by the conditions in the list `known` that are about q. The node n is the interval of q.
func (e *intervals) bounded(n *node, q facts.Sum, known []facts.Known) *node {
	e.depth++
	defer func() { e.depth-- }()
	if e.work++; e.depth > deepest || e.work > mostWork {
		return n
	}
	for i := range known {
		c := &known[i]
		if !c.Of.Equal(q) || slices.ContainsFunc(known[:i], func(d facts.Known) bool { return d.Same(c) }) {
			continue
		}
		if a := e.w.One(q); a != nil && a.Up && len(c.Plus) == 0 && c.Bound.Plus(facts.Fixed(1), 1) != nil &&
			(c.Op == ir.Lt && c.Bound.Equal(a.End) || c.Op == ir.Le && c.Bound.Plus(facts.Fixed(1), 1).Equal(a.End)) {
			continue // Interval.Steps stays below the end already
		}
		bound := e.of(c.Bound, known[:i])
		was, at := n, n
		k, isConstant := c.Plus.Constant()
		switch {
		case isConstant && k != 0:
			at = e.plus(n, k)
		case !isConstant:
			at = e.arithmetic("Plus", n, e.of(c.Plus, known[:i]))
		}
		n = e.call(was.hint, methods[c.Op], at, bound)
		switch {
		case isConstant && k != 0:
			n = e.plus(n, -k)
		case !isConstant:
			m := e.of(c.Plus, known[:i])
			n = e.call(was.hint, "And", e.call("", "Minus", n, m), was)
		}
	}
	return n
}

// within returns the interval of a sum for the threads that meet the conditions in known. The interval is empty if the conditions show that there are no such
// threads.
func (e *intervals) within(p facts.Sum, known []facts.Known) *node {
	e.work = 0
	n := e.when(e.of(p, known), p, known, known)
	seen := map[int]bool{}
	e.w.Mentioned(p, seen)
	for _, c := range known {
		e.w.Mentioned(c.Of, seen)
	}
	for id := range seen {
		if e.w.Atoms[id].Kind <= facts.IsBlock {
			return n
		}
	}
	return e.call(n.hint, "When", n, e.anyThread())
}

// anyThread returns an interval that is empty only if there are no threads.
func (e *intervals) anyThread() *node { return e.given("", "gridgen.Places(box, 0)") }

// when returns the node n, which is the interval of p, with further conditions: those in the parameter some. The result is an empty interval if no thread meets
// these.
func (e *intervals) when(n *node, p facts.Sum, known, some []facts.Known) *node {
	seen := map[int]bool{}
	e.w.Mentioned(p, seen)
	for i := range some {
		q := some[i].Of
		inside := true
		for m := range q {
			for _, id := range facts.Factors(m) {
				inside = inside && seen[id]
			}
		}
		if a := e.w.One(q); a != nil && a.Kind == facts.IsRound && a.Up {
			from, constant := a.From.Constant()
			end, constant2 := a.End.Constant()
			inside = inside || constant && constant2 && from < end
		}
		if inside || slices.ContainsFunc(some[:i], func(d facts.Known) bool { return d.Of.Equal(q) }) {
			continue
		}
		n = e.call(n.hint, "When", n, e.of(q, known))
	}
	return n
}

// lines returns the declarations of the variables that the roots need. It gives a name to each node that is used twice. Afterwards the method text returns the
// text of the roots.
func (e *intervals) lines(roots []*node) string {
	var count func(n *node)
	count = func(n *node) {
		if n.uses++; n.uses == 1 {
			for _, a := range n.args {
				count(a)
			}
		}
	}
	for _, r := range roots {
		count(r)
	}
	var b strings.Builder
	for _, n := range e.order {
		if n.uses < 2 || len(n.args) == 0 && !n.given {
			continue
		}
		value, name := e.text(n), named(n.hint)
		for i := 1; e.taken[name]; i++ {
			name = fmt.Sprintf("%s%d", strings.TrimRight(named(n.hint), "0123456789_"), i)
		}
		n.name, e.taken[name] = name, true
		fmt.Fprintf(&b, "\t%s := %s\n", name, value)
	}
	return b.String()
}

func named(hint string) string {
	if hint == "" || hint == "_" {
		return "at"
	}
	return hint
}

// text returns the Go text of an interval.
func (e *intervals) text(n *node) string {
	if n.name != "" {
		return n.name
	}
	var args []string
	for _, a := range n.args {
		args = append(args, e.text(a))
	}
	switch {
	case len(args) == 0:
		return n.text
	case n.method == "":
		return n.text + "(" + strings.Join(args, ", ") + ")"
	case n.broken:
		args[0] += ".\n\t\t" + n.method
	default:
		args[0] += "." + n.method
	}
	return args[0] + "(" + strings.Join(args[1:], ", ") + ")"
}
