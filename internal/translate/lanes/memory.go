package lanes

import (
	"fmt"
	"go/token"
	"maps"
	"slices"
	"strings"

	"github.com/go-halyard/halyard/internal/translate/facts"
	"github.com/go-halyard/halyard/internal/translate/ir"
)

// view is a part of a slice, of one element for each thread from the first on.
type view struct {
	name, slice, offset string
	loaded, stored      bool
}

// spread is elements of a slice that are the same distance apart. The index of a thread's element is its place times index.step, plus index.offset.
type spread struct {
	slice  string
	index  index
	stored bool
	pos    token.Pos
}

// The costs of loads and stores of elements that are apart, compared with those in the row's loop. The unit is what one operation on vectors saves.
const (
	costOfGather  = 6
	costOfFour    = 16
	costOfScatter = 12
	costOfCall    = 8 // a function that is called for each lane
	gainOfRoot    = 4
)

// memory knows the elements of slices that threads use.
type memory struct {
	rowFacts
	effects *facts.Effects
	active  string // the mask of the lanes that run what is written next, or "" for all
	stored  bool   // a store may come before what is written next

	views  []view
	spread []spread
	nested []nested
	whole  []string          // slices of which any element may be loaded
	loads  []string          // slices of which elements are loaded
	spans  map[string]string // the names of rows of matrices, by their text
	late   bool              // a row of a matrix is found while threads run

	times   int       // how often the statement that is written runs, or a guess
	gains   int       // operations on vectors, each counted as often as it runs
	costs   int       // costs of loads and stores of elements that are apart, in the same unit
	costsAt token.Pos // the first of these loads and stores
}

// apartCosts notes a load or a store of elements that are apart.
func (w *memory) apartCosts(cost int) {
	if w.costs == 0 {
		w.costsAt = w.pos
	}
	w.costs += cost * w.times * w.bits / 32 // a vector has fewer numbers of 64 bits, and saves less
}

const notNeighbours = "the elements of the threads are not neighbours: the index is not the thread's place plus a number that all threads of a row have"

// param returns the parameter of the function that is written for a parameter of the kernel.
func (w *rowFacts) param(m *ir.Param) Param {
	for w.given[m] != nil {
		m = w.given[m]
	}
	if m == nil || !slices.Contains(w.Function.Params, m) {
		refuse(w.pos, "only slices that are the kernel's parameters are indexed in vectors")
	}
	return w.Params[m.Index]
}

// element is an element of a slice of numbers: of a parameter, or of a row of a matrix.
type element struct {
	slice string
	late  string // of a row that is found while threads run: the text of all elements of the matrix
	index *ir.Value
	pos   token.Pos // of the index
	kind  ir.Kind
	array *inArray // or it is an element of an array
}

// element returns the element at a place.
func (w *values) element(p *ir.Place, pos token.Pos) element {
	if p.Local != nil || p.Param.Type.Kind != ir.Slice && p.Param.Type.Kind != ir.Matrix || len(p.Path) == 0 {
		refuse(pos, "only slices that are the kernel's parameters are indexed in vectors")
	}
	if n := w.inArray(p, pos); n != nil {
		return element{array: n, pos: pos}
	}
	m, last := w.param(p.Param), p.Path[len(p.Path)-1]
	if len(p.Path) != 1 || p.Type.Kind == ir.Bool || p.Type.Kind >= ir.C64 || m.Named {
		refuse(pos, "the elements of %s have type %s; only the predeclared types of numbers become vectors", m.Name, m.Element)
	}
	e := element{slice: m.Name, index: last.Index, pos: last.Index.Pos, kind: p.Type.Kind}
	if last.Col != nil {
		e.slice, e.late = w.rowOf(m.Name, last.Index)
		e.index, e.pos = last.Col, last.Col.Pos
	}
	return e
}

