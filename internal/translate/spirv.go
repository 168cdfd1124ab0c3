package translate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-halyard/halyard/internal/spirv"
	"github.com/go-halyard/halyard/internal/spirv/build"
)

// This file and those beside it make modules of SPIR-V from the C text of a translation. The text has each decision about Go's meaning
// already: these files only say the same for Vulkan, so a kernel gives the same bits there. Each kernel is a module of its own, so one
// that needs float64 does not keep others from a device without it.
//
//   - spirv_parse.go reads the text.
//   - spirv.go begins a module, and has its types and the kernel's parameters.
//   - spirv_statement.go writes statements. Blocks are structured. A goto of the text, which leaves several loops at once, becomes a
//     flag that each of them looks at.
//   - spirv_expression.go writes expressions, and spirv_call.go calls. There are no pointers but addresses of buffers: a function with a
//     pointer parameter is written out where it is called.
//
// Numbers of 8 and 16 bits are computed with as numbers of 32 bits, as in C, and need a device's support for them only in memory.

// mostPushed is how many bytes of arguments every device takes as push constants. Longer lists are passed in memory, as backends/vulkan
// describes.
const mostPushed = 128

// emitter makes one module.
type emitter struct {
	p         *cProgram
	m         *build.Module
	plain     map[*cType]spirv.ID // structures in variables
	laid      map[string]spirv.ID // structures, arrays and blocks in buffers
	functions map[string]spirv.ID
	inputs    map[uint32]spirv.ID // what the device provides
	threads   [3]spirv.ID         // of a block; a launch chooses them
	rounds    spirv.ID            // a constant that a launch chooses: whether the device rounds quotients and roots of float32 correctly
	uses      []spirv.ID          // variables outside functions
	words     bool                // floats in memory that a block shares are kept as integers, because there are atomic operations on them
}

// spirvOf writes the module of a kernel.
func (p *cProgram) spirvOf(kernel string) (e *emitter, err error) {
	e = &emitter{p: p, m: build.New(), plain: map[*cType]spirv.ID{}, laid: map[string]spirv.ID{}, functions: map[string]spirv.ID{},
		inputs: map[uint32]spirv.ID{}}
	defer func() {
		if r := recover(); r != nil {
			bad, ok := r.(cError)
			if !ok {
				panic(r)
			}
			err = bad
		}
	}()
	for i, t := range p.tokens {
		e.words = e.words || t == "GO_LOCAL" && i > 0 && p.tokens[i-1] == "(" && p.tokens[i+2] == "*" && p.tokens[i+3] == ")"
	}
	e.kernel(p.functions[kernel])
	return e, nil
}

// value returns the type of values of a type. Integers have at least 32 bits.
func (e *emitter) value(t *cType) spirv.ID {
	switch t.kind {
	case cVoid:
		return e.m.Type(build.OpTypeVoid)
	case cTruth:
		return e.m.Bool()
	case cInt:
		return e.m.Int(max(t.bits, 32))
	}
	return e.part(t)
}

// part returns the type of parts of structures and arrays in variables.
func (e *emitter) part(t *cType) spirv.ID {
	switch t.kind {
	case cInt:
		switch t.bits {
		case 8:
			e.m.Need(build.Int8)
		case 16:
			e.m.Need(build.Int16)
		}
		return e.m.Int(t.bits)
	case cFloat:
		return e.m.Float(t.bits)
	case cArray:
		return e.m.Type(spirv.OpTypeArray, e.part(t.elem), e.m.Const(32, uint64(t.n)))
	case cStruct:
		if e.plain[t] == 0 {
			var members []spirv.ID
			for _, f := range t.fields {
				members = append(members, e.part(f.typ))
			}
			e.plain[t] = e.m.Global(spirv.OpTypeStruct, 0, members...)
		}
		return e.plain[t]
	}
	cFail("a %s cannot be a variable", t.name)
	return 0
}

// shared returns the type of memory that a block shares.
func (e *emitter) shared(t *cType) spirv.ID {
	switch {
	case !e.words || !t.hasFloat():
		return e.part(t)
	case t.kind == cFloat:
		return e.m.Int(t.bits)
	case t.kind == cArray:
		return e.m.Type(spirv.OpTypeArray, e.shared(t.elem), e.m.Const(32, uint64(t.n)))
	}
	key := "shared " + t.name
	if e.laid[key] == 0 {
		var members []spirv.ID
		for _, f := range t.fields {
			members = append(members, e.shared(f.typ))
		}
		e.laid[key] = e.m.Global(spirv.OpTypeStruct, 0, members...)
	}
	return e.laid[key]
}

