package translate

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// laneNested is a use of the elements of arrays that are a slice's elements. Of two uses with the same owner, a thread has only its own elements.
type laneNested struct {
	slice, owner string
	stored       bool
	pos          token.Pos
}

// inArray is an element of an array that is an element of a slice, perhaps in several levels: slice[index[0]][index[1]]. sizes are those of the arrays.
type inArray struct {
	expr  *ast.IndexExpr
	slice types.Object
	index []ast.Expr
	sizes []int64
	elem  types.Type
}

// inArray returns the element that an expression is, or nil if it is no such element of a slice that is the kernel's parameter.
func (l *laneWriter) inArray(e *ast.IndexExpr) *inArray {
	n := &inArray{expr: e, elem: l.p.Info.TypeOf(e)}
	for {
		n.index = slices.Insert(n.index, 0, e.Index)
		t := l.p.Info.TypeOf(e.X)
		if t == nil { // a row of a matrix
			return nil
		}
		array, ok := t.Underlying().(*types.Array)
		if !ok {
			break
		}
		n.sizes = slices.Insert(n.sizes, 0, array.Len())
		if e, ok = ast.Unparen(e.X).(*ast.IndexExpr); !ok {
			return nil
		}
	}
	n.slice = l.sliceOfArrays(e.X)
	if n.slice == nil || l.part != nil {
		return nil
	}
	return n
}

// sliceOfArrays returns the kernel's parameter that an expression is, if its elements are arrays, or nil.
func (l *laneWriter) sliceOfArrays(e ast.Expr) types.Object {
	id, ok := ast.Unparen(e).(*ast.Ident)
	if !ok || l.path != "" {
		return nil
	}
	v := l.p.Info.ObjectOf(id)
	s, ok := v.Type().Underlying().(*types.Slice)
	if !ok || !slices.Contains(l.w.params, v) || l.w.writes[v] {
		return nil
	}
	if _, ok := s.Elem().Underlying().(*types.Array); !ok {
		return nil
	}
	return v
}

// number returns the type of an element that is a number of at least 32 bits, in lanes of as many.
func (l *laneWriter) number(n *inArray) types.BasicKind {
	b, ok := types.Unalias(n.elem).(*types.Basic)
	if !ok || numbers[b.Kind()].truth || numbers[b.Kind()].bits < 32 {
		refuse(n.expr.Pos(), "the elements of %s have type %s; only the predeclared types of numbers of 32 and 64 bits become vectors", n.slice.Name(), n.elem)
	}
	l.lane(b.Kind())
	if l.widened(b.Kind()) {
		refuse(n.expr.Pos(), "elements of arrays of 32 bits do not become vectors beside numbers of 64 bits that differ between threads")
	}
	return b.Kind()
}

// where is what the indexes of an element are: their texts, and which of them differs between threads, or -1.
type where struct {
	texts []string
	leads int
	owner string
	still bool
}

// find looks at the indexes of an element and sees that they are within the arrays and the slice.
func (l *laneWriter) find(n *inArray) where {
	w := where{leads: -1, owner: "all", still: true}
	for i, e := range n.index {
		outer := l.indexing
		l.indexing = true
		v := l.expr(e)
		l.indexing = outer
		limit := "len(" + n.slice.Name() + ")"
		if i > 0 {
			limit = fmt.Sprint(n.sizes[i-1])
		}
		if v.how == alike && v.basic != types.Int {
			if k := numbers[v.basic]; k.bits == 64 && !k.signed {
				refuse(e.Pos(), "an index of 64 bits without sign does not become a vector; use an int")
			}
			v.text = basicText(types.Int, v.text)
		}
		a, affine := l.w.affine(e)
		switch {
		case v.how == differ || v.how == leads && (w.leads >= 0 || v.step != "" || i > 0 && i < len(n.index)-1):
			refuse(e.Pos(), notNeighbours)
		case v.how == leads && affine && a.place:
			w.leads, w.owner = i, fmt.Sprintf("%d: %s", i, a.text())
			l.leaveOut(fmt.Sprintf("%[1]s, %[2]s = grid.Within(%[1]s, %[2]s, %[3]s, %[4]s)\n", l.from, l.to, a.text(), limit))
		case v.how == leads:
			if w.leads, w.owner = i, ""; !l.isBelow(e, limit) {
				refuse(e.Pos(), "%s is not compared with %s by the loop around; only indexes of loops such as for %[1]s := i; %[1]s < %[2]s; %[1]s += n become vectors",
					types.ExprString(e), limit)
			}
		case l.isBelow(e, limit) || i > 0 && v.exact != nil:
		case v.exact != nil:
			v.text = constant.ToInt(v.exact).ExactString()
			l.leaveIf(fmt.Sprintf("%s <= %s", limit, v.text))
		case l.below[l.objectOf(e)] != "" && !strings.HasPrefix(l.below[l.objectOf(e)], "len("):
			l.leaveIf(fmt.Sprintf("%s < %s", limit, l.below[l.objectOf(e)]))
		case affine:
			l.leaveIf(fmt.Sprintf("uint(%s) >= uint(%s)", a.text(), limit))
		case l.stored:
			refuse(e.Pos(), "%s is read at an index that is checked only here, after something was stored; read it before", n.slice.Name())
		default:
			if !l.frozen[v.text] {
				v.text = l.temp("i", v.text)
			}
			l.write("if uint(%s) >= uint(%s) {", v.text, limit)
			l.write("return %s.From(%s + %s) // the row's loop tells", l.w.row, l.from, l.at)
			l.write("}")
		}
		w.texts, w.still = append(w.texts, v.text), w.still && v.still
	}
	return w
}

