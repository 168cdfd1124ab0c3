//go:build vulkan

package vulkan

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/driver"
	ops "github.com/go-halyard/halyard/internal/spirv"
)

// suiteKernels returns the kernels of the conformance suite.
func suiteKernels(t testing.TB) []byte {
	t.Helper()
	text, err := os.ReadFile("../../conformance/kernelvulkan.go")
	must(t, err)
	_, packed, _ := strings.Cut(string(text), "`")
	packed, _, _ = strings.Cut(packed, "`")
	return unpacked(t, packed)
}

// unpacked returns a module that is packed.
func unpacked(t testing.TB, packed string) []byte {
	module, err := new(ops.Unpacker).Unpack(packed)
	must(t, err)
	return module
}

func TestReadSPIRV(t *testing.T) {
	m, problem := readSPIRV(suiteKernels(t))
	if problem != "" {
		t.Fatal(problem)
	}
	for name, want := range map[string]struct {
		sizes, at []uint32
		pointers  int
	}{
		"put":     {[]uint32{8, 4, 4}, []uint32{0, 8, 12}, 1},
		"add":     {[]uint32{8, 8, 4, 4}, []uint32{0, 8, 16, 20}, 2},
		"scalars": {[]uint32{8, 1, 2, 4, 8, 4, 1}, []uint32{0, 8, 10, 12, 16, 24, 28}, 1},
		"members": {[]uint32{8, 32}, []uint32{0, 8}, 1},
	} {
		i := slices.IndexFunc(m.entries, func(e *entry) bool { return e.name == name })
		if i < 0 {
			t.Fatalf("no kernel %s", name)
		}
		e := m.entries[i]
		for k, p := range e.params {
			if p.Size != want.sizes[k] || e.at[k] != want.at[k] || (p.Kind == driver.ParamPointer) != (k < want.pointers) {
				t.Errorf("%s: parameter %d is %+v at %d", name, k, p, e.at[k])
			}
		}
		if len(e.params) != len(want.sizes) {
			t.Errorf("%s: %d parameters", name, len(e.params))
		}
	}
	if len(m.entries) != 10 || !m.chosen(0) || !m.chosen(specShared) || m.chosen(4) {
		t.Errorf("%d kernels, constants %v", len(m.entries), m.specs)
	}
	none, every := features{}, features{}
	for _, w := range wanted {
		*w.at(&every) = 1
	}
	if l := m.lacking(&every); l != "" {
		t.Error(l)
	}
	if l := m.lacking(&none); !strings.Contains(l, "which the device lacks") {
		t.Errorf("without features: %q", l)
	}
	for capability, says := range map[uint32]string{capabilityKernel: "for OpenCL", 4711: "capability 4711 of SPIR-V"} {
		m.capabilities = []uint32{1, capability}
		if l := m.lacking(&every); !strings.Contains(l, says) {
			t.Errorf("capability %d: %q", capability, l)
		}
	}
}

// A module is given the modes for floats, each for every kernel of it, and is as valid as before. One that says itself how floats behave keeps its words.
func TestModesForFloats(t *testing.T) {
	m, problem := readSPIRV(suiteKernels(t))
	if problem != "" {
		t.Fatal(problem)
	}
	modes := []floatMode{{4459, 4464, 32}, {4459, 4464, 64}, {4461, 4466, 64}}
	words := m.given(modes)
	var b []byte
	for _, w := range words {
		b = binary.LittleEndian.AppendUint32(b, w)
	}
	again, problem := readSPIRV(b)
	if problem != "" {
		t.Fatal(problem)
	}
	if more := len(words) - len(m.words); more != 2*2+len(modes)*4*len(m.entries) || len(again.entries) != len(m.entries) {
		t.Errorf("%d words more, %d kernels", more, len(again.entries))
	}
	if !slices.Contains(again.capabilities, 4464) || !slices.Contains(again.capabilities, 4466) {
		t.Errorf("capabilities %v", again.capabilities)
	}
	if kept := again.given(modes); len(kept) != len(words) {
		t.Errorf("a module that has modes gets %d words more", len(kept)-len(words))
	}
	m.words[1] = 0x10300
	if old := m.given(modes); len(old) != len(m.words) {
		t.Error("a module of SPIR-V 1.3 gets modes")
	}
}

