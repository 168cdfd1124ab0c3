package simgpu

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/internal/dl"
	"github.com/go-halyard/halyard/internal/testing/pintest"
)

// image returns the kernels in the format of the vendor, ending in a zero byte.
func (v *vendor) image(kernels ...Kernel) []byte {
	if v.cuda() {
		return append(PTX(kernels...), 0)
	}
	return append(CodeObject(kernels...), 0)
}

func (v *vendor) tryLoad(image []byte) (uintptr, int) {
	var m uintptr
	code := v.call(v.pick("cuModuleLoadData", "hipModuleLoadData"), uintptr(unsafe.Pointer(&m)), v.address(image))
	return m, code
}

func (v *vendor) load(kernels ...Kernel) uintptr {
	v.t.Helper()
	m, code := v.tryLoad(v.image(kernels...))
	require.Zero(v.t, code)
	return m
}

func (v *vendor) tryUnload(m uintptr) int {
	return v.call(v.pick("cuModuleUnload", "hipModuleUnload"), m)
}

func (v *vendor) unload(m uintptr) {
	v.t.Helper()
	require.Zero(v.t, v.tryUnload(m))
}

func (v *vendor) tryKernel(m uintptr, name string) (uintptr, int) {
	var f uintptr
	code := v.call(v.pick("cuModuleGetFunction", "hipModuleGetFunction"), uintptr(unsafe.Pointer(&f)), m, v.address(dl.CString(name)))
	return f, code
}

func (v *vendor) kernel(m uintptr, name string) uintptr {
	v.t.Helper()
	f, code := v.tryKernel(m, name)
	require.Zero(v.t, code)
	return f
}

// shape is how a kernel is launched: blocks, threads of a block, bytes.
type shape struct {
	grid, block [3]uint32
	shared      uint32
}

func over(blocks, threads uint32) shape {
	return shape{grid: [3]uint32{blocks, 1, 1}, block: [3]uint32{threads, 1, 1}}
}

// launch passes arguments of fixed size.
func (v *vendor) launch(f uintptr, sh shape, stream uintptr, args ...any) int {
	v.t.Helper()
	list := make([]uintptr, len(args)+1)
	for i, a := range args {
		var b bytes.Buffer
		require.NoError(v.t, binary.Write(&b, binary.LittleEndian, a))
		list[i] = v.address(b.Bytes())
	}
	params := pintest.Slice(v.t, list)
	g, b := sh.grid, sh.block
	return v.call(v.pick("cuLaunchKernel", "hipModuleLaunchKernel"), f, uintptr(g[0]), uintptr(g[1]), uintptr(g[2]),
		uintptr(b[0]), uintptr(b[1]), uintptr(b[2]), uintptr(sh.shared), stream, params, 0)
}

func words(n int, from uint32) []byte {
	b := make([]byte, 0, 4*n)
	for i := range n {
		b = binary.LittleEndian.AppendUint32(b, from+uint32(i))
	}
	return b
}

// The other kernels are those with which the backends show that they launch.
func TestKernelsDoWhatTheyAreNamedFor(t *testing.T) {
	eachVendor(t, func(t *testing.T, v *vendor) {
		for seed := range uint64(6) {
			v.begin(seed)
			const n = 1000
			m, s, a, b := v.load(Kernels...), v.stream(), v.alloc(4*n), v.alloc(4*n)
			require.Zero(t, v.h2d(a, words(n, 5), s))
			for _, step := range []struct {
				kernel string
				args   []any
				at     uintptr
				want   []byte
			}{
				{"add_one", []any{uint64(a), uint32(n)}, a, words(n, 6)},
				{"copy", []any{uint64(b), uint64(a), uint32(n)}, b, words(n, 6)},
				{"slow", []any{uint64(b), uint32(n), uint32(20)}, b, words(n, 26)},
				{"sum_four", []any{uint64(b), uint32(1), uint32(20), uint32(300), uint32(4000), uint32(n)}, b, bytes.Repeat([]byte{0xe1, 0x10, 0, 0}, n)},
			} {
				got := make([]byte, 4*n)
				require.Zero(t, v.launch(v.kernel(m, step.kernel), over(8, 128), s, step.args...))
				require.Zero(t, v.d2h(got, step.at, s))
				require.Equal(t, step.want, got, step.kernel)
			}
			v.silent()
		}
	})
}

