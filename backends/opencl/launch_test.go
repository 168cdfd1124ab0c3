//go:build opencl

package opencl

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/driver"
)

// Kernels that the tests launch.
const testSource = `
kernel void saxpy(float a, global const float *x, global float *y, ulong n) {
	size_t i = get_global_id(0);
	if (i < n) y[i] += a * x[i];
}
kernel void add(global uint *x, uint n) { x[get_global_id(0)] += n; }
struct mixed { int a; float b[3]; long c; char d; };
kernel void fields(global long *out, struct mixed m, int last) {
	out[0] = m.a; out[1] = m.b[0]; out[2] = m.b[1]; out[3] = m.b[2]; out[4] = m.c; out[5] = m.d; out[6] = last;
}
struct large { ulong v[20]; };
kernel void total(global ulong *out, struct large m) {
	ulong sum = 0;
	for (int i = 0; i < 20; i++) sum = sum * 3 + m.v[i];
	out[0] = sum;
}
kernel void widths(global long *out, char a, uchar b, short c, ushort d, int e, uint f, long g, ulong h, float i, float4 j) {
	out[0] = a; out[1] = b; out[2] = c; out[3] = d; out[4] = e; out[5] = f; out[6] = g; out[7] = h; out[8] = i;
	out[9] = j.x; out[10] = j.y; out[11] = j.z; out[12] = j.w;
}
kernel void sums(global const uint *x, global uint *out, local uint *room) {
	size_t i = get_local_id(0);
	room[i] = x[get_global_id(0)];
	for (size_t n = get_local_size(0) / 2; n > 0; n /= 2) {
		barrier(CLK_LOCAL_MEM_FENCE);
		if (i < n) room[i] += room[i + n];
	}
	if (i == 0) out[get_group_id(0)] = room[0];
}
kernel __attribute__((reqd_work_group_size(4, 2, 1))) void shaped(constant uint *table, global uint *out) {
	local uint own[8];
	own[get_local_id(1) * 4 + get_local_id(0)] = table[0];
	barrier(CLK_LOCAL_MEM_FENCE);
	if (get_local_id(0) == 0 && get_local_id(1) == 0) out[0] = own[7];
}
`

func value[T any](v T) driver.Arg {
	a := driver.Arg{Kind: driver.ParamValue, Size: uint32(unsafe.Sizeof(v))}
	if unsafe.Sizeof(v) <= unsafe.Sizeof(a.Bits) {
		*(*T)(unsafe.Pointer(&a.Bits)) = v
	} else {
		a.Ptr = unsafe.Pointer(&v)
	}
	return a
}

func pointer(r driver.Region) driver.Arg {
	return driver.Arg{Kind: driver.ParamPointer, Size: 8, Region: r}
}

func room(n uint32) driver.Arg { return driver.Arg{Kind: driver.ParamShared, Size: n} }

// over is a launch in one dimension.
func over(blocks, threads uint32, args ...driver.Arg) *driver.Launch {
	return &driver.Launch{Grid: [3]uint32{blocks, 1, 1}, Block: [3]uint32{threads, 1, 1}, Args: args}
}

func load(t testing.TB, p place, source string) *module {
	t.Helper()
	need(t, p.device, driver.CapKernels|driver.CapCompile)
	m, err := p.Load(&driver.Image{Format: driver.FormatOpenCLC, Data: []byte(source)})
	ok(t, err)
	return m.(*module)
}

func find(t testing.TB, m driver.Module, name string) *kernel {
	t.Helper()
	k, err := m.Kernel(name)
	ok(t, err)
	return k.(*kernel)
}

// raw returns the bytes of a slice.
func raw[T any](s []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(s[0])))
}

// results reads a memory of T.
func results[T any](t testing.TB, s *stream, r driver.Region) []T {
	t.Helper()
	out := make([]T, int(r.Len)/int(unsafe.Sizeof(*new(T))))
	ok(t, s.CopyOut(unsafe.Pointer(&out[0]), r))
	ok(t, s.Sync())
	return out
}

func equal[T comparable](t testing.TB, what string, got, want []T) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Fatalf("%s: %v, want %v", what, got, want)
	}
}

