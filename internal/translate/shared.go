package translate

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
)

// sharedArray is an array that the threads of a block share, with the result of filled.
type sharedArray struct {
	f    *function
	obj  types.Object
	typ  types.Type
	dims []int // the thread's dimension for each index: the thread whose places along dims[0] and dims[1] are i and j writes element [i][j]
}

// filled reports whether every thread writes its own element before any thread can read it. The indexes of a thread's own element are its places in
// the block. If it is true, only elements without a thread have to be cleared, and no barrier is needed after clearing.
//
// It recognises one form. The statements of the kernel, or of one of its loops, contain such an assignment, and after it a barrier. Between the two,
// threads use only their own elements. No statement leaves the kernel or the loop before that barrier. The array is not used before the assignment
// and, in the case of a loop, not after the loop.
func (a *sharedArray) filled() bool {
	body := a.f.decl.Body
	if a.filledIn(body.List, body) {
		return true
	}
	for _, s := range body.List {
		if l, ok := s.(*ast.ForStmt); ok && a.filledIn(l.Body.List, l.Body) {
			return true
		}
	}
	return false
}

func (a *sharedArray) filledIn(list []ast.Stmt, scope ast.Node) bool {
	for i, s := range list {
		assign, ok := s.(*ast.AssignStmt)
		if !ok || assign.Tok != token.ASSIGN || len(assign.Lhs) != 1 || len(assign.Rhs) != 1 || a.uses(assign.Rhs[0]) {
			continue
		}
		a.dims = nil
		if !a.own(assign.Lhs[0]) {
			continue
		}
		for _, s := range list[i+1:] {
			if a.beginsWithBarrier(s) {
				return a.usedBetween(assign.Pos(), scope.End(), s.Pos())
			}
		}
		return false
	}
	return false
}

// usedBetween reports whether all uses of the array are between first and last, those before the barrier use a thread's own element, and no statement
// before the barrier leaves.
func (a *sharedArray) usedBetween(first, last, barrier token.Pos) bool {
	fine := true
	ast.Inspect(a.f.decl.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ReturnStmt, *ast.BranchStmt:
			fine = fine && n.Pos() > barrier
		case *ast.IndexExpr:
			if n.Pos() >= first && n.Pos() < barrier && a.own(n) {
				return false
			}
		case *ast.Ident:
			if a.f.p.pkg.info.Uses[n] == a.obj {
				fine = fine && n.Pos() >= first && n.Pos() >= barrier && n.Pos() < last
			}
		}
		return true
	})
	return fine
}

func (a *sharedArray) uses(n ast.Node) bool {
	used := false
	ast.Inspect(n, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		used = used || ok && a.f.p.pkg.info.Uses[id] == a.obj
		return true
	})
	return used
}

// own reports whether an expression is the own element of the thread that evaluates it. The first such expression determines dims.
func (a *sharedArray) own(e ast.Expr) bool {
	var dims []int
	for {
		x, ok := ast.Unparen(e).(*ast.IndexExpr)
		if !ok {
			break
		}
		dim, ok := a.f.local(x.Index)
		if !ok {
			return false
		}
		dims, e = append([]int{dim}, dims...), x.X
	}
	id, ok := ast.Unparen(e).(*ast.Ident)
	if !ok || a.f.p.pkg.info.Uses[id] != a.obj || len(dims) != len(a.sizes()) {
		return false
	}
	for i, d := range dims {
		for _, other := range dims[:i] {
			if d == other {
				return false
			}
		}
		if a.dims != nil && a.dims[i] != d {
			return false
		}
	}
	a.dims = dims
	return true
}

func (a *sharedArray) sizes() (sizes []int64) {
	t := a.typ
	for {
		x, ok := t.Underlying().(*types.Array)
		if !ok {
			return sizes
		}
		sizes, t = append(sizes, x.Len()), x.Elem()
	}
}

// beginsWithBarrier reports whether a statement is a barrier, or a loop that runs at least once and whose body begins with a barrier.
func (a *sharedArray) beginsWithBarrier(s ast.Stmt) bool {
	if s, ok := s.(*ast.ForStmt); ok {
		return len(s.Body.List) > 0 && a.beginsWithBarrier(s.Body.List[0]) && a.runs(s)
	}
	return a.f.isBarrier(s)
}

func (f *function) isBarrier(s ast.Stmt) bool {
	e, ok := s.(*ast.ExprStmt)
	if !ok {
		return false
	}
	call, ok := ast.Unparen(e.X).(*ast.CallExpr)
	if !ok {
		return false
	}
	id, _ := callee(ast.Unparen(call.Fun))
	obj, ok := f.p.pkg.info.Uses[id].(*types.Func)
	return ok && obj.Pkg() != nil && obj.Pkg().Path() == gridPath && obj.Name() == "Barrier"
}

// list returns a kernel's statements up to the last that does something. Barriers at its end are left out: nothing comes after them, and threads that have
// returned before would have to come to them.
func (f *function) list() []ast.Stmt {
	list := f.decl.Body.List
	for n := len(list); n > 0; n-- {
		switch s := list[n-1].(type) {
		case *ast.ReturnStmt, *ast.EmptyStmt:
		default:
			if !f.isBarrier(s) {
				return list[:n]
			}
			f.together = true
		}
	}
	return nil
}

