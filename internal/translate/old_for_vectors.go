package translate

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strings"

	"github.com/go-halyard/halyard/internal/translate/load"
)

// This file is what the files whose names begin with vector and phases still find out from the syntax. It goes when they use package edges.

// forVectors sets what vectors need of a row.
func (w *rowWriter) forVectors(r *rows) {
	r.limits, r.truths = w.oldLimits(), maps.Clone(w.guards)
	if n := w.oldInner(); n != nil {
		r.truths, r.edges, r.never = n.truths, unique(n.edges), unique(n.never)
	}
}

// findWrites finds the variables that are assigned to.
func (w *rowWriter) findWrites() {
	info := w.p.Info
	w.writes = map[types.Object]bool{}
	write := func(e ast.Expr) {
		if id := root(info, e); id != nil {
			v := info.ObjectOf(id)
			w.writes[v] = true
			w.written = append(w.written, change{v, e.Pos()})
		}
	}
	ast.Inspect(w.f.decl, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if s := info.Selections[n]; s != nil && s.Kind() == types.MethodVal {
				if sig, ok := s.Obj().Type().(*types.Signature); ok {
					if _, ok := sig.Recv().Type().Underlying().(*types.Pointer); ok {
						write(n.X)
					}
				}
			}
		case *ast.AssignStmt:
			for _, l := range n.Lhs {
				if id, ok := l.(*ast.Ident); ok && info.Defs[id] != nil {
					continue
				}
				write(l)
			}
		case *ast.IncDecStmt:
			write(n.X)
		case *ast.RangeStmt:
			if n.Tok == token.ASSIGN {
				for _, l := range []ast.Expr{n.Key, n.Value} {
					if l != nil {
						write(l)
					}
				}
			}
		case *ast.UnaryExpr:
			if n.Op == token.AND {
				write(n.X)
			}
		case *ast.SliceExpr:
			if _, ok := info.TypeOf(n.X).Underlying().(*types.Array); ok { // what is written into the slice is in the array
				write(n.X)
			}
		}
		return true
	})
}

// oldInner are the threads of a row that are away from its edges: see inner.
type oldInner struct {
	views        []view
	edges, never []string
	shown        map[ast.Node]string
	truths       map[ast.Node]bool
	statements   int
}

// change is a place where a variable is assigned to.
type change struct {
	v   types.Object
	pos token.Pos
}

// root returns the identifier at the beginning of an expression that is assigned to, or nil if the assignment changes an element of a slice or the
// target of a pointer. For a field through a pointer it is the pointer.
func root(info *types.Info, e ast.Expr) *ast.Ident {
	for {
		switch x := e.(type) {
		case *ast.Ident:
			return x
		case *ast.ParenExpr:
			e = x.X
		case *ast.SelectorExpr:
			e = x.X
		case *ast.IndexExpr:
			if _, ok := info.TypeOf(x.X).Underlying().(*types.Array); !ok {
				return nil // an element that is reached through a slice or a pointer
			}
			e = x.X
		default:
			return nil
		}
	}
}

// limit is an upper bound: threads whose place along the dimension is not below it do nothing.
type limit struct {
	dim   int
	limit string
}

// oldLimits returns the limits that follow from the guard at the beginning of the kernel. The guard stays in the body; the compiler removes it
// where the loop's end already decides it.
func (w *rowWriter) oldLimits() (found []limit) {
	if w.hidden {
		return nil
	}
	list := w.f.decl.Body.List
	for i, s := range list {
		switch s := s.(type) {
		case *ast.AssignStmt:
			if !w.defines(s) {
				return found
			}
		case *ast.IfStmt:
			known := maps.Clone(w.known)
			if s.Init != nil {
				a, ok := s.Init.(*ast.AssignStmt)
				if !ok || !w.defines(a) {
					return found
				}
			}
			if s.Else != nil || !w.pure(s.Cond) {
				return found
			}
			leaves := false
			if len(s.Body.List) == 1 {
				_, leaves = s.Body.List[0].(*ast.ReturnStmt)
			}
			switch {
			case leaves:
				for _, c := range terms(s.Cond, token.LOR) {
					found = w.bound(found, c, token.GEQ, token.LEQ)
				}
			case i == len(list)-1: // nothing follows the statement
				for _, c := range terms(s.Cond, token.LAND) {
					found = w.bound(found, c, token.LSS, token.GTR)
				}
				return found
			default:
				return found
			}
			w.known = known
		default:
			return found
		}
	}
	return found
}

