package build

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"
	"strconv"
	"strings"

	"github.com/go-halyard/halyard/internal/translate/facts"
	"github.com/go-halyard/halyard/internal/translate/ir"
	"github.com/go-halyard/halyard/internal/translate/load"
)

// call builds a call, and returns its results.
func (f *values) call(e *ast.CallExpr) []*ir.Value {
	tv := f.info().Types[e.Fun]
	if tv.IsType() {
		return one(f.conversion(e))
	}
	fun := ast.Unparen(e.Fun)
	if tv.IsBuiltin() {
		b, ok := fun.(*ast.Ident)
		if !ok {
			refuse(e.Pos(), "package unsafe has no translation; use indexes and conversions")
		}
		return one(f.builtin(e, b.Name))
	}
	if _, ok := fun.(*ast.FuncLit); ok {
		refuse(e.Pos(), "a closure has no translation; declare a function, and pass it arguments")
	}
	id, recv := load.Callee(fun)
	if id == nil {
		refuse(e.Pos(), "a function value has no translation; call a declared function")
	}
	obj, ok := f.info().Uses[id].(*types.Func)
	if !ok {
		refuse(e.Pos(), "a function value has no translation; call a declared function")
	}
	sel, _ := fun.(*ast.SelectorExpr)
	if f.info().Selections[sel] == nil {
		recv = nil // the part before the dot is the name of a package
	}
	args := e.Args
	if s := f.info().Selections[sel]; s != nil && s.Kind() == types.MethodExpr {
		several := len(args) == 0
		if !several {
			_, several = f.typeOf(args[0]).(*types.Tuple)
		}
		if _, pointer := s.Recv().Underlying().(*types.Pointer); pointer || several || obj.Pkg() != nil && obj.Pkg().Path() == load.GridPath {
			refuse(e.Pos(), "a method expression has no translation here; call the method of a variable")
		}
		recv, args = args[0], args[1:]
	}
	if obj.Pkg() != nil {
		switch path := obj.Pkg().Path(); path {
		case load.GridPath:
			return one(f.gridCall(e, obj, recv))
		case "math", "math/bits", "math/cmplx":
			if v := f.goCall(e, obj); v != nil {
				return v
			}
		}
	}
	return f.userCall(e, obj, id, recv, args)
}

// one returns v as the only result of a call. If v is nil, the call has no result.
func one(v *ir.Value) []*ir.Value {
	if v == nil {
		return nil
	}
	return []*ir.Value{v}
}

// conversion builds T(x).
func (f *values) conversion(e *ast.CallExpr) *ir.Value {
	to := f.typeOf(e)
	x := e.Args[0]
	if v := f.info().Types[x].Value; v != nil {
		if n := basic(to); n != nil && (n.Float() || n.Complex() || v.Kind() != constant.Float) {
			return f.constant(v, to, e.Pos())
		}
	}
	return f.convert(f.expr(x), f.typeOf(x), to, e.Pos())
}

func (f *values) builtin(e *ast.CallExpr, name string) *ir.Value {
	switch name {
	case "len", "cap":
		return f.size(e, name)
	case "min", "max":
		t := f.typeOf(e)
		n := f.number(e)
		op := map[string]ir.Op{"min": ir.Min, "max": ir.Max}[name]
		value := f.exprAs(e.Args[0], t)
		for _, x := range e.Args[1:] {
			value = f.Value(op, n, value, f.exprAs(x, t))
		}
		return value
	case "copy":
		return f.copied(e)
	case "clear":
		f.cleared(e)
		return nil
	case "append", "make", "delete", "new":
		refuse(e.Pos(), "%s has no translation; use arrays of fixed size, and loops", name)
	case "panic":
		if f.p.pkg.Standard {
			f.panics()
			return nil
		}
		fallthrough
	case "recover":
		refuse(e.Pos(), "%s has no translation; write an error code into a buffer", name)
	case "print", "println":
		refuse(e.Pos(), "%s has no translation; call grid.Println, or write into a buffer", name)
	case "close":
		refuse(e.Pos(), "a channel has no translation; threads share buffers and grid.Shared memory")
	case "complex":
		n := basic(f.typeOf(e))
		if n == nil || !n.Complex() {
			refuseAs(e.Pos(), f.typeOf(e))
		}
		part := types.Typ[types.Float64]
		if n.Kind == ir.C64 {
			part = types.Typ[types.Float32]
		}
		return f.Value(ir.Complex, n, f.exprAs(e.Args[0], part), f.exprAs(e.Args[1], part))
	case "real", "imag":
		z := f.expr(e.Args[0])
		return f.Value(map[string]ir.Op{"real": ir.Real, "imag": ir.Imag}[name], z.Type.Part(), z)
	}
	refuse(e.Pos(), "%s has no translation", name)
	return nil
}

