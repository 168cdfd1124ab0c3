package interp

import (
	"math"
	"reflect"

	"github.com/go-halyard/halyard/internal/translate/ir"
)

func (t *thread) eval(v *ir.Value) data {
	if v.Bound {
		return t.frame.values[v.ID]
	}
	return t.compute(v)
}

// compute computes a value, and keeps an integer in 32 bits if the run does.
func (t *thread) compute(v *ir.Value) data {
	d := t.computed(v)
	if t.words != nil && v.Type != nil && t.words.Value(v) {
		if d.bits = wrap(ir.I32, d.bits); !t.words.Exact(v) {
			d.bits ^= 0x5bd1e995 << 32
		}
	}
	return d
}

// narrowed returns a number whose higher bits are replaced by copies of bit 31, if the run keeps integers in 32 bits.
func (t *thread) narrowed(d data) data {
	if t.words != nil {
		d.bits = wrap(ir.I32, d.bits)
	}
	return d
}

// computed computes a value from its operands, which it evaluates in their order.
func (t *thread) computed(v *ir.Value) data {
	switch {
	case v.Op == ir.Const:
		return constant(v.Type, v.Const)
	case v.Op == ir.Load:
		return t.at(v.Place, t.indexes(v.Place)).copied()
	case v.Op == ir.Argument:
		return t.frame.args[v.Param.Index].value
	case v.Op == ir.Len || v.Op == ir.Rows:
		return integer(t.frame.args[v.Param.Index].rows)
	case v.Op == ir.Cols:
		return integer(t.frame.args[v.Param.Index].cols)
	case v.Op >= ir.InGrid && v.Op <= ir.AllBlocks:
		return integer(t.place(v.Op, v.Which[0]))
	case v.Op == ir.Both:
		return truth(t.eval(v.Args[0]).bits != 0 && t.eval(v.Args[1]).bits != 0)
	case v.Op == ir.Either:
		return truth(t.eval(v.Args[0]).bits != 0 || t.eval(v.Args[1]).bits != 0)
	case v.Op == ir.Atomic:
		return t.atomic(v)
	case v.Op == ir.Call:
		return t.called(v)
	}
	args := make([]data, len(v.Args))
	for i, a := range v.Args {
		args[i] = t.eval(a)
	}
	switch {
	case v.Op == ir.Shl || v.Op == ir.Shr:
		if v.Args[1].Type.Signed() && int64(args[1].bits) < 0 {
			t.fail(v.Pos, "runtime error: negative shift amount")
		}
		return shift(v.Op, v.Type, args[0].bits, args[1].bits)
	case v.Op == ir.Div || v.Op == ir.Rem:
		if v.Type.Integer() && args[1].bits == 0 {
			t.fail(v.Pos, "runtime error: integer divide by zero")
		}
		return binary(v.Op, v.Type, args[0], args[1])
	case v.Op == ir.Within || v.Op == ir.UpTo:
		args[0], args[1] = t.narrowed(args[0]), t.narrowed(args[1])
	}
	switch {
	case v.Op == ir.Within:
		t.index(v, args[0], int(args[1].bits))
		return args[0]
	case v.Op == ir.UpTo:
		if args[0].bits > args[1].bits {
			t.fail(v.Pos, "runtime error: slice bounds out of range")
		}
		return args[0]
	case v.Op == ir.Complex:
		return data{bits: args[0].bits, imag: args[1].bits}
	case v.Op.Binary():
		return binary(v.Op, v.Type, args[0], args[1])
	case v.Op.Compares():
		return truth(compare(v.Op, v.Args[0].Type, args[0], args[1]))
	case v.Op == ir.Go:
		return gocall(v, args)
	case v.Op == ir.Composite:
		d := zero(v.Type)
		for i, f := range v.Which {
			d.parts[f] = args[i].copied()
		}
		return d
	case v.Op == ir.Extract && len(args) == 2:
		return args[0].parts[t.index(v.Args[1], t.narrowed(args[1]), len(args[0].parts))]
	case v.Op == ir.Extract:
		return args[0].parts[v.Which[0]]
	}
	return unary(v, args[0])
}

// place returns the thread's place in the grid.
func (t *thread) place(op ir.Op, d int) int {
	switch op {
	case ir.InGrid:
		return t.block[d]*t.grid.Size[d] + t.local[d]
	case ir.InBlock:
		return t.local[d]
	case ir.BlockOf:
		return t.block[d]
	case ir.Threads:
		return t.grid.Size[d]
	}
	return t.grid.Blocks[d]
}

