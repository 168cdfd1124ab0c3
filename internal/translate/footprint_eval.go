package translate

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// note adds an access by the thread that is followed.
func (w *reach) note(a access, at ast.Node) {
	a.ctx, a.path, a.pos = w.ctx, w.path, w.at(at)
	if a.index == nil {
		a.index = w.unknown(types.Typ[types.Int]).n
	}
	if a.of.kind == matrix && a.row != nil {
		rows := w.size(a.of, 1)
		before := w.ctx
		w.compare(a.row, token.GEQ, fixed(0))
		w.compare(a.row, token.LSS, rows)
		a.ctx, w.ctx = w.ctx, before
	}
	w.all = append(w.all, a)
}

// slice returns a slice or a matrix of the kernel.
func (w *reach) slice(e ast.Expr) val {
	if id, ok := ast.Unparen(e).(*ast.Ident); ok {
		return w.frame.env[w.info().ObjectOf(id)]
	}
	return val{}
}

// ignore notes that an expression is not evaluated.
func (w *reach) ignore(e ast.Expr) {
	ast.Inspect(e, func(n ast.Node) bool {
		if n != nil {
			w.seen[n] = true
		}
		return true
	})
}

// place follows the use of a place: a variable, an element, or a part of one.
func (w *reach) place(e ast.Expr, read, write bool) {
	w.element(e, access{read: read, write: write})
}

// element notes the access if a place is in an element of a slice, and reports whether it is.
func (w *reach) element(e ast.Expr, a access) bool {
	switch x := ast.Unparen(e).(type) {
	case *ast.IndexExpr:
		if _, isSlice := typeUnder[*types.Slice](w.info().TypeOf(x.X)); isSlice {
			i := w.eval(x.Index).n
			if a.of = w.slice(x.X).of; a.of == nil {
				return false
			}
			w.seen[x] = true
			a.index = i
			w.note(a, x)
			return true
		}
		w.eval(x.Index)
		a.part = true
		return w.element(x.X, a)
	case *ast.SelectorExpr:
		if w.info().Selections[x] == nil {
			return false
		}
		a.part = true
		return w.element(x.X, a)
	case *ast.StarExpr:
		return w.element(x.X, a)
	case *ast.UnaryExpr:
		if x.Op == token.AND {
			return w.element(x.X, a)
		}
	case *ast.CallExpr:
		if sel, ok := ast.Unparen(x.Fun).(*ast.SelectorExpr); ok && sel.Sel.Name == "Ref" && matrixOf(w.info().TypeOf(sel.X)) != nil {
			w.cell(x, sel, a)
			return true
		}
		w.eval(x)
	case *ast.CompositeLit:
		w.eval(x)
	}
	return false
}

// cell notes an access of a matrix.
func (w *reach) cell(e *ast.CallExpr, sel *ast.SelectorExpr, a access) {
	i, j := w.eval(e.Args[0]).n, w.eval(e.Args[1]).n
	if a.of = w.slice(sel.X).of; a.of == nil {
		return
	}
	w.seen[e] = true
	if i == nil || j == nil {
		w.note(a, e)
		return
	}
	before, cols := w.ctx, w.size(a.of, 2)
	w.compare(j, token.GEQ, fixed(0))
	w.compare(j, token.LSS, cols)
	a.row = i
	if rows := i.times(cols); rows != nil {
		a.index = rows.plus(j, 1)
	}
	w.note(a, e)
	w.ctx = before
}

// eval follows an expression.
func (w *reach) eval(e ast.Expr) val {
	if p, ok := w.constantOf(e); ok {
		return val{n: p}
	}
	t := w.info().TypeOf(e)
	switch x := e.(type) {
	case *ast.ParenExpr:
		return w.eval(x.X)
	case *ast.Ident:
		obj := w.info().ObjectOf(x)
		if v, ok := w.frame.env[obj]; ok && !w.frame.unknown[obj] { // else it may have changed since the last use, through its address
			return v
		}
	case *ast.BinaryExpr:
		return w.binary(x, t)
	case *ast.UnaryExpr:
		if x.Op == token.AND {
			w.element(x.X, access{read: true, write: true, part: true})
			return val{}
		}
		v := w.eval(x.X)
		switch {
		case x.Op == token.NOT && v.cond != nil:
			return val{cond: &condition{op: token.NOT, a: v.cond}}
		case x.Op == token.SUB && v.n != nil:
			return w.fit(fixed(0).plus(v.n, -1), t)
		case x.Op == token.ADD:
			return v
		}
	case *ast.IndexExpr, *ast.SelectorExpr, *ast.StarExpr:
		w.element(x, access{read: true})
	case *ast.CallExpr:
		return w.call(x)
	case *ast.CompositeLit:
		for _, elt := range x.Elts {
			if kv, ok := elt.(*ast.KeyValueExpr); ok {
				elt = kv.Value
			}
			w.eval(elt)
		}
	}
	return w.unknown(t)
}

