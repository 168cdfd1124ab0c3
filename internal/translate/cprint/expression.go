package cprint

import (
	"fmt"
	"go/token"
	"math"
	"strconv"
	"strings"

	"github.com/go-halyard/halyard/internal/translate/facts"
	"github.com/go-halyard/halyard/internal/translate/ir"
	"github.com/go-halyard/halyard/internal/translate/quirks"
)

// computed returns the text of a value where it is computed.
func (f *values) computed(v *ir.Value) text {
	if f.narrow.Value(v) {
		return f.computedLow(v)
	}
	return f.wide(v)
}

// wide returns the text of a value in the C type of its type.
func (f *values) wide(v *ir.Value) text {
	switch {
	case v.Op == ir.Const:
		return f.constant(v)
	case v.Op == ir.Argument:
		return truth(atom(f.names[v.Param]), v.Type, f.f.Kernel)
	case v.Op == ir.Len || v.Op == ir.Rows:
		return atom(f.names[v.Param] + "_n")
	case v.Op == ir.Cols:
		return atom(f.names[v.Param] + "_m")
	case v.Op >= ir.InGrid && v.Op <= ir.AllBlocks:
		return cast("i64", f.inGrid(v))
	case v.Op == ir.Not:
		x := f.value(v.Args[0]).in(unary)
		return text{c: "!" + x.c, level: unary, op: "!", deep: x.deep + 1}
	case v.Op == ir.Round:
		return f.value(v.Args[0])
	case v.Op == ir.Convert:
		return f.converted(v)
	case v.Op == ir.Both || v.Op == ir.Either:
		return f.logical(v)
	case v.Op == ir.Composite:
		name := f.added()
		f.composed(name, v)
		return atom(name)
	case v.Op.Compares():
		return f.compared(v)
	case v.Op == ir.Load:
		return f.load(v)
	case v.Op == ir.Extract:
		return f.extract(v)
	case v.Op == ir.Go:
		return f.goCall(v)
	case v.Op == ir.Real || v.Op == ir.Imag:
		return f.part(f.value(v.Args[0]), map[ir.Op]string{ir.Real: "re", ir.Imag: "im"}[v.Op])
	case v.Op == ir.Complex:
		return f.complexOf(v.Type, f.value(v.Args[0]), f.value(v.Args[1]))
	case v.Type.Complex():
		return f.complexArithmetic(v)
	case v.Op == ir.Within || v.Op == ir.UpTo:
		return f.limited(v)
	case v.Op == ir.Min || v.Op == ir.Max:
		return called(f.extreme(v.Op.String(), numbers[v.Type.Kind]), f.value(v.Args[0]), f.value(v.Args[1]))
	case v.Type.Float():
		return f.floats(v)
	}
	return f.integers(v)
}

// inGrid returns one of the numbers for the thread's place in the grid, or for the grid's size. Each is a u64 in C.
func (f *values) inGrid(v *ir.Value) text {
	f.checks = f.checks || v.Op == ir.InGrid || v.Op == ir.BlockOf || v.Op == ir.AllBlocks // the macros of these operations may use the function's last parameter, GO_FAULTS
	word := map[ir.Op]string{ir.InGrid: "INDEX", ir.InBlock: "THREAD", ir.BlockOf: "BLOCK", ir.Threads: "THREADS", ir.AllBlocks: "BLOCKS"}[v.Op]
	place := called(word, atom(strconv.Itoa(v.Which[0])))
	if v.Of != "" { // without the casts Intel's compiler uses a wrong element of 16 bits if an index is computed from all dimensions
		place.c = "(u64)(u32)" + place.c
	}
	return place
}

func (f *values) constant(v *ir.Value) text {
	n := f.numberOf(v)
	switch x := v.Const.(type) {
	case bool:
		if x {
			return atom("1")
		}
		return atom("0")
	case float64:
		f.now |= n.needs()
		return f.float(n, x)
	case complex128:
		part := numbers[v.Type.Part().Kind]
		return f.complexOf(v.Type, f.float(part, real(x)), f.float(part, imag(x)))
	case uint64:
		if x > math.MaxInt64 {
			return cast("u64", atom(fmt.Sprintf("%#x", x)))
		}
		return f.integer(n, int64(x))
	case int64:
		return f.integer(n, x)
	}
	return text{}
}

// integer returns a constant. If the constant fits in an int, its type in C is int, and C converts it to the type of the other operand.
func (f *values) integer(n number, x int64) text {
	switch {
	case x == math.MinInt64:
		return cast("i64", atom("0x8000000000000000"))
	case x == math.MinInt32 && n.bits == 32:
		return cast(n.c, atom("0x80000000"))
	case x < 0:
		return text{c: strconv.FormatInt(x, 10), level: unary}
	case x > math.MaxInt32:
		return cast(n.c, atom(strconv.FormatInt(x, 10)))
	}
	return atom(strconv.FormatInt(x, 10))
}