// Modules that are cut off, or have words that make no sense, are read or refused, whatever they are.
func TestDamagedSPIRV(t *testing.T) {
	whole := suiteKernels(t)
	for n := 0; n < len(whole); n += 4 {
		if _, problem := readSPIRV(whole[:n]); problem == "" {
			t.Fatalf("%d of %d bytes of a module are one", n, len(whole))
		}
	}
	rng := rand.New(rand.NewPCG(3, 4))
	for range 3000 {
		b := bytes.Clone(whole)
		for range 1 + rng.IntN(4) {
			at := 4 * rng.IntN(len(b)/4)
			word := rng.Uint32()
			if rng.IntN(2) == 0 {
				word = uint32(rng.IntN(80)) | uint32(rng.IntN(6))<<16
			}
			binary.LittleEndian.PutUint32(b[at:], word)
		}
		if m, problem := readSPIRV(b); problem == "" {
			m.lacking(&features{})
		}
	}
	// A structure of structures of structures, each many times, is measured in no time; one in itself has no size.
	types := map[uint32]*spirvType{1: {op: ops.OpTypeInt, args: []uint32{32, 0}}}
	for id := uint32(2); id < 40; id++ {
		types[id] = &spirvType{op: ops.OpTypeStruct, args: []uint32{id - 1, id - 1, id - 1}, offsets: map[uint32]uint32{0: 0, 1: 0, 2: 0}}
	}
	if size, align := measure(types, 39); size != 4 || align != 4 {
		t.Errorf("structures in structures: %d bytes, aligned to %d", size, align)
	}
	types[50] = &spirvType{op: ops.OpTypeStruct, args: []uint32{50}, offsets: map[uint32]uint32{0: 0}}
	if size, _ := measure(types, 50); size != 0 {
		t.Errorf("a structure in itself: %d bytes", size)
	}
}

// program is the suite's kernels on a device, or a skip where it lacks what they need.
func program(t *testing.T, d *device) *module { return loaded(t, d, suiteKernels(t)) }

func loaded(t *testing.T, d *device, code []byte) *module {
	t.Helper()
	m, err := d.Load(&driver.Image{Format: driver.FormatVulkan, Data: code})
	if errors.Is(err, driver.ErrUnsupported) {
		t.Skip(err)
	}
	must(t, err)
	t.Cleanup(func() { must(t, m.Close()) })
	return m.(*module)
}

// putting are the arguments of put: n words from off get the value v.
func putting(m driver.Memory, off uint64, v, n uint32) []driver.Arg {
	return []driver.Arg{{Kind: driver.ParamPointer, Size: 8, Region: driver.Region{Mem: m, Off: off, Len: 4}},
		{Kind: driver.ParamValue, Size: 4, Bits: [2]uint64{uint64(v)}}, {Kind: driver.ParamValue, Size: 4, Bits: [2]uint64{uint64(n)}}}
}

// If the program does not say how many threads a block has, it has many, and so a grid may have more threads than a device allows blocks.
func TestSuggestedBlocks(t *testing.T) {
	everyModel(t, func(t *testing.T, p at) {
		const n = 1 << 17
		dev, err := hal.OpenWith(t.Context(), p.backend, p.ordinal)
		must(t, err)
		if most := dev.Info().Compute.MaxGrid[0]; most >= n {
			t.Skipf("the device takes %d blocks", most)
		}
		mod, e1 := dev.Load(hal.Image{Format: hal.FormatVulkan, Data: suiteKernels(t)})
		must(t, e1)
		k, e1 := mod.Kernel("put")
		s, e2 := dev.NewStream()
		m, e3 := dev.Alloc(hal.KindHost, 4*n, 0)
		must(t, e1, e2, e3, s.Launch(k, hal.Over(n), hal.At(m.All()), hal.Value(uint32(7)), hal.Value(uint32(n))), s.Sync(t.Context()))
		for i, word := range unsafe.Slice((*uint32)(m.HostPointer()), n) {
			if word != 7 {
				t.Fatalf("word %d is %d", i, word)
			}
		}
		must(t, m.Close(), mod.Close(), s.Close(), dev.Close())
	})
}

