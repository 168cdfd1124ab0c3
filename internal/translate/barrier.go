package translate

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
)

// meeting finds barriers that only some threads of a block come to. On the host such a block fails; on a device it gives wrong numbers or hangs.
// A thread's place, the result of an atomic operation, and what is computed from them, may differ between threads; so may a variable that is assigned
// where not all threads are. An element of a buffer or of shared memory is the same for all threads that read it between two barriers, unless the
// kernel has a race.
type meeting struct {
	f       *function
	differs map[types.Object]bool // variables that may differ between threads; for a pointer to a thread's own variable, what it points to
	ends    map[ast.Stmt]parting  // loops that threads leave in different rounds
	left    parting               // a return after which not all threads are there
	around  []*enclosing          // loops and switches around the statement, the innermost last
	grown   bool                  // differs or ends has grown
	report  bool                  // the last walk, in which they do not grow any more
	seen    map[string]bool       // calls that were looked at
}

// parting is the jump or the condition at which the ways of threads part; the zero value says that all threads are together.
type parting struct {
	pos  token.Pos
	verb string // of a jump
}

type enclosing struct {
	stmt       ast.Stmt
	label      string
	left, next parting // threads have left it, or have gone on to the next round
}

func (p parting) or(q parting) parting {
	if p.pos.IsValid() {
		return p
	}
	return q
}

// meets refuses barriers of f that not all threads come to. differs are the parameters that may differ between threads.
func (f *function) meets(differs map[types.Object]bool, seen map[string]bool) {
	m := &meeting{f: f, differs: differs, ends: map[ast.Stmt]parting{}, seen: seen}
	for m.grown = true; m.grown || !m.report; {
		m.report, m.grown, m.left = !m.grown, false, parting{}
		m.list(f.decl.Body.List, parting{})
	}
}

// here returns why not all threads are at a statement, in a part of the function that not all enter because of p.
func (m *meeting) here(p parting) parting {
	p = p.or(m.left)
	for _, a := range m.around {
		p = p.or(a.left).or(a.next)
	}
	return p
}

// where adds the condition e to p.
func (m *meeting) where(p parting, e ast.Expr) parting {
	if e != nil && m.varies(e) {
		return p.or(parting{pos: e.Pos()})
	}
	return p
}

func (m *meeting) list(list []ast.Stmt, p parting) {
	for _, s := range list {
		m.statement(s, "", p)
	}
}

