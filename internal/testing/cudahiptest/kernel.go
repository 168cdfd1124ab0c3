package cudahiptest

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/testing/simgpu"
)

// image returns an image of the given kernels, or of all of the simulated drivers' kernels, in the format
// that the device loads.
func image(d driver.Device, kernels ...simgpu.Kernel) *driver.Image {
	if len(kernels) == 0 {
		kernels = simgpu.Kernels
	}
	if slices.Contains(d.(driver.Loader).Formats(), driver.FormatPTX) {
		return &driver.Image{Format: driver.FormatPTX, Data: simgpu.PTX(kernels...)}
	}
	return &driver.Image{Format: driver.FormatCodeObject, Data: simgpu.CodeObject(kernels...)}
}

// params returns the parameters of the kernels, for a driver that does not report them.
func params(kernels ...simgpu.Kernel) map[string][]driver.Param {
	all := make(map[string][]driver.Param)
	for _, k := range kernels {
		list := []driver.Param{}
		for _, letter := range k.Takes {
			p := driver.Param{Kind: driver.ParamValue}
			switch letter {
			case 'p':
				p = driver.Param{Kind: driver.ParamPointer, Size: 8}
			case 'b':
				p.Size = 1
			case 'h':
				p.Size = 2
			case 'u', 'f':
				p.Size = 4
			case 'l', 'd':
				p.Size = 8
			case 's':
				p.Size = 40
			}
			list = append(list, p)
		}
		all[k.Name] = list
	}
	return all
}

func load(t testing.TB, d driver.Device, img *driver.Image) driver.Module {
	t.Helper()
	m, err := d.(driver.Loader).Load(img)
	ok(t, err)
	t.Cleanup(func() { ok(t, m.Close()) })
	return m
}

func kernel(t testing.TB, m driver.Module, name string) driver.Kernel {
	t.Helper()
	k, err := m.Kernel(name)
	ok(t, err)
	return k
}

// line returns a launch of so many blocks in one dimension.
func line(blocks, threads uint32, args ...driver.Arg) *driver.Launch {
	return &driver.Launch{Grid: [3]uint32{blocks, 1, 1}, Block: [3]uint32{threads, 1, 1}, Args: args}
}

func pointer(r driver.Region) driver.Arg {
	return driver.Arg{Kind: driver.ParamPointer, Size: 8, Region: r}
}

func value[T uint8 | uint16 | uint32 | uint64 | float32 | float64](v T) driver.Arg {
	a := driver.Arg{Kind: driver.ParamValue, Size: uint32(unsafe.Sizeof(v))}
	*(*T)(unsafe.Pointer(&a.Bits)) = v
	return a
}

func launch(t testing.TB, s driver.Stream, k driver.Kernel, l *driver.Launch) {
	t.Helper()
	ok(t, s.(driver.Launcher).Launch(k, l))
}

func floats(n int, from float32) []byte {
	var b []byte
	for i := range n {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(from+float32(i)))
	}
	return b
}

func wordsOf(n int, w uint32) []byte {
	var b []byte
	for range n {
		b = binary.LittleEndian.AppendUint32(b, w)
	}
	return b
}

