package footprint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-halyard/halyard/internal/translate/facts"
	"github.com/go-halyard/halyard/internal/translate/ir"
)

// Said says what a thread uses of each slice, such as "x: reads rows y-1 to y+1".
func (t *Footprint) Said() (all []string) {
	for _, m := range t.w.Slices() {
		var parts []string
		read, written := t.says(m, false), t.says(m, true)
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
			all = append(all, m.Name+": "+strings.Join(parts, ", "))
		}
	}
	return all
}

// says returns a text for the elements of a slice that a thread uses, or "" if it uses none.
func (t *Footprint) says(m *ir.Param, write bool) string {
	w := t.w
	type group struct {
		rest, width facts.Sum
		row         bool
		least, most int64
	}
	var groups []group
	for _, a := range w.Uses(m, write) {
		if a.Atomic {
			return fmt.Sprintf("all (atomic, %s)", place(a))
		}
		if a.Index == nil {
			return "all"
		}
		p, row, width := t.rows(m, a)
		if p == nil || unbounded(newIntervals(w).within(a.Index, a.Known)) || !w.Named(p) {
			return fmt.Sprintf("all (%s)", place(a))
		}
		if g := w.One(p); g != nil && g.Kind == facts.IsRound && !row {
			if from, ok := g.From.Constant(); ok && from == 0 && g.Up && g.End.Equal(w.Size(m, 1)) {
				return "all"
			}
		}
		c, rest := p[""], p.Rest()
		i := slices.IndexFunc(groups, func(g group) bool { return g.row == row && g.rest.Equal(rest) && g.width.Equal(width) })
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
		from := w.Text(g.rest.Plus(facts.Fixed(g.least), 1))
		if to := w.Text(g.rest.Plus(facts.Fixed(g.most), 1)); to != from {
			parts = append(parts, fmt.Sprintf("%ss %s to %s", name, from, to))
		} else {
			parts = append(parts, name+" "+from)
		}
	}
	said := strings.Join(slices.Compact(parts), " and ")
	var counters []string
	for _, g := range groups {
		for _, product := range g.rest.Products() {
			for _, id := range facts.Factors(product) {
				if a := w.Atoms[id]; a.Kind == facts.IsRound && !slices.Contains(counters, a.Name) {
					counters = append(counters, a.Name)
				}
			}
		}
	}
	if len(counters) > 0 {
		said += " (for each " + strings.Join(counters, " and ") + " of a loop)"
	}
	return said
}

// rows returns the row of an access and the width of a row, if the index of the access is a row times a width, plus a column. Otherwise it returns the index.
func (t *Footprint) rows(m *ir.Param, a facts.Access) (p facts.Sum, row bool, width facts.Sum) {
	if m.Type.Kind == ir.Matrix {
		return a.Row, a.Row != nil, nil
	}
	for d := 2; d > 0; d-- {
		g := t.w.Place(facts.IsPlace, d)
		if g == nil {
			continue
		}
		step, _ := t.w.By(a.Index, g)
		if len(step) != 1 {
			continue
		}
		width = step
		k := step.Products()[0]
		if k == "" || step[k] != 1 || !t.w.Uniform(step) {
			continue
		}
		p = facts.Sum{}
		for m, n := range a.Index { // the products with the width
			if by, ok := facts.Without(m, k); ok {
				p[by] = n
			}
		}
		return p, true, width
	}
	return a.Index, false, nil
}