// leaveIf leaves the row to the loop under a condition.
func (l *laneWriter) leaveIf(condition string) {
	if !slices.Contains(l.fits, condition) {
		l.fits = append(l.fits, condition)
	}
}

// objectOf returns the variable that an expression is, or nil.
func (l *laneWriter) objectOf(e ast.Expr) types.Object {
	if id, ok := ast.Unparen(e).(*ast.Ident); ok {
		return l.p.Info.ObjectOf(id)
	}
	return nil
}

// isBelow reports whether an index is known to be below a length, or the size of an array.
func (l *laneWriter) isBelow(e ast.Expr, limit string) bool {
	below := l.below[l.objectOf(e)]
	m, err1 := strconv.Atoi(below)
	n, err2 := strconv.Atoi(limit)
	return below != "" && (below == limit || err1 == nil && err2 == nil && m <= n)
}

// use notes a use of an element, or of the elements of an array.
func (l *laneWriter) use(n *inArray, owner string, stored bool) {
	l.nested = append(l.nested, laneNested{n.slice.Name(), owner, stored, n.expr.Pos()})
	if !stored {
		l.loads = append(l.loads, n.slice.Name())
	}
	if !slices.Contains(l.whole, n.slice.Name()) {
		l.whole = append(l.whole, n.slice.Name())
	}
}

func (n *inArray) text(texts []string) string {
	return n.slice.Name() + "[" + strings.Join(texts, "][") + "]"
}

// flat returns the name of a slice of all numbers of the arrays, the place of the first thread's in it, and the number of those between two threads.
func (l *laneWriter) flat(n *inArray, kind types.BasicKind, texts []string) (name, at string, step int64) {
	step = 1
	for i, size := range n.sizes {
		if step *= size; i == 0 {
			at = parenthesized(texts[1])
		} else {
			at = fmt.Sprintf("(%s*%d + %s)", at, size, parenthesized(texts[1+i]))
		}
	}
	name = l.hoist(n.slice.Name()+"Of", fmt.Sprintf("lanes.Flat[%s](%s)", types.Typ[kind].Name(), n.slice.Name()))
	return name, fmt.Sprintf("%s*%d+%s", parenthesized(texts[0]), step, at), step
}

// loadNested returns an element of an array.
func (l *laneWriter) loadNested(n *inArray) laneValue {
	kind := l.number(n)
	w := l.find(n)
	l.use(n, w.owner, false)
	last := len(n.index) - 1
	switch w.leads {
	case -1:
		return laneValue{text: n.text(w.texts), basic: kind}
	case last:
		return l.loaded(kind, n.text(w.texts[:last]), w.texts[last])
	}
	name, at, step := l.flat(n, kind, w.texts)
	return l.gathered(kind, name, at, fmt.Sprint(step))
}

// storeNested writes an element of an array.
func (l *laneWriter) storeNested(n *inArray, value laneValue) {
	kind := l.number(n)
	w := l.find(n)
	if w.owner == "all" || w.owner == "" {
		refuse(n.expr.Pos(), "the stores of the threads are not to neighbours: no index is the thread's place plus a number that is known before the row")
	}
	l.use(n, w.owner, true)
	l.stored = true
	value.basic = kind
	last := len(n.index) - 1
	switch array := n.text(w.texts[:last]); {
	case w.leads != last:
		name, at, step := l.flat(n, kind, w.texts)
		l.apartCosts(costOfScatter)
		l.write("lanes.Scatter%s(%s, %s, %s, %s, %d)", l.vectorOf(kind), l.vector(value), l.lanes(), name, at, step)
	case l.active == "":
		l.write("lanes.Store(%s, &%s[%s])", l.vector(value), array, w.texts[last])
	default:
		l.write("lanes.Store%s(%s, %s, %s[%s:])", l.vectorOf(kind), l.vector(value), l.active, array, w.texts[last])
	}
}