func kernelsRun(h *Harness, t *testing.T) {
	h.seeds(t, 6, func(t *testing.T, seed uint64) {
		d := h.open(t, 0)
		h.need(t, d, driver.CapKernels)
		m, s := load(t, d, image(d)), newStream(t, d)
		const n = 3000
		for _, k := range kindsOf(d) {
			x, y := alloc(t, d, k, 4*n+16), alloc(t, d, k, 4*n+32)
			write(t, s, whole(x), append(make([]byte, 16), floats(n, 0)...))
			write(t, s, whole(y), append(make([]byte, 32), floats(n, 1)...)) // at other offsets
			launch(t, s, kernel(t, m, "saxpy"), line(12, 256, pointer(region(x, 16, 4*n)), pointer(region(y, 32, 4*n)), value(float32(2)), value(uint32(n))))
			var want []byte
			for i := range n {
				want = binary.LittleEndian.AppendUint32(want, math.Float32bits(3*float32(i)+1))
			}
			same(t, "saxpy", read(t, s, region(y, 32, 4*n)), want)
		}
		mem := make([]byte, 4*n)
		r, err := d.(driver.Registerer).Register(at(mem), uint64(len(mem)))
		ok(t, err)
		launch(t, s, kernel(t, m, "fill"), line(12, 256, pointer(whole(r)), value(uint32(0x01020304)), value(uint32(n))))
		ok(t, s.Sync())
		same(t, "registered memory", mem, wordsOf(n, 0x01020304))
		ok(t, r.Free())

		// Every thread of a launch in three dimensions runs once.
		p := alloc(t, d, driver.KindDevice, 4*2000)
		ok(t, s.Fill(whole(p), driver.Pattern{Width: 1}))
		launch(t, s, kernel(t, m, "tally"), &driver.Launch{Grid: [3]uint32{3, 2, 5}, Block: [3]uint32{4, 8, 2},
			Args: []driver.Arg{pointer(whole(p)), value(uint32(2000))}})
		same(t, "every thread", read(t, s, whole(p)), append(wordsOf(1920, 1), wordsOf(80, 0)...))

		// Every thread gets its own place. The numbers of the grid are all different, and so are
		// those of the block.
		q := alloc(t, d, driver.KindDevice, 4*1920)
		launch(t, s, kernel(t, m, "place"), &driver.Launch{Grid: [3]uint32{3, 2, 5}, Block: [3]uint32{4, 8, 2},
			Args: []driver.Arg{pointer(whole(q)), value(uint32(1920))}})
		var places []byte
		for z := range uint32(5 * 2) {
			for y := range uint32(2 * 8) {
				for x := range uint32(3 * 4) {
					places = binary.LittleEndian.AppendUint32(places, x|y<<8|z<<16|x%4<<24|y%8<<27|z%2<<30)
				}
			}
		}
		same(t, "places", read(t, s, whole(q)), places)

		l := line(4, 250, pointer(region(p, 0, 16)), pointer(region(p, 16, 4000)), value(uint32(1000)))
		l.Shared = 1000
		launch(t, s, kernel(t, m, "block_sum"), l)
		same(t, "shared memory", read(t, s, region(p, 0, 16)), wordsOf(4, 250))
		launch(t, s, kernel(t, m, "nothing"), line(1, 1))
		ok(t, s.Sync())
	})
}

func kernelArguments(h *Harness, t *testing.T) {
	h.seeds(t, 6, func(t *testing.T, seed uint64) {
		d := h.open(t, 0)
		m, s := load(t, d, image(d)), newStream(t, d)
		out := alloc(t, d, driver.KindDevice, 48+40)
		g, err := s.(driver.Gater).Gate()
		ok(t, err)
		l := line(1, 32, pointer(region(out, 0, 48)), value(uint8(1)), value(uint16(0x203)), value(uint32(0x4050607)),
			value(uint64(0x08090a0b0c0d0e0f)), value(float32(1.5)), value(2.5))
		launch(t, s, kernel(t, m, "widths"), l)
		clear(l.Args) // the call has copied them
		structure := random(seed, 40)
		want := bytes.Clone(structure)
		l = line(1, 32, pointer(region(out, 48, 40)), driver.Arg{Kind: driver.ParamValue, Size: 40, Ptr: at(structure)})
		launch(t, s, kernel(t, m, "record"), l)
		clear(structure)
		clear(l.Args)
		ok(t, g.Open())
		got := read(t, s, whole(out))
		numbers := make([]byte, 48)
		numbers[0] = 1
		binary.LittleEndian.PutUint16(numbers[8:], 0x203)
		binary.LittleEndian.PutUint32(numbers[16:], 0x4050607)
		binary.LittleEndian.PutUint64(numbers[24:], 0x08090a0b0c0d0e0f)
		binary.LittleEndian.PutUint32(numbers[32:], math.Float32bits(1.5))
		binary.LittleEndian.PutUint64(numbers[40:], math.Float64bits(2.5))
		same(t, "numbers", got[:48], numbers)
		same(t, "a structure", got[48:], want)
	})
}