func TestLaunchesComputeInEveryKindOfMemory(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		m, s := load(t, p, testSource), newStream(t, p)
		saxpy := find(t, m, "saxpy")
		for _, kind := range kinds(p) {
			for _, n := range []int{1, 63, 1000, 4096} {
				x, y := alloc(t, p, kind, uint64(4*n)), alloc(t, p, kind, uint64(4*n))
				in, out := make([]float32, n), make([]float32, n)
				for i := range in {
					in[i], out[i] = float32(i), float32(3*i+1)
				}
				write(t, s, whole(x), raw(in))
				write(t, s, whole(y), raw(out))
				const threads = 32
				ok(t, s.Launch(saxpy, over(uint32(n+threads-1)/threads, threads, value(float32(2)), pointer(whole(x)), pointer(whole(y)), value(uint64(n)))))
				for i, got := range results[float32](t, s, whole(y)) {
					if want := 2*in[i] + out[i]; got != want {
						t.Fatalf("%v memory, %d elements: element %d is %v, want %v", kind, n, i, got, want)
					}
				}
				closeAll(t, x, y)
			}
		}
		closeAll(t, m, s)
	})
}

// TestArgumentsAreSetOnce counts the calls that set arguments. An argument that is the same as in the launch before is not set again. New
// memory in the place of closed memory is a different argument.
func TestArgumentsAreSetOnce(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		m, s := load(t, p, testSource), newStream(t, p)
		set := 0
		own := *m.dev.t
		values, svm := own.setKernelArg, own.setKernelArgSVM
		own.setKernelArg = func(k uintptr, i uint32, n uint64, v unsafe.Pointer) status { set++; return values(k, i, n, v) }
		own.setKernelArgSVM = func(k uintptr, i uint32, addr uintptr) status { set++; return svm(k, i, addr) }
		m.dev.t = &own
		if u := m.dev.hw.usm; u != nil {
			own, was := *u, u
			own.setKernelArg = func(k uintptr, i uint32, addr uintptr) status { set++; return was.setKernelArg(k, i, addr) }
			m.dev.hw.usm = &own
			defer func() { m.dev.hw.usm = was }()
		}
		add, kind := find(t, m, "add"), kinds(p)[0]
		x, y := alloc(t, p, kind, 64), alloc(t, p, kind, 64)
		zeros := make([]uint32, 16)
		write(t, s, whole(x), raw(zeros))
		write(t, s, whole(y), raw(zeros))
		launch := func(want int, what string, args ...driver.Arg) {
			t.Helper()
			set = 0
			ok(t, s.Launch(add, over(1, 16, args...)))
			if set != want {
				t.Fatalf("%s: %d arguments were set, want %d", what, set, want)
			}
		}
		launch(2, "the first launch", pointer(whole(x)), value(uint32(1)))
		launch(0, "the same", pointer(whole(x)), value(uint32(1)))
		launch(1, "another number", pointer(whole(x)), value(uint32(10)))
		launch(1, "another memory", pointer(whole(y)), value(uint32(10)))
		launch(0, "that memory again", pointer(whole(y)), value(uint32(10)))
		equal(t, "the first memory", results[uint32](t, s, whole(x))[:1], []uint32{12})
		equal(t, "the second memory", results[uint32](t, s, whole(y))[:1], []uint32{20})
		closeAll(t, y)
		y = alloc(t, p, kind, 64)
		write(t, s, whole(y), raw(zeros))
		launch(1, "memory in the place of closed memory", pointer(whole(y)), value(uint32(10)))
		equal(t, "its elements", results[uint32](t, s, whole(y))[:1], []uint32{10})
		closeAll(t, x, y, m, s)
	})
}

type mixed struct {
	a int32
	b [3]float32
	c int64
	d int8
}

