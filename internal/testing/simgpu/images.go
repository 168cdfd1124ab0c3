package simgpu

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
)

// Kernel describes a kernel of an image that a simulated driver loads.
type Kernel struct {
	Name string

	// Takes has one letter for each parameter: p for a pointer, b, h, u and l for an unsigned number of 1, 2, 4 and 8 bytes, f and d for a
	// floating-point number of 4 and 8, and t and s for structures of 32 and 40 bytes.
	Takes string

	Threads int // largest number of threads in a block; 0 is the device's limit
	Shared  int // bytes of shared memory that the code declares
}

// Kernels are the kernels for which the simulated drivers have C functions, so an image can declare them without
// code. src/kernels.c says what each does.
var Kernels = []Kernel{
	{Name: "saxpy", Takes: "ppfu"},
	{Name: "fill", Takes: "puu"},
	{Name: "add_one", Takes: "pu"},
	{Name: "copy", Takes: "ppu"},
	{Name: "sum_four", Takes: "puuuuu"},
	{Name: "widths", Takes: "pbhulfd"},
	{Name: "record", Takes: "ps"},
	{Name: "tally", Takes: "pu"},
	{Name: "place", Takes: "pu"},
	{Name: "block_sum", Takes: "ppu"},
	{Name: "slow", Takes: "puu"},
	{Name: "fault", Takes: "u"},
	{Name: "nothing"},
}

// types are the types of parameters, by letter.
var types = map[rune]struct {
	ptx  string
	size int
}{'p': {".u64", 8}, 'b': {".u8", 1}, 'h': {".u16", 2}, 'u': {".u32", 4}, 'l': {".u64", 8}, 'f': {".f32", 4}, 'd': {".f64", 8}, 't': {".b8", 32}, 's': {".b8", 40}}

// PTX returns text that declares the kernels, for the simulated CUDA driver. Their code is empty: the driver runs its C
// functions.
func PTX(kernels ...Kernel) []byte {
	var b strings.Builder
	b.WriteString(".version 6.0\n.target sm_50\n.address_size 64\n")
	for _, k := range kernels {
		fmt.Fprintf(&b, "\n.visible .entry %s(", k.Name)
		for i, letter := range k.Takes {
			if i > 0 {
				b.WriteString(",")
			}
			switch letter {
			case 'p':
				fmt.Fprintf(&b, "\n\t.param .u64 .ptr .global .align 4 %s_param_%d", k.Name, i)
			case 's':
				fmt.Fprintf(&b, "\n\t.param .align 8 .b8 %s_param_%d[40]", k.Name, i)
			default:
				fmt.Fprintf(&b, "\n\t.param %s %s_param_%d", types[letter].ptx, k.Name, i)
			}
		}
		b.WriteString("\n)\n")
		if k.Threads != 0 {
			fmt.Fprintf(&b, ".maxntid %d, 1, 1\n", k.Threads)
		}
		b.WriteString("{\n")
		if k.Shared != 0 {
			fmt.Fprintf(&b, "\t.shared .align 4 .b8 %s_shared[%d];\n", k.Name, k.Shared)
		}
		b.WriteString("\tret;\n}\n")
	}
	return []byte(b.String())
}

// CodeObject returns a code object that declares the kernels, for the simulated HIP runtime, whose devices are of architecture gfx906.
// It is an ELF image with the note that compilers write ("Code Object V3 Metadata" of LLVM's user guide for AMDGPU), and no code.
func CodeObject(kernels ...Kernel) []byte { return codeObject(gfx906, kernels) }

// gfx906 is EF_AMDGPU_MACH_AMDGCN_GFX906.
const gfx906 = 0x2f

// withCode returns a code object with a segment of code: one instruction, s_endpgm. A driver cannot tell it from a compiler's code object.
func withCode(kernels ...Kernel) []byte {
	b := codeObject(gfx906, kernels)
	const header, program = 64, 56
	b[56] = 2 // program headers
	at := len(b) + program
	segment := binary.LittleEndian.AppendUint32(nil, 1) // PT_LOAD
	segment = binary.LittleEndian.AppendUint32(segment, 5)
	for _, v := range []int{at, at, at, 4, 4, 256} {
		segment = binary.LittleEndian.AppendUint64(segment, uint64(v))
	}
	for _, off := range []int{8, 16, 24} { // the new program header has moved the note
		n := b[header+off:]
		binary.LittleEndian.PutUint64(n, binary.LittleEndian.Uint64(n)+program)
	}
	b = slices.Insert(b, header+program, segment...)
	return append(b, 0, 0, 0x81, 0xbf)
}