// ownNested refuses a kernel that stores elements of arrays which could be another thread's, too.
func (l *laneWriter) ownNested() {
	for _, s := range l.nested {
		for _, o := range l.nested {
			if s.stored && o.slice == s.slice && o.owner != s.owner {
				refuse(s.pos, "threads may share elements of %s, which is indexed in another way, too", s.slice)
			}
		}
	}
}

// mostUnrolled is the largest array of which a vector holds each element, over all its threads.
const mostUnrolled = 16

// unrolled writes a loop over an array that is an element of a slice, a round after the other, with a vector for each element.
func (l *laneWriter) unrolled(s *ast.RangeStmt) {
	n := l.arrayOf(s)
	if n == nil || hasLoop(s.Body) {
		refuse(s.Pos(), "only loops without others inside, over arrays of up to %d numbers that are elements of the kernel's slices, become vectors", mostUnrolled)
	}
	ast.Inspect(s.Body, func(b ast.Node) bool {
		switch b := b.(type) {
		case *ast.BranchStmt, *ast.ReturnStmt, *ast.LabeledStmt:
			refuse(b.Pos(), "this leaves a loop over an array, which does not become vector code")
		}
		return true
	})
	var objects [2]types.Object
	for i, e := range []ast.Expr{s.Key, s.Value} {
		if id, ok := e.(*ast.Ident); ok && id.Name != "_" {
			objects[i] = l.p.Info.Defs[id]
		}
	}
	if l.w.writes[objects[0]] {
		refuse(s.Pos(), "%s is changed in the loop; use another variable", objects[0].Name())
	}
	var values []laneValue
	if objects[1] != nil {
		if values = l.columns[l.keyOf(s.X)]; values == nil {
			values = l.columnsOf(n)
		}
	}
	outer := l.unrolling
	l.unrolling = true
	for k := range n.elem.Underlying().(*types.Array).Len() {
		if objects[0] != nil {
			l.vars[objects[0]] = &laneVar{name: fmt.Sprint(k), basic: types.Int, depth: len(l.depth), exact: constant.MakeInt64(k), still: true}
		}
		if objects[1] != nil {
			l.declare(objects[1], values[k])
		}
		l.block(s.Body.List)
	}
	l.unrolling = outer
}

// arrayOf returns the array that a loop is over, if its numbers can be in vectors: it is small, and its slice is not stored to.
func (l *laneWriter) arrayOf(s *ast.RangeStmt) *inArray {
	e, ok := ast.Unparen(s.X).(*ast.IndexExpr)
	array, isArray := l.p.Info.TypeOf(s.X).Underlying().(*types.Array)
	if !ok || !isArray || s.Tok == token.ASSIGN || array.Len() > mostUnrolled {
		return nil
	}
	n := l.inArray(e)
	if n == nil || l.storedTo(n.slice) {
		return nil
	}
	return n
}

// storedTo reports whether the kernel stores to a slice.
func (l *laneWriter) storedTo(slice types.Object) (found bool) {
	ast.Inspect(l.w.f.decl.Body, func(n ast.Node) bool {
		for _, to := range targets(n) {
			found = found || l.holder(to) == slice
		}
		if u, ok := n.(*ast.UnaryExpr); ok && u.Op == token.AND {
			found = found || l.holder(u.X) == slice
		}
		return !found
	})
	return found
}

// targets returns what a statement assigns to.
func targets(n ast.Node) []ast.Expr {
	switch n := n.(type) {
	case *ast.AssignStmt:
		return n.Lhs
	case *ast.IncDecStmt:
		return []ast.Expr{n.X}
	case *ast.RangeStmt:
		if n.Tok == token.ASSIGN {
			return slices.DeleteFunc([]ast.Expr{n.Key, n.Value}, func(e ast.Expr) bool { return e == nil })
		}
	}
	return nil
}

// slice1 returns the variable at the beginning of an element, or nil.
func (l *laneWriter) holder(e ast.Expr) types.Object {
	for {
		switch x := ast.Unparen(e).(type) {
		case *ast.IndexExpr:
			e = x.X
		case *ast.SelectorExpr:
			e = x.X
		case *ast.Ident:
			return l.p.Info.ObjectOf(x)
		default:
			return nil
		}
	}
}

