package lanes

import (
	"fmt"
	"go/token"
	"maps"
	"slices"
	"sort"
	"strings"

	"github.com/go-halyard/halyard/internal/translate/facts"
	"github.com/go-halyard/halyard/internal/translate/ir"
)

// scatters reports whether a statement stores to elements of arrays at indexes that differ between threads.
func (w *values) scatters(s *ir.Stmt) (found bool) {
	var varies func(v *ir.Value) bool
	varies = func(v *ir.Value) bool {
		if x, ok := w.bound[v]; ok {
			return x.how == differ
		}
		if n := w.vars[facts.Loaded(v)]; n != nil {
			return n.how == differ
		}
		return slices.ContainsFunc(v.Operands(), varies)
	}
	(&ir.Region{List: []*ir.Stmt{s}}).Visit(func(t *ir.Stmt) {
		if t.Do == ir.Store && w.inArray(t.Place, t.Pos) != nil {
			for _, p := range t.Place.Path[1:] {
				found = found || p.Index != nil && varies(p.Index)
			}
		}
	}, nil)
	return found
}

// mostScattered limits the share of such stores: a kernel must take at least this many times as long as the stores alone. The stores make vectors slower,
// because each lane runs alone; vectors make the rest several times faster.
const mostScattered = 7

const beside = "beside stores to places that differ between threads, "

// perLane writes the first statements of a list thread by thread, if they store to elements of arrays at indexes that differ between threads. Vectors
// have no such stores. Each thread stores to its own element of the slice, so the order of the threads does not matter. perLane returns the number of
// these statements.
func (w *writer) perLane(list []*ir.Stmt) (n int) {
	if w.island != nil || list[0].Do == ir.Let {
		return 0
	}
	for i, s := range list {
		if w.scatters(s) {
			n = i + 1
		} else if s.Do != ir.Let || !facts.Pure(s.Value) {
			break
		}
	}
	if n == 0 {
		return 0
	}
	r := &ir.Region{List: list[:n]}
	if mostScattered*weight(r)*w.times > weight(w.Function.Body) {
		refuse(list[0].Pos, "these stores are to places that differ between threads, and are too large a part of the kernel")
	}
	w.allow(r)
	arrays, active := maps.Clone(w.arrays), w.active
	w.stored, w.active, w.island = true, "", &island{lane: w.fresh("lane"), known: map[any]value{}}
	body := w.captured(func() { w.block(r) })
	i := w.island
	w.write("{")
	if active != "" {
		on := i.spill(&w.vectorTypes, "on", fmt.Sprintf("%s.ToInt%ds()", active, w.bits), fmt.Sprintf("int%d", w.bits))
		i.sets = append([]line{{text: "if " + on + " == 0 {", pos: w.pos}, {text: "continue", pos: w.pos}, {text: "}", pos: w.pos}}, i.sets...)
	}
	w.lines = append(w.lines, i.spilled...)
	w.write("for %s := range %s {", i.lane, w.lanesOf())
	w.lines = slices.Concat(w.lines, i.sets, body)
	w.write("}")
	w.write("}")
	w.arrays, w.active, w.island = arrays, active, nil
	return n
}

// weight estimates how long a thread takes for statements, in values. A loop whose number of rounds is not known counts as 8.
func weight(r *ir.Region) (sum int) {
	if r == nil {
		return 0
	}
	var value func(v *ir.Value)
	value = func(v *ir.Value) {
		if sum++; v.Bound {
			return
		}
		for _, a := range v.Operands() {
			value(a)
		}
	}
	for _, s := range r.List {
		for _, v := range s.Operands() {
			value(v)
		}
		if s.Do == ir.Let {
			for _, a := range s.Value.Operands() {
				value(a)
			}
		} else {
			sum++
		}
		if s.Do == ir.Loop {
			sum += rounds(s) * (weight(s.Head) + weight(s.Then) + weight(s.Step) + 1)
			continue
		}
		for _, in := range s.Regions() {
			sum += weight(in)
		}
	}
	return min(sum, 1<<20)
}

// island is the state while statements are written for one lane. All values are alike there.
type island struct {
	lane    string        // the number of the lane
	known   map[any]value // the lane's numbers of values and locals from outside
	spilled []line        // lines that store vectors to arrays
	sets    []line        // lines that read the lane's numbers from these arrays
}

// spill writes a vector to an array, and returns the element for the lane.
func (i *island) spill(w *vectorTypes, name, vector, element string) string {
	name = w.fresh(name)
	i.spilled = append(i.spilled, line{text: fmt.Sprintf("var %s [%d]%s", name, 512/w.bits, element), pos: w.pos},
		line{text: fmt.Sprintf("%s.Store(%s[:])", vector, name), pos: w.pos})
	return fmt.Sprintf("%s[%s]", name, i.lane)
}

// inLane returns the number of a value or a local in the lane for which statements are written. of is the value or the local.
func (w *vectorTypes) inLane(of any, base string, v value) value {
	i := w.island
	if i == nil || v.how == alike {
		return v
	}
	if x, ok := i.known[of]; ok {
		return x
	}
	var text string
	switch {
	case v.how == leads && v.step == "":
		text = v.text + " + " + i.lane
	case v.how == leads:
		text = fmt.Sprintf("%s + %s*%s", v.text, v.step, i.lane)
	case v.kind == ir.Bool:
		text = i.spill(w, "of", fmt.Sprintf("%s.ToInt%ds()", v.text, w.bits), fmt.Sprintf("int%d", w.bits)) + " != 0"
	default:
		k := either(v.small != (key{}), ir.I32, v.kind)
		text = converted(v.kind, i.spill(w, "of", v.text, strings.ToLower(strings.TrimSuffix(w.vectorOf(k), "s"))))
	}
	x := value{text: w.fresh(either(base == "", "v", base)), kind: v.kind}
	i.sets = append(i.sets, line{text: x.text + " := " + text, pos: w.pos, name: x.text})
	w.frozen[x.text] = true
	i.known[of] = x
	return x
}

