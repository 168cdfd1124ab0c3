package ir

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// sample is a program that keeps all rules, with the parts that the rows of TestRules break.
type sample struct {
	*Builder
	p                     *Program
	callee, kernel        *Function
	x, m, n               *Param // of the kernel: a slice, a matrix and an int32
	sum, part, pair       *Local
	let, loop, count, sw  *Stmt
	ret, brk, store, cond *Stmt
	call, atomic          *Value
}

var (
	i32 = Basic(I32)
	num = Basic(Int)
)

func newSample() *sample {
	s := &sample{}
	global := func(k Kind) *Type { return &Type{Kind: k, Elem: i32, Space: Global} }
	s.callee = &Function{Name: "add", Results: []*Type{i32}, Params: []*Param{
		{Name: "p", Index: 0, Type: &Type{Kind: Pointer, Elem: i32, Space: Shared}}, {Name: "x", Index: 1, Type: global(Slice)}}}
	b := NewBuilder(s.callee)
	s.ret = b.Stmt(Return)
	s.ret.Values = []*Value{b.Load(s.callee.Params[0].At())}

	s.x, s.m, s.n = &Param{Name: "x", Type: global(Slice)}, &Param{Name: "m", Index: 1, Type: global(Matrix)}, &Param{Name: "n", Index: 2, Type: i32}
	s.kernel = &Function{Name: "k", Kernel: true, Params: []*Param{s.x, s.m, s.n}}
	s.Builder = NewBuilder(s.kernel)
	s.sum, s.part = s.Local("sum", i32, Private), s.Local("part", &Type{Kind: Array, Elem: i32, Len: 4}, Shared)
	s.pair = s.Local("pair", &Type{Kind: Struct, Fields: []Field{{"a", i32}, {"b", Basic(Bool)}}}, Private)
	s.Let(s.grid())
	s.let = s.kernel.Body.List[0]
	address := s.Value(Address, s.callee.Params[0].Type)
	address.Place = s.part.At().Part(0, s.let.Value, nil)
	s.call = s.Value(Call, i32, address, s.Argument(s.x))
	s.call.Call = s.callee
	s.Let(s.call)
	s.atomic = s.Value(Atomic, i32, s.Int(i32, 1))
	s.atomic.Of, s.atomic.Place = "Add", s.m.At().Part(0, s.let.Value, s.Int(num, 0))
	s.Let(s.atomic)
	s.loop = s.Stmt(Loop)
	s.loop.Head, s.loop.Value, s.loop.Step = &Region{}, s.Value(Lt, Basic(Bool), s.Load(s.sum.At()), s.Argument(s.n)), &Region{}
	s.loop.Then = s.In(func() {
		s.cond = s.Stmt(If)
		s.cond.Value = s.Load(s.pair.At().Part(1, nil, nil))
		s.cond.Then = s.In(func() { s.brk = s.Stmt(Break); s.brk.Target = s.loop })
		s.Store(s.sum.At(), s.Value(Add, i32, s.Load(s.sum.At()), s.call))
		s.store = s.region.List[1]
	})
	s.count = s.Stmt(Loop)
	index := s.Value(Counter, num)
	index.Bound = true
	s.count.Count = &Count{Index: index, From: s.Int(num, 0), End: s.Extent(Len, s.x), Op: Lt, By: 1}
	s.count.Then = s.In(func() { s.Store(s.x.At().Part(0, index, nil), s.Int(i32, 2)) })
	s.sw = s.Stmt(Switch)
	s.sw.Clauses = []*Clause{{Tests: []Test{{Cond: s.Const(Basic(Bool), true)}}, Body: &Region{}, Falls: true}, {Body: &Region{}}}
	s.Stmt(Barrier)
	s.p = &Program{Functions: []*Function{s.callee, s.kernel}}
	return s
}

func (s *sample) grid() *Value {
	v := s.Value(InGrid, num)
	v.Which = []int{0}
	return v
}

