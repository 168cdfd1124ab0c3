package spirv

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// partBytes is the size of the argument that Parts adds, and pushable how many bytes of arguments every device takes.
const (
	partBytes = 24
	pushable  = 128
)

// Parts returns a kernel's module, as [Unpacker.Unpack] returns it, for launches of a part of a grid. It has one more argument at the end, of six
// numbers of 32 bits: the first block of the part and the blocks of the whole grid, each in three dimensions. Its threads ask for their
// places as in a launch of the whole grid. The error says why there is no such module.
func Parts(module []byte) ([]byte, error) {
	words := wordsOf(module)
	p := parts{types: map[ID][]uint32{}, offsets: map[ID]map[uint32]uint32{}, inputs: map[ID]uint32{}, next: words[3]}
	each(words, p.look)
	if err := p.find(); err != nil {
		return nil, err
	}
	p.out = append(p.out, words[:5]...)
	each(words, p.write)
	p.out[3] = p.next
	return bytesOf(p.out), nil
}

func wordsOf(module []byte) []uint32 {
	words := make([]uint32, len(module)/4)
	for i := range words {
		words[i] = binary.LittleEndian.Uint32(module[4*i:])
	}
	return words
}

func bytesOf(words []uint32) []byte {
	b := make([]byte, 0, 4*len(words))
	for _, w := range words {
		b = binary.LittleEndian.AppendUint32(b, w)
	}
	return b
}

// parts is a module that Parts changes.
type parts struct {
	types   map[ID][]uint32          // the instructions of types, constants and variables
	offsets map[ID]map[uint32]uint32 // of the members of structures
	inputs  map[ID]uint32            // what the device provides, by variable
	u32     ID
	push    ID // the variable with the arguments
	block   ID // its type
	next    ID

	origin, pointer, member ID    // of the new argument: its type, the type of pointers to its numbers, and its index in the block
	index                   [6]ID // the constants 0 to 5
	at                      uint32
	decorated, declared     bool
	out                     []uint32
}

// each calls f for each instruction.
func each(words []uint32, f func(op Op, in []uint32)) {
	for i := 5; i < len(words); {
		n := max(int(words[i]>>16), 1)
		f(Op(words[i]), words[i:min(i+n, len(words))])
		i += n
	}
}

// look takes note of an instruction.
func (p *parts) look(op Op, in []uint32) {
	switch op {
	case OpTypeInt:
		if in[2] == 32 {
			p.u32 = in[1]
		}
		fallthrough
	case OpTypeFloat, OpTypeVector, OpTypeArray, OpTypeStruct, OpTypePointer:
		p.types[in[1]] = in
	case OpConstant, OpVariable:
		p.types[in[2]] = in
		if op == OpVariable && in[3] == PushConstant {
			p.push = in[2]
		}
	case OpDecorate:
		if in[2] == BuiltIn {
			p.inputs[in[1]] = in[3]
		}
	case OpMemberDecorate:
		if in[3] == Offset {
			if p.offsets[in[1]] == nil {
				p.offsets[in[1]] = map[uint32]uint32{}
			}
			p.offsets[in[1]][in[2]] = in[4]
		}
	}
}

// find finds the place of the new argument.
func (p *parts) find() error {
	if p.push == 0 || p.u32 == 0 {
		return errors.New("it has no arguments")
	}
	p.block = p.types[p.types[p.push][1]][3]
	p.at = (p.size(p.block) + 3) &^ 3
	block := p.types[p.block]
	if len(block) == 3 && Op(p.types[block[2]][0]) == OpTypePointer && p.isStruct(p.types[block[2]][3]) || p.at+partBytes > pushable {
		return fmt.Errorf("its arguments have more than %d bytes", pushable-partBytes)
	}
	for _, id := range []*ID{&p.origin, &p.pointer, &p.member, &p.index[0], &p.index[1], &p.index[2], &p.index[3], &p.index[4],
		&p.index[5]} {
		*id = p.id()
	}
	return nil
}

func (p *parts) isStruct(id ID) bool { return Op(p.types[id][0]) == OpTypeStruct }

func (p *parts) id() ID {
	p.next++
	return p.next - 1
}

// size returns the bytes of a type as it is in memory.
func (p *parts) size(id ID) (n uint32) {
	switch in := p.types[id]; Op(in[0]) {
	case OpTypeInt, OpTypeFloat:
		return in[2] / 8
	case OpTypePointer:
		return 8
	case OpTypeVector:
		return p.size(in[2]) * in[3]
	case OpTypeArray:
		return p.size(in[2]) * p.types[in[3]][3]
	default:
		for i, member := range in[2:] {
			n = max(n, p.offsets[id][uint32(i)]+p.size(member))
		}
		return n
	}
}

// write appends an instruction, or what takes its place.
func (p *parts) write(op Op, in []uint32) {
	put := func(op Op, args ...uint32) { p.out = Put(p.out, op, args...) }
	switch {
	case (op == OpDecorate || op == OpMemberDecorate) && !p.decorated:
		p.decorated = true
		for i := range uint32(6) {
			put(OpMemberDecorate, p.origin, i, Offset, 4*i)
		}
		put(OpMemberDecorate, p.block, uint32(len(p.types[p.block])-2), Offset, p.at)
	case op == OpTypeStruct && in[1] == p.block:
		put(OpTypeStruct, append([]uint32{p.origin}, slices.Repeat([]uint32{p.u32}, 6)...)...)
		put(OpTypeStruct, append(slices.Clone(in[1:]), p.origin)...)
		return
	case op == OpFunction && !p.declared:
		p.declared = true
		put(OpTypePointer, p.pointer, PushConstant, p.u32)
		for i, id := range p.index {
			put(OpConstant, p.u32, id, uint32(i))
		}
		put(OpConstant, p.u32, p.member, uint32(len(p.types[p.block])-2))
	case op == OpLoad && p.inputs[in[3]] == WorkgroupID:
		block, first := p.id(), p.id()
		put(OpLoad, in[1], block, in[3])
		p.three(in[1], first, 0)
		put(OpIAdd, in[1], in[2], block, first)
		return
	case op == OpLoad && p.inputs[in[3]] == NumWorkgroups:
		p.three(in[1], in[2], 3)
		return
	}
	p.out = append(p.out, in...)
}

// three writes a vector of three numbers of the new argument.
func (p *parts) three(typ, result ID, from int) {
	args := []uint32{typ, result}
	for _, index := range p.index[from : from+3] {
		at, n := p.id(), p.id()
		p.out = Put(p.out, OpAccessChain, p.pointer, at, p.push, p.member, index)
		p.out = Put(p.out, OpLoad, p.u32, n, at)
		args = append(args, n)
	}
	p.out = Put(p.out, OpCompositeConstruct, args...)
}