func TestImagesThatAreRefused(t *testing.T) {
	eachVendor(t, func(t *testing.T, v *vendor) {
		one := Kernel{Name: "fill", Takes: "puu"}
		good := string(v.image(one))
		type image struct {
			name string
			text string
			code int
		}
		var images []image
		if v.cuda() {
			images = []image{
				{"Empty", "\x00", 200},
				{"Binary", "\x7fELF\x02\x01\x01\x00 \x00", 200},
				{"NoVersion", "hello\x00", 218},
				{"Cut", good[:len(good)-4] + "\x00", 218},
				{"CutInParameters", good[:strings.Index(good, "puu")+70] + "\x00", 218},
				{"UnknownType", strings.Replace(good, ".u32", ".x32", 1), 218},
				{"NewerVersion", strings.Replace(good, ".version 6.0", ".version 9.9", 1), 222},
				{"NewerTarget", strings.Replace(good, "sm_50", "sm_120", 1), 209},
				{"Twice", string(v.image(one, one)), 218},
				{"TooManyThreads", string(v.image(Kernel{Name: "fill", Takes: "puu", Threads: 2000})), 218},
				{"OtherParameters", string(v.image(Kernel{Name: "fill", Takes: "pul"})), 218},
				{"UnknownInstruction", strings.Replace(string(v.image(Kernel{Name: "unknown"})), "ret;", "frobnicate;", 1), 218},
			}
		} else {
			images = []image{
				{"Empty", "\x00", 200},
				{"Text", "hello, this is no image of any kind, but long enough for one of those headers\x00", 200},
				{"OtherMachine", good[:18] + "\x3e" + good[19:], 200},
				{"OtherArchitecture", string(codeObject(0x4c, []Kernel{one})), 209},
				{"NoNote", strings.Replace(good, "AMDGPU", "amdgpu", 1), 200},
				{"Damaged", strings.Replace(good, ".args", ".arg\xff", 1), 801},
				{"NoKernels", strings.Replace(good, "amdhsa.kernels", "amdhsa.kerne__", 1), 200},
				{"BundleWithout", string(Bundle([]string{"host-x86_64", "hipv4-amdgcn-amd-amdhsa--gfx908"}, nil, []byte(good))), 209},
				{"OtherParameters", string(v.image(Kernel{Name: "fill", Takes: "pul"})), 801},
				{"UnknownKernel", string(v.image(Kernel{Name: "unknown"})), 801},
				{"CodeOfTheSameName", string(withCode(one)), 801},
				{"PartOfTheSuite", string(withCode(suite[:8]...)), 801},
				{"MoreThanTheSuite", string(withCode(append(slices.Clone(suite), one)...)), 801},
				{"SuiteWithOtherParameters", string(withCode(append(slices.Clone(suite[:8]), Kernel{Name: "count", Takes: "l"})...)), 801},
				{"SuiteWithOneTwice", string(withCode(append(slices.Clone(suite[:8]), suite[0])...)), 801},
				{"SuiteWithoutCode", string(v.image(suite...)), 801},
			}
		}
		for _, i := range images {
			_, code := v.tryLoad([]byte(i.text))
			require.Equal(t, i.code, code, i.name)
		}
		require.NotContains(t, fmt.Sprint(v.Leaks()), "module")
		if !v.cuda() {
			m, code := v.tryLoad(Bundle([]string{"hipv4-amdgcn-amd-amdhsa--gfx90a", "hipv4-amdgcn-amd-amdhsa--gfx906:xnack-"}, []byte("other"), []byte(good)))
			require.Zero(t, code)
			v.unload(m)
		}
		m := v.load(one)
		_, code := v.tryKernel(m, "saxpy")
		require.Equal(t, 500, code)
		require.NoError(t, hasLine(v.Leaks(), "module ", "device 0"), "the module counts")
		v.unload(m)
		v.silent()
	})
}