// defines notes the values of the variables that a statement declares. It reports whether the statement does
// nothing else.
func (w *rowWriter) defines(s *ast.AssignStmt) bool {
	if s.Tok != token.DEFINE || len(s.Lhs) != len(s.Rhs) {
		return false
	}
	for i, l := range s.Lhs {
		id, ok := l.(*ast.Ident)
		if !ok || !w.pure(s.Rhs[i]) {
			return false
		}
		v := w.p.Info.Defs[id]
		if v == nil {
			if id.Name != "_" {
				return false // it changes a variable
			}
			continue
		}
		w.known[v] = s.Rhs[i]
	}
	return true
}

// terms returns the parts of a condition that an operator joins.
func terms(e ast.Expr, op token.Token) []ast.Expr {
	e = ast.Unparen(e)
	if b, ok := e.(*ast.BinaryExpr); ok && b.Op == op {
		return append(terms(b.X, op), terms(b.Y, op)...)
	}
	return []ast.Expr{e}
}

// bound adds the limit that follows from a comparison with a thread's place. The operator is op if the place is on the left, and
// turned if it is on the right.
func (w *rowWriter) bound(found []limit, e ast.Expr, op, turned token.Token) []limit {
	b, ok := e.(*ast.BinaryExpr)
	if !ok {
		return found
	}
	place, most := b.X, b.Y
	switch b.Op {
	case op:
	case turned:
		place, most = b.Y, b.X
	default:
		return found
	}
	dim, ok := w.placed(place)
	if !ok {
		return found
	}
	text, ok := w.constantInRow(most, dim == 0)
	if !ok {
		return found
	}
	w.guards[b] = op == token.LSS
	l := limit{dim, text}
	if slices.Contains(found, l) {
		return found
	}
	return append(found, l)
}

// placed reports whether an expression is a thread's place, and returns its dimension.
func (w *rowWriter) placed(e ast.Expr) (int, bool) {
	switch e := ast.Unparen(e).(type) {
	case *ast.CallExpr:
		return w.place(e)
	case *ast.Ident:
		if x := w.known[w.p.Info.ObjectOf(e)]; x != nil {
			return w.placed(x)
		}
	}
	return 0, false
}

// constantInRow returns the text of an expression of type int that has the same value for all threads of a row, in a form that the function's
// first lines can evaluate.
func (w *rowWriter) constantInRow(e ast.Expr, rowKnown bool) (string, bool) {
	if t, ok := w.p.Info.TypeOf(e).(*types.Basic); !ok || t.Kind() != types.Int {
		return "", false
	}
	return w.same(e, rowKnown)
}

