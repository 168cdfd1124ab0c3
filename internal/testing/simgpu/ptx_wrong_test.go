package simgpu

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Each kernel with a mistake ends with the error that names it, under every seed.
func TestWrongKernelsAreCaught(t *testing.T) {
	ints := func(n int) []int32 { return make([]int32, n) }
	for _, c := range []struct {
		kernel string
		block  uint32
		args   func() []any
		fault  int
		reason string // what the message has, besides the kernel's name
	}{
		{"beyond", 33, func() []any { return []any{ints(32), int32(32)} }, ptxAddress, "thread (32,0,0), line |out of bounds: writes 4 bytes at address 0x100000080 of global memory"},
		{"beyond_shared", 32, func() []any { return []any{ints(32), int32(1)} }, ptxAddress, "thread (31,0,0)|out of bounds: reads 4 bytes at offset 0x80 of shared memory"},
		{"race", 8, func() []any { return []any{ints(8)} }, ptxUndefined, "st.shared.u32|race: writes byte |of shared memory, which thread ("},
		{"no_barrier", 8, func() []any { return []any{ints(8)} }, ptxUndefined, "shared"},
		{"read_then_write", 64, func() []any { return []any{ints(64)} }, ptxUndefined, "race: "},
		{"half_atomic", 8, func() []any { return []any{ints(8)} }, ptxUndefined, "race: "},
		{"never_written", 64, func() []any { return []any{ints(64)} }, ptxUndefined, "ld.shared.u32|reads memory that was never written"},
		{"local_never_written", 1, func() []any { return []any{[]int32{0, 1, 2, 3, 4, 5, 6, 7, 4}, int32(3)} }, ptxUndefined, "ld.local.u32|reads memory that was never written"},
		{"divergent", 5, func() []any { return []any{ints(5)} }, ptxUndefined, "bar.sync|divergent barrier: waits here, while thread (|has ended in line "},
		{"two_barriers", 4, func() []any { return []any{ints(4)} }, ptxUndefined, "divergent barrier: waits here, while thread (|waits at the barrier in line "},
		{"endless", 1, func() []any { return []any{ints(1)} }, ptxEndless, "makes more than 10000 steps"},
		{"misaligned", 4, func() []any { return []any{make([]int8, 16)} }, ptxMisaligned, "misaligned: writes 4 bytes at address 0x10000000"},
		{"by_zero", 4, func() []any { return []any{ints(4), int32(2)} }, ptxUndefined, "thread (2,0,0)|div.s32|divides by zero"},
		{"trapped", 1, func() []any { return []any{[]int32{7}} }, ptxTrap, "trap"},
		{"recursion", 1, func() []any { return []any{ints(2)} }, ptxUndefined, "nested too deeply"},
		{"null_pointer", 1, func() []any { return []any{ints(2), uint64(0)} }, ptxAddress, "out of bounds: reads 4 bytes at address 0x0 "},
		{"constant_written", 1, func() []any { return []any{[]float32{0, 1}} }, ptxAddress, "writes to the constant "},
		{"others_local", 2, func() []any { return []any{ints(2)} }, ptxUndefined, "reads local memory of another thread"},
	} {
		t.Run(c.kernel, func(t *testing.T) {
			k := loadPTX(t, "wrong").kernel(c.kernel)
			k.steps = 10000
			for k.seed = range 10 {
				fault, reason := k.launch(line(1), line(c.block), 0, c.args()...)
				require.Equal(t, c.fault, fault, "seed %d: %s", k.seed, reason)
				require.Contains(t, reason, "kernel "+c.kernel+", block (0,0,0), thread (")
				for part := range strings.SplitSeq(c.reason, "|") {
					require.Contains(t, reason, part, "seed %d", k.seed)
				}
			}
		})
	}
}

// The line in a message is that of the instruction in the text.
func TestErrorsNameTheLine(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "ptx", "wrong.ptx"))
	require.NoError(t, err)
	k := loadPTX(t, "wrong").kernel("by_zero")
	_, reason := k.launch(line(1), line(1), 0, make([]int32, 1), int32(0))
	at, instruction := 0, ""
	_, err = fmt.Sscanf(reason[strings.Index(reason, "line "):], "line %d, %q", &at, &instruction)
	require.NoError(t, err, reason)
	require.Equal(t, instruction, strings.Join(strings.Fields(strings.Split(string(text), "\n")[at-1]), " "))
}

// Whether a thread that waits in a loop for another thread succeeds depends on the order of the
// threads. It never waits for ever.
func TestSpinningIsFoundUnderSomeOrder(t *testing.T) {
	k := loadPTX(t, "wrong").kernel("spin")
	k.steps = 10000
	faults := map[int]int{}
	for k.seed = range 40 {
		fault, _ := k.launch(line(1), line(2), 0, make([]int32, 1))
		faults[fault]++
	}
	require.Len(t, faults, 2)
	require.NotZero(t, faults[ptxOK])
	require.NotZero(t, faults[ptxEndless])
}

