package translate

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"strings"
)

// call translates a call, and returns its results. If used is false, it may return none.
func (f *function) call(e *ast.CallExpr, used bool) []string {
	info := f.p.pkg.info
	tv := info.Types[e.Fun]
	if tv.IsType() {
		return []string{f.conversion(e)}
	}
	fun := ast.Unparen(e.Fun)
	if tv.IsBuiltin() {
		name := ""
		switch b := fun.(type) {
		case *ast.Ident:
			name = b.Name
		case *ast.SelectorExpr:
			refuse(e.Pos(), "package unsafe has no translation; use indexes and conversions")
		}
		return f.builtin(e, name)
	}
	if _, ok := fun.(*ast.FuncLit); ok {
		refuse(e.Pos(), "a closure has no translation; declare a function, and pass it arguments")
	}
	id, recv := callee(fun)
	if id == nil {
		refuse(e.Pos(), "a function value has no translation; call a declared function")
	}
	obj, ok := info.Uses[id].(*types.Func)
	if !ok {
		refuse(e.Pos(), "a function value has no translation; call a declared function")
	}
	if info.Selections[selector(fun)] == nil {
		recv = nil // it is the name of a package
	}
	if obj.Pkg() != nil {
		switch obj.Pkg().Path() {
		case gridPath:
			return f.gridCall(e, obj, recv, used)
		case "math":
			return []string{f.mathCall(e, obj.Name(), false)}
		case "math/bits":
			return f.bitsCall(e, obj.Name())
		case "math/cmplx":
			return []string{f.cmplxCall(e, obj.Name())}
		}
	}
	return f.userCall(e, obj, id, recv, used)
}

func selector(e ast.Expr) *ast.SelectorExpr {
	s, _ := e.(*ast.SelectorExpr)
	return s
}

// callee returns the name of the called function, and the receiver if it is a method.
func callee(fun ast.Expr) (*ast.Ident, ast.Expr) {
	switch x := fun.(type) {
	case *ast.Ident:
		return x, nil
	case *ast.SelectorExpr:
		return x.Sel, x.X
	case *ast.IndexExpr:
		return callee(ast.Unparen(x.X))
	case *ast.IndexListExpr:
		return callee(ast.Unparen(x.X))
	}
	return nil, nil
}

// conversion translates T(x).
func (f *function) conversion(e *ast.CallExpr) string {
	to := f.typeOf(e)
	x := e.Args[0]
	n, isNumber := numberOf(to)
	if v := f.p.pkg.info.Types[x].Value; v != nil && isNumber {
		if !n.float && v.Kind() == constant.Float {
			return f.convert(f.expr(x), f.typeOf(x), to, e.Pos())
		}
		return f.constant(v, to, e.Pos())
	}
	// float32(math.F(float64(x))) of a float32 x calls the device's function for float32.
	if isNumber && n.c == "f32" {
		if call, ok := ast.Unparen(x).(*ast.CallExpr); ok {
			if c, ok := f.singleMath(call); ok {
				return c
			}
		}
	}
	return f.convert(f.expr(x), f.typeOf(x), to, e.Pos())
}