func TestValuesArrive(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		m, s, out := load(t, p, testSource), newStream(t, p), alloc(t, p, driver.KindDevice, 8*13)
		ok(t, s.Launch(find(t, m, "widths"), over(1, 1, pointer(whole(out)), value(int8(-1)), value(uint8(200)), value(int16(-300)), value(uint16(60000)),
			value(int32(-70000)), value(uint32(4e9)), value(int64(-5e12)), value(uint64(6e12)), value(float32(7)), value([4]float32{8, 9, 10, 11}))))
		equal(t, "numbers", results[int64](t, s, whole(out)), []int64{-1, 200, -300, 60000, -70000, 4e9, -5e12, 6e12, 7, 8, 9, 10, 11})

		l := over(1, 1, pointer(whole(out)), value(mixed{-5, [3]float32{1, 2, 3}, -1 << 40, -7}), value(int32(99)))
		ok(t, s.Launch(find(t, m, "fields"), l))
		l.Args[1] = value(mixed{}) // the launch has taken its arguments
		equal(t, "structure", results[int64](t, s, part(out, 0, 56)), []int64{-5, 1, 2, 3, -1 << 40, -7, 99})

		var large [20]uint64
		want := uint64(0)
		for i := range large {
			large[i] = uint64(i * i)
			want = want*3 + large[i]
		}
		ok(t, s.Launch(find(t, m, "total"), over(1, 1, pointer(whole(out)), value(large))))
		equal(t, "large structure", results[uint64](t, s, part(out, 0, 8)), []uint64{want})
		closeAll(t, m, s, out)
	})
}

// In tiers with addresses any offset arrives; in the buffer tier one that a sub-buffer can have.
func TestOffsetsArrive(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		m, s := load(t, p, testSource), newStream(t, p)
		add := find(t, m, "add")
		align := p.hw.align
		const places = 3 * maxParts
		mem := alloc(t, p, driver.KindDevice, places*align)
		ok(t, s.Fill(whole(mem), driver.Pattern{Width: 4}))
		want := make([]uint32, places*align/4)
		for round := range 2 {
			for i := range uint64(places) {
				off := i * align
				n := uint64(8)
				if round == 1 {
					n = 0 // stands for the first byte
				}
				ok(t, s.Launch(add, over(1, 2, pointer(part(mem, off, n)), value(uint32(i+1)))))
				want[off/4] += uint32(i + 1)
				want[off/4+1] += uint32(i + 1)
			}
		}
		equal(t, "memory", results[uint32](t, s, whole(mem)), want)
		if n := len(mem.parts.kept); n > maxParts || p.tier == tierBuffer && n == 0 || p.tier != tierBuffer && n != 0 {
			t.Errorf("%d parts are kept", n)
		}
		err := s.Launch(add, over(1, 1, pointer(part(mem, 4, 4)), value(uint32(5))))
		if p.tier == tierBuffer {
			wantKind(t, err, driver.ErrMisaligned)
			wantWords(t, err.Error(), "kernel add", "argument 0", "begins 4 bytes into", fmt.Sprint(align))
		} else {
			ok(t, err)
			want[1] += 5
		}
		equal(t, "memory", results[uint32](t, s, whole(mem)), want)

		// A slice that is empty points behind the last byte. The kernel does not touch it.
		saxpy := find(t, m, "saxpy")
		end := pointer(part(mem, mem.size, 0))
		ok(t, s.Launch(saxpy, over(1, 1, value(float32(1)), end, end, value(uint64(0)))))
		ok(t, s.Sync())
		closeAll(t, mem, m, s)
	})
}

// A part that makes room for another may still be in use by work that is not done.
func TestManyPartsAtOnce(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		m, s := load(t, p, testSource), newStream(t, p)
		add := find(t, m, "add")
		align := p.hw.align
		const places = 4 * maxParts
		mem := alloc(t, p, driver.KindDevice, places*align)
		ok(t, s.Fill(whole(mem), driver.Pattern{Width: 4}))
		g := gated(t, s)
		var wg sync.WaitGroup
		for from := range 4 {
			wg.Go(func() {
				for i := range uint64(places) {
					off := (i + uint64(from)*7) % places * align
					if err := s.Launch(add, over(1, 1, pointer(part(mem, off, 4)), value(uint32(off/align+1)))); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
		ok(t, g.Open())
		got := results[uint32](t, s, whole(mem))
		for i := range uint64(places) {
			if v := got[i*align/4]; v != 4*uint32(i+1) {
				t.Fatalf("place %d is %d, want %d", i, v, 4*(i+1))
			}
		}
		closeAll(t, mem, m, s)
	})
}

// If all parts that are kept are in use, one more is made for its launch alone.
func TestMorePartsThanAreKept(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		if p.tier != tierBuffer {
			t.Skip("only the buffer tier has parts")
		}
		m, s := load(t, p, testSource), newStream(t, p)
		align := p.hw.align
		mem := alloc(t, p, driver.KindDevice, (maxParts+2)*align)
		ok(t, s.Fill(whole(mem), driver.Pattern{Width: 4}))
		var held []*subBuffer
		for i := range uint64(maxParts) {
			b, err := mem.from("test", i*align)
			ok(t, err)
			held = append(held, b)
		}
		off := (maxParts + 1) * align
		ok(t, s.Launch(find(t, m, "add"), over(1, 1, pointer(part(mem, off, 4)), value(uint32(6)))))
		equal(t, "memory", results[uint32](t, s, part(mem, off, 4)), []uint32{6})
		if !slices.Equal(mem.parts.kept, held) {
			t.Error("a part that is in use made room")
		}
		for _, b := range held {
			b.release()
		}
		closeAll(t, mem, m, s)
	})
}

