package spirv

import (
	"fmt"
	"strings"

	isa "github.com/go-halyard/halyard/internal/spirv"
	"github.com/go-halyard/halyard/internal/spirv/build"
	"github.com/go-halyard/halyard/internal/translate/ir"
)

// address is the type of an argument that is an address.
var address = &ir.Type{Kind: ir.Pointer}

// halves is the type of an argument that is an integer of 64 bits, in modules without such integers: they read the low half only.
var halves = &ir.Type{Kind: ir.Struct, Fields: []ir.Field{{Type: ir.Basic(ir.U32)}, {Type: ir.Basic(ir.U32)}}}

// key returns a text that identifies the structure of a type: it is the same for two types that have the same values.
func key(t *ir.Type) string {
	switch t.Kind {
	case ir.Array:
		return fmt.Sprintf("[%d]%s", t.Len, key(t.Elem))
	case ir.Struct, ir.Tuple:
		var b strings.Builder
		for _, f := range t.Fields {
			b.WriteString(" " + key(f.Type))
		}
		return fmt.Sprintf("%d{%s}", t.Kind, b.String())
	}
	return fmt.Sprint(t.Kind)
}

// fields returns the types of the fields of a structure. A complex number is a structure of two floats.
func fields(t *ir.Type) (all []*ir.Type) {
	if t.Complex() {
		return []*ir.Type{t.Part(), t.Part()}
	}
	for _, f := range t.Fields {
		all = append(all, f.Type)
	}
	return all
}

// single reports whether a type is one of integers, floats or bools, whose values are scalars in SPIR-V.
func single(t *ir.Type) bool { return t.Kind == ir.Bool || t.Integer() || t.Float() }

// size and align return the size and the alignment of a type in a buffer, in bytes, as in Go.
func size(t *ir.Type) int {
	if t.Kind == ir.Pointer {
		return 8
	}
	return int(t.Size())
}

func align(t *ir.Type) int {
	switch {
	case t.Kind == ir.Array:
		return align(t.Elem)
	case t.Complex():
		return size(t) / 2
	case t.Kind == ir.Struct:
		a := 1
		for _, f := range t.Fields {
			a = max(a, align(f.Type))
		}
		return a
	}
	return size(t)
}

// offset returns where a field of a structure begins. If field is the number of fields, offset returns where the last field ends.
func offset(t *ir.Type, field int) (at int) {
	for i, f := range fields(t) {
		at = (at + align(f) - 1) / align(f) * align(f)
		if i == field {
			break
		}
		at += size(f)
	}
	return at
}

// width returns how many bits an integer of a type has as a value.
func width(t *ir.Type) int { return max(t.Bits(), 32) }

// value returns the SPIR-V type of the values of a type. Integers have at least 32 bits.
func (e *emitter) value(t *ir.Type) isa.ID {
	switch {
	case t == nil:
		return e.m.Type(build.OpTypeVoid)
	case t.Kind == ir.Bool:
		return e.m.Bool()
	case t.Integer():
		return e.m.Int(width(t))
	case t.Kind == ir.Tuple:
		return e.structure(t, "results", e.value)
	}
	return e.part(t)
}

// part returns the SPIR-V type of a field or an element in a variable.
func (e *emitter) part(t *ir.Type) isa.ID {
	switch {
	case t.Kind == ir.Bool || t.Bits() == 8:
		e.m.Need(build.Int8)
		return e.m.Int(8)
	case t.Integer():
		if t.Bits() == 16 {
			e.m.Need(build.Int16)
		}
		return e.m.Int(t.Bits())
	case t.Float():
		return e.m.Float(t.Bits())
	case t.Kind == ir.Array:
		return e.m.Type(isa.OpTypeArray, e.part(t.Elem), e.m.Const(32, uint64(t.Len)))
	}
	return e.structure(t, "parts", e.part)
}

func (e *emitter) structure(t *ir.Type, what string, member func(*ir.Type) isa.ID) isa.ID {
	k := what + key(t)
	if e.types[k] == 0 {
		var members []isa.ID
		for _, f := range fields(t) {
			members = append(members, member(f))
		}
		e.types[k] = e.m.Global(isa.OpTypeStruct, 0, members...)
	}
	return e.types[k]
}

