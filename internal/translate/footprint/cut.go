package footprint

import (
	"fmt"
	"strings"

	"github.com/go-halyard/halyard/internal/translate/facts"
	"github.com/go-halyard/halyard/internal/translate/ir"
)

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

// apart says why threads with different numbers for the atom g may use the same elements of m. The reason is empty if they cannot. The parameter name is the
// name of g.
func (t *Footprint) apart(m *ir.Param, all []facts.Access, g *facts.Atom, name string) reason {
	for _, a := range all {
		if a.Atomic {
			return reason{text: fmt.Sprintf("%s: threads change elements of %s together, by an atomic function", place(a), m.Name)}
		}
	}
	type part struct{ step, rest facts.Sum }
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
	}
	p := proof{Reach: t.w}
	for i, a := range all {
		for k, b := range all {
			if p.less(parts[i].rest, a.Known, parts[k].rest, b.Known, parts[0].step) {
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