// The same kernels run without an error if they are launched as intended.
func TestChecksAllowWhatIsRight(t *testing.T) {
	m := loadPTX(t, "wrong")
	x := make([]int32, 33)
	m.kernel("beyond").must(line(1), line(33), 0, x, int32(32))
	require.EqualValues(t, 32, x[32])
	m.kernel("beyond_shared").must(line(1), line(32), 0, make([]int32, 32), int32(0))
	m.kernel("race").must(line(3), line(1), 0, make([]int32, 1))
	m.kernel("never_written").must(line(1), line(32), 0, make([]int32, 32))
	m.kernel("divergent").must(line(2), line(3), 0, make([]int32, 3))
	m.kernel("by_zero").must(line(1), line(2), 0, make([]int32, 2), int32(2))
	m.kernel("trapped").must(line(1), line(1), 0, make([]int32, 1))
	m.kernel("endless").must(line(1), line(1), 0, []int32{1})
}

func TestMemoryThatMayOnlyBeRead(t *testing.T) {
	k := loadPTX(t, "saxpy").kernel("saxpy")
	y := []float32{1, 2}
	fault, reason := k.launch(line(1), line(2), 0, constant{y}, []float32{1, 1}, float32(1), uint32(2))
	require.Equal(t, ptxAddress, fault)
	require.Contains(t, reason, "writes 4 bytes at address 0x100000000")
	require.Equal(t, []float32{1, 2}, y)
}

const head = ".version 8.0\n.target sm_80\n.address_size 64\n"

// inKernel puts instructions into a kernel with registers of each type and one parameter.
func inKernel(body string) string {
	return head + `.visible .entry k(.param .u64 p) {
	.reg .pred %p<4>;
	.reg .b16 %h<4>;
	.reg .b32 %r<8>;
	.reg .f32 %f<4>;
	.reg .f64 %d<4>;
	.reg .b64 %l<4>;
	.reg .s32 %s<4>;
	.shared .align 4 .b8 sh[16];
	.local .align 4 .b8 lo[16];
` + body + "\n}\n"
}

// Unknown instructions and text that is not PTX are refused with the line and the name.
func TestTextsAreRefused(t *testing.T) {
	const at = "line 14: "
	for _, c := range [][2]string{
		{"", "line 1: PTX begins with .version"},
		{".version 8", `line 1: "8" is not a version`},
		{".version 8.0\n.target gfx90a\n", `line 2: target "gfx90a" is not supported`},
		{".version 8.0\n.target sm_80\n.address_size 32\n", "line 3: addresses must have 64 bits"},
		{".version 8.0\n.target sm_80\n.visible .entry k() { ret; }", "line 3: .address_size 64 is missing"},
		{head + ".surfref s;\n", `line 4: directive ".surfref" is not supported`},
		{head + ".entry k() { ret;", "line 4: a block does not end"},
		{head + ".entry k() { ret }", `line 4: an operand must be here`},
		{head + ".entry k() .blocksareclusters { ret; }", `line 4: directive ".blocksareclusters" is not supported here`},
		{head + ".entry k() { ret; }\n.entry k() { ret; }", `line 5: "k" is defined twice`},
		{head + ".entry k(.reg .u32 %r) { ret; }", `line 4: a parameter begins with .param, not ".reg"`},
		{head + ".global .u32 x[2] = {1, 2, 3};", `line 4: "x" has more initial values than elements`},
		{head + ".extern .global .u32 x;", `line 4: "x" is defined in another module, which is not supported`},
		{head + ".func f();\n.entry k() { call f, (); }", `function "f" is called and not defined`},
		{head + ".shared .b8 a[300000];\n", `line 4: "a" is larger than the shared memory of a block`},
		{head + "/* no end", "line 4: a comment does not end"},
		{head + ".file 1 \"no end\n", "line 4: a string does not end"},
		{head + "\x01", "line 4: byte 0x01 is not part of PTX"},
		{inKernel("shfl.sync.down.b32 %r1|%p1, %r2, 1, 31, -1;"), at + `"shfl.sync.down.b32" is not supported; shfl.sync.idx is`},
		{inKernel("shfl.sync.idx.b64 %r1, %r2, 1, 31, -1;"), at + `"shfl.sync.idx.b64" has a type that it cannot have`},
		{inKernel("vote.sync.ballot.b32 %r1, %p1, -1;"), at + `instruction "vote.sync.ballot.b32" is not supported`},
		{inKernel("activemask.b32 %r1;"), at + `instruction "activemask.b32" is not supported`},
		{inKernel("bar.warp.sync -1;"), at + `modifier ".warp" of "bar.warp.sync" is not supported`},
		{inKernel("bar.arrive 0, 32;"), at + `"bar.arrive" is not a barrier that is supported`},
		{inKernel("bar.sync 0, 32;"), at + `"bar.sync" with a number of threads is not supported`},
		{inKernel("tex.1d.v4.s32.s32 {%r1, %r2, %r3, %r4}, [t, {%r5}];"), at},
		{inKernel("add.f16 %h1, %h2, %h3;"), at + `modifier ".f16" of "add.f16" is not supported`},
		{inKernel("add.u32.wobbly %r1, %r2, %r3;"), at + `modifier ".wobbly" of "add.u32.wobbly" is not supported`},
		{inKernel("add %r1, %r2, %r3;"), at + `"add" has no type`},
		{inKernel("add.u32 %r1, %r2;"), at + `"add.u32" has 2 operands instead of 3`},
		{inKernel("add.u32 %r1, %r2, %r9;"), at + `register %r9 is not declared, or not supported`},
		{inKernel("add.u32 %r1, %r2, %l1;"), at + `operand "%l1" of "add.u32" has the wrong type`},
		{inKernel("add.f32 %f1, %f2, %s1;"), at + `operand "%s1" of "add.f32" has the wrong type`},
		{inKernel("add.f32 %f1, %f2, 1;"), at + `an integer is not allowed as a floating-point number`},
		{inKernel("mul.u32 %r1, %r2, %r3;"), at + `"mul.u32" needs one modifier for the half of the product`},
		{inKernel("fma.f32 %f1, %f2, %f3, %f1;"), at + `"fma.f32" needs one modifier for rounding`},
		{inKernel("and.u32 %r1, %r2, %r3;"), at + `"and.u32" has a type that it cannot have`},
		{inKernel("cvt.u32.f32 %r1, %f1;"), at + `"cvt.u32.f32" is not a conversion of PTX`},
		{inKernel("setp.lo.s32 %p1, %r1, %r2;"), at + `"setp.lo.s32" has a type that it cannot have`},
		{inKernel("ld.param.u64 %l1, [q];"), at},
		{inKernel("ld.shared.u32 %r1, [lo];"), at + `"lo" is not in the space that "ld.shared.u32" uses`},
		{inKernel("st.const.u32 [%l1], %r1;"), at + `"st.const.u32" writes to memory that cannot be written`},
		{inKernel("ld.global.v2.u32 %r1, [%l1];"), at + `the operand of "ld.global.v2.u32" must have 2 elements`},
		{inKernel("ld.global.v3.u32 {%r1,%r2,%r3}, [%l1];"), at + `modifier ".v3"`},
		{inKernel("bra NOWHERE;"), at + `there is no label "NOWHERE" to jump to`},
		{inKernel("A: A: ret;"), at + `label "A" is declared twice`},
		{inKernel("{ B: ret; } bra B;"), at + `there is no label "B" to jump to`},
		{inKernel(".reg .b32 %r<2>;"), at + `"%r" is declared twice`},
		{inKernel(".reg .f16 %q;"), at + `a register has type ".f16", which is not supported`},
		{inKernel(".tex .u64 t;"), at + `directive ".tex" is not supported here`},
		{inKernel(".pragma \"odd\";"), at + `.pragma "odd" is not supported`},
		{inKernel("mov.u32 %r1, WARP_SZ;"), at + `"WARP_SZ" is not declared`},
		{inKernel("mov.u32 %r1, %envreg3;"), at + `register %envreg3 is not declared, or not supported`},
		{inKernel("mov.u32 %r1, 99999999999999999999;"), at + `"99999999999999999999" is not a number, or too large`},
		{inKernel("mov.u32 %r1, 08;"), at + `"08" is not a number, or too large`},
		{inKernel("call.uni %l1, (), proto;"), at + "a call through a register is not supported"},
		{inKernel("call.uni vprintf, ();"), at + `function "vprintf" is not declared`},
		{inKernel("atom.global.add.u16 %h1, [%l1], %h2;"), at},
		{inKernel("atom.shared.cas.b128 %l1, [%l1], %l2, %l3;"), at + `modifier ".b128"`},
		{inKernel("@%r1 bra X;"), at + "a predicate must follow '@'"},
		{inKernel("cp.async.ca.shared.global [%r1], [%l1], 4;"), at + `instruction "cp.async.ca.shared.global" is not supported`},
	} {
		m, reason := parsePTX(t, c[0])
		require.Nil(t, m, c[0])
		require.Contains(t, reason, c[1], "%s", c[0])
	}
}