// rowOf returns the slice that is a row of a matrix. Span returns no elements for a row that the matrix does not have, so what proves that a column is an
// index of the slice also proves that the matrix has the row.
func (w *values) rowOf(matrix string, row *ir.Value) (name, late string) {
	a, known := w.known(row)
	known = known && a.step == 0
	text := fmt.Sprintf("%s.Span(%s, 1)", matrix, a.text)
	if !known {
		i := w.value(row)
		if i.how != alike {
			refuse(row.Pos, "the elements of the threads are not neighbours: their rows differ")
		}
		text = fmt.Sprintf("%s.Span(%s, 1)", matrix, w.name("i", i).text)
		late = fmt.Sprintf("%[1]s.Span(0, %[1]s.Rows())", matrix)
	}
	if name = w.spans[text]; name != "" {
		return name, late
	}
	if name = w.fresh(matrix + "Row"); known {
		w.spans[text] = name
	} else {
		w.put(name, ":=", text)
		w.late = true
	}
	return name, late
}

// view returns the part of a slice that begins with the first thread's element, for an index that is known before the threads run.
func (w *memory) view(e element, stored bool) (string, bool) {
	a, ok := w.known(e.index)
	if !ok || a.step != 1 || e.late != "" {
		return "", false
	}
	for i := range w.views {
		if w.views[i].slice == e.slice && w.views[i].offset == a.text {
			w.views[i].loaded, w.views[i].stored = w.views[i].loaded || !stored, w.views[i].stored || stored
			return w.views[i].name, true
		}
	}
	n := view{w.fresh(fmt.Sprintf("%s%d", e.slice, len(w.views))), e.slice, a.text, !stored, stored}
	w.views = append(w.views, n)
	return n.name, true
}

// spreads notes elements that are a step apart, for an index that is known before the threads run. It returns the index of the vector's first thread and
// the step.
func (w *memory) spreads(e element, stored bool) (at, step string, ok bool) {
	a, ok := w.known(e.index)
	if !ok || a.step < 2 || a.step > 1<<16 || e.late != "" || w.widened(e.kind) {
		return "", "", false
	}
	i := slices.IndexFunc(w.spread, func(s spread) bool { return s.slice == e.slice && s.index.step == a.step && s.index.text == a.text })
	if i < 0 {
		i = len(w.spread)
		w.spread = append(w.spread, spread{slice: e.slice, index: a, pos: e.pos})
	}
	w.spread[i].stored = w.spread[i].stored || stored
	return fmt.Sprintf("%d*%s+%s", a.step, w.x, parenthesized(a.text)), fmt.Sprint(a.step), true
}

// load returns what is at a place.
func (w *values) load(v *ir.Value) value {
	if l := v.Place.Local; l != nil && l.Space == ir.Private && len(v.Place.Path) == 0 {
		n := w.vars[l]
		if n == nil {
			refuse(v.Pos, "this expression does not become a vector")
		}
		x := value{text: n.name, how: n.how, step: n.step, kind: n.kind}
		if n.small {
			x.kind, x.small = ir.Int, n.key
		}
		return w.inLane(l, l.Name, x)
	}
	if l := v.Place.Local; l != nil && l.Space == ir.Constant {
		return w.tabled(v, l)
	}
	if w.island != nil {
		return value{text: w.plain(v.Place), kind: numberOf(v)}
	}
	e := w.element(v.Place, v.Pos)
	if e.array != nil {
		return w.loadNested(e.array)
	}
	if name, ok := w.view(e, false); ok {
		return w.loaded(e.kind, name, w.at)
	}
	whole := either(e.late == "", e.slice, e.late)
	w.loads = append(w.loads, whole)
	if at, step, ok := w.spreads(e, false); ok {
		return w.gathered(e.kind, e.slice, at, step)
	}
	at := w.indexOf(e.index, e.pos)
	if at.how == differ {
		refuse(e.pos, notNeighbours)
	}
	w.useWhole(whole)
	if at.how == alike {
		return w.loadAlike(v, e, at)
	}
	if w.stored {
		refuse(v.Pos, "%s is read at an index that is checked only here, after something was stored; read it before", e.slice)
	}
	at = w.name("i", at)
	if at.step != "" {
		if w.widened(e.kind) {
			refuse(e.pos, notNeighbours)
		}
		w.goBack(fmt.Sprintf("!lanes.Covers(%s, %s, lanes.Lanes%d().Len(), len(%s))", at.text, at.step, w.bits, e.slice))
		return w.gathered(e.kind, e.slice, at.text, at.step)
	}
	w.goBack(fmt.Sprintf("uint(%s) > uint(len(%s)) || len(%[2]s)-%[1]s < lanes.Lanes%[3]d().Len()", at.text, e.slice, w.bits))
	return w.loaded(e.kind, e.slice, at.text)
}

