package image

import (
	"bytes"
	"encoding/binary"
	"strings"
)

// This file makes images for tests, as compilers make them.

var little = binary.LittleEndian

// elfSection is a section of an image that a test makes.
type elfSection struct {
	name string
	kind uint32
	link uint32
	size uint64 // of a section without bytes
	body []byte
}

// makeELF makes an ELF image. The first section is its own, and the last one has the names.
func makeELF(machine uint16, abi byte, flags uint32, segments []elfSection, sections ...elfSection) []byte {
	sections = append(append([]elfSection{{}}, sections...), elfSection{name: ".shstrtab", kind: 3})
	names := []byte{0}
	for _, s := range sections {
		names = append(append(names, s.name...), 0)
	}
	sections[len(sections)-1].body = names

	body := []byte{}
	place := func(b []byte) (off uint64) {
		for len(body)%8 != 0 {
			body = append(body, 0)
		}
		off = headerSize + uint64(len(body))
		body = append(body, b...)
		return off
	}
	var table, programs []byte
	name := uint32(1)
	for i, s := range sections {
		off, size := place(s.body), uint64(len(s.body))
		if s.kind == sectionEmpty {
			size = s.size
		}
		if i == 0 {
			table = append(table, make([]byte, sectionSize)...)
		} else {
			table = little.AppendUint32(table, name)
			table = little.AppendUint32(table, s.kind)
			table = append(table, make([]byte, 16)...) // flags, address
			table = little.AppendUint64(table, off)
			table = little.AppendUint64(table, size)
			table = little.AppendUint32(table, s.link)
			table = append(table, make([]byte, 20)...)
		}
		name += uint32(len(s.name)) + 1
	}
	name = 1
	for _, s := range segments {
		off, size := place(s.body), uint64(len(s.body))
		programs = little.AppendUint32(programs, s.kind)
		programs = little.AppendUint32(programs, 4)
		for _, v := range []uint64{off, off, off, size, size, 4} {
			programs = little.AppendUint64(programs, v)
		}
	}
	programsAt, tableAt := uint64(0), uint64(0)
	if len(programs) > 0 {
		programsAt = place(programs)
	}
	tableAt = place(table)

	head := append([]byte("\x7fELF\x02\x01\x01\x33"), abi, 0, 0, 0, 0, 0, 0, 0)
	head = little.AppendUint16(head, 2)
	head = little.AppendUint16(head, machine)
	head = little.AppendUint32(head, 1)
	head = little.AppendUint64(head, 0)
	head = little.AppendUint64(head, programsAt)
	head = little.AppendUint64(head, tableAt)
	head = little.AppendUint32(head, flags)
	for _, v := range []int{headerSize, programSize, len(segments), sectionSize, len(sections), len(sections) - 1} {
		head = little.AppendUint16(head, uint16(v))
	}
	return append(head, body...)
}

// cubinKernel is a kernel of a cubin that a test makes.
type cubinKernel struct {
	name   string
	info   []byte
	shared uint64
	device bool // a function, not a kernel
}

// attribute is one attribute of .nv.info: numbers of 4 bytes.
func attribute(number byte, values ...uint32) []byte {
	b := []byte{formatSized, number}
	b = little.AppendUint16(b, uint16(4*len(values)))
	for _, v := range values {
		b = little.AppendUint32(b, v)
	}
	return b
}