// runsAs runs instructions that leave a result in %l1, and returns it.
func runsAs(t *testing.T, body string) (uint64, string) {
	t.Helper()
	m, reason := parsePTX(t, inKernel(body+"\nld.param.u64 %l3, [p];\nst.global.u64 [%l3], %l1;\nret;"))
	require.NotNil(t, m, "%s: %s", body, reason)
	out := []uint64{0}
	fault, reason := m.kernel("k").launch(line(1), line(1), 0, out)
	if fault != 0 {
		return 0, reason
	}
	return out[0], ""
}

// Instructions whose rules are easy to get wrong, one by one.
func TestInstructions(t *testing.T) {
	for body, want := range map[string]uint64{
		"mov.b64 %l1, 0x10;":  16,
		"mov.b64 %l1, 010;":   8,
		"mov.b64 %l1, 0b101;": 5,
		"mov.u64 %l1, -1;":    1<<64 - 1,
		"mov.b64 %l1, 1.5;":   0x3ff8000000000000,
		"mov.f32 %f1, 1.5; mov.b32 %r1, %f1; cvt.u64.u32 %l1, %r1;":                                                             0x3fc00000,
		"mov.u32 %r1, 0x12345678; mov.u32 %r2, 0x9abcdef0; mov.b64 %l1, {%r1, %r2};":                                            0x9abcdef012345678,
		"mov.b64 %l2, 0x9abcdef012345678; mov.b64 {_, %r1}, %l2; cvt.u64.u32 %l1, %r1;":                                         0x9abcdef0,
		"mov.b32 %r1, 0xff80; cvt.s64.s8 %l1, %r1;":                                                                             0xffffffffffffff80,
		"mov.b32 %r1, 0xff80; cvt.u64.u8 %l1, %r1;":                                                                             0x80,
		"mov.b32 %r1, 300; cvt.sat.u8.s32 %r2, %r1; cvt.u64.u32 %l1, %r2;":                                                      255,
		"mov.b32 %r1, -300; cvt.sat.s8.s32 %r2, %r1; cvt.s64.s32 %l1, %r2;":                                                     0xffffffffffffff80,
		"mov.b32 %r1, -300; cvt.sat.u16.s32 %r2, %r1; cvt.u64.u32 %l1, %r2;":                                                    0,
		"mov.b64 %l2, -1; cvt.sat.s32.u64 %r2, %l2; cvt.u64.u32 %l1, %r2;":                                                      0x7fffffff,
		"mov.b32 %r1, 0x7fffffff; add.sat.s32 %r2, %r1, %r1; cvt.u64.u32 %l1, %r2;":                                             0x7fffffff,
		"mov.b32 %r1, 0x80000000; sub.sat.s32 %r2, %r1, 1; cvt.u64.u32 %l1, %r2;":                                               0x80000000,
		"mov.b32 %r1, 5; mov.b32 %r2, 40; shl.b32 %r3, %r1, %r2; cvt.u64.u32 %l1, %r3;":                                         0,
		"mov.b32 %r1, 0x80000000; mov.b32 %r2, 40; shr.s32 %r3, %r1, %r2; cvt.u64.u32 %l1, %r3;":                                0xffffffff,
		"mov.b32 %r1, 0x80000000; div.s32 %r3, %r1, -1; cvt.u64.u32 %l1, %r3;":                                                  0x80000000,
		"mov.b32 %r1, 0x80000000; rem.s32 %r3, %r1, -1; cvt.u64.u32 %l1, %r3;":                                                  0,
		"mov.b32 %r1, -7; rem.s32 %r3, %r1, 4; cvt.s64.s32 %l1, %r3;":                                                           1<<64 - 3,
		"mov.b32 %r1, 0xabcd1234; bfe.u32 %r3, %r1, 8, 12; cvt.u64.u32 %l1, %r3;":                                               0xd12,
		"mov.b32 %r1, 0xabcd1234; bfe.s32 %r3, %r1, 24, 16; cvt.u64.u32 %l1, %r3;":                                              0xffffffab,
		"mov.b32 %r1, 0xabcd1234; bfe.u32 %r3, %r1, 40, 4; cvt.u64.u32 %l1, %r3;":                                               0,
		"mov.b32 %r1, 0xff; mov.b32 %r2, 0x12345678; bfi.b32 %r3, %r1, %r2, 8, 8; cvt.u64.u32 %l1, %r3;":                        0x1234ff78,
		"mov.b32 %r1, 0x00f0; bfind.u32 %r3, %r1; cvt.u64.u32 %l1, %r3;":                                                        7,
		"mov.b32 %r1, 0x00f0; bfind.shiftamt.u32 %r3, %r1; cvt.u64.u32 %l1, %r3;":                                               24,
		"mov.b32 %r1, -1; bfind.s32 %r3, %r1; cvt.u64.u32 %l1, %r3;":                                                            0xffffffff,
		"mov.b32 %r1, 0; clz.b32 %r3, %r1; cvt.u64.u32 %l1, %r3;":                                                               32,
		"mov.b32 %r1, 0x03020100; mov.b32 %r2, 0x87868584; prmt.b32 %r3, %r1, %r2, 0xf74c; cvt.u64.u32 %l1, %r3;":               0xff8784ff,
		"mov.b32 %r1, 0x03020100; mov.b32 %r2, 0x07060504; prmt.b32.f4e %r3, %r1, %r2, 3; cvt.u64.u32 %l1, %r3;":                0x06050403,
		"mov.b32 %r1, 0x03020100; mov.b32 %r2, 0x07060504; prmt.b32.b4e %r3, %r1, %r2, 1; cvt.u64.u32 %l1, %r3;":                0x06070001,
		"mov.b32 %r1, 0x03020100; mov.b32 %r2, 0; prmt.b32.rc16 %r3, %r1, %r2, 1; cvt.u64.u32 %l1, %r3;":                        0x03020302,
		"mov.b32 %r1, 0xf0; mov.b32 %r2, 0xcc; mov.b32 %r3, 0xaa; lop3.b32 %r4, %r1, %r2, %r3, 0x96; cvt.u64.u32 %l1, %r4;":     0x96,
		"mov.b32 %r1, 0x80000001; shf.l.wrap.b32 %r3, %r1, %r1, 33; cvt.u64.u32 %l1, %r3;":                                      3,
		"mov.b32 %r1, 0x80000001; mov.b32 %r2, 7; shf.r.clamp.b32 %r3, %r1, %r2, 33; cvt.u64.u32 %l1, %r3;":                     7,
		"mov.b32 %r1, 5; setp.lt.s32 %p1|%p2, %r1, 7; selp.u64 %l1, 1, 0, %p1; selp.u64 %l2, 2, 0, %p2; add.u64 %l1, %l1, %l2;": 1,
		"setp.eq.u32 %p1, 0, 0; setp.lt.and.s32 %p2|%p3, 9, 7, %p1; selp.u64 %l1, 1, 0, %p3;":                                   1,
		"setp.eq.u32 %p1, 0, 0; setp.lt.and.s32 %p2|%p3, 9, 7, !%p1; selp.u64 %l1, 1, 0, %p3;":                                  0,
		"setp.eq.f32 %p1, 0f7fc00000, 0f7fc00000; selp.u64 %l1, 1, 0, %p1;":                                                     0,
		"setp.neu.f32 %p1, 0f7fc00000, 0f7fc00000; selp.u64 %l1, 1, 0, %p1;":                                                    1,
		"setp.ne.f32 %p1, 0f7fc00000, 0f3f800000; selp.u64 %l1, 1, 0, %p1;":                                                     0,
		"set.gt.u32.s32 %r1, 3, 2; cvt.u64.u32 %l1, %r1;":                                                                       0xffffffff,
		"set.gt.f32.u32 %f1, 3, 2; mov.b32 %r1, %f1; cvt.u64.u32 %l1, %r1;":                                                     0x3f800000,
		"slct.u64.s32 %l1, 4, 5, -1;":         5,
		"slct.u64.f32 %l1, 4, 5, 0f80000000;": 4,
		"add.ftz.f32 %f1, 0f00000001, 0f00000001; mov.b32 %r1, %f1; cvt.u64.u32 %l1, %r1;":                                                        0,
		"mul.ftz.f32 %f1, 0f80000001, 0f3f800000; mov.b32 %r1, %f1; cvt.u64.u32 %l1, %r1;":                                                        0x80000000,
		"add.sat.f32 %f1, 0f40000000, 0f40000000; mov.b32 %r1, %f1; cvt.u64.u32 %l1, %r1;":                                                        0x3f800000,
		"add.sat.f32 %f1, 0f7fc00000, 0f40000000; mov.b32 %r1, %f1; cvt.u64.u32 %l1, %r1;":                                                        0,
		"cvt.rz.f32.f64 %f1, 0d3ff0000010000000; mov.b32 %r1, %f1; cvt.u64.u32 %l1, %r1;":                                                         0x3f800000,
		"cvt.rp.f32.f64 %f1, 0d3ff0000010000000; mov.b32 %r1, %f1; cvt.u64.u32 %l1, %r1;":                                                         0x3f800001,
		"cvt.rm.f32.u64 %f1, 0xffffffffffffffff; mov.b32 %r1, %f1; cvt.u64.u32 %l1, %r1;":                                                         0x5f7fffff,
		"cvt.rni.f64.f64 %d1, 0d4004000000000000; mov.b64 %l1, %d1;":                                                                              0x4000000000000000,
		"copysign.f64 %d1, 0dbff0000000000000, 0d4000000000000000; mov.b64 %l1, %d1;":                                                             0xc000000000000000,
		"testp.subnormal.f32 %p1, 0f00000001; selp.u64 %l1, 1, 0, %p1;":                                                                           1,
		"testp.normal.f64 %p1, 0d0000000000000001; selp.u64 %l1, 1, 0, %p1;":                                                                      0,
		"min.NaN.f32 %f1, 0f7fc00000, 0f40000000; mov.b32 %r1, %f1; cvt.u64.u32 %l1, %r1;":                                                        0x7fffffff,
		"add.cc.u32 %r1, 0xffffffff, 1; addc.u32 %r2, 5, 5; cvt.u64.u32 %l1, %r2;":                                                                11,
		"sub.cc.u32 %r1, 0, 1; subc.cc.u32 %r2, 0, 0; subc.u32 %r3, 9, 0; cvt.u64.u32 %l1, %r3;":                                                  8,
		"mad.lo.cc.u32 %r1, 0x10000, 0xffff, 0xffffffff; madc.hi.u32 %r2, 0x10000, 0x10000, 0; cvt.u64.u32 %l1, %r2;":                             2,
		"mul24.lo.s32 %r1, 0x00ffffff, 3; cvt.u64.u32 %l1, %r1;":                                                                                  0xfffffffd,
		"sad.s32 %r1, -3, 4, 10; cvt.u64.u32 %l1, %r1;":                                                                                           17,
		"mov.u64 %l2, sh; cvta.shared.u64 %l2, %l2; isspacep.shared %p1, %l2; selp.u64 %l1, 1, 0, %p1;":                                           1,
		"mov.u64 %l2, lo; cvta.local.u64 %l2, %l2; isspacep.global %p1, %l2; selp.u64 %l1, 1, 0, %p1;":                                            0,
		"mov.u32 %r1, sh; st.shared.u32 [%r1+8], 77; ld.shared.u16 %r2, [sh+8]; cvt.u64.u32 %l1, %r2;":                                            77,
		"mov.u64 %l2, sh; cvta.shared.u64 %l2, %l2; st.u32 [%l2+4], 5; ld.shared.s8 %l1, [sh+4];":                                                 5,
		"st.local.u8 [lo], -2; ld.local.s8 %l1, [lo];":                                                                                            1<<64 - 2,
		"st.local.u8 [lo], -2; ld.local.u8 %l1, [lo];":                                                                                            254,
		"st.local.v2.u32 [lo+8], {7, 9}; ld.local.v2.b32 {%r1, %r2}, [lo+8]; mov.b64 %l1, {%r2, %r1};":                                            7<<32 | 9,
		"st.shared.u32 [sh], 6; atom.shared.add.u32 %r1, [sh], 4; red.shared.max.s32 [sh], 50; ld.shared.u32 %r2, [sh]; mov.b64 %l1, {%r1, %r2};": 50<<32 | 6,
		"mov.u32 %r1, 1; T: .branchtargets A, B, C; brx.idx %r1, T; A: mov.u64 %l1, 1; bra D; B: mov.u64 %l1, 2; bra D; C: mov.u64 %l1, 3; D:":    2,
		"mov.u64 %l1, 3; { .reg .b64 %l1; mov.u64 %l1, 4; }":                                                                                      3,
		"mov.u64 %l1, 0; bra.uni A; mov.u64 %l1, 1; A: @!%p1 mov.u64 %l1, 1;":                                                                     0, // refused below
	} {
		got, reason := runsAs(t, body)
		if strings.Contains(body, "@!%p1") {
			require.Contains(t, reason, "depends on a predicate that was never written")
			continue
		}
		require.Empty(t, reason, body)
		require.Equal(t, want, got, "%s: %#x", body, got)
	}
}

