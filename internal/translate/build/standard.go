package build

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/go-halyard/halyard/internal/translate/ir"
)

// Functions of Go's packages for mathematics have statements that other functions may not have: some panic, one jumps forward to its end, and some choose
// between tables by a pointer. On some processors they call functions in assembly; on those, a constant such as haveArchModf is true.

// panics builds a panic. The interpreter divides by zero there. On devices, the results of a division by zero are 0, and so are those of the function.
func (f *operations) panics() {
	n := ir.Basic(ir.Int)
	f.Let(f.Value(ir.Div, n, f.Int(n, 0), f.Int(n, 0)))
	s := f.Stmt(ir.Return)
	for _, t := range f.F.Results {
		s.Values = append(s.Values, f.Zero(t))
	}
}

// assembly reports whether a condition is true only on processors for which Go has a function in assembly.
func (r *reader) assembly(cond ast.Expr) bool {
	id, ok := cond.(*ast.Ident)
	return ok && r.p.pkg.Standard && strings.HasPrefix(id.Name, "haveArch")
}

// jump builds a goto: the statements from the label on, which end in a return.
func (f *function) jump(s *ast.BranchStmt) {
	list := f.decl.Body.List
	i := slices.IndexFunc(list, func(to ast.Stmt) bool {
		l, ok := to.(*ast.LabeledStmt)
		return ok && l.Label.Name == s.Label.Name && l.Pos() > s.Pos()
	})
	_, ends := list[len(list)-1].(*ast.ReturnStmt)
	if !f.p.pkg.Standard || i < 0 || !ends {
		refuse(s.Pos(), "goto has no translation; write a loop, or break and continue with a label")
	}
	f.statements(list[i:])
}

// declareChoices declares the local variables that point to one of several tables. A local has the number of the table, in a table of tables.
func (f *function) declareChoices() {
	if !f.p.pkg.Standard {
		return
	}
	ast.Inspect(f.decl.Body, func(n ast.Node) bool {
		s, ok := n.(*ast.AssignStmt)
		if !ok || s.Tok != token.ASSIGN || len(s.Lhs) != 1 {
			return true
		}
		v, ok := f.object(s.Lhs[0]).(*types.Var)
		to, isAddress := s.Rhs[0].(*ast.UnaryExpr)
		if !ok || !isAddress || to.Op != token.AND {
			return true
		}
		if t := f.vars[f.object(to.X)]; t != nil && t.local != nil && t.local.Space == ir.Constant {
			f.choice(v, t.local.Table)
		}
		return true
	})
}

// choice adds a table to those that a variable may point to.
func (f *function) choice(v *types.Var, t *ir.Table) {
	w := f.vars[v]
	if w == nil {
		w = &variable{kind: chosen, typ: v.Type(), local: f.Local(v.Name(), ir.Basic(ir.Int), ir.Private)}
		w.tables = f.Local(v.Name(), &ir.Type{Kind: ir.Array, Elem: t.Type}, ir.Constant)
		w.tables.Table = &ir.Table{Name: f.decl.Name.Name + "_" + v.Name(), Type: w.tables.Type}
		f.vars[v] = w
	}
	w.tables.Type.Len++
	w.tables.Table.Parts = append(w.tables.Table.Parts, t.Parts...)
}

// choose builds an assignment to a variable that points to one of several tables, and reports whether the assignment is one.
func (f *function) choose(s *ast.AssignStmt) bool {
	w := f.vars[f.object(s.Lhs[0])]
	if w == nil || w.kind != chosen {
		return false
	}
	f.Store(w.local.At(), f.Int(ir.Basic(ir.Int), w.made))
	w.made++
	return true
}