// tabled returns an element of a table, which is a variable of the package.
func (w *values) tabled(v *ir.Value, l *ir.Local) value {
	text, t := l.Table.Name, l.Type
	if w.foreign.IsValid() || slices.ContainsFunc(w.Params, func(m Param) bool { return m.Name == text }) {
		refuse(v.Pos, "this table does not become a part of vector code")
	}
	x := value{kind: numberOf(v), still: w.Part == nil || w.Part.Round == ""}
	for _, s := range v.Place.Path {
		if s.Index == nil {
			text, t = text+"."+t.Fields[s.Field].Name, t.Fields[s.Field].Type
			continue
		}
		at, length := w.indexOf(s.Index, s.Pos), fmt.Sprint(t.Len)
		a, known := w.known(s.Index)
		switch _, exact := at.natural(); {
		case at.how != alike:
			refuse(s.Index.Pos, "the threads read different elements of %s: package simd loads neighbours only", l.Table.Name)
		case exact || isBelow(w.belowOf(s.Index), length):
		case known && a.step == 0:
			w.leaveIf(fmt.Sprintf("uint(%s) >= %s", a.text, length))
		case w.stored:
			refuse(v.Pos, "%s is read at an index that is checked only here, after something was stored; read it before", l.Table.Name)
		default:
			at = w.name("i", at)
			at.still = false // it is checked only here
			w.goBack(fmt.Sprintf("uint(%s) >= %s", at.text, length))
		}
		text, t, x.still = text+"["+at.text+"]", t.Elem, x.still && at.still
	}
	x.text = converted(x.kind, text)
	return x
}

// indexOf returns the value of an index, which is an int if all threads have it.
func (w *values) indexOf(v *ir.Value, pos token.Pos) value {
	outer := w.indexing
	w.indexing = true
	at := w.value(v)
	w.indexing = outer
	if at.how == alike && at.kind != ir.Int {
		if bits(at.kind) == 64 && !isSigned(at.kind) {
			refuse(pos, "an index of 64 bits without sign does not become a vector; use an int")
		}
		at.text, at.kind = converted(ir.Int, at.text), ir.Int
	}
	return at
}

// loadAlike returns an element that all threads have.
func (w *values) loadAlike(v *ir.Value, e element, at value) value {
	x := value{kind: e.kind}
	if e.late == "" && w.withinLength(e.index, at, "len("+e.slice+")") {
		if at.exact != nil {
			at.text = fmt.Sprint(at.exact)
		}
		// In the rounds of a loop the index changes from round to round.
		x.still = at.still && (w.Part == nil || w.Part.Round == "")
	} else {
		if w.stored {
			refuse(v.Pos, "%s is read at an index that is checked only here, after something was stored; read it before", e.slice)
		}
		at = w.name("i", at)
		w.goBack(fmt.Sprintf("uint(%s) >= uint(len(%s))", at.text, e.slice))
	}
	x.text = fmt.Sprintf("%s[%s]", e.slice, at.text)
	return x
}

// withinLength reports whether an index that is the same for all threads is known to be below a length. It may add a condition under which the row is left to
// the loop.
func (w *values) withinLength(index *ir.Value, at value, length string) bool {
	below := w.belowOf(index)
	n, exact := at.natural()
	a, ok := w.known(index)
	switch {
	case isBelow(below, length):
	case exact:
		w.leaveIf(fmt.Sprintf("%s <= %d", length, n))
	case ok && a.step == 0:
		w.leaveIf(fmt.Sprintf("uint(%s) >= uint(%s)", a.text, length))
	case below != "":
		w.leaveIf(fmt.Sprintf("%s < %s", length, below))
	default:
		return false
	}
	return true
}

// belowOf returns an exclusive upper bound of an index that is not negative, or "" if none is known.
func (w *values) belowOf(v *ir.Value) string {
	if v.Op == ir.And {
		for _, a := range v.Args {
			if n, ok := facts.Constant(a); ok && n >= 0 && n < 1<<30 {
				return fmt.Sprint(n + 1)
			}
		}
	}
	return w.below[counted(v)]
}

// counted returns the local or the counter that an index reads, or nil for another index.
func counted(v *ir.Value) any {
	if v.Op == ir.Counter {
		return v
	}
	if l := facts.Loaded(v); l != nil {
		return l
	}
	return nil
}