// A value that was never written may be copied, also to global memory, as padding is with its structure; but not used.
func TestValuesNeverWritten(t *testing.T) {
	const unwritten = "uses a value that was never written"
	for body, want := range map[string]string{
		"add.u64 %l1, %l2, 1;":                                                              unwritten,
		"mov.u64 %l1, %l2;":                                                                 "",
		"mov.u64 %l1, 1; mov.u64 %l2, %l3;":                                                 "",
		"ld.global.u64 %l1, [%l2];":                                                         unwritten,
		"ld.local.u32 %r1, [lo]; mov.u64 %l1, 1;":                                           "reads memory that was never written",
		"st.local.u8 [lo], 1; ld.local.u32 %r1, [lo]; mov.u64 %l1, 1;":                      "",
		"st.local.u8 [lo], 1; ld.local.u32 %r1, [lo]; cvt.u64.u32 %l1, %r1;":                unwritten,
		"st.local.u8 [lo], 1; ld.local.u32 %r1, [lo]; cvt.u64.u8 %l1, %r1;":                 "",
		"st.local.u32 [lo], %r1; mov.u64 %l1, 1;":                                           "",
		"st.local.u32 [lo], %r1; ld.local.u32 %r2, [lo]; mov.u64 %l1, 1;":                   "reads memory that was never written",
		"mov.u32 %r1, 1; mov.b64 %l2, {%r1, %r2}; cvt.u64.u32 %l1, %l2;":                    "",
		"mov.u32 %r1, 1; mov.b64 %l2, {%r1, %r2}; add.u64 %l1, %l2, 1;":                     unwritten,
		"selp.u32 %r1, %r2, %r3, %p1; mov.u64 %l1, 1;":                                      unwritten,
		"setp.eq.u32 %p1, 1, 1; selp.u32 %r1, 5, %r3, %p1; cvt.u64.u32 %l1, %r1;":           "",
		"atom.shared.add.u32 %r1, [sh], 1; mov.u64 %l1, 1;":                                 "changes memory that was never written",
		"atom.shared.exch.b32 %r1, [sh], 1; ld.shared.u32 %r1, [sh]; cvt.u64.u32 %l1, %r1;": "",
		"div.u64 %l1, 5, %l2;":                                                              unwritten,
		"bar.sync %r1;":                                                                     unwritten,
		"mov.u32 %r1, 16; bar.sync %r1;":                                                    "there is no barrier 16",
		"mov.u32 %r1, 3; T: .branchtargets A; brx.idx %r1, T; A:":                           "jumps to label 3 of a list of 1",
		"st.shared.u32 [sh+16], 1;":                                                         "out of bounds: writes 4 bytes at offset 0x10 of shared memory",
		"st.local.u32 [lo+16], 1;":                                                          "out of bounds: writes 4 bytes at offset 0x10 of local memory",
		"ld.param.u32 %r1, [p+8]; mov.u64 %l1, 1;":                                          "of the parameters",
		"st.shared.v2.u32 [sh+4], {1, 1};":                                                  "misaligned: writes 8 bytes",
	} {
		_, reason := runsAs(t, body)
		if want == "" {
			require.Empty(t, reason, body)
		} else {
			require.Contains(t, reason, want, body)
		}
	}
	got, _ := runsAs(t, "mov.u32 %r1, 7; mov.b64 %l1, {%r1, %r2};")
	require.Equal(t, uint64(0xabababab00000007), got, "undefined bytes are no zeros")
}

