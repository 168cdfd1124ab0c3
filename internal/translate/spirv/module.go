package spirv

import (
	"fmt"

	isa "github.com/go-halyard/halyard/internal/spirv"
	"github.com/go-halyard/halyard/internal/spirv/build"
	"github.com/go-halyard/halyard/internal/translate/facts"
	"github.com/go-halyard/halyard/internal/translate/ir"
)

// Module returns the module of a kernel. It needs no integers of 64 bits if all of the kernel's are narrow, so devices without them can run it.
func Module(p *ir.Program, kernel *ir.Function, o Options) *build.Module {
	if o.Narrow != nil && o.Reports != Bounds {
		if m := printed(p, kernel, o, true); !m.Needs(build.Int64) {
			return m
		}
	}
	return printed(p, kernel, o, false)
}

// printed prints the module of a kernel. If halved is set, arguments of 64 bits are passed as halves.
func printed(p *ir.Program, kernel *ir.Function, o Options, halved bool) *build.Module {
	e := &emitter{Options: o, program: p, m: build.New(), effects: map[*ir.Function]*facts.Effects{}, types: map[string]isa.ID{},
		functions: map[*ir.Function]isa.ID{}, helpers: map[string]isa.ID{}, tables: map[*ir.Table]isa.ID{}, inputs: map[uint32]isa.ID{}, kept: map[*ir.Function]*stays{}, halved: halved, addressed: map[*ir.Type]isa.ID{}}
	for _, f := range p.Functions {
		e.effects[f] = facts.EffectsOf(f, e.effects)
	}
	if o.Reports != Bounds {
		e.narrow = o.Narrow
	}
	e.coherent = e.effects[kernel].Barriers || e.effects[kernel].Shared
	e.words = sharesFloats(kernel)
	e.kernel(kernel)
	for len(e.wanted) > 0 {
		w := e.wanted[0]
		e.wanted = e.wanted[1:]
		e.print(w)
	}
	e.m.Entry(e.Entry, e.entry, e.uses...)
	return e.m
}

// sharesFloats reports whether a function, or a function that it calls, has atomic operations on floats in shared memory.
func sharesFloats(f *ir.Function) (found bool) {
	f.Body.Visit(nil, func(v *ir.Value) {
		found = found || v.Op == ir.Atomic && v.Place.Space() == ir.Shared && v.Type.Float() || v.Op == ir.Call && sharesFloats(v.Call)
	})
	return found
}

func (e *emitter) begin(f *ir.Function, c *build.Code) *function {
	return &function{values: &values{e.numbers(c), newFrame(f)}}
}

// mostPushed is how many bytes of push constants every device takes. Longer lists of arguments are passed in memory, as backends/vulkan describes.
const mostPushed = 128

// kernel prints the kernel. For where its arguments are, see the type arguments. Pointers are passed as addresses.
func (e *emitter) kernel(k *ir.Function) {
	for d := range e.threads {
		e.threads[d] = e.m.Global(build.OpSpecConstant, e.m.Int(32), 1)
		e.m.Decorate(e.threads[d], isa.SpecID, uint32(d))
	}
	size := e.m.Global(build.OpSpecConstantComposite, e.m.Type(isa.OpTypeVector, e.m.Int(32), 3), e.threads[:]...)
	e.m.Decorate(size, isa.BuiltIn, build.WorkgroupSize)

	code, _ := e.m.Function(e.m.Type(build.OpTypeVoid))
	shared := share(k)
	e.effects[shared] = e.effects[k]
	f := e.begin(shared, code)
	f.parameters(shared)
	f.region(shared.Body)
	f.end()
	f.c.End()
	e.m.Name(code.ID, e.Entry)
	e.entry = code.ID
}