func (f *values) size(e *ast.CallExpr, name string) *ir.Value {
	switch t := f.typeOf(e.Args[0]).Underlying().(type) {
	case *types.Slice:
		if name == "len" {
			return f.Again(f.slice(e.Args[0]).len)
		}
		refuse(e.Pos(), "cap has no translation; use len")
	case *types.Array: // if the expression has a call, Go makes the call and does not treat the length as a constant
		f.discard(e.Args[0])
		return f.Int(ir.Basic(ir.Int), t.Len())
	case *types.Pointer:
		if a, ok := t.Elem().Underlying().(*types.Array); ok {
			f.pointee(e.Args[0])
			return f.Int(ir.Basic(ir.Int), a.Len())
		}
	}
	refuseAs(e.Pos(), f.typeOf(e.Args[0]))
	return nil
}

// gridCall builds calls of package grid.
func (f *values) gridCall(e *ast.CallExpr, obj *types.Func, recv ast.Expr) *ir.Value {
	name := obj.Name()
	switch {
	case recv != nil && f.isMatrix(recv):
		return f.matrixCall(e, name, recv)
	case recv != nil:
		return f.threadCall(e, name, recv)
	case name == "Shared":
		f.refuseShared(e)
	case name == "Println":
		return f.printed(e)
	case name == "FMA":
		return f.fused(e)
	case name == "SharedSlice":
		refuse(e.Pos(), onlySharedSlice)
	case strings.HasSuffix(name, "Tile"), strings.HasPrefix(name, "Block"), strings.HasPrefix(name, "Group"): // package load has replaced others
		f.refuseOperation(e, name)
	}
	op := map[string]string{"AtomicAdd": "Add", "AtomicMin": "Min", "AtomicMax": "Max", "AtomicAnd": "And", "AtomicOr": "Or", "AtomicXor": "Xor",
		"AtomicExchange": "Exchange", "AtomicCompareExchange": "CompareExchange"}[name]
	if op == "" {
		refuse(e.Pos(), "grid.%s has no translation in a kernel", name)
	}
	at := f.pointee(e.Args[0])
	if at.Space() == ir.Private {
		refuse(e.Args[0].Pos(), "an atomic operation on a variable of one thread has no translation; use an element of a buffer or of grid.Shared memory")
	}
	p, ok := f.typeOf(e.Args[0]).Underlying().(*types.Pointer)
	if !ok {
		refuse(e.Args[0].Pos(), "a pointer is needed here")
	}
	var args []*ir.Value
	for _, x := range e.Args[1:] {
		args = append(args, f.exprAs(x, p.Elem()))
	}
	n := basic(p.Elem())
	if n == nil {
		refuseAs(e.Pos(), p.Elem())
	}
	readable(at.Param, e.Pos())
	v := f.Value(ir.Atomic, n, args...)
	v.Of, v.Place, v.Pos = op, at, e.Pos()
	return f.Let(v)
}

// fused builds a call of grid.FMA.
func (f *values) fused(e *ast.CallExpr) *ir.Value {
	t := f.typeOf(e)
	n := basic(t)
	name := map[ir.Kind]string{ir.F32: "math.FMA32", ir.F64: "math.FMA"}[n.Kind]
	if len(e.Args) != 3 {
		refuse(e.Pos(), "the arguments of grid.FMA must be written one by one")
	}
	v := f.Value(ir.Go, n, f.exprAs(e.Args[0], t), f.exprAs(e.Args[1], t), f.exprAs(e.Args[2], t))
	v.Of, v.Pos = name, e.Pos()
	return v
}