// What a driver asks for when it loads a module.
func TestModulesAreDescribed(t *testing.T) {
	m, reason := parsePTX(t, ".version 8.8\n.target sm_90a\n.address_size 64\n"+`
.extern .shared .align 16 .b8 dyn[];
.shared .align 8 .b8 both[24];
.global .align 4 .u32 table[] = {1, 2, 3};
.func (.param .b32 r) helper(.param .b32 x);
.visible .entry one(.param .u64 .ptr .global .align 16 a, .param .align 4 .b8 s[12], .param .u8 c) .reqntid 8, 4 .minnctapersm 2 { .shared .f32 own; .local .b8 l[5]; .reg .b32 %r; mov.u32 %r, both; mov.u32 %r, own; mov.u32 %r, dyn; ret; }
.entry two() .maxntid 128 { .reg .b32 %r; mov.u32 %r, dyn; ret; }
.func (.param .b32 r) helper(.param .b32 x) { ret; }
`)
	require.NotNil(t, m, reason)
	require.EqualValues(t, 90, m.lib.Target.Call1(m.m))
	require.EqualValues(t, 2, m.lib.Entries.Call1(m.m))
	one, two := m.kernel("one"), m.kernel("two")
	require.Equal(t, []ptxParam{{8, 8, 0, 1}, {12, 4, 8, 0}, {1, 1, 20, 0}}, one.params)
	require.EqualValues(t, 21, one.size)
	require.EqualValues(t, 28, one.shared)
	require.EqualValues(t, 5, one.local)
	require.Equal(t, [3]uint64{8, 4, 1}, one.req)
	require.Empty(t, two.params)
	require.Zero(t, two.shared)
	require.Equal(t, [3]uint64{128, 1, 1}, two.max)
	require.NotNil(t, m.variable("table", 12))
	fault, reason := one.launch(line(1), line(8), 0, []int32{1}, [12]byte{}, uint8(1))
	require.Equal(t, ptxLaunch, fault)
	require.Contains(t, reason, "the block must be (8,4,1)")
	two.must(line(1), line(1), 64)
}

