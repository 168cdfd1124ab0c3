package cprint

import (
	"strconv"

	"github.com/go-halyard/halyard/internal/translate/facts"
	"github.com/go-halyard/halyard/internal/translate/ir"
	"github.com/go-halyard/halyard/internal/translate/quirks"
)

// This file prints integers of 64 bits that are kept in 32 bits: see facts.Narrow. Their types in C are GO_INT and GO_UINT, which have 32 bits unless a launch
// is so large that it needs the wide text, or the text reports something.

// narrowed returns the C type of integers of a type of 64 bits that are kept in 32 bits.
func narrowed(t *ir.Type) number {
	if t.Signed() {
		return number{"GO_INT", 64, true, false}
	}
	return number{"GO_UINT", 64, false, false}
}

// kept returns the C type of a number, which is narrow if the parameter says so.
func kept(t *ir.Type, narrow bool) number {
	if narrow {
		return narrowed(t)
	}
	return numbers[t.Kind]
}

// keptAs returns the name of a type, which is narrow if the parameter says so.
func (p *printer) keptAs(t *ir.Type, narrow bool) string {
	if narrow {
		return narrowed(t).c
	}
	return p.typ(t)
}

// numberOf returns the C type of a value that is a number.
func (f *values) numberOf(v *ir.Value) number { return kept(v.Type, f.narrow.Value(v)) }

// whole returns a value in the C type of its own type, also if it is kept in the narrow type.
func (f *values) whole(v *ir.Value) text {
	t := f.value(v)
	if f.narrow.Value(v) && v.Op != ir.Const {
		return cast(numbers[v.Type.Kind].c, t)
	}
	return t
}

// low returns the low bits of an integer of 64 bits in the narrow type. Other values are returned as they are.
func (f *values) low(v *ir.Value) text {
	t := f.value(v)
	if v.Op == ir.Const || f.narrow.Value(v) || !v.Type.Integer() || v.Type.Bits() < 64 {
		return t
	}
	return cast(narrowed(v.Type).c, t)
}

// as returns a value, and its low bits if narrow is set.
func (f *values) as(v *ir.Value, narrow bool) text {
	if narrow {
		return f.low(v)
	}
	return f.value(v)
}

// computedLow returns the text of a value that is kept in 32 bits, where it is computed. The C type of the text is the narrow type.
func (f *values) computedLow(v *ir.Value) text {
	n := narrowed(v.Type)
	switch op := v.Op; {
	case op == ir.Const:
		return f.constant(v)
	case op == ir.Argument && f.narrow.Param(v.Param) && !f.f.Kernel, op == ir.Load && facts.Loaded(v) != nil && f.narrow.Local(facts.Loaded(v)):
		return f.wide(v)
	case op == ir.Convert && f.narrow.Value(v.Args[0]) && v.Args[0].Op != ir.Const && v.Type.Signed() == v.Args[0].Type.Signed():
		return f.value(v.Args[0])
	case op >= ir.InGrid && op <= ir.AllBlocks:
		return cast(n.c, f.inGrid(v))
	case op == ir.Within || op == ir.UpTo:
		return f.limited(v)
	case op == ir.Convert && v.Args[0].Type.Integer():
		return cast(n.c, f.value(v.Args[0]))
	case !f.narrow.Computed(v) || op == ir.Convert:
		return cast(n.c, f.wide(v))
	case quirks.Complement(v) != nil:
		return called("GO_NOT", atom(n.c), f.low(quirks.Complement(v)))
	case op == ir.Neg || op >= ir.Add && op <= ir.Mul:
		if n.signed && quirks.Minus(v) == nil && f.narrow.Plain(v) {
			level := additive
			if op == ir.Mul {
				level = product
			}
			return binary(op.String(), level, f.value(v.Args[0]), f.value(v.Args[1]))
		}
		if !n.signed {
			return f.wrapped(v)
		}
		return cast(n.c, f.wrapped(v))
	case op == ir.Shl || op == ir.Shr:
		by, _ := facts.Constant(v.Args[1])
		count := atom(strconv.FormatInt(by, 10))
		if op == ir.Shl {
			return cast(n.c, binary("<<", shifts, cast(n.unsigned(), f.low(v.Args[0])), count))
		}
		if by == 31 {
			count = called("GO_COUNT", count)
		}
		return binary(">>", shifts, f.typed(v.Args[0], f.value(v.Args[0])), count)
	case op == ir.Min || op == ir.Max:
		return called(f.extreme(op.String(), n), f.value(v.Args[0]), f.value(v.Args[1]))
	case op == ir.Div || op == ir.Rem:
		x, y := f.value(v.Args[0]), f.value(v.Args[1])
		if by := v.Args[1]; by.Op == ir.Const && !quirks.Constant(by, 0) && !quirks.Constant(by, -1) {
			return binary(op.String(), product, f.typed(v.Args[0], x), y)
		}
		return called(f.divide(op, n), x, y)
	case op == ir.AndNot:
		return binary("&", bitwise, f.low(v.Args[0]), called("GO_NOT", atom(n.c), f.low(v.Args[1])))
	}
	return binary(v.Op.String(), bitwise, f.low(v.Args[0]), f.low(v.Args[1]))
}