// columnsOf returns the vectors of an array's elements, over all threads of a vector.
func (l *laneWriter) columnsOf(n *inArray) (values []laneValue) {
	array := n.elem.Underlying().(*types.Array)
	element := *n
	element.elem, element.sizes = array.Elem(), append(slices.Clone(n.sizes), array.Len())
	kind := l.number(&element)
	w := l.find(n)
	if w.leads > 0 {
		refuse(n.expr.Pos(), notNeighbours)
	}
	l.use(n, w.owner, false)
	for k := int64(0); k < array.Len(); k++ {
		texts := append(slices.Clone(w.texts), fmt.Sprint(k))
		if w.leads == 0 && k+4 <= array.Len() && l.bits == 32 { // four at once
			name, at, step := l.flat(&element, kind, texts)
			var four []string
			for range 4 {
				four = append(four, l.fresh(fmt.Sprintf("%s_%d", n.slice.Name(), len(values))))
				values = append(values, laneValue{text: four[len(four)-1], how: differ, basic: kind})
				l.frozen[four[len(four)-1]] = true
			}
			l.write("%s := lanes.Four%s(%s, %s, %d)", strings.Join(four, ", "), l.vectorOf(kind), name, at, step)
			l.write("_, _, _, _ = %s", strings.Join(four, ", "))
			l.apartCosts(costOfFour)
			k += 3
			continue
		}
		v := laneValue{text: element.text(texts), basic: kind}
		if w.leads == 0 {
			name, at, step := l.flat(&element, kind, texts)
			v = l.gathered(kind, name, at, fmt.Sprint(step))
		}
		v.text = l.temp(fmt.Sprintf("%s_%d", n.slice.Name(), k), v.text)
		values = append(values, v)
	}
	return values
}

// hoistColumns loads in front of a loop the arrays that are the same in all its rounds. The function that it returns ends that.
func (l *laneWriter) hoistColumns(s ast.Stmt) func() {
	var added []string
	ast.Inspect(s, func(n ast.Node) bool {
		r, ok := n.(*ast.RangeStmt)
		if !ok || r == s || r.Value == nil {
			return true
		}
		if _, ok := l.p.Info.TypeOf(r.X).Underlying().(*types.Array); !ok {
			return true
		}
		key := l.keyOf(r.X)
		array := l.arrayOf(r)
		if array == nil || l.columns[key] != nil || !l.sameIn(s, r.X) || l.scatters(r) {
			return true
		}
		for _, e := range array.index { // in front of the loop it is not known whether a round runs that would tell of an index out of range
			_, affine := l.w.affine(e)
			if !affine && l.below[l.objectOf(e)] == "" && l.p.Info.Types[e].Value == nil {
				return true
			}
		}
		l.columns[key] = l.columnsOf(array)
		added = append(added, key)
		return true
	})
	return func() {
		for _, key := range added {
			delete(l.columns, key)
		}
	}
}

// keyOf returns a text that is the same for expressions of the same variables.
func (l *laneWriter) keyOf(e ast.Expr) string {
	key := types.ExprString(e)
	ast.Inspect(e, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			key += fmt.Sprintf(" %d", l.p.Info.ObjectOf(id).Pos())
		}
		return true
	})
	return key
}

// sameIn reports whether an expression has the same value everywhere in a statement.
func (l *laneWriter) sameIn(s ast.Stmt, e ast.Expr) bool {
	same := true
	ast.Inspect(e, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			obj := l.p.Info.ObjectOf(id)
			same = same && (obj.Pos() < s.Pos() || obj.Pos() >= s.End()) && !slices.ContainsFunc(l.w.written, func(c change) bool {
				return c.v == obj && c.pos >= s.Pos() && c.pos < s.End()
			})
		}
		return same
	})
	return same
}