// Texts that are changed at random must not make the parser or the interpreter touch memory that does not belong
// to them.
func TestChangedTextsDoNoHarm(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the simulation needs Linux")
	}
	if testing.Short() {
		t.Skip("short: the interpreter is not built under sanitizers")
	}
	cc, err := Compiler()
	if err != nil {
		t.Skip("no C compiler: ", err)
	}
	binary := sanitized(t, cc, "address,undefined", "ptx_fuzz.c", func(object string) bool { return object == "ptx_parse.o" || object == "ptx_run.o" })
	texts, err := filepath.Glob(filepath.Join("testdata", "ptx", "*.ptx"))
	require.NoError(t, err)
	out, err := exec.Command(binary, append([]string{"1", "2000"}, texts...)...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	var rounds, parsed, ran, right int
	_, err = fmt.Sscanf(string(out), "%d texts, %d parsed, %d launches, %d right", &rounds, &parsed, &ran, &right)
	require.NoError(t, err, "%s", out)
	require.Equal(t, 2000, rounds)
	require.Greater(t, parsed, 50)
	require.Greater(t, right, 50)
	require.Greater(t, ran, right)
}

// Races of threads that run one after the other, in the natural order.
func TestRacesOfEachKind(t *testing.T) {
	for body, want := range map[string]string{
		"ld.shared.u32 %r2, [sh]; setp.ne.u32 %p1, %r1, 1; @%p1 bra E; st.shared.u32 [sh], 2; E:":                          "race: writes byte 0 of shared memory, which other threads read since",
		"ld.shared.u32 %r2, [sh]; setp.ne.u32 %p1, %r1, 0; @%p1 bra E; st.shared.u32 [sh], 2; E:":                          "race: reads byte 0 of shared memory, which thread (0,0,0) wrote since",
		"setp.ne.u32 %p1, %r1, 0; @!%p1 ld.shared.u8 %r2, [sh+3]; @%p1 st.shared.u8 [sh+3], 2;":                            "race: writes byte 3 of shared memory, which thread (0,0,0) read since",
		"setp.ne.u32 %p1, %r1, 0; @!%p1 ld.shared.u8 %r2, [sh+3]; @%p1 st.shared.u16 [sh], 2; bar.sync 0;":                 "race: writes byte 0 of shared memory, which thread (1,0,0) wrote since",
		"setp.ne.u32 %p1, %r1, 0; @!%p1 st.shared.u32 [sh], 2; @%p1 atom.shared.add.u32 %r2, [sh], 1;":                     "race: writes byte 0 of shared memory, which thread (0,0,0) wrote since",
		"setp.ne.u32 %p1, %r1, 2; @!%p1 st.shared.u32 [sh], 2; @%p1 red.shared.add.u32 [sh], 1;":                           "race: writes byte 0 of shared memory, which other threads wrote since",
		"setp.ne.u32 %p1, %r1, 0; @!%p1 ld.shared.u32 %r2, [sh]; @%p1 red.shared.add.u32 [sh], 1;":                         "race: writes byte 0 of shared memory, which thread (0,0,0) read since",
		"red.shared.add.u32 [sh], 1; atom.shared.max.u32 %r2, [sh], 7;":                                                    "",
		"red.shared.add.u32 [sh], 1; bar.sync 0; ld.shared.u32 %r2, [sh];":                                                 "",
		"ld.shared.u32 %r2, [sh]; bar.sync 0; setp.ne.u32 %p1, %r1, 1; @%p1 bra E; st.shared.u32 [sh], 2; E:":              "",
		"setp.ne.u32 %p1, %r1, 1; @%p1 bra E; st.shared.u32 [sh], 2; ld.shared.u32 %r2, [sh]; st.shared.u32 [sh], 3; E:":   "",
		"add.u32 %r2, %r1, %r1; mov.u32 %r3, sh; add.u32 %r3, %r3, %r2; st.shared.u16 [%r3], 1; ld.shared.u16 %r4, [%r3];": "",
	} {
		m, reason := parsePTX(t, inKernel(`mov.u32 %r1, %tid.x; setp.eq.u32 %p3, %r1, 0; @!%p3 bra S; st.shared.v4.u32 [sh], {0, 0, 0, 0}; S: bar.sync 1;
`+body+"\nret;"))
		require.NotNil(t, m, "%s: %s", body, reason)
		fault, reason := m.kernel("k").launch(line(1), line(3), 0, []uint64{0})
		if want == "" {
			require.Zero(t, fault, "%s: %s", body, reason)
			continue
		}
		require.Equal(t, ptxUndefined, fault, body)
		require.Contains(t, reason, want, body)
	}
}