// float returns a constant.
func (f *values) float(n number, x float64) text {
	switch {
	case !math.Signbit(x):
		return atom(n.decimal(x))
	case x == -1: // multiplying by -1 negates
		return f.negated(n, atom(n.decimal(1)))
	}
	return text{c: n.decimal(x), level: unary}
}

// decimal returns the text of a number of a type of floats.
func (n number) decimal(x float64) string {
	c := strconv.FormatFloat(x, 'g', -1, n.bits)
	if !strings.ContainsAny(c, ".e") {
		c += ".0"
	}
	return n.literal(c)
}

// logical returns x && y, or x || y. If y needs statements, these are inside an if, so that they run only where Go evaluates y.
func (f *values) logical(v *ir.Value) text {
	left := f.value(v.Args[0])
	var right text
	lines := f.captured(func() { right = f.value(v.Args[1]) })
	op, unless := "&&", ""
	if v.Op == ir.Either {
		op, unless = "||", "!"
	}
	if len(lines) == 0 {
		return binary(op, logical, left, right)
	}
	name := f.keep("u8", left).c
	f.line("if (%s%s) {", unless, name)
	f.text = append(f.text, lines...)
	f.line("\t%s = %s;", name, right.c)
	f.line("}")
	return atom(name)
}

func (f *values) compared(v *ir.Value) text {
	t := v.Args[0].Type
	x, y := f.value(v.Args[0]), f.value(v.Args[1])
	switch {
	case numbers[t.Kind].c == "":
		equal := called(f.equal(t), x, y)
		if v.Op == ir.Ne {
			equal = text{c: "!" + equal.c, level: unary, op: "!", deep: equal.deep}
		}
		return equal
	case v.Op == ir.Eq || v.Op == ir.Ne:
		return binary(v.Op.String(), equality, x, y)
	}
	return binary(v.Op.String(), relational, x, y)
}

// floats returns an operation on floats.
func (f *values) floats(v *ir.Value) text {
	n := numbers[v.Type.Kind]
	if t, ok := f.fast(v, n); ok {
		return t
	}
	x := f.value(v.Args[0])
	if v.Op == ir.Neg {
		return f.negated(n, x)
	}
	y := f.value(v.Args[1])
	switch v.Op {
	case ir.Add, ir.Sub:
		return binary(v.Op.String(), additive, x, y)
	case ir.Div: // Rusticl gives any result for a division by a known zero, and 0 for 0 / x
		zero := cast(n.c, called("GO_F32", atom("0.0f")))
		if quirks.Constant(v.Args[0], 0) {
			x = zero
		}
		if quirks.Constant(v.Args[1], 0) {
			y = zero
		}
	}
	return binary(v.Op.String(), product, x, y)
}

// integers returns an operation on integers.
func (f *values) integers(v *ir.Value) text {
	n := numbers[v.Type.Kind]
	if x := quirks.Complement(v); x != nil {
		return called("GO_NOT", atom(n.c), f.whole(x))
	}
	switch v.Op {
	case ir.Neg, ir.Add, ir.Sub, ir.Mul:
		if n.bits >= 32 && !n.signed {
			return f.wrapped(v)
		}
		return cast(n.c, f.wrapped(v))
	case ir.Shl, ir.Shr:
		return f.shifted(v)
	}
	x, y := f.value(v.Args[0]), f.value(v.Args[1])
	switch v.Op {
	case ir.Div, ir.Rem:
		if by := v.Args[1]; by.Op == ir.Const && !quirks.Constant(by, 0) && !quirks.Constant(by, -1) {
			return binary(v.Op.String(), product, f.typed(v.Args[0], x), y)
		}
		return called(f.divide(v.Op, n), x, f.asked("GO_BY", v, y))
	case ir.AndNot:
		return binary("&", bitwise, x, called("GO_NOT", atom(n.c), f.whole(v.Args[1])))
	}
	return binary(v.Op.String(), bitwise, x, y)
}