// refuseOperation refuses an operation of a block or group that is not in a kernel, or in a function that was written into one.
func (f *values) refuseOperation(e *ast.CallExpr, name string) {
	if len(f.p.pkg.Refused) > 0 {
		panic(refusal{}) // the package has an error already that says more
	}
	refuse(e.Pos(), "grid.%s has no translation here; call it in the kernel, and pass the result on", name)
}

// threadCall builds a call of a method of grid.Thread.
func (f *values) threadCall(e *ast.CallExpr, name string, recv ast.Expr) *ir.Value {
	if id, ok := ast.Unparen(recv).(*ast.Ident); !ok || f.variable(id).kind != thread {
		refuse(e.Pos(), "%s", onlyThread)
	}
	if name == "Barrier" {
		f.Stmt(ir.Barrier)
		return nil
	}
	op, ok := places[name]
	if !ok {
		refuse(e.Pos(), "method %s of grid.Thread has no translation", name)
	}
	v := f.info().Types[e.Args[0]].Value
	if v == nil {
		refuse(e.Args[0].Pos(), "a dimension must be a constant; write 0, 1 or 2")
	}
	d, ok := constant.Int64Val(constant.ToInt(v))
	if !ok || d < 0 || d > 2 {
		refuse(e.Args[0].Pos(), "dimension %s does not exist; write 0, 1 or 2", v)
	}
	at := f.Value(op, ir.Basic(ir.Int))
	at.Which = []int{int(d)}
	if f.p.pkg.Operation(e.Pos()) == load.Numbering {
		at.Of = load.Numbering
	}
	return at
}

// goCall builds a call of a function of packages math, math/bits and math/cmplx that is an operation. For other functions it returns nil: those are translated
// from the source of the package.
func (f *values) goCall(e *ast.CallExpr, obj *types.Func) []*ir.Value {
	name := obj.Pkg().Name() + "." + obj.Name()
	_, result, ok := ir.Signature(name)
	if !ok {
		return nil
	}
	sig, isFunc := f.info().TypeOf(e.Fun).(*types.Signature)
	if !isFunc {
		refuse(e.Pos(), "this call has no translation")
	}
	var args []*ir.Value
	for i, p := range f.arguments(e, e.Args, sig) {
		if p.value == nil {
			p.value = f.exprAs(p.expr, sig.Params().At(i).Type())
		}
		args = append(args, p.value)
	}
	v := f.Value(ir.Go, result, args...)
	v.Of, v.Pos = name, e.Pos()
	if result.Kind != ir.Tuple {
		return one(v)
	}
	return f.resultsOf(f.Let(v))
}

// resultsOf returns the results of a call that a let has bound, a value for each.
func (f *operations) resultsOf(v *ir.Value) (all []*ir.Value) {
	switch {
	case v.Type == nil:
		return nil
	case v.Type.Kind != ir.Tuple:
		return one(v)
	}
	for i := range v.Type.Fields {
		all = append(all, f.Extract(v, i, nil))
	}
	return all
}

// argument is one argument of a call.
type argument struct {
	expr  ast.Expr
	value *ir.Value // a result of g in f(g()), if g has several results; expr is nil then
	recv  bool      // expr is the receiver of a method; Go takes its address or dereferences it, as needed
	path  []int
	typ   types.Type // of the parameter
}

// arguments returns the arguments of a call without its receiver. For f(g()), where g has several results, it builds the call of g.
func (f *values) arguments(e *ast.CallExpr, args []ast.Expr, sig *types.Signature) (list []argument) {
	params := sig.Params()
	if len(args) == 1 && params.Len() > 1 {
		call, ok := ast.Unparen(args[0]).(*ast.CallExpr)
		if !ok {
			refuse(e.Pos(), "this call has no translation")
		}
		for i, v := range f.call(call) {
			list = append(list, argument{value: v, typ: f.substitute(params.At(i).Type())})
		}
		return list
	}
	for i, x := range args {
		list = append(list, argument{expr: x, typ: f.substitute(params.At(i).Type())})
	}
	return list
}

