package load

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"strings"
)

// This file replaces the calls of grid.LoadTile and grid.StoreTile by loops in which each thread copies elements, between two barriers. A
// comment before them has the call that the host makes instead, once for the block.

// tiles says, for a statement that loads a tile, whether the statements before and after it load tiles too. The barriers between such
// loads are left out.
type tiles struct{ before, after bool }

// loads reports whether a statement loads a tile into a whole array, from a row and a column that are computed without reading memory.
func (x *expander) loads(s ast.Stmt) bool {
	e, ok := s.(*ast.ExprStmt)
	if !ok || !x.p.Calls(e.X, "LoadTile") {
		return false
	}
	c := ast.Unparen(e.X).(*ast.CallExpr)
	if len(c.Args) != 6 || whole(c.Args[1]) == nil {
		return false
	}
	for _, a := range c.Args[3:5] {
		ast.Inspect(a, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.IndexExpr, *ast.StarExpr:
				ok = false
			case *ast.CallExpr:
				f := x.p.called(n)
				ok = ok && (f == nil || f.Pkg() != nil && f.Pkg().Path() == GridPath)
			}
			return ok
		})
	}
	return ok
}

// whole returns the name of the array in an expression such as s[:], or nil.
func whole(e ast.Expr) *ast.Ident {
	s, ok := ast.Unparen(e).(*ast.SliceExpr)
	if !ok || s.Low != nil || s.High != nil {
		return nil
	}
	id, _ := ast.Unparen(s.X).(*ast.Ident)
	return id
}

