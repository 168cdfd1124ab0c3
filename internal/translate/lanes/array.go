package lanes

import (
	"fmt"
	"go/token"
	"slices"
	"strings"

	"github.com/go-halyard/halyard/internal/translate/facts"
	"github.com/go-halyard/halyard/internal/translate/ir"
)

// nested is a use of elements of arrays, where the arrays are elements of a slice. If two uses have the same owner, each thread uses the same arrays in both,
// and no other thread uses these.
type nested struct {
	slice, owner string
	stored       bool
	pos          token.Pos
}

// inArray is an element of an array that is an element of a slice, perhaps in several levels: slice[index[0]][index[1]]. sizes are the lengths of the arrays.
// A structure whose fields are numbers of one type counts as an array of them: its index is a constant, and has a name.
type inArray struct {
	place *ir.Place
	pos   token.Pos
	slice string
	index []*ir.Value
	names map[int]string // of fields, by their place in index
	sizes []int64
}

// inArray returns the inArray at a place, or nil if the place is something else, or not in a parameter of the kernel.
func (w *memory) inArray(p *ir.Place, pos token.Pos) *inArray {
	if p.Local != nil || p.Param.Type.Kind != ir.Slice || p.Param.Type.Elem.Kind != ir.Array && p.Param.Type.Elem.Kind != ir.Struct || w.Part != nil && w.Part.Round != "" {
		return nil
	}
	n := &inArray{place: p, pos: pos, slice: w.param(p.Param).Name, names: map[int]string{}}
	t := p.Param.Type
	for i, s := range p.Path {
		switch {
		case t.Kind == ir.Struct && numbersOnly(t):
			n.sizes, n.names[i] = append(n.sizes, int64(len(t.Fields))), "."+t.Fields[s.Field].Name
			s.Index = &ir.Value{Op: ir.Const, Type: ir.Basic(ir.Int), Const: int64(s.Field), Pos: pos}
		case t.Kind == ir.Array:
			n.sizes = append(n.sizes, t.Len)
		case t.Kind != ir.Slice:
			return nil
		}
		if n.index = append(n.index, s.Index); t.Kind == ir.Slice {
			t = t.Elem
		} else {
			t = t.Inner(s.Field)
		}
	}
	return n
}

// numbersOnly reports whether the fields of a structure are numbers of one type.
func numbersOnly(t *ir.Type) bool {
	return !slices.ContainsFunc(t.Fields, func(f ir.Field) bool {
		return f.Type.Kind != t.Fields[0].Type.Kind || f.Type.Kind >= ir.C64 || f.Name == "_"
	})
}

// elementOf returns an element of an array.
func (n *inArray) elementOf(at *ir.Value, size int64) *inArray {
	m := *n
	m.index, m.sizes = append(slices.Clone(n.index), at), append(slices.Clone(n.sizes), size)
	return &m
}

// number returns the type of an element, and makes lanes as wide as the type. It refuses types other than numbers of 32 and 64 bits.
func (w *memory) number(n *inArray, t *ir.Type) ir.Kind {
	if m := w.param(n.place.Param); m.Named || !t.Integer() && !t.Float() || t.Bits() < 32 {
		refuse(n.pos, "the elements of %s have type %s; only the predeclared types of numbers of 32 and 64 bits become vectors", n.slice, goType(t))
	}
	w.lane(t.Kind)
	if w.widened(t.Kind) {
		refuse(n.pos, "elements of arrays of 32 bits do not become vectors beside numbers of 64 bits that differ between threads")
	}
	return t.Kind
}

// where has the indexes of an element.
type where struct {
	texts []string
	leads int // which of the indexes differs between threads, or -1
	owner string
}