func (t *cType) hasFloat() bool {
	return t.kind == cFloat || t.kind == cArray && t.elem.hasFloat() ||
		slices.ContainsFunc(t.fields, func(f cField) bool { return f.typ.hasFloat() })
}

// layout returns the type of what is in a buffer or among the push constants, with Go's layout.
func (e *emitter) layout(t *cType, storage uint32) spirv.ID {
	switch t.kind {
	case cInt:
		if need, ok := map[[2]int]uint32{{8, spirv.PhysicalStorage}: build.Storage8, {16, spirv.PhysicalStorage}: build.Storage16,
			{8, spirv.PushConstant}: build.Push8, {16, spirv.PushConstant}: build.Push16}[[2]int{t.bits, int(storage)}]; ok {
			e.m.Need(need)
		}
		return e.part(t)
	case cFloat:
		return e.m.Float(t.bits)
	case cPointer: // to anything: spirv-val takes what it points to for push constants too
		return e.m.Pointer(spirv.PhysicalStorage, e.m.Int(32))
	}
	key := fmt.Sprintf("%s %d", t.name, storage)
	if t.kind == cArray {
		key = fmt.Sprintf("[%d]%s %d", t.n, t.elem.name, storage)
	}
	if e.laid[key] != 0 {
		return e.laid[key]
	}
	if t.kind == cArray {
		id := e.m.Global(spirv.OpTypeArray, 0, e.layout(t.elem, storage), e.m.Const(32, uint64(t.n)))
		e.m.Decorate(id, spirv.ArrayStride, uint32(t.elem.size()))
		e.laid[key] = id
		return id
	}
	var members []spirv.ID
	for _, f := range t.fields {
		members = append(members, e.layout(f.typ, storage))
	}
	id := e.m.Global(spirv.OpTypeStruct, 0, members...)
	for i := range t.fields {
		e.m.DecorateMember(id, i, spirv.Offset, uint32(t.offset(i)))
	}
	e.laid[key] = id
	return id
}

// block returns the type of a buffer of elements. Where threads meet at barriers, what one writes before is seen by the others behind.
func (e *emitter) block(pointer *cType) spirv.ID {
	elem, coherent := pointer.elem, !pointer.only && slices.Contains(e.p.tokens, "BARRIER")
	key := fmt.Sprint("block ", elem.name, coherent)
	if e.laid[key] == 0 {
		list := e.m.Global(build.OpTypeRuntimeArray, 0, e.layout(elem, spirv.PhysicalStorage))
		e.m.Decorate(list, spirv.ArrayStride, uint32(elem.size()))
		id := e.m.Global(spirv.OpTypeStruct, 0, list)
		e.m.Decorate(id, build.Block)
		e.m.DecorateMember(id, 0, spirv.Offset, 0)
		if coherent {
			e.m.DecorateMember(id, 0, build.Coherent)
		}
		e.laid[key] = id
	}
	return e.laid[key]
}

// input returns a variable of three numbers that the device provides.
func (e *emitter) input(builtin uint32) spirv.ID {
	if e.inputs[builtin] == 0 {
		id := e.global(build.Input, e.m.Type(spirv.OpTypeVector, e.m.Int(32), 3))
		e.m.Decorate(id, spirv.BuiltIn, builtin)
		e.inputs[builtin] = id
	}
	return e.inputs[builtin]
}

// global returns a new variable outside functions.
func (e *emitter) global(storage uint32, typ spirv.ID) spirv.ID {
	id := e.m.Global(spirv.OpVariable, e.m.Pointer(storage, typ), storage)
	e.uses = append(e.uses, id)
	return id
}

// kernel writes the kernel. Its arguments are members of the block of push constants; pointers are addresses.
func (e *emitter) kernel(def *cFunction) {
	for d := range e.threads {
		e.threads[d] = e.m.Global(build.OpSpecConstant, e.m.Int(32), 1)
		e.m.Decorate(e.threads[d], spirv.SpecID, uint32(d))
	}
	size := e.m.Global(build.OpSpecConstantComposite, e.m.Type(spirv.OpTypeVector, e.m.Int(32), 3), e.threads[:]...)
	e.m.Decorate(size, spirv.BuiltIn, build.WorkgroupSize)

	code, _ := e.m.Function(e.value(cNothing))
	f := &spirvFunction{emitter: e, c: code, result: cNothing}
	f.enterScope()
	if len(def.params) > 0 {
		f.parameters(def)
	}
	f.statement(def.body)
	f.c.Do(build.OpReturn)
	f.c.End()
	e.m.Name(code.ID, def.name)
	e.m.Entry(def.name, code.ID, e.uses...)
}