// runs reports whether constants show that a loop's body runs at least once.
func (a *sharedArray) runs(s *ast.ForStmt) bool {
	if s.Cond == nil {
		return true
	}
	info := a.f.p.pkg.info
	init, ok := s.Init.(*ast.AssignStmt)
	if !ok || init.Tok != token.DEFINE || len(init.Lhs) != 1 {
		return false
	}
	cond, ok := ast.Unparen(s.Cond).(*ast.BinaryExpr)
	if !ok {
		return false
	}
	v, isIdent := ast.Unparen(cond.X).(*ast.Ident)
	from, to := info.Types[init.Rhs[0]].Value, info.Types[cond.Y].Value
	if !isIdent || info.Uses[v] == nil || info.Uses[v] != defined(info, init.Lhs[0]) || from == nil || to == nil {
		return false
	}
	switch cond.Op {
	case token.LSS, token.LEQ, token.GTR, token.GEQ, token.NEQ:
		return constant.Compare(from, cond.Op, to)
	}
	return false
}

// defined returns the variable that the left side of a definition declares, or nil.
func defined(info *types.Info, e ast.Expr) types.Object {
	id, _ := e.(*ast.Ident)
	return info.Defs[id]
}

// local reports whether an expression is the thread's place in its block, or a variable that always has this value, and
// returns the dimension.
func (f *function) local(e ast.Expr) (int, bool) {
	info := f.p.pkg.info
	switch e := ast.Unparen(e).(type) {
	case *ast.CallExpr:
		id, _ := callee(ast.Unparen(e.Fun))
		obj, ok := info.Uses[id].(*types.Func)
		if !ok || obj.Pkg() == nil || obj.Pkg().Path() != gridPath || obj.Name() != "Local" || len(e.Args) != 1 || info.Types[e.Args[0]].Value == nil {
			return 0, false
		}
		d, exact := constant.Int64Val(constant.ToInt(info.Types[e.Args[0]].Value))
		return int(d), exact && d >= 0 && d <= 2
	case *ast.Ident:
		v := info.Uses[e]
		var is ast.Expr
		changed := false
		ast.Inspect(f.decl.Body, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				for i, l := range n.Lhs {
					id, ok := l.(*ast.Ident)
					switch {
					case ok && info.Defs[id] == v && len(n.Lhs) == len(n.Rhs):
						is = n.Rhs[i]
					case ok && (info.Defs[id] == v || info.Uses[id] == v):
						changed = true
					}
				}
			case *ast.IncDecStmt:
				id, ok := ast.Unparen(n.X).(*ast.Ident)
				changed = changed || ok && info.Uses[id] == v
			case *ast.RangeStmt:
				for _, l := range []ast.Expr{n.Key, n.Value} {
					id, ok := l.(*ast.Ident)
					changed = changed || ok && info.Uses[id] == v
				}
			case *ast.UnaryExpr:
				id, ok := ast.Unparen(n.X).(*ast.Ident)
				changed = changed || ok && n.Op == token.AND && info.Uses[id] == v
			}
			return true
		})
		if v != nil && is != nil && !changed {
			if _, again := ast.Unparen(is).(*ast.Ident); !again {
				return f.local(is)
			}
		}
	}
	return 0, false
}

// clears returns the lines with which the threads of a block set an array to zero: all of it or, if it is filled, only the elements that have no
// thread.
func (a *sharedArray) clears(name string, pos token.Pos, filled bool) []string {
	sizes, total := a.sizes(), int64(1)
	t := a.typ
	for _, n := range sizes {
		total, t = total*n, t.Underlying().(*types.Array).Elem()
	}
	at, each := name, total
	fewer, without := "", ""
	for i, n := range sizes {
		each /= n
		index := fmt.Sprintf("v_i / %d", each)
		if i > 0 {
			index = fmt.Sprintf("v_i / %d %% %d", each, n)
		}
		at += fmt.Sprintf(".a[%s]", index)
		if filled {
			fewer += fmt.Sprintf(" || THREADS(%d) < %d", a.dims[i], n)
			without += fmt.Sprintf(" || %s >= THREADS(%d)", index, a.dims[i])
		}
	}
	c := a.f.p.cType(t, pos)
	loop := fmt.Sprintf("for (u64 v_i = v_me; v_i < %d; v_i += v_all)", total)
	if !filled {
		return []string{fmt.Sprintf("\t\t%s {\n", loop), fmt.Sprintf("\t\t\t%s v_zero = %s;\n", c, zero(t)), fmt.Sprintf("\t\t\t%s = v_zero;\n", at), "\t\t}\n"}
	}
	return []string{
		fmt.Sprintf("\t\tif (%s) {\n", fewer[len(" || "):]),
		fmt.Sprintf("\t\t\t%s {\n", loop),
		fmt.Sprintf("\t\t\t\t%s v_zero = %s;\n", c, zero(t)),
		fmt.Sprintf("\t\t\t\tif (%s) {\n\t\t\t\t\t%s = v_zero;\n\t\t\t\t}\n", without[len(" || "):], at),
		"\t\t\t}\n\t\t}\n",
	}
}
