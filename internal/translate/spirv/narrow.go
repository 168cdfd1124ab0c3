package spirv

import (
	isa "github.com/go-halyard/halyard/internal/spirv"
	"github.com/go-halyard/halyard/internal/spirv/build"
	"github.com/go-halyard/halyard/internal/translate/facts"
	"github.com/go-halyard/halyard/internal/translate/ir"
)

// This file prints integers of 64 bits that are kept in 32 bits: see facts.Narrow. A module that reports indexes has no such integers.

// keptAs returns the SPIR-V type of an integer or of another value, which is narrow if the parameter says so.
func (e *emitter) keptAs(t *ir.Type, narrow bool) isa.ID {
	if narrow {
		return e.m.Int(32)
	}
	return e.value(t)
}

// result returns the SPIR-V type of a function's result.
func (e *emitter) result(g *ir.Function) isa.ID { return e.keptAs(g.Result(), e.narrow.Result(g)) }

// bound prints a value that is evaluated here, and returns it as it is kept.
func (f *values) bound(v *ir.Value) isa.ID {
	if f.narrow.Value(v) {
		return f.computeLow(v)
	}
	return f.compute(v)
}

// as returns a value in 32 bits if narrow is set.
func (f *values) as(v *ir.Value, narrow bool) isa.ID {
	if narrow {
		return f.low(v)
	}
	return f.expr(v)
}

// low returns the low 32 bits of an integer of 64 bits. Other values are returned as they are.
func (f *values) low(v *ir.Value) isa.ID {
	switch {
	case !v.Type.Integer() || v.Type.Bits() < 64:
		return f.expr(v)
	case v.Op == ir.Const:
		return f.m.Const(32, bitsOf(v.Const))
	case f.narrow != nil && v.Op >= ir.InGrid && v.Op <= ir.AllBlocks && !v.Bound: // also for a value that share.go has added, which facts.Narrow does not know
		return f.inGrid(v.Op, v.Which[0], 32)
	case !f.narrow.Value(v):
		return f.cutLow(f.expr(v))
	case v.Bound:
		return f.frame.values[v.ID]
	}
	return f.computeLow(v)
}

func (f *values) cutLow(id isa.ID) isa.ID { return f.c.Op(build.OpUConvert, f.m.Int(32), id) }

// lowOf returns the low 32 bits of an argument of the kernel, or of a length.
func (f *values) lowOf(v *ir.Value) isa.ID {
	switch p := f.frame.params[v.Param.Index]; v.Op {
	case ir.Argument:
		return f.lowArgument(p.first - 1)
	case ir.Cols:
		return f.lowArgument(p.col)
	default:
		return f.lowArgument(p.rows)
	}
}

// computeLow prints a value that is kept in 32 bits.
func (f *values) computeLow(v *ir.Value) isa.ID {
	i32, u32 := ir.Basic(ir.I32), f.m.Int(32)
	switch op := v.Op; {
	case op == ir.Const:
		return f.low(v)
	case op == ir.Argument && f.frame.params[v.Param.Index].first == 0:
		if f.narrow.Param(v.Param) {
			return f.frame.params[v.Param.Index].value
		}
	case op == ir.Argument || op >= ir.Len && op <= ir.Cols:
		return f.lowOf(v)
	case op >= ir.InGrid && op <= ir.AllBlocks:
		return f.inGrid(op, v.Which[0], 32)
	case op == ir.Load && facts.Loaded(v) != nil && f.narrow.Local(facts.Loaded(v)):
		return f.compute(v)
	case op == ir.Convert && v.Args[0].Type.Integer(), op == ir.Within, op == ir.UpTo:
		return f.low(v.Args[0])
	case !f.narrow.Computed(v):
	case op == ir.Neg:
		return f.c.Op(build.OpSNegate, u32, f.low(v.Args[0]))
	case op == ir.Complement:
		return f.c.Op(build.OpNot, u32, f.low(v.Args[0]))
	case op == ir.Shl || op == ir.Shr:
		by, _ := facts.Constant(v.Args[1])
		code := map[ir.Op]isa.Op{ir.Shl: build.OpShiftLeftLogical, ir.Shr: build.OpShiftRightArithmetic}[op]
		return f.c.Op(code, u32, f.low(v.Args[0]), f.m.Const(32, uint64(by)))
	case op.Binary():
		x := f.low(v.Args[0])
		return f.integers(op, i32, x, f.low(v.Args[1]), v.Args[1])
	}
	return f.cutLow(f.compute(v))
}