// suite are the kernels of package conformance.
var suite = []Kernel{
	{Name: "put", Takes: "puu"}, {Name: "first_or_none", Takes: "ppu"}, {Name: "add", Takes: "ppuu"}, {Name: "scalars", Takes: "pbhulfb"}, {Name: "members", Takes: "pt"},
	{Name: "visit", Takes: "p"}, {Name: "turn", Takes: "p"}, {Name: "shift", Takes: "pp"}, {Name: "shift_buffer", Takes: "p"}, {Name: "count", Takes: "p"},
}

// The simulated HIP runtime has C functions for the kernels of package conformance. If hipRTC is installed, the suite itself tests them too.
func TestSuiteStandsForItsCode(t *testing.T) {
	eachVendor(t, func(t *testing.T, v *vendor) {
		if v.cuda() {
			t.Skip("the simulated CUDA driver interprets code")
		}
		for seed := range uint64(8) {
			v.begin(seed)
			m, code := v.tryLoad(withCode(suite...))
			require.Zero(t, code)
			s, a, b := v.stream(), v.alloc(400), v.alloc(400)
			got := make([]byte, 400)
			back := func(at uintptr) []byte {
				require.Zero(t, v.d2h(got, at, s))
				return got
			}
			word := func(i int) uint64 { return binary.LittleEndian.Uint64(got[8*i:]) }
			run := func(name string, sh shape, args ...any) {
				t.Helper()
				require.Zero(t, v.launch(v.kernel(m, name), sh, s, args...), name)
			}
			require.Zero(t, v.fill(a, 0, 400, s))
			require.Zero(t, v.fill(b, 0, 400, s))
			run("put", over(4, 16), uint64(a), uint32(7), uint32(100)) // 64 threads
			require.Equal(t, append(bytes.Repeat([]byte{7, 0, 0, 0}, 64), make([]byte, 144)...), back(a))
			run("put", over(4, 32), uint64(a), uint32(7), uint32(100))
			require.Equal(t, bytes.Repeat([]byte{7, 0, 0, 0}, 100), back(a))
			run("add", over(2, 32), uint64(a), uint64(b), uint32(3), uint32(50))
			require.Equal(t, append(bytes.Repeat([]byte{10, 0, 0, 0}, 50), make([]byte, 200)...), back(b))

			run("scalars", over(2, 32), uint64(b), uint8(200), uint16(60000), uint32(1<<31), uint64(1<<63+5), float32(1), int8(-3))
			back(b)
			for i, want := range []uint64{200, 60000, 1 << 31, 1<<63 + 5, 0x3f800000, 1<<64 - 3} {
				require.Equal(t, want, word(i), "scalar %d", i)
			}
			mixed := struct {
				A     uint64
				B     uint32
				C, _  uint8
				D     uint16
				E     [3]float32
				F     uint8
				_, _  uint8
				Other uint8
			}{1 << 40, 2, 3, 0, 4, [3]float32{1, 2, -1}, 5, 0, 0, 9}
			run("members", over(2, 32), uint64(b), mixed)
			back(b)
			for i, want := range []uint64{1 << 40, 2, 3, 4, 0x3f800000, 0xbf800000, 5} {
				require.Equal(t, want, word(i), "member %d", i)
			}

			require.Zero(t, v.fill(a, 0, 400, s))
			run("visit", shape{grid: [3]uint32{2, 3, 1}, block: [3]uint32{2, 2, 4}}, uint64(a))
			back(a)
			for i := range 96 {
				x, y, z := uint32(i%4), uint32(i/4%6), uint32(i/24)
				want := 1 + (x/2+2*(y/2))<<20 + (x%2+2*(y%2+2*z))<<8
				require.Equal(t, want, binary.LittleEndian.Uint32(got[4*i:]), "element %d", i)
			}
			require.Equal(t, make([]byte, 16), got[384:])

			require.Zero(t, v.h2d(a, words(100, 0), s))
			run("turn", shape{grid: [3]uint32{5, 1, 1}, block: [3]uint32{20, 1, 1}, shared: 80}, uint64(a))
			back(a)
			for i := range 100 {
				want := uint32(i/20*20+19-i%20) + 3
				require.Equal(t, want, binary.LittleEndian.Uint32(got[4*i:]), "element %d", i)
			}

			require.Zero(t, v.h2d(a, words(100, 0), s))
			run("shift", shape{grid: [3]uint32{5, 1, 1}, block: [3]uint32{20, 1, 1}, shared: 80}, uint64(a), uint64(b))
			run("shift_buffer", shape{grid: [3]uint32{5, 1, 1}, block: [3]uint32{20, 1, 1}}, uint64(b))
			back(b)
			for i := range 100 {
				want := uint32(i/20*20 + (i%20+2)%20)
				require.Equal(t, want, binary.LittleEndian.Uint32(got[4*i:]), "element %d", i)
			}

			require.Zero(t, v.fill(a, 0, 400, s))
			run("count", over(7, 10), uint64(a))
			require.Equal(t, append(bytes.Repeat([]byte{10, 0, 0, 0}, 7), make([]byte, 372)...), back(a))
			v.silent()
		}

		// A block that uses more shared memory than it has.
		v.begin(0)
		m, code := v.tryLoad(withCode(suite...))
		require.Zero(t, code)
		s, a := v.stream(), v.alloc(400)
		require.Contains(t, []int{0, 700}, v.launch(v.kernel(m, "turn"), over(1, 20), s, uint64(a))) // it may have run already
		require.Equal(t, 700, v.sync(s))
		v.Clear()
	})
}

