package lanes

import (
	"fmt"
	"go/token"
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
		if t.Do == ir.Store && w.isInArray(t.Place) {
			for _, p := range t.Place.Path[1:] {
				found = found || varies(p.Index)
			}
		}
	}, nil)
	return found
}

func (w *memory) isInArray(p *ir.Place) bool { return p.Local == nil && w.inArray(p, w.pos) != nil }

// mostScattered is how many times as long as such stores the whole kernel must take. The vectors are taken apart for them, and the rest is several times
// faster.
const mostScattered = 7

const beside = "beside stores to places that differ between threads, "

// island writes the first statements of a list thread by thread, if they store to elements of arrays at indexes that differ between threads. Vectors
// have no such stores. Each thread stores to its own element of the slice, so that it makes no difference when the others do. It returns how many
// statements these are.
func (w *writer) island(list []*ir.Stmt) (n int) {
	if list[0].Do == ir.Let {
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
	i := &islander{writer: w, lane: w.fresh("lane"), texts: map[any]string{}}
	i.allow(r)
	w.stored = true
	w.write("{")
	on := ""
	body := w.captured(func() { i.region(r) })
	if w.active != "" {
		on = i.spill("on", fmt.Sprintf("%s.ToInt%ds()", w.active, w.bits), fmt.Sprintf("int%d", w.bits))
	}
	w.lines = append(w.lines, i.spilled...)
	w.write("for %s := range %s {", i.lane, w.lanesOf())
	if on != "" {
		w.write("if %s == 0 {", on)
		w.write("continue")
		w.write("}")
	}
	w.lines = append(append(w.lines, i.sets...), body...)
	w.write("}")
	w.write("}")
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

// islander writes statements in Go, for one lane.
type islander struct {
	*writer
	lane    string
	texts   map[any]string // what values and locals are called
	spilled []line         // the vectors, as arrays
	sets    []line         // what they have for the lane
}

// spill writes a vector to an array, and returns the element for the lane.
func (i *islander) spill(name, vector, element string) string {
	name = i.fresh(name)
	i.spilled = append(i.spilled, line{text: fmt.Sprintf("var %s [%d]%s", name, 512/i.bits, element), pos: i.pos},
		line{text: fmt.Sprintf("%s.Store(%s[:])", vector, name), pos: i.pos})
	return fmt.Sprintf("%s[%s]", name, i.lane)
}

// outside returns the text, for the lane, of a value or a local that is outside of the statements.
func (i *islander) outside(of any, base string, v value) string {
	if i.texts[of] != "" {
		return i.texts[of]
	}
	text := v.text
	switch {
	case v.how == leads && v.step == "":
		text = v.text + " + " + i.lane
	case v.how == leads:
		text = fmt.Sprintf("%s + %s*%s", v.text, v.step, i.lane)
	case v.how == differ && v.kind == ir.Bool:
		text = i.spill("of", fmt.Sprintf("%s.ToInt%ds()", v.text, i.bits), fmt.Sprintf("int%d", i.bits)) + " != 0"
	case v.how == differ:
		k := either(v.small != (key{}), ir.I32, v.kind)
		text = converted(v.kind, i.spill("of", v.text, strings.ToLower(strings.TrimSuffix(i.vectorOf(k), "s"))))
	case v.exact == nil:
		text = converted(v.kind, text)
	}
	name := i.fresh(either(base == "", "v", base))
	i.sets = append(i.sets, line{text: name + " := " + text, pos: i.pos, name: name})
	i.texts[of] = name
	return name
}

// allow refuses what does not become a part of such statements.
func (i *islander) allow(r *ir.Region) {
	inside := map[*ir.Local]bool{}
	r.Visit(func(s *ir.Stmt) {
		for _, l := range append(i.homes.Before[s], i.homes.Begins[s]) {
			inside[l] = true
		}
		switch s.Do {
		case ir.Let, ir.If, ir.Loop:
		case ir.Store:
			if l := s.Place.Local; l == nil || !inside[l] {
				i.ownElement(s)
			}
		default:
			refuse(s.Pos, beside+"this does not become vector code")
		}
	}, func(v *ir.Value) {
		switch {
		case v.Op == ir.Go && strings.HasPrefix(v.Of, "math."):
			i.imports["math"] = "math"
		case v.Op == ir.Call || v.Op == ir.Atomic || v.Op == ir.Go:
			refuse(v.Pos, beside+"this call does not become vector code")
		case v.Op == ir.Within || v.Op == ir.UpTo || v.Op == ir.Composite:
			refuse(v.Pos, beside+"this does not become vector code")
		case (v.Op == ir.Div || v.Op == ir.Rem || v.Op == ir.Shl || v.Op == ir.Shr) && !facts.Pure(v):
			refuse(v.Args[1].Pos, panicsInside)
		case v.Op == ir.Extract && len(v.Args) > 1 && !i.stays(v.Args[1], v.Args[0].Type.Len):
			refuse(v.Args[1].Pos, panicsInside)
		case v.Op == ir.Load && v.Place.Local == nil:
			i.isInside(v.Place)
			name := i.param(v.Place.Param).Name
			i.loads = append(i.loads, name)
			i.useWhole(name)
		case v.Op == ir.Load && (len(v.Place.Path) > 0 || i.vars[v.Place.Local] == nil && !inside[v.Place.Local]):
			refuse(v.Pos, beside+"%s does not become vector code", v.Place.Local.Name)
		}
	})
}

const panicsInside = beside + "this does not become vector code, because it could panic"

// ownElement refuses what a statement stores to, unless it is an element of the thread's element of a slice.
func (i *islander) ownElement(s *ir.Stmt) {
	var n *inArray
	if s.Place.Local == nil {
		n = i.inArray(s.Place, s.Pos)
	}
	if n == nil {
		refuse(s.Pos, beside+"only such stores become vector code")
	}
	a, ok := i.known(n.index[0])
	if !ok || a.step != 1 {
		refuse(s.Pos, "the stores of the threads are not to neighbours: the index is not the thread's place plus a number that is known before the row")
	}
	i.isInside(s.Place)
	i.use(n, "0: "+a.text, true)
	i.loads = append(i.loads, n.slice)
	mine := func(p *ir.Place, pos token.Pos) {
		if p == nil || p.Param != s.Place.Param {
			return
		}
		if b, ok := i.known(p.Path[0].Index); !ok || b.step != 1 || b.text != a.text {
			refuse(pos, "threads may share elements of %s, which is used in another way, too", n.slice)
		}
	}
	i.Function.Body.Visit(func(t *ir.Stmt) { mine(t.Place, t.Pos) }, func(v *ir.Value) { mine(v.Place, v.Pos) })
}

// isInside refuses an index that could be out of range, or leaves the threads for which it is to the loop.
func (i *islander) isInside(p *ir.Place) {
	t := p.Param.Type
	for _, s := range p.Path {
		if t.Kind == ir.Array {
			if !i.stays(s.Index, t.Len) {
				refuse(s.Pos, panicsInside)
			}
			t = t.Elem
			continue
		}
		if t = t.Elem; s.Index == nil || s.Col != nil {
			refuse(s.Pos, panicsInside)
		}
		length := "len(" + i.param(p.Param).Name + ")"
		a, ok := i.known(s.Index)
		switch {
		case ok && a.step == 1:
			i.leaveOutside(a, length)
		case ok && a.step == 0:
			i.leaveIf(fmt.Sprintf("uint(%s) >= uint(%s)", a.text, length))
		case isBelow(i.below[counted(s.Index)], length):
		default:
			const most = 1 << 16
			n := sort.Search(most, func(n int) bool { return i.stays(s.Index, int64(n)) })
			if n == most {
				refuse(s.Pos, panicsInside)
			}
			i.leaveIf(fmt.Sprintf("%s < %d", length, n))
		}
	}
}

// stays reports whether an index is always one of an array with n elements.
func (i *islander) stays(v *ir.Value, n int64) bool {
	if l := facts.Loaded(v); l != nil {
		return i.staysIn(l, 0, n, false, nil)
	}
	return i.valueIn(v, 0, n)
}

func (i *islander) region(r *ir.Region) {
	if r == nil {
		return
	}
	for _, s := range r.List {
		i.pos = s.Pos
		for _, l := range i.homes.Before[s] {
			i.define(l, l.Name, "var ", " "+goType(l.Type))
		}
		i.stmt(s)
	}
}

// define writes a line that declares a variable, between two texts.
func (i *islander) define(of any, base, before, after string) {
	name := i.fresh(either(base == "" || base == "_", "v", base))
	i.write("%s%s%s", before, name, after)
	i.write("_ = %s", name)
	i.texts[of] = name
}

func (i *islander) stmt(s *ir.Stmt) {
	switch s.Do {
	case ir.Let:
		v := s.Value
		i.define(v, v.Name, "", " := "+either(v.Type.Kind == ir.Array, "&", "")+i.compute(v))
	case ir.Store:
		if l := i.homes.Begins[s]; l != nil {
			i.define(l, l.Name, "", " := "+i.value(s.Value))
		} else if l := s.Place.Local; l != nil {
			i.write("%s = %s", i.texts[l], i.value(s.Value))
		} else if v := s.Value; !v.Bound && v.Op >= ir.Add && v.Op <= ir.Shr && v.Args[0].Op == ir.Load && facts.SamePlace(s.Place, v.Args[0].Place, never) {
			i.write("%s %s= %s", i.place(s.Place), v.Op, i.value(v.Args[1]))
		} else {
			i.write("%s = %s", i.place(s.Place), i.value(v))
		}
	case ir.If:
		i.write("if %s {", i.value(s.Value))
		i.region(s.Then)
		if s.Else != nil {
			i.write("} else {")
			i.region(s.Else)
		}
		i.write("}")
	case ir.Loop:
		i.loop(s)
	}
}

func (i *islander) loop(s *ir.Stmt) {
	n, constant := facts.ConstantRounds(s)
	switch c := s.Count; {
	case c == nil:
		i.write("for {")
		if i.region(s.Head); s.Value != nil {
			i.write("if !(%s) {", i.value(s.Value))
			i.write("break")
			i.write("}")
		}
	case constant && n <= mostUnrolled && !hasLoop(s.Then) && countsUp(c): // Go then knows that the indexes are within the arrays
		for _, v := range unrolls(s) { // all are loaded before the first store, for which the processor might wait
			for k := range n {
				at := number(c.Index.Type.Kind, k).text
				text := i.element(v, at)
				name := i.fresh("e")
				i.write("%s := %s", name, text)
				i.texts[elementOf{v, at}] = name
			}
		}
		for k := range n {
			i.texts[c.Index] = number(c.Index.Type.Kind, k).text
			i.write("{")
			i.region(s.Then)
			i.write("}")
		}
		return
	default:
		k, from, end := i.fresh(either(c.Index.Name == "" || c.Index.Name == "_", "k", c.Index.Name)), i.value(c.From), i.value(c.End)
		i.texts[c.Index] = k
		t := goType(c.Index.Type)
		stop := i.fresh("end")
		i.write("for %s, %s := %s(%s), %s(%s); %[1]s %[7]s %[2]s; %[1]s += %[8]d {", k, stop, t, from, t, end, c.Op, c.By)
	}
	i.region(s.Then)
	i.region(s.Step)
	i.write("}")
}

// countsUp reports whether a loop counts the numbers from 0 on.
func countsUp(c *ir.Count) bool {
	from, ok := facts.Constant(c.From)
	return ok && from == 0 && c.By == 1 && c.Op == ir.Lt && isSigned(c.Index.Type.Kind)
}

// elementOf is an element of an array, by the text of its index.
type elementOf struct {
	array *ir.Value
	index string
}

// element returns the text of an element of an array that a let has read.
func (i *islander) element(of *ir.Value, index string) string {
	if known := i.texts[elementOf{of, index}]; known != "" {
		return known
	}
	if of.Op != ir.Load {
		refuse(of.Pos, beside+"this does not become vector code")
	}
	if i.texts[of] == "" { // the array is read before
		text := i.place(of.Place)
		i.texts[of] = i.fresh("of")
		i.sets = append(i.sets, line{text: i.texts[of] + " := &" + text, pos: i.pos, name: i.texts[of]})
	}
	return i.texts[of] + "[" + index + "]"
}

// place returns the text of an element.
func (i *islander) place(p *ir.Place) string {
	text := i.param(p.Param).Name
	for _, s := range p.Path {
		text += "[" + i.value(s.Index) + "]"
	}
	return text
}

// value returns the text of a value where it is used.
func (i *islander) value(v *ir.Value) string {
	if !v.Bound {
		return i.compute(v)
	}
	if i.texts[v] != "" {
		return i.texts[v]
	}
	return i.outside(v, v.Name, i.writer.value(v))
}

// compute returns the text of a value where it is computed.
func (i *islander) compute(v *ir.Value) string {
	switch v.Op {
	case ir.InGrid:
		if v.Which[0] == 0 {
			return i.outside(ir.InGrid, "place", value{text: i.x, how: leads, kind: ir.Int})
		}
		fallthrough
	case ir.Const, ir.Argument, ir.Len, ir.Rows, ir.Cols:
		return i.writer.compute(v).text
	case ir.Extract:
		if len(v.Args) == 1 {
			return i.extract(v).text
		}
		return i.element(v.Args[0], i.value(v.Args[1]))
	case ir.Load:
		l := v.Place.Local
		if l == nil {
			return i.place(v.Place)
		}
		if i.texts[l] != "" {
			return i.texts[l]
		}
		return i.outside(l, l.Name, i.load(v))
	}
	var args []string
	for _, a := range v.Args {
		args = append(args, i.value(a))
	}
	switch {
	case v.Op == ir.Convert || v.Op == ir.Round:
		return converted(v.Type.Kind, args[0])
	case v.Op == ir.Go:
		return v.Of + "(" + strings.Join(args, ", ") + ")"
	case v.Op == ir.Min || v.Op == ir.Max:
		return fmt.Sprintf("%s(%s, %s)", v.Op, args[0], args[1])
	case len(args) == 1:
		return "(" + v.Op.String() + args[0] + ")"
	}
	return fmt.Sprintf("(%s %s %s)", args[0], v.Op, args[1])
}

// never reports that a place may change: see [facts.SamePlace].
func never(*ir.Place) bool { return false }