// indexes evaluates the indexes of a place.
func (t *thread) indexes(p *ir.Place) []data {
	var all []data
	for _, s := range p.Path {
		if s.Index != nil {
			all = append(all, t.narrowed(t.eval(s.Index)))
		}
		if s.Col != nil {
			all = append(all, t.narrowed(t.eval(s.Col)))
		}
	}
	return all
}

// at checks the indexes of a place, and returns what is there.
func (t *thread) at(p *ir.Place, indexes []data) *data {
	var d *data
	cols := 0
	switch {
	case p.Local != nil && p.Local.Space == ir.Shared:
		d = t.shared[p.Local]
	case p.Local != nil:
		d = &t.frame.locals[p.Local.Index]
	default:
		d, cols = t.frame.args[p.Param.Index].at, t.frame.args[p.Param.Index].cols
	}
	for _, s := range p.Path {
		switch {
		case s.Col != nil:
			i, j, rows := int64(indexes[0].bits), int64(indexes[1].bits), t.frame.args[p.Param.Index].rows
			if uint64(i) >= uint64(rows) || uint64(j) >= uint64(cols) {
				t.fail(s.Index.Pos, "index %d, %d out of range with %d rows and %d columns", i, j, rows, cols)
			}
			d, indexes = &d.parts[int(i)*cols+int(j)], indexes[2:]
		case s.Index != nil:
			d, indexes = &d.parts[t.index(s.Index, indexes[0], len(d.parts))], indexes[1:]
		default:
			d = &d.parts[s.Field]
		}
	}
	return d
}

// index checks an index.
func (t *thread) index(v *ir.Value, i data, n int) int {
	switch {
	case i.bits < uint64(n):
		return int(i.bits)
	case !v.Type.Signed():
		t.fail(v.Pos, "runtime error: index out of range [%d] with length %d", i.bits, n)
	case int64(i.bits) < 0:
		t.fail(v.Pos, "runtime error: index out of range [%d]", int64(i.bits))
	}
	t.fail(v.Pos, "runtime error: index out of range [%d] with length %d", i.bits, n)
	return 0
}

// called calls a function. Several results are the parts of the value.
func (t *thread) called(v *ir.Value) data {
	args := make([]binding, len(v.Args))
	for i, a := range v.Args {
		switch {
		case a.Op == ir.Address:
			args[i].at = t.at(a.Place, t.indexes(a.Place))
		case a.Type.Memory():
			args[i] = t.frame.args[a.Param.Index]
		default:
			args[i].value = t.eval(a)
		}
	}
	results := t.call(v.Call, args)
	if len(results) == 1 {
		return results[0]
	}
	return data{parts: results}
}

func (t *thread) atomic(v *ir.Value) data {
	indexes := t.indexes(v.Place)
	var args []data
	for _, a := range v.Args {
		args = append(args, t.eval(a))
	}
	at := t.at(v.Place, indexes)
	old := *at
	switch v.Of {
	case "Exchange":
		*at = args[0]
	case "CompareExchange":
		if old.bits == args[0].bits {
			*at = args[1]
		}
	default:
		op := map[string]ir.Op{"Add": ir.Add, "Min": ir.Min, "Max": ir.Max, "And": ir.And, "Or": ir.Or, "Xor": ir.Xor}[v.Of]
		*at = binary(op, v.Type, old, args[0])
	}
	return old
}

// gocall calls a function of Go's packages for mathematics.
func gocall(v *ir.Value, args []data) data {
	switch f := ir.Functions[v.Of].(type) {
	case func(float64) float64:
		return float(ir.F64, f(f64(args[0])))
	case func(float64, float64) float64:
		return float(ir.F64, f(f64(args[0]), f64(args[1])))
	case func(float32) uint32: // the bits of a NaN stay
		return data{bits: uint64(f(f32(args[0])))}
	case func(uint32) float32:
		return data{bits: uint64(math.Float32bits(f(uint32(args[0].bits))))}
	}
	f := reflect.ValueOf(ir.Functions[v.Of])
	in := make([]reflect.Value, len(args))
	for i, a := range args {
		in[i] = reflect.New(f.Type().In(i)).Elem()
		toGo(a, in[i])
	}
	out := f.Call(in)
	if len(out) == 1 {
		return fromGo(out[0])
	}
	var d data
	for _, o := range out {
		d.parts = append(d.parts, fromGo(o))
	}
	return d
}