func infoOf(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

// paramInfo is the attribute of one parameter.
func paramInfo(ordinal, offset, size, space uint32) []byte {
	return attribute(infoParam, 0, ordinal|offset<<16, size<<18|0x1f000|space<<8)
}

// paramBytes is the attribute with the size of all parameters.
func paramBytes(n uint16) []byte {
	return little.AppendUint16([]byte{formatHalf, infoParamBytes}, n)
}

func makeCubin(abi byte, flags uint32, kernels ...cubinKernel) []byte {
	names := []byte{0}
	symbols := make([]byte, symbolSize)
	var global []byte
	sections := []elfSection{{name: ".strtab", kind: 3}, {name: ".symtab", kind: sectionSymbols, link: 1}, {name: ".nv.info", kind: sectionVendor}}
	for _, k := range kernels {
		symbols = little.AppendUint32(symbols, uint32(len(names)))
		other := byte(symbolIsKernel)
		if k.device {
			other = 0
		}
		symbols = append(symbols, 0x12, other)
		symbols = little.AppendUint16(symbols, uint16(len(sections)+1))
		symbols = append(symbols, make([]byte, 16)...)
		names = append(append(names, k.name...), 0)
		sections = append(sections, elfSection{name: ".text." + k.name, kind: 1, body: make([]byte, 16)},
			elfSection{name: ".nv.info." + k.name, kind: sectionVendor, body: k.info},
			elfSection{name: ".nv.shared." + k.name, kind: sectionEmpty, size: k.shared})
	}
	sections[0].body, sections[1].body, sections[2].body = names, symbols, global
	return makeELF(machineCUDA, abi, flags, nil, sections...)
}

// sampleCubin has a kernel of each sort for sm_90.
func sampleCubin() []byte {
	return makeCubin(7, 0x5a055a,
		cubinKernel{name: "saxpy", shared: 1024, info: infoOf([]byte{formatNone, 0x3e, 0, 0}, []byte{formatByte, 0x4c, 1, 0},
			paramInfo(2, 16, 4, 0), paramInfo(1, 8, 8, 0), paramInfo(0, 0, 4, 0), paramBytes(20))},
		cubinKernel{name: "block_sum", shared: 1536, info: infoOf(attribute(5, 256, 1, 1), paramInfo(0, 0, 8, 5), paramBytes(8))},
		cubinKernel{name: "shaped", shared: 1024, info: infoOf(attribute(infoReqThreads, 8, 4, 2),
			attribute(infoParamWide, 0, 0, 8000), attribute(infoParamWide, 0, 1|8000<<16, 5<<24|8), paramBytes(8008))},
		cubinKernel{name: "nothing"},
		cubinKernel{name: "helper", device: true})
}

// packer writes MessagePack.
type packer struct{ bytes.Buffer }

func (p *packer) value(v any) *packer {
	switch v := v.(type) {
	case string:
		switch n := len(v); {
		case n < 32:
			p.WriteByte(0xa0 | byte(n))
		case n < 256:
			p.Write([]byte{0xd9, byte(n)})
		default:
			p.Write([]byte{0xda, byte(n >> 8), byte(n)})
		}
		p.WriteString(v)
	case bool:
		p.WriteByte(0xc2)
		if v {
			p.Bytes()[p.Len()-1]++
		}
	case int:
		switch {
		case v < 128:
			p.WriteByte(byte(v))
		case v < 256:
			p.Write([]byte{0xcc, byte(v)})
		case v < 1<<16:
			p.Write([]byte{0xcd, byte(v >> 8), byte(v)})
		default:
			p.WriteByte(0xce)
			_ = binary.Write(p, binary.BigEndian, uint32(v))
		}
	case []any:
		p.Write([]byte{0xdc, byte(len(v) >> 8), byte(len(v))})
		for _, e := range v {
			p.value(e)
		}
	case fields:
		p.Write([]byte{0xde, byte(len(v) / 2 >> 8), byte(len(v) / 2)})
		for _, e := range v {
			p.value(e)
		}
	case raw:
		p.WriteString(string(v))
	}
	return p
}

// fields are alternating keys and values.
type fields []any

// raw is MessagePack that is written as it is.
type raw string

func note(owner string, kind uint32, text []byte) []byte {
	b := little.AppendUint32(nil, uint32(len(owner)+1))
	b = little.AppendUint32(b, uint32(len(text)))
	b = little.AppendUint32(b, kind)
	b = append(append(b, owner...), 0)
	for len(b)%4 != 0 {
		b = append(b, 0)
	}
	b = append(b, text...)
	for len(b)%4 != 0 {
		b = append(b, 0)
	}
	return b
}

func makeObject(flags uint32, metadata any) []byte {
	notes := append(note("GNU", 3, []byte("12345")), note(metadataOwner, metadataKind, new(packer).value(metadata).Bytes())...)
	return makeELF(machineAMDGPU, 2, flags, []elfSection{{kind: 1, body: make([]byte, 64)}, {kind: programNotes, body: notes}})
}

func arg(size int, kind string, more ...any) fields {
	return append(fields{".size", size, ".value_kind", kind}, more...)
}

// sampleMetadata describes three kernels. threads is the largest number of threads in a block of
// the second.
func sampleMetadata(target string, threads int) fields {
	f := fields{"amdhsa.version", []any{1, 1}, "amdhsa.unknown", fields{"a", []any{raw("\xca\x00\x00\x00\x00"), raw("\xc0"), raw("\xff"), true}}, "amdhsa.kernels", []any{
		fields{".name", "saxpy", ".symbol", "saxpy.kd", ".args", []any{arg(4, "by_value", ".offset", 0), arg(8, "global_buffer", ".access", "read_only", ".name", "x"),
			arg(8, "global_buffer"), arg(8, "hidden_global_offset_x"), arg(8, "hidden_none")}, ".max_flat_workgroup_size", 1024},
		fields{".args", []any{arg(8, "global_buffer", ".is_const", true), arg(32, "by_value"), arg(8, "sampler")}, ".name", "block_sum",
			".group_segment_fixed_size", 70000, ".private_segment_fixed_size", 24, ".max_flat_workgroup_size", threads, ".reqd_workgroup_size", []any{8, 4, 2}},
		fields{".name", "nothing", ".kernarg_segment_size", 0},
		fields{".name", "unsaid", ".kernarg_segment_size", 8}}}
	if target != "" {
		f = append(f, "amdhsa.target", target)
	}
	return f
}

func sampleObject() []byte {
	return makeObject(0x52f, sampleMetadata("amdgcn-amd-amdhsa--gfx906:sramecc+:xnack-", 256))
}

func makeBundle(ids []string, images ...[]byte) []byte {
	at := len(bundleMagic) + 8
	for _, id := range ids {
		at += 24 + len(id)
	}
	b := little.AppendUint64([]byte(bundleMagic), uint64(len(ids)))
	for i, id := range ids {
		b = little.AppendUint64(b, uint64(at))
		b = little.AppendUint64(b, uint64(len(images[i])))
		b = little.AppendUint64(b, uint64(len(id)))
		b = append(b, id...)
		at += len(images[i])
	}
	return append(b, bytes.Join(images, nil)...)
}

// sampleBundle has two architectures, of which the second allows fewer threads in one kernel.
func sampleBundle() []byte {
	return makeBundle([]string{"host-x86_64-unknown-linux--", "hipv4-amdgcn-amd-amdhsa--gfx906", "hipv4-amdgcn-amd-amdhsa--gfx1030"},
		nil, sampleObject(), makeObject(0x36, sampleMetadata("", 128)))
}

const samplePTX = `// .entry commented(.param .u32 no) { }
/* .entry
   also(.param .u32 no) */
.version 8.8
.target sm_90a, debug
.address_size 64
.file 1 "/a \"quoted\" .entry name( {.cu"
.extern .shared .align 16 .b8 dyn[];
.global .align 4 .u32 counter = 3;
.extern .func (.param .b32 r) outside (.param .b64 p);
.extern .entry elsewhere(.param .u64 p);
.weak .entry ahead(.param .u64 p);
.func (.param .b32 r) helper(.param .b64 p, .param .b32 k)
{
	{ // braces within braces
	ret;
	}
}
.visible .entry saxpy(
	.param .f32 saxpy_param_0, // a
	.param .u64 .ptr .global .align 4 saxpy_param_1,
	.param .u64 saxpy_param_2,
	.param .u32 n
)
{
	.reg .b32 %r<3>;
	.pragma "nounroll";
	ret;
}
.weak .entry _Z4tmplIiEvT_(.param .align 16 .b8 p0[32], .param .f64 p1, .param .align 8 .b8 p2[8], .param .b8 p3[2][3], .param .samplerref p4)
.maxntid 64, 4
.minnctapersm 2
{ ret; }
.entry shaped
.reqntid 32, 4, 1
{ ret; }
.visible .entry nothing() { ret; }
`

// samples are images that can be read, by format.
func samples() map[string][]byte {
	return map[string][]byte{
		"PTX": []byte(samplePTX), "cubin": sampleCubin(), "code object": sampleObject(), "bundle": sampleBundle(),
		"newest cubin": makeCubin(8, 0x600780a, cubinKernel{name: "k", shared: 1 << 20, info: infoOf(paramInfo(0, 0, 8, 5), paramBytes(8))}),
		"old cubin":    makeCubin(7, 0x3d053d, cubinKernel{name: "k", shared: 96, info: infoOf(paramInfo(0, 0, 8, 0), paramBytes(8))}),
		"long names":   makeCubin(7, 0x5a055a, cubinKernel{name: strings.Repeat("long", 500), info: paramBytes(0)}),
	}
}