func (w *rowWriter) same(e ast.Expr, rowKnown bool) (string, bool) {
	info := w.p.Info
	if v := info.Types[e].Value; v != nil {
		n := constant.ToInt(v)
		if n.Kind() != constant.Int {
			return "", false
		}
		t, ok := info.TypeOf(e).(*types.Basic)
		if !ok {
			return "", false
		}
		return types.Default(t).String() + "(" + n.ExactString() + ")", true
	}
	_, open := types.Unalias(info.TypeOf(e)).(*types.TypeParam)
	if n, ok := numberOf(info.TypeOf(e)); open || ok && n.float {
		return "", false // Go may round it differently in another function
	}
	switch e := e.(type) {
	case *ast.ParenExpr:
		return w.same(e.X, rowKnown)
	case *ast.Ident:
		v := info.ObjectOf(e)
		if x := w.known[v]; x != nil {
			return w.same(x, rowKnown)
		}
		if slices.Contains(w.params, v) && v != w.thread { // nothing before the guard changes it
			return v.Name(), true
		}
	case *ast.SelectorExpr:
		if s := info.Selections[e]; s != nil && s.Kind() == types.FieldVal && !s.Indirect() {
			x, ok := w.same(e.X, rowKnown)
			return x + "." + e.Sel.Name, ok
		}
	case *ast.CallExpr:
		if dim, ok := w.place(e); ok {
			return w.global(dim), dim != 0 && rowKnown
		}
		if m, method := w.p.matrixSize(e); m != nil && slices.Contains(w.params, m) && !w.writes[m] {
			return m.Name() + "." + method + "()", true
		}
		if len(e.Args) != 1 || !w.pure(e) {
			return "", false
		}
		name, ok := ast.Unparen(e.Fun).(*ast.Ident) // len, or a conversion to a predeclared type
		if !ok || info.ObjectOf(name) == nil || info.ObjectOf(name).Parent() != types.Universe {
			return "", false
		}
		x, ok := w.same(e.Args[0], rowKnown)
		return name.Name + "(" + x + ")", ok
	case *ast.BinaryExpr:
		switch e.Op { // operations that cannot panic
		case token.ADD, token.SUB, token.MUL, token.AND, token.OR, token.XOR, token.AND_NOT:
		case token.QUO:
			if !positive(info, e.Y) {
				return "", false
			}
		default:
			return "", false
		}
		x, ok1 := w.same(e.X, rowKnown)
		y, ok2 := w.same(e.Y, rowKnown)
		return "(" + x + " " + e.Op.String() + " " + y + ")", ok1 && ok2
	}
	return "", false
}

// pure reports whether evaluating an expression changes nothing and cannot panic.
func (w *rowWriter) pure(e ast.Expr) bool {
	info := w.p.Info
	if info.Types[e].Value != nil {
		return true
	}
	switch e := e.(type) {
	case *ast.ParenExpr:
		return w.pure(e.X)
	case *ast.Ident:
		_, ok := info.ObjectOf(e).(*types.Var)
		return ok
	case *ast.SelectorExpr:
		s := info.Selections[e]
		return s != nil && s.Kind() == types.FieldVal && !s.Indirect() && w.pure(e.X)
	case *ast.UnaryExpr:
		return (e.Op == token.SUB || e.Op == token.ADD || e.Op == token.XOR || e.Op == token.NOT) && w.pure(e.X)
	case *ast.BinaryExpr:
		switch e.Op {
		case token.QUO, token.REM, token.SHL, token.SHR:
			if !positive(info, e.Y) {
				return false // the divisor may be zero, or the shift count negative
			}
		case token.EQL, token.NEQ:
			if _, ok := numberOf(info.TypeOf(e.X)); !ok {
				return false
			}
		}
		return w.pure(e.X) && w.pure(e.Y)
	case *ast.CallExpr:
		if _, ok := w.place(e); ok {
			return true
		}
		if m, _ := w.p.matrixSize(e); m != nil {
			return true
		}
		if len(e.Args) != 1 || !w.pure(e.Args[0]) {
			return false
		}
		if info.Types[e.Fun].IsType() {
			_, to := numberOf(info.TypeOf(e))
			return to
		}
		name, ok := ast.Unparen(e.Fun).(*ast.Ident)
		return ok && info.ObjectOf(name) == types.Universe.Lookup("len")
	}
	return false
}

// affine is a number of type int: a sum that is the same for the whole row, plus the thread's place along the row if place is
// set.
type affine struct {
	place bool
	terms []string // each with its sign in front
	plus  int64
}

func (a affine) text() string {
	s := strings.Join(a.terms, " ")
	if a.plus != 0 || s == "" {
		s += fmt.Sprintf(" %+d", a.plus)
	}
	return strings.TrimPrefix(strings.TrimSpace(s), "+")
}