func (f *function) builtin(e *ast.CallExpr, name string) []string {
	switch name {
	case "len", "cap":
		switch t := f.typeOf(e.Args[0]).Underlying().(type) {
		case *types.Slice:
			if name == "len" {
				return []string{f.slice(e.Args[0]).c + "_n"}
			}
			refuse(e.Pos(), "cap has no translation; use len")
		case *types.Array: // the length is not a constant for Go because the expression has a call, which is made
			f.discard(e.Args[0])
			return []string{fmt.Sprintf("((i64)%d)", t.Len())}
		case *types.Pointer:
			if a, ok := t.Elem().Underlying().(*types.Array); ok {
				f.pointee(e.Args[0])
				return []string{fmt.Sprintf("((i64)%d)", a.Len())}
			}
		}
		refuse(e.Pos(), "%s", why(f.typeOf(e.Args[0])))
	case "min", "max":
		t := f.typeOf(e)
		n := f.number(e)
		value := f.exprAs(e.Args[0], t)
		for _, x := range e.Args[1:] {
			value = fmt.Sprintf("%s(%s, %s)", f.p.extreme(name, n), value, f.exprAs(x, t))
		}
		return []string{value}
	case "append", "make", "copy", "clear", "delete", "new":
		refuse(e.Pos(), "%s has no translation; use arrays of fixed size, and loops", name)
	case "panic", "recover":
		refuse(e.Pos(), "%s has no translation; write an error code into a buffer", name)
	case "print", "println":
		refuse(e.Pos(), "%s has no translation; write into a buffer", name)
	case "close":
		refuse(e.Pos(), "a channel has no translation; threads share buffers and grid.Shared memory")
	case "complex", "real", "imag":
		return []string{f.complexBuiltin(e, name)}
	}
	refuse(e.Pos(), "%s has no translation", name)
	return nil
}

// gridCall translates calls of package grid.
func (f *function) gridCall(e *ast.CallExpr, obj *types.Func, recv ast.Expr, used bool) []string {
	name := obj.Name()
	if recv != nil && f.isMatrix(recv) {
		return f.matrixCall(e, name, recv)
	}
	if recv != nil {
		if id, ok := ast.Unparen(recv).(*ast.Ident); !ok || f.variable(id).kind != thread {
			refuse(e.Pos(), "a grid.Thread can only be a parameter; call its methods, or pass it on")
		}
		if name == "Barrier" {
			f.together = true
			f.line("BARRIER();")
			return nil
		}
		word := map[string]string{"Global": "INDEX", "Local": "THREAD", "Block": "BLOCK", "Size": "THREADS", "Blocks": "BLOCKS"}[name]
		if word == "" {
			refuse(e.Pos(), "method %s of grid.Thread has no translation", name)
		}
		v := f.p.pkg.info.Types[e.Args[0]].Value
		if v == nil {
			refuse(e.Args[0].Pos(), "a dimension must be a constant; write 0, 1 or 2")
		}
		d, ok := constant.Int64Val(constant.ToInt(v))
		if !ok || d < 0 || d > 2 {
			refuse(e.Args[0].Pos(), "dimension %s does not exist; write 0, 1 or 2", v)
		}
		f.uses(int(d)+1, e.Pos())
		if name == "Global" || name == "Block" || name == "Blocks" {
			f.checks = true // with HALYARD_PARTS these macros use a parameter that GO_FAULTS has as well
		}
		return []string{fmt.Sprintf("((i64)%s(%d))", word, d)}
	}
	if name == "Shared" {
		f.refuseShared(e)
	}
	op := map[string]string{"AtomicAdd": "ADD", "AtomicMin": "MIN", "AtomicMax": "MAX", "AtomicAnd": "AND", "AtomicOr": "OR", "AtomicXor": "XOR",
		"AtomicExchange": "XCHG", "AtomicCompareExchange": "CAS"}[name]
	if op == "" {
		refuse(e.Pos(), "grid.%s has no translation in a kernel", name)
	}
	at := f.pointee(e.Args[0])
	if at.space == private {
		refuse(e.Args[0].Pos(), "an atomic operation on a variable of one thread has no translation; use an element of a buffer or of grid.Shared memory")
	}
	p, ok := f.typeOf(e.Args[0]).Underlying().(*types.Pointer)
	if !ok {
		refuse(e.Args[0].Pos(), "a pointer is needed here")
	}
	t := p.Elem()
	var args []string
	for _, x := range e.Args[1:] {
		args = append(args, f.exprAs(x, t))
	}
	n, ok := numberOf(t)
	if !ok {
		refuse(e.Pos(), "%s", why(t))
	}
	if n.bits == 64 {
		f.uses64(e.Pos())
	}
	text := fmt.Sprintf("%s(&%s, %s)", f.p.atomic(op, n, at.space), f.written(at), strings.Join(args, ", "))
	f.read(at, e.Pos())
	return f.effect(text, []types.Type{t}, f.p.cType(t, e.Pos()), used, e.Pos())
}

