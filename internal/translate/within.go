package translate

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strings"

	"github.com/go-halyard/halyard/internal/translate/edges"
	"github.com/go-halyard/halyard/internal/translate/ir"
)

// inner is a second text of the body, for the threads of a row that are away from its edges. Its indexes are not checked, and its comparisons with an
// edge are left out. It is for threads with two properties. First, every index that is the sum of the thread's place and a number that is the same
// for the whole row is within its slice. Second, where the body compares such sums with == or !=, they are not equal. The other threads of the
// row run the body as it is.
type inner struct {
	first, last, count, at string // variables: the first place, the place after the last, the number of threads, which one runs
	label                  string
	views                  []view
	edges, never           []string          // see edges.Comparison
	shown                  map[ast.Node]view // the views that replace slices, by index expression or call of a matrix's method
	truths                 map[ast.Node]bool // the results of comparisons
	statements             int               // of the body
}

// view is the part of a slice that the threads index. It begins at the place of the first thread plus the
// offset.
type view struct{ name, slice, offset string }

// mostViews is the largest number of views of a loop. The processor keeps the address of each in a register.
const mostViews = 8

// mostTwice is the largest number of statements of a body for which each round of the loop runs two threads. With a short body the loop's own
// instructions take a large part of the time.
const mostTwice = 3

// inner looks for checks that threads away from the row's edges do not need. It returns nil if there are none, or if the body has a loop: then
// checks are a small part of the cost. The parameter results has the comparisons whose results are known for all threads below the row's limits.
func (w *rowWriter) inner(row *edges.Row, results map[*ir.Value]bool) *inner {
	if w.hidden || w.hidesGrid {
		return nil
	}
	n := &inner{shown: map[ast.Node]view{}, truths: map[ast.Node]bool{}}
	for v, result := range results {
		n.truths[expression(v)] = result
	}
	n.compare(row, w.f.made.Body)
	if !n.look(w, viewsOf(row, w.f.made.Body)) || len(n.views) == 0 || len(n.views) > mostViews {
		return nil
	}
	n.first, n.last, n.count, n.at, n.label = w.fresh("from"), w.fresh("to"), w.fresh("count"), w.fresh("at"), w.fresh("within")
	for i, v := range n.views {
		name, _, _ := strings.Cut(v.slice, ".")
		n.views[i].name = w.fresh(fmt.Sprintf("%s%d", name, i))
		for node, is := range n.shown {
			if is == v {
				n.shown[node] = n.views[i]
			}
		}
	}
	return n
}

// compare notes the comparisons whose results are known for the threads of inner.
func (n *inner) compare(row *edges.Row, body *ir.Region) {
	for _, c := range row.Comparisons(body) {
		e := expression(c.Of)
		if e == nil {
			continue // a case of a switch
		}
		n.truths[e] = c.Result
		switch {
		case c.Edge == "" && !slices.Contains(n.never, c.Never):
			n.never = append(n.never, c.Never)
		case c.Edge != "" && !slices.Contains(n.edges, c.Edge):
			n.edges = append(n.edges, c.Edge)
		}
	}
}

// expression returns the expression of a value, or nil.
func expression(v *ir.Value) ast.Expr {
	e, _ := v.Syntax.(ast.Expr)
	return ast.Unparen(e)
}

// viewsOf returns the views that a body indexes, by the positions of the indexes: of a matrix, that of the row.
func viewsOf(row *edges.Row, body *ir.Region) map[token.Pos]view {
	all := map[token.Pos]view{}
	note := func(p *ir.Place) {
		if v, ok := row.View(p); ok && v.Row == "" {
			all[p.Path[0].Pos] = view{slice: v.Of.Name, offset: v.Offset}
		} else if ok {
			all[p.Path[0].Pos] = view{slice: fmt.Sprintf("%s.Span(%s, 1)", v.Of.Name, v.Row), offset: v.Offset}
		}
	}
	body.Visit(func(s *ir.Stmt) { note(s.Place) }, func(v *ir.Value) { note(v.Place) })
	return all
}

