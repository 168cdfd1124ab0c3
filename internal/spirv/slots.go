package spirv

import "slices"

// Slots returns a kernel's module, as [Unpacker.Unpack] returns it, in which the memory of parameters is in storage buffers: that of parameter i in
// the binding i of the descriptor set 0. list has these parameters. Any two of them may have the same memory. All parameters keep their
// places among the push constants.
//
// The result is nil unless the kernel uses, of some parameter, only elements with constant indexes or with indexes that count from a
// constant to a small one, in loops that compilers unroll.
func Slots(module []byte) (made []byte, list []int) {
	words := wordsOf(module)
	if len(words) < 5 {
		return nil, nil
	}
	s := slots{next: words[3], constants: map[ID]uint32{}, pointers: map[ID]*pointer{}, arguments: map[ID]uint32{}, bases: map[ID]*slot{},
		elements: map[ID]bool{}, inside: map[ID]bool{}, counts: map[ID]bool{}}
	each(words, s.look)
	if s.entries != 1 || !slices.ContainsFunc(s.list, func(v *slot) bool { return !v.varies }) {
		return nil, nil
	}
	s.out = append(s.out, words[:5]...)
	if each(words, s.write); s.fails {
		return nil, nil
	}
	s.out[3] = s.next
	for _, v := range s.list {
		list = append(list, int(v.argument))
	}
	slices.Sort(list)
	return bytesOf(s.out), slices.Compact(list)
}

// slots is a module that Slots changes.
type slots struct {
	next      ID
	entries   int
	constants map[ID]uint32
	push      ID // the variable with the arguments
	pointers  map[ID]*pointer
	order     []*pointer
	arguments map[ID]uint32 // the indexes of arguments, by the IDs of their places and of their values
	elements  map[ID]bool   // types of arrays without a length, and of structures that have only such an array
	bases     map[ID]*slot  // by the pointers that their variables replace
	list      []*slot
	counts    map[ID]bool // values that count from a constant; true if they count to a small one
	inside    map[ID]bool // pointers into storage buffers

	decorated, declared, fails bool
	out                        []uint32
}

// pointer is a type of pointers into storage buffers. It replaces one of pointers with addresses.
type pointer struct{ id, to ID }

// slot is the variable for a parameter.
type slot struct {
	variable ID
	typ      *pointer
	argument uint32
	varies   bool // it is used with an unknown index
}

func (s *slots) id() ID {
	s.next++
	return s.next - 1
}

// padded returns an instruction with at least as many words as are read below: a module may come from anywhere.
func padded(in []uint32) []uint32 {
	return append(slices.Clip(in), make([]uint32, max(0, 5-len(in)))...)
}

// look takes note of an instruction.
func (s *slots) look(op Op, short []uint32) {
	in := padded(short)
	i, argument := s.arguments[in[3]]
	switch op {
	case OpEntryPoint:
		s.entries++
	case OpConstant:
		s.constants[in[2]] = in[3]
	case OpVariable:
		if in[3] == PushConstant {
			s.push = in[2]
		}
	case OpTypePointer:
		if in[2] == PhysicalStorage {
			s.pointers[in[1]] = &pointer{s.id(), in[3]}
			s.order = append(s.order, s.pointers[in[1]])
		}
	case OpAccessChain:
		if n, ok := s.constants[in[4]]; ok && in[3] == s.push && len(short) == 5 {
			s.arguments[in[2]] = n
		}
		if v := s.bases[in[3]]; v != nil {
			v.varies = v.varies || slices.ContainsFunc(short[min(4, len(short)):], s.unknown)
		}
	case opPhi:
		if s.constant(in[3]) {
			s.counts[in[2]] = false
		}
	case opULessThan, opSLessThan:
		if _, ok := s.counts[in[3]]; ok && s.constant(in[4]) && s.constants[in[4]] <= mostRounds {
			s.counts[in[3]] = true
		}
	case opTypeRuntimeArray:
		s.elements[in[1]] = true
	case OpTypeStruct:
		s.elements[in[1]] = len(short) == 3 && s.elements[in[2]]
	case OpLoad, opBitcast:
		typ := s.pointers[in[1]]
		if !argument || typ == nil {
			return
		}
		if op == OpLoad && !s.elements[typ.to] {
			s.arguments[in[2]] = i
			return
		}
		at := slices.IndexFunc(s.list, func(v *slot) bool { return v.argument == i && v.typ == typ })
		if at < 0 {
			at = len(s.list)
			s.list = append(s.list, &slot{s.id(), typ, i, false})
		}
		s.bases[in[2]] = s.list[at]
	}
}

func (s *slots) constant(id ID) bool {
	_, ok := s.constants[id]
	return ok
}

// unknown reports whether an index is neither constant nor counts to a small constant.
func (s *slots) unknown(id ID) bool { return !s.constant(id) && !s.counts[id] }

// write appends an instruction, or what takes its place.
func (s *slots) write(op Op, short []uint32) {
	const descriptorSet, binding, aliased = 34, 33, 20
	in := padded(short)
	put := func(op Op, args ...uint32) { s.out = Put(s.out, op, args...) }
	base, inside := s.bases[in[3]], s.inside[in[3]]
	switch {
	case op == OpEntryPoint:
		args := slices.Clone(short[1:])
		for _, v := range s.list {
			args = append(args, v.variable)
		}
		put(op, args...)
		return
	case (op == OpDecorate || op == OpMemberDecorate) && !s.decorated:
		s.decorated = true
		for _, v := range s.list {
			put(OpDecorate, v.variable, descriptorSet, 0)
			put(OpDecorate, v.variable, binding, v.argument)
			put(OpDecorate, v.variable, aliased)
		}
	case op == OpFunction && !s.declared:
		s.declared = true
		for _, p := range s.order {
			put(OpTypePointer, p.id, storageBuffer, p.to)
		}
		for _, v := range s.list {
			put(OpVariable, v.typ.id, v.variable, storageBuffer)
		}
	case (op == OpLoad || op == opBitcast) && s.bases[in[2]] != nil:
		return
	case op == OpAccessChain && (base != nil || inside) && s.pointers[in[1]] != nil:
		args := slices.Clone(short[1:])
		if args[0] = s.pointers[in[1]].id; base != nil {
			args[2] = base.variable
		}
		s.inside[in[2]] = true
		put(op, args...)
		return
	case op == opPhi || op == opSelect || op == opCopyObject || op == opBitcast || op == OpFunctionCall || op == OpAccessChain:
		s.fails = s.fails || slices.ContainsFunc(in[3:], func(id ID) bool { return s.bases[id] != nil || s.inside[id] })
	}
	s.out = append(s.out, short...)
}

const (
	opTypeRuntimeArray = 29

	opCopyObject = 83
	opBitcast    = 124
	opSelect     = 169
	opULessThan  = 176
	opSLessThan  = 177
	opPhi        = 245

	mostRounds = 32

	storageBuffer = 12
)