// plain returns the text of an element, in Go.
func (w *values) plain(p *ir.Place) string {
	m := w.param(p.Param)
	if m.Named {
		refuse(w.pos, "the elements of %s have type %s; only the predeclared types of numbers become vectors", m.Name, m.Element)
	}
	text := m.Name
	for _, s := range p.Path {
		text += "[" + w.value(s.Index).text + "]"
	}
	return text
}

// allow refuses statements and values that cannot be written thread by thread.
func (w *writer) allow(r *ir.Region) {
	inside := map[*ir.Local]bool{}
	r.Visit(func(s *ir.Stmt) {
		for _, l := range append(w.homes.Before[s], w.homes.Begins[s]) {
			inside[l] = true
		}
		switch s.Do {
		case ir.Let, ir.If, ir.Loop:
		case ir.Store:
			if l := s.Place.Local; l == nil || !inside[l] {
				w.ownElement(s)
			}
		default:
			refuse(s.Pos, beside+"this does not become vector code")
		}
	}, func(v *ir.Value) {
		switch {
		case v.Op == ir.Go && strings.HasPrefix(v.Of, "math."):
			w.imports["math"] = "math"
		case v.Op == ir.Call || v.Op == ir.Atomic || v.Op == ir.Go:
			refuse(v.Pos, beside+"this call does not become vector code")
		case v.Op == ir.Within || v.Op == ir.UpTo || v.Op == ir.Composite:
			refuse(v.Pos, beside+"this does not become vector code")
		case (v.Op == ir.Div || v.Op == ir.Rem || v.Op == ir.Shl || v.Op == ir.Shr) && !facts.Pure(v):
			refuse(v.Args[1].Pos, panicsInside)
		case v.Op == ir.Extract && len(v.Args) > 1 && !w.stays(v.Args[1], v.Args[0].Type.Len):
			refuse(v.Args[1].Pos, panicsInside)
		case v.Op == ir.Load && v.Place.Local == nil:
			w.isInside(v.Place)
			name := w.param(v.Place.Param).Name
			w.loads = append(w.loads, name)
			w.useWhole(name)
		case v.Op == ir.Load && (len(v.Place.Path) > 0 || w.vars[v.Place.Local] == nil && !inside[v.Place.Local]):
			refuse(v.Pos, beside+"%s does not become vector code", v.Place.Local.Name)
		}
	})
}

const panicsInside = beside + "this does not become vector code, because it could panic"

// ownElement refuses a store, unless it is to an element of an array that only this thread uses: the element of a slice at the thread's place.
func (w *writer) ownElement(s *ir.Stmt) {
	var n *inArray
	if s.Place.Local == nil {
		n = w.inArray(s.Place, s.Pos)
	}
	if n == nil {
		refuse(s.Pos, beside+"only such stores become vector code")
	}
	a, ok := w.known(n.index[0])
	if !ok || a.step != 1 {
		refuse(s.Pos, "the stores of the threads are not to neighbours: the index is not the thread's place plus a number that is known before the row")
	}
	w.isInside(s.Place)
	w.use(n, "0: "+a.text, true)
	w.loads = append(w.loads, n.slice)
	mine := func(p *ir.Place, pos token.Pos) {
		if p == nil || p.Param != s.Place.Param {
			return
		}
		if b, ok := w.known(p.Path[0].Index); !ok || b.step != 1 || b.text != a.text {
			refuse(pos, "threads may share elements of %s, which is used in another way, too", n.slice)
		}
	}
	w.Function.Body.Visit(func(t *ir.Stmt) { mine(t.Place, t.Pos) }, func(v *ir.Value) { mine(v.Place, v.Pos) })
}

// isInside makes sure that the indexes of a place are in range: it adds conditions under which threads or rows are left to the loop, or refuses the place.
func (w *writer) isInside(p *ir.Place) {
	t := p.Param.Type
	for _, s := range p.Path {
		if t.Kind == ir.Array {
			if !w.stays(s.Index, t.Len) {
				refuse(s.Pos, panicsInside)
			}
			t = t.Elem
			continue
		}
		if t = t.Elem; s.Index == nil || s.Col != nil {
			refuse(s.Pos, panicsInside)
		}
		length := "len(" + w.param(p.Param).Name + ")"
		a, ok := w.known(s.Index)
		switch {
		case ok && a.step == 1:
			w.leaveOutside(a, length)
		case ok && a.step == 0:
			w.leaveIf(fmt.Sprintf("uint(%s) >= uint(%s)", a.text, length))
		case isBelow(w.belowOf(s.Index), length):
		default:
			const most = 1 << 16
			n := sort.Search(most, func(n int) bool { return w.stays(s.Index, int64(n)) })
			if n == most {
				refuse(s.Pos, panicsInside)
			}
			w.leaveIf(fmt.Sprintf("%s < %d", length, n))
		}
	}
}

// stays reports whether an index is always within an array of n elements.
func (w *writer) stays(v *ir.Value, n int64) bool {
	if l := facts.Loaded(v); l != nil {
		return w.staysIn(l, 0, n, false, nil)
	}
	return valueIn(w.body(), v, 0, n)
}
