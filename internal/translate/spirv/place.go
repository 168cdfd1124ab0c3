package spirv

import (
	"fmt"
	"slices"

	isa "github.com/go-halyard/halyard/internal/spirv"
	"github.com/go-halyard/halyard/internal/spirv/build"
	"github.com/go-halyard/halyard/internal/translate/ir"
)

// place is a variable, an element or a field.
type place struct {
	typ     *ir.Type
	storage uint32
	base    isa.ID   // a pointer
	path    []isa.ID // the indexes from the pointer to the place
	whole   bool     // it is a variable, and not a part of a variable
	list    bool     // it is a whole buffer, of which the method element selects an element
	value   isa.ID   // the value itself, if it is not in memory
}

// stored returns the type of a place in memory.
func (f *memory) stored(p *place) isa.ID {
	switch {
	case p.storage == build.Workgroup:
		return f.shared(p.typ)
	case p.storage != build.Function && p.storage != build.Private:
		return f.layout(p.typ, p.storage)
	case p.whole:
		return f.emitter.value(p.typ)
	}
	return f.part(p.typ)
}

// pointer returns the pointer to a place.
func (f *memory) pointer(p *place) isa.ID {
	if len(p.path) == 0 {
		return p.base
	}
	return f.c.Op(isa.OpAccessChain, f.m.Pointer(p.storage, f.stored(p)), append([]isa.ID{p.base}, p.path...)...)
}

// aligned returns the operands of a load or a store that state its alignment.
func aligned(t *ir.Type, storage uint32) []uint32 {
	if storage != isa.PhysicalStorage {
		return nil
	}
	return []uint32{2, uint32(align(t))}
}

// load returns the value of a place.
func (f *memory) load(p *place) isa.ID {
	if p.value != 0 {
		return p.value
	}
	id := f.c.Op(isa.OpLoad, f.stored(p), append([]uint32{f.pointer(p)}, aligned(p.typ, p.storage)...)...)
	if !p.whole {
		id = f.widened(id, p.typ, p.storage, f.c.Op)
	}
	if p.storage == build.Private {
		return f.hidden(id, p.typ)
	}
	return id
}

// store gives a place a value of its type.
func (f *memory) store(p *place, id isa.ID) {
	if !p.whole {
		id = f.narrowed(id, p.typ, p.storage)
	}
	f.c.Do(build.OpStore, append([]uint32{f.pointer(p), id}, aligned(p.typ, p.storage)...)...)
}

// widened converts a part of a value, or what is loaded from memory, to the type of values. The function op appends instructions.
func (f *memory) widened(id isa.ID, t *ir.Type, storage uint32, op func(isa.Op, isa.ID, ...uint32) isa.ID) isa.ID {
	words := storage == build.Workgroup && f.words
	switch {
	case t.Kind == ir.Bool: // memory that no kernel wrote may have any byte: all except 0 are true
		return op(build.OpINotEqual, f.m.Bool(), op(build.OpUConvert, f.m.Int(32), id), f.m.Const(32, 0))
	case t.Float() && words:
		return op(build.OpBitcast, f.m.Float(t.Bits()), id)
	case t.Integer() && t.Bits() < 32 && t.Signed():
		return op(build.OpSConvert, f.m.Int(32), id)
	case t.Integer() && t.Bits() < 32:
		return op(build.OpUConvert, f.m.Int(32), id)
	case single(t) || t.Kind == ir.Pointer:
	case storage == isa.PhysicalStorage || storage == isa.PushConstant:
		if f.halved {
			return f.rebuilt(id, t, func(t *ir.Type) isa.ID { return f.layout(t, storage) }, f.part, op)
		}
		return op(build.OpCopyLogical, f.part(t), id)
	case words && hasFloat(t):
		return f.rebuilt(id, t, f.shared, f.part, f.c.Op)
	}
	return id
}

// narrowed is the reverse of widened.
func (f *memory) narrowed(id isa.ID, t *ir.Type, storage uint32) isa.ID {
	words := storage == build.Workgroup && f.words
	switch {
	case t.Kind == ir.Bool:
		u32 := f.m.Int(32)
		return f.c.Op(build.OpUConvert, f.part(t), f.c.Op(build.OpSelect, u32, id, f.m.Const(32, 1), f.m.Const(32, 0)))
	case t.Float() && words:
		return f.c.Op(build.OpBitcast, f.m.Int(t.Bits()), id)
	case t.Integer() && t.Bits() < 32:
		return f.c.Op(build.OpUConvert, f.m.Int(t.Bits()), id)
	case single(t):
	case storage == isa.PhysicalStorage:
		if f.halved {
			return f.rebuilt(id, t, f.part, func(t *ir.Type) isa.ID { return f.layout(t, storage) }, f.c.Op)
		}
		return f.c.Op(build.OpCopyLogical, f.layout(t, storage), id)
	case words && hasFloat(t):
		return f.rebuilt(id, t, f.part, f.shared, f.c.Op)
	}
	return id
}

// rebuilt converts a structure or an array from one of its types in SPIR-V to another, part by part. SwiftShader has no OpCopyLogical.
func (f *memory) rebuilt(id isa.ID, t *ir.Type, from, to func(*ir.Type) isa.ID, op func(isa.Op, isa.ID, ...uint32) isa.ID) isa.ID {
	const most = 1 << 10 // bytes; a larger value has too many parts
	if f.halved && t.Size() > most {
		f.m.Need(build.Int64)
		return id // the module is printed again: see Module
	}
	var made []isa.ID
	for i, p := range parts(t) {
		x := op(build.OpCompositeExtract, from(p), id, uint32(i))
		switch {
		case from(p) == to(p):
		case p.Float():
			x = op(build.OpBitcast, to(p), x)
		default:
			x = f.rebuilt(x, p, from, to, op)
		}
		made = append(made, x)
	}
	return op(isa.OpCompositeConstruct, to(t), made...)
}

