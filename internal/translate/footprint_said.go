package translate

import (
	"fmt"
	"go/token"
	"slices"
	"strings"
)

// Footprint says what a kernel touches, for people.
type Footprint struct {
	Kernel string
	Pos    token.Position
	Cut    [3]bool  // the dimensions in which the grid can be cut
	Why    string   // why it cannot be cut
	Slices []string // what a thread uses of each slice, such as "x: reads rows y-1 to y+1"
}

// said returns what is said of a footprint.
func (t *footprint) said() Footprint {
	w := t.w
	all := Footprint{Kernel: w.f.decl.Name.Name, Pos: w.f.p.own.Fset.Position(w.f.decl.Pos()), Cut: t.cut, Why: t.why}
	for _, m := range w.slices() {
		var parts []string
		read, written := w.says(m, false), w.says(m, true)
		switch {
		case read != "" && read == written:
			parts = append(parts, "reads and writes "+read)
		default:
			if read != "" {
				parts = append(parts, "reads "+read)
			}
			if written != "" {
				parts = append(parts, "writes "+written)
			}
		}
		if len(parts) > 0 {
			all.Slices = append(all.Slices, m.name+": "+strings.Join(parts, ", "))
		}
	}
	return all
}

// says says which elements of a slice a thread uses, "" if none.
func (w *reach) says(m *param, write bool) string {
	accesses := w.uses(m, write)
	type group struct {
		rest, width poly
		row         bool
		least, most int64
	}
	var groups []group
	for _, a := range accesses {
		if a.atomic {
			return fmt.Sprintf("all (atomic, %s:%d)", short(a.pos), a.pos.Line)
		}
		if a.index == nil {
			return "all"
		}
		e := &intervals{w: w, nodes: map[string]*node{}}
		p, row, width := w.rows(m, a)
		if p == nil || unbounded(e.within(a.index, a.ctx)) || strings.Contains(w.text(p), unnamed) {
			return fmt.Sprintf("all (%s:%d)", short(a.pos), a.pos.Line)
		}
		if g := w.one(p); g != nil && g.kind == isRound && !row {
			if from, ok := g.from.constant(); ok && from == 0 && g.up && g.end.equal(w.size(m, 1)) {
				return "all"
			}
		}
		c := p[""]
		rest := p.plus(fixed(c), -1)
		i := slices.IndexFunc(groups, func(g group) bool { return g.row == row && g.rest.equal(rest) && g.width.equal(width) })
		if i < 0 {
			groups = append(groups, group{rest, width, row, c, c})
			continue
		}
		groups[i].least, groups[i].most = min(groups[i].least, c), max(groups[i].most, c)
	}
	var parts []string
	for _, g := range groups {
		name := "element"
		if g.row {
			name = "row"
		}
		from := w.text(g.rest.plus(fixed(g.least), 1))
		if to := w.text(g.rest.plus(fixed(g.most), 1)); to != from {
			parts = append(parts, fmt.Sprintf("%ss %s to %s", name, from, to))
		} else {
			parts = append(parts, name+" "+from)
		}
	}
	return strings.Join(parts, " and ")
}

// rows returns the row of an access, if its place in the row is another one for threads with another t.Global(0), and else the element.
func (w *reach) rows(m *param, a access) (p poly, row bool, width poly) {
	if m.kind == matrix {
		return a.row, a.row != nil, nil
	}
	for d := 2; d > 0; d-- {
		g := w.known[key(isPlace, d)]
		if g == nil {
			continue
		}
		step, _ := w.by(a.index, g)
		if len(step) != 1 {
			continue
		}
		width = step
		k := step.monomials()[0]
		if k == "" || step[k] != 1 || !w.uniform(step) {
			continue
		}
		p = poly{}
		for m, n := range a.index { // the products with the width
			if by, ok := without(m, k); ok {
				p[by] = n
			}
		}
		return p, true, width
	}
	return a.index, false, nil
}

// text returns a sum as people write it.
func (w *reach) text(p poly) string {
	var b strings.Builder
	for _, m := range p.monomials() {
		n := p[m]
		var names []string
		for _, id := range factors(m) {
			names = append(names, w.nameOf(w.atoms[id]))
		}
		text := strings.Join(names, "*")
		switch size := magnitude(n); {
		case text == "":
			text = fmt.Sprint(size)
		case size != 1:
			text = fmt.Sprintf("%d*%s", size, text)
		}
		switch {
		case b.Len() == 0 && n < 0:
			b.WriteString("-")
		case b.Len() > 0:
			b.WriteString(map[bool]string{true: "-", false: "+"}[n < 0])
		}
		b.WriteString(text)
	}
	if b.Len() == 0 {
		return "0"
	}
	return b.String()
}

// unnamed stands for a number that has no short name.
const unnamed = "?"

func (w *reach) nameOf(a *atom) string {
	if a.name != "" {
		return a.name
	}
	if a.kind < isArg {
		return fmt.Sprintf("t.%s(%d)", []string{"Global", "Local", "Block", "Size", "Blocks"}[a.kind], a.dim)
	}
	return unnamed
}
