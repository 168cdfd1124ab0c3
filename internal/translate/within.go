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
)

// inner is a second text of the body, for the threads of a row that are away from its edges. Its indexes are not checked, and its comparisons with an
// edge are left out. It is for threads with two properties. First, every index that is the sum of the thread's place and a number that is the same
// for the whole row is within its slice. Second, where the body compares such sums with == or !=, they are not equal. The other threads of the
// row run the body as it is.
type inner struct {
	first, last, count, at string // variables: the first place, the place after the last, the number of threads, which one runs
	label                  string
	views                  []view
	edges                  []string            // places whose threads are left out
	never                  []string            // conditions under which the row has no such threads
	shown                  map[ast.Node]string // the views that replace slices, by index expression or call of a matrix's method
	truths                 map[ast.Node]bool   // comparisons whose results are known
	statements             int                 // of the body
}

// view is the part of a slice that the threads index. It begins at the place of the first thread plus the
// offset.
type view struct{ name, slice, offset string }

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

// mostViews is the largest number of views of a loop. The processor keeps the address of each in a register.
const mostViews = 8

// mostTwice is the largest number of statements of a body for which each round of the loop runs two threads. With a short body the loop's own
// instructions take a large part of the time.
const mostTwice = 3

// inner looks for checks that threads away from the row's edges do not need. It returns nil if there are none, or if the body has a loop, compared
// with which a check costs little. It is called after limits.
func (w *rowWriter) inner() *inner {
	if w.hidden || w.hidesGrid {
		return nil
	}
	info, n := w.p.Info, &inner{shown: map[ast.Node]string{}, truths: w.guards}
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
	n.first, n.last, n.count, n.at, n.label = w.fresh("from"), w.fresh("to"), w.fresh("count"), w.fresh("at"), w.fresh("within")
	for i := range n.views {
		name := w.fresh(fmt.Sprintf("%s%d", base(n.views[i].slice), i))
		for node, is := range n.shown {
			if is == n.views[i].name {
				n.shown[node] = name
			}
		}
		n.views[i].name = name
	}
	return n
}

// index notes an index that is the thread's place plus a number of the row.
func (n *inner) index(w *rowWriter, x *ast.IndexExpr) {
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
func (n *inner) view(w *rowWriter, x ast.Expr, slice string, index ast.Expr) {
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
func (n *inner) compare(w *rowWriter, x *ast.BinaryExpr) {
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

// before returns the lines before the row's loop, which find the threads of inner.
func (n *inner) before(w *rowWriter, end string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %s := %s.First(), %s\n", n.first, n.last, w.row, end)
	for _, v := range n.views {
		fmt.Fprintf(&b, "%[1]s, %[2]s = grid.Within(%[1]s, %[2]s, %[3]s, len(%[4]s))\n", n.first, n.last, v.offset, v.slice)
	}
	for _, e := range unique(n.edges) {
		fmt.Fprintf(&b, "%[1]s, %[2]s = grid.Without(%[1]s, %[2]s, %[3]s)\n", n.first, n.last, e)
	}
	empty := slices.Compact(slices.Clone(n.never))
	fmt.Fprintf(&b, "if %s {\n%s = %s // none\n}\n", strings.Join(append(empty, n.first+" >= "+n.last), " || "), n.first, end)
	return b.String()
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

// begin returns the first lines of the row's loop. When the loop reaches the first thread of inner, they run
// all threads of inner.
func (n *inner) begin(w *rowWriter, params, body string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "if %s == %s {\n%s := %s - %s\n", w.x, n.first, n.count, n.last, n.first)
	for _, v := range n.views {
		fmt.Fprintf(&b, "%s := %s[%s+%s:][:%s]\n", v.name, v.slice, n.first, parenthesized(v.offset), n.count)
	}
	thread := fmt.Sprintf("%s := %s + %s\n_ = %s\n%s%s\n%s\n", w.x, n.first, n.at, w.x, params, body, backHere)
	switch {
	case w.label == "" && n.statements <= mostTwice:
		fmt.Fprintf(&b, "%[1]s := 0\nfor ; %[1]s < %[2]s-1; %[1]s += 2 {\n{\n%[3]s}\n{\n%[1]s := %[1]s + 1\n%[3]s}\n}\nif %[1]s < %[2]s {\n%[3]s}\n", n.at, n.count, thread)
	case w.label != "":
		fmt.Fprintf(&b, "%s:\n", n.label)
		fallthrough
	default:
		fmt.Fprintf(&b, "for %s := range %s {\n%s}\n", n.at, n.count, thread)
	}
	fmt.Fprintf(&b, "%s = %s - 1\ncontinue\n}\n", w.x, n.last)
	return b.String()
}

func parenthesized(sum string) string {
	if strings.ContainsAny(sum, " ") || strings.HasPrefix(sum, "-") {
		return "(" + sum + ")"
	}
	return sum
}