// userCall builds a call of a function that is written in Go. Its arguments without the receiver are params.
func (f *values) userCall(e *ast.CallExpr, obj *types.Func, id *ast.Ident, recv ast.Expr, params []ast.Expr) []*ir.Value {
	if f.p.kernels[obj] {
		refuse(e.Pos(), "%s is a kernel, and a kernel cannot call a kernel; move the common code into a function", obj.Name())
	}
	sig, _ := f.info().TypeOf(id).(*types.Signature)
	var args []types.Type
	if in, ok := f.info().Instances[id]; ok {
		sig, _ = in.Type.(*types.Signature)
		for a := range in.TypeArgs.Types() {
			args = append(args, f.substitute(a))
		}
	}
	if sig == nil {
		refuse(e.Pos(), "this call has no translation")
	}
	var list []argument
	if recv != nil {
		var a argument
		obj, a, args = f.method(e, obj, recv, args)
		list = append(list, a)
	}
	if home, _ := f.p.pkg.Home(obj); home == nil {
		refuseForeign(e.Pos(), obj)
	}
	if e.Ellipsis.IsValid() || sig.Variadic() {
		refuse(e.Pos(), "a variadic function has no translation; name each parameter")
	}
	for v := range sig.Results().Variables() {
		if _, ok := v.Type().Underlying().(*types.Slice); ok {
			refuse(e.Pos(), "a slice has no translation as a result; return where it begins and ends, and write x[i:j] where it is used")
		}
	}
	return f.resultsOf(f.called(e, obj, args, append(list, f.arguments(e, params, sig)...)))
}

// called builds the call of obj with a list of arguments.
func (f *values) called(e *ast.CallExpr, obj *types.Func, args []types.Type, list []argument) *ir.Value {
	forms := make([]form, len(list))
	var passed []*ir.Value
	var at []token.Pos
	for i, a := range list {
		pos := e.Pos()
		if a.expr != nil {
			pos = a.expr.Pos()
		}
		var all []*ir.Value
		all, forms[i] = f.argument(a)
		for _, v := range all {
			passed, at = append(passed, v), append(at, pos)
		}
	}
	g := f.p.called(obj, args, forms, e.Pos())
	if g.broken {
		panic(refusal{}) // the errors of the called function are noted already
	}
	for i, v := range passed {
		switch {
		case !f.p.effects[g.made].Params[i].Read:
		case v.Op == ir.Address:
			readable(v.Place.Param, at[i])
		case v.Op == ir.Argument && v.Type.Memory():
			readable(v.Param, at[i])
		}
	}
	v := f.Value(ir.Call, g.made.Result(), passed...)
	v.Call, v.Pos = g.made, e.Pos()
	return f.Let(v)
}

// method returns the method that is called, its receiver, and its type arguments.
func (f *values) method(e *ast.CallExpr, obj *types.Func, recv ast.Expr, args []types.Type) (*types.Func, argument, []types.Type) {
	s := f.info().Selections[ast.Unparen(e.Fun).(*ast.SelectorExpr)]
	const dynamic = "an interface has no translation; use a concrete type, or a generic function"
	if _, ok := obj.Origin().Signature().Recv().Type().Underlying().(*types.Interface); ok {
		refuse(e.Pos(), dynamic)
	}
	t := f.substitute(s.Recv())
	if p, ok := t.Underlying().(*types.Pointer); ok {
		t = p.Elem()
	}
	path := s.Index()[:len(s.Index())-1]
	for _, i := range path {
		u, ok := t.Underlying().(*types.Struct)
		if !ok {
			refuseAs(e.Pos(), t)
		}
		t = u.Field(i).Type()
	}
	if _, ok := t.Underlying().(*types.Interface); ok { // the underlying type of a type parameter is an interface, too
		refuse(e.Pos(), dynamic)
	}
	if n, ok := types.Unalias(t).(*types.Named); ok {
		for a := range n.TypeArgs().Types() {
			args = append(args, a)
		}
		if found, _, _ := types.LookupFieldOrMethod(types.NewPointer(n), false, obj.Pkg(), obj.Name()); found != nil {
			if m, ok := found.(*types.Func); ok { // if the receiver is a type parameter, obj becomes the method of the type argument
				obj = m
			}
		}
	}
	if _, ok := obj.Origin().Signature().Recv().Type().(*types.Pointer); ok {
		t = types.NewPointer(t)
	}
	return obj, argument{expr: recv, recv: true, path: path, typ: t}, args
}