func TestOneKernelFromManyGoroutines(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		m := load(t, p, testSource)
		add := find(t, m, "add")
		const goroutines, rounds = 2 * maxIdle, 20
		var wg sync.WaitGroup
		for who := range uint32(goroutines) {
			wg.Go(func() {
				s, err := p.NewStream(driver.StreamOptions{})
				if err != nil {
					t.Error(err)
					return
				}
				mem, err := p.Alloc(driver.KindDevice, 4, 0)
				if err != nil {
					t.Error(err)
					return
				}
				own, got := s.(*stream), uint32(0)
				err = own.Fill(whole(mem), driver.Pattern{Width: 4})
				for range rounds {
					err = errors.Join(err, own.Launch(add, over(1, 1, pointer(whole(mem)), value(who+1))))
				}
				err = errors.Join(err, own.CopyOut(unsafe.Pointer(&got), whole(mem)), own.Sync(), mem.Free(), own.Close())
				if err != nil || got != rounds*(who+1) {
					t.Errorf("goroutine %d: %d, want %d; error %v", who, got, rounds*(who+1), err)
				}
			})
		}
		wg.Wait()
		if n := len(add.idle); n > maxIdle {
			t.Errorf("%d objects are kept", n)
		}
		closeAll(t, m)
	})
}

func TestRefusedLaunchesChangeNothing(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		m, s, mem := load(t, p, testSource), newStream(t, p), alloc(t, p, driver.KindDevice, 1<<16)
		other := p.again(t)
		foreign := alloc(t, other, driver.KindDevice, 64) // of the same context: not refused
		add, sums := find(t, m, "add"), find(t, m, "sums")
		at := pointer(whole(mem))
		one := value(uint32(1))
		ok(t, s.Launch(add, over(1, 1, at, one))) // a later launch must not use its arguments
		ok(t, s.Fill(whole(mem), driver.Pattern{Width: 4}))
		ok(t, s.Sync())
		for _, c := range []struct {
			what    string
			k       driver.Kernel
			l       *driver.Launch
			kind    error
			rusticl bool // Rusticl does not check this; package hal does
			vendor  bool // the driver refuses this, not the backend
		}{
			{"too few arguments", add, over(1, 1, at), driver.ErrInvalidArgument, false, false},
			{"too many arguments", add, over(1, 1, at, one, one), driver.ErrInvalidArgument, false, false},
			{"a value of the wrong size", add, over(1, 1, at, value(uint64(1))), driver.ErrInvalidArgument, false, true},
			{"a block beyond the limit", add, over(1, add.info.MaxThreads*2, at, one), driver.ErrInvalidArgument, true, true},
			{"a block of another shape", find(t, m, "shaped"), over(1, 8, at, at), driver.ErrInvalidArgument, true, true},
		} {
			if c.rusticl && p.hw.cutsStructs || c.vendor && reported() {
				continue
			}
			before := s.last
			err := s.Launch(c.k, c.l)
			if e, isError := err.(*driver.Error); !isError || e.Kind != c.kind {
				t.Errorf("%s: error %v, want one of kind %q", c.what, err, c.kind)
			}
			if s.last != before {
				t.Errorf("%s: a command was enqueued", c.what)
			}
		}
		same(t, "memory", read(t, s, whole(mem)), make([]byte, mem.size))
		// The kernel objects that the refused launches used still work.
		ok(t, s.Launch(add, over(1, 1, at, one)))
		ok(t, s.Launch(add, over(1, 1, pointer(whole(foreign)), one)))
		ok(t, s.Launch(sums, over(1, 1, at, at, room(4))))
		ok(t, s.Sync())
		closeAll(t, mem, m, s, foreign, other.device)
	})
}