// Launches with many sizes of block compile a pipeline for each, keep few, and give the right words.
func TestPipelinesAreFew(t *testing.T) {
	everyModel(t, func(t *testing.T, p at) {
		d := p.open(t)
		k, err := program(t, d).Kernel("put")
		must(t, err)
		const launches, each = 2*mostPipelines + 10, 8
		s := streamOf(t, d)
		m := memoryOf(t, d, driver.KindDevice, 4*each*launches)
		g, err := s.Gate()
		must(t, err)
		for i := range uint32(launches) {
			l := &driver.Launch{Grid: [3]uint32{each, 1, 1}, Block: [3]uint32{1 + i%(mostPipelines+5), 1, 1},
				Args: putting(m, uint64(4*each*i), i, each)}
			must(t, s.Launch(k, l))
			clear(l.Args) // what is passed by value may change
		}
		must(t, g.Open()) // until now each pipeline has launches that are not submitted
		out := make([]byte, 4*each*launches)
		must(t, s.CopyOut(start(out), all(m)), s.Sync())
		for i := range each * launches {
			if v := binary.LittleEndian.Uint32(out[4*i:]); v != uint32(i/each) {
				t.Fatalf("word %d is %d", i, v)
			}
		}
		of := k.(*kernel)
		must(t, s.Launch(of, &driver.Launch{Grid: [3]uint32{1, 1, 1}, Block: [3]uint32{100, 1, 1}, Args: putting(m, 0, 1, 1)}), s.Sync())
		if n := len(of.pipelines); n > mostPipelines {
			t.Errorf("%d pipelines", n)
		}
		for _, x := range of.pipelines {
			if x.pending.Load() != 0 {
				t.Errorf("%d launches are pending when all is done", x.pending.Load())
			}
		}
	})
}

// While one pipeline is being compiled, calls that need it wait, it is compiled once, and all other launches go on.
func TestPipelinesAreCompiledApart(t *testing.T) {
	everyModel(t, func(t *testing.T, p at) {
		d := p.open(t)
		m := memoryOf(t, d, driver.KindDevice, 8)
		code := program(t, d)
		put, err := code.Kernel("put")
		must(t, err)
		add, err := code.Kernel("add")
		must(t, err)
		launch := func(k driver.Kernel, threads uint32) error {
			args := putting(m, 0, 7, 1)
			if k == add {
				args = append(args[:1], putting(m, 4, 7, 1)...)
			}
			s, err := d.NewStream(driver.StreamOptions{})
			must(t, err)
			l := &driver.Launch{Grid: [3]uint32{1, 1, 1}, Block: [3]uint32{threads, 1, 1}, Args: args}
			return errors.Join(s.(*stream).Launch(k, l), s.Sync())
		}
		must(t, launch(put, 1))
		const callers = 4
		real := d.t.createPipeline
		begun, results := make(chan func(status)), make(chan error, callers)
		d.t.createPipeline = func(device, cache uintptr, info unsafe.Pointer) (uintptr, status) {
			release := make(chan status)
			begun <- func(st status) { release <- st }
			if st := <-release; st != success {
				return 0, st
			}
			return real(device, cache, info)
		}
		compiling := func() (end func(status)) {
			for range callers {
				go func() { results <- launch(put, 2) }()
			}
			end = <-begun
			for waiting := 0; waiting < callers; runtime.Gosched() { // all others have come
				of := put.(*kernel)
				of.mu.Lock()
				waiting = int(of.pipelines[len(of.pipelines)-1].pending.Load())
				of.mu.Unlock()
			}
			return end
		}
		compiling()(unknown)
		for range callers {
			if err := <-results; !errors.Is(err, driver.ErrDriver) {
				t.Errorf("a compilation that fails: %v", err)
			}
		}
		end := compiling()
		must(t, launch(put, 1))
		go func() { (<-begun)(success) }()
		must(t, launch(add, 1))
		end(success)
		for range callers {
			must(t, <-results)
		}
		d.t.createPipeline = real
		if n := len(put.(*kernel).pipelines); n != 2 {
			t.Errorf("%d pipelines", n)
		}
	})
}