// modulo returns an integer in the unsigned type of C in which sums and products wrap around: the narrow one if the parameter says so. If the integer is itself a
// sum or a product that is computed in that type, it is a part of the expression.
func (f *values) modulo(v *ir.Value, narrow bool) text {
	n, same := kept(v.Type, narrow), f.narrow.Value(v) == narrow
	switch {
	case v.Bound:
	case v.Op == ir.Const:
		return f.value(v)
	case v.Op >= ir.InGrid && v.Op <= ir.AllBlocks && !narrow:
		return f.inGrid(v)
	case v.Op >= ir.InGrid && v.Op <= ir.AllBlocks:
		return cast(n.unsigned(), f.inGrid(v))
	case same && quirks.Complement(v) == nil && (v.Op == ir.Neg || v.Op == ir.Add || v.Op == ir.Sub || v.Op == ir.Mul):
		t := f.wrapped(v)
		if t.deep > deepest {
			return f.keep(n.unsigned(), t)
		}
		return t
	}
	if n.bits >= 32 && !n.signed && same {
		return f.value(v)
	}
	return cast(n.unsigned(), f.value(v))
}

// wrapped returns a sum, difference, product or negation in the unsigned type in which it wraps around.
func (f *values) wrapped(v *ir.Value) text {
	u, narrow := f.numberOf(v).unsigned(), f.narrow.Value(v)
	if x := quirks.Minus(v); x != nil {
		return called("GO_MINUS", atom(u), f.value(x))
	}
	level := additive
	if v.Op == ir.Mul {
		level = product
	}
	left, right := f.modulo(v.Args[0], narrow), f.modulo(v.Args[1], narrow)
	if v.Args[0].Op == ir.Const && v.Args[1].Op == ir.Const {
		left = cast(u, left)
	}
	return binary(v.Op.String(), level, left, right)
}

// shifted returns x shifted by a count. A count that is negative, or at least the width, shifts everything out.
func (f *values) shifted(v *ir.Value) text {
	n := numbers[v.Type.Kind]
	x := f.typed(v.Args[0], f.whole(v.Args[0]))
	if v.Args[1].Op != ir.Const {
		return called(f.shift(v.Op, n), x, cast("u64", f.asked("GO_SHIFT", v, f.value(v.Args[1]))))
	}
	c, ok := v.Args[1].Const.(uint64)
	if s, signed := v.Args[1].Const.(int64); signed {
		c, ok = uint64(s), s >= 0
	}
	switch out := !ok || c >= uint64(n.bits); {
	case out && (v.Op == ir.Shl || !n.signed):
		return cast(n.c, atom("0"))
	case out:
		c = uint64(n.bits) - 1
	}
	count := atom(strconv.FormatUint(c, 10))
	switch {
	case v.Op == ir.Shl:
		return cast(n.c, binary("<<", shifts, cast(n.unsigned(), x), count))
	case n.signed && c == uint64(n.bits)-1: // Intel's compiler gives the result of -x >> n the wrong sign for the smallest x
		count = called("GO_COUNT", count)
	}
	return binary(">>", shifts, x, count)
}

// converted returns a number converted to another type.
func (f *values) converted(v *ir.Value) text {
	from, to := v.Args[0].Type, v.Type
	a, b := numbers[from.Kind], numbers[to.Kind]
	if name, args := facts.SingleMath(v); mathNames[name] != "" || name == "Max" || name == "Min" { // use the device's function for float32
		if name == "Sqrt" && f.f.Fast {
			return called(f.approximate("go_root"), f.value(args[0]))
		}
		return f.mathCall(name, numbers[ir.F32], args)
	}
	x := f.value(v.Args[0])
	switch {
	case to.Complex():
		return called(f.complexFrom(to, from), x)
	case a.c == b.c:
		return x
	case a.float && !b.float:
		return called(f.toInteger(a, b), x)
	case a.bits == 64 && !a.float && b.c == "f32":
		return called("GO_F32", x)
	}
	return cast(f.typ(to), x)
}

// load reads a place.
func (f *values) load(v *ir.Value) text {
	t, ok := f.exchanged(v)
	if !ok {
		t = f.place(v.Place, v.Pos)
	}
	if f.Again[v] && !ok {
		t = called("GO_ONCE", t)
	}
	return truth(t, v.Type, len(v.Place.Path) > 0 || v.Place.Param != nil)
}

// extract returns a field or an element of a value.
func (f *values) extract(v *ir.Value) text {
	of := v.Args[0]
	if names, ok := f.pairs[of]; ok {
		return atom(names[v.Which[0]])
	}
	x := f.value(of)
	if of.Type.Kind != ir.Array {
		return truth(f.part(x, field(of.Type, v.Which[0])), v.Type, of.Type.Kind == ir.Struct)
	}
	index := f.within(v.Args[1], fmt.Sprint(of.Type.Len), token.NoPos, v.Pos)
	x = x.in(postfix)
	t := text{c: x.c + ".a[" + index.c + "]", level: postfix, deep: max(x.deep, index.deep) + bracket}
	if f.Again[v] {
		t = called("GO_ONCE", t)
	}
	return truth(t, v.Type, true)
}