// codeObject makes a code object for an architecture, a value of EF_AMDGPU_MACH.
func codeObject(mach uint32, kernels []Kernel) []byte {
	var note bytes.Buffer
	meta := metadata(kernels)
	put := func(v any) { _ = binary.Write(&note, binary.LittleEndian, v) }
	put([]uint32{7, uint32(len(meta)), 32}) // NT_AMDGPU_METADATA
	note.WriteString("AMDGPU\x00\x00")
	note.Write(meta)
	for note.Len()%4 != 0 {
		note.WriteByte(0)
	}

	const header, program = 64, 56
	var image bytes.Buffer
	put = func(v any) { _ = binary.Write(&image, binary.LittleEndian, v) }
	image.WriteString("\x7fELF\x02\x01\x01\x40\x02") // 64 bits, little-endian, ELFOSABI_AMDGPU_HSA, code object v4
	image.Write(make([]byte, 7))
	put([]uint16{3, 224}) // ET_DYN, EM_AMDGPU
	put(uint32(1))
	put([]uint64{0, header, 0}) // entry, program headers, section headers
	put(mach)
	put([]uint16{header, program, 1, 64, 0, 0})
	put([]uint32{4, 4}) // PT_NOTE, readable
	put([]uint64{header + program, header + program, header + program, uint64(note.Len()), uint64(note.Len()), 4})
	image.Write(note.Bytes())
	return image.Bytes()
}

// Bundle returns a bundle of code objects in clang's format, one for each target. A target is a name such as
// "hipv4-amdgcn-amd-amdhsa--gfx906".
func Bundle(targets []string, images ...[]byte) []byte {
	const magic = "__CLANG_OFFLOAD_BUNDLE__"
	at := len(magic) + 8
	for _, target := range targets {
		at += 24 + len(target)
	}
	b := binary.LittleEndian.AppendUint64([]byte(magic), uint64(len(targets)))
	for i, target := range targets {
		b = binary.LittleEndian.AppendUint64(b, uint64(at))
		b = binary.LittleEndian.AppendUint64(b, uint64(len(images[i])))
		b = binary.LittleEndian.AppendUint64(b, uint64(len(target)))
		b = append(b, target...)
		at += len(images[i])
	}
	for _, image := range images {
		b = append(b, image...)
	}
	return b
}

// pack writes MessagePack.
type pack struct{ bytes.Buffer }

func (p *pack) fields(n int) { p.Write([]byte{0xde, byte(n >> 8), byte(n)}) }
func (p *pack) list(n int)   { p.Write([]byte{0xdc, byte(n >> 8), byte(n)}) }

func (p *pack) text(s string) {
	p.Write([]byte{0xd9, byte(len(s))})
	p.WriteString(s)
}

func (p *pack) number(n int) {
	p.WriteByte(0xce)
	_ = binary.Write(p, binary.BigEndian, uint32(n))
}

// metadata returns the note's description of the kernels.
func metadata(kernels []Kernel) []byte {
	var p pack
	p.fields(2)
	p.text("amdhsa.version")
	p.list(2)
	p.number(1)
	p.number(1)
	p.text("amdhsa.kernels")
	p.list(len(kernels))
	for _, k := range kernels {
		p.kernel(k)
	}
	return p.Bytes()
}

func (p *pack) kernel(k Kernel) {
	threads := k.Threads
	if threads == 0 {
		threads = 1024
	}
	p.fields(8)
	p.text(".name")
	p.text(k.Name)
	p.text(".symbol")
	p.text(k.Name + ".kd")
	p.text(".group_segment_fixed_size")
	p.number(k.Shared)
	p.text(".private_segment_fixed_size")
	p.number(0)
	p.text(".max_flat_workgroup_size")
	p.number(threads)
	p.text(".wavefront_size")
	p.number(64)
	p.text(".args")
	p.list(len(k.Takes) + 1)
	off := 0
	for _, letter := range k.Takes {
		size, align, kind := types[letter].size, min(types[letter].size, 8), "by_value"
		off = (off + align - 1) / align * align
		p.fields(3)
		if letter == 'p' {
			p.Truncate(p.Len() - 3)
			p.fields(4)
			p.text(".address_space")
			p.text("global")
			kind = "global_buffer"
		}
		p.text(".offset")
		p.number(off)
		p.text(".size")
		p.number(size)
		p.text(".value_kind")
		p.text(kind)
		off += size
	}
	off = (off + 7) / 8 * 8
	p.fields(3)
	p.text(".offset")
	p.number(off)
	p.text(".size")
	p.number(8)
	p.text(".value_kind")
	p.text("hidden_global_offset_x")
	p.text(".kernarg_segment_size")
	p.number(off + 8)
}