// bounded notes that the variable of a loop such as for p := i; p < len(x); p += n stays below that length, and is not negative, if the loop has that
// form. The function that it returns ends that.
func (l *laneWriter) bounded(s *ast.ForStmt) func() {
	nothing := func() {}
	first, ok := s.Init.(*ast.AssignStmt)
	if !ok || first.Tok != token.DEFINE || len(first.Lhs) != 1 || l.path != "" || l.part != nil {
		return nothing
	}
	obj := l.objectOf(first.Lhs[0])
	a, ok := l.w.affine(first.Rhs[0])
	changes := slices.DeleteFunc(slices.Clone(l.w.written), func(c change) bool { return c.v != obj })
	if !ok || !a.place || s.Cond == nil || s.Post == nil || len(changes) != 1 || changes[0].pos < s.Post.Pos() || changes[0].pos >= s.Post.End() {
		return nothing
	}
	by := affine{plus: 1}
	switch post := s.Post.(type) {
	case *ast.IncDecStmt:
		ok = post.Tok == token.INC
	case *ast.AssignStmt:
		if ok = post.Tok == token.ADD_ASSIGN; ok {
			by, ok = l.w.affine(post.Rhs[0])
		}
	}
	if !ok || by.place {
		return nothing
	}
	// What follows the comparison is evaluated only where it is true.
	if b, ok := terms(s.Cond, token.LAND)[0].(*ast.BinaryExpr); ok && b.Op == token.LSS && l.objectOf(b.X) == obj {
		if call, ok := ast.Unparen(b.Y).(*ast.CallExpr); ok && len(call.Args) == 1 {
			if v := l.sliceOfArrays(call.Args[0]); v != nil && types.ExprString(b.Y) == "len("+v.Name()+")" {
				l.leaveIf(fmt.Sprintf("uint(%s+%s) > 1<<62", l.from, parenthesized(a.text())))
				l.leaveIf(fmt.Sprintf("uint(%s) > 1<<62", by.text()))
				l.below[obj] = "len(" + v.Name() + ")"
			}
		}
	}
	return func() { delete(l.below, obj) }
}

// isSmall reports whether a variable of type int only ever has the values of constants and of the numbers of a loop's rounds, which fit in 32 bits, so
// that a lane of 32 bits can hold it.
func (l *laneWriter) isSmall(obj types.Object, around []types.Object) bool {
	return !l.whole64[obj] && l.part == nil && l.staysIn(obj, -1<<31, 1<<31, true, around)
}

// staysIn reports whether a variable of type int only ever has values from lo to hi-1: those of constants and of the numbers of a loop's rounds. With small
// the other variables that it is assigned are small, too.
func (l *laneWriter) staysIn(obj types.Object, lo, hi int64, small bool, around []types.Object) bool {
	if slices.Contains(around, obj) {
		return true
	}
	b, ok := obj.Type().(*types.Basic)
	body := l.w.f.decl.Body
	if !ok || b.Kind() != types.Int || obj.Pos() < body.Pos() || obj.Pos() >= body.End() {
		return false
	}
	is, fits := func(e ast.Expr) bool { return l.objectOf(e) == obj }, func(e ast.Expr) bool {
		if v := l.p.Info.Types[e].Value; v != nil {
			n, exact := constant.Int64Val(constant.ToInt(v))
			return exact && n >= lo && n < hi
		}
		id := l.objectOf(e)
		switch around := append(around, obj); {
		case id == nil:
			return false
		case small:
			return l.isSmall(id, around)
		}
		return l.staysIn(id, lo, hi, small, around)
	}
	stays := true
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for i, to := range n.Lhs {
				if is(to) {
					stays = stays && (n.Tok == token.ASSIGN || n.Tok == token.DEFINE) && len(n.Lhs) == len(n.Rhs) && fits(n.Rhs[i])
				}
			}
		case *ast.IncDecStmt:
			stays = stays && !is(n.X)
		case *ast.UnaryExpr:
			stays = stays && (n.Op != token.AND || !is(n.X))
		case *ast.ValueSpec:
			for i, id := range n.Names {
				if is(id) && len(n.Values) > 0 {
					stays = stays && len(n.Values) == len(n.Names) && fits(n.Values[i])
				}
			}
		case *ast.RangeStmt:
			if n.Key != nil && is(n.Key) || n.Value != nil && is(n.Value) {
				v := l.p.Info.Types[n.X].Value
				rounds, exact := int64(0), v != nil && v.Kind() == constant.Int
				if exact {
					rounds, exact = constant.Int64Val(v)
				} else if a, ok := l.p.Info.TypeOf(n.X).Underlying().(*types.Array); ok && is(n.Key) {
					rounds, exact = a.Len(), true
				}
				stays = stays && n.Tok == token.DEFINE && exact && lo <= 0 && rounds <= hi
			}
		}
		return stays
	})
	return stays
}

// small returns a value for a variable that is small.
func small(v laneValue) laneValue {
	if v.basic == types.Int || v.basic == types.UntypedInt {
		if v.basic = types.Int32; v.how == alike {
			v.text = basicText(types.Int32, v.text)
		}
	}
	return v
}

// smallValue returns the value of a variable that is small.
func (l *laneWriter) smallValue(e ast.Expr) (laneValue, bool) {
	n := l.vars[l.objectOf(e)]
	if n == nil || !n.small {
		return laneValue{}, false
	}
	return laneValue{text: n.name, how: n.how, basic: types.Int32}, true
}