func (w *reach) binary(e *ast.BinaryExpr, t types.Type) val {
	x := w.eval(e.X)
	switch e.Op {
	case token.LAND, token.LOR:
		ctx, path := w.ctx, w.path
		w.steps++
		w.assume(x.cond, e.Op == token.LAND, w.steps)
		y := w.eval(e.Y)
		w.ctx, w.path = ctx, path
		a, b := x.cond, y.cond
		if a == nil {
			a = &condition{}
		}
		if b == nil {
			b = &condition{}
		}
		return val{cond: &condition{op: e.Op, a: a, b: b}}
	}
	y := w.eval(e.Y)
	if mirrored[e.Op] != token.ILLEGAL {
		if x.n == nil || y.n == nil {
			return val{cond: &condition{}}
		}
		return val{cond: &condition{op: e.Op, x: x.n, y: y.n}}
	}
	return w.arithmetic(e.Op, x.n, y.n, t)
}

// arithmetic returns the result of an operation on integers of a type.
func (w *reach) arithmetic(op token.Token, x, y poly, t types.Type) val {
	if _, _, ok := rangeOf(t); !ok || x == nil || y == nil {
		return w.unknown(t)
	}
	result := func(method string, low bool, args ...poly) val {
		return w.fit(w.atom(atom{kind: isResult, op: method, args: args, low: low}), t)
	}
	n, constant := y.constant()
	switch op {
	case token.ADD:
		return w.fit(w.placed(x.plus(y, 1)), t)
	case token.SUB:
		return w.fit(x.plus(y, -1), t)
	case token.MUL:
		return w.fit(x.times(y), t)
	case token.QUO:
		return result("Over", w.low(x) && w.low(y), x, y)
	case token.REM:
		return result("Rest", w.low(x), x, y)
	case token.AND:
		return result("Mask", w.low(x) || w.low(y), x, y)
	case token.SHR:
		if constant && n >= 0 && n < 64 {
			return result(fmt.Sprintf("Right(%d)", n), w.low(x), x)
		}
	case token.SHL:
		if constant && n >= 0 && n < 62 {
			return w.fit(x.times(fixed(1<<n)), t)
		}
	}
	return w.unknown(t)
}

// placed writes t.Block(d)*t.Size(d) + t.Local(d) as t.Global(d).
func (w *reach) placed(p poly) poly {
	for d := range 3 {
		global, local, block, size := w.known[key(isPlace, d)], w.known[key(isLocal, d)], w.known[key(isBlock, d)], w.known[key(isSize, d)]
		if p == nil || local == nil || block == nil || size == nil {
			continue
		}
		start := poly{product([]int{block.id, size.id}): 1}
		me := poly{product([]int{local.id}): 1}
		if m, _ := extract(p, start.plus(me, 1)); m != nil {
			if global == nil {
				w.once(key(isPlace, d), atom{kind: isPlace, dim: d, low: true})
				global = w.known[key(isPlace, d)]
			}
			p = p.plus(m.times(start.plus(me, 1)), -1).plus(m.times(poly{product([]int{global.id}): 1}), 1)
		}
	}
	return p
}

func key(kind atomKind, dim int) string { return fmt.Sprint("t", kind, dim) }