// parameters declares the kernel's parameters.
func (f *function) parameters(k *ir.Function) {
	list := &ir.Type{Kind: ir.Struct}
	add := func(t *ir.Type) int {
		if f.halved && t.Integer() && t.Bits() == 64 {
			t = halves
		}
		list.Fields = append(list.Fields, ir.Field{Type: t})
		return len(list.Fields) - 1
	}
	first := make([]int, len(k.Params))
	for i, p := range k.Params {
		if !p.Type.Memory() {
			first[i] = add(p.Type)
			continue
		}
		first[i] = add(f.addressOf(p.Type.Elem, f.coherentBuffer(p)))
		add(ir.Basic(ir.Int))
		if p.Type.Kind == ir.Matrix {
			add(ir.Basic(ir.Int))
		}
	}
	if f.Reports != Nothing {
		add(f.addressOf(ir.Basic(ir.U32), f.coherent))
	}
	f.arguments.list = list
	if len(list.Fields) > 0 {
		f.block()
	}
	for i, p := range k.Params {
		made := param{}
		if p.Type.Memory() {
			made.place = f.buffer(p.Type.Elem, f.coherentBuffer(p), first[i])
			made.rows, made.col = first[i]+1, first[i]+2
		} else {
			made.first = first[i] + 1
			if f.stays(k).params[p] {
				made.place = f.variable(p.Type)
				f.store(made.place, f.argument(first[i]))
			}
		}
		f.frame.params = append(f.frame.params, made)
	}
}

// block declares the block of push constants, and the list of arguments in memory if that is needed.
func (f *function) block() {
	a := &f.arguments
	a.storage = isa.PushConstant
	if offset(a.list, len(a.list.Fields)) > mostPushed {
		a.storage = isa.PhysicalStorage
	}
	args := f.layout(a.list, a.storage)
	block := args
	if a.storage == isa.PhysicalStorage {
		f.m.Name(args, "halyard.arguments")
		f.m.Decorate(args, build.Block)
		for i := range a.list.Fields {
			f.m.DecorateMember(args, i, build.NonWritable)
		}
		a.pointer = f.m.Pointer(a.storage, args)
		block = f.m.Global(isa.OpTypeStruct, 0, a.pointer)
		f.m.DecorateMember(block, 0, isa.Offset, 0)
	}
	f.m.Decorate(block, build.Block)
	a.base = f.global(isa.PushConstant, block)
}

// coherentBuffer reports whether threads that meet at a barrier see what others have written to a parameter's memory.
func (f *function) coherentBuffer(p *ir.Param) bool {
	return f.coherent && f.effects[f.frame.f].Params[p.Index].Written
}

// addressOf returns the type of the argument that is the address of elements. SwiftShader, which has no integers of 64 bits, does not convert
// pointers: there the argument is a pointer to such elements, if push constants may have them.
func (f *function) addressOf(elem *ir.Type, coherent bool) *ir.Type {
	if !f.halved || elem.Has(func(t *ir.Type) bool { return t.Kind == ir.Bool || t.Number() && t.Bits() < 32 }) {
		return address
	}
	t := &ir.Type{Kind: ir.Pointer}
	f.addressed[t] = f.m.Pointer(isa.PhysicalStorage, f.elements(elem, coherent))
	return t
}

// buffer returns the place of the elements whose address is argument i.
func (f *memory) buffer(elem *ir.Type, coherent bool, i int) *place {
	at := f.argument(i)
	if f.addressed[f.arguments.list.Fields[i].Type] == 0 {
		block := f.m.Pointer(isa.PhysicalStorage, f.elements(elem, coherent))
		at = f.once(fmt.Sprint("buffer ", i), func() isa.ID { return f.c.Early(build.OpBitcast, block, f.argument(i)) })
	}
	return &place{typ: elem, storage: isa.PhysicalStorage, base: at, list: true}
}

// print prints a function that emitter.want has given an ID.
func (e *emitter) print(w wanted) {
	in := e.begin(w.f, w.body)
	in.driver = w.driver
	for i, p := range w.f.Params {
		in.frame.params = append(in.frame.params, param{value: w.given[i], place: in.keptParam(p, w.given[i])})
	}
	in.region(w.f.Body)
	if len(w.f.Results) == 0 {
		w.body.Do(build.OpReturn)
	} else {
		w.body.Do(build.OpUnreachable)
	}
	w.body.End()
	e.m.Name(w.body.ID, w.f.Name)
}