// scatters reports whether a statement stores to elements of arrays at indexes that differ between threads.
func (l *laneWriter) scatters(s ast.Stmt) (found bool) {
	ast.Inspect(s, func(n ast.Node) bool {
		for _, to := range targets(n) {
			e, ok := ast.Unparen(to).(*ast.IndexExpr)
			if !ok {
				continue
			}
			if x := l.inArray(e); x != nil {
				for _, index := range x.index[1:] {
					ast.Inspect(index, func(n ast.Node) bool {
						if id, ok := n.(*ast.Ident); ok {
							v := l.vars[l.p.Info.ObjectOf(id)]
							found = found || v != nil && v.how == differ
						}
						return true
					})
				}
			}
		}
		return !found
	})
	return found
}

// mostScattered is how many times as long as such stores the whole kernel must take. The vectors are taken apart for them, and the rest is several times
// faster.
const mostScattered = 8

// island writes the first statements of a list thread by thread, if they store to elements of arrays at indexes that differ between threads. Vectors
// have no such stores. Each thread stores to its own element of the slice, so that it makes no difference when the others do. It returns how many
// statements these are.
func (l *laneWriter) island(list []ast.Stmt) (n int) {
	for n < len(list) && l.scatters(list[n]) {
		n++
	}
	if n == 0 {
		return 0
	}
	list = list[:n]
	from, to := list[0].Pos(), list[n-1].End()
	inside := func(obj types.Object) bool { return obj.Pos() >= from && obj.Pos() < to }
	if all, here := l.weight(l.w.f.decl.Body), l.weight(&ast.BlockStmt{List: list}); mostScattered*l.often(here, from) > all {
		refuse(from, "these stores are to places that differ between threads, and are too large a part of the kernel")
	}
	var used []types.Object
	for _, s := range list {
		ast.Inspect(s, func(node ast.Node) bool {
			for _, to := range targets(node) {
				l.ownElement(to, inside)
			}
			switch node := node.(type) {
			case *ast.CallExpr:
				l.plainCall(node)
			case *ast.BranchStmt, *ast.ReturnStmt, *ast.LabeledStmt, *ast.GoStmt, *ast.DeferStmt, *ast.FuncLit:
				refuse(node.Pos(), "beside stores to places that differ between threads, this does not become vector code")
			case *ast.UnaryExpr:
				if node.Op == token.AND {
					refuse(node.Pos(), "beside stores to places that differ between threads, this does not become vector code")
				}
			case *ast.BinaryExpr:
				l.neverPanics(node.Op, node.Y)
			case *ast.AssignStmt:
				l.neverPanics(node.Tok, node.Rhs[0])
			case *ast.IndexExpr:
				l.isInside(node)
			case *ast.SliceExpr, *ast.StarExpr, *ast.TypeAssertExpr:
				refuse(node.Pos(), "beside stores to places that differ between threads, this does not become vector code")
			case *ast.Ident:
				obj, ok := l.p.Info.Uses[node].(*types.Var)
				if !ok || obj.IsField() || inside(obj) || obj == l.w.thread {
					break
				}
				if v := l.vars[obj]; v != nil && v.key != "parameter" {
					if !slices.Contains(used, types.Object(obj)) {
						used = append(used, obj)
					}
				} else if _, ok := obj.Type().Underlying().(*types.Slice); ok {
					l.loads = append(l.loads, obj.Name())
					if !slices.Contains(l.whole, obj.Name()) {
						l.whole = append(l.whole, obj.Name())
					}
				} else if v == nil {
					refuse(node.Pos(), "beside stores to places that differ between threads, %s does not become vector code", obj.Name())
				}
			}
			return true
		})
	}
	l.stored = true
	l.write("{")
	lane := l.notOfKernel("lane")
	var names, values []string
	for _, obj := range used {
		v := l.vars[obj]
		text := v.name
		switch {
		case v.how == leads && v.step == "":
			text = v.name + " + " + lane
		case v.how == leads:
			text = fmt.Sprintf("%s + %s*%s", v.name, v.step, lane)
		case v.how == differ && v.basic == types.Bool:
			text = l.spill("of", fmt.Sprintf("%s.ToInt%ds()", v.name, l.bits), fmt.Sprintf("int%d", l.bits)) + "[" + lane + "] != 0"
		case v.how == differ:
			element := strings.ToLower(strings.TrimSuffix(l.vectorOf(v.basic), "s"))
			text = l.p.typeName(obj.Type()) + "(" + l.spill("of", v.name, element) + "[" + lane + "])"
		default:
			text = l.p.typeName(obj.Type()) + "(" + text + ")"
		}
		names, values = append(names, obj.Name()), append(values, text)
	}
	on := ""
	if l.active != "" {
		on = l.spill("on", fmt.Sprintf("%s.ToInt%ds()", l.active, l.bits), fmt.Sprintf("int%d", l.bits))
	}
	l.write("for %s := range lanes.Lanes%d().Len() {", lane, l.bits)
	if on != "" {
		l.write("if %s[%s] == 0 {", on, lane)
		l.write("continue")
		l.write("}")
	}
	place := l.notOfKernel("place")
	text, ok := l.p.print(l.w.f.decl)
	body := ""
	if ok {
		var change func(was, now ast.Node) []edit
		change = func(was, now ast.Node) []edit {
			if r, ok := was.(*ast.RangeStmt); ok {
				return l.w.unrolled(text, r, now, change)
			}
			c, ok := was.(*ast.CallExpr)
			if !ok {
				return nil
			}
			if dim, ok := l.w.place(c); ok && dim == 0 {
				return []edit{text.replace(now, place)}
			} else if ok {
				return []edit{text.replace(now, l.w.row+"."+dims[dim])}
			}
			return nil
		}
		body, ok = text.cut(text.at(text.twin(list[0]).Pos()), text.at(text.twin(list[n-1]).End()), change)
	}
	if !ok {
		refuse(from, "this statement does not become vector code")
	}
	if mentions(body, place) {
		names, values = append(names, place), append(values, l.x+" + "+lane)
	}
	if len(names) > 0 {
		sets := strings.Join(names, ", ") + " := "
		l.lines = append(l.lines, laneLine{text: sets + strings.Join(values, ", "), pos: l.pos, sets: sets})
	}
	l.lines = append(l.lines, laneLine{text: body, pos: from, raw: true})
	l.write("}")
	l.write("}")
	return n
}