// uses notes that the function uses so many dimensions of the grid.
func (f *function) uses(dims int, at token.Pos) {
	if dims > f.dims {
		f.dims, f.dimsAt = dims, at
	}
}

// uses64 notes that the function has an atomic operation of 64 bits.
func (f *function) uses64(at token.Pos) {
	if !f.atomic64.IsValid() {
		f.atomic64 = at
	}
}

// effect writes a call as a statement, so that it is made once and in order. It returns the
// expressions of the results.
func (f *function) effect(text string, results []types.Type, c string, used bool, pos token.Pos) []string {
	if !used || len(results) == 0 {
		f.line("%s;", text)
		return nil
	}
	name := f.temp()
	f.line("%s %s = %s;", c, name, text)
	if len(results) == 1 {
		return []string{name}
	}
	var all []string
	for i := range results {
		all = append(all, fmt.Sprintf("%s.r%d", name, i))
	}
	return all
}

// argument is one argument of a call.
type argument struct {
	expr  ast.Expr
	recv  bool // expr is the receiver of a method; Go takes its address, or follows it as a pointer, as needed
	path  []int
	typ   types.Type // of the parameter
	at    place
	slice *variable
}

// userCall translates a call of a function of the package.
func (f *function) userCall(e *ast.CallExpr, obj *types.Func, id *ast.Ident, recv ast.Expr, used bool) []string {
	if f.p.kernels[obj] {
		refuse(e.Pos(), "%s is a kernel, and a kernel cannot call a kernel; move the common code into a function", obj.Name())
	}
	sig, _ := f.p.pkg.info.TypeOf(id).(*types.Signature)
	var args []types.Type
	if in, ok := f.p.pkg.info.Instances[id]; ok {
		sig, _ = in.Type.(*types.Signature)
		for i := range in.TypeArgs.Len() {
			args = append(args, f.substitute(in.TypeArgs.At(i)))
		}
	}
	if sig == nil {
		refuse(e.Pos(), "this call has no translation")
	}
	var list []argument
	if recv != nil {
		s := f.p.pkg.info.Selections[selector(ast.Unparen(e.Fun))]
		if s.Kind() != types.MethodVal {
			refuse(e.Pos(), "a method expression has no translation; call the method of a value")
		}
		orig := obj.Origin().Type().(*types.Signature)
		if _, ok := orig.Recv().Type().Underlying().(*types.Interface); ok {
			refuse(e.Pos(), "an interface has no translation; use a concrete type, or a generic function")
		}
		rt := f.typeOf(recv)
		if p, ok := rt.Underlying().(*types.Pointer); ok {
			rt = p.Elem()
		}
		path := s.Index()[:len(s.Index())-1]
		for _, i := range path {
			u, ok := rt.Underlying().(*types.Struct)
			if !ok {
				refuse(e.Pos(), "%s", why(rt))
			}
			rt = u.Field(i).Type()
		}
		if _, ok := rt.Underlying().(*types.Interface); ok { // also for a method of a type parameter
			refuse(e.Pos(), "an interface has no translation; use a concrete type, or a generic function")
		}
		method := obj
		if n, ok := types.Unalias(rt).(*types.Named); ok {
			for i := range n.TypeArgs().Len() {
				args = append(args, n.TypeArgs().At(i))
			}
			if found, _, _ := types.LookupFieldOrMethod(types.NewPointer(n), false, obj.Pkg(), obj.Name()); found != nil {
				if m, ok := found.(*types.Func); ok { // for a type argument it is the method of that type
					method = m
				}
			}
		}
		obj = method
		t := rt
		if _, ok := obj.Origin().Type().(*types.Signature).Recv().Type().(*types.Pointer); ok {
			t = types.NewPointer(rt)
		}
		list = append(list, argument{expr: recv, recv: true, path: path, typ: t})
	}
	if home, _ := f.p.home(obj); home == nil {
		refuse(e.Pos(), "%s is a function of another package; write one in this package, and call that", obj.FullName())
	}
	if e.Ellipsis.IsValid() || sig.Variadic() {
		refuse(e.Pos(), "a variadic function has no translation; name each parameter")
	}
	params := sig.Params()
	var spread []string
	if len(e.Args) == 1 && params.Len() > 1 {
		call, ok := ast.Unparen(e.Args[0]).(*ast.CallExpr)
		if !ok {
			refuse(e.Pos(), "this call has no translation")
		}
		spread = f.call(call, true)
	} else {
		for i, x := range e.Args {
			list = append(list, argument{expr: x, typ: f.substitute(params.At(i).Type())})
		}
	}
	spaces := make([]space, len(list))
	texts := make([]string, len(list))
	for i := range list {
		a := &list[i]
		switch u := a.typ.Underlying().(type) {
		case *types.Slice:
			a.slice = f.slice(a.expr)
			texts[i] = fmt.Sprintf("%s, %s_n", a.slice.c, a.slice.c)
			a.at = place{param: a.slice.param}
		case *types.Pointer:
			if a.recv {
				if len(a.path) == 0 {
					if _, ok := f.typeOf(a.expr).Underlying().(*types.Pointer); ok {
						a.at = f.pointee(a.expr)
					} else {
						a.at = f.place(a.expr)
					}
				} else {
					a.at = f.fields(a.expr, a.path)
				}
			} else {
				a.at = f.pointee(a.expr)
			}
			spaces[i] = a.at.space
			texts[i] = "&" + a.at.c
			f.note(place{c: a.at.c + throughPointer, space: a.at.space})
		default:
			switch {
			case gridType(a.typ, "Thread"):
				if id, ok := ast.Unparen(a.expr).(*ast.Ident); !ok || f.variable(id).kind != thread {
					refuse(a.expr.Pos(), "a grid.Thread can only be a parameter; call its methods, or pass it on")
				}
			case matrixOf(a.typ) != nil:
				v := f.matrix(a.expr)
				texts[i] = fmt.Sprintf("%s, %[1]s_n, %[1]s_m", v.c)
				a.at = place{param: v.param}
			case a.recv:
				_, isPointer := f.typeOf(a.expr).Underlying().(*types.Pointer)
				switch {
				case len(a.path) > 0:
					texts[i] = f.valueAt(f.fields(a.expr, a.path), a.typ, a.expr.Pos())
				case isPointer:
					texts[i] = f.valueAt(f.pointee(a.expr), a.typ, a.expr.Pos())
				default:
					texts[i] = f.exprAs(a.expr, a.typ)
				}
			default:
				if _, ok := u.(*types.Signature); ok {
					refuse(a.expr.Pos(), "a function value has no translation; call a declared function")
				}
				f.p.cType(a.typ, a.expr.Pos())
				texts[i] = f.exprAs(a.expr, a.typ)
			}
		}
	}
	called := f.p.called(obj, args, spaces, e.Pos())
	if called.broken {
		panic(refusal{}) // the errors of the called function are noted already
	}
	f.together = f.together || called.together
	f.checks = f.checks || called.checks
	f.uses(called.dims, called.dimsAt)
	if called.atomic64.IsValid() {
		f.uses64(called.atomic64)
	}
	if !f.float64.IsValid() {
		f.float64 = called.float64
	}
	if !f.inexact.IsValid() {
		f.inexact = called.inexact
	}
	for i := range list {
		if m := called.params[i]; m.kind == slice || m.kind == matrix || m.kind == pointer {
			if m.written {
				f.written(list[i].at)
			}
			if m.read {
				f.read(list[i].at, list[i].expr.Pos())
			}
		}
	}
	var given []string
	for _, t := range append(texts, spread...) {
		if t != "" {
			given = append(given, t)
		}
	}
	passed := strings.Join(given, ", ")
	switch {
	case called.checks && len(given) == 0:
		passed = "GO_PASS_ALONE"
	case called.checks:
		passed += " GO_PASS"
	}
	return f.effect(fmt.Sprintf("%s(%s)", called.c, passed), called.results, called.resultT, used, e.Pos())
}

