package translate

import (
	"fmt"
	"go/ast"
	"slices"
	"strings"

	"github.com/go-halyard/halyard/internal/translate/load"
)

// The functions for rows of threads treat an element of a matrix as an element of a slice, which is the matrix's row: m.At(i, j) is
// m.Span(i, 1)[j]. Span returns no elements for a row that the matrix does not have, so what proves that j is an index of the slice
// also proves that i is a row.

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

// shown returns the edits that make the call use the view of its row in place of the matrix. They keep both indexes, so that the
// variables in them are used.
func (c *cell) shown(text *printed, now *ast.CallExpr, view, at string) []edit {
	i, j := now.Args[0], now.Args[1]
	begin, end := view+"[grid.At(grid.At("+at+", ", ")]"
	if c.method == "Ref" {
		begin, end = "(&"+begin, end+")"
	}
	edits := []edit{{text.at(now.Pos()), text.at(i.Pos()), begin}, {text.at(i.End()), text.at(j.Pos()), "), "}}
	if c.method != "Set" {
		return append(edits, edit{text.at(j.End()), text.at(now.End()), end})
	}
	v := now.Args[2]
	return append(edits, edit{text.at(j.End()), text.at(v.Pos()), end + " = "}, edit{text.at(v.End()), text.at(now.End()), ""})
}

// base returns the beginning of a text that is a name.
func base(text string) string {
	name, _, _ := strings.Cut(text, ".")
	return name
}