// parameters declares the kernel's parameters.
func (f *spirvFunction) parameters(def *cFunction) {
	list := &cType{kind: cStruct, name: "arguments of " + def.name, fields: def.params}
	storage := uint32(spirv.PushConstant)
	if list.size() > mostPushed {
		storage = spirv.PhysicalStorage
	}
	args := f.layout(list, storage)
	block := args
	if storage == spirv.PhysicalStorage {
		f.m.Name(args, "halyard.arguments")
		f.m.Decorate(args, build.Block)
		for i := range def.params {
			f.m.DecorateMember(args, i, build.NonWritable)
		}
		block = f.m.Global(spirv.OpTypeStruct, 0, f.m.Pointer(storage, args))
		f.m.DecorateMember(block, 0, spirv.Offset, 0)
	}
	f.m.Decorate(block, build.Block)
	base := f.global(spirv.PushConstant, block)
	if storage == spirv.PhysicalStorage {
		pointer := f.m.Pointer(storage, args)
		at := f.c.Op(spirv.OpAccessChain, f.m.Pointer(spirv.PushConstant, pointer), base, f.m.Const(32, 0))
		base = f.c.Op(spirv.OpLoad, pointer, at)
	}
	for i, m := range def.params {
		in := &cPlace{typ: m.typ, storage: storage, base: base, path: []spirv.ID{f.m.Const(32, uint64(i))}}
		if m.typ.kind == cPointer {
			block := f.m.Pointer(spirv.PhysicalStorage, f.block(m.typ))
			at := f.c.Op(build.OpBitcast, block, f.load(in).id)
			f.scope()[m.name] = &cPlace{typ: m.typ.elem, storage: spirv.PhysicalStorage, base: at, slice: true}
			continue
		}
		f.declare(m.name, m.typ, f.load(in).id)
	}
}

// cValue is a value.
type cValue struct {
	id  spirv.ID
	typ *cType
}

// cPlace is a variable, an element or a field.
type cPlace struct {
	typ     *cType
	storage uint32
	base    spirv.ID   // a pointer
	path    []spirv.ID // the indexes from there
	whole   bool       // it is a variable and not a part of one
	slice   bool       // it is what a pointer points to, whose index comes yet
	from    spirv.ID   // what is to be added to this index, or 0
	value   spirv.ID   // of what is in no memory
}

// stored returns the type that a place has in its memory.
func (f *spirvFunction) stored(p *cPlace) spirv.ID {
	switch {
	case p.storage == build.Workgroup:
		return f.shared(p.typ)
	case p.storage != build.Function:
		return f.layout(p.typ, p.storage)
	case p.whole:
		return f.emitter.value(p.typ)
	}
	return f.part(p.typ)
}

// address returns the pointer to a place.
func (f *spirvFunction) address(p *cPlace) spirv.ID {
	if p.slice {
		p = f.element(p, f.m.Const(32, 0))
	}
	if len(p.path) == 0 {
		return p.base
	}
	return f.c.Op(spirv.OpAccessChain, f.m.Pointer(p.storage, f.stored(p)), append([]spirv.ID{p.base}, p.path...)...)
}

// element returns an element of what a pointer points to. The index is an integer of 64 bits, or the number 0.
func (f *spirvFunction) element(p *cPlace, index spirv.ID) *cPlace {
	at := *p
	if p.from != 0 {
		index = f.c.Op(spirv.OpIAdd, f.m.Int(64), index, p.from)
	}
	at.slice, at.path, at.from = false, []spirv.ID{f.m.Const(32, 0), index}, 0
	return &at
}

// aligned returns the operands that accesses of a place have.
func (p *cPlace) aligned() []uint32 {
	if p.storage != spirv.PhysicalStorage {
		return nil
	}
	return []uint32{2, uint32(p.typ.align())}
}