// find returns the indexes of an element. It refuses indexes that may be out of range, or adds conditions that keep them in range.
func (w *values) find(n *inArray) where {
	at := where{leads: -1, owner: "all"}
	for i, index := range n.index {
		length := "len(" + n.slice + ")"
		if i > 0 {
			length = fmt.Sprint(n.sizes[i-1])
		}
		x := w.indexOf(index, index.Pos)
		a, ok := w.known(index)
		_, exact := x.natural()
		switch {
		case x.how == differ || x.how == leads && (at.leads >= 0 || x.step != "" || i > 0 && i < len(n.index)-1):
			refuse(index.Pos, notNeighbours)
		case x.how == leads && ok && a.step == 1:
			at.leads, at.owner = i, fmt.Sprintf("%d: %s", i, a.text)
			w.leaveOutside(a, length)
		case x.how == leads:
			if at.leads, at.owner = i, ""; !isBelow(w.belowOf(index), length) {
				refuse(index.Pos, "%s is not compared with %s by the loop around; only indexes of loops such as for %[1]s := i; %[1]s < %[2]s; %[1]s += n become vectors",
					sourceName(index), length)
			}
		case i > 0 && exact:
		case w.withinLength(index, x, length):
			if exact {
				x.text = fmt.Sprint(x.exact)
			}
		case w.stored:
			refuse(index.Pos, "%s is read at an index that is checked only here, after something was stored; read it before", n.slice)
		default:
			x = w.name("i", x)
			w.goBack(fmt.Sprintf("uint(%s) >= uint(%s)", x.text, length))
		}
		at.texts = append(at.texts, x.text)
	}
	return at
}

// sourceName returns the name of the Go variable with a value, for messages.
func sourceName(v *ir.Value) string {
	if l := facts.Loaded(v); l != nil {
		return l.Name
	}
	return either(v.Name == "", "this index", v.Name)
}

// use notes a use of an element, or of the elements of an array.
func (w *memory) use(n *inArray, owner string, stored bool) {
	w.nested = append(w.nested, nested{n.slice, owner, stored, n.pos})
	if !stored {
		w.loads = append(w.loads, n.slice)
	}
	w.useWhole(n.slice)
}

func (n *inArray) text(texts []string) string {
	text := n.slice
	for i, x := range texts {
		text += either(n.names[i] == "", "["+x+"]", n.names[i])
	}
	return text
}

// flat returns the name of a slice of all numbers in the arrays. In it, at is the index of the first thread's number, and step the distance from the number of
// one thread to that of the next.
func (w *memory) flat(n *inArray, k ir.Kind, texts []string) (name, at, step string) {
	each := int64(1)
	for i, size := range n.sizes {
		if each *= size; i == 0 {
			at = parenthesized(texts[1])
		} else {
			at = fmt.Sprintf("(%s*%d + %s)", at, size, parenthesized(texts[1+i]))
		}
	}
	name = w.hoist(n.slice+"Of", fmt.Sprintf("lanes.Flat[%s](%s)", goType(ir.Basic(k)), n.slice))
	return name, fmt.Sprintf("%s*%d+%s", parenthesized(texts[0]), each, at), fmt.Sprint(each)
}

// loadNested returns an element of an array.
func (w *values) loadNested(n *inArray) value {
	k := w.number(n, n.place.Type)
	at := w.find(n)
	w.use(n, at.owner, false)
	last := len(n.index) - 1
	switch at.leads {
	case -1:
		return value{text: n.text(at.texts), kind: k}
	case last:
		return w.loaded(k, n.text(at.texts[:last]), at.texts[last])
	}
	name, from, step := w.flat(n, k, at.texts)
	return w.gathered(k, name, from, step)
}

// storeNested writes an element of an array.
func (w *values) storeNested(n *inArray, x value) {
	k := w.number(n, n.place.Type)
	at := w.find(n)
	if at.owner == "all" || at.owner == "" {
		refuse(n.pos, "the stores of the threads are not to neighbours: no index is the thread's place plus a number that is known before the row")
	}
	w.use(n, at.owner, true)
	w.stored = true
	last := len(n.index) - 1
	if at.leads == last {
		w.storeTo(k, w.vector(x), n.text(at.texts[:last]), at.texts[last])
		return
	}
	name, from, step := w.flat(n, k, at.texts)
	w.apartCosts(costOfScatter)
	w.write("lanes.Scatter%s(%s, %s, %s, %s, %s)", w.vectorName(k), w.vector(x), w.lanes(), name, from, step)
}

// mostUnrolled is the length of the longest arrays that are kept in vectors: see columns.
const mostUnrolled = 16

// columns keep arrays in vectors. Each thread has an array; the vector values[i] has element i of the arrays of all threads of the vector.
type columns struct {
	array    *inArray
	at       where
	island   *island
	values   []value
	changing map[*ir.Local]bool // if they are loaded in front of a loop: the locals that change in the loop
}