func (a affine) minus(b affine) affine {
	c := affine{a.place != b.place, slices.Clone(a.terms), a.plus - b.plus}
	for _, t := range b.terms {
		if t[0] == '-' {
			t = "+" + t[1:]
		} else {
			t = "-" + t[1:]
		}
		c.terms = append(c.terms, t)
	}
	return c
}

// index notes an index that is the thread's place plus a number of the row.
func (n *oldInner) index(w *rowWriter, x *ast.IndexExpr) {
	id, ok := x.X.(*ast.Ident)
	if !ok {
		return
	}
	v := w.p.Info.ObjectOf(id)
	if _, isSlice := v.Type().Underlying().(*types.Slice); !isSlice || !slices.Contains(w.params, v) || w.writes[v] {
		return
	}
	n.view(w, x, v.Name(), x.Index)
}

// view notes an index of a slice.
func (n *oldInner) view(w *rowWriter, x ast.Expr, slice string, index ast.Expr) {
	a, ok := w.affine(index)
	if !ok || !a.place {
		return
	}
	for _, known := range n.views {
		if known.slice == slice && known.offset == a.text() {
			n.shown[x] = known.name
			return
		}
	}
	part := view{fmt.Sprint(len(n.views)), slice, a.text()} // gets its final name at the end of inner
	n.views = append(n.views, part)
	n.shown[x] = part.name
}

// compare notes a comparison, with == or !=, of two numbers of the row, or of such a number with the thread's place. For the
// threads of inner the two are never equal.
func (n *oldInner) compare(w *rowWriter, x *ast.BinaryExpr) {
	a, ok1 := w.affine(x.X)
	b, ok2 := w.affine(x.Y)
	switch {
	case !ok1 || !ok2 || a.place && b.place:
		return
	case a.place:
		n.edges = append(n.edges, b.minus(affine{terms: a.terms, plus: a.plus}).text())
	case b.place:
		n.edges = append(n.edges, a.minus(affine{terms: b.terms, plus: b.plus}).text())
	default:
		n.never = append(n.never, fmt.Sprintf("%s == %s", a.text(), b.text()))
	}
	n.truths[x] = x.Op == token.NEQ
}

// affine returns an expression of type int as a sum. Sums of ints wrap around, so the order does not matter.
func (w *rowWriter) affine(e ast.Expr) (affine, bool) {
	t, isBasic := w.p.Info.TypeOf(e).(*types.Basic)
	if !isBasic || t.Kind() != types.Int && t.Kind() != types.UntypedInt {
		return affine{}, false
	}
	if v := w.p.Info.Types[e].Value; v != nil {
		c, exact := constant.Int64Val(constant.ToInt(v))
		return affine{plus: c}, exact && c > -1<<20 && c < 1<<20 // so that sums of a few constants fit in 32 bits
	}
	switch e := e.(type) {
	case *ast.ParenExpr:
		return w.affine(e.X)
	case *ast.Ident:
		if x := w.known[w.p.Info.ObjectOf(e)]; x != nil {
			return w.affine(x)
		}
	case *ast.CallExpr:
		if dim, ok := w.place(e); ok && dim == 0 {
			return affine{place: true}, true
		}
	case *ast.BinaryExpr:
		if e.Op != token.ADD && e.Op != token.SUB {
			break
		}
		a, ok1 := w.affine(e.X)
		b, ok2 := w.affine(e.Y)
		if !ok1 || !ok2 || b.place && (a.place || e.Op == token.SUB) {
			return affine{}, false
		}
		if e.Op == token.SUB {
			return a.minus(b), true
		}
		return affine{a.place || b.place, slices.Concat(a.terms, b.terms), a.plus + b.plus}, true
	}
	if text, ok := w.same(e, true); ok && w.settled(e) {
		return affine{terms: []string{"+" + text}}, true
	}
	return affine{}, false
}