const panicsInside = "beside stores to places that differ between threads, this does not become vector code, because it could panic"

// neverPanics refuses a division of integers whose divisor is no constant, and a shift by a number that could be negative. Where they are written thread by
// thread, the threads before one that panics would not be at their ends.
func (l *laneWriter) neverPanics(op token.Token, y ast.Expr) {
	b, ok := l.p.Info.TypeOf(y).Underlying().(*types.Basic)
	if !ok || b.Info()&types.IsInteger == 0 || l.p.Info.Types[y].Value != nil {
		return
	}
	switch op {
	case token.QUO, token.REM, token.QUO_ASSIGN, token.REM_ASSIGN:
		refuse(y.Pos(), panicsInside)
	case token.SHL, token.SHR, token.SHL_ASSIGN, token.SHR_ASSIGN:
		if b.Info()&types.IsUnsigned == 0 {
			refuse(y.Pos(), panicsInside)
		}
	}
}

// isInside refuses an index that could be out of range, or leaves the threads for which it is to the loop.
func (l *laneWriter) isInside(e *ast.IndexExpr) {
	index := l.objectOf(e.Index)
	if a, ok := l.p.Info.TypeOf(e.X).Underlying().(*types.Array); ok {
		if l.p.Info.Types[e.Index].Value == nil && (index == nil || !l.staysIn(index, 0, a.Len(), false, nil)) {
			refuse(e.Index.Pos(), panicsInside)
		}
		return
	}
	slice := l.objectOf(e.X)
	if slice == nil {
		refuse(e.Pos(), panicsInside)
	}
	a, ok := l.w.affine(e.Index)
	switch {
	case ok && a.place:
		l.leaveOut(fmt.Sprintf("%[1]s, %[2]s = grid.Within(%[1]s, %[2]s, %[3]s, len(%[4]s))\n", l.from, l.to, a.text(), slice.Name()))
	case ok:
		l.leaveIf(fmt.Sprintf("uint(%s) >= uint(len(%s))", a.text(), slice.Name()))
	case l.isBelow(e.Index, "len("+slice.Name()+")"):
	default:
		const most = 1 << 16
		n := most
		if index != nil {
			n = sort.Search(most, func(n int) bool { return l.staysIn(index, 0, int64(n), false, nil) })
		}
		if n == most {
			refuse(e.Index.Pos(), panicsInside)
		}
		l.leaveIf(fmt.Sprintf("len(%s) < %d", slice.Name(), n))
	}
}

// spill writes a vector to an array, and returns its name.
func (l *laneWriter) spill(name, vector, element string) string {
	name = l.notOfKernel(name)
	l.write("var %s [%d]%s", name, 512/l.bits, element)
	l.write("%s.Store(%s[:])", vector, name)
	return name
}

// notOfKernel returns a name that the kernel does not have either.
func (l *laneWriter) notOfKernel(name string) string {
	for {
		if name = l.fresh(name); !l.w.names[name] {
			return name
		}
	}
}

