package translate

import (
	"fmt"
	"go/token"
	"maps"
	"math"
	"math/bits"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// atom is a number of a thread that does not change: its place, an argument, the number of a loop's round, or the result of an operation that is no
// sum or product.
type atom struct {
	id   int
	kind atomKind
	dim  int    // of a place
	wire int    // of an argument or a length: its place among the launch's arguments
	name string // in Go
	low  bool   // it is never negative
	same bool   // it is the same for all threads

	lo, hi int64 // of the type, for what is not known

	op   string // of the result of an operation: the method of grid.Interval
	args []poly
	ctxs [][]fact // for op Or: what is known where each argument was the value
	from poly     // of a loop: the first number, and, if up is set, the step and the end
	step poly
	end  poly
	up   bool
}

type atomKind int

const (
	isPlace atomKind = iota // t.Global(dim)
	isLocal
	isBlock
	isSize
	isBlocks
	isArg
	isRound // the number of a loop's round
	isResult
	isUnknown
)

// small reports whether a number is so far from the ends of int that a small number can be added.
func (a *atom) small() bool { return a.kind <= isBlocks }

// poly is a sum of products of atoms: the factors, by their atoms' numbers in order with "*" between them. "" is the constant.
type poly map[string]int64

func fixed(n int64) poly {
	if n == 0 {
		return poly{}
	}
	return poly{"": n}
}

func (p poly) constant() (int64, bool) {
	n, ok := p[""]
	return n, len(p) == 0 || ok && len(p) == 1
}

// plus returns p + by*q, nil if a factor overflows.
func (p poly) plus(q poly, by int64) poly {
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

func magnitude(n int64) uint64 {
	if n < 0 {
		return -uint64(n)
	}
	return uint64(n)
}

func (p poly) times(q poly) poly {
	product := poly{}
	for m, n := range q {
		for k, c := range p {
			high, low := bits.Mul64(magnitude(n), magnitude(c))
			if high != 0 || low > math.MaxInt64>>1 {
				return nil
			}
			if product = product.plus(poly{joined(m, k): n * c}, 1); product == nil {
				return nil
			}
		}
	}
	return product
}

// factors returns the numbers of the atoms of a product.
func factors(m string) (ids []int) {
	for f := range strings.SplitSeq(m, "*") {
		if n, err := strconv.Atoi(f); err == nil {
			ids = append(ids, n)
		}
	}
	return ids
}

func product(ids []int) string {
	slices.Sort(ids)
	var parts []string
	for _, id := range ids {
		parts = append(parts, strconv.Itoa(id))
	}
	return strings.Join(parts, "*")
}

func joined(m, k string) string { return product(append(factors(m), factors(k)...)) }

// without returns the product m without the factors of k, false if it does not have them.
func without(m, k string) (string, bool) {
	ids := factors(m)
	for _, id := range factors(k) {
		i := slices.Index(ids, id)
		if i < 0 {
			return "", false
		}
		ids = slices.Delete(ids, i, i+1)
	}
	return product(ids), true
}

// monomials returns the products of a sum in order.
func (p poly) monomials() []string {
	return slices.SortedFunc(maps.Keys(p), func(a, b string) int {
		x, y := factors(a), factors(b)
		if len(x) != len(y) {
			return len(y) - len(x)
		}
		return slices.Compare(x, y)
	})
}

func (p poly) equal(q poly) bool { return maps.Equal(p, q) }

// one returns the atom if a sum is nothing else.
func (w *reach) one(p poly) *atom {
	if len(p) == 1 {
		for m, n := range p {
			if ids := factors(m); n == 1 && len(ids) == 1 {
				return w.atoms[ids[0]]
			}
		}
	}
	return nil
}

// split returns the part of a sum that differs between threads, and the rest.
func (w *reach) split(p poly) (varying, rest poly) {
	varying, rest = poly{}, poly{}
	for m, n := range p {
		if w.uniformProduct(m) {
			rest[m] = n
		} else {
			varying[m] = n
		}
	}
	return varying, rest
}

func (w *reach) uniformProduct(m string) bool {
	return !slices.ContainsFunc(factors(m), func(id int) bool { return !w.atoms[id].same })
}

func (w *reach) uniform(p poly) bool {
	v, _ := w.split(p)
	return len(v) == 0
}

// fact says that q + plus compares with a bound.
type fact struct {
	q, plus poly
	op      token.Token // <, <=, >, >=, == or !=
	bound   poly
}

func (c *fact) same(d *fact) bool {
	return c.op == d.op && c.q.equal(d.q) && c.plus.equal(d.plus) && c.bound.equal(d.bound)
}

// extract returns p as m*q + rest, with m a sum of products. It is nil if there is no m.
func extract(p, q poly) (m, rest poly) {
	first := q.monomials()[0]
	m, rest = poly{}, p
	for _, k := range p.monomials() {
		by, ok := without(k, first)
		if !ok || p[k]%q[first] != 0 {
			continue
		}
		part := poly{by: p[k] / q[first]}
		whole := part.times(q)
		for n := range whole {
			ok = ok && p[n] == whole[n]
		}
		if !ok {
			continue
		}
		if m, rest = m.plus(part, 1), rest.plus(whole, -1); m == nil || rest == nil {
			return nil, nil
		}
	}
	if len(m) == 0 {
		return nil, nil
	}
	return m, rest
}

// intervals writes the text that computes intervals. A part that is used twice gets a variable.
type intervals struct {
	w     *reach
	nodes map[string]*node
	order []*node
	taken map[string]bool
	depth int
	work  int // for this access
}

type node struct {
	format string
	args   []*node
	key    string
	uses   int
	name   string // of its variable
	hint   string
}

func (e *intervals) node(hint, format string, args ...*node) *node {
	for _, a := range args {
		if a.format == anything && arithmetic.MatchString(format) {
			return a
		}
	}
	if !token.IsIdentifier(hint) {
		hint = ""
	}
	key := format
	for _, a := range args {
		key += "|" + strconv.Itoa(slices.Index(e.order, a))
	}
	if n := e.nodes[key]; n != nil {
		return n
	}
	n := &node{format: format, args: args, key: key, hint: hint}
	e.nodes[key] = n
	e.order = append(e.order, n)
	return n
}

const anything = "grid.Anything()"

// arithmetic matches operations of which the result can be anything if an operand can.
var arithmetic = regexp.MustCompile(`^%s\.(Plus|Minus|Times|Add)\([^()]*\)$|^%s\.Times\(grid\.Only\(-?\d+\)\)$`)

// deepest is how deep the operations of an interval may be nested, and mostWork how many are looked at for one access. Beyond it is anything.
const (
	deepest  = 60
	mostWork = 2000
)

// of returns the interval of a sum where the constraints hold.
func (e *intervals) of(p poly, ctx []fact) *node {
	e.depth++
	defer func() { e.depth-- }()
	if e.work++; p == nil || e.depth > deepest || e.work > mostWork {
		return e.node("", anything)
	}
	for i := len(ctx) - 1; i >= 0; i-- {
		if q := ctx[i].q; len(q) > 1 {
			if m, rest := extract(p, q); m != nil {
				return e.sum(e.times(e.of(m, ctx), e.bounded(e.plain(q, ctx[:i]), q, ctx)), rest, ctx)
			}
		}
	}
	return e.plain(p, ctx)
}

// plain is of without constraints of sums.
func (e *intervals) plain(p poly, ctx []fact) *node {
	if n, ok := p.constant(); ok {
		return e.node("", fmt.Sprintf("grid.Only(%d)", n))
	}
	return e.sum(nil, p, ctx)
}

// sum adds the products of a sum to an interval, which may be nil.
func (e *intervals) sum(all *node, p poly, ctx []fact) *node {
	negative := []string{}
	for _, m := range p.monomials() {
		switch {
		case m == "":
		case all != nil && p[m] < 0:
			negative = append(negative, m)
		case all == nil:
			all = e.product(m, p[m], ctx)
		default:
			all = e.node("", "%s.Plus(%s)", all, e.product(m, p[m], ctx))
		}
	}
	for _, m := range negative {
		all = e.node("", "%s.Minus(%s)", all, e.product(m, -p[m], ctx))
	}
	if n := p[""]; n != 0 {
		all = e.add(all, n)
	}
	return all
}

func (e *intervals) add(a *node, n int64) *node { return e.node("", fmt.Sprintf("%%s.Add(%d)", n), a) }

func (e *intervals) times(a, b *node) *node {
	if a.format == "grid.Only(1)" {
		return b
	}
	return e.node("", "%s.Times(%s)", b, a)
}

func (e *intervals) product(m string, by int64, ctx []fact) *node {
	var all *node
	for _, id := range factors(m) {
		if n := e.atom(e.w.atoms[id], ctx); all == nil {
			all = n
		} else {
			all = e.node("", "%s.Times(%s)", all, n)
		}
	}
	if by != 1 {
		all = e.node("", fmt.Sprintf("%%s.Times(grid.Only(%d))", by), all)
	}
	return all
}

// atom returns the interval of an atom where the constraints hold.
func (e *intervals) atom(a *atom, ctx []fact) *node {
	var n *node
	switch a.kind {
	case isPlace:
		n = e.node(a.name, fmt.Sprintf("grid.Places(box, %d)", a.dim))
	case isLocal:
		n = e.node(a.name, fmt.Sprintf("grid.Locals(box, %d)", a.dim))
	case isBlock:
		n = e.node(a.name, fmt.Sprintf("grid.Blocks(box, %d)", a.dim))
	case isSize:
		n = e.node(a.name, fmt.Sprintf("grid.Sizes(box, %d)", a.dim))
	case isBlocks:
		n = e.node(a.name, fmt.Sprintf("grid.Between(1, %d)", math.MaxInt32))
	case isArg:
		n = e.node(a.name, fmt.Sprintf("grid.Only(v[%d])", a.wire))
	case isRound:
		from := e.of(a.from, ctx)
		if a.up {
			n = e.node(a.name, "%s.Steps(%s, %s)", from, e.of(a.step, ctx), e.of(a.end, ctx))
		} else {
			n = e.node(a.name, "%s.Or(%s)", from, e.of(a.end, ctx))
		}
	case isResult:
		if a.op == "Or" {
			around := slices.DeleteFunc(slices.Clone(ctx), func(c fact) bool {
				return e.w.depends(c.q, a.id, map[int]bool{}) || e.w.depends(c.bound, a.id, map[int]bool{})
			})
			for i, p := range a.args {
				own := slices.DeleteFunc(slices.Clone(a.ctxs[i]), func(c fact) bool { return slices.ContainsFunc(around, func(d fact) bool { return d.same(&c) }) })
				inside := slices.Concat(around, own)
				part := e.when(e.of(p, inside), p, inside, own)
				if n == nil {
					n = part
				} else {
					n = e.node(a.name, "%s.Or(%s)", n, part)
				}
			}
			break
		}
		args := []*node{e.of(a.args[0], ctx)}
		format := "%s." + a.op
		if len(a.args) > 1 {
			args, format = append(args, e.of(a.args[1], ctx)), format+"(%s)"
		}
		n = e.node(a.name, format, args...)
	default:
		if a.lo == math.MinInt64 {
			n = e.node("", anything)
		} else {
			n = e.node("", fmt.Sprintf("grid.Between(%d, %d)", a.lo, a.hi))
		}
	}
	return e.bounded(n, poly{strconv.Itoa(a.id): 1}, ctx)
}

var methods = map[token.Token]string{token.LSS: "Below", token.LEQ: "UpTo", token.GTR: "Above", token.GEQ: "From", token.EQL: "And", token.NEQ: "Not"}

// bounded returns the part of the interval n of q in which the constraints on q hold.
func (e *intervals) bounded(n *node, q poly, ctx []fact) *node {
	e.depth++
	defer func() { e.depth-- }()
	if e.work++; e.depth > deepest || e.work > mostWork {
		return n
	}
	for i := range ctx {
		c := &ctx[i]
		if !c.q.equal(q) {
			continue
		}
		if slices.ContainsFunc(ctx[:i], func(d fact) bool { return d.same(c) }) {
			continue
		}
		if a := e.w.one(q); a != nil && a.up && len(c.plus) == 0 && c.bound.plus(fixed(1), 1) != nil &&
			(c.op == token.LSS && c.bound.equal(a.end) || c.op == token.LEQ && c.bound.plus(fixed(1), 1).equal(a.end)) {
			continue // as Steps says
		}
		bound := e.of(c.bound, ctx[:i])
		was, at := n, n
		k, isConstant := c.plus.constant()
		switch {
		case isConstant && k != 0:
			at = e.add(n, k)
		case !isConstant:
			at = e.node("", "%s.Plus(%s)", n, e.of(c.plus, ctx[:i]))
		}
		n = e.node(was.hint, "%s."+methods[c.op]+"(%s)", at, bound)
		switch {
		case isConstant && k != 0:
			n = e.add(n, -k)
		case !isConstant:
			n = e.node(was.hint, "%s.Minus(%s).And(%s)", n, e.of(c.plus, ctx[:i]), was)
		}
	}
	return n
}

// within returns the interval of a sum for the threads for which the constraints hold, none if there are none.
func (e *intervals) within(p poly, ctx []fact) *node {
	e.work = 0
	n := e.when(e.of(p, ctx), p, ctx, ctx)
	seen := map[int]bool{}
	e.w.mentioned(p, seen)
	for _, c := range ctx {
		e.w.mentioned(c.q, seen)
	}
	for id := range seen {
		if e.w.atoms[id].kind <= isBlock {
			return n
		}
	}
	return e.node(n.hint, "%s.When(%s)", n, e.node("", "grid.Places(box, 0)"))
}

// when returns the interval n of p if there are threads for which some of the constraints hold.
func (e *intervals) when(n *node, p poly, ctx, some []fact) *node {
	seen := map[int]bool{}
	e.w.mentioned(p, seen)
	for i := range some {
		q := some[i].q
		inside := true
		for m := range q {
			for _, id := range factors(m) {
				inside = inside && seen[id]
			}
		}
		if a := e.w.one(q); a != nil && a.kind == isRound && a.up {
			from, constant := a.from.constant()
			end, constant2 := a.end.constant()
			inside = inside || constant && constant2 && from < end
		}
		if inside || slices.ContainsFunc(some[:i], func(d fact) bool { return d.q.equal(q) }) {
			continue
		}
		n = e.node(n.hint, "%s.When(%s)", n, e.of(q, ctx))
	}
	return n
}

// mentioned notes the atoms that a sum is computed from.
func (w *reach) mentioned(p poly, seen map[int]bool) {
	for m := range p {
		for _, id := range factors(m) {
			a := w.atoms[id]
			if seen[id] {
				continue
			}
			seen[id] = true
			if a.op == "Or" {
				continue // of none of its arguments it is known that it is the value
			}
			for _, q := range append(slices.Clone(a.args), a.from, a.end, a.step) {
				w.mentioned(q, seen)
			}
		}
	}
}

// lines returns the variables that the roots need, and gives each node that is used twice a name. Afterwards text returns the roots.
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
		if n.uses < 2 || len(n.args) == 0 && !strings.Contains(n.format, "[") && !strings.Contains(n.format, "box") {
			continue
		}
		value := e.text(n)
		name := n.hint
		if name == "" || name == "_" {
			name = "at"
		}
		for i := 1; e.taken[name]; i++ {
			name = fmt.Sprintf("%s%d", strings.TrimRight(cmpOr(n.hint, "at"), "0123456789_"), i)
		}
		n.name, e.taken[name] = name, true
		fmt.Fprintf(&b, "\t%s := %s\n", name, value)
	}
	return b.String()
}

func cmpOr(a, b string) string {
	if a == "" || a == "_" {
		return b
	}
	return a
}

// text returns the Go text of an interval.
func (e *intervals) text(n *node) string {
	if n.name != "" {
		return n.name
	}
	var args []any
	for _, a := range n.args {
		args = append(args, e.text(a))
	}
	return fmt.Sprintf(n.format, args...)
}