// The threads of a warp, of which the last of a block may have fewer than 32, give each other values. What a lane gives that does not take part is any value.
func TestWarpsExchange(t *testing.T) {
	const all = `mov.u32 %r1, %tid.x; mov.u32 %r7, %laneid; setp.lt.u32 %p1, %r1, 32; selp.b32 %r2, -1, 255, %p1; mul.lo.u32 %r3, %r1, 3; add.u32 %r4, %r1, 1;
`
	const put = `
ld.param.u64 %l1, [p]; mul.wide.u32 %l2, %r1, 4; add.u64 %l1, %l1, %l2; st.global.u32 [%l1], %r5; ret;`
	run := func(body string) ([]uint32, int, string) {
		m, reason := parsePTX(t, inKernel(all+body+put))
		require.NotNil(t, m, "%s: %s", body, reason)
		out := make([]uint32, 40)
		fault, reason := m.kernel("k").launch(line(1), line(40), 0, out)
		return out, fault, reason
	}
	got, fault, reason := run("shfl.sync.idx.b32 %r5|%p2, %r3, %r4, 31, %r2; @%p2 add.u32 %r5, %r5, %r7;")
	require.Zero(t, fault, reason)
	for i := range 39 {
		require.EqualValues(t, (i&^31+(i+1)&31)*3+i&31, got[i], i)
	}
	got, fault, reason = run("shfl.sync.idx.b32 %r5, %r3, %r4, 31, %r2; bar.sync 0; shfl.sync.idx.b32 %r5, %r5, 0, 31, %r2;")
	require.Zero(t, fault, reason)
	require.Equal(t, []uint32{3, 99}, []uint32{got[9], got[39]})
	for body, want := range map[string]string{
		"shfl.sync.idx.b32 %r5, %r3, %r4, 31, -1;":                                          "waits for lane 8, and the block has no such thread",
		"shfl.sync.idx.b32 %r5, %r3, %r4, 31, 254;":                                         "is not one of the lanes 0xfe",
		"shfl.sync.idx.b32 %r5, %r3, %r4, 7, %r2;":                                          "exchanges values within parts of a warp",
		"shfl.sync.idx.b32 %r5, %r6, %r4, 31, %r2; add.u32 %r5, %r5, 1;":                    "uses a value that was never written",
		"setp.eq.u32 %p1, %r1, 35; @%p1 ret; shfl.sync.idx.b32 %r5, %r3, 0, 31, 9;":         "is not one of the lanes 0x9",
		"setp.eq.u32 %p1, %r1, 35; @%p1 ret; shfl.sync.idx.b32 %r5, %r3, 0, 31, %r2;":       "divergent warp: waits here, while thread (35,0,0) has ended in line",
		"setp.eq.u32 %p1, %r1, 3; @%p1 bar.sync 0; shfl.sync.idx.b32 %r5, %r3, 0, 31, %r2;": "divergent warp: waits here, while thread (3,0,0) waits in line",
		"st.shared.u32 [sh], 1; shfl.sync.idx.b32 %r5, %r3, 0, 31, %r2;":                    "race: writes byte 0 of shared memory",
	} {
		_, fault, reason := run(body)
		require.Equal(t, ptxUndefined, fault, body)
		require.Contains(t, reason, want, body)
	}
}