func kernelsAreDescribed(h *Harness, t *testing.T) {
	h.reset(t, 0)
	d := h.open(t, 0)
	c := d.Info().Compute
	if c.Arch == "" || strings.ContainsAny(c.Arch, ": ") || c.Language == 0 || c.Units != 1 || c.MaxThreads != 1024 ||
		c.MaxBlock[0] != 1024 || c.MaxBlock[2] == 0 || c.MaxGrid != [3]uint32{1<<31 - 1, 65535, 65535} || c.Warp < 32 || c.Shared < 64<<10 ||
		!c.Float64 || !c.Float16 || c.SharedByParam {
		t.Errorf("the device runs %+v", c)
	}
	img := image(d, simgpu.Kernel{Name: "saxpy", Takes: "ppfu", Threads: 96}, simgpu.Kernel{Name: "nothing"})
	m := load(t, d, img)
	if names := m.Names(); names != nil {
		if slices.Sort(names); !slices.Equal(names, []string{"nothing", "saxpy"}) {
			t.Errorf("kernels %q", names)
		}
	}
	info := kernel(t, m, "saxpy").Info()
	if info.Name != "saxpy" || info.MaxThreads != 96 || info.Suggested != 96 || info.MaxShared != c.Shared-info.StaticShared {
		t.Errorf("the kernel is %+v", info)
	}
	if info.Known {
		var sizes []uint32
		for _, p := range info.Params {
			sizes = append(sizes, p.Size)
			if p.Size == 4 && p.Kind != driver.ParamValue || p.Size == 8 && p.Kind == driver.ParamValue {
				t.Errorf("parameters %+v", info.Params)
			}
		}
		if !slices.Equal(sizes, []uint32{8, 8, 4, 4}) {
			t.Errorf("parameters of %d bytes", sizes)
		}
	}
	if info := kernel(t, m, "nothing").Info(); info.Known && len(info.Params) != 0 || info.Suggested != 256 || info.MaxThreads != 1024 {
		t.Errorf("a kernel without parameters is %+v", info)
	}
	native := d.(driver.Native).Handles()
	other := h.open(t, 1).(driver.Native).Handles()
	if native.Device == other.Device || (native.Context != 0) != (h.Retain != "") || native.Context != 0 && native.Context == other.Context {
		t.Errorf("handles %+v and %+v", native, other)
	}
	if b, isBlocker := m.(driver.FreeBlocker); !isBlocker || !b.FreeMayBlock() {
		t.Error("FreeMayBlock of a module is false")
	}
}

func kernelImagesRefused(h *Harness, t *testing.T) {
	h.reset(t, 0)
	d := h.open(t, 0)
	refused := func(what string, img *driver.Image, want error) *driver.Error {
		t.Helper()
		m, err := d.(driver.Loader).Load(img)
		if m != nil {
			t.Errorf("%s: loaded", what)
		}
		e := kind(t, err, want)
		if e.Op != "load" || e.Backend != d.Info().Backend {
			t.Errorf("%s: incomplete: %v", what, e)
		}
		return e
	}
	good := image(d)
	if good.Format == driver.FormatPTX {
		replaced := func(old, new string) *driver.Image {
			return &driver.Image{Format: driver.FormatPTX, Data: []byte(strings.Replace(string(good.Data), old, new, 1))}
		}
		e := refused("wrong PTX", replaced(".param .f32", ".param .f31"), driver.ErrBuild)
		var b *driver.BuildError
		if !errors.As(e, &b) || !strings.Contains(b.Log, ".f31") || !strings.Contains(b.Log, "line 8") || e.Vendor.Code != 218 {
			t.Errorf("the error has no log: %v", e)
		}
		if e = refused("newer PTX", replaced(".version 6.0", ".version 99.0"), driver.ErrUnsupported); !strings.Contains(e.Detail, "too new") {
			t.Errorf("newer PTX: %v", e)
		}
		e = refused("another device's PTX", replaced("sm_50", "sm_120"), driver.ErrUnsupported)
		if !strings.Contains(e.Detail, "sm_90") {
			t.Errorf("the error does not name the device: %v", e)
		}
		refused("another format", &driver.Image{Format: driver.FormatCubin, Data: []byte("\x7fELF, but nothing more\x00")}, driver.ErrInvalidArgument)
		// The text ends where the slice ends, whatever follows in memory, or at a zero byte.
		load(t, d, &driver.Image{Format: driver.FormatPTX, Data: append(slices.Clone(good.Data), "}}"...)[:len(good.Data)]})
		load(t, d, &driver.Image{Format: driver.FormatPTX, Data: append(slices.Clone(good.Data), 0)})
	} else {
		at := bytes.Index(good.Data, []byte("AMDGPU"))
		damaged := bytes.Clone(good.Data)
		for i := at + 8; i < at+400; i++ {
			damaged[i] = 0xc1 // a byte that MessagePack never uses
		}
		refused("damaged", &driver.Image{Format: good.Format, Data: damaged}, driver.ErrInvalidArgument)
		refused("text", &driver.Image{Format: good.Format, Data: bytes.Repeat([]byte("text "), 100)}, driver.ErrInvalidArgument)
		other := bytes.Clone(good.Data)
		other[48] = 0x4c // EF_AMDGPU_MACH of gfx942
		if e := refused("another architecture's", &driver.Image{Format: good.Format, Data: other}, driver.ErrUnsupported); !strings.Contains(e.Detail, "gfx906") {
			t.Errorf("the error does not name the device: %v", e)
		}
	}
	withOptions := *good
	withOptions.Options = "-O3"
	refused("options", &withOptions, driver.ErrInvalidArgument)

	m := load(t, d, image(d, simgpu.Kernels[:3]...))
	for _, name := range []string{"copy", "", "fill\x00more"} {
		_, err := m.Kernel(name)
		if e := kind(t, err, driver.ErrNotFound); e.Detail == "" {
			t.Errorf("%q: %v", name, e)
		}
	}
}