// look finds the expressions that index views, and counts statements. It reports whether the body has no loops.
func (n *inner) look(w *rowWriter, views map[token.Pos]view) bool {
	loops := false
	show := func(x ast.Expr, index token.Pos) {
		v, ok := views[index]
		if !ok {
			return
		}
		if n.shown[x] = v; !slices.Contains(n.views, v) {
			n.views = append(n.views, v)
		}
	}
	ast.Inspect(w.f.decl.Body, func(x ast.Node) bool {
		switch x := x.(type) {
		case *ast.ForStmt, *ast.RangeStmt, *ast.LabeledStmt:
			loops = true
		case *ast.AssignStmt, *ast.IncDecStmt, *ast.ExprStmt, *ast.IfStmt:
			n.statements++
		case *ast.IndexExpr: // only of parameters: a local variable that has the slice would be unused after the replacement
			if id, ok := x.X.(*ast.Ident); ok && slices.Contains(w.params, w.p.Info.ObjectOf(id)) {
				show(x, x.Index.Pos())
			}
		case *ast.CallExpr: // a method of a matrix
			if len(x.Args) > 1 {
				show(x, x.Args[0].Pos())
			}
		}
		return !loops
	})
	return !loops
}

// cell returns the edits that make m.At(i, j), m.Ref(i, j) or m.Set(i, j, v) use the view of a row in place of the matrix. They keep both indexes, so that
// the variables in them are used. A row that the matrix does not have has no elements, so what proves that j is an index of the view also proves that i is a
// row.
func (n *inner) cell(text *printed, was, now *ast.CallExpr) []edit {
	i, j := now.Args[0], now.Args[1]
	begin, end := n.shown[was].name+"[gridgen.At(gridgen.At("+n.at+", ", ")]"
	sel, _ := ast.Unparen(was.Fun).(*ast.SelectorExpr)
	if sel.Sel.Name == "Ref" {
		begin, end = "(&"+begin, end+")"
	}
	edits := []edit{{text.at(now.Pos()), text.at(i.Pos()), begin}, {text.at(i.End()), text.at(j.Pos()), "), "}}
	if sel.Sel.Name != "Set" {
		return append(edits, edit{text.at(j.End()), text.at(now.End()), end})
	}
	v := now.Args[2]
	return append(edits, edit{text.at(j.End()), text.at(v.Pos()), end + " = "}, edit{text.at(v.End()), text.at(now.End()), ""})
}

// before returns the lines before the row's loop, which find the threads of inner.
func (n *inner) before(w *rowWriter, end string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %s := %s.First(), %s\n", n.first, n.last, w.row, end)
	for _, v := range n.views {
		fmt.Fprintf(&b, "%[1]s, %[2]s = gridgen.Within(%[1]s, %[2]s, %[3]s, len(%[4]s))\n", n.first, n.last, v.offset, v.slice)
	}
	for _, e := range n.edges {
		fmt.Fprintf(&b, "%[1]s, %[2]s = gridgen.Without(%[1]s, %[2]s, %[3]s)\n", n.first, n.last, e)
	}
	fmt.Fprintf(&b, "if %s {\n%s = %s // none\n}\n", strings.Join(append(slices.Clip(n.never), n.first+" >= "+n.last), " || "), n.first, end)
	return b.String()
}

// begin returns the first lines of the row's loop. When the loop reaches the first thread of inner, they run
// all threads of inner.
func (n *inner) begin(w *rowWriter, params, body string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "if %s == %s {\n%s := %s - %s\n", w.x, n.first, n.count, n.last, n.first)
	for _, v := range n.views {
		fmt.Fprintf(&b, "%s := %s[%s:][:%s]\n", v.name, v.slice, plus(n.first, v.offset), n.count)
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

// plus returns the text of a sum.
func plus(x, y string) string {
	if strings.HasPrefix(y, "-") {
		return x + y
	}
	return x + "+" + y
}