func (m *meeting) statement(s ast.Stmt, label string, p parting) {
	switch s := s.(type) {
	case *ast.BlockStmt:
		m.list(s.List, p)
	case *ast.LabeledStmt:
		m.statement(s.Stmt, s.Label.Name, p)
	case *ast.ExprStmt:
		m.calls(s.X, p)
	case *ast.AssignStmt:
		for i, l := range s.Lhs {
			m.calls(l, p)
			m.assign(l, s.Rhs[min(i, len(s.Rhs)-1)], p)
		}
		for _, r := range s.Rhs {
			m.calls(r, p)
		}
	case *ast.IncDecStmt:
		m.calls(s.X, p)
		m.assign(s.X, s.X, p)
	case *ast.DeclStmt:
		for _, spec := range s.Decl.(*ast.GenDecl).Specs {
			v, ok := spec.(*ast.ValueSpec)
			for i := 0; ok && i < len(v.Names) && len(v.Values) > 0; i++ {
				m.assign(v.Names[i], v.Values[min(i, len(v.Values)-1)], p)
			}
			for i := 0; ok && i < len(v.Values); i++ {
				m.calls(v.Values[i], p)
			}
		}
	case *ast.ReturnStmt:
		for _, r := range s.Results {
			m.calls(r, p)
		}
		if m.here(p).pos.IsValid() {
			by := parting{s.Pos(), "return"}
			m.left = m.left.or(by)
			m.leave(0, by)
		}
	case *ast.BranchStmt:
		m.branch(s, p)
	case *ast.IfStmt:
		m.statement(s.Init, "", p)
		m.calls(s.Cond, p)
		p = m.where(p, s.Cond)
		m.list(s.Body.List, p)
		m.statement(s.Else, "", p)
	case *ast.SwitchStmt:
		m.statement(s.Init, "", p)
		m.calls(s.Tag, p)
		last := m.where(p, s.Tag)
		inside := map[ast.Stmt]parting{} // of each clause
		for _, c := range s.Body.List {
			for _, e := range c.(*ast.CaseClause).List {
				m.calls(e, last)
				last = m.where(last, e)
			}
			inside[c] = last
		}
		m.within(s, label, func() {
			for _, c := range s.Body.List {
				if c := c.(*ast.CaseClause); c.List == nil {
					inside[c] = last
				}
				m.list(c.(*ast.CaseClause).Body, inside[c])
			}
		})
	case *ast.ForStmt:
		m.statement(s.Init, "", p)
		m.within(s, label, func() {
			p = m.where(p, s.Cond).or(m.ends[s])
			m.calls(s.Cond, p)
			m.list(s.Body.List, p)
			m.around[len(m.around)-1].next = parting{}
			m.statement(s.Post, "", p)
		})
	case *ast.RangeStmt:
		m.calls(s.X, p)
		m.within(s, label, func() {
			if n, ok := numberOf(m.f.typeOf(s.X)); ok && !n.float {
				p = m.where(p, s.X)
			}
			p = p.or(m.ends[s])
			m.assign(s.Key, s.X, p)
			m.assign(s.Value, s.X, p)
			m.list(s.Body.List, p)
		})
	}
}

// within calls f for the inside of a loop or a switch.
func (m *meeting) within(s ast.Stmt, label string, f func()) {
	m.around = append(m.around, &enclosing{stmt: s, label: label})
	f()
	m.around = m.around[:len(m.around)-1]
}

// leave notes that threads leave the loops from m.around[first] on, each in a round of its own.
func (m *meeting) leave(first int, by parting) {
	for _, a := range m.around[first:] {
		if _, known := m.ends[a.stmt]; !known {
			m.ends[a.stmt], m.grown = by, true
		}
	}
}

func (m *meeting) branch(s *ast.BranchStmt, p parting) {
	if !m.here(p).pos.IsValid() || s.Tok == token.FALLTHROUGH {
		return
	}
	by := parting{s.Pos(), s.Tok.String()}
	for i := len(m.around) - 1; i >= 0; i-- {
		a := m.around[i]
		_, isSwitch := a.stmt.(*ast.SwitchStmt)
		if s.Label != nil && a.label != s.Label.Name || s.Label == nil && isSwitch && s.Tok == token.CONTINUE {
			continue
		}
		if s.Tok == token.BREAK {
			a.left = a.left.or(by)
			m.leave(i, by)
		} else {
			a.next = a.next.or(by)
			m.leave(i+1, by)
		}
		return
	}
}

// assign notes that a place gets a value.
func (m *meeting) assign(l, value ast.Expr, p parting) {
	if v := m.own(l); v != nil && (m.varies(value) || m.varies(l) || m.here(p).pos.IsValid()) {
		m.differ(v)
	}
}

func (m *meeting) differ(v types.Object) {
	if !m.differs[v] {
		m.differs[v], m.grown = true, true
	}
}

// own returns the variable that a place is a part of if each thread has its own, else nil.
func (m *meeting) own(e ast.Expr) types.Object {
	for {
		switch x := e.(type) {
		case *ast.ParenExpr:
			e = x.X
		case *ast.SelectorExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.Ident:
			obj := m.f.p.pkg.info.ObjectOf(x)
			if v := m.f.vars[obj]; v == nil || v.kind != value && (v.kind != pointer || v.space != private) {
				return nil
			}
			return obj
		default:
			return nil
		}
	}
}