func launchesRefused(h *Harness, t *testing.T) {
	h.reset(t, 0)
	d := h.open(t, 0)
	m, s := load(t, d, image(d)), newStream(t, d)
	p := alloc(t, d, driver.KindDevice, 400)
	fill := kernel(t, m, "fill")
	args := []driver.Arg{pointer(whole(p)), value(uint32(1)), value(uint32(100))}
	write(t, s, whole(p), make([]byte, 400))
	refused := func(what string, s driver.Stream, k driver.Kernel, l *driver.Launch, want error) *driver.Error {
		t.Helper()
		err := s.(driver.Launcher).Launch(k, l)
		if err == nil {
			t.Fatalf("%s: launched", what)
		}
		return kind(t, err, want)
	}
	if err := s.(driver.Launcher).Launch(fill, line(1, 1, driver.Arg{Kind: driver.ParamPointer}, args[1], value(uint32(0)))); err != nil {
		t.Errorf("a null pointer: %v", err)
	}
	e := refused("block too large", s, fill, line(1, 2000, args...), driver.ErrInvalidArgument)
	if !strings.Contains(e.Detail, "kernel fill") || !strings.Contains(e.Detail, "2000x1x1") || e.Vendor.API == "" {
		t.Errorf("incomplete: %v", e)
	}
	if h.Retain != "" { // HIP reports another error: a failure to launch
		small := kernel(t, load(t, d, image(d, simgpu.Kernel{Name: "fill", Takes: "puu", Threads: 64})), "fill")
		if e := refused("too few registers", s, small, line(1, 65, args...), driver.ErrInvalidArgument); e.Vendor.Code != 701 || !strings.Contains(e.Detail, "32 registers") {
			t.Errorf("incomplete: %v", e)
		}
	}
	l := line(1, 1, args...)
	l.Shared = fill.Info().MaxShared + 1
	refused("too much shared memory", s, fill, l, driver.ErrInvalidArgument)
	same(t, "after launches that were refused", read(t, s, whole(p)), make([]byte, 400))

	// The largest amount that the kernel can have. The backend may have to raise the kernel's limit
	// first.
	l.Shared = fill.Info().MaxShared
	l.Block[0] = 128
	launch(t, s, fill, l)
	same(t, "much shared memory", read(t, s, whole(p)), wordsOf(100, 1))
}

func launchDoesNotAllocate(h *Harness, t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector makes pools forget")
	}
	h.reset(t, 0)
	d := h.open(t, 0)
	m, s := load(t, d, image(d)), newStream(t, d)
	p := alloc(t, d, driver.KindDevice, 400)
	n := value(uint32(1))
	k, l := kernel(t, m, "sum_four"), line(1, 1, pointer(whole(p)), n, n, n, n, n)
	launcher := s.(driver.Launcher)
	if n := testing.AllocsPerRun(100, func() { ok(t, launcher.Launch(k, l)) }); n != 0 {
		t.Errorf("a launch with 6 arguments allocates %v times", n)
	}
	ok(t, s.Sync())
	hd := h.halDevice(t)
	defer func() { ok(t, hd.Close()) }()
	hm, err := hd.Load(h.halImage(hd))
	ok(t, err)
	hk, err := hm.Kernel("sum_four")
	ok(t, err)
	hs, err := hd.NewStream()
	ok(t, err)
	mem, err := hd.Alloc(hal.KindDevice, 400, 0)
	ok(t, err)
	one, at := hal.Value(uint32(1)), hal.At(mem.Region(0, 400))
	if n := testing.AllocsPerRun(100, func() { ok(t, hs.Launch(hk, hal.Over(1), at, one, one, one, one, one)) }); n != 0 {
		t.Errorf("a launch of package hal with 6 arguments allocates %v times", n)
	}
	for _, c := range []func() error{func() error { return hs.Sync(context.Background()) }, mem.Close, hs.Close, hm.Close} {
		ok(t, c())
	}
}