func TestKernelsAreDescribed(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		m := load(t, p, testSource)
		names := m.Names()
		slices.Sort(names)
		equal(t, "names", names, []string{"add", "fields", "saxpy", "shaped", "sums", "total", "widths"})

		param := func(name string, kind driver.ParamKind, size uint32, constant bool) driver.Param {
			return driver.Param{Name: name, Kind: kind, Size: size, Const: constant}
		}
		const v, ptr = driver.ParamValue, driver.ParamPointer
		for name, want := range map[string][]driver.Param{
			"saxpy":  {param("a", v, 4, false), param("x", ptr, 8, true), param("y", ptr, 8, false), param("n", v, 8, false)},
			"fields": {param("out", ptr, 8, false), param("m", v, 0, false), param("last", v, 4, false)},
			"sums":   {param("x", ptr, 8, true), param("out", ptr, 8, false), param("room", driver.ParamShared, 0, false)},
			"shaped": {param("table", ptr, 8, true), param("out", ptr, 8, false)},
			"widths": {param("out", ptr, 8, false), param("a", v, 1, false), param("b", v, 1, false), param("c", v, 2, false), param("d", v, 2, false),
				param("e", v, 4, false), param("f", v, 4, false), param("g", v, 8, false), param("h", v, 8, false), param("i", v, 4, false), param("j", v, 16, false)},
		} {
			info := find(t, m, name).Info()
			if !info.Known || info.Name != name {
				t.Errorf("%s: %+v", name, info)
			}
			equal(t, name, info.Params, want)
		}
		info := find(t, m, "shaped").Info()
		if info.RequiredBlock != [3]uint32{4, 2, 1} || info.StaticShared < 32 || info.MaxShared != p.info.Compute.Shared-info.StaticShared {
			t.Errorf("shaped: %+v", info)
		}
		info = find(t, m, "saxpy").Info()
		c := p.info.Compute
		if info.MaxThreads == 0 || info.MaxThreads > c.MaxThreads || info.Suggested == 0 || info.Suggested > info.MaxThreads || info.RequiredBlock != [3]uint32{} {
			t.Errorf("saxpy: %+v", info)
		}
		if c.Units == 0 || c.MaxBlock[0] == 0 || c.MaxBlock[2] == 0 || c.Shared == 0 || !c.SharedByParam || c.Language != driver.LanguageOpenCLC || p.hw.cpu != (c.Warp == 1) {
			t.Errorf("%+v", c)
		}
		if h := p.Handles(); h.Platform != p.hw.platform.id || h.Device != p.hw.id || h.Context != p.ctx.cl {
			t.Errorf("%+v", h)
		}
		for _, name := range []string{"", "nothing", "saxp", "saxpy\x00", "Saxpy"} {
			_, err := m.Kernel(name)
			wantKind(t, err, driver.ErrNotFound)
		}
		closeAll(t, m)
	})
}

func TestSizesOfTypes(t *testing.T) {
	for name, want := range map[string]uint32{
		"char": 1, "uchar": 1, "unsigned char": 1, "short": 2, "ushort": 2, "half": 2, "int": 4, "uint": 4, "unsigned int": 4, "float": 4,
		"long": 8, "ulong": 8, "double": 8, "float2": 8, "float3": 16, "float4": 16, "double16": 128, "uchar8": 8, "char3": 4,
		"struct mixed": 0, "mixed": 0, "float5": 0, "vec4": 0, "4": 0, "": 0, "float*": 0, "float44": 0,
	} {
		if got := sizeOf(name); got != want {
			t.Errorf("%q has %d bytes, want %d", name, got, want)
		}
	}
}

