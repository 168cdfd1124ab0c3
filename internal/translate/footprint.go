package translate

import (
	"fmt"
	"go/token"
	"slices"
	"strings"
)

// footprint is what a kernel touches, as the generated file says it: see kernel.Footprint.
type footprint struct {
	w    *reach
	name string // of the function
	text string // of the function
	cut  [3]bool
	why  string
}

// footprint finds what a kernel touches.
func (p *Package) footprint(f *function) *footprint {
	w := f.reach()
	t := &footprint{w: w, name: p.free("footprint", f.decl.Name.Name+"Footprint")}
	t.cuts()
	t.write(f)
	return t
}

// literal returns the value of the generated file.
func (t *footprint) literal() string {
	parts := []string{}
	if t.cut != [3]bool{} {
		parts = append(parts, fmt.Sprintf("Cut: [3]bool{%v, %v, %v}", t.cut[0], t.cut[1], t.cut[2]))
	}
	if t.why != "" {
		parts = append(parts, fmt.Sprintf("Why: %q", t.why))
	}
	return "kernel.Footprint{" + strings.Join(append(parts, "Of: "+t.name), ", ") + "}"
}

// slices returns the parameters that are slices or matrices.
func (w *reach) slices() (all []*param) {
	for _, m := range w.f.params {
		if m.kind == slice || m.kind == matrix {
			all = append(all, m)
		}
	}
	return all
}

// uses returns the accesses of a parameter that read it, or write it.
func (w *reach) uses(m *param, write bool) (found []access) {
	if write && !m.written || !write && !m.read { // as the translation knows
		return nil
	}
	if w.lost != "" {
		return []access{{of: m, index: nil, read: true, write: true}}
	}
	for _, a := range w.all {
		if a.of == m && !a.merged && (write && a.write || !write && a.read) {
			found = append(found, a)
		}
	}
	return found
}

// write writes the function that stores the touches.
func (t *footprint) write(f *function) {
	w := t.w
	e := &intervals{w: w, nodes: map[string]*node{}, taken: map[string]bool{"box": true, "v": true, "touch": true, "grid": true, "kernel": true}}
	var roots []*node
	list := w.slices()
	for _, m := range list {
		wire := w.wire(m) + 1
		n := fmt.Sprintf("v[%d]", wire)
		if m.kind == matrix {
			n = fmt.Sprintf("v[%d]*v[%d]", wire, wire+1)
		}
		var parts []string
		var args []*node
		for _, write := range []bool{false, true} {
			all := e.union(w.uses(m, write))
			if all == nil {
				continue
			}
			span := e.node("span", "%s.Span("+n+")", all)
			args = append(args, span)
			parts = append(parts, map[bool]string{false: "Read: ", true: "Write: "}[write]+"%s")
			if whole := t.whole(e, m); write && whole != nil {
				format := fmt.Sprintf("grid.Filled(%%s, %d", whole.each)
				in := []*node{span}
				e.work = 0
				of := poly{}
				for _, a := range whole.atoms {
					of[product([]int{a.id})] = 1
				}
				for i, a := range whole.atoms {
					n := e.atom(a, whole.ctx)
					if i == 0 { // none if no thread makes these writes: there may be others
						n = e.when(n, of, whole.ctx, whole.ctx)
					}
					format, in = format+", %s", append(in, n)
				}
				if len(whole.atoms) == 0 {
					format, in = format+", %s", append(in, e.within(fixed(0), whole.ctx))
				}
				if e.work <= mostWork { // else constraints may be left out
					args = append(args, e.node("", format+")", in...))
					parts = append(parts, "Whole: %s")
				}
			}
		}
		roots = append(roots, e.node("", "kernel.Touch{"+strings.Join(parts, ", ")+"}", args...))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "// %s is the Footprint.Of of %s.\nfunc %[1]s(box kernel.Box, v []int64, touch []kernel.Touch) {\n", t.name, f.decl.Name.Name)
	b.WriteString(e.lines(roots))
	for i, r := range roots {
		name := r.name
		fmt.Fprintf(&b, "\ttouch[%d] = %s\n", i, cmpOr(name, e.text(r)))
	}
	b.WriteString("}\n")
	t.text = b.String()
}