// shared returns the SPIR-V type of a type in memory that a block shares.
func (e *emitter) shared(t *ir.Type) isa.ID {
	switch {
	case !e.words || !hasFloat(t):
		return e.part(t)
	case t.Float():
		return e.m.Int(t.Bits())
	case t.Kind == ir.Array:
		return e.m.Type(isa.OpTypeArray, e.shared(t.Elem), e.m.Const(32, uint64(t.Len)))
	}
	return e.structure(t, "shared", e.shared)
}

// sized returns the type of shared memory whose length is given at each launch. The launch sets a constant of the module to the number of its bytes.
func (e *emitter) sized(elem *ir.Type) isa.ID {
	const sharedBytes = 3 // the SpecId of that constant: see backends/vulkan
	bytes := e.m.Global(build.OpSpecConstant, e.m.Int(32), uint32(size(elem)))
	e.m.Decorate(bytes, isa.SpecID, sharedBytes)
	n := e.m.Global(build.OpSpecConstantOp, e.m.Int(32), uint32(build.OpUDiv), bytes, e.m.Const(32, uint64(size(elem))))
	return e.m.Type(isa.OpTypeArray, e.shared(elem), n)
}

func hasFloat(t *ir.Type) bool {
	if t.Float() || t.Kind == ir.Array && hasFloat(t.Elem) {
		return true
	}
	for _, f := range fields(t) {
		if hasFloat(f) {
			return true
		}
	}
	return false
}

// layout returns the SPIR-V type of a type in a buffer or among the push constants, with Go's layout.
func (e *emitter) layout(t *ir.Type, storage uint32) isa.ID {
	switch {
	case t.Kind == ir.Pointer && e.addressed[t] != 0:
		return e.addressed[t]
	case t.Kind == ir.Pointer: // a pointer to any type: spirv-val applies the rules for push constants to the target type, too
		return e.m.Pointer(isa.PhysicalStorage, e.m.Int(32))
	case t.Kind == ir.Bool || t.Integer():
		bits := max(t.Bits(), 8)
		if need, ok := map[[2]int]uint32{{8, isa.PhysicalStorage}: build.Storage8, {16, isa.PhysicalStorage}: build.Storage16,
			{8, isa.PushConstant}: build.Push8, {16, isa.PushConstant}: build.Push16}[[2]int{bits, int(storage)}]; ok {
			e.m.Need(need)
		}
		return e.part(t)
	case t.Float():
		return e.m.Float(t.Bits())
	}
	k := fmt.Sprint("layout ", storage, key(t))
	switch {
	case e.types[k] != 0:
	case t.Kind == ir.Array:
		id := e.m.Global(isa.OpTypeArray, 0, e.layout(t.Elem, storage), e.m.Const(32, uint64(t.Len)))
		e.m.Decorate(id, isa.ArrayStride, uint32(size(t.Elem)))
		e.types[k] = id
	default:
		var members []isa.ID
		for _, f := range fields(t) {
			members = append(members, e.layout(f, storage))
		}
		id := e.m.Global(isa.OpTypeStruct, 0, members...)
		for i := range members {
			e.m.DecorateMember(id, i, isa.Offset, uint32(offset(t, i)))
		}
		e.types[k] = id
	}
	return e.types[k]
}

// elements returns the type of a buffer of elements. If the buffer is coherent, threads that meet at a barrier see what other threads have written before.
func (e *emitter) elements(elem *ir.Type, coherent bool) isa.ID {
	k := fmt.Sprint("buffer ", coherent, key(elem))
	if e.types[k] == 0 {
		list := e.m.Global(build.OpTypeRuntimeArray, 0, e.layout(elem, isa.PhysicalStorage))
		e.m.Decorate(list, isa.ArrayStride, uint32(size(elem)))
		id := e.m.Global(isa.OpTypeStruct, 0, list)
		e.m.Decorate(id, build.Block)
		e.m.DecorateMember(id, 0, isa.Offset, 0)
		if coherent {
			e.m.DecorateMember(id, 0, build.Coherent)
		}
		e.types[k] = id
	}
	return e.types[k]
}

// parts returns the types of the elements or fields of a type.
func parts(t *ir.Type) []*ir.Type {
	if t.Kind != ir.Array {
		return fields(t)
	}
	all := make([]*ir.Type, t.Len)
	for i := range all {
		all[i] = t.Elem
	}
	return all
}

func bitsOf(c any) uint64 {
	if n, ok := c.(int64); ok {
		return uint64(n)
	}
	return c.(uint64)
}