// The compiler's output can be loaded again, but only complete and only by the same driver.
func TestCompiledBinaries(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		need(t, p.device, driver.CapCompile)
		id, err := p.CompilerID("")
		ok(t, err)
		wantWords(t, id, p.hw.platformText, p.hw.name, p.hw.driver, "OpenCL")
		_, err = p.CompilerID("sm_90")
		wantKind(t, err, driver.ErrUnsupported)
		_, err = p.Compile("sm_90", &driver.Source{Text: testSource})
		wantKind(t, err, driver.ErrUnsupported)

		image, err := p.Compile("", &driver.Source{Name: "test.cl", Text: testSource, Options: []string{"-cl-mad-enable"}})
		ok(t, err)
		if len(image.Params["saxpy"]) != 4 || image.Params["saxpy"][2].Kind != driver.ParamPointer {
			t.Errorf("parameters: %+v", image.Params)
		}
		if image.Format != driver.FormatOpenCLBinary {
			t.Skipf("the driver gives no binary, but %v", image.Format)
		}
		m, err := p.Load(image)
		ok(t, err)
		s, mem := newStream(t, p), alloc(t, p, driver.KindDevice, 4)
		ok(t, s.Fill(whole(mem), driver.Pattern{Bits: 5, Width: 4}))
		add := find(t, m, "add")
		if info := add.Info(); add.count != 2 || info.Known != (len(info.Params) == 2) {
			t.Errorf("add: %+v", info)
		}
		if p.hw.platformText == "Portable Computing Language" && !add.info.Known {
			t.Error("the kernel's parameters are not known")
		}
		ok(t, s.Launch(add, over(1, 1, pointer(whole(mem)), value(uint32(37)))))
		equal(t, "memory", results[uint32](t, s, whole(mem)), []uint32{42})

		for _, n := range []int{1, 5, len(sealMagic), sealSize - 1, sealSize, sealSize + 1, len(image.Data) / 2, len(image.Data) - 1} {
			_, err := p.Load(&driver.Image{Format: driver.FormatOpenCLBinary, Data: image.Data[:n]})
			wantKind(t, err, driver.ErrInvalidArgument)
		}
		for _, at := range []int{len(sealMagic) + 32, sealSize - 1, sealSize, len(image.Data) - 1} {
			damaged := bytes.Clone(image.Data)
			damaged[at] ^= 1
			_, err := p.Load(&driver.Image{Format: driver.FormatOpenCLBinary, Data: damaged})
			wantKind(t, err, driver.ErrInvalidArgument)
			wantWords(t, err.Error(), "damaged")
		}
		foreign := bytes.Clone(image.Data)
		foreign[len(sealMagic)] ^= 1
		_, err = p.Load(&driver.Image{Format: driver.FormatOpenCLBinary, Data: foreign})
		wantKind(t, err, driver.ErrUnsupported)
		wantWords(t, err.Error(), "another device", p.hw.name)

		// The driver's own binary, without a header, is passed to the driver, unless the driver
		// would crash.
		plain, err := p.Load(&driver.Image{Format: driver.FormatOpenCLBinary, Data: image.Data[sealSize:]})
		if p.hw.diesOfBinaries() {
			wantKind(t, err, driver.ErrUnsupported)
			closeAll(t, m, s, mem)
			return
		}
		ok(t, err)
		ok(t, s.Launch(find(t, plain, "add"), over(1, 1, pointer(whole(mem)), value(uint32(8)))))
		equal(t, "memory", results[uint32](t, s, whole(mem)), []uint32{50})
		closeAll(t, m, plain, s, mem)
	})
}

// reported says that Oclgrind reports calls that fail, which then count as mistakes of the backend.
func reported() bool { return os.Getenv("OCLGRIND_CHECK_API") != "" }

func TestBuildErrors(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		need(t, p.device, driver.CapCompile)
		if reported() {
			t.Skip("Oclgrind is to report calls that fail")
		}
		const bad = "kernel void broken(global int *x) {\n  x[0] = undeclared_name;\n}\n"
		_, err := p.Load(&driver.Image{Format: driver.FormatOpenCLC, Data: []byte(bad), Options: "-DX=1 -DY"})
		wantKind(t, err, driver.ErrBuild)
		var b *driver.BuildError
		if !errors.As(err, &b) {
			t.Fatalf("%v has no log", err)
		}
		wantWords(t, b.Log, "undeclared_name")
		equal(t, "options", b.Options, []string{"-DX=1", "-DY"})

		_, err = p.Compile("", &driver.Source{Name: "bad.cl", Text: bad, Options: []string{"-DZ"}})
		wantKind(t, err, driver.ErrBuild)
		if !errors.As(err, &b) || b.Source != "bad.cl" || !strings.Contains(b.Log, "undeclared_name") {
			t.Errorf("%+v", b)
		}
		_, err = p.Load(&driver.Image{Format: driver.FormatOpenCLC, Data: []byte("kernel void one() {}"), Options: "-DX\x00Y"})
		wantKind(t, err, driver.ErrInvalidArgument)
		if !p.hw.diesOfBinaries() {
			_, err = p.Load(&driver.Image{Format: driver.FormatOpenCLBinary, Data: []byte("not a binary at all, and longer than any magic number of a driver's")})
			wantKind(t, err, driver.ErrInvalidArgument)
		}

		// Definitions in the options reach the compiler.
		m, err := p.Load(&driver.Image{Format: driver.FormatOpenCLC, Data: []byte("kernel void NAME(global int *x) { x[0] = 1; }"), Options: "-DNAME=named"})
		ok(t, err)
		find(t, m, "named")
		closeAll(t, m)
	})
}