const onlySmallArrays = "only loops without others inside, over arrays of up to %d numbers that are elements of the kernel's slices, become vectors"

// array notes an array that a let reads. Its elements are loaded only where they are used. The result is the same, because the kernel does not store to the
// slice.
func (w *values) array(v *ir.Value) {
	if n := w.inArrays(v); n != nil {
		if w.arrays[v] = (&columns{array: n, island: w.island}); w.island == nil {
			w.arrays[v].at = w.find(n)
		}
		return
	}
	refuse(v.Pos, onlySmallArrays, mostUnrolled)
}

// inArrays returns the array that a value reads, if its numbers can be in vectors: it is small, and its slice is not stored to.
func (w *memory) inArrays(v *ir.Value) *inArray {
	if v.Op != ir.Load || v.Type.Kind != ir.Array || v.Type.Len > mostUnrolled || v.Type.Elem.Kind == ir.Array {
		return nil
	}
	n := w.inArray(v.Place, v.Pos)
	if n == nil || w.effects.Params[v.Place.Param.Index].Written {
		return nil
	}
	return n
}

// column returns an element of an array.
func (w *values) column(a *columns, v *ir.Value) value {
	x := w.value(v.Args[1])
	k, ok := x.natural()
	if !ok || k >= v.Args[0].Type.Len {
		refuse(v.Pos, onlySmallArrays, mostUnrolled)
	}
	return w.fill(a, v.Args[0])[k]
}

// fill returns the elements of an array. It loads them if they are not in vectors already.
func (w *values) fill(a *columns, v *ir.Value) []value {
	if a.island != w.island {
		a = &columns{array: a.array, island: w.island}
		w.arrays[v] = a
	}
	if a.values != nil {
		return a.values
	}
	for _, h := range w.hoistedArrays {
		if w.island == nil && facts.SamePlace(h.array.place, v.Place, func(p *ir.Place) bool { return p.Local != nil && p.Local.Space == ir.Private && !h.changing[p.Local] }) {
			a.values = h.values
			return a.values
		}
	}
	if w.island == nil {
		a.values = w.columnsOf(a.array, a.at, v.Type)
		return a.values
	}
	for k := range v.Type.Len {
		a.values = append(a.values, value{text: w.temp("e", fmt.Sprintf("%s[%d]", w.plain(v.Place), k)), kind: v.Type.Elem.Kind})
	}
	return a.values
}

// columnsOf returns the vectors of an array's elements.
func (w *values) columnsOf(n *inArray, at where, t *ir.Type) (values []value) {
	k := w.number(n, t.Elem)
	if at.leads > 0 {
		refuse(n.pos, notNeighbours)
	}
	w.use(n, at.owner, false)
	element := n.elementOf(nil, t.Len)
	for i := int64(0); i < t.Len; i++ {
		texts := append(slices.Clone(at.texts), fmt.Sprint(i))
		if at.leads == 0 && i+4 <= t.Len && w.bits == 32 { // four at once
			name, from, step := w.flat(element, k, texts)
			var four []string
			for range 4 {
				x := value{text: w.fresh(fmt.Sprintf("%s_%d", n.slice, len(values))), how: differ, kind: k}
				four, values = append(four, x.text), append(values, x)
				w.frozen[x.text] = true
			}
			w.write("%s := lanes.Four%s(%s, %s, %s)", strings.Join(four, ", "), w.vectorName(k), name, from, step)
			w.write("_, _, _, _ = %s", strings.Join(four, ", "))
			w.apartCosts(costOfFour)
			i += 3
			continue
		}
		x := value{text: element.text(texts), kind: k}
		if at.leads == 0 {
			name, from, step := w.flat(element, k, texts)
			x = w.gathered(k, name, from, step)
		}
		x.text = w.temp(fmt.Sprintf("%s_%d", n.slice, i), x.text)
		values = append(values, x)
	}
	return values
}

// sure reports whether an index is known to be within its slice or array before it is computed. A load that is moved in
// front of a loop needs that, because in Go an index that is out of range panics only if a round of the loop runs.
func (w *values) sure(index *ir.Value) bool {
	_, ok := w.known(index)
	return ok || w.belowOf(index) != ""
}