// call follows a call.
func (w *reach) call(e *ast.CallExpr) val {
	info := w.info()
	t := info.TypeOf(e)
	fun := ast.Unparen(e.Fun)
	if info.Types[fun].IsType() {
		x := w.eval(e.Args[0])
		if x.n == nil {
			return w.unknown(t)
		}
		return w.narrow(x.n, info.TypeOf(e.Args[0]), t)
	}
	id, recv := callee(fun)
	if id == nil {
		w.lost = "a call is not followed"
		return w.unknown(t)
	}
	if b, ok := info.Uses[id].(*types.Builtin); ok {
		return w.builtin(e, b.Name(), t)
	}
	obj, ok := info.Uses[id].(*types.Func)
	if !ok || obj.Pkg() == nil {
		w.lost = "a call is not followed"
		return w.unknown(t)
	}
	if info.Selections[selector(fun)] == nil {
		recv = nil
	}
	if obj.Pkg().Path() == gridPath {
		return w.gridCall(e, obj.Name(), recv, t)
	}
	if path := obj.Pkg().Path(); path == "math" || path == "math/bits" || path == "math/cmplx" {
		for _, a := range e.Args {
			w.eval(a)
		}
		return w.unknown(t)
	}
	return w.user(e, obj, recv, t)
}

func (w *reach) builtin(e *ast.CallExpr, name string, t types.Type) val {
	if name == "len" {
		if v := w.slice(e.Args[0]); v.of != nil {
			return val{n: w.size(v.of, 1)}
		}
		if _, isSlice := typeUnder[*types.Slice](w.info().TypeOf(e.Args[0])); !isSlice {
			w.ignoreOrEval(e.Args[0])
			if a, ok := typeUnder[*types.Array](w.info().TypeOf(e.Args[0])); ok {
				return val{n: fixed(a.Len())}
			}
		}
		return w.unknown(t)
	}
	var all []poly
	for _, a := range e.Args {
		all = append(all, w.eval(a).n)
	}
	if _, _, ok := rangeOf(t); !ok || name != "min" && name != "max" || slices.ContainsFunc(all, func(p poly) bool { return p == nil }) {
		return w.unknown(t)
	}
	least := all[0]
	for _, p := range all[1:] {
		low := w.low(least) && w.low(p) || name == "max" && (w.low(least) || w.low(p))
		least = w.atom(atom{kind: isResult, op: strings.ToUpper(name[:1]) + name[1:], args: []poly{least, p}, low: low})
	}
	return val{n: least}
}

func (w *reach) ignoreOrEval(e ast.Expr) {
	calls := false
	ast.Inspect(e, func(n ast.Node) bool {
		_, call := n.(*ast.CallExpr)
		calls = calls || call
		return true
	})
	if calls {
		w.eval(e)
	} else {
		w.ignore(e)
	}
}

// gridCall follows a call of package grid.
func (w *reach) gridCall(e *ast.CallExpr, name string, recv ast.Expr, t types.Type) val {
	if recv != nil && matrixOf(w.info().TypeOf(recv)) != nil {
		sel := selector(ast.Unparen(e.Fun))
		switch name {
		case "Rows", "Cols":
			if v := w.slice(recv); v.of != nil {
				return val{n: w.size(v.of, map[string]int{"Rows": 1, "Cols": 2}[name])}
			}
		case "At":
			w.cell(e, sel, access{read: true})
		case "Set":
			w.eval(e.Args[2])
			w.cell(e, sel, access{write: true})
		case "Ref":
			w.cell(e, sel, access{read: true, write: true, part: true})
		}
		return w.unknown(t)
	}
	if recv != nil {
		kind, ok := map[string]atomKind{"Global": isPlace, "Local": isLocal, "Block": isBlock, "Size": isSize, "Blocks": isBlocks}[name]
		if !ok || len(e.Args) != 1 {
			return w.unknown(t)
		}
		d, ok := constant.Int64Val(constant.ToInt(w.info().Types[e.Args[0]].Value))
		if !ok || d < 0 || d > 2 {
			return w.unknown(t)
		}
		return val{n: w.once(key(kind, int(d)), atom{kind: kind, dim: int(d), low: true})}
	}
	if strings.HasPrefix(name, "Atomic") {
		w.element(e.Args[0], access{read: true, write: true, part: true, atomic: true})
		for _, a := range e.Args[1:] {
			w.eval(a)
		}
		return w.unknown(t)
	}
	for _, a := range e.Args {
		w.eval(a)
	}
	return w.unknown(t)
}