// halDevice opens device 0 for use through package hal.
func (h *Harness) halDevice(t *testing.T) *hal.Device {
	t.Helper()
	d, err := hal.OpenWith(context.Background(), h.backend, 0)
	ok(t, err)
	return d
}

func (h *Harness) halImage(d *hal.Device) hal.Image {
	img := hal.Image{Format: driver.FormatCodeObject, Data: simgpu.CodeObject(simgpu.Kernels...), Params: params(simgpu.Kernels...)}
	if slices.Contains(d.Formats(), driver.FormatPTX) {
		img.Format, img.Data = driver.FormatPTX, simgpu.PTX(simgpu.Kernels...)
	}
	return img
}

// kernelFaults has a kernel fail while it runs. The device is lost, and the error names the kernels that may have done it.
func kernelFaults(h *Harness, t *testing.T) {
	for _, code := range []uint32{700, 716, 719} {
		h.calm(t, 3)
		d := h.halDevice(t)
		m, err := d.Load(h.halImage(d))
		ok(t, err)
		s, err := d.NewStream()
		ok(t, err)
		for _, name := range []string{"nothing", "fault"} {
			k, err := m.Kernel(name)
			ok(t, err)
			var args []hal.Arg
			if name == "fault" {
				args = append(args, hal.Value(code))
			}
			ok(t, s.Launch(k, hal.Blocks(1).Of(32), args...))
		}
		err = s.Sync(context.Background())
		var e *hal.Error
		if !errors.As(err, &e) || e.Vendor.Code != int64(code) {
			t.Fatalf("fault %d: %v", code, err)
		}
		known := h.Retain != "" || code != 716 // HIP has no error 716
		if known {
			if e.Kind != hal.ErrDeviceLost || !strings.Contains(e.Detail, "fault (launch 2), nothing (launch 1)") {
				t.Errorf("fault %d: %v", code, err)
			}
			if _, err := d.Alloc(hal.KindDevice, 100, 0); !errors.Is(err, hal.ErrDeviceLost) {
				t.Errorf("after the fault: %v", err)
			}
		}
		for _, c := range []func() error{s.Close, m.Close, d.Close} {
			if err := c(); err != nil && known && !errors.Is(err, hal.ErrDeviceLost) {
				t.Error(err)
			}
		}
		h.sim.Clear()
	}
	h.calm(t, 0)
}

// FewerCalls runs on a library that lacks the optional calls for kernels.
func FewerCalls(t *testing.T, h *Harness) {
	if h.Binding == "linked" {
		t.Skip("this binding calls the library that it is linked against")
	}
	h.start(t)
	h.reset(t, 3)
	d := h.open(t, 0)
	h.need(t, d, driver.CapKernels)
	m, s := load(t, d, image(d)), newStream(t, d)
	k := kernel(t, m, "fill")
	if info := k.Info(); info.Suggested != 256 || info.MaxShared == 0 || info.MaxShared > 64<<10 {
		t.Errorf("the kernel is %+v", info)
	}
	p := alloc(t, d, driver.KindDevice, 400)
	l := line(1, 128, pointer(whole(p)), value(uint32(9)), value(uint32(100)))
	l.Shared = k.Info().MaxShared
	launch(t, s, k, l)
	same(t, "with fewer calls", read(t, s, whole(p)), wordsOf(100, 9))
}

// kernels is the part of program that loads and launches. It goes on after an error.
func (p *program) kernels(d driver.Device, s driver.Stream, mem driver.Memory) {
	if !p.caps.Has(driver.CapKernels) {
		return
	}
	m, err := d.(driver.Loader).Load(image(d))
	if !p.got(err) {
		return
	}
	defer func() {
		for s.Sync() != nil { // code may be unloaded only when its launches are done
			p.got(s.Sync())
		}
		p.got(m.Close())
	}()
	k, err := m.Kernel("fill")
	if !p.got(err) {
		return
	}
	l := line(1, 32, pointer(whole(mem)), value(uint32(1)), value(uint32(25)))
	p.got(s.(driver.Launcher).Launch(k, l))
	l.Shared = 64 << 10 // so much that the backend has to raise the kernel's limit first, if the driver has such a limit
	p.got(s.(driver.Launcher).Launch(k, l))
}