// tile returns the statements of a call.
func (x *expander) tile(from *copied, c *ast.CallExpr) (text string, ok bool) {
	f := x.p.called(c)
	refuse := func(at token.Pos, format string, args ...any) (string, bool) {
		x.refuse(at, "grid.%s "+format, append([]any{f.Name()}, args...)...)
		return "", false
	}
	sig := x.p.Info.TypeOf(c.Fun).(*types.Signature)
	if len(c.Args) != 6 {
		return refuse(c.Pos(), "has arguments that must be written one by one")
	}
	const of = "takes tile[:] of an array tile := grid.Shared[[18][34]float32](t), or a variable that is a slice of such arrays from grid.SharedSlice"
	id := whole(c.Args[1])
	if id == nil {
		id, _ = ast.Unparen(c.Args[1]).(*ast.Ident)
	}
	if id == nil {
		return refuse(c.Args[1].Pos(), of)
	}
	tile := from.named(id.Name, x.p.Info.ObjectOf(id))
	if v := x.there(strings.Trim(tile, "(&)")); v == nil || !x.sharedBy(v) {
		return refuse(c.Args[1].Pos(), of)
	}
	elem := sig.Params().At(2).Type()
	if elem = MatrixOf(elem); elem == nil {
		return refuse(c.Args[2].Pos(), "takes a grid.Matrix or a grid.OutMatrix")
	}
	row, isArray := sig.Params().At(1).Type().(*types.Slice).Elem().Underlying().(*types.Array)
	if !isArray || !types.Identical(row.Elem(), elem) {
		return refuse(c.Args[1].Pos(), "takes a tile of arrays of %s, as the matrix has", types.TypeString(elem, types.RelativeTo(x.p.Types)))
	}
	last, isInt := constant.Int64Val(constant.ToInt(x.value(c.Args[5])))
	if !isInt || last < 0 {
		return refuse(c.Args[5].Pos(), "takes a constant here, of at least 0")
	}
	plain := func(e ast.Expr) string { return positions.ReplaceAllString(from.cut(e.Pos(), e.End(), nil), "") }
	t, m := plain(c.Args[0]), plain(c.Args[2])
	y := x.declare(&x.shares.tileRow, "tileRow", "%s.Local(2)*%[1]s.Size(1) + %[1]s.Local(1)", t)
	ys := x.declare(&x.shares.tileRows, "tileRows", "%s.Size(1) * %[1]s.Size(2)", t)
	top, left, i, j := x.another("top"), x.another("left"), x.another("i"), x.another("j")
	at := from.at(c.Pos())
	barrier := "; " + at + t + ".Barrier(); "
	text = fmt.Sprintf("%s := int(%s); %s := int(%s)", top, from.cut(c.Args[3].Pos(), c.Args[3].End(), nil), left, from.cut(c.Args[4].Pos(), c.Args[4].End(), nil))
	if !x.tiles.before {
		text = strings.TrimPrefix(barrier, "; ") + text
	}
	grid := x.imported(f.Pkg(), "grid")
	host := fmt.Sprintf("%s.%sOf(%s, %s, %s, %s, %d)", grid, f.Name(), plain(c.Args[1]), m, top, left, last)
	r, k := fmt.Sprintf("%s+%s", top, i), fmt.Sprintf("%s+%s", left, j)
	element := fmt.Sprintf("%s[%s][%s]", tile, i, j)
	first, copies := int64(0), ""
	switch name := from.typeName(elem); {
	case f.Name() == "StoreTile":
		first = last
		copies = fmt.Sprintf("if uint(%s) < uint(%s.Rows()) && uint(%s) < uint(%[2]s.Cols()) { %[2]s.Set(%[1]s, %[3]s, %s) }", r, m, k, element)
	case last == 1: // grid.EdgeClamp
		copies = fmt.Sprintf("%s = %s.At(max(min(%s, %[2]s.Rows()-1), 0), max(min(%[4]s, %[2]s.Cols()-1), 0))", element, m, r, k)
	case last == 2: // grid.EdgeWrap
		copies = fmt.Sprintf("%s = %s.At(((%s)%%%[2]s.Rows()+%[2]s.Rows())%%%[2]s.Rows(), ((%[4]s)%%%[2]s.Cols()+%[2]s.Cols())%%%[2]s.Cols())", element, m, r, k)
	default:
		v := x.another("v")
		copies = fmt.Sprintf("var %s %s; if uint(%s) < uint(%s.Rows()) && uint(%s) < uint(%[4]s.Cols()) { %[1]s = %[4]s.At(%[3]s, %[5]s) }; %[6]s = %[1]s",
			v, name, r, m, k, element)
	}
	end := ""
	if first > 0 {
		end = fmt.Sprint("-", first)
	}
	// The condition is always true. It names all that the host's loop depends on, for the phase that runs this loop once for the block. All
	// threads run the loops alike, and there are no loops if the block has the shape of the tile, so that compilers make vectors of threads.
	text += fmt.Sprintf("; %s%s*/if %smin(%s, %s) <= %[4]s { ", hostMark, host, at, top, left)
	if first == 0 {
		text += fmt.Sprintf("if %s == len(%s) && %s.Size(0) == %d { %s, %s := %s, %[3]s.Local(0); %[8]s } else { ", ys, tile, t, row.Len(), i, j, y, copies)
	}
	n, k0 := x.another("n"), x.another("k")
	text += fmt.Sprintf("for %s := %d; %[1]s < len(%[3]s)%[4]s; %[1]s += %[5]s { for %[6]s := %[2]d; %[6]s < %[7]d; %[6]s += %[8]s.Size(0) { "+
		"if %[9]s, %[10]s := %[1]s+%[11]s, %[6]s+%[8]s.Local(0); %[9]s < len(%[3]s)%[4]s && %[10]s < %[7]d { %[12]s } } }",
		n, first, tile, end, ys, k0, row.Len()-first, t, i, j, y, copies)
	if first == 0 {
		text += " }"
	}
	if !x.tiles.after || f.Name() == "StoreTile" {
		text += barrier
	}
	return blockMark + f.Name() + "*/" + at + text + "}; ", true
}

// value returns the constant that an expression is, or a value of unknown kind.
func (x *expander) value(e ast.Expr) constant.Value {
	if v := x.p.Info.Types[e].Value; v != nil {
		return v
	}
	return constant.MakeUnknown()
}

// sharedBy reports whether a variable of the kernel is memory that the threads of a block share.
func (x *expander) sharedBy(v types.Object) (found bool) {
	ast.Inspect(x.decl.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for i, l := range n.Lhs {
				found = found || l.Pos() == v.Pos() && len(n.Rhs) == len(n.Lhs) && (x.p.Calls(n.Rhs[i], "Shared") || x.p.Calls(n.Rhs[i], "SharedSlice"))
			}
		case *ast.ValueSpec:
			for i, l := range n.Names {
				found = found || l.Pos() == v.Pos() && len(n.Values) == len(n.Names) && (x.p.Calls(n.Values[i], "Shared") || x.p.Calls(n.Values[i], "SharedSlice"))
			}
		}
		return !found
	})
	return found
}
