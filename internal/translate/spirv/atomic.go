package spirv

import (
	isa "github.com/go-halyard/halyard/internal/spirv"
	"github.com/go-halyard/halyard/internal/spirv/build"
	"github.com/go-halyard/halyard/internal/translate/ir"
)

// atomics are the atomic operations: on integers with a sign, and on those without.
var atomics = map[string][2]isa.Op{
	"Add": {build.OpAtomicIAdd, build.OpAtomicIAdd}, "Min": {build.OpAtomicSMin, build.OpAtomicUMin}, "Max": {build.OpAtomicSMax, build.OpAtomicUMax},
	"And": {build.OpAtomicAnd, build.OpAtomicAnd}, "Or": {build.OpAtomicOr, build.OpAtomicOr}, "Xor": {build.OpAtomicXor, build.OpAtomicXor},
	"Exchange": {build.OpAtomicExchange, build.OpAtomicExchange}, "CompareExchange": {build.OpAtomicCompareExchange, build.OpAtomicCompareExchange},
}

// atomic prints an atomic operation. Those on floats are made of operations on their bits.
func (f *values) atomic(v *ir.Value) isa.ID {
	t := v.Type
	indexes := f.indexes(v.Place)
	args := f.exprs(v.Args)
	p := f.at(v.Place, indexes)
	if t.Bits() == 64 {
		f.m.Need(build.Int64Atomics)
	}
	bits, word := t, f.m.Int(t.Bits())
	at := f.pointer(p)
	if t.Float() {
		bits = ir.Basic(map[int]ir.Kind{32: ir.U32, 64: ir.U64}[t.Bits()])
		if p.storage == isa.PhysicalStorage {
			at = f.c.Op(build.OpBitcast, f.m.Pointer(p.storage, word), at)
		}
		if v.Of != "Exchange" && v.Of != "CompareExchange" {
			return f.combined(v, at, args[0])
		}
		for i := range args {
			args[i] = f.c.Op(build.OpBitcast, word, args[i])
		}
	}
	op := atomics[v.Of][1]
	if t.Signed() {
		op = atomics[v.Of][0]
	}
	was := f.atomically(op, bits, at, args...)
	if t.Float() {
		return f.unknown(t, f.c.Op(build.OpBitcast, f.emitter.value(t), was))
	}
	return was
}

func (f *numbers) atomically(op isa.Op, t *ir.Type, at isa.ID, args ...isa.ID) isa.ID {
	const device, relaxed = 1, 0
	list := []uint32{at, f.m.Const(32, device), f.m.Const(32, relaxed)}
	if op == build.OpAtomicCompareExchange {
		list = append(list, f.m.Const(32, relaxed), args[1], args[0])
	} else {
		list = append(list, args[0])
	}
	return f.c.Op(op, f.emitter.value(t), list...)
}

// combined prints an atomic operation on a float as a loop of exchanges. The first guesses that there is 0, and reads what there is.
func (f *values) combined(v *ir.Value, at, arg isa.ID) isa.ID {
	t, bits := v.Type, ir.Basic(map[int]ir.Kind{32: ir.U32, 64: ir.U64}[v.Type.Bits()])
	word, op := f.m.Int(t.Bits()), map[string]ir.Op{"Add": ir.Add, "Min": ir.Min, "Max": ir.Max}[v.Of]
	l := f.enter(nil)
	next := f.m.ID()
	was := f.phi(word, f.m.Const(t.Bits(), 0), next, l)
	f.test(l, 0)
	old := f.unknown(t, f.c.Op(build.OpBitcast, f.emitter.value(t), was))
	made := f.c.Op(build.OpBitcast, word, f.floats(op, t, old, arg))
	const device, relaxed = 1, 0
	scope, order := f.m.Const(32, device), f.m.Const(32, relaxed)
	f.c.As(build.OpAtomicCompareExchange, f.emitter.value(bits), next, at, scope, order, order, made, was)
	same := f.c.Op(build.OpIEqual, f.m.Bool(), next, was)
	f.next(l)
	l.reached = true
	f.c.Do(build.OpBranchConditional, same, l.merge, l.header)
	f.after(l)
	return f.unknown(t, f.c.Op(build.OpBitcast, f.emitter.value(t), next))
}