// Damaged images must not end the process.
func TestDamagedImages(t *testing.T) {
	eachVendor(t, func(t *testing.T, v *vendor) {
		good := v.image(Kernels...)
		rng := uint64(1)
		for range 3000 {
			b := slices.Clone(good)
			for range 1 + rng>>40%6 {
				rng = rng*6364136223846793005 + 1442695040888963407
				b[rng>>33%uint64(len(b))] = byte(rng >> 20)
			}
			if rng>>50&3 == 0 {
				clear(b[rng>>30%uint64(len(b)):])
			}
			var m uintptr
			if v.call(v.pick("cuModuleLoadData", "hipModuleLoadData"), uintptr(unsafe.Pointer(&m)), uintptr(unsafe.Pointer(&b[0]))) == 0 {
				v.unload(m)
			}
		}
	})
}

func TestTranslatorSaysWhatIsWrong(t *testing.T) {
	eachVendor(t, func(t *testing.T, v *vendor) {
		if !v.cuda() {
			t.Skip("HIP's runtime says nothing about an image")
		}
		text := append([]byte(strings.Replace(string(PTX(Kernels...)), ".param .f32", ".param .f31", 1)), 0)
		log := make([]byte, 200)
		options, values := []int32{5, 6}, []uintptr{v.address(log), uintptr(len(log))}
		var m uintptr
		require.Equal(t, 218, v.call("cuModuleLoadDataEx", uintptr(unsafe.Pointer(&m)), v.address(text), 2, pintest.Slice(v.t, options), pintest.Slice(v.t, values)))
		said, _, _ := strings.Cut(string(log), "\x00")
		require.Contains(t, said, "line 8")
		require.Contains(t, said, ".f31")
		require.Contains(t, said, "simulated")
	})
}