// argument returns the values that a call passes for an argument, and their form. It returns no value for a grid.Thread.
func (f *values) argument(a argument) ([]*ir.Value, form) {
	if a.value != nil {
		return one(a.value), form{}
	}
	switch a.typ.Underlying().(type) {
	case *types.Slice:
		return f.passPart(f.slice(a.expr), a.expr.Pos())
	case *types.Pointer:
		at := f.addressed(a)
		return one(f.addressOf(at, a.expr.Pos())), form{space: at.Space()}
	case *types.Signature:
		refuse(a.expr.Pos(), "a function value has no translation; call a declared function")
	}
	return one(f.plainArgument(a)), form{}
}

// plainArgument returns the value of an argument that is neither a slice nor a pointer, or nil for a grid.Thread.
func (f *values) plainArgument(a argument) *ir.Value {
	switch {
	case load.GridType(a.typ, "Thread"):
		if id, ok := ast.Unparen(a.expr).(*ast.Ident); !ok || f.variable(id).kind != thread {
			refuse(a.expr.Pos(), "%s", onlyThread)
		}
		return nil
	case load.MatrixOf(a.typ) != nil:
		return f.Argument(f.matrix(a.expr).param)
	case a.recv && len(a.path) > 0:
		r, _ := f.fields(a.expr, a.path)
		return f.read(r, a.expr.Pos())
	case a.recv:
		if _, ok := f.typeOf(a.expr).Underlying().(*types.Pointer); ok {
			return f.read(ref{place: f.pointee(a.expr)}, a.expr.Pos())
		}
	}
	f.p.typ(a.typ, a.expr.Pos())
	return f.exprAs(a.expr, a.typ)
}

// addressed returns the place whose address a call passes for an argument.
func (f *values) addressed(a argument) *ir.Place {
	if !a.recv {
		return f.pointee(a.expr)
	}
	if len(a.path) > 0 {
		r, _ := f.fields(a.expr, a.path)
		return f.placed(r)
	}
	if _, ok := f.typeOf(a.expr).Underlying().(*types.Pointer); ok {
		return f.pointee(a.expr)
	}
	return f.place(a.expr)
}

// declareShared declares the memory that the threads of a block share.
func (f *function) declareShared() {
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
		if id == nil || id.Name == "_" || !f.p.pkg.Calls(x, "Shared") {
			continue
		}
		f.p.try(func() {
			obj := f.info().Defs[id]
			f.vars[obj] = nil // if it is refused here, then not again where it is declared
			t := f.substitute(obj.Type())
			p, ok := t.Underlying().(*types.Pointer)
			if !ok {
				refuseAs(id.Pos(), t)
			}
			if _, ok := p.Elem().Underlying().(*types.Array); !ok {
				refuse(x.Pos(), "grid.Shared needs an array type; use [1]%s", p.Elem())
			}
			f.Pos = id.Pos()
			l := f.Local(id.Name, f.p.typ(p.Elem(), x.Pos()), ir.Shared)
			l.Block = f.p.pkg.Operation(id.Pos()) != ""
			f.vars[obj] = &variable{kind: shared, typ: t, local: l}
		})
	}
}

const onlySharedSlice = "grid.SharedSlice can only be the value of a variable that is declared at the top level of a kernel, in a statement of its own, and once; " +
	"write s := grid.SharedSlice[float32](t, n) there, and take parts of it, such as s[:i] and s[i:]"

// mostSized is the largest size, in bytes, of shared memory whose length is given at each launch.
const mostSized = 1 << 24