// isShared reports whether an expression is a call of grid.Shared.
func (f *function) isShared(e ast.Expr) bool {
	call, ok := ast.Unparen(e).(*ast.CallExpr)
	if !ok {
		return false
	}
	id, _ := callee(ast.Unparen(call.Fun))
	if id == nil {
		return false
	}
	obj, ok := f.p.pkg.info.Uses[id].(*types.Func)
	return ok && obj.Pkg() != nil && obj.Pkg().Path() == gridPath && obj.Name() == "Shared"
}

func (f *function) refuseShared(e *ast.CallExpr) {
	if f.isShared(e) {
		refuse(e.Pos(), "grid.Shared can only be the value of a variable that is declared at the top level of a kernel, "+
			"in a statement of its own, and not in a loop, a condition or another function; "+
			"write x := grid.Shared[[256]float32](t) there, and pass x on")
	}
}

// declareShared declares the memory that the threads of a block share. It is set to zero before any thread goes on, except elements that are written
// before any thread can read them.
func (f *function) declareShared() {
	var clears []string
	all := true
	for _, s := range f.decl.Body.List {
		var id *ast.Ident
		var x ast.Expr
		switch s := s.(type) {
		case *ast.AssignStmt:
			if s.Tok == token.DEFINE && len(s.Lhs) == 1 && len(s.Rhs) == 1 {
				id, _ = s.Lhs[0].(*ast.Ident)
				x = s.Rhs[0]
			}
		case *ast.DeclStmt:
			if g, ok := s.Decl.(*ast.GenDecl); ok && g.Tok == token.VAR && len(g.Specs) == 1 {
				if v, ok := g.Specs[0].(*ast.ValueSpec); ok && len(v.Names) == 1 && len(v.Values) == 1 {
					id, x = v.Names[0], v.Values[0]
				}
			}
		}
		if id == nil || id.Name == "_" || !f.isShared(x) {
			continue
		}
		f.p.try(func() {
			obj := f.p.pkg.info.Defs[id]
			p, ok := obj.Type().Underlying().(*types.Pointer)
			if !ok {
				refuse(id.Pos(), "%s", why(obj.Type()))
			}
			if _, ok := p.Elem().Underlying().(*types.Array); !ok {
				refuse(x.Pos(), "grid.Shared needs an array type; use [1]%s", p.Elem())
			}
			c := f.p.cType(p.Elem(), x.Pos())
			v := &variable{c: f.name(id.Name), kind: shared, space: local, typ: obj.Type()}
			f.vars[obj] = v
			f.shares = append(f.shares, fmt.Sprintf("\tLOCAL %s %s;\n", c, v.c))
			array := &sharedArray{f: f, obj: obj, typ: p.Elem()}
			filled := array.filled()
			all = all && filled
			clears = append(clears, array.clears(v.c, x.Pos(), filled)...)
		})
	}
	if len(f.shares) == 0 {
		return
	}
	f.together = true
	f.line("{")
	f.line("\tu64 v_all = THREADS(0) * THREADS(1) * THREADS(2);")
	f.line("\tu64 v_me = (THREAD(2) * THREADS(1) + THREAD(1)) * THREADS(0) + THREAD(0);")
	f.write(clears)
	if !all {
		f.line("\tBARRIER();")
	}
	f.line("}")
}