// union returns the interval of all accesses, nil if there are none.
func (e *intervals) union(all []access) (union *node) {
	var parts []*node
	for i, a := range all {
		least, most := a.index[""], a.index[""] // of the accesses that differ in a constant alone
		first := i
		for k, b := range all {
			if a.index != nil && b.index != nil && b.index.plus(fixed(b.index[""]), -1).equal(a.index.plus(fixed(a.index[""]), -1)) && sameFacts(a.ctx, b.ctx) {
				least, most, first = min(least, b.index[""]), max(most, b.index[""]), min(first, k)
			}
		}
		if first != i {
			continue
		}
		for _, n := range slices.Compact([]int64{least, most}) {
			part := e.within(a.index.plus(fixed(n-a.index[""]), 1), a.ctx)
			if unbounded(part) {
				return e.node("", "%s.When(%s)", e.node("", anything), e.node("", "grid.Places(box, 0)"))
			}
			if !slices.Contains(parts, part) {
				parts = append(parts, part)
			}
		}
	}
	for _, p := range parts {
		if union == nil {
			union = p
		} else {
			union = e.node("", "%s.\n\t\tOr(%s)", union, p)
		}
	}
	return union
}

func sameFacts(a, b []fact) bool {
	return slices.EqualFunc(a, b, func(x, y fact) bool { return x.same(&y) })
}

// unbounded reports whether an interval can be anything that is not negative, or nearly so.
func unbounded(n *node) bool {
	for len(n.args) > 0 && (strings.HasPrefix(n.format, "%s.When") || strings.HasPrefix(n.format, "%s.Add") || strings.HasPrefix(n.format, "%s.From") ||
		strings.HasPrefix(n.format, "%s.Above")) {
		n = n.args[0]
	}
	return n.format == anything
}

// notFollowing is in a reason that is of little use if there is another one.
const notFollowing = "does not follow"

// cuts finds in which dimensions the grid can be cut.
func (t *footprint) cuts() {
	w := t.w
	for d := 2; d >= 0; d-- {
		why := w.uncut(d)
		t.cut[d] = why == ""
		if d < w.f.dims && (t.why == "" || strings.Contains(t.why, notFollowing)) || d == 0 && t.why == "" {
			t.why = why
		}
	}
	if t.cut != [3]bool{} {
		t.why = ""
	}
}

// uncut says why a grid cannot be cut in a dimension, "" if it can. Threads in different places of the dimension must use different elements of each slice that is
// written, and those of a thread must be behind all of the thread before: only then the elements of parts do not overlap.
func (w *reach) uncut(d int) string {
	written := false
	for _, m := range w.slices() {
		written = written || m.written
	}
	if !written {
		return ""
	}
	if w.lost != "" {
		return w.lost
	}
	for _, m := range w.slices() {
		if !m.written {
			continue
		}
		var all []access
		for _, a := range w.all {
			if a.of == m && !a.merged && (a.read || a.write) {
				all = append(all, a)
			}
		}
		why := w.apart(m, all, w.known[key(isPlace, d)], fmt.Sprintf("t.Global(%d)", d))
		if b := w.known[key(isBlock, d)]; why != "" && b != nil && w.apart(m, all, b, "") == "" {
			why = ""
		}
		if why != "" {
			return why
		}
	}
	return ""
}

// apart says why threads with different numbers g may use the same elements, "" if they do not. name is that of g.
func (w *reach) apart(m *param, all []access, g *atom, name string) string {
	place := func(a access) string { return fmt.Sprintf("%s:%d", short(a.pos), a.pos.Line) }
	for _, a := range all {
		if a.atomic {
			return fmt.Sprintf("%s: threads change elements of %s together, by an atomic function", place(a), m.name)
		}
	}
	type part struct{ step, rest poly }
	parts := make([]part, len(all))
	for i, a := range all {
		p := a.index
		if m.kind == matrix {
			p = a.row
		}
		if g == nil || p == nil {
			return fmt.Sprintf("%s: the index of %s "+notFollowing+" %s", place(a), m.name, name)
		}
		switch parts[i].step, parts[i].rest = w.by(p, g); {
		case len(parts[i].step) == 0:
			return fmt.Sprintf("%s: the index of %s "+notFollowing+" %s", place(a), m.name, name)
		case !w.uniform(parts[i].step):
			return fmt.Sprintf("%s: the index of %s is not %s times a number that is the same for all threads, and a rest", place(a), m.name, name)
		case !parts[i].step.equal(parts[0].step):
			return fmt.Sprintf("%s: the index of %s is %s times another number than at line %d", place(a), m.name, name, all[0].pos.Line)
		}
	}
	for i, a := range all {
		for k, b := range all {
			if w.less(parts[i].rest, a.ctx, parts[k].rest, b.ctx, parts[0].step) {
				continue
			}
			if a.write {
				a, b = b, a
			}
			if !a.write {
				return fmt.Sprintf("%s: %s is read here where other threads may write it", place(a), m.name)
			}
			return fmt.Sprintf("%s: threads may write elements of %s that threads of another %s use", place(a), m.name, name)
		}
	}
	return ""
}

