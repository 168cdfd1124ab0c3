package spirv

import (
	"fmt"

	isa "github.com/go-halyard/halyard/internal/spirv"
	"github.com/go-halyard/halyard/internal/spirv/build"
	"github.com/go-halyard/halyard/internal/translate/ir"
)

// expr returns a value, which is printed here unless it is bound.
func (f *values) expr(v *ir.Value) isa.ID {
	if v.Bound {
		return f.frame.values[v.ID]
	}
	return f.compute(v)
}

// compute prints a value, apart from one with several results.
func (f *values) compute(v *ir.Value) isa.ID {
	arg := func(i int) isa.ID { return f.expr(v.Args[i]) }
	switch op := v.Op; {
	case op == ir.Const:
		return f.constant(v.Type, v.Const)
	case op == ir.Argument:
		p := f.frame.params[v.Param.Index]
		if p.read != nil {
			return p.read()
		}
		return p.value
	case op == ir.Len || op == ir.Rows:
		return f.frame.params[v.Param.Index].rows
	case op == ir.Cols:
		return f.frame.params[v.Param.Index].col
	case op >= ir.InGrid && op <= ir.AllBlocks:
		return f.inGrid(op, v.Which[0])
	case op == ir.Load:
		return f.load(f.at(v.Place, f.indexes(v.Place)))
	case op == ir.Both || op == ir.Either:
		return f.both(v)
	case op == ir.Not:
		return f.c.Op(build.OpLogicalNot, f.m.Bool(), arg(0))
	case op == ir.Round: // each operation is rounded by itself
		return arg(0)
	case op == ir.Real || op == ir.Imag:
		return f.c.Op(build.OpCompositeExtract, f.m.Float(v.Type.Bits()), arg(0), uint32(op-ir.Real))
	case op == ir.Complex:
		x := arg(0)
		return f.complex(v.Type, x, arg(1))
	case op == ir.Convert:
		return f.convert(v)
	case op == ir.Neg && v.Type.Integer():
		return f.normal(v.Type, f.c.Op(build.OpSNegate, f.emitter.value(v.Type), arg(0)))
	case op == ir.Neg:
		return f.negative(v.Type, arg(0))
	case op == ir.Complement:
		return f.normal(v.Type, f.c.Op(build.OpNot, f.emitter.value(v.Type), arg(0)))
	case op == ir.Shl || op == ir.Shr:
		x := arg(0)
		return f.shift(op, v.Type, x, v.Args[1])
	case op.Compares():
		x, y := f.operands(v)
		return f.compare(op, v.Args[0].Type, x, y)
	case op.Binary():
		x, y := f.operands(v)
		return f.binary(op, v.Type, x, y, v.Args[1])
	case op == ir.Go:
		return f.mathematics(v)[0]
	case op == ir.Composite:
		return f.composite(v)
	case op == ir.Extract && v.Args[0].Type.Kind == ir.Tuple:
		return f.frame.tuples[v.Args[0].ID][v.Which[0]]
	case op == ir.Extract:
		return f.load(f.extracted(v))
	case op == ir.Atomic:
		return f.atomic(v)
	}
	panic(fmt.Sprintf("operation %s has no form in SPIR-V", v.Op)) // the verifier knows no other
}

// binary prints an operation on two numbers of a type. right is the second, if it is known.
func (f *numbers) binary(op ir.Op, t *ir.Type, x, y isa.ID, right *ir.Value) isa.ID {
	switch {
	case t.Integer():
		return f.integers(op, t, x, y, right)
	case t.Float():
		return f.floats(op, t, x, y)
	}
	return f.complexes(op, t, x, y)
}

// constant returns a constant. A float is one that no driver knows.
func (f *numbers) constant(t *ir.Type, c any) isa.ID {
	switch c := c.(type) {
	case bool:
		return f.m.Truth(c)
	case int64:
		return f.number(t, uint64(c))
	case uint64:
		return f.number(t, c)
	case float64:
		return f.unknownConst(t, c)
	case complex128:
		x := f.unknownConst(t.Part(), real(c))
		return f.complex(t, x, f.unknownConst(t.Part(), imag(c)))
	}
	return 0
}

// both prints && and ||.
func (f *values) both(v *ir.Value) isa.ID {
	left := f.expr(v.Args[0])
	right := func() isa.ID { return f.expr(v.Args[1]) }
	and := v.Op == ir.Both
	if harmless(v.Args[1]) {
		op := build.OpLogicalOr
		if and {
			op = build.OpLogicalAnd
		}
		return f.c.Op(op, f.m.Bool(), left, right())
	}
	known := func() isa.ID { return f.m.Truth(!and) }
	if and {
		return f.either(left, f.m.Bool(), right, known)
	}
	return f.either(left, f.m.Bool(), known, right)
}

// harmless reports whether a value can be evaluated where Go does not: it reads no memory by an index, and costs little.
func harmless(v *ir.Value) bool {
	if v.Bound {
		return true
	}
	switch v.Op {
	case ir.Go:
		return false
	case ir.Div, ir.Rem:
		if v.Args[1].Op != ir.Const {
			return false
		}
	case ir.Eq, ir.Ne:
		if !v.Args[0].Type.Number() && v.Args[0].Type.Kind != ir.Bool {
			return false
		}
	case ir.Load:
		if len(v.Place.Indexes()) > 0 {
			return false
		}
	case ir.Extract:
		if len(v.Args) > 1 {
			return false
		}
	case ir.Convert:
		if v.Type.Integer() && v.Args[0].Type.Float() {
			return false
		}
	}
	for _, a := range v.Args {
		if !harmless(a) {
			return false
		}
	}
	return true
}

// composite returns a structure or an array of its parts.
func (f *values) composite(v *ir.Value) isa.ID {
	t := v.Type
	if len(v.Args) == 0 {
		return f.zero(t)
	}
	given := make([]isa.ID, len(v.Args))
	for i, a := range v.Args {
		given[i] = f.narrowed(f.expr(a), t.Inner(v.Which[i]), build.Function)
	}
	if t.Kind == ir.Array && t.Len > 2*int64(len(given)) {
		id := f.zero(t)
		for i, x := range given {
			id = f.c.Op(build.OpCompositeInsert, f.part(t), x, id, uint32(v.Which[i]))
		}
		return id
	}
	all := make([]isa.ID, len(parts(t)))
	for i, x := range given {
		all[v.Which[i]] = x
	}
	for i, p := range parts(t) {
		if all[i] == 0 {
			all[i] = f.zeroAs(p, f.part)
		}
	}
	return f.c.Op(isa.OpCompositeConstruct, f.part(t), all...)
}
