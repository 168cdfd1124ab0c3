package footprint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-halyard/halyard/internal/translate/facts"
	"github.com/go-halyard/halyard/internal/translate/ir"
)

// Footprint is what a kernel touches, as the generated file says it: see gridgen.Footprint.
type Footprint struct {
	Cut [3]bool // the dimensions in which the grid can be cut
	Why string  // why it cannot be cut

	w *facts.Reach
}

// Of finds what a kernel of a program touches. The map effects has the effects of the program's functions.
func Of(p *ir.Program, f *ir.Function, effects map[*ir.Function]*facts.Effects) *Footprint {
	t := &Footprint{w: facts.ReachOf(p, f, effects)}
	t.cuts()
	return t
}

// Literal returns the Go text of the gridgen.Footprint in the generated file. The parameter name is the name of the Go function that Func writes.
func (t *Footprint) Literal(name string) string {
	parts := []string{}
	if t.Cut != [3]bool{} {
		parts = append(parts, fmt.Sprintf("Cut: [3]bool{%v, %v, %v}", t.Cut[0], t.Cut[1], t.Cut[2]))
	}
	if t.Why != "" {
		parts = append(parts, fmt.Sprintf("Why: %q", t.Why))
	}
	return "gridgen.Footprint{" + strings.Join(append(parts, "Of: "+name), ", ") + "}"
}

// touch is a field of gridgen.Touch.
type touch struct {
	field string
	value *node
}