// A called function reads the arguments that its caller stored, and never those of earlier calls.
func TestArgumentsNeverWritten(t *testing.T) {
	const function = head + `.func (.param .b32 out) twice(.param .b32 in) {
	.reg .b32 %r<3>;
	ld.param.b32 %r1, [in];
	add.u32 %r2, %r1, %r1;
	st.param.b32 [out], %r2;
	ret;
}
.entry k(.param .u64 p) {
	.reg .b32 %r<3>;
	.reg .b64 %l;
	ld.param.u64 %l, [p];
	{ .param .b32 a; .param .b32 r; st.param.b32 [a], 21; call (r), twice, (a); ld.param.b32 %r1, [r]; }
	st.global.u32 [%l], %r1;
`
	m, reason := parsePTX(t, function+"ret; }")
	require.NotNil(t, m, reason)
	out := []uint32{0}
	m.kernel("k").must(line(1), line(1), 0, out)
	require.EqualValues(t, 42, out[0])
	m, reason = parsePTX(t, function+"{ .param .b32 a; .param .b32 r; call (r), twice, (a); } ret; }")
	require.NotNil(t, m, reason)
	fault, reason := m.kernel("k").launch(line(1), line(1), 0, out)
	require.Equal(t, ptxUndefined, fault)
	require.Contains(t, reason, `"ld.param.b32 %r1, [in];": reads memory that was never written`)
}

// A result that a function did not store is not the result of an earlier call.
func TestResultsNeverWritten(t *testing.T) {
	m, reason := parsePTX(t, head+`.func (.param .b32 out) some(.param .b32 in) {
	.reg .b32 %r;
	.reg .pred %p;
	ld.param.b32 %r, [in];
	setp.eq.u32 %p, %r, 0;
	@%p bra E;
	st.param.b32 [out], %r;
E:	ret;
}
.entry k(.param .u32 second) {
	.reg .b32 %r<3>;
	ld.param.u32 %r2, [second];
	{ .param .b32 a; .param .b32 r; st.param.b32 [a], 21; call (r), some, (a); ld.param.b32 %r1, [r]; }
	{ .param .b32 a; .param .b32 r; st.param.b32 [a], %r2; call (r), some, (a); ld.param.b32 %r1, [r]; }
	ret;
}`)
	require.NotNil(t, m, reason)
	m.kernel("k").must(line(1), line(1), 0, uint32(1))
	fault, reason := m.kernel("k").launch(line(1), line(1), 0, uint32(0))
	require.Equal(t, ptxUndefined, fault)
	require.Contains(t, reason, `line 17, "ld.param.b32 %r1, [r];": reads memory that was never written`)
}