// scaled returns an index as the thread's place along the row, times a number, plus a sum that is the same for the whole row.
func (w *rowWriter) scaled(e ast.Expr) (by int64, offset affine, ok bool) {
	if a, ok := w.affine(e); ok {
		if !a.place {
			return 0, a, true
		}
		a.place = false
		return 1, a, true
	}
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		if x := w.known[w.p.Info.ObjectOf(e)]; x != nil {
			return w.scaled(x)
		}
	case *ast.BinaryExpr:
		m, a, ok1 := w.scaled(e.X)
		n, b, ok2 := w.scaled(e.Y)
		switch {
		case !ok1 || !ok2:
		case e.Op == token.ADD:
			return m + n, affine{terms: slices.Concat(a.terms, b.terms), plus: a.plus + b.plus}, true
		case e.Op == token.SUB:
			return m - n, a.minus(b), true
		case e.Op == token.MUL:
			if m == 0 && len(a.terms) == 0 {
				m, a, n, b = n, b, m, a
			}
			if n != 0 || len(b.terms) > 0 || b.plus <= 0 { // only a constant
				break
			}
			by, plus := m*b.plus, a.plus*b.plus
			c := affine{plus: plus}
			for _, t := range a.terms {
				c.terms = append(c.terms, fmt.Sprintf("%c%d*(%s)", t[0], b.plus, t[1:]))
			}
			const most = 1 << 20
			return by, c, by < most && by > -most && plus < most && plus > -most
		}
	}
	return 0, affine{}, false
}

// settled reports whether no variable in an expression, or in the values of these variables, is ever
// assigned to.
func (w *rowWriter) settled(e ast.Expr) bool {
	settled := true
	ast.Inspect(e, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		if !ok {
			return true
		}
		v := w.p.Info.ObjectOf(id)
		if x := w.known[v]; x != nil {
			settled = settled && w.settled(x)
		}
		settled = settled && !w.writes[v]
		return true
	})
	return settled
}

func parenthesized(sum string) string {
	if strings.ContainsAny(sum, " ") || strings.HasPrefix(sum, "-") {
		return "(" + sum + ")"
	}
	return sum
}

// cell is an element of a kernel's parameter that is a matrix.
type cell struct {
	matrix *ast.Ident
	call   *ast.CallExpr // m.At(i, j), m.Ref(i, j) or m.Set(i, j, v)
	method string
}

// cell returns the element that an expression means: m.At(i, j), m.Set(i, j, v), m.Ref(i, j), or what the pointer of the last points to. It
// returns nil if the matrix is no parameter of the kernel, or one that the kernel changes.
func (w *rowWriter) cell(e ast.Expr) *cell {
	star, pointed := ast.Unparen(e).(*ast.StarExpr)
	if pointed {
		e = star.X
	}
	call, ok := ast.Unparen(e).(*ast.CallExpr)
	if !ok {
		return nil
	}
	sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
	if !ok {
		return nil
	}
	id, ok := ast.Unparen(sel.X).(*ast.Ident)
	if !ok {
		return nil
	}
	v := w.p.Info.ObjectOf(id)
	if v == nil || load.MatrixOf(v.Type()) == nil || !slices.Contains(w.params, v) || w.writes[v] {
		return nil
	}
	if len(call.Args) < 2 || pointed && sel.Sel.Name != "Ref" {
		return nil // Rows, Cols or Span
	}
	return &cell{id, call, sel.Sel.Name}
}

// row returns the text of the slice that is the element's row, if that is known before the threads run.
func (c *cell) row(w *rowWriter) (string, bool) {
	a, ok := w.affine(c.call.Args[0])
	return fmt.Sprintf("%s.Span(%s, 1)", c.matrix.Name, a.text()), ok && !a.place
}