// What a driver keeps of a pipeline comes back to it in a later process, and never in another state than that in which it was given.
func TestPipelinesAreKept(t *testing.T) {
	everyModel(t, func(t *testing.T, p at) {
		d := p.open(t)
		folder := t.TempDir()
		t.Setenv("HALYARD_KERNEL_CACHE", folder)
		data, size := randomBytes(1, 500), uintptr(500)
		given := make(chan []byte, 1)
		real := *d.t
		d.t.createPipelineCache = func(device uintptr, info unsafe.Pointer) (uintptr, status) {
			of := *(*pipelineCacheInfo)(info)
			given <- bytes.Clone(unsafe.Slice((*byte)(of.data), of.size))
			of.size, of.data = 0, nil
			return real.createPipelineCache(device, unsafe.Pointer(&of))
		}
		d.t.pipelineCacheData = func(_, _ uintptr, n, to unsafe.Pointer) status {
			*(*uintptr)(n) = size
			if to != nil {
				copy(unsafe.Slice((*byte)(to), len(data)), data)
			}
			return success
		}
		code := suiteKernels(t)
		compile := func(name string) []byte {
			m := loaded(t, d, code)
			k, err := m.Kernel(name)
			must(t, err)
			_, err = k.(*kernel).pipeline("test", [3]uint32{4, 1, 1}, 0, false)
			must(t, err)
			return <-given
		}
		if b := compile("put"); len(b) != 0 {
			t.Errorf("a pipeline that is new: %d bytes", len(b))
		}
		if b := compile("put"); !bytes.Equal(b, data) {
			t.Errorf("the same pipeline: %d bytes", len(b))
		}
		if b := compile("add"); len(b) != 0 {
			t.Errorf("another kernel: %d bytes", len(b))
		}
		plan := *d.plan
		plan.compiler += " next"
		d.plan = &plan
		if b := compile("put"); len(b) != 0 {
			t.Errorf("another driver: %d bytes", len(b))
		}
		plan.features.rounded ^= 1
		if b := compile("put"); len(b) != 0 {
			t.Errorf("other roundings: %d bytes", len(b))
		}
		files, err := filepath.Glob(folder + "/*/*")
		must(t, err)
		for _, f := range files {
			b, err := os.ReadFile(f)
			must(t, err)
			b[len(b)-1]++
			must(t, os.WriteFile(f, b, 0o600))
		}
		if b := compile("put"); len(b) != 0 || len(files) != 4 {
			t.Errorf("what is kept is damaged: %d bytes, %d files", len(b), len(files))
		}
		for _, size = range []uintptr{0, 32, 1 << 60} { // of a header alone, or of nothing that can be
			compile("turn")
			if b := compile("turn"); len(b) != 0 {
				t.Errorf("%d bytes are kept of %d", len(b), size)
			}
		}
		d.t.createPipelineCache = func(uintptr, unsafe.Pointer) (uintptr, status) { given <- nil; return 0, unknown }
		compile("put") // works without
		*d.t = real
	})
}

// A launch whose call of the driver fails says which, has no effect, and the kernel works afterwards.
func TestLaunchesThatFail(t *testing.T) {
	everyModel(t, func(t *testing.T, p at) {
		d := p.open(t)
		s := streamOf(t, d)
		m := memoryOf(t, d, driver.KindDevice, 4)
		k, err := program(t, d).Kernel("put")
		must(t, err)
		word := func() uint32 {
			out := make([]byte, 4)
			must(t, s.CopyOut(start(out), all(m)), s.Sync())
			return binary.LittleEndian.Uint32(out)
		}
		must(t, s.Fill(all(m), driver.Pattern{Bits: 7, Width: 4}))
		for i, call := range []string{"createPipeline", "beginCommandBuffer", "endCommandBuffer", "submit"} {
			launch := func(v uint32) error {
				return s.Launch(k, &driver.Launch{Grid: [3]uint32{1, 1, 1}, Block: [3]uint32{uint32(i + 1), 1, 1}, Args: putting(m, 0, v, 1)})
			}
			p.spy.fail(1, unknown, call)
			var e *driver.Error
			if err := launch(1); !errors.As(err, &e) || e.Vendor.Name != "VK_ERROR_UNKNOWN" || e.Op != "launch" {
				t.Errorf("%s: %v", call, err)
			}
			p.spy.Reset()
			if v := word(); v != 7 {
				t.Errorf("%s fails, and the word is %d", call, v)
			}
			must(t, launch(7))
			if v := word(); v != 7 {
				t.Errorf("after %s failed, the word is %d", call, v)
			}
		}
		for _, call := range []string{"createShader", "createLayout"} {
			p.spy.fail(1, unknown, call)
			x, err := d.Load(&driver.Image{Format: driver.FormatVulkan, Data: suiteKernels(t)})
			if err == nil {
				_, err = x.Kernel("put")
				must(t, x.Close())
			}
			if !errors.Is(err, driver.ErrDriver) {
				t.Errorf("%s: %v", call, err)
			}
			p.spy.Reset()
		}
	})
}

// widely are the arguments of wide, which writes c and what else it gets: 19 words of 8 bytes from off on, and one of 4 bytes behind them.
func widely(m driver.Memory, off uint64, c uint32, values *[16]uint64) []driver.Arg {
	value := func(size uint32, bits uint64, p unsafe.Pointer) driver.Arg {
		return driver.Arg{Kind: driver.ParamValue, Size: size, Bits: [2]uint64{bits}, Ptr: p}
	}
	return []driver.Arg{putting(m, off, 0, 0)[0], value(1, 0xfe, nil), value(2, 0xfedc, nil), value(4, uint64(c), nil),
		value(128, 0, unsafe.Pointer(values)), putting(m, off+19*8, 0, 0)[0]}
}