func TestHeaders(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		need(t, p.device, driver.CapCompile)
		src := &driver.Source{
			Text:    "#include \"one.h\"\n#include \"empty.h\"\nkernel void put(global uint *x) { x[0] = ONE + two(); }",
			Headers: map[string]string{"one.h": "#include \"two.h\"\n#define ONE 1\n", "two.h": "uint two(void) { return 2; }\n", "empty.h": ""},
		}
		image, err := p.Compile("", src)
		ok(t, err)
		m, err := p.Load(image)
		ok(t, err)
		s, mem := newStream(t, p), alloc(t, p, driver.KindDevice, 4)
		ok(t, s.Launch(find(t, m, "put"), over(1, 1, pointer(whole(mem)))))
		equal(t, "memory", results[uint32](t, s, whole(mem)), []uint32{3})
		if len(image.Params["put"]) != 1 {
			t.Errorf("parameters: %+v", image.Params)
		}

		if !reported() {
			src.Headers["two.h"] = "uint two(void) { return missing; }\n"
			_, err = p.Compile("", src)
			wantKind(t, err, driver.ErrBuild)
			var b *driver.BuildError
			if !errors.As(err, &b) || !strings.Contains(b.Log, "missing") {
				t.Errorf("%v", err)
			}
		}
		src.Headers[""] = "x"
		_, err = p.Compile("", src)
		wantKind(t, err, driver.ErrInvalidArgument)
		closeAll(t, m, s, mem)
	})
}

func TestKernelsWithObjectsAreRefused(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		need(t, p.device, driver.CapCompile)
		m, err := p.Load(&driver.Image{Format: driver.FormatOpenCLC, Data: []byte(
			"kernel void look(read_only image2d_t i, global float4 *x) { x[0] = read_imagef(i, CLK_NORMALIZED_COORDS_FALSE, (int2)(0, 0)); }\nkernel void fine(global int *x) { x[0] = 1; }")})
		if err != nil {
			t.Skipf("the device has no images: %v", err)
		}
		_, err = m.Kernel("look")
		wantKind(t, err, driver.ErrUnsupported)
		wantWords(t, err.Error(), "look", "image2d_t")
		find(t, m, "fine")
		closeAll(t, m)
	})
}

// A module for SPIR-V: kernel void seven(global uint *x) { *x = 7; }
var sevenSPIRV = []uint32{
	0x07230203, 0x00010000, 0, 12, 0, // version 1.0, 12 ids
	2<<16 | 17, 4, // OpCapability Addresses
	2<<16 | 17, 5, // OpCapability Linkage
	2<<16 | 17, 6, // OpCapability Kernel
	3<<16 | 14, 2, 2, // OpMemoryModel Physical64 OpenCL
	5<<16 | 15, 6, 7, 'e'<<8 | 's' | 'v'<<16 | 'e'<<24, 'n', // OpEntryPoint Kernel %7 "seven"
	4<<16 | 21, 1, 32, 0, // %1 = OpTypeInt 32 0
	2<<16 | 19, 2, // %2 = OpTypeVoid
	4<<16 | 32, 3, 5, 1, // %3 = OpTypePointer CrossWorkgroup %1
	4<<16 | 33, 4, 2, 3, // %4 = OpTypeFunction %2 %3
	4<<16 | 43, 1, 5, 7, // %5 = OpConstant %1 7
	5<<16 | 54, 2, 7, 0, 4, // %7 = OpFunction %2 None %4
	3<<16 | 55, 3, 8, // %8 = OpFunctionParameter %3
	2<<16 | 248, 9, // %9 = OpLabel
	5<<16 | 62, 8, 5, 2, 4, // OpStore %8 %5 Aligned 4
	1<<16 | 253, // OpReturn
	1<<16 | 56,  // OpFunctionEnd
}

