package spirv

import (
	isa "github.com/go-halyard/halyard/internal/spirv"
	"github.com/go-halyard/halyard/internal/spirv/build"
	"github.com/go-halyard/halyard/internal/translate/ir"
)

// call prints a call, and returns its results.
func (f *function) call(v *ir.Value) []isa.ID {
	f.looped = true
	for _, p := range v.Call.Params {
		if p.Type.Memory() {
			return f.writtenOut(v)
		}
	}
	return f.results(v.Call, f.want(v.Call, f.driver), f.exprs(v.Args))
}

// results calls a function of the module.
func (f *numbers) results(g *ir.Function, id isa.ID, args []isa.ID) []isa.ID {
	result := g.Result()
	all := f.c.Op(isa.OpFunctionCall, f.emitter.value(result), append([]isa.ID{id}, args...)...)
	if result == nil || result.Kind != ir.Tuple {
		return []isa.ID{all}
	}
	var each []isa.ID
	for i, r := range result.Fields {
		each = append(each, f.c.Op(build.OpCompositeExtract, f.emitter.value(r.Type), all, uint32(i)))
	}
	return each
}

// wanted is a function that the module calls, and that is printed later.
type wanted struct {
	f      *ir.Function
	code   *build.Code
	given  []isa.ID // its parameters
	driver bool     // it is one of package vulkan
}

// want returns a function without parameters that refer to memory, which a module has once.
func (e *emitter) want(g *ir.Function, driver bool) isa.ID {
	if e.functions[g] == 0 {
		var types []isa.ID
		for _, p := range g.Params {
			types = append(types, e.value(p.Type))
		}
		code, given := e.m.Function(e.value(g.Result()), types...)
		e.functions[g] = code.ID
		e.wanted = append(e.wanted, wanted{g, code, given, driver})
	}
	return e.functions[g]
}

// print prints such a function.
func (e *emitter) print(w wanted) {
	in := e.function(w.f, w.code)
	in.driver = w.driver
	for i, p := range w.f.Params {
		in.frame.params = append(in.frame.params, param{value: w.given[i], place: in.keptParam(p, w.given[i])})
	}
	in.region(w.f.Body)
	if len(w.f.Results) == 0 {
		w.code.Do(build.OpReturn)
	} else {
		w.code.Do(build.OpUnreachable)
	}
	w.code.End()
	e.m.Name(w.code.ID, w.f.Name)
}

// keptParam returns a variable with the value of a parameter whose elements are read by an index, or nil.
func (f *function) keptParam(p *ir.Param, value isa.ID) *place {
	if !f.stays(f.frame.f).params[p] {
		return nil
	}
	at := f.variable(p.Type)
	f.store(at, value)
	return at
}

// writtenOut prints the statements of a function where it is called.
func (f *function) writtenOut(v *ir.Value) []isa.ID {
	g := v.Call
	in := newFrame(g)
	in.inlined = true
	for _, a := range v.Args {
		switch {
		case a.Op == ir.Address:
			in.params = append(in.params, param{place: f.at(a.Place, f.indexes(a.Place))})
		case a.Type.Memory():
			in.params = append(in.params, f.frame.params[a.Param.Index])
		default:
			in.params = append(in.params, param{value: f.expr(a)})
		}
	}
	from := f.frame
	f.frame = in
	defer func() { f.frame = from }()
	for i, p := range g.Params {
		if !p.Type.Memory() {
			in.params[i].place = f.keptParam(p, in.params[i].value)
		}
	}
	returns := 0
	g.Body.Visit(func(s *ir.Stmt) {
		if s.Do == ir.Return {
			returns++
		}
	}, nil)
	last := len(g.Body.List) - 1
	if returns == 0 || returns == 1 && g.Body.List[last].Do == ir.Return {
		f.region(g.Body)
		return in.results
	}
	for _, t := range g.Results {
		in.at = append(in.at, f.variable(t))
	}
	in.around = &construct{}
	f.within(in.around, func() { f.region(g.Body) })
	for _, at := range in.at {
		in.results = append(in.results, f.load(at))
	}
	return in.results
}

// helper calls a function that the printer adds. A module has it once.
func (f *numbers) helper(name string, result isa.ID, params []isa.ID, body func(g *numbers, args []isa.ID), args ...isa.ID) isa.ID {
	if f.helpers[name] == 0 {
		code, given := f.m.Function(result, params...)
		f.helpers[name] = code.ID
		body(f.emitter.numbers(code), given)
		code.End()
	}
	return f.c.Op(isa.OpFunctionCall, result, append([]isa.ID{f.helpers[name]}, args...)...)
}

// returns ends the function, or what is printed of one where it is called.
func (f *function) returns(s *ir.Stmt) {
	in := f.frame
	results := f.exprs(s.Values)
	switch {
	case in.around != nil:
		for i, at := range in.at {
			f.store(at, results[i])
		}
		f.leave(in.around, false)
	case in.inlined:
		in.results = results
	case len(results) == 0:
		f.end()
	case len(results) == 1:
		f.c.Do(build.OpReturnValue, results[0])
	default:
		f.c.Do(build.OpReturnValue, f.c.Op(isa.OpCompositeConstruct, f.emitter.value(in.f.Result()), results...))
	}
}

// end ends a function without results.
func (f *function) end() {
	if f.frame.f.Kernel && f.Loops && f.looped && f.Reports != Nothing {
		f.askRounds()
	}
	f.c.Do(build.OpReturn)
}

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
	was := f.atomically(0, op, bits, at, args...)
	if t.Float() {
		return f.unknown(t, f.c.Op(build.OpBitcast, f.emitter.value(t), was))
	}
	return was
}

// atomically prints an atomic operation on an integer, with a result that has a number already, or with a new one for 0.
func (f *numbers) atomically(id isa.ID, op isa.Op, t *ir.Type, at isa.ID, args ...isa.ID) isa.ID {
	const device, relaxed = 1, 0
	list := []uint32{at, f.m.Const(32, device), f.m.Const(32, relaxed)}
	if op == build.OpAtomicCompareExchange {
		list = append(list, f.m.Const(32, relaxed), args[1], args[0])
	} else {
		list = append(list, args[0])
	}
	typ := f.emitter.value(t)
	if id == 0 {
		id = f.m.ID()
	}
	f.c.As(op, typ, id, list...)
	return id
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
	f.atomically(next, build.OpAtomicCompareExchange, bits, at, was, made)
	same := f.c.Op(build.OpIEqual, f.m.Bool(), next, was)
	f.next(l)
	l.reached = true
	f.c.Do(build.OpBranchConditional, same, l.merge, l.header)
	f.after(l)
	return f.unknown(t, f.c.Op(build.OpBitcast, f.emitter.value(t), next))
}