func TestLaunchesThatAreRefused(t *testing.T) {
	eachVendor(t, func(t *testing.T, v *vendor) {
		m, s, a := v.load(Kernel{Name: "fill", Takes: "puu", Threads: 200}), v.stream(), v.alloc(400)
		f := v.kernel(m, "fill")
		either := func(cuda, hip int) int {
			if v.cuda() {
				return cuda
			}
			return hip
		}
		for _, c := range []struct {
			name string
			sh   shape
			code int
		}{
			{"ZeroBlocks", shape{grid: [3]uint32{1, 0, 1}, block: [3]uint32{1, 1, 1}}, either(1, 9)},
			{"ZeroThreads", shape{grid: [3]uint32{1, 1, 1}, block: [3]uint32{1, 1, 0}}, either(1, 9)},
			{"BlockTooLarge", over(1, 1025), 1},
			{"BlockTooLargeForTheKernel", over(1, 201), either(701, 719)},
			{"GridTooHigh", shape{grid: [3]uint32{1, 65536, 1}, block: [3]uint32{1, 1, 1}}, 1},
			{"GridTooWide", over(1<<31, 1), 1},
			{"SharedTooLarge", shape{grid: [3]uint32{1, 1, 1}, block: [3]uint32{1, 1, 1}, shared: 65537}, 1},
		} {
			require.Equal(t, c.code, v.launch(f, c.sh, s, uint64(a), uint32(1), uint32(100)), c.name)
		}
		if !v.cuda() {
			require.Equal(t, 9, v.launch(f, over(1<<30, 4), s, uint64(a), uint32(1), uint32(100)), "2^32 threads")
		} else {
			// More shared memory only for a kernel that asks for it.
			sh := shape{grid: [3]uint32{1, 1, 1}, block: [3]uint32{1, 1, 1}, shared: 49153}
			require.Equal(t, 1, v.launch(f, sh, s, uint64(a), uint32(1), uint32(100)))
			require.Equal(t, 1, v.call("cuFuncSetAttribute", f, 8, 228<<10))
			v.ok("cuFuncSetAttribute", f, 8, 100<<10)
			require.Zero(t, v.launch(f, sh, s, uint64(a), uint32(1), uint32(100)))
		}
		v.silent()
		require.Equal(t, either(400, 400), v.launch(f+1, over(1, 1), s, uint64(a), uint32(1), uint32(100)))
		v.violates("unknown function")
		require.Zero(t, v.sync(s))
		v.unload(m)
		require.Equal(t, 400, v.launch(f, over(1, 1), s, uint64(a), uint32(1), uint32(100)))
		v.violates("unloaded function")
		require.Equal(t, 400, v.tryUnload(m))
		v.violates("unloaded module")
	})
}

// A kernel that touches memory that it must not is reported at the launch. The context is lost when
// the kernel runs.
func TestKernelsThatTouchWhatTheyMustNot(t *testing.T) {
	eachVendor(t, func(t *testing.T, v *vendor) {
		for _, c := range []struct {
			name  string
			words []string
			addr  func(a uintptr) uintptr
			n     uint32
		}{
			{"Null", []string{"does not know"}, func(uintptr) uintptr { return 0 }, 1},
			{"Foreign", []string{"does not know"}, func(uintptr) uintptr { return v.address(make([]byte, 64)) }, 1},
			{"OutOfBounds", []string{"out of bounds", "kernel fill"}, func(a uintptr) uintptr { return a }, 101},
			{"OutOfBoundsFromInside", []string{"out of bounds"}, func(a uintptr) uintptr { return a + 4 }, 100},
			{"Freed", []string{"freed"}, func(uintptr) uintptr { x := v.alloc(8); v.free(x); return x }, 1},
			{"OtherDevice", []string{"memory of device 1"}, func(uintptr) uintptr { v.use(1); x := v.alloc(8); v.use(0); return x }, 1},
		} {
			v.begin(3)
			m, s, a := v.load(Kernels...), v.stream(), v.alloc(400)
			require.Zero(t, v.launch(v.kernel(m, "fill"), over(1, 128), s, uint64(c.addr(a)), uint32(1), c.n), c.name)
			v.violates(c.words...)
			require.Equal(t, 700, v.sync(s), c.name)
			require.Equal(t, 700, v.fill(a, 1, 1, s), "the context is lost")
			v.Clear()
		}
	})
}