// sharedSlice declares the shared memory of grid.SharedSlice, whose length is given at each launch. A parameter after those of the Go function has the length.
// The memory is an array of the largest possible length; the slice is the array's beginning.
func (f *function) sharedSlice(s *ast.AssignStmt) {
	e := ast.Unparen(s.Rhs[0]).(*ast.CallExpr)
	id, _ := s.Lhs[0].(*ast.Ident)
	again := slices.ContainsFunc(f.made.Locals, func(l *ir.Local) bool { return l.Sized != nil })
	if !f.kernel || s.Tok != token.DEFINE || again || len(e.Args) != 2 || id.Name == "_" || !slices.Contains(f.decl.Body.List, ast.Stmt(s)) {
		refuse(e.Pos(), onlySharedSlice)
	}
	obj := f.info().Defs[id]
	if f.changes[obj] > 0 {
		refuse(e.Pos(), "%s cannot change; declare a variable for each slice, as in y := x[i:j]", id.Name)
	}
	t := f.substitute(obj.Type())
	elem := f.element(t.Underlying().(*types.Slice).Elem(), e.Pos())
	if f.bytes += 8; f.bytes > mostPassed {
		refuse(e.Pos(), "the kernel's arguments and the length of %s have %d bytes, and there can be %d in all; pass some in a slice", id.Name, f.bytes, mostPassed)
	}
	length := f.exprAs(e.Args[1], types.Typ[types.Int])
	n := &ir.Param{Name: id.Name + "_len", Type: ir.Basic(ir.Int), Index: len(f.made.Params), Pos: id.Pos()}
	f.made.Params = append(f.made.Params, n)
	f.Pos = id.Pos()
	l := f.Local(id.Name, &ir.Type{Kind: ir.Array, Elem: elem, Len: mostSized / elem.Size()}, ir.Shared)
	l.Sized, l.Size, l.Pos = n, length, e.Pos()
	f.vars[obj] = &variable{kind: slice, typ: t, part: f.partOf(l.At(), f.Argument(n))}
}

// mostPrinted is how many numbers one line has at most: see kernel/prelude/bounds.h.
const mostPrinted = 8

// printed builds grid.Println as a call of a function without statements, which devices print. Its text has each argument after a tab: a constant as it is, and
// for others a letter for the type, after a %.
func (f *values) printed(e *ast.CallExpr) *ir.Value {
	if e.Ellipsis.IsValid() {
		refuse(e.Pos(), "the arguments of grid.Println must be written one by one")
	}
	text := f.p.pkg.Line(e.Pos())
	made := &ir.Function{Name: "print", Fast: f.p.fast, Body: &ir.Region{}}
	var args []*ir.Value
	for _, x := range e.Args[1:] {
		if c := f.info().Types[x].Value; c != nil && c.Kind() == constant.String {
			text += "\t" + strings.ReplaceAll(constant.StringVal(c), "\t", " ")
			continue
		}
		t := types.Default(f.typeOf(x))
		b := basic(t)
		if b == nil || b.Complex() {
			refuse(x.Pos(), "grid.Println prints numbers, bools and constant strings; print the parts one by one")
		}
		verb := map[ir.Kind]string{ir.Bool: "%t", ir.F32: "%f", ir.F64: "%g"}[b.Kind]
		switch {
		case verb != "":
		case b.Signed():
			verb = "%i"
		default:
			verb = "%u"
		}
		text += "\t" + verb
		made.Params = append(made.Params, &ir.Param{Name: "x" + strconv.Itoa(len(args)), Type: b, Index: len(args), Pos: x.Pos()})
		if args = append(args, f.exprAs(x, t)); len(args) > mostPrinted {
			refuse(x.Pos(), "grid.Println prints %d numbers at most; write two calls", mostPrinted)
		}
	}
	made.Prints = text
	f.p.effects[made] = facts.EffectsOf(made, f.p.effects)
	f.p.made.Functions = append(f.p.made.Functions, made)
	v := f.Value(ir.Call, nil, args...)
	v.Call, v.Pos = made, e.Pos()
	f.Let(v)
	return nil
}

// discard evaluates an expression whose value is not used.
func (f *values) discard(e ast.Expr) {
	if f.info().Types[e].Value != nil {
		return
	}
	if f.isSlice(e) {
		f.slice(e)
		return
	}
	if id, ok := ast.Unparen(e).(*ast.Ident); ok && f.variable(id).kind == shared {
		return
	}
	v := f.expr(e)
	f.p.typ(f.typeOf(e), e.Pos())
	f.evaluate(v)
}

// evaluate adds a let for a value that is not used, because computing the value may panic. Constants, variables and the like need no let.
func (f *operations) evaluate(v *ir.Value) {
	if v.Op > ir.AllBlocks && (v.Op != ir.Load || len(v.Place.Path) > 0) && (v.Op != ir.Extract || !v.Args[0].Bound) {
		f.Let(v)
	}
}
