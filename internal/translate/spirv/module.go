package spirv

import (
	"fmt"
	"slices"

	isa "github.com/go-halyard/halyard/internal/spirv"
	"github.com/go-halyard/halyard/internal/spirv/build"
	"github.com/go-halyard/halyard/internal/translate/facts"
	"github.com/go-halyard/halyard/internal/translate/ir"
)

// Reports is what a module reports.
type Reports int

// The modules of a kernel.
const (
	Nothing Reports = iota
	Rounds          // whether the device has ended a loop
	Bounds          // that, and indexes out of range
)

// Options are what a module is made with.
type Options struct {
	Entry   string      // the name of the entry point
	Lacking *ir.Program // the functions that Vulkan lacks, by their names in Go
	Reports Reports
	Loops   bool     // the kernel has loops that a device may end
	Sites   []string // the lines of indexes that are checked, as file:line
}

// emitter makes one module.
type emitter struct {
	Options
	program   *ir.Program
	m         *build.Module
	effects   map[*ir.Function]*facts.Effects
	types     map[string]isa.ID // structures, arrays and blocks, by what they are for
	entry     isa.ID            // the kernel
	functions map[*ir.Function]isa.ID
	wanted    []wanted          // functions that are not printed yet
	helpers   map[string]isa.ID // functions that the printer adds
	inputs    map[uint32]isa.ID // what the device provides
	threads   [3]isa.ID         // of a block; a launch chooses them
	rounding  isa.ID            // a constant that a launch chooses: whether the device rounds quotients and roots of float32 correctly
	uses      []isa.ID          // variables outside functions
	words     bool              // floats in memory that a block shares are kept as integers, because there are atomic operations on them
	coherent  bool              // threads meet at barriers
	arguments arguments
	kept      map[*ir.Function]*stays
}

// arguments are the kernel's arguments: members of the block of push constants, or of memory whose address is there.
type arguments struct {
	base    isa.ID
	storage uint32
	list    *ir.Type
	pointer isa.ID // the type of pointers to the list, if it is in memory
}

// Module returns the module of a kernel.
func Module(p *ir.Program, kernel *ir.Function, o Options) *build.Module {
	e := &emitter{Options: o, program: p, m: build.New(), effects: map[*ir.Function]*facts.Effects{}, types: map[string]isa.ID{},
		functions: map[*ir.Function]isa.ID{}, helpers: map[string]isa.ID{}, inputs: map[uint32]isa.ID{}, kept: map[*ir.Function]*stays{}}
	for _, f := range p.Functions {
		e.effects[f] = facts.EffectsOf(f, e.effects)
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

// sharesFloats reports whether a function, or one that it calls, has atomic operations on floats in shared memory.
func sharesFloats(f *ir.Function) (found bool) {
	f.Body.Visit(nil, func(v *ir.Value) {
		found = found || v.Op == ir.Atomic && v.Place.Space() == ir.Shared && v.Type.Float() || v.Op == ir.Call && sharesFloats(v.Call)
	})
	return found
}

// global returns a new variable outside functions.
func (e *emitter) global(storage uint32, typ isa.ID) isa.ID {
	id := e.m.Global(isa.OpVariable, e.m.Pointer(storage, typ), storage)
	e.uses = append(e.uses, id)
	return id
}

// input returns a variable of three numbers that the device provides.
func (e *emitter) input(builtin uint32) isa.ID {
	if e.inputs[builtin] == 0 {
		id := e.global(build.Input, e.m.Type(isa.OpTypeVector, e.m.Int(32), 3))
		e.m.Decorate(id, isa.BuiltIn, builtin)
		e.inputs[builtin] = id
	}
	return e.inputs[builtin]
}

// A function of the module is printed in layers. Each knows those before it.
type (
	// code has the instructions of the function.
	code struct {
		*emitter
		c      *build.Code
		early  map[string]isa.ID // what is computed where the function begins
		driver bool              // quotients and roots of float32 are the driver's
	}

	// flow has conditions and loops.
	flow struct {
		*code
		constructs []*construct
	}

	// memory has places, and what is in them.
	memory struct{ *flow }

	// numbers has operations on values that are printed already.
	numbers struct{ *memory }

	// values prints values of Go.
	values struct {
		*numbers
		frame *frame // of the innermost function of Go that is printed
	}

	// function prints statements of Go.
	function struct {
		*values
		looped bool // a loop or a call has been printed
	}
)

func (e *emitter) numbers(c *build.Code) *numbers {
	return &numbers{&memory{&flow{code: &code{emitter: e, c: c, early: map[string]isa.ID{}}}}}
}

// frame is one function of Go that is printed: as a function of the module, or where it is called.
type frame struct {
	f       *ir.Function
	values  []isa.ID   // of bound values, by their IDs
	tuples  [][]isa.ID // the same for the results of calls that have several
	kept    []*place   // bound values that are also in a variable, because their elements are read by an index
	locals  []*place
	params  []param
	inlined bool       // it is printed where it is called
	around  *construct // left by a return where the function is called, unless the only return is the last statement
	at      []*place   // where such a return puts the results
	results []isa.ID   // those of the only return
}

// param is the argument of a parameter.
type param struct {
	value     isa.ID
	read      func() isa.ID // returns the value of a kernel's argument
	place     *place        // what it refers to, or the variable that has a value
	rows, col isa.ID        // the length of a slice; the rows and columns of a matrix
}

func (e *emitter) function(f *ir.Function, c *build.Code) *function {
	return &function{values: &values{e.numbers(c), newFrame(f)}}
}

func newFrame(f *ir.Function) *frame {
	n := f.NumValues()
	return &frame{f: f, values: make([]isa.ID, n), tuples: make([][]isa.ID, n), kept: make([]*place, n), locals: make([]*place, len(f.Locals))}
}

// once returns what is computed where the function begins, for each key once.
func (f *code) once(key string, compute func() isa.ID) isa.ID {
	id, ok := f.early[key]
	if !ok {
		id = compute()
		f.early[key] = id
	}
	return id
}

// mostPushed is how many bytes of arguments every device takes as push constants. Longer lists are passed in memory, as backends/vulkan describes.
const mostPushed = 128

// kernel prints the kernel. Its arguments are members of the block of push constants; pointers are addresses.
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
	f := e.function(shared, code)
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
		list.Fields = append(list.Fields, ir.Field{Type: t})
		return len(list.Fields) - 1
	}
	number := ir.Basic(ir.Int)
	first := make([]int, len(k.Params))
	for i, p := range k.Params {
		if !p.Type.Memory() {
			first[i] = add(p.Type)
			continue
		}
		first[i] = add(address)
		add(number)
		if p.Type.Kind == ir.Matrix {
			add(number)
		}
	}
	if f.Reports != Nothing {
		add(address)
	}
	f.arguments.list = list
	if len(list.Fields) > 0 {
		f.block()
	}
	for i, p := range k.Params {
		made := param{}
		if p.Type.Memory() {
			made.place = f.buffer(p, first[i])
			made.rows = f.argument(first[i] + 1)
			if p.Type.Kind == ir.Matrix {
				made.col = f.argument(first[i] + 2)
			}
		} else {
			made.read = func() isa.ID { return f.argument(first[i]) }
			if f.stays(k).params[p] {
				made.place = f.variable(p.Type)
				f.store(made.place, f.argument(first[i]))
			}
		}
		f.frame.params = append(f.frame.params, made)
	}
}

