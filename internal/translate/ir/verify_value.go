package ir

// verify checks the types of an operation. Its operands are checked already.
func (x *Value) verify(v *verifier) {
	n := len(x.Args)
	arg := func(i int) *Type {
		must(i < n, "%s: %d operands are too few", x.Op, n)
		return x.Args[i].Type
	}
	operands := func(want int) { must(n == want, "%s: %d operands, and it takes %d", x.Op, n, want) }
	switch {
	case x.Op == Const:
		operands(0)
		must(x.fits(), "const: %v (%T) is no %s", x.Const, x.Const, x.Type)
	case x.Op == Argument:
		operands(0)
		v.owns(x.Param)
		must(x.Type.Same(x.Param.Type), "argument: %s is a %s", x.Param.Name, x.Param.Type)
	case x.Op == Len || x.Op == Rows || x.Op == Cols:
		operands(0)
		v.owns(x.Param)
		must(x.Type.Kind == Int && x.Param.Type.Kind == map[Op]Kind{Len: Slice, Rows: Matrix, Cols: Matrix}[x.Op], "%s of a %s", x.Op, x.Param.Type)
	case x.Op >= InGrid && x.Op <= AllBlocks:
		operands(0)
		must(x.Type.Kind == Int && len(x.Which) == 1 && x.Which[0] >= 0 && x.Which[0] < 3, "%s: no such dimension", x.Op)
	case x.Op >= Neg && x.Op <= Imag:
		operands(1)
		must(x.unary(arg(0)), "%s: a %s of a %s", x.Op, x.Type, arg(0))
	case x.Op == Shl || x.Op == Shr:
		operands(2)
		must(x.Type.Integer() && x.Type.Same(arg(0)) && arg(1).Integer(), "%s: a %s of a %s and a %s", x.Op, x.Type, arg(0), arg(1))
	case x.Op == Complex:
		operands(2)
		must(x.Type.Complex() && arg(0).Same(x.Type.Part()) && arg(1).Same(arg(0)), "complex: a %s of a %s and a %s", x.Type, arg(0), arg(1))
	case x.Op.Binary():
		operands(2)
		must(x.Type.Same(arg(0)) && x.Type.Same(arg(1)) && x.arithmetic(), "%s: a %s of a %s and a %s", x.Op, x.Type, arg(0), arg(1))
	case x.Op.Compares():
		operands(2)
		t := arg(0)
		must(x.Type.Kind == Bool && t.Same(arg(1)) && (x.Op <= Ne || t.Integer() || t.Float()), "%s: a %s of a %s and a %s", x.Op, x.Type, t, arg(1))
	case x.Op == Both || x.Op == Either:
		operands(2)
		must(x.Type.Kind == Bool && arg(0).Kind == Bool && arg(1).Kind == Bool, "%s: a %s of a %s and a %s", x.Op, x.Type, arg(0), arg(1))
	case x.Op == Go:
		x.verifyGo()
	case x.Op == Composite:
		x.verifyComposite()
	case x.Op == Extract:
		x.verifyExtract(arg(0))
	case x.Op == Load:
		operands(0)
		must(x.Place != nil && x.Type.Same(x.Place.Type), "load: a %s of a place of another type", x.Type)
	case x.Op == Address:
		must(false, "address: it is no argument of a call")
	case x.Op == Atomic:
		x.verifyAtomic()
	default:
		must(false, "operation %d is unknown", x.Op)
	}
}

// fits reports whether a constant has the form that its type needs.
func (x *Value) fits() bool {
	switch c := x.Const.(type) {
	case bool:
		return x.Type.Kind == Bool
	case int64:
		return x.Type.Signed() && c<<(64-x.Type.Bits())>>(64-x.Type.Bits()) == c
	case uint64:
		return x.Type.Integer() && !x.Type.Signed() && c<<(64-x.Type.Bits())>>(64-x.Type.Bits()) == c
	case float64:
		return x.Type.Kind == F64 || x.Type.Kind == F32 && (float64(float32(c)) == c || c != c)
	case complex128:
		return x.Type.Complex()
	}
	return false
}

func (x *Value) unary(of *Type) bool {
	switch x.Op {
	case Neg:
		return x.Type.Number() && x.Type.Same(of)
	case Not:
		return x.Type.Kind == Bool && of.Kind == Bool
	case Complement:
		return x.Type.Integer() && x.Type.Same(of)
	case Convert:
		return x.Type.Number() && of.Number() && x.Type.Complex() == of.Complex() && !x.Type.Same(of)
	case Round:
		return (x.Type.Float() || x.Type.Complex()) && x.Type.Same(of)
	}
	return of.Complex() && x.Type.Same(of.Part())
}

// arithmetic reports whether the type of a value has the value's operation on two operands.
func (x *Value) arithmetic() bool {
	switch x.Op {
	case Add, Sub, Mul, Div:
		return x.Type.Number()
	case Min, Max:
		return x.Type.Integer() || x.Type.Float()
	}
	return x.Type.Integer()
}

func (x *Value) verifyAtomic() {
	want, ok := Atomics[x.Of]
	must(ok && len(x.Args) == want && x.Place != nil && x.Place.Space() != Private, "atomic: %s with %d operands, or in private memory", x.Of, len(x.Args))
	for _, a := range x.Args {
		must(a.Type.Same(x.Type) && x.Type.Same(x.Place.Type) && (x.Type.Integer() || x.Type.Float()), "atomic: a %s into a %s", a.Type, x.Place.Type)
	}
}

func (x *Value) verifyGo() {
	params, result, ok := Signature(x.Of)
	must(ok, "go: there is no function %s", x.Of)
	must(len(params) == len(x.Args) && x.Type.Same(result), "go: %s with %d operands and the result %s", x.Of, len(x.Args), x.Type)
	for i, p := range params {
		must(p.Same(x.Args[i].Type), "go: a %s for a parameter of %s, which is a %s", x.Args[i].Type, x.Of, p)
	}
}

func (x *Value) verifyComposite() {
	must(x.Type.Kind == Struct || x.Type.Kind == Array, "composite: of type %s", x.Type)
	must(len(x.Which) == len(x.Args), "composite: %d operands for %d parts", len(x.Args), len(x.Which))
	for i, f := range x.Which {
		t := x.Type.Inner(f)
		must(t != nil && f >= 0 && (x.Type.Kind == Struct || int64(f) < x.Type.Len), "composite: a %s has no part %d", x.Type, f)
		must(t.Same(x.Args[i].Type), "composite: a %s for a part of type %s", x.Args[i].Type, t)
	}
}

func (x *Value) verifyExtract(of *Type) {
	if of.Kind == Array {
		must(len(x.Args) == 2 && x.Args[1].Type.Integer() && x.Type.Same(of.Elem), "extract: a %s of a %s without an index", x.Type, of)
		return
	}
	must(len(x.Args) == 1 && len(x.Which) == 1, "extract: of a %s", of)
	t := of.Inner(x.Which[0])
	must(t != nil && x.Type.Same(t), "extract: a %s has no such field of type %s", of, x.Type)
}