func TestSPIRV(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		code := raw(sevenSPIRV)
		image := &driver.Image{Format: driver.FormatSPIRV, Data: code}
		if p.hw.createIL == nil {
			if slices.Contains(p.Formats(), driver.FormatSPIRV) {
				t.Error("the device has no call for SPIR-V, and lists the format")
			}
			return
		}
		for _, bad := range [][]byte{code[:4], code[:len(code)-1], ramp(64, 1)} {
			_, err := p.Load(&driver.Image{Format: driver.FormatSPIRV, Data: bad})
			wantKind(t, err, driver.ErrInvalidArgument)
		}
		m, err := p.Load(image)
		ok(t, err)
		s, mem := newStream(t, p), alloc(t, p, driver.KindDevice, 4)
		ok(t, s.Launch(find(t, m, "seven"), over(1, 1, pointer(whole(mem)))))
		equal(t, "memory", results[uint32](t, s, whole(mem)), []uint32{7})
		closeAll(t, m, s, mem)
	})
}

// Package hal knows the parameters of a compiled image's kernels even if the driver does not keep
// them.
func TestLaunchThroughHal(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		need(t, p.device, driver.CapCompile)
		d, err := hal.OpenWith(t.Context(), p.backend, p.ordinal)
		ok(t, err)
		image, err := d.Compile(hal.Source{Text: testSource})
		ok(t, err)
		bare := image
		bare.Params = nil
		s, err := d.NewStream()
		ok(t, err)
		mem, err := d.Alloc(hal.KindDevice, 400, 0)
		ok(t, err)
		for i, img := range []hal.Image{image, bare} {
			m, err := d.Load(img)
			ok(t, err)
			k, err := m.Kernel("saxpy")
			ok(t, err)
			a, at, n := hal.Value(float32(1)), hal.At(mem.All()), hal.Value(uint64(100))
			if k.Info().Known {
				wantKind(t, s.Launch(k, hal.Over(100), a, n, at, n), hal.ErrInvalidArgument)
				wantKind(t, s.Launch(k, hal.Over(100), a, at, at, hal.Value(int32(1))), hal.ErrInvalidArgument)
				ok(t, s.Launch(k, hal.Over(100), a, at, at, n))
			} else if i == 0 {
				t.Error("the parameters are not known, though the image has them")
			} else {
				wantKind(t, s.Launch(k, hal.Over(100), a, at, at, n), hal.ErrInvalidArgument)
			}
			wantKind(t, s.Launch(k, hal.Over(100).Unchecked(), a, at, at), hal.ErrInvalidArgument)
			ok(t, s.Launch(k, hal.Over(100).Unchecked(), a, at, at, n))
			wantKind(t, s.Launch(k, hal.Over(100).Of(1<<30), a, at, at, n), hal.ErrInvalidArgument)
			_, err = m.Kernel("nothing")
			wantKind(t, err, hal.ErrNotFound)
			wantWords(t, err.Error(), "saxpy", "sums")

			// The module is closed before its launches are done.
			if d.Info().Caps.Has(hal.CapGate) {
				g, err := s.Gate()
				ok(t, err)
				ok(t, s.Fill(mem.All(), hal.Pattern32(5)))
				add, err := m.Kernel("add")
				ok(t, err)
				ok(t, s.Launch(add, hal.Over(64).Of(32).Unchecked(), at, hal.Value(uint32(9))))
				ok(t, m.Close())
				wantKind(t, s.Launch(add, hal.Over(64), at, hal.Value(uint32(9))), hal.ErrClosed)
				ok(t, g.Signal())
				got := make([]uint32, 100)
				ok(t, s.CopyOut(raw(got), mem.All()))
				ok(t, s.Sync(t.Context()))
				if slices.ContainsFunc(got[:64], func(v uint32) bool { return v != 14 }) {
					t.Errorf("memory: %v", got)
				}
			}
			ok(t, m.Close())
		}
		closeAll(t, s, mem)
		ok(t, d.Close())
	})
}