// element returns an element of a slice: e itself, or an index of a matrix's row. It returns nil for another expression.
func (l *laneWriter) element(e ast.Expr) *ast.IndexExpr {
	if x, ok := ast.Unparen(e).(*ast.IndexExpr); ok {
		return x
	}
	c := l.w.cell(e)
	if c == nil || l.path != "" {
		return nil
	}
	row, known := c.row(l.w)
	if !known {
		i := l.expr(c.call.Args[0])
		if i.how != alike {
			refuse(c.call.Pos(), "the elements of the threads are not neighbours: their rows differ")
		}
		if !l.frozen[i.text] {
			i.text = l.temp("i", i.text)
		}
		row = fmt.Sprintf("%s.Span(%s, 1)", c.matrix.Name, i.text)
	}
	name := l.spans[row]
	if name == "" {
		if name = l.fresh(c.matrix.Name + "Row"); known {
			l.spans[row] = name
		} else {
			l.put(name, ":=", row)
		}
	}
	id := &ast.Ident{NamePos: c.call.Pos(), Name: name}
	l.rows[id] = types.NewVar(id.Pos(), l.p.Types, name, types.NewSlice(load.MatrixOf(l.p.Info.ObjectOf(c.matrix).Type())))
	if !known {
		l.late[l.rows[id]] = fmt.Sprintf("%[1]s.Span(0, %[1]s.Rows())", c.matrix.Name)
	}
	return &ast.IndexExpr{X: id, Lbrack: c.call.Lparen, Index: c.call.Args[1], Rbrack: c.call.Rparen}
}

// rowsOf returns the lines that declare the rows of matrices that a text uses.
func (l *laneWriter) rowsOf(text string) string {
	var b strings.Builder
	for _, row := range slices.Sorted(maps.Keys(l.spans)) {
		if mentions(text, l.spans[row]) {
			fmt.Fprintf(&b, "%s := %s\n", l.spans[row], row)
		}
	}
	return b.String()
}

// oldInner looks for checks that threads away from the row's edges do not need. It returns nil if there are none, or if the body has a loop, compared
// with which a check costs little. It is called after limits.
func (w *rowWriter) oldInner() *oldInner {
	if w.hidden || w.hidesGrid {
		return nil
	}
	info, n := w.p.Info, &oldInner{shown: map[ast.Node]string{}, truths: w.guards}
	loops := false
	maps.DeleteFunc(w.known, func(v types.Object, _ ast.Expr) bool { return w.writes[v] })
	ast.Inspect(w.f.decl.Body, func(x ast.Node) bool {
		switch x := x.(type) {
		case *ast.ForStmt, *ast.RangeStmt, *ast.LabeledStmt:
			loops = true
		case *ast.AssignStmt:
			if x.Tok != token.DEFINE || len(x.Lhs) != len(x.Rhs) {
				break
			}
			for i, l := range x.Lhs {
				if id, ok := l.(*ast.Ident); ok && info.Defs[id] != nil && !w.writes[info.Defs[id]] {
					w.known[info.Defs[id]] = x.Rhs[i]
				}
			}
		}
		return !loops
	})
	if loops {
		return nil
	}
	ast.Inspect(w.f.decl.Body, func(x ast.Node) bool {
		switch x := x.(type) {
		case *ast.AssignStmt, *ast.IncDecStmt, *ast.ExprStmt, *ast.IfStmt:
			n.statements++
		case *ast.IndexExpr:
			n.index(w, x)
		case *ast.CallExpr:
			if c := w.cell(x); c != nil {
				if row, ok := c.row(w); ok {
					n.view(w, x, row, x.Args[1])
				}
			}
		case *ast.BinaryExpr:
			if x.Op == token.EQL || x.Op == token.NEQ {
				n.compare(w, x)
			}
		}
		return true
	})
	if len(n.views) == 0 || len(n.views) > mostViews {
		return nil
	}
	return n
}

// unique returns texts without those that come again.
func unique(all []string) (found []string) {
	for _, s := range all {
		if !slices.Contains(found, s) {
			found = append(found, s)
		}
	}
	return found
}