// user follows a call of a function that is written in Go.
func (w *reach) user(e *ast.CallExpr, obj *types.Func, recv ast.Expr, t types.Type) val {
	pkg, there := w.home(obj)
	var decl *ast.FuncDecl
	if pkg != nil {
		decl = w.f.p.decls[there.Origin()]
	}
	if decl == nil || decl.Body == nil {
		if w.lost == "" {
			w.lost = w.frame.pkg.line(e.Pos()) + ": this call is not followed"
		}
		return w.unknown(t)
	}
	var args []ast.Expr
	if recv != nil {
		args = append(args, recv)
	}
	args = append(args, e.Args...)
	var params []*ast.Ident
	for _, list := range []*ast.FieldList{decl.Recv, decl.Type.Params} {
		if list == nil {
			continue
		}
		for _, field := range list.List {
			if len(field.Names) == 0 {
				params = append(params, nil)
			}
			params = append(params, field.Names...)
		}
	}
	vals := make([]val, len(args))
	for i, a := range args {
		vals[i] = w.argued(a, recv != nil && i == 0, there, i)
	}
	fr := w.enter(pkg, decl)
	if len(vals) == len(params) {
		for i, id := range params {
			if id != nil && pkg.info.Defs[id] != nil && !fr.unknown[pkg.info.Defs[id]] {
				fr.env[pkg.info.Defs[id]] = vals[i]
			}
		}
	}
	if w.calls++; w.calls > mostCalls {
		if w.lost == "" {
			w.lost = w.frame.pkg.line(e.Pos()) + ": the kernel makes too many calls to follow them all"
		}
		return w.unknown(t)
	}
	caller, ctx, path := w.frame, w.ctx, w.path
	w.frame = fr
	w.list(decl.Body.List)
	w.check(decl)
	w.frame, w.ctx, w.path = caller, ctx, path
	return w.result(fr, t)
}

// home returns the package of a function with its source, and the function there.
func (w *reach) home(obj *types.Func) (*Package, *types.Func) {
	was := w.f.p.pkg
	w.f.p.pkg = w.frame.pkg
	defer func() { w.f.p.pkg = was }()
	return w.f.p.home(obj)
}

// argued follows an argument, number i of a function.
func (w *reach) argued(a ast.Expr, recv bool, obj *types.Func, i int) val {
	t := w.info().TypeOf(a)
	if _, isSlice := typeUnder[*types.Slice](t); isSlice || matrixOf(t) != nil || gridType(t, "Thread") {
		return w.slice(a)
	}
	sig, _ := obj.Origin().Type().(*types.Signature)
	address := false
	if recv && sig != nil && sig.Recv() != nil {
		_, address = typeUnder[*types.Pointer](sig.Recv().Type())
	}
	if u, ok := ast.Unparen(a).(*ast.UnaryExpr); ok && u.Op == token.AND {
		address, a = true, u.X
	}
	if call, ok := ast.Unparen(a).(*ast.CallExpr); ok && selector(ast.Unparen(call.Fun)) != nil && selector(ast.Unparen(call.Fun)).Sel.Name == "Ref" {
		address = true
	}
	if !address {
		return w.eval(a)
	}
	read, written := false, false // as a translation of the function uses the pointer
	for _, f := range w.f.p.functions[obj.Origin()] {
		if i < len(f.params) {
			read, written = read || f.params[i].read, written || f.params[i].written
		}
	}
	w.element(a, access{read: read, write: written, part: true})
	return val{}
}

// result returns what a function that was followed returns.
func (w *reach) result(fr *frame, t types.Type) val {
	var all []poly
	var ctxs [][]fact
	for _, r := range fr.returns {
		if len(r.all) != 1 {
			return w.unknown(t)
		}
		if len(fr.returns) == 1 {
			return r.all[0]
		}
		if r.all[0].n == nil {
			return w.unknown(t)
		}
		all, ctxs = append(all, r.all[0].n), append(ctxs, r.ctx)
	}
	if _, _, ok := rangeOf(t); !ok || len(all) == 0 {
		return w.unknown(t)
	}
	low := !slices.ContainsFunc(all, func(p poly) bool { return !w.low(p) })
	return val{n: w.atom(atom{kind: isResult, op: "Or", args: all, ctxs: ctxs, low: low})}
}