// Func returns the text of a Go function that stores what the kernel touches of each slice.
func (t *Footprint) Func(name string) string {
	e := newIntervals(t.w)
	var all [][]touch // the touches of each slice
	var roots []*node
	for _, m := range t.w.Slices() {
		all = append(all, t.touches(e, m))
		for _, x := range all[len(all)-1] {
			roots = append(roots, x.value)
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "// %s is the Footprint.Of of %s.\nfunc %[1]s(box gridgen.Box, v []int64, touch []gridgen.Touch) {\n", name, t.w.Kernel.Name)
	b.WriteString(e.lines(roots))
	for i, fields := range all {
		var parts []string
		for _, x := range fields {
			parts = append(parts, x.field+": "+e.text(x.value))
		}
		fmt.Fprintf(&b, "\ttouch[%d] = gridgen.Touch{%s}\n", i, strings.Join(parts, ", "))
	}
	b.WriteString("}\n")
	return b.String()
}

// touches returns what the kernel touches of a slice.
func (t *Footprint) touches(e *intervals, m *ir.Param) (fields []touch) {
	wire := t.w.Wire(m) + 1
	n := fmt.Sprintf("v[%d]", wire)
	if m.Type.Kind == ir.Matrix {
		n = fmt.Sprintf("v[%d]*v[%d]", wire, wire+1)
	}
	for _, write := range []bool{false, true} {
		all := e.union(t.w.Uses(m, write))
		if all == nil {
			continue
		}
		span := e.call("span", "Span", all, e.leaf(n))
		if !write {
			fields = append(fields, touch{"Read", span})
			continue
		}
		fields = append(fields, touch{"Write", span})
		if whole := t.whole(m); whole != nil {
			if filled := whole.node(e, span); filled != nil {
				fields = append(fields, touch{"Whole", filled})
			}
		}
	}
	return fields
}

// group has the least and the largest constant of the indexes among accesses that differ only in these constants.
type group struct {
	first       facts.Access
	least, most int64
}

// grouped puts accesses with equal indexes and conditions, except for constants, into groups. The groups are in the order of their first accesses.
func grouped(all []facts.Access) (groups []*group) {
	found := map[string]*group{}
	for _, a := range all {
		n, key := a.Index[""], fmt.Sprint(a.Index.Rest(), a.Known)
		g := found[key]
		if g == nil {
			g = &group{a, n, n}
			found[key], groups = g, append(groups, g)
		}
		g.least, g.most = min(g.least, n), max(g.most, n)
	}
	return groups
}

// union returns an interval that has the indexes of all accesses, or nil if there are no accesses.
func (e *intervals) union(all []facts.Access) (union *node) {
	if slices.ContainsFunc(all, func(a facts.Access) bool { return a.Index == nil }) {
		return e.whenThreads()
	}
	var parts []*node
	for _, g := range grouped(all) {
		for _, n := range slices.Compact([]int64{g.least, g.most}) {
			part := e.within(g.first.Index.Rest().Plus(facts.Fixed(n), 1), g.first.Known)
			if unbounded(part) {
				return e.whenThreads()
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
			union = e.known(&node{method: "Or", args: []*node{union, p}, broken: true})
		}
	}
	return union
}

// whenThreads returns the interval of all numbers, which is empty if there are no threads.
func (e *intervals) whenThreads() *node { return e.call("", "When", e.anything(), e.anyThread()) }

func sameKnown(a, b []facts.Known) bool {
	return slices.EqualFunc(a, b, func(x, y facts.Known) bool { return x.Same(&y) })
}

// unbounded reports whether an interval is gridgen.Anything, perhaps limited from below, and so has no upper bound.
func unbounded(n *node) bool {
	for n.method == "When" || n.method == "Add" || n.method == "From" || n.method == "Above" {
		n = n.args[0]
	}
	return n.text == anything
}

// filling is a set of writes. Each thread makes all of them. For each choice of numbers for the atoms, the writes set consecutive elements. The field each is
// the number of these elements.
type filling struct {
	each  int64
	atoms []*facts.Atom
	known []facts.Known
}

// node returns an expression for whether the writes fill a span, or nil if the expression would be too long.
func (f *filling) node(e *intervals, span *node) *node {
	args := []*node{span, e.number(f.each)}
	e.work = 0
	of := facts.Sum{}
	for _, a := range f.atoms {
		of = of.Plus(a.Sum(), 1)
	}
	for i, a := range f.atoms {
		n := e.atom(a, f.known)
		if i == 0 { // the interval is empty if no thread makes these writes; a launch may have other threads
			n = e.when(n, of, f.known, f.known)
		}
		args = append(args, n)
	}
	if len(f.atoms) == 0 {
		args = append(args, e.within(facts.Fixed(0), f.known))
	}
	if e.work > mostWork { // beyond that, the method bounded may have left out conditions
		return nil
	}
	return e.known(&node{text: "gridgen.Filled", args: args})
}

// whole returns writes that may fill all that a kernel writes of a slice. It returns nil if there are no such writes, or if the kernel reads the slice.
func (t *Footprint) whole(m *ir.Param) *filling {
	w := t.w
	if w.Effects.Params[m.Index].Read || w.Lost != "" {
		return nil
	}
	for _, a := range w.Accesses {
		if a.Of == m && a.Read {
			return nil
		}
	}
	p := proof{Reach: w}
	for _, a := range w.Accesses {
		if a.Of != m || !a.Write || a.Part || slices.ContainsFunc(a.Path, func(s facts.Step) bool { return !s.Exact }) {
			continue
		}
		base := a.Index.Rest()
		var places []int64
		for _, b := range w.Accesses {
			if b.Of == m && b.Write && !b.Part && slices.Equal(a.Path, b.Path) && b.Index.Rest().Equal(base) && sameKnown(a.Known, b.Known) {
				places = append(places, b.Index[""])
			}
		}
		slices.Sort(places)
		places = slices.Compact(places)
		each := int64(len(places))
		if places[each-1]-places[0] != each-1 {
			continue
		}
		if atoms, ok := p.radix(base, facts.Fixed(each-1), a.Known); ok && p.independent(base, a.Known) {
			return &filling{each, atoms, a.Known}
		}
	}
	return nil
}

// reason says why a grid cannot be cut in a dimension. A vague reason is used only if there is no other reason.
type reason struct {
	text  string
	vague bool
}

// cuts finds in which dimensions the grid can be cut.
func (t *Footprint) cuts() {
	var best reason
	for d := 2; d >= 0; d-- {
		why := t.uncut(d)
		t.Cut[d] = why.text == ""
		if d < t.w.Effects.Dims && (best.text == "" || best.vague) || d == 0 && best.text == "" {
			best = why
		}
	}
	if t.Cut == [3]bool{} {
		t.Why = best.text
	}
}

// uncut says why a grid cannot be cut in a dimension. The reason is empty if the grid can be cut. For that, threads at different places of the dimension must
// use different elements of each slice that is written. Also, all elements of a thread must come after those of the previous thread, so that the ranges of two
// parts do not overlap.
func (t *Footprint) uncut(d int) reason {
	var written []*ir.Param
	for _, m := range t.w.Slices() {
		if t.w.Effects.Params[m.Index].Written {
			written = append(written, m)
		}
	}
	if len(written) > 0 && t.w.Lost != "" {
		return reason{text: t.w.Lost}
	}
	for _, m := range written {
		var all []facts.Access
		for _, a := range t.w.Accesses {
			if a.Of == m && !a.Merged && (a.Read || a.Write) {
				all = append(all, a)
			}
		}
		why := t.apart(m, all, t.w.Place(facts.IsPlace, d), fmt.Sprintf("t.Global(%d)", d))
		if b := t.w.Place(facts.IsBlock, d); why.text != "" && b != nil && t.apart(m, all, b, "").text == "" {
			continue
		}
		if why.text != "" {
			return why
		}
	}
	return reason{}
}

// place returns where an access is, as file:line.
func place(a facts.Access) string {
	return fmt.Sprintf("%s:%d", a.Pos.Filename[strings.LastIndexAny(a.Pos.Filename, `/\`)+1:], a.Pos.Line)
}

// apart says why threads with different numbers for the atom g may use the same elements of m. The reason is empty if they cannot. The parameter `name` is what
// messages call g.
func (t *Footprint) apart(m *ir.Param, all []facts.Access, g *facts.Atom, name string) reason {
	for _, a := range all {
		if a.Atomic {
			return reason{text: fmt.Sprintf("%s: threads change elements of %s together, by an atomic function", place(a), m.Name)}
		}
	}
	type part struct {
		step, rest facts.Sum
		key        string // of rest
	}
	parts := make([]part, len(all))
	for i, a := range all {
		p := a.Index
		if m.Type.Kind == ir.Matrix {
			p = a.Row
		}
		vague := reason{fmt.Sprintf("%s: the index of %s does not follow %s", place(a), m.Name, name), true}
		if g == nil || p == nil {
			return vague
		}
		switch parts[i].step, parts[i].rest = t.w.By(p, g); {
		case len(parts[i].step) == 0:
			return vague
		case !t.w.Uniform(parts[i].step):
			return reason{text: fmt.Sprintf("%s: the index of %s is not %s times a number that is the same for all threads, and a rest", place(a), m.Name, name)}
		case !parts[i].step.Equal(parts[0].step):
			return reason{text: fmt.Sprintf("%s: the index of %s is %s times another number than at line %d", place(a), m.Name, name, all[0].Pos.Line)}
		}
		parts[i].key = fmt.Sprint(parts[i].rest)
	}
	p := proof{Reach: t.w}
	always := map[[2]string]bool{} // whether it holds under all conditions. A kernel with many accesses has few different indexes
	for i, a := range all {
		for k, b := range all {
			keys := [2]string{parts[i].key, parts[k].key}
			holds, known := always[keys]
			if !known {
				holds = p.less(parts[i].rest, nil, parts[k].rest, nil, parts[0].step)
				always[keys] = holds
			}
			if holds || p.less(parts[i].rest, a.Known, parts[k].rest, b.Known, parts[0].step) {
				continue
			}
			if a.Write {
				a, b = b, a
			}
			if !a.Write {
				return reason{text: fmt.Sprintf("%s: %s is read here where other threads may write it", place(a), m.Name)}
			}
			return reason{text: fmt.Sprintf("%s: threads may write elements of %s that threads of another %s use", place(a), m.Name, name)}
		}
	}
	return reason{}
}
