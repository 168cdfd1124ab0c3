package spirv

import (
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
	path    []isa.ID // the indexes from there
	whole   bool     // it is a variable and not a part of one
	list    bool     // it is the elements of a buffer, whose index comes yet
	value   isa.ID   // of what is in no memory
}

// stored returns the type that a place has in its memory.
func (f *memory) stored(p *place) isa.ID {
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

// pointer returns the pointer to a place.
func (f *memory) pointer(p *place) isa.ID {
	if len(p.path) == 0 {
		return p.base
	}
	return f.c.Op(isa.OpAccessChain, f.m.Pointer(p.storage, f.stored(p)), append([]isa.ID{p.base}, p.path...)...)
}

// aligned returns the operands that accesses of memory have.
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
	if p.whole {
		return id
	}
	return f.widened(id, p.typ, p.storage, f.c.Op)
}

// store gives a place a value of its type.
func (f *memory) store(p *place, id isa.ID) {
	if !p.whole {
		id = f.narrowed(id, p.typ, p.storage)
	}
	f.c.Do(build.OpStore, append([]uint32{f.pointer(p), id}, aligned(p.typ, p.storage)...)...)
}

// widened returns what is in memory, or a part of a value, as a value. op appends instructions.
func (f *memory) widened(id isa.ID, t *ir.Type, storage uint32, op func(isa.Op, isa.ID, ...uint32) isa.ID) isa.ID {
	words := storage == build.Workgroup && f.words
	switch {
	case t.Kind == ir.Bool: // a byte that is not 0 is true: others than kernels may have written it
		return op(build.OpINotEqual, f.m.Bool(), op(build.OpUConvert, f.m.Int(32), id), f.m.Const(32, 0))
	case t.Float() && words:
		return op(build.OpBitcast, f.m.Float(t.Bits()), id)
	case t.Integer() && t.Bits() < 32 && t.Signed():
		return op(build.OpSConvert, f.m.Int(32), id)
	case t.Integer() && t.Bits() < 32:
		return op(build.OpUConvert, f.m.Int(32), id)
	case single(t) || t.Kind == ir.Pointer:
	case storage == isa.PhysicalStorage || storage == isa.PushConstant:
		return op(build.OpCopyLogical, f.part(t), id)
	case words && hasFloat(t):
		return f.rebuilt(id, t, true)
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
		return f.c.Op(build.OpCopyLogical, f.layout(t, storage), id)
	case words && hasFloat(t):
		return f.rebuilt(id, t, false)
	}
	return id
}

// rebuilt returns a structure or an array of shared memory with the floats in it as floats, or as integers.
func (f *memory) rebuilt(id isa.ID, t *ir.Type, floats bool) isa.ID {
	parts := fields(t)
	if t.Kind == ir.Array {
		parts = slices.Repeat([]*ir.Type{t.Elem}, int(t.Len))
	}
	var made []isa.ID
	for i, p := range parts {
		from, to := f.part(p), f.shared(p)
		if floats {
			from, to = to, from
		}
		x := f.c.Op(build.OpCompositeExtract, from, id, uint32(i))
		switch {
		case p.Float():
			x = f.c.Op(build.OpBitcast, to, x)
		case hasFloat(p):
			x = f.rebuilt(x, p, floats)
		}
		made = append(made, x)
	}
	to := f.shared(t)
	if floats {
		to = f.part(t)
	}
	return f.c.Op(isa.OpCompositeConstruct, to, made...)
}

// variable returns a new variable of a type.
func (f *memory) variable(t *ir.Type) *place {
	return &place{typ: t, storage: build.Function, base: f.c.Variable(f.emitter.value(t)), whole: true}
}

// local returns the place of a local.
func (f *values) local(l *ir.Local) *place {
	if at := f.frame.locals[l.Index]; at != nil {
		return at
	}
	at := (*place)(nil)
	if l.Space == ir.Shared {
		at = &place{typ: l.Type, storage: build.Workgroup, base: f.global(build.Workgroup, f.shared(l.Type))}
	} else {
		at = f.variable(l.Type)
	}
	f.frame.locals[l.Index] = at
	return at
}

// indexes evaluates the indexes of a place.
func (f *values) indexes(p *ir.Place) (all []isa.ID) {
	for _, i := range p.Indexes() {
		if i.Op == ir.Const {
			all = append(all, f.m.Const(width(i.Type), bitsOf(i.Const)))
		} else {
			all = append(all, f.expr(i))
		}
	}
	return all
}

// at returns a place, whose indexes are evaluated.
func (f *values) at(p *ir.Place, indexes []isa.ID) *place {
	var at *place
	if p.Local != nil {
		at = f.local(p.Local)
	} else {
		at = f.frame.params[p.Param.Index].place
	}
	for _, s := range p.Path {
		pos := s.Pos
		if s.Index != nil && !pos.IsValid() {
			pos = s.Index.Pos
		}
		switch {
		case s.Col != nil:
			m := f.frame.params[p.Param.Index]
			at = at.element(f.memory, f.cell(indexes[0], indexes[1], m.rows, m.col, pos))
			indexes = indexes[2:]
		case s.Index != nil && at.list:
			at = at.element(f.memory, f.checked(s.Index, indexes[0], f.frame.params[p.Param.Index].rows, pos))
			indexes = indexes[1:]
		case s.Index != nil:
			index := indexes[0]
			if s.Index.Op != ir.Const { // Go has checked constants
				index = f.checkedIn(s.Index, index, at.typ.Len, pos)
			}
			at = at.inside(f.memory, at.typ.Elem, index, 0)
			indexes = indexes[1:]
		default:
			at = at.inside(f.memory, at.typ.Fields[s.Field].Type, f.m.Const(32, uint64(s.Field)), s.Field)
		}
	}
	return at
}

// element returns an element of a buffer. The index is an integer of 64 bits.
func (p *place) element(f *memory, index isa.ID) *place {
	at := *p
	at.list, at.path = false, []isa.ID{f.m.Const(32, 0), index}
	return &at
}

// inside returns a part of a place. A part of a value that is in no memory has a number.
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

// stays are the values of a function that are kept in variables, because their elements are read by an index.
type stays struct {
	values map[*ir.Value]bool
	params map[*ir.Param]bool
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

// source returns where a value is that a part is taken of.
func (f *values) source(v *ir.Value) *place {
	switch {
	case v.Bound && f.frame.kept[v.ID] != nil:
		return f.frame.kept[v.ID]
	case v.Bound:
	case v.Op == ir.Argument && f.frame.params[v.Param.Index].place != nil:
		return f.frame.params[v.Param.Index].place
	case v.Op == ir.Extract && v.Args[0].Type.Kind != ir.Tuple:
		return f.extracted(v)
	}
	return &place{typ: v.Type, value: f.expr(v)}
}

// extracted returns the place of a part of a value.
func (f *values) extracted(v *ir.Value) *place {
	from := f.source(v.Args[0])
	if len(v.Args) == 1 {
		i := v.Which[0]
		return from.inside(f.memory, v.Type, f.m.Const(32, uint64(i)), i)
	}
	index := v.Args[1]
	if n, ok := index.Const.(int64); ok && n >= 0 {
		return from.inside(f.memory, v.Type, f.m.Const(32, uint64(n)), int(n))
	}
	id := f.expr(index)
	if from.value != 0 {
		at := f.variable(from.typ)
		f.store(at, from.value)
		from = at
	}
	return from.inside(f.memory, v.Type, f.checkedIn(index, id, v.Args[0].Type.Len, v.Pos), 0)
}