// value replaces the value that is stored to sum.
func (s *sample) value(op Op, t *Type, args ...*Value) *Value {
	s.store.Value = s.Value(op, t, args...)
	return s.store.Value
}

// table makes a table with n parts of the shared array.
func (s *sample) table(n int) *Local {
	s.part.Space, s.part.Table = Constant, &Table{Name: "part", Type: s.part.Type, Parts: slices.Repeat([]any{int64(1)}, n)}
	return s.part
}

// uncalled takes the call out of the kernel.
func (s *sample) uncalled() {
	s.kernel.Body.List = slices.Delete(s.kernel.Body.List, 1, 2)
	s.store.Value = s.one(i32)
}

func (s *sample) one(t *Type) *Value { return s.Int(t, 1) }

// Each rule of the verifier is broken once.
func TestRules(t *testing.T) {
	require.NoError(t, newSample().p.Verify())
	f32, truth := Basic(F32), Basic(Bool)
	array := &Type{Kind: Array, Elem: i32, Len: 4}
	for _, c := range []struct {
		rule  string
		broke func(s *sample)
	}{
		{"parameter n has number 0", func(s *sample) { s.n.Index = 0 }},
		{"local sum has number 7", func(s *sample) { s.sum.Index = 7 }},
		{"local sum is no value in private or shared memory", func(s *sample) { s.sum.Space = Global }},
		{"local sum is a table in other memory, or none", func(s *sample) { s.sum.Space = Constant }},
		{"table part has other parts than its type", func(s *sample) { s.table(5) }},
		{"a table has no i32 where its type has one", func(s *sample) { s.table(3) }},
		{"store: into a table", func(s *sample) {
			s.uncalled()
			s.store.Place = s.table(4).At().Part(0, s.one(num), nil)
		}},
		{"address: of a table", func(s *sample) { s.table(4) }},
		{"or in private memory", func(s *sample) {
			s.uncalled()
			s.atomic.Place = s.table(4).At().Part(0, s.one(num), nil)
		}},
		{"the value is not marked as bound", func(s *sample) { s.let.Value.Bound = false }},
		{"the value is defined already", func(s *sample) { s.Stmt(Let).Value = s.let.Value }},
		{"used outside of its region, or before it is defined", func(s *sample) { s.kernel.Body.List = s.kernel.Body.List[1:] }},
		{"used outside of its region", func(s *sample) {
			s.count.Then, s.Builder.region = &Region{}, s.kernel.Body
			s.Store(s.x.At().Part(0, s.count.Count.Index, nil), s.one(i32))
		}},
		{"used outside of its region", func(s *sample) {
			v := s.one(num)
			s.cond.Then = s.In(func() { s.Let(v) })
			s.atomic.Place = s.m.At().Part(0, v, s.one(num))
		}},
		{"is used twice", func(s *sample) { v := s.one(i32); s.value(Add, i32, v, v) }},
		{"shares its number", func(s *sample) { s.store.Value.ID = s.let.Value.ID }},
		{"a number that the function does not have", func(s *sample) { s.store.Value.ID = 1000 }},
		{"a value is missing", func(s *sample) { s.store.Value = nil }},
		{"a bool into a place of type i32", func(s *sample) { s.store.Value = s.Const(truth, true) }},
		{"a condition of type i32", func(s *sample) { s.cond.Value = s.one(i32) }},
		{"a condition of type i32", func(s *sample) { s.loop.Value = s.one(i32) }},
		{"a condition of type i32", func(s *sample) { s.sw.Clauses[0].Tests[0].Cond = s.one(i32) }},
		{"the last clause falls through", func(s *sample) { s.sw.Clauses[1].Falls = true }},
		{"2 clauses without tests", func(s *sample) { s.sw.Clauses[0].Tests = nil }},
		{"the target is not around the statement", func(s *sample) { s.brk.Target = s.count }},
		{"the target is no loop", func(s *sample) {
			s.sw.Clauses[1].Body = s.In(func() { s.Stmt(Continue).Target = s.sw })
		}},
		{"0 values for 1 results", func(s *sample) { s.ret.Values = nil }},
		{"a i32 for a result of type bool", func(s *sample) { s.callee.Results[0] = truth }},
		{"statement 77 is unknown", func(s *sample) { s.store.Do = 77 }},
		{"it counts, and has a condition", func(s *sample) { s.count.Value = s.Const(truth, true) }},
		{"its index is no counter of its own", func(s *sample) { s.count.Count.Index = s.let.Value }},
		{"it counts from a i32 to a int", func(s *sample) { s.count.Count.From = s.one(i32) }},
		{"it does not count", func(s *sample) { s.count.Count.By = 0 }},
		{"it does not count", func(s *sample) { s.count.Count.Op = Eq }},
		{"a counter that no loop has", func(s *sample) { s.value(Counter, i32) }},
		{"[]global i32 as an operand", func(s *sample) { s.store.Value = s.Argument(s.x) }},
		{"call: it is not the value of a let", func(s *sample) { s.value(Call, i32).Call = s.callee }},
		{"atomic: it is not the value of a let", func(s *sample) { s.value(Atomic, i32) }},
		{"+: it has no type", func(s *sample) { s.let.Value = s.Value(Add, nil); s.let.Value.Bound = true }},
		{"does not come before its caller", func(s *sample) { s.p.Functions = s.p.Functions[1:] }},
		{"does not come before its caller, or calls itself", func(s *sample) { s.call.Call = s.kernel }},
		{"1 arguments for 2 parameters", func(s *sample) { s.call.Args = s.call.Args[:1] }},
		{"a [][]global i32 for a parameter of type []global i32", func(s *sample) { s.call.Args[1] = s.Argument(s.m) }},
		{"its result is a f32", func(s *sample) { s.call.Type = f32 }},
		{"address: a *shared i32 of a [4]i32", func(s *sample) { s.call.Args[0].Place = s.part.At() }},
		{"address: it is no argument of a call", func(s *sample) { s.value(Address, i32).Place = s.sum.At() }},
		{"a parameter of another function", func(s *sample) { s.store.Value = s.Argument(s.callee.Params[0]); s.store.Value.Type = i32 }},
		{"a local of another function", func(s *sample) { s.store.Place = (&Local{Type: i32}).At() }},
		{"parameter n is a value and no place", func(s *sample) { s.store.Place = s.n.At() }},
		{"an index that is no integer", func(s *sample) { s.store.Place = s.part.At().Part(0, s.one(f32), nil) }},
		{"an index that is no integer", func(s *sample) { s.store.Place = s.m.At().Part(0, s.one(num), s.one(f32)) }},
		{"a row and a column of a [4]i32", func(s *sample) { s.store.Place = s.part.At().Part(0, s.one(num), s.one(num)) }},
		{"no such part of a [4]i32", func(s *sample) { s.store.Place = s.part.At().Part(0, nil, nil) }},
		{"no such field", func(s *sample) { s.store.Place = s.pair.At().Part(2, nil, nil) }},
		{"a place of type i32 that says f32", func(s *sample) { s.store.Place = &Place{Local: s.sum, Type: f32} }},
		{"a place is missing", func(s *sample) { s.store.Place = nil }},
		{"operands, and it takes 0", func(s *sample) { s.value(Const, i32, s.one(i32)) }},
		{"const: 1 (int) is no i32", func(s *sample) { s.value(Const, i32).Const = 1 }},
		{"const: 2147483648 (int64) is no i32", func(s *sample) { s.store.Value = s.Int(i32, 1<<31) }},
		{"argument: n is a i32", func(s *sample) { s.value(Argument, f32).Param = s.n }},
		{"len of a [][]global i32", func(s *sample) { s.count.Count.End.Param = s.m }},
		{"no such dimension", func(s *sample) { s.let.Value.Which[0] = 3 }},
		{"-: a i32 of a f32", func(s *sample) { s.value(Neg, i32, s.one(f32)) }},
		{"convert: a i32 of a i32", func(s *sample) { s.value(Convert, i32, s.one(i32)) }},
		{"round: a i32 of a i32", func(s *sample) { s.value(Round, i32, s.one(i32)) }},
		{"<<: a i32 of a i32 and a f32", func(s *sample) { s.value(Shl, i32, s.one(i32), s.one(f32)) }},
		{"complex: a i32", func(s *sample) { s.value(Complex, i32, s.one(f32), s.one(f32)) }},
		{"+: a i32 of a i32 and a f32", func(s *sample) { s.value(Add, i32, s.one(i32), s.one(f32)) }},
		{"&: a f32 of a f32 and a f32", func(s *sample) { s.value(And, f32, s.one(f32), s.one(f32)) }},
		{"+: 1 operands, and it takes 2", func(s *sample) { s.value(Add, i32, s.one(i32)) }},
		{"<: a bool of a bool and a bool", func(s *sample) { s.cond.Value = s.Value(Lt, truth, s.Zero(truth), s.Zero(truth)) }},
		{"&&: a bool of a i32", func(s *sample) { s.cond.Value = s.Value(Both, truth, s.one(i32), s.Zero(truth)) }},
		{"there is no function math.Gamma", func(s *sample) { s.value(Go, i32).Of = "math.Gamma" }},
		{"math.Sqrt with 0 operands", func(s *sample) { s.value(Go, Basic(F64)).Of = "math.Sqrt" }},
		{"a f32 for a parameter of math.Sqrt", func(s *sample) { s.value(Go, Basic(F64), s.one(f32)).Of = "math.Sqrt" }},
		{"composite: of type i32", func(s *sample) { s.value(Composite, i32) }},
		{"1 operands for 0 parts", func(s *sample) { s.value(Composite, array, s.one(i32)) }},
		{"has no part 4", func(s *sample) { s.value(Composite, array, s.one(i32)).Which = []int{4} }},
		{"a f32 for a part of type i32", func(s *sample) { s.value(Composite, array, s.one(f32)).Which = []int{0} }},
		{"without an index", func(s *sample) { s.value(Extract, i32, s.Zero(array)).Which = []int{0} }},
		{"has no such field of type f32", func(s *sample) { s.value(Extract, f32, s.Zero(s.pair.Type)).Which = []int{0} }},
		{"load: a f32 of a place of another type", func(s *sample) { s.value(Load, f32).Place = s.sum.At() }},
		{"or in private memory", func(s *sample) { s.atomic.Place = s.sum.At() }},
		{"atomic: Add with 2 operands", func(s *sample) { s.atomic.Args = append(s.atomic.Args, s.one(i32)) }},
		{"atomic: a f32 into a i32", func(s *sample) { s.atomic.Args[0] = s.one(f32) }},
		{"operation 99 is unknown", func(s *sample) { s.value(99, i32) }},
	} {
		s := newSample()
		c.broke(s)
		assert.ErrorContains(t, s.p.Verify(), c.rule)
	}
}

// The text of the sample, with each kind of statement.
func TestText(t *testing.T) {
	assert.Equal(t, `func add(p *shared i32, x []global i32) (i32) {
	return *p
}

kernel k(x []global i32, m [][]global i32, n i32) {
	var sum i32
	shared part [4]i32
	var pair struct{a i32; b bool}
	v_1 int := Global(0)
	v_2 i32 := add(&part[v_1], x)
	v_3 i32 := atomicAdd(&m[v_1, 0], 1:i32)
	v_4: for {
		while (sum < n) {
			if pair.b {
				break v_4
			}
			sum = (sum + v_2)
		}
	}
	v_5: for v_6 int := 0; v_6 < len(x); v_6 += 1 {
		x[v_6] = 2:i32
	}
	v_7: switch {
	case true:
		fallthrough
	default:
	}
	barrier
}
`, newSample().p.String())
}