// isBelow reports whether every number below the first bound is below the limit. Each of the two is a constant, or the length of a slice.
func isBelow(below, limit string) bool {
	var m, n int
	_, err1 := fmt.Sscanf(below, "%d", &m)
	_, err2 := fmt.Sscanf(limit, "%d", &n)
	return below != "" && (below == limit || err1 == nil && err2 == nil && m <= n)
}

func (w *memory) useWhole(slice string) {
	if !slices.Contains(w.whole, slice) {
		w.whole = append(w.whole, slice)
	}
}

// loaded returns the vector of a slice's elements from an index on, where it is known that the slice has them.
func (w *memory) loaded(k ir.Kind, slice, at string) value {
	w.lane(k)
	if w.widened(k) {
		return value{text: fmt.Sprintf("%s(%s[%s:])", w.ofType("Load", k), slice, at), how: differ, kind: k}
	}
	return value{text: fmt.Sprintf("lanes.Load[simd.%s](&%s[%s])", w.vectorName(k), slice, at), how: differ, kind: k}
}

// gathered returns the vector of elements of a slice that are a step apart.
func (w *memory) gathered(k ir.Kind, slice, at, step string) value {
	w.lane(k)
	w.apartCosts(costOfGather)
	return value{text: fmt.Sprintf("lanes.Gather%s(%s, %s, %s)", w.vectorName(k), slice, at, step), how: differ, kind: k}
}

// store writes an element of a slice.
func (w *values) store(s *ir.Stmt) {
	if w.island != nil {
		text := w.plain(s.Place)
		w.write("%s = %s", text, w.value(s.Value).text)
		return
	}
	if s.Value.Op == ir.Composite && s.Place.Type.Kind == ir.Struct && numbersOnly(s.Place.Type) {
		w.storeFields(s)
		return
	}
	e := w.element(s.Place, s.Pos)
	x := w.value(s.Value)
	if e.array != nil {
		w.storeNested(e.array, x)
		return
	}
	w.lane(e.kind)
	name, ok := w.view(e, true)
	if !ok {
		at, step, spread := w.spreads(e, true)
		if !spread {
			refuse(e.pos, "the stores of the threads are not to neighbours: the index is not the thread's place plus a number that is known before the row")
		}
		w.stored = true
		w.apartCosts(costOfScatter)
		w.write("lanes.Scatter%s(%s, %s, %s, %s, %s)", w.vectorName(e.kind), w.vector(x), w.lanes(), e.slice, at, step)
		return
	}
	w.stored = true
	w.storeTo(e.kind, w.vector(x), name, w.at)
}

// storeFields writes a structure. It computes all fields before it stores the first.
func (w *values) storeFields(s *ir.Stmt) {
	fields := make([]value, len(s.Place.Type.Fields))
	for i, f := range s.Place.Type.Fields {
		fields[i] = number(f.Type.Kind, either[any](f.Type.Float(), 0.0, int64(0)))
		if k := slices.Index(s.Value.Which, i); k >= 0 {
			fields[i] = w.name(f.Name, w.value(s.Value.Args[k]))
		}
	}
	for i, f := range s.Place.Type.Fields {
		p := *s.Place
		p.Path, p.Type = append(slices.Clone(p.Path), ir.Part{Field: i}), f.Type
		w.storeNested(w.element(&p, s.Pos).array, fields[i])
	}
}

// storeTo writes a vector to a slice's elements from an index on.
func (w *memory) storeTo(k ir.Kind, vector, slice, at string) {
	switch {
	case w.widened(k):
		w.write("%s(%s, %s, %s[%s:])", w.ofType("Store", k), vector, w.lanes(), slice, at)
	case w.active == "":
		w.write("lanes.Store(%s, &%s[%s])", vector, slice, at)
	default:
		w.write("lanes.Store%s(%s, %s, %s[%s:])", w.vectorName(k), vector, w.active, slice, at)
	}
}