func TestUnorderedLaunchesAreSeen(t *testing.T) {
	eachVendor(t, func(t *testing.T, v *vendor) {
		for seed := range uint64(20) {
			v.restart(seed)
			m, s, other := v.load(Kernels...), v.stream(), v.stream()
			a, b := v.alloc(400), v.alloc(400)
			fill, cp := v.kernel(m, "fill"), v.kernel(m, "copy")
			require.Zero(t, v.launch(fill, over(1, 128), s, uint64(a), uint32(1), uint32(50)))
			require.Zero(t, v.launch(fill, over(1, 128), other, uint64(a+200), uint32(1), uint32(50))) // the other half
			require.Zero(t, v.sync(s))
			require.Zero(t, v.sync(other))
			v.silent()
			require.Zero(t, v.launch(cp, over(1, 128), s, uint64(b), uint64(a), uint32(50)))
			require.Zero(t, v.launch(fill, over(1, 128), other, uint64(a+196), uint32(1), uint32(10)))
			require.Zero(t, v.sync(s))
			require.Zero(t, v.sync(other))
			v.violates("race", "Launch", "bytes [")
			// Two kernels that read the same are no race.
			require.Zero(t, v.launch(cp, over(1, 128), s, uint64(b), uint64(a), uint32(50)))
			require.Zero(t, v.launch(cp, over(1, 128), other, uint64(b+200), uint64(a), uint32(50)))
			require.Zero(t, v.sync(s))
			require.Zero(t, v.sync(other))
			v.silent()
		}
	})
}

func TestMemoryAndCodeInUseAreKeptTrackOf(t *testing.T) {
	eachVendor(t, func(t *testing.T, v *vendor) {
		for seed := range uint64(10) {
			v.restart(seed)
			m, s, a := v.load(Kernels...), v.stream(), v.alloc(400)
			word := v.pinned(8)
			clear(word)
			require.Zero(t, v.gate(s, word))
			require.Zero(t, v.launch(v.kernel(m, "fill"), over(1, 128), s, uint64(a), uint32(1), uint32(50)))
			v.free(a)
			v.violates("in flight", "memory")
			v.unload(m)
			v.violates("in flight", "unloads module 1")
			word[0] = 1
			require.Equal(t, 700, v.sync(s), "its code is gone")
			v.Clear()

			v.restart(seed)
			m, s, a = v.load(Kernels...), v.stream(), v.alloc(400)
			require.Zero(t, v.launch(v.kernel(m, "fill"), over(1, 128), s, uint64(a), uint32(1), uint32(50)))
			for v.Step(100) > 0 {
			}
			v.unload(m) // it has run, but the host does not know
			v.violates("in flight", "unloads module 1")
		}
	})
}

func TestContextEndsWithModules(t *testing.T) {
	eachVendor(t, func(t *testing.T, v *vendor) {
		if !v.cuda() {
			t.Skip("HIP has no contexts that end")
		}
		v.load(Kernels...)
		v.end()
		v.violates("0 events and 1 modules alive")
	})
}

// Registered memory is the program's own.
func TestKernelsWorkOnRegisteredMemory(t *testing.T) {
	eachVendor(t, func(t *testing.T, v *vendor) {
		for _, without := range []Lack{0, LackRegisteredPointer} {
			require.NoError(t, v.Set(Without, uint64(without)))
			v.restart(2)
			m, s := v.load(Kernels...), v.stream()
			mem := words(1000, 1)
			v.ok(v.pick("cuMemHostRegister_v2", "hipHostRegister"), v.address(mem), 4000, 3)
			var at uintptr
			v.ok(v.pick("cuMemHostGetDevicePointer_v2", "hipHostGetDevicePointer"), uintptr(unsafe.Pointer(&at)), v.address(mem), 0)
			require.Zero(t, v.launch(v.kernel(m, "add_one"), over(4, 256), s, uint64(at), uint32(1000)))
			require.Zero(t, v.sync(s))
			require.Equal(t, words(1000, 2), mem)
			v.ok(v.pick("cuMemHostUnregister", "hipHostUnregister"), v.address(mem))
			v.unload(m)
			v.silent()
		}
		require.NoError(t, v.Set(Without, 0))
	})
}