// ownElement refuses what a statement assigns to, unless it is a variable of its own or an element of the thread's element of a slice.
func (l *laneWriter) ownElement(to ast.Expr, inside func(types.Object) bool) {
	obj := l.holder(to)
	if id, ok := ast.Unparen(to).(*ast.Ident); ok && id.Name == "_" || obj != nil && inside(obj) {
		return
	}
	e, ok := ast.Unparen(to).(*ast.IndexExpr)
	var n *inArray
	if ok {
		n = l.inArray(e)
	}
	if n == nil {
		refuse(to.Pos(), "beside stores to places that differ between threads, only such stores become vector code")
	}
	a, ok := l.w.affine(n.index[0])
	if !ok || !a.place {
		refuse(to.Pos(), "the stores of the threads are not to neighbours: the index is not the thread's place plus a number that is known before the row")
	}
	l.leaveOut(fmt.Sprintf("%[1]s, %[2]s = grid.Within(%[1]s, %[2]s, %[3]s, len(%[4]s))\n", l.from, l.to, a.text(), n.slice.Name()))
	owner := "0: " + a.text()
	l.use(n, owner, true)
	l.loads = append(l.loads, n.slice.Name())
	mine := map[ast.Node]bool{}
	ast.Inspect(l.w.f.decl.Body, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.CallExpr:
			if id, ok := ast.Unparen(node.Fun).(*ast.Ident); ok && id.Name == "len" && len(node.Args) == 1 {
				mine[ast.Unparen(node.Args[0])] = true
			}
		case *ast.IndexExpr:
			if l.objectOf(node.X) == n.slice {
				b, ok := l.w.affine(node.Index)
				mine[ast.Unparen(node.X)] = ok && b.place && b.text() == a.text()
			}
		case *ast.Ident:
			if l.p.Info.ObjectOf(node) == n.slice && !mine[node] {
				refuse(node.Pos(), "threads may share elements of %s, which is used in another way, too", n.slice.Name())
			}
		}
		return true
	})
}

// plainCall refuses a call, unless it is a conversion, of a function of Go that computes a number, or of the thread's place.
func (l *laneWriter) plainCall(c *ast.CallExpr) {
	if _, ok := l.w.place(c); ok || l.p.Info.Types[c.Fun].IsType() {
		return
	}
	switch f := ast.Unparen(c.Fun).(type) {
	case *ast.Ident:
		if _, ok := l.p.Info.ObjectOf(f).(*types.Builtin); ok && slices.Contains([]string{"len", "min", "max"}, f.Name) {
			return
		}
	case *ast.SelectorExpr:
		if obj, ok := l.p.Info.ObjectOf(f.Sel).(*types.Func); ok && obj.Pkg() != nil && obj.Pkg().Path() == "math" && types.ExprString(f.X) == "math" {
			l.imports["math"] = "math"
			return
		}
	}
	refuse(c.Pos(), "beside stores to places that differ between threads, this call does not become vector code")
}

// weight estimates how long a thread takes for a statement, in expressions. A loop whose number of rounds is not known counts as 8.
func (l *laneWriter) weight(n ast.Node) (sum int) {
	ast.Inspect(n, func(m ast.Node) bool {
		if m == nil || m == n {
			return true
		}
		sum++
		switch m := m.(type) {
		case *ast.ForStmt:
			sum += 8 * l.weight(m.Body)
			return false
		case *ast.RangeStmt:
			sum += l.rounds(m) * l.weight(m.Body)
			return false
		}
		return true
	})
	return min(sum, 1<<20)
}

func (l *laneWriter) rounds(s *ast.RangeStmt) int {
	if a, ok := l.p.Info.TypeOf(s.X).Underlying().(*types.Array); ok {
		return int(min(a.Len(), 1<<10))
	}
	if v := l.p.Info.Types[s.X].Value; v != nil {
		if n, exact := constant.Int64Val(constant.ToInt(v)); exact {
			return int(min(max(n, 0), 1<<10))
		}
	}
	return 8
}

// often multiplies a weight by the rounds of the loops around a place.
func (l *laneWriter) often(weight int, pos token.Pos) int {
	ast.Inspect(l.w.f.decl.Body, func(n ast.Node) bool {
		if n == nil || pos < n.Pos() || pos >= n.End() {
			return false
		}
		switch n := n.(type) {
		case *ast.ForStmt:
			if pos >= n.Body.Pos() {
				weight *= 8
			}
		case *ast.RangeStmt:
			if pos >= n.Body.Pos() {
				weight *= l.rounds(n)
			}
		}
		return true
	})
	return weight
}