// apart returns conditions under which a lane may use memory that another lane stores to. Parts of slices are compared only if the
// slices share memory.
func (w *memory) apart() (found []string) {
	all := slices.Clone(w.whole)
	for _, v := range w.spread {
		all = append(all, v.slice)
	}
	all = unique(all)
	var pairs [][2]string
	conditions := map[[2]string][]string{}
	add := func(slice, other, format, memory, part string) {
		if p := [2]string{slice, other}; !w.alone(slice, other) {
			if conditions[p] == nil {
				pairs = append(pairs, p)
			}
			conditions[p] = append(conditions[p], fmt.Sprintf("!lanes."+format+"(%s, %s)", memory, part))
		}
	}
	for i, s := range w.views {
		if !s.stored {
			continue
		}
		for j, v := range w.views {
			if i != j && !(v.stored && j < i) && !slices.Contains(all, v.slice) {
				add(s.slice, v.slice, "Apart", s.name, v.name)
			}
		}
		for _, slice := range all {
			add(s.slice, slice, "Disjoint", s.name, slice)
		}
	}
	for _, v := range w.views {
		all = append(all, v.slice)
	}
	for _, s := range slices.Sorted(maps.Keys(w.storedApart())) {
		for _, slice := range unique(all) {
			if slice != s {
				add(s, slice, "Disjoint", s, slice)
			}
		}
	}
	for _, p := range pairs {
		parts := strings.Join(unique(conditions[p]), " || ")
		if p[0] != p[1] && strings.Contains(parts, " || ") {
			parts = fmt.Sprintf("!lanes.Disjoint(%s, %s) && (%s)", p[0], p[1], parts)
		}
		found = append(found, parts)
	}
	return found
}

// storedApart returns the slices that are stored to in other ways than by views.
func (w *memory) storedApart() map[string]bool {
	all := map[string]bool{}
	for _, s := range w.nested {
		if s.stored {
			all[s.slice] = true
		}
	}
	for _, s := range w.spread {
		if s.stored {
			all[s.slice] = true
		}
	}
	return all
}

// twice reports whether threads may run a second time, because no thread loads an element that it or another thread stores. It returns conditions under which
// they may not.
func (w *memory) twice() (never []string, ok bool) {
	var stored, loaded []view // a view without a name may be any element of the slice
	for _, s := range slices.Sorted(maps.Keys(w.storedApart())) {
		stored = append(stored, view{slice: s})
	}
	for _, s := range w.loads {
		loaded = append(loaded, view{slice: s})
	}
	for _, v := range w.views {
		if v.stored {
			stored = append(stored, v)
		}
		if v.loaded {
			loaded = append(loaded, v)
		}
	}
	for _, s := range stored {
		for _, l := range loaded {
			switch {
			case s.slice == l.slice && (s.name == l.name || s.name == "" || l.name == ""):
				return nil, false
			case s.slice == l.slice:
				never = append(never, fmt.Sprintf("!lanes.Disjoint(%s, %s)", s.name, l.name))
			case !w.alone(s.slice, l.slice):
				never = append(never, fmt.Sprintf("!lanes.Disjoint(%s, %s)", s.slice, l.slice))
			}
		}
	}
	return unique(never), true
}

// alone reports whether two slices share no memory because one of them is private to a part: see Part.
func (w *memory) alone(a, b string) bool {
	return w.Part != nil && a != b && (slices.Contains(w.Part.Private, a) || slices.Contains(w.Part.Private, b))
}

// own refuses a kernel that stores elements with a step between them, or elements of arrays, if two threads could use the same element.
func (w *memory) own() {
	for _, s := range w.nested {
		for _, o := range w.nested {
			if s.stored && o.slice == s.slice && o.owner != s.owner {
				refuse(s.pos, "threads may share elements of %s, which is indexed in another way, too", s.slice)
			}
		}
	}
	for _, s := range w.spread {
		if !s.stored {
			continue
		}
		for _, o := range w.spread {
			d, same := s.index.offset.Plus(o.index.offset, -1).Constant()
			if o.slice == s.slice && (!same || o.index.step != s.index.step || max(d, -d) >= s.index.step) {
				refuse(s.pos, "threads may share elements of %s: the indexes of a slice that is stored to with a step must differ by "+
					"less than the step", s.slice)
			}
		}
		if slices.Contains(w.whole, s.slice) || slices.ContainsFunc(w.views, func(v view) bool { return v.slice == s.slice }) {
			refuse(s.pos, "threads may share elements of %s, which is indexed in another way, too", s.slice)
		}
	}
}