// Parameters that push constants have no room for come to the kernel in memory: each launch sees its own, also those that wait for a
// gate while the memory is used again by others, or for memory.
func TestArgumentsInMemory(t *testing.T) {
	everyModel(t, func(t *testing.T, p at) {
		d := p.open(t)
		k, err := loaded(t, d, unpacked(t, wideKernel)).Kernel("wide")
		must(t, err)
		if of := k.(*kernel).entry; of.bytes != 152 || of.pushed != 8 || !slices.Equal(of.at, []uint32{0, 8, 10, 12, 16, 144}) {
			t.Errorf("%+v", of)
		}
		const launches, words, held = 600, 20, 50
		s := streamOf(t, d)
		late := streamOf(t, d)
		m := memoryOf(t, d, driver.KindDevice, 8*words*launches)
		g, err := late.Gate()
		must(t, err)
		var values [16]uint64
		for i := range launches {
			for j := range values {
				values[j] = uint64(i)<<32 | uint64(j)
			}
			on := s
			if i < held {
				on = late
			}
			must(t, on.Launch(k, &driver.Launch{Grid: [3]uint32{1, 1, 1}, Block: [3]uint32{1, 1, 1},
				Args: widely(m, uint64(8*words*i), uint32(7*i), &values)}))
		}
		must(t, s.Sync())
		d.Trim()
		var taken [mostStages]*stagingBlock // none is left
		for i := range taken {
			taken[i], _, err = d.stages[0].take("test", stageSize, nil)
			must(t, err)
		}
		must(t, g.Open())
		for waiting := false; !waiting; runtime.Gosched() {
			d.stages[0].mu.Lock()
			waiting = len(d.stages[0].queue) > 0
			d.stages[0].mu.Unlock()
		}
		if done, err := late.Query(); done || err != nil {
			t.Errorf("without memory for arguments: %t, %v", done, err)
		}
		for _, st := range taken {
			d.stages[0].put(st, 0)
		}
		must(t, late.Sync())
		out := make([]byte, 8*words*launches)
		must(t, s.CopyOut(start(out), all(m)), s.Sync())
		for i := range launches {
			got := func(w int) uint64 { return binary.LittleEndian.Uint64(out[8*(words*i+w):]) }
			want := []uint64{0xfe, 0xfedc, uint64(7 * i)}
			for j := range 16 {
				want = append(want, uint64(i)<<32|uint64(j))
			}
			for w, v := range want {
				if got(w) != v {
					t.Fatalf("launch %d: word %d is %#x, not %#x", i, w, got(w), v)
				}
			}
			if v := uint32(got(19)); v != uint32(7*i) {
				t.Fatalf("launch %d: the last pointer's word is %d", i, v)
			}
		}
		if d.stages[0].made > mostStages {
			t.Errorf("%d stages", d.stages[0].made)
		}
	})
}

// A launch allocates nothing but what the pool gives up.
func TestLaunchDoesNotAllocate(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	everyModel(t, func(t *testing.T, p at) {
		opened, err := newBackend(loadTable).with(p.opts).Open(t.Context(), p.ordinal) // without the spy, which allocates
		must(t, err)
		d := opened.(*device)
		t.Cleanup(func() { must(t, d.Close()) })
		s := streamOf(t, d)
		m := memoryOf(t, d, driver.KindDevice, 4)
		k, err := program(t, d).Kernel("put")
		must(t, err)
		l := &driver.Launch{Grid: [3]uint32{1, 1, 1}, Block: [3]uint32{1, 1, 1}, Args: putting(m, 0, 7, 1)}
		must(t, s.Launch(k, l), s.Sync())
		if n := testing.AllocsPerRun(200, func() { must(t, s.Launch(k, l)) }); n >= 1 {
			t.Errorf("%v allocations", n)
		}
		must(t, s.Sync())
		k, err = loaded(t, d, unpacked(t, wideKernel)).Kernel("wide")
		must(t, err)
		l.Args = widely(memoryOf(t, d, driver.KindDevice, 20*8), 0, 1, new([16]uint64))
		must(t, s.Launch(k, l), s.Sync())
		made := d.stages[0].made
		if n := testing.AllocsPerRun(200, func() { must(t, s.Launch(k, l), s.Sync()) }); n >= 1 || d.stages[0].made != made {
			t.Errorf("with arguments in memory: %v allocations, %d stages in place of %d", n, d.stages[0].made, made)
		}
	})
}