// varies reports whether an expression may have different values for threads of a block.
func (m *meeting) varies(e ast.Expr) bool {
	found := false
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			found = found || m.differs[m.f.p.pkg.info.ObjectOf(n)]
		case *ast.CallExpr:
			if called := m.f.called[n]; called != nil {
				found = found || called.differs
			} else if id, _ := callee(ast.Unparen(n.Fun)); id != nil {
				obj := m.f.p.pkg.info.ObjectOf(id)
				found = found || obj != nil && obj.Pkg() != nil && obj.Pkg().Path() == gridPath && apart[obj.Name()]
			}
		}
		return !found
	})
	return found
}

// apart are the functions of package grid whose results differ between threads.
var apart = map[string]bool{"Global": true, "Local": true, "AtomicAdd": true, "AtomicMin": true, "AtomicMax": true, "AtomicAnd": true, "AtomicOr": true,
	"AtomicXor": true, "AtomicExchange": true, "AtomicCompareExchange": true}

// calls looks at the calls in an expression.
func (m *meeting) calls(e ast.Expr, p parting) {
	if e == nil {
		return
	}
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			if n.Op == token.LAND || n.Op == token.LOR {
				m.calls(n.X, p)
				m.calls(n.Y, m.where(p, n.X))
				return false
			}
		case *ast.CallExpr:
			m.call(n, p)
		}
		return true
	})
}

func (m *meeting) call(c *ast.CallExpr, p parting) {
	called := m.f.called[c]
	if called == nil {
		if id, _ := callee(ast.Unparen(c.Fun)); id != nil {
			if obj := m.f.p.pkg.info.ObjectOf(id); obj != nil && obj.Pkg() != nil && obj.Pkg().Path() == gridPath && obj.Name() == "Barrier" {
				m.meet(c.Pos(), m.here(p))
			}
		}
		return
	}
	args := c.Args
	if len(called.params) == len(args)+1 { // a method
		if s := selector(ast.Unparen(c.Fun)); s != nil {
			args = append([]ast.Expr{s.X}, args...)
		}
	}
	some := called.differs || m.here(p).pos.IsValid()
	differs, key := map[types.Object]bool{}, called.c
	for i, param := range called.params {
		if param.kind != thread && len(args) > 0 && m.varies(args[min(i, len(args)-1)]) {
			some = true
			if obj := called.inGo(param); obj != nil && (param.kind == value || param.space == private) {
				differs[obj] = true
				key += fmt.Sprint(" ", i)
			}
		}
	}
	for i, param := range called.params {
		if param.kind == pointer && some && i < len(args) {
			a := ast.Unparen(args[i])
			if u, ok := a.(*ast.UnaryExpr); ok {
				a = u.X
			}
			if v := m.own(a); v != nil {
				m.differ(v)
			}
		}
	}
	if !called.meetsOthers {
		return
	}
	m.meet(c.Pos(), m.here(p))
	if m.report && !m.seen[key] {
		m.seen[key] = true
		called.meets(differs, m.seen)
	}
}

// inGo returns the variable of Go that a parameter is, or nil.
func (f *function) inGo(m *param) types.Object {
	for obj, v := range f.vars {
		if v == m.v {
			return obj
		}
	}
	return nil
}

// meet refuses a barrier, or a call of a function with one, if not all threads come to it.
func (m *meeting) meet(barrier token.Pos, by parting) {
	if !m.report || !by.pos.IsValid() {
		return
	}
	p := m.f.p
	line := func(pos token.Pos) int { return p.pkg.Fset.Position(pos).Line }
	if by.verb != "" {
		p.note(by.pos, fmt.Sprintf("threads that %s here do not come to the barrier in line %d, where the others of their block wait for them; "+
			"put the statements that they leave out into an if, and t.Barrier outside of it", by.verb, line(barrier)))
		return
	}
	p.note(barrier, fmt.Sprintf("not all threads of a block come to this barrier, because the condition in line %d may differ between them; "+
		"write t.Barrier where all come to it, and only the other statements under the condition", line(by.pos)))
}