func short(pos token.Position) string {
	return pos.Filename[strings.LastIndexAny(pos.Filename, `/\`)+1:]
}

// by returns p as step*a + rest. The step is nil if p has products with a twice.
func (w *reach) by(p poly, a *atom) (step, rest poly) {
	step, rest = poly{}, poly{}
	me := product([]int{a.id})
	for m, n := range p {
		k, ok := without(m, me)
		if !ok {
			rest[m] = n
			continue
		}
		if _, twice := without(k, me); twice {
			return nil, nil
		}
		step[k] = n
	}
	return step, rest
}

// less reports whether p is always less than q + step, for any two threads: p is what it can be where ctxP holds, and q where ctxQ does.
func (w *reach) less(p poly, ctxP []fact, q poly, ctxQ []fact, step poly) bool {
	both := slices.Concat(ctxP, ctxQ)
	w.work = 0
	for _, hi := range w.bounds(p, ctxP, true, 0) {
		for _, lo := range w.bounds(q, ctxQ, false, 0) {
			if w.positive(step.plus(hi, -1).plus(lo, 1), both) {
				return true
			}
		}
	}
	return false
}

// positive reports whether a sum that is the same for all threads is more than 0.
func (w *reach) positive(p poly, ctx []fact) bool {
	if p == nil {
		return false
	}
	least := int64(0)
	for m, n := range p {
		if m == "" {
			least += n
			continue
		}
		if n < 0 || n > 1<<30 {
			return false
		}
		for _, id := range factors(m) {
			switch from := w.least(w.atoms[id], ctx); {
			case from < 0:
				return false
			case from == 0:
				n = 0
			}
		}
		least += n
	}
	return least > 0
}

// least returns 1 or 0 if a number that is the same for all threads is known to be at least that, and else -1.
func (w *reach) least(a *atom, ctx []fact) int {
	if a.kind == isSize || a.kind == isBlocks {
		return 1
	}
	me := poly{product([]int{a.id}): 1}
	for _, c := range ctx {
		n, constant := c.plus.constant()
		if c.q.equal(me) && constant && n == 0 { // compared with a number
			if k, ok := c.bound.constant(); ok && (k >= 0 && c.op == token.GTR || k >= 1 && (c.op == token.GEQ || c.op == token.EQL)) {
				return 1
			}
		}
		if m := c.bound.plus(fixed(c.bound[""]), -1); m.equal(me) && c.bound[""] <= 0 && constant && n >= 0 && w.low(c.q) && c.op == token.LSS {
			return 1
		}
	}
	if a.low {
		return 0
	}
	return -1
}

// mostBounds is how many bounds of a sum are tried, and how deep they are sought.
const mostBounds = 16

// bounds returns sums that are the same for all threads and that p is never above, or never below.
func (w *reach) bounds(p poly, ctx []fact, above bool, depth int) (all []poly) {
	varying, _ := w.split(p)
	if w.work++; p == nil || depth > mostBounds/2 || w.work > mostWork {
		return nil
	}
	if len(varying) == 0 {
		return []poly{p}
	}
	try := func(m, rest, bound poly) {
		if m == nil || rest == nil || bound == nil || len(all) > mostBounds {
			return
		}
		if next := rest.plus(m.times(bound), 1); next != nil {
			all = append(all, w.bounds(next, ctx, above, depth+1)...)
		}
	}
	for _, c := range ctx {
		m, rest := extract(varying, c.q)
		sign := w.sign(m, ctx)
		if sign == 0 {
			continue
		}
		rest = rest.plus(p, 1).plus(varying, -1)
		if b := w.bound(&c, (sign > 0) == above); b != nil {
			if bv, _ := w.split(b); len(bv) > 0 && depth > 2 {
				continue
			}
			try(m, rest, b)
		}
	}
	for _, k := range varying.monomials() {
		for _, id := range factors(k) {
			a := w.atoms[id]
			if a.same {
				continue
			}
			m, rest := w.by(p, a)
			if m == nil {
				continue
			}
			sign := w.sign(m, ctx)
			switch up := (sign > 0) == above; {
			case sign == 0:
			case !up && a.low:
				try(m, rest, fixed(0))
			case a.kind == isLocal && up:
				try(m, rest, w.once(key(isSize, a.dim), atom{kind: isSize, dim: a.dim, low: true}).plus(fixed(1), -1))
			case a.kind == isRound && a.up != up:
				try(m, rest, a.from)
			case a.kind == isRound && up:
				try(m, rest, a.end.plus(fixed(1), -1))
			case a.kind == isUnknown && a.hi < 1<<32 && up:
				try(m, rest, fixed(a.hi))
			case a.kind == isUnknown && a.lo > -1<<32 && !up:
				try(m, rest, fixed(a.lo))
			case up && a.op == "Rest" && a.low:
				if n, ok := a.args[1].constant(); ok && n > 0 {
					try(m, rest, fixed(n-1))
				}
			case up && a.op == "Mask":
				if n, ok := a.args[1].constant(); ok && n >= 0 {
					try(m, rest, fixed(n))
				}
			case up && a.op == "Min" || !up && a.op == "Max":
				try(m, rest, a.args[0])
				try(m, rest, a.args[1])
			}
		}
	}
	return all
}

// sign returns 1 if a sum is never negative, -1 if it is never positive, and 0 if that is not known.
func (w *reach) sign(p poly, ctx []fact) (sign int) {
	if len(p) == 0 {
		return 0
	}
	for m, n := range p {
		is := 1
		if n < 0 {
			is = -1
		}
		for _, id := range factors(m) {
			if !w.atoms[id].same || w.least(w.atoms[id], ctx) < 0 {
				return 0
			}
		}
		if sign != 0 && sign != is {
			return 0
		}
		sign = is
	}
	return sign
}

// bound returns what a constraint says that its sum is at most, or at least.
func (w *reach) bound(c *fact, most bool) poly {
	n, constant := c.plus.constant()
	for m := range c.q {
		for _, id := range factors(m) {
			constant = constant && (n == 0 || n < 1<<30 && n > -1<<30 && w.atoms[id].small())
		}
	}
	switch {
	case !constant:
		return nil
	case most && c.op == token.LSS:
		return c.bound.plus(fixed(n+1), -1)
	case !most && c.op == token.GTR:
		return c.bound.plus(fixed(n-1), -1)
	case most && c.op == token.LEQ || !most && c.op == token.GEQ || c.op == token.EQL:
		return c.bound.plus(fixed(n), -1)
	}
	return nil
}

// filling is a group of writes of which each thread makes all: each elements behind each other, for each choice of numbers of the atoms.
type filling struct {
	each  int64
	atoms []*atom
	ctx   []fact
}

// whole returns the writes that may fill all that a kernel writes of a slice, nil if it reads the slice or if there are none.
func (t *footprint) whole(e *intervals, m *param) *filling {
	w := t.w
	if m.read || w.lost != "" {
		return nil
	}
	for _, a := range w.all {
		if a.of == m && a.read {
			return nil
		}
	}
	for _, a := range w.all {
		if a.of != m || !a.write || a.part || slices.ContainsFunc(a.path, func(s step) bool { return !s.exact }) {
			continue
		}
		base := a.index.plus(fixed(a.index[""]), -1)
		var places []int64
		for _, b := range w.all {
			if b.of == m && b.write && !b.part && slices.Equal(a.path, b.path) && b.index.plus(fixed(b.index[""]), -1).equal(base) &&
				sameFacts(a.ctx, b.ctx) {
				places = append(places, b.index[""])
			}
		}
		slices.Sort(places)
		places = slices.Compact(places)
		each := int64(len(places))
		if places[each-1]-places[0] != each-1 {
			continue
		}
		if atoms, ok := w.radix(base, fixed(each-1), a.ctx); ok && w.independent(base, a.ctx) {
			return &filling{each, atoms, a.ctx}
		}
	}
	return nil
}

// independent reports whether a sum and facts have no places of threads in the grid together with those in their blocks.
func (w *reach) independent(p poly, ctx []fact) bool {
	seen := map[int]bool{}
	w.mentioned(p, seen)
	for _, c := range ctx {
		w.mentioned(c.q, seen)
	}
	var global, inBlock [3]bool
	for id := range seen {
		a := w.atoms[id]
		global[a.dim] = global[a.dim] || a.kind == isPlace
		inBlock[a.dim] = inBlock[a.dim] || a.kind == isBlock || a.kind == isLocal
	}
	for d := range 3 {
		if global[d] && inBlock[d] {
			return false
		}
	}
	return true
}

// radix returns the numbers of which a sum is made, if different numbers give sums that are more than width apart.
func (w *reach) radix(p, width poly, ctx []fact) ([]*atom, bool) {
	varying, _ := w.split(p)
	if len(varying) == 0 {
		return nil, true
	}
	seen := map[int]bool{}
	for _, m := range varying.monomials() {
		for _, id := range factors(m) {
			a := w.atoms[id]
			if a.same || seen[id] || a.kind > isBlock && a.kind != isRound {
				continue
			}
			seen[id] = true
			by, rest := w.by(p, a)
			if by == nil || !w.uniform(by) {
				continue
			}
			for _, step := range []poly{by, poly{}.plus(by, -1)} {
				if w.less(rest.plus(width, 1), ctx, rest, ctx, step) {
					if others, ok := w.radix(rest, width, ctx); ok {
						return append([]*atom{a}, others...), true
					}
				}
			}
		}
	}
	return nil, false
}