// block declares the block of push constants.
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

// argument returns an argument of the kernel, which may be an address.
func (f *memory) argument(i int) isa.ID {
	return f.once(fmt.Sprint("argument ", i), func() isa.ID {
		a, t := &f.arguments, f.arguments.list.Fields[i].Type
		base := a.base
		if a.storage == isa.PhysicalStorage {
			base = f.once("arguments", func() isa.ID {
				at := f.c.Early(isa.OpAccessChain, f.m.Pointer(isa.PushConstant, a.pointer), base, f.m.Const(32, 0))
				return f.c.Early(isa.OpLoad, a.pointer, at)
			})
		}
		typ := f.layout(t, a.storage)
		at := f.c.Early(isa.OpAccessChain, f.m.Pointer(a.storage, typ), base, f.m.Const(32, uint64(i)))
		id := f.c.Early(isa.OpLoad, typ, slices.Concat([]uint32{at}, aligned(t, a.storage))...)
		return f.widened(id, t, a.storage, f.c.Early)
	})
}

// buffer returns the place of a slice's or matrix's elements.
func (f *function) buffer(p *ir.Param, i int) *place {
	block := f.m.Pointer(isa.PhysicalStorage, f.elements(p.Type.Elem, f.coherent && f.effects[f.frame.f].Params[p.Index].Written))
	at := f.once(fmt.Sprint("buffer ", i), func() isa.ID { return f.c.Early(build.OpBitcast, block, f.argument(i)) })
	return &place{typ: p.Type.Elem, storage: isa.PhysicalStorage, base: at, list: true}
}

// inGrid returns the thread's place in the grid.
func (f *numbers) inGrid(op ir.Op, d int) isa.ID {
	u32, u64 := f.m.Int(32), f.m.Int(64)
	return f.once(fmt.Sprint(op, d), func() isa.ID {
		three := func(builtin uint32) isa.ID {
			all := f.once(fmt.Sprint("input ", builtin), func() isa.ID {
				return f.c.Early(isa.OpLoad, f.m.Type(isa.OpTypeVector, u32, 3), f.input(builtin))
			})
			return f.c.Early(build.OpUConvert, u64, f.c.Early(build.OpCompositeExtract, u32, all, uint32(d)))
		}
		switch op {
		case ir.InGrid:
			first := f.c.Early(build.OpIMul, u64, f.inGrid(ir.BlockOf, d), f.inGrid(ir.Threads, d))
			return f.c.Early(isa.OpIAdd, u64, first, f.inGrid(ir.InBlock, d))
		case ir.InBlock:
			return three(build.LocalInvocationID)
		case ir.BlockOf:
			return three(isa.WorkgroupID)
		case ir.Threads:
			return f.c.Early(build.OpUConvert, u64, f.threads[d])
		}
		return three(isa.NumWorkgroups)
	})
}