// variable returns a new variable of a type.
func (f *memory) variable(t *ir.Type) *place {
	return &place{typ: t, storage: build.Function, base: f.c.Variable(f.emitter.value(t)), whole: true}
}

// table returns the place of a table. It is a variable outside functions, which begins with the table's numbers and to which nothing stores.
func (f *memory) table(t *ir.Table) *place {
	if f.tables[t] == 0 {
		first, _ := f.filled(t.Type, t.Parts)
		f.tables[t] = f.global(build.Private, f.emitter.value(t.Type), first)
	}
	return &place{typ: t.Type, storage: build.Private, base: f.tables[t], whole: true}
}

// filled returns the constant of a type with parts of a table, and the parts behind them.
func (e *emitter) filled(t *ir.Type, list []any) (isa.ID, []any) {
	if t.Kind >= ir.Array {
		var all []isa.ID
		for _, p := range parts(t) {
			var id isa.ID
			id, list = e.filled(p, list)
			all = append(all, id)
		}
		return e.m.Composite(e.part(t), all...), list
	}
	switch x := list[0].(type) {
	case bool:
		if x {
			return e.m.Const(8, 1), list[1:]
		}
		return e.m.Const(8, 0), list[1:]
	case float64:
		return e.m.ConstFloat(t.Bits(), x), list[1:]
	case complex128:
		bits := t.Bits() / 2
		return e.m.Composite(e.part(t), e.m.ConstFloat(bits, real(x)), e.m.ConstFloat(bits, imag(x))), list[1:]
	}
	return e.m.Const(t.Bits(), bitsOf(list[0])), list[1:]
}

// element returns an element of a buffer. The index is an integer of 32 or 64 bits.
func (p *place) element(f *memory, index isa.ID) *place {
	at := *p
	at.list, at.path = false, []isa.ID{f.m.Const(32, 0), index}
	return &at
}

// inside returns a part of a place. For a place that is a value and not memory, the part is selected by number.
func (p *place) inside(f *memory, t *ir.Type, index isa.ID, number int) *place {
	if p.value != 0 {
		id := f.c.Op(build.OpCompositeExtract, f.part(t), p.value, uint32(number))
		return &place{typ: t, value: f.widened(id, t, build.Function, f.c.Op)}
	}
	part := *p
	part.typ, part.whole = t, false
	part.path = append(p.path[:len(p.path):len(p.path)], index)
	return &part
}

func (e *emitter) stays(of *ir.Function) *stays {
	if e.kept[of] == nil {
		s := &stays{map[*ir.Value]bool{}, map[*ir.Param]bool{}}
		of.Body.Visit(nil, func(v *ir.Value) {
			if v.Op != ir.Extract || len(v.Args) == 1 || v.Args[1].Op == ir.Const {
				return
			}
			x := v.Args[0]
			for x.Op == ir.Extract && !x.Bound {
				x = x.Args[0]
			}
			if x.Bound {
				s.values[x] = true
			} else if x.Op == ir.Argument {
				s.params[x.Param] = true
			}
		})
		e.kept[of] = s
	}
	return e.kept[of]
}

// argument returns argument i of the kernel, which may be an address.
func (f *memory) argument(i int) isa.ID {
	return f.once(fmt.Sprint("argument ", i), func() isa.ID {
		t := f.arguments.list.Fields[i].Type
		if t == halves {
			return f.m.Const(64, 0) // the module is printed again: see Module
		}
		return f.widened(f.loadArgument(i), t, f.arguments.storage, f.c.Early)
	})
}

// lowArgument returns the low 32 bits of argument i of the kernel, which is an integer of 64 bits.
func (f *memory) lowArgument(i int) isa.ID {
	return f.once(fmt.Sprint("low ", i), func() isa.ID {
		if f.arguments.list.Fields[i].Type == halves {
			return f.loadArgument(i, 0)
		}
		return f.c.Early(build.OpUConvert, f.m.Int(32), f.argument(i))
	})
}

// loadArgument loads argument i of the kernel, or one of its fields.
func (f *memory) loadArgument(i int, field ...int) isa.ID {
	a, t, path := &f.arguments, f.arguments.list.Fields[i].Type, []isa.ID{f.m.Const(32, uint64(i))}
	for _, n := range field {
		t, path = t.Fields[n].Type, append(path, f.m.Const(32, uint64(n)))
	}
	base := a.base
	if a.storage == isa.PhysicalStorage {
		base = f.once("arguments", func() isa.ID {
			at := f.c.Early(isa.OpAccessChain, f.m.Pointer(isa.PushConstant, a.pointer), base, f.m.Const(32, 0))
			return f.c.Early(isa.OpLoad, a.pointer, at)
		})
	}
	typ := f.layout(t, a.storage)
	at := f.c.Early(isa.OpAccessChain, f.m.Pointer(a.storage, typ), append([]isa.ID{base}, path...)...)
	return f.c.Early(isa.OpLoad, typ, slices.Concat([]uint32{at}, aligned(t, a.storage))...)
}