// load returns the value of a place.
func (f *spirvFunction) load(p *cPlace) cValue {
	if p.value != 0 {
		return cValue{p.value, p.typ}
	}
	id := f.c.Op(spirv.OpLoad, f.stored(p), append([]uint32{f.address(p)}, p.aligned()...)...)
	t := p.typ
	switch {
	case p.whole || t.kind == cPointer:
	case t.kind == cInt || t.kind == cFloat:
		id = f.widened(id, t, p.storage == build.Workgroup && f.words)
	case p.storage == spirv.PhysicalStorage || p.storage == spirv.PushConstant:
		id = f.c.Op(build.OpCopyLogical, f.part(t), id)
	case p.storage == build.Workgroup && f.words && t.hasFloat():
		id = f.rebuilt(id, t, true)
	}
	return cValue{id, t}
}

// store gives a place a value of its type.
func (f *spirvFunction) store(p *cPlace, id spirv.ID) {
	t := p.typ
	switch {
	case p.whole:
	case t.kind == cInt || t.kind == cFloat:
		id = f.narrowed(id, t, p.storage == build.Workgroup && f.words)
	case p.storage == spirv.PhysicalStorage:
		id = f.c.Op(build.OpCopyLogical, f.layout(t, p.storage), id)
	case p.storage == build.Workgroup && f.words && t.hasFloat():
		id = f.rebuilt(id, t, false)
	}
	f.c.Do(build.OpStore, append([]uint32{f.address(p), id}, p.aligned()...)...)
}

// widened returns a number of memory as a value; word says that a float is an integer there.
func (f *spirvFunction) widened(id spirv.ID, t *cType, word bool) spirv.ID {
	switch {
	case t.kind == cFloat && word:
		return f.c.Op(build.OpBitcast, f.m.Float(t.bits), id)
	case t.kind == cInt && t.bits < 32 && t.signed:
		return f.c.Op(build.OpSConvert, f.m.Int(32), id)
	case t.kind == cInt && t.bits < 32:
		return f.c.Op(build.OpUConvert, f.m.Int(32), id)
	}
	return id
}

// narrowed is the reverse of widened.
func (f *spirvFunction) narrowed(id spirv.ID, t *cType, word bool) spirv.ID {
	switch {
	case t.kind == cFloat && word:
		return f.c.Op(build.OpBitcast, f.m.Int(t.bits), id)
	case t.kind == cInt && t.bits < 32:
		return f.c.Op(build.OpUConvert, f.m.Int(t.bits), id)
	}
	return id
}

// rebuilt returns a structure or an array with the floats in it as floats, or as integers.
func (f *spirvFunction) rebuilt(id spirv.ID, t *cType, floats bool) spirv.ID {
	n, part := t.n, func(int) *cType { return t.elem }
	if t.kind == cStruct {
		n, part = len(t.fields), func(i int) *cType { return t.fields[i].typ }
	}
	var parts []spirv.ID
	for i := range n {
		p := part(i)
		from, to := f.part(p), f.shared(p)
		if floats {
			from, to = to, from
		}
		x := f.c.Op(build.OpCompositeExtract, from, id, uint32(i))
		switch {
		case p.kind == cFloat:
			x = f.c.Op(build.OpBitcast, to, x)
		case p.hasFloat():
			x = f.rebuilt(x, p, floats)
		}
		parts = append(parts, x)
	}
	to := f.shared(t)
	if floats {
		to = f.part(t)
	}
	return f.c.Op(spirv.OpCompositeConstruct, to, parts...)
}

// scope is what names mean in the innermost block.
func (f *spirvFunction) scope() map[string]*cPlace { return f.scopes[len(f.scopes)-1] }

func (f *spirvFunction) enterScope() { f.scopes = append(f.scopes, map[string]*cPlace{}) }

func (f *spirvFunction) leaveScope() { f.scopes = f.scopes[:len(f.scopes)-1] }

// declare declares a variable with a value, or without if it is 0.
func (f *spirvFunction) declare(name string, t *cType, value spirv.ID) {
	p := &cPlace{typ: t, storage: build.Function, base: f.c.Variable(f.emitter.value(t)), whole: true}
	f.scope()[name] = p
	if value != 0 {
		f.store(p, value)
	}
}

// named returns what a name means.
func (f *spirvFunction) named(name string) *cPlace {
	for i := len(f.scopes) - 1; i >= 0; i-- {
		if p := f.scopes[i][name]; p != nil {
			return p
		}
	}
	cFail("the name %s means nothing", strings.TrimPrefix(name, "h_"))
	return nil
}
