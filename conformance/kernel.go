package conformance

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"unsafe"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/spirv"
	"github.com/go-halyard/halyard/kernel"
)

var kernelChecks = []Check{
	{Name: "LoadsAndFindsByName", Rule: "Every kernel of loaded code is found by its name.", Needs: hal.CapKernels, run: kernelsByName},
	{Name: "UnknownKernelIsRefused", Rule: "The name of a kernel that does not exist is not found, and the module still works.", Needs: hal.CapKernels, run: unknownKernel},
	{Name: "BadImageIsRefused", Rule: "An image that is of another format, is empty or is not code is refused.", Needs: hal.CapKernels, run: badImage},
	{Name: "TruncatedImageIsRefused", Rule: "Compiled code whose end is missing is refused.", Needs: hal.CapKernels | hal.CapCompile, run: truncatedImage},
	{Name: "ParametersAreReported", Rule: "The number of a kernel's parameters is reported, and each reported kind and size is right.", Needs: hal.CapKernels, run: parametersReported},
	{Name: "TooFewArgumentsAreRefused", Rule: "A launch with too few arguments is refused.", Needs: hal.CapKernels, run: tooFewArguments},
	{Name: "TooManyArgumentsAreRefused", Rule: "A launch with too many arguments is refused.", Needs: hal.CapKernels, run: tooManyArguments},
	{Name: "WrongSizeIsRefused", Rule: "A value of another size than the parameter's is refused.", Needs: hal.CapKernels, run: wrongSize},
	{Name: "ScalarsOfEveryWidthArrive", Rule: "A kernel receives numbers of 1, 2, 4 and 8 bytes as they were passed.", Needs: hal.CapKernels, run: scalarsArrive},
	{Name: "StructArrivesWithPadding", Rule: "A structure arrives with the layout that Go gives it.", Needs: hal.CapKernels, run: structArrives},
	{Name: "ArgumentsAreCopiedAtLaunch", Rule: "What is passed by value may change as soon as Launch has returned.", Needs: hal.CapKernels | hal.CapGate, run: argumentsCopied},
	{Name: "EveryThreadRunsOnce", Rule: "In grids of one to three dimensions each thread runs once, with its own index.", Needs: hal.CapKernels, run: everyThread},
	{Name: "ManyBlocks", Rule: "A grid can have more than 65,536 blocks, in one dimension and in all together.", Needs: hal.CapKernels, run: manyBlocks},
	{Name: "EmptyGridDoesNothing", Rule: "A grid with a dimension of 0 is accepted and nothing runs; memory of no bytes can be an argument.", Needs: hal.CapKernels, run: emptyGrid},
	{Name: "EmptySliceIsPassed", Rule: "A kernel may have code that reads an empty slice, under a condition that is false for all threads.", Needs: hal.CapKernels, run: emptySlice},
	{Name: "GridBeyondLimitIsRefused", Rule: "More blocks than the device can run are refused.", Needs: hal.CapKernels, run: gridBeyond},
	{Name: "BlockBeyondKernelLimitIsRefused", Rule: "A block of more threads than the kernel can have is refused.", Needs: hal.CapKernels, run: blockBeyond},
	{Name: "SharedMemoryIsThere", Rule: "Each block has its own shared memory of the size that the launch asked for.", Needs: hal.CapKernels, run: sharedMemory},
	{Name: "SharedBeyondLimitIsRefused", Rule: "A launch that asks for more shared memory than the kernel's limit is refused.", Needs: hal.CapKernels, run: sharedBeyond},
	{Name: "BarrierHolds", Rule: "No thread of a block passes a barrier before all have arrived.", Needs: hal.CapKernels, run: barrierHolds},
	{Name: "ReadBeforeBarrierIsKept", Rule: "A value that a thread reads before a barrier does not change when another thread writes there after the barrier, in shared memory and in a buffer.", Needs: hal.CapKernels, run: readBeforeBarrier},
	{Name: "AtomicsCount", Rule: "No atomic addition of any thread is lost.", Needs: hal.CapKernels, run: atomicsCount},
	{Name: "LaunchIsInStreamOrder", Rule: "A kernel sees the copies and kernels before it on its stream, and those after it see what it wrote.", Needs: hal.CapKernels, run: launchInOrder},
	{Name: "LaunchDoesNotWait", Rule: "A launch behind a shut gate returns at once, and runs when the gate is opened.", Needs: hal.CapKernels | hal.CapGate, run: launchDoesNotWait},
	{Name: "LaunchWaitsForEvents", Rule: "A kernel runs after the events of other streams that its stream waits for.", Needs: hal.CapKernels | hal.CapGate, run: launchWaits},
	{Name: "OneKernelFromManyGoroutines", Rule: "Several goroutines may launch one kernel at once, each with its own arguments.", Needs: hal.CapKernels, run: oneKernelManyGoroutines},
	{Name: "ModuleClosedUnderWorkFinishes", Rule: "If a module is closed while its kernels run or wait, they still finish.", Needs: hal.CapKernels | hal.CapGate, run: moduleClosedUnderWork},
	{Name: "ClosedModuleIsRefused", Rule: "A closed module and its kernels are refused as closed.", Needs: hal.CapKernels, run: closedModule},
	{Name: "MemoryOfAnotherDeviceIsRefused", Rule: "Memory that the device cannot access, and a kernel of another device, are refused.", Needs: hal.CapKernels, run: foreignArguments},
	{Name: "ClosedMemoryIsRefused", Rule: "Closed memory is refused as an argument.", Needs: hal.CapKernels, run: closedArgument},
	{Name: "OffsetsArrive", Rule: "A kernel receives the address of the first byte of a region, unless the launch is refused as misaligned.", Needs: hal.CapKernels, run: offsetsArrive},
	{Name: "BuildErrorCarriesTheLog", Rule: "Source that does not compile is refused with the compiler's log.", Needs: hal.CapKernels | hal.CapCompile, run: buildError},
	{Name: "RefusedLaunchChangesNothing", Rule: "A launch that is refused changes no memory, and the stream still works.", Needs: hal.CapKernels, run: refusedLaunch},
	{Name: "LaunchBringsWhatItReads", Rule: "A launch on buffers copies what is stale on its device, and nothing else.", Needs: hal.CapKernels, run: launchBrings},
	{Name: "LaunchMakesOthersStale", Rule: "What a launch on buffers writes is current on its device alone.", Needs: hal.CapKernels, run: launchMakesStale},
	{Name: "StepRepeats", Rule: "Each run of a recorded step makes its launches once, all of them, in stream order.", Needs: hal.CapKernels, run: stepRepeats},
	{Name: "OutCopiesNothingIn", Rule: "A buffer passed with Out is not copied to the device.", Needs: hal.CapKernels, run: outCopiesNothing},
	{Name: "SameBufferTwice", Rule: "One buffer may be passed for reading and for writing.", Needs: hal.CapKernels, run: sameBufferTwice},
	{Name: "LaunchReadsBesideTheHost", Rule: "A kernel may read a buffer that the host and the device are reading already.", Needs: hal.CapKernels, run: readsBesideTheHost},
	{Name: "OverlappingSlices", Rule: "Slices that overlap may be passed together.", Needs: hal.CapKernels, run: overlappingSlices},
	{Name: "RefusedLaunchKeepsContents", Rule: "A launch on buffers that is refused changes no byte and makes no replica stale.", Needs: hal.CapKernels, run: refusedKeeps},
	{Name: "FailedKernelLosesWhatItWrote", Rule: "Reading the bytes that a failed kernel should have written is an error, and the bytes that it only read are kept.", Needs: hal.CapKernels, run: failedKernel},
	{Name: "OpposedLaunchesDoNotDeadlock", Rule: "Launches that take the same buffers in different order do not deadlock.", Needs: hal.CapKernels, run: opposedLaunches},
}

// mixed is a structure with padding inside and at its end.
type mixed struct {
	A uint64
	B uint32
	C uint8
	_ [1]uint8
	D uint16
	E [3]float32
	F uint8
	_ [3]uint8
}

const kernelsC = `
typedef struct { u64 a; u32 b; u8 c; u8 gap; u16 d; f32 e[3]; u8 f; u8 tail[3]; } mixed;

KERNEL void put(GLOBAL u32 *y, u32 v, u32 n) {
	u64 i = INDEX(0);
	if (i < n) y[i] = v;
}
KERNEL void add(const GLOBAL u32 *x, GLOBAL u32 *y, u32 v, u32 n) {
	u64 i = INDEX(0);
	if (i < n) y[i] = x[i] + v;
}
KERNEL void first_or_none(const GLOBAL u32 *x, GLOBAL u32 *y, u32 n) {
	u32 v = 1;
	if (n > 0) v += x[0];
	y[INDEX(0)] = v;
}
KERNEL void scalars(GLOBAL u64 *y, u8 a, u16 b, u32 c, u64 d, f32 e, i8 f) {
	if (INDEX(0) == 0) {
		y[0] = a; y[1] = b; y[2] = c; y[3] = d; y[4] = F32_BITS(e); y[5] = (u64)(i64)f;
	}
}
KERNEL void members(GLOBAL u64 *y, mixed m) {
	if (INDEX(0) == 0) {
		y[0] = m.a; y[1] = m.b; y[2] = m.c; y[3] = m.d; y[4] = F32_BITS(m.e[0]); y[5] = F32_BITS(m.e[2]); y[6] = m.f;
	}
}
KERNEL void visit(GLOBAL u32 *y) {
	u64 nx = (u64)BLOCKS(0) * THREADS(0), ny = (u64)BLOCKS(1) * THREADS(1);
	u64 i = INDEX(0) + nx * (INDEX(1) + ny * INDEX(2));
	u32 t = THREAD(0) + THREADS(0) * (THREAD(1) + THREADS(1) * THREAD(2));
	u32 b = BLOCK(0) + BLOCKS(0) * (BLOCK(1) + BLOCKS(1) * BLOCK(2));
	y[i] += 1 + (b << 20) + (t << 8);
}
KERNEL void turn(GLOBAL u32 *y SHARED_PARAM(u32, tile)) {
	SHARED_VAR(u32, tile);
	u32 t = THREAD(0), n = THREADS(0);
	for (u32 round = 0; round < 3; round++) {
		tile[t] = y[INDEX(0)];
		BARRIER();
		y[INDEX(0)] = tile[n - 1 - t] + 1;
		BARRIER();
	}
}
KERNEL void shift(const GLOBAL u32 *x, GLOBAL u32 *y SHARED_PARAM(u32, s)) {
	SHARED_VAR(u32, s);
	u32 t = THREAD(0), n = THREADS(0);
	s[t] = x[INDEX(0)];
	BARRIER();
	u32 v = s[(t + 1) % n];
	BARRIER();
	s[t] = v;
	BARRIER();
	y[INDEX(0)] = s[t];
}
KERNEL void shift_buffer(GLOBAL u32 *y) {
	u32 t = THREAD(0), n = THREADS(0);
	u64 first = INDEX(0) - t;
	u32 v = y[first + (t + 1) % n];
	BARRIER();
	y[first + t] = v;
}
KERNEL void count(GLOBAL u32 *y) {
	ATOMIC_ADD(&y[INDEX(0) % 7], 1u);
}
`

func first(b *kernel.Block) bool { return b.Index == [3]uint32{} }

// linear returns the number of the position at in a box of the given size, counted along x first, then y, then z.
func linear(at, size [3]uint32) uint64 {
	return uint64(at[0]) + uint64(size[0])*(uint64(at[1])+uint64(size[1])*uint64(at[2]))
}

// eachThread calls fn for the index of each thread in the block.
func eachThread(b *kernel.Block, fn func(at [3]uint32)) {
	for z := range b.Size[2] {
		for y := range b.Size[1] {
			for x := range b.Size[0] {
				fn([3]uint32{x, y, z})
			}
		}
	}
}

var kernelsGo = kernel.Functions{
	"put": kernel.Go(func(b *kernel.Block) {
		y, v := kernel.Slice[uint32](b, 0), kernel.Number[uint32](b, 1)
		from, to := kernel.Threads(b, 0, int(kernel.Number[uint32](b, 2)))
		for i := from; i < to; i++ {
			y[i] = v
		}
	}),
	"add": {Params: []hal.Param{{Kind: hal.ParamPointer, Const: true}, {Kind: hal.ParamPointer}, {Kind: hal.ParamValue, Size: 4}, {Kind: hal.ParamValue, Size: 4}},
		Run: func(b *kernel.Block) {
			x, y, v := kernel.Slice[uint32](b, 0), kernel.Slice[uint32](b, 1), kernel.Number[uint32](b, 2)
			from, to := kernel.Threads(b, 0, int(kernel.Number[uint32](b, 3)))
			for i := from; i < to; i++ {
				y[i] = x[i] + v
			}
		}},
	"first_or_none": kernel.Go(func(b *kernel.Block) {
		x, y, v := kernel.Slice[uint32](b, 0), kernel.Slice[uint32](b, 1), uint32(1)
		if kernel.Number[uint32](b, 2) > 0 {
			v += x[0]
		}
		from, to := kernel.Threads(b, 0, len(y))
		for i := from; i < to; i++ {
			y[i] = v
		}
	}),
	"scalars": kernel.Go(func(b *kernel.Block) {
		if first(b) {
			y := kernel.Slice[uint64](b, 0)
			y[0], y[1], y[2] = uint64(kernel.Number[uint8](b, 1)), uint64(kernel.Number[uint16](b, 2)), uint64(kernel.Number[uint32](b, 3))
			y[3], y[4], y[5] = kernel.Number[uint64](b, 4), uint64(kernel.Number[uint32](b, 5)), uint64(int64(kernel.Number[int8](b, 6)))
		}
	}),
	"members": kernel.Go(func(b *kernel.Block) {
		if first(b) {
			y, m := kernel.Slice[uint64](b, 0), kernel.Number[mixed](b, 1)
			y[0], y[1], y[2], y[3] = m.A, uint64(m.B), uint64(m.C), uint64(m.D)
			e := (*[3]uint32)(unsafe.Pointer(&m.E))
			y[4], y[5], y[6] = uint64(e[0]), uint64(e[2]), uint64(m.F)
		}
	}),
	"visit": kernel.Go(func(b *kernel.Block) {
		y := kernel.Slice[uint32](b, 0)
		all := [3]uint32{b.Grid[0] * b.Size[0], b.Grid[1] * b.Size[1], b.Grid[2] * b.Size[2]}
		eachThread(b, func(at [3]uint32) {
			place := [3]uint32{b.Index[0]*b.Size[0] + at[0], b.Index[1]*b.Size[1] + at[1], b.Index[2]*b.Size[2] + at[2]}
			y[linear(place, all)] += 1 + uint32(linear(b.Index, b.Grid))<<20 + uint32(linear(at, b.Size))<<8
		})
	}),
	"turn": kernel.Go(func(b *kernel.Block) {
		n := int(b.Size[0])
		y, tile := kernel.Slice[uint32](b, 0)[int(b.Index[0])*n:][:n], kernel.SharedSlice[uint32](b)
		for range 3 {
			copy(tile, y)
			for t := range y {
				y[t] = tile[n-1-t] + 1
			}
		}
	}),
	"shift": kernel.Go(func(b *kernel.Block) {
		n, at := int(b.Size[0]), int(b.Index[0])*int(b.Size[0])
		x, y := kernel.Slice[uint32](b, 0)[at:][:n], kernel.Slice[uint32](b, 1)[at:][:n]
		copy(y, x[1:])
		y[n-1] = x[0]
	}),
	"shift_buffer": kernel.Go(func(b *kernel.Block) {
		n := int(b.Size[0])
		y := kernel.Slice[uint32](b, 0)[int(b.Index[0])*n:][:n]
		v := y[0]
		copy(y, y[1:])
		y[n-1] = v
	}),
	"count": kernel.Go(func(b *kernel.Block) {
		from, to := kernel.Threads(b, 0, 1<<31-1)
		y := kernel.Slice[uint32](b, 0)
		for i := from; i < to; i++ {
			addAtomic(&y[i%7])
		}
	}),
}

// program returns the suite's program, loaded on the device under test and closed at the end of the check. It skips the check if the
// program's compiler is unavailable.
func (t *trial) program() *kernel.Program {
	if t.kernels != nil {
		return t.kernels
	}
	module, err := new(spirv.Unpacker).Unpack(kernelsVulkan)
	t.must(err, "unpack the kernels for Vulkan")
	p := kernel.New(kernel.Source{Name: "conformance", Portable: kernelsC, Go: kernelsGo,
		Images: []hal.Image{{Format: hal.FormatVulkan, Data: module}}})
	t.Cleanup(func() { t.must(p.Close(), "close the program") })
	if err := p.Load(t.ctx, t.dev); err != nil {
		// Where there is no compiler the suite brings code, for devices that can do what it needs.
		lacks := errors.Is(err, hal.ErrUnsupported) && slices.Equal(t.dev.Formats(), []hal.Format{hal.FormatVulkan})
		if errors.Is(err, hal.ErrUnavailable) || lacks {
			t.Skipf("%v", err)
		}
		t.Fatalf("load the suite's kernels: %v", err)
	}
	t.kernels = p
	return p
}

// kernel returns a kernel of the suite on the device under test.
func (t *trial) kernel(name string) *hal.Kernel {
	k, err := t.program().Kernel(name).Of(t.ctx, t.dev)
	t.must(err, "kernel %s", name)
	return k
}

// words returns device memory of n words that are all v.
func (t *trial) words(n int, v uint32) *hal.Memory { return t.filled(t.dev, words(n, v)) }

func words(n int, v uint32) []byte {
	b := make([]byte, 4*n)
	for i := 0; i < len(b); i += 4 {
		binary.LittleEndian.PutUint32(b[i:], v)
	}
	return b
}

// wide returns the bytes as words of 8 bytes.
func wide(b []byte) []uint64 {
	v := make([]uint64, len(b)/8)
	for i := range v {
		v[i] = binary.LittleEndian.Uint64(b[8*i:])
	}
	return v
}

func kernelsByName(t *trial) {
	p := t.program()
	for name := range kernelsGo {
		k, err := p.Kernel(name).Of(t.ctx, t.dev)
		t.must(err, "kernel %s", name)
		t.want(k.Info().Name == name, "kernel %s has the name %s", name, k.Info().Name)
		if names := k.Module().Names(); names != nil {
			t.want(slices.Contains(names, name) && len(names) == len(kernelsGo), "a module of %d kernels lists %v", len(kernelsGo), names)
		}
	}
}

func unknownKernel(t *trial) {
	m := t.kernel("put").Module()
	for _, name := range []string{"", "putt", "PUT", "put\x00", "a b"} {
		_, err := m.Kernel(name)
		t.wantKind(err, hal.ErrNotFound, "kernel %q", name)
	}
	_, err := m.Kernel("put")
	t.must(err, "kernel after unknown ones")
}

func badImage(t *trial) {
	formats := t.dev.Formats()
	t.want(len(formats) > 0, "a device with CapKernels has no Formats")
	all := []hal.Format{hal.FormatPTX, hal.FormatCubin, hal.FormatFatbin, hal.FormatCodeObject, hal.FormatOpenCLC, hal.FormatOpenCLBinary, hal.FormatSPIRV,
		hal.FormatGo, hal.FormatVulkan, 0, 77}
	for _, f := range all {
		load := func(data []byte) error {
			m, err := t.dev.Load(hal.Image{Format: f, Data: data})
			if err == nil {
				_ = m.Close()
			}
			return err
		}
		if !slices.Contains(formats, f) {
			t.wantKind(load([]byte("text")), hal.ErrUnsupported, "format %v", f)
			continue
		}
		t.wantKind(load(nil), hal.ErrInvalidArgument, "an empty image in %v", f)
		if f == hal.FormatGo {
			continue
		}
		for _, junk := range [][]byte{[]byte("this is no code }{"), bytes.Repeat([]byte{0xA5}, 300)} {
			err := load(junk)
			var e *hal.Error
			if !errors.As(err, &e) || e.Kind != hal.ErrBuild && e.Kind != hal.ErrInvalidArgument && e.Kind != hal.ErrUnsupported {
				t.Errorf("%d bytes that are not code in %v: error %v", len(junk), f, err)
			}
		}
	}
}

// compiled compiles the suite's kernels for the device under test.
func (t *trial) compiled() hal.Image {
	language := t.dev.Info().Compute.Language
	img, err := t.dev.Compile(hal.Source{Name: "conformance", Text: kernel.Prelude(language) + kernelsC})
	if errors.Is(err, hal.ErrUnavailable) {
		t.Skipf("%v", err)
	}
	t.must(err, "compile the suite's kernels")
	return img
}

func truncatedImage(t *trial) {
	img := t.compiled()
	m, err := t.dev.Load(img)
	t.must(err, "load what was compiled")
	t.must(m.Close(), "close")
	if img.Format == hal.FormatOpenCLC || img.Format == hal.FormatPTX {
		t.Skipf("the compiled code is text, and a truncated text may be valid")
	}
	for _, n := range []int{1, 8, len(img.Data) / 3, len(img.Data) / 2, len(img.Data) - 1} {
		cut := img
		cut.Data = img.Data[:n]
		m, err := t.dev.Load(cut)
		if err == nil {
			t.Errorf("%d of %d bytes were loaded", n, len(img.Data))
			_ = m.Close()
			continue
		}
		if !errors.Is(err, hal.ErrInvalidArgument) && !errors.Is(err, hal.ErrUnsupported) {
			t.Errorf("%d of %d bytes: error %v", n, len(img.Data), err)
		}
	}
}

func parametersReported(t *trial) {
	info := t.kernel("add").Info()
	if !info.Known {
		t.want(info.Checks, "the parameters of a kernel are not known, and the kernel does not check them itself")
		return
	}
	t.want(len(info.Params) == 4, "%d parameters are reported, want 4", len(info.Params))
	for i, p := range info.Params {
		pointer := i < 2
		t.want(p.Kind == hal.ParamUnknown || p.Kind == hal.ParamPointer == pointer, "the kind of parameter %d is reported as %v", i, p.Kind)
		t.want(p.Size == 0 || p.Size == 4 && !pointer || p.Size == 8 && pointer, "parameter %d is reported with %d bytes", i, p.Size)
	}
	t.want(!info.Params[1].Const, "a parameter that the kernel writes through is reported as const")
}

// addArguments returns valid arguments of the kernel add.
func (t *trial) addArguments(n int) (args []hal.Arg, x, y *hal.Memory) {
	x, y = t.words(n, 5), t.words(n, 9)
	return []hal.Arg{hal.At(x.All()), hal.At(y.All()), hal.Value(uint32(2)), hal.Value(uint32(n))}, x, y
}

// refusesLaunch fails unless the launch is refused and y does not change.
func (t *trial) refusesLaunch(kind error, what string, k *hal.Kernel, g hal.Grid, args []hal.Arg, y *hal.Memory) {
	s := t.stream(t.dev)
	t.refuses(kind, what, func() error {
		err := s.Launch(k, g, args...)
		t.must(s.Sync(t.ctx), "sync")
		return err
	}, y)
}

func tooFewArguments(t *trial) {
	k := t.kernel("add")
	args, _, y := t.addArguments(64)
	for n := range args {
		t.refusesLaunch(hal.ErrInvalidArgument, fmt.Sprintf("%d arguments of 4", n), k, hal.Over(64), args[:n], y)
	}
}

func tooManyArguments(t *trial) {
	k := t.kernel("add")
	args, _, y := t.addArguments(64)
	t.refusesLaunch(hal.ErrInvalidArgument, "5 arguments for 4", k, hal.Over(64), append(args, hal.Value(uint32(1))), y)
	t.refusesLaunch(hal.ErrInvalidArgument, "a fifth argument that is a pointer", k, hal.Over(64), append(args[:4:4], args[0]), y)
}

func wrongSize(t *trial) {
	k := t.kernel("add")
	for what, a := range map[string]hal.Arg{"1 byte": hal.Value(uint8(2)), "2 bytes": hal.Value(uint16(2)), "8 bytes": hal.Value(uint64(2)), "an array of 16 bytes": hal.Struct(new([4]uint32))} {
		args, _, y := t.addArguments(64)
		args[2] = a
		t.refusesLaunch(hal.ErrInvalidArgument, what+" for a parameter of 4", k, hal.Over(64), args, y)
	}
	args, _, y := t.addArguments(64)
	args[1] = hal.Value(uint32(2))
	t.refusesLaunch(hal.ErrInvalidArgument, "4 bytes for a pointer", k, hal.Over(64), args, y)
	args[1], args[3] = hal.At(y.All()), hal.Arg{}
	t.refusesLaunch(hal.ErrInvalidArgument, "the zero Arg", k, hal.Over(64), args, y)
}

func scalarsArrive(t *trial) {
	k, s := t.kernel("scalars"), t.stream(t.dev)
	y := t.memory(t.dev, hal.KindDevice, 48)
	for _, v := range []struct {
		a uint8
		b uint16
		c uint32
		d uint64
		e uint32
		f int8
	}{{1, 2, 3, 4, 5, 6}, {0xFE, 0xFEDC, 0xFEDCBA98, 0xFEDCBA9876543210, 0x40490FDB, -5}} {
		e := *(*float32)(unsafe.Pointer(&v.e))
		t.must(s.Launch(k, hal.Over(1), hal.At(y.All()), hal.Value(v.a), hal.Value(v.b), hal.Value(v.c), hal.Value(v.d), hal.Value(e), hal.Value(v.f)), "launch")
		t.sync(s)
		want := []uint64{uint64(v.a), uint64(v.b), uint64(v.c), v.d, uint64(v.e), uint64(int64(v.f))}
		t.want(slices.Equal(wide(t.all(y)), want), "%x arrived as %x", want, wide(t.all(y)))
	}
}

func structArrives(t *trial) {
	k, s := t.kernel("members"), t.stream(t.dev)
	y := t.memory(t.dev, hal.KindDevice, 56)
	m := mixed{A: 0x1122334455667788, B: 0x99AABBCC, C: 0xDD, D: 0xEEFF, E: [3]float32{1, 2, 3}, F: 0x77}
	t.must(s.Launch(k, hal.Over(1), hal.At(y.All()), hal.Struct(&m)), "launch")
	t.sync(s)
	want := []uint64{m.A, uint64(m.B), uint64(m.C), uint64(m.D), 0x3F800000, 0x40400000, uint64(m.F)}
	t.want(slices.Equal(wide(t.all(y)), want), "%x arrived as %x", want, wide(t.all(y)))
}

func argumentsCopied(t *trial) {
	k, s := t.kernel("members"), t.stream(t.dev)
	y := t.memory(t.dev, hal.KindDevice, 56)
	g := t.shut(s)
	m := mixed{A: 1, B: 2, C: 3, D: 4, E: [3]float32{1, 2, 3}, F: 5}
	args := []hal.Arg{hal.At(y.All()), hal.Struct(&m)}
	t.must(s.Launch(k, hal.Over(1), args...), "launch")
	m, args[0] = mixed{}, hal.Arg{}
	t.letGo(g)
	t.sync(s)
	want := []uint64{1, 2, 3, 4, 0x3F800000, 0x40400000, 5}
	t.want(slices.Equal(wide(t.all(y)), want), "%x arrived as %x after a change behind a shut gate", want, wide(t.all(y)))
}

func everyThread(t *trial) {
	t.visited([][6]int{{1, 1, 1, 1, 1, 1}, {7, 1, 1, 5, 1, 1}, {3, 5, 1, 4, 2, 1}, {3, 2, 4, 2, 3, 2}, {1, 1, 1, 64, 1, 1}, {40, 1, 1, 1, 1, 1}})
	put, y, s := t.kernel("put"), t.words(1000, 1), t.stream(t.dev)
	t.must(s.Launch(put, hal.Over(1000), hal.At(y.All()), hal.Value(uint32(8)), hal.Value(uint32(1000))), "launch over 1000 threads in suggested blocks")
	t.sync(s)
	t.same(t.all(y), words(1000, 8), "1000 threads in suggested blocks")
}

func manyBlocks(t *trial) {
	shapes := [][6]int{{70_000, 1, 1, 1, 1, 1}, {300, 250, 1, 1, 1, 1}, {50, 40, 35, 1, 1, 1}}
	if !t.p.Short {
		shapes = append(shapes, [6]int{2, 65_535, 1, 1, 1, 1}, [6]int{3, 1, 65_535, 1, 1, 1}, [6]int{1 << 20, 1, 1, 2, 1, 1})
	}
	for _, shape := range shapes {
		most := t.dev.Info().Compute.MaxGrid
		if slices.ContainsFunc([]int{0, 1, 2}, func(i int) bool { return most[i] != 0 && most[i] < uint32(shape[i]) }) {
			t.Logf("the device runs grids of at most %d blocks", most)
			continue
		}
		t.visited([][6]int{shape})
	}
}

// visited launches grids of blocks, and sees that each thread has run once, with its own index.
func (t *trial) visited(shapes [][6]int) {
	k, s := t.kernel("visit"), t.stream(t.dev)
	most := int(k.Info().MaxThreads)
	for _, shape := range shapes {
		if most != 0 && shape[3]*shape[4]*shape[5] > most {
			continue
		}
		n := shape[0] * shape[1] * shape[2] * shape[3] * shape[4] * shape[5]
		y := t.words(n, 0)
		t.must(s.Launch(k, hal.Blocks(shape[:3]...).Of(shape[3:]...), hal.At(y.All())), "launch of %v", shape)
		t.sync(s)
		grid, block := [3]uint32{uint32(shape[0]), uint32(shape[1]), uint32(shape[2])}, [3]uint32{uint32(shape[3]), uint32(shape[4]), uint32(shape[5])}
		all := [3]uint32{grid[0] * block[0], grid[1] * block[1], grid[2] * block[2]}
		want := make([]byte, 4*n)
		eachThread(&kernel.Block{Size: all}, func(at [3]uint32) {
			b := [3]uint32{at[0] / block[0], at[1] / block[1], at[2] / block[2]}
			in := [3]uint32{at[0] % block[0], at[1] % block[1], at[2] % block[2]}
			binary.LittleEndian.PutUint32(want[4*linear(at, all):], 1+uint32(linear(b, grid))<<20+uint32(linear(in, block))<<8)
		})
		t.same(t.all(y), want, "%v blocks of %v threads", grid, block)
		t.must(y.Close(), "close")
	}
}

func emptyGrid(t *trial) {
	k, s := t.kernel("add"), t.stream(t.dev)
	args, _, y := t.addArguments(64)
	for _, g := range []hal.Grid{hal.Over(0), hal.Over(0).Of(8), hal.Blocks(0), hal.Blocks(4, 0), hal.Blocks(1, 1, 0).Of(1)} {
		t.must(s.Launch(k, g, args...), "an empty grid")
		t.wantKind(s.Launch(k, g, args[:3]...), hal.ErrInvalidArgument, "an empty grid with too few arguments")
	}
	none := t.memory(t.dev, hal.KindDevice, 0)
	for _, n := range []int{0, 64} {
		t.must(s.Launch(k, hal.Over(n), hal.At(none.All()), hal.At(none.All()), hal.Value(uint32(2)), hal.Value(uint32(0))), "no bytes as arguments")
	}
	t.sync(s)
	t.same(t.all(y), words(64, 9), "after empty grids")
}

func emptySlice(t *trial) {
	k, s := t.kernel("first_or_none"), t.stream(t.dev)
	x, y := t.words(1024, 7), t.words(64, 0)
	for _, c := range []struct {
		what string
		x    hal.Region
		n    uint32
		want uint32
	}{
		{"memory of no bytes", t.memory(t.dev, hal.KindDevice, 0).All(), 0, 1},
		{"the empty end of memory", x.Region(4096, 0), 0, 1},
		{"elements", x.All(), 1000, 8},
	} {
		t.must(s.Launch(k, hal.Over(64).Of(1), hal.At(c.x), hal.At(y.All()), hal.Value(c.n)), "%s", c.what)
		t.sync(s)
		t.same(t.all(y), words(64, c.want), "%s", c.what)
	}
}

func gridBeyond(t *trial) {
	c := t.dev.Info().Compute
	k := t.kernel("add")
	args, _, y := t.addArguments(64)
	refused := 0
	for d, most := range c.MaxGrid {
		if most == 0 || most == 1<<32-1 {
			continue
		}
		n := []int{1, 1, 1}
		n[d] = int(most) + 1
		t.refusesLaunch(hal.ErrOutOfRange, fmt.Sprintf("%d blocks in dimension %d", n[d], d), k, hal.Blocks(n...).Of(1), args, y)
		refused++
	}
	if c.MaxGlobal != 0 && c.MaxGlobal < 1<<40 {
		t.refusesLaunch(hal.ErrOutOfRange, "too many threads in a dimension", k, hal.Blocks(int(c.MaxGlobal/2)+1).Of(2), args, y)
		refused++
	}
	t.refusesLaunch(hal.ErrInvalidArgument, "a negative grid", k, hal.Blocks(-1), args, y)
	if many := uint64(1 << 40); uint64(int(many)) == many { // an int has 64 bits
		t.refusesLaunch(hal.ErrOutOfRange, "2^40 blocks", k, hal.Blocks(int(many)).Of(1), args, y)
	}
	t.Logf("%d limits", refused)
}

func blockBeyond(t *trial) {
	k := t.kernel("add")
	args, _, y := t.addArguments(64)
	most, c := int(k.Info().MaxThreads), t.dev.Info().Compute
	t.want(most > 0 && c.MaxThreads > 0, "the limit of threads per block is %d for the kernel and %d for the device", most, c.MaxThreads)
	t.want(most == 1 || k.Info().Suggested > 1, "a grid without a size of block gets blocks of one thread: Suggested is %d", k.Info().Suggested)
	t.refusesLaunch(hal.ErrInvalidArgument, "a block beyond the kernel's limit", k, hal.Blocks(1).Of(most+1), args, y)
	t.refusesLaunch(hal.ErrInvalidArgument, "a block beyond the kernel's limit in two dimensions", k, hal.Blocks(1, 1).Of(most, 2), args, y)
	t.refusesLaunch(hal.ErrInvalidArgument, "a block of 0 threads", k, hal.Blocks(1).Of(0), args, y)
	for d, n := range c.MaxBlock {
		if n != 0 && int(n) < most {
			shape := []int{1, 1, 1}
			shape[d] = int(n) + 1
			t.refusesLaunch(hal.ErrInvalidArgument, fmt.Sprintf("a block beyond the limit of dimension %d", d), k, hal.Blocks(1).Of(shape...), args, y)
		}
	}
	s := t.stream(t.dev)
	t.must(s.Launch(k, hal.Over(64).Of(most), args...), "a block of %d threads, which is the limit", most)
	t.sync(s)
	t.same(t.all(y), words(64, 7), "a block at the limit")
}

// turned returns what the kernel turn makes of a block of words: three times it reverses them and adds 1 to each.
func turned(in []uint32) []uint32 {
	out := slices.Clone(in)
	for range 3 {
		slices.Reverse(out)
		for i := range out {
			out[i]++
		}
	}
	return out
}

// turns runs the kernel turn and checks its result.
func (t *trial) turns(blocks, threads int) {
	k, s := t.kernel("turn"), t.stream(t.dev)
	b := t.random(4 * blocks * threads)
	y := t.filled(t.dev, b)
	t.must(s.Launch(k, hal.Blocks(blocks).Of(threads), hal.At(y.All()), hal.Shared(4*threads)), "launch")
	t.sync(s)
	want := make([]byte, len(b))
	for i := 0; i < len(b); i += 4 * threads {
		in := make([]uint32, threads)
		for j := range in {
			in[j] = binary.LittleEndian.Uint32(b[i+4*j:])
		}
		for j, v := range turned(in) {
			binary.LittleEndian.PutUint32(want[i+4*j:], v)
		}
	}
	t.same(t.all(y), want, "%d blocks of %d threads that exchange words", blocks, threads)
}

// threads returns n, or the most threads that a block of the kernel turn can have if that is less.
func (t *trial) threads(n int) int {
	if most := int(t.kernel("turn").Info().MaxThreads); most != 0 {
		n = min(n, most)
	}
	return n
}

func sharedMemory(t *trial) {
	for _, n := range []int{1, 2, t.threads(64)} {
		t.turns(1, n)
		t.turns(t.Size(64, 16), n)
	}
}

func sharedBeyond(t *trial) {
	k := t.kernel("turn")
	y := t.words(64, 1)
	for _, n := range []int{1 << 30, 1<<31 - 4, -1} {
		t.refusesLaunch(hal.ErrInvalidArgument, fmt.Sprintf("%d bytes of shared memory", n), k, hal.Blocks(1).Of(1), []hal.Arg{hal.At(y.All()), hal.Shared(n)}, y)
	}
	if most := k.Info().MaxShared; most != 0 && most < 1<<30 {
		t.refusesLaunch(hal.ErrInvalidArgument, "one byte more than the limit", k, hal.Blocks(1).Of(1), []hal.Arg{hal.At(y.All()), hal.Shared(int(most) + 1)}, y)
	}
	t.refusesLaunch(hal.ErrInvalidArgument, "shared memory twice", k, hal.Blocks(1).Of(1), []hal.Arg{hal.At(y.All()), hal.Shared(4), hal.Shared(4)}, y)
}

func barrierHolds(t *trial) {
	for range t.Size(10, 3) {
		t.turns(t.Size(256, 32), t.threads(128))
	}
}

func readBeforeBarrier(t *trial) {
	s := t.stream(t.dev)
	for _, n := range []int{1, 2, 16, t.threads(64)} {
		for _, blocks := range []int{1, 5} {
			b := t.random(4 * n * blocks)
			want := slices.Clone(b)
			for at := 0; at < len(b); at += 4 * n {
				copy(want[at:at+4*n], append(slices.Clone(b[at+4:at+4*n]), b[at:at+4]...))
			}
			x, y, z := t.filled(t.dev, b), t.words(n*blocks, 0), t.filled(t.dev, b)
			t.must(s.Launch(t.kernel("shift"), hal.Blocks(blocks).Of(n), hal.At(x.All()), hal.At(y.All()), hal.Shared(4*n)), "launch")
			t.must(s.Launch(t.kernel("shift_buffer"), hal.Blocks(blocks).Of(n), hal.At(z.All())), "launch")
			t.sync(s)
			t.same(t.all(y), want, "%d blocks of %d words, moved by one word in shared memory", blocks, n)
			t.same(t.all(z), want, "%d blocks of %d words, moved by one word in a buffer", blocks, n)
		}
	}
}

func atomicsCount(t *trial) {
	k, s := t.kernel("count"), t.stream(t.dev)
	y := t.words(7, 0)
	blocks, threads := t.Size(7*64, 7*8), t.threads(7*8)
	t.must(s.Launch(k, hal.Blocks(blocks).Of(threads), hal.At(y.All())), "launch")
	t.sync(s)
	t.same(t.all(y), words(7, uint32(blocks*threads/7)), "%d threads that count", blocks*threads)
}

func launchInOrder(t *trial) {
	k, s := t.kernel("add"), t.stream(t.dev)
	const n = 5000
	x, y := t.words(n, 0), t.words(n, 0)
	out := make([][]byte, t.Size(40, 10))
	for i := range out {
		t.must(s.CopyIn(x.All(), words(n, uint32(i))), "copy in")
		t.must(s.Launch(k, hal.Over(n), hal.At(x.All()), hal.At(y.All()), hal.Value(uint32(100)), hal.Value(uint32(n))), "launch")
		t.must(s.Launch(k, hal.Over(n), hal.At(y.All()), hal.At(x.All()), hal.Value(uint32(1000)), hal.Value(uint32(n))), "launch")
		out[i] = make([]byte, 4*n)
		t.must(s.CopyOut(out[i], x.All()), "copy out")
	}
	t.sync(s)
	for i := range out {
		t.same(out[i], words(n, uint32(i)+1100), "round %d", i)
	}
}

func launchDoesNotWait(t *trial) {
	k, s := t.kernel("add"), t.stream(t.dev)
	args, _, y := t.addArguments(64)
	g := t.shut(s)
	t.must(s.Launch(k, hal.Over(64), args...), "launch behind a shut gate")
	t.busy(s, "a launch")
	t.same(t.all(y), words(64, 9), "before the gate is opened")
	t.letGo(g)
	t.sync(s)
	t.same(t.all(y), words(64, 7), "after the gate was opened")
}

func launchWaits(t *trial) {
	k := t.kernel("add")
	s, o := t.stream(t.dev), t.stream(t.dev)
	args, x, y := t.addArguments(64)
	g := t.shut(o)
	t.must(o.Fill(x.All(), hal.Pattern32(50)), "fill")
	t.must(s.WaitEvent(t.recorded(o)), "wait")
	t.must(s.Launch(k, hal.Over(64), args...), "launch")
	t.busy(s, "a launch that waits for an event")
	t.letGo(g)
	t.sync(s)
	t.same(t.all(y), words(64, 52), "after the event")
}

func oneKernelManyGoroutines(t *trial) {
	k := t.kernel("add")
	const goroutines, n = 8, 256
	rounds := t.Size(100, 20)
	mems := make([][2]*hal.Memory, goroutines)
	streams := make([]*hal.Stream, goroutines)
	for i := range mems {
		mems[i] = [2]*hal.Memory{t.words(n, 0), t.words(n, 0)}
		streams[i] = t.stream(t.dev)
	}
	t.together(goroutines, func(i int) {
		for r := range rounds {
			x, y := mems[i][r%2], mems[i][1-r%2]
			t.must(streams[i].Launch(k, hal.Over(n), hal.At(x.All()), hal.At(y.All()), hal.Value(uint32(i+1)), hal.Value(uint32(n))), "launch")
		}
		t.must(streams[i].Sync(t.ctx), "sync")
	})
	for i := range mems {
		t.same(t.all(mems[i][rounds%2]), words(n, uint32(rounds*(i+1))), "goroutine %d", i)
	}
}

func moduleClosedUnderWork(t *trial) {
	p := t.program()
	k, err := p.Kernel("add").Of(t.ctx, t.dev)
	t.must(err, "kernel")
	s := t.stream(t.dev)
	args, x, y := t.addArguments(64)
	g := t.shut(s)
	t.must(s.Launch(k, hal.Over(64), args...), "launch")
	t.must(p.Close(), "close the program under its launch")
	t.must(x.Close(), "close the memory under the launch")
	t.wantKind(s.Launch(k, hal.Over(64), args...), hal.ErrClosed, "a launch after Close")
	t.letGo(g)
	t.sync(s)
	t.same(t.all(y), words(64, 7), "the launch before Close")
}

func closedModule(t *trial) {
	p := t.program()
	k, err := p.Kernel("add").Of(t.ctx, t.dev)
	t.must(err, "kernel")
	args, _, y := t.addArguments(64)
	t.must(p.Close(), "close")
	t.refusesLaunch(hal.ErrClosed, "a kernel of a closed module", k, hal.Over(64), args, y)
	_, err = k.Module().Kernel("add")
	t.wantKind(err, hal.ErrClosed, "a kernel of a closed module")
	t.must(k.Module().Close(), "close again")
	again, err := p.Kernel("add").Of(t.ctx, t.dev)
	t.must(err, "load the program again")
	s := t.stream(t.dev)
	t.must(s.Launch(again, hal.Over(64), args...), "launch")
	t.sync(s)
	t.same(t.all(y), words(64, 7), "after loading again")
}

func foreignArguments(t *trial) {
	k := t.kernel("add")
	args, _, y := t.addArguments(64)
	var foreign []*hal.Device
	for _, open := range append(slices.Clone(t.p.Others), t.p.Peer) {
		if open != nil {
			foreign = append(foreign, t.openWith("another device", open))
		}
	}
	for _, d := range append(foreign, t.separate()) {
		s := t.stream(d)
		t.wantKind(s.Launch(k, hal.Over(64), args...), hal.ErrWrongDevice, "a kernel of %s on a stream of %s", t.dev.Name(), d.Name())
		if t.dev.CanAccessPeer(d) {
			continue
		}
		wrong := slices.Clone(args)
		wrong[0] = hal.At(t.memory(d, hal.KindDevice, 256).All())
		t.refusesLaunch(hal.ErrWrongDevice, "memory of "+d.Name(), k, hal.Over(64), wrong, y)
	}
	t.Logf("%d other devices", len(foreign))
}

func closedArgument(t *trial) {
	k := t.kernel("add")
	args, _, y := t.addArguments(64)
	m, err := t.dev.Alloc(hal.KindDevice, 256, 0)
	t.must(err, "alloc")
	t.must(m.Close(), "close")
	args[0] = hal.At(m.Region(0, 256))
	t.refusesLaunch(hal.ErrClosed, "closed memory", k, hal.Over(64), args, y)
	args[0] = hal.At(y.Region(200, 100))
	t.refusesLaunch(hal.ErrOutOfRange, "a region beyond the memory's end", k, hal.Over(64), args, y)
	args[0] = hal.At(hal.Region{})
	t.refusesLaunch(hal.ErrInvalidArgument, "the zero region", k, hal.Over(64), args, y)
}

func offsetsArrive(t *trial) {
	k, s := t.kernel("add"), t.stream(t.dev)
	const n, room = 16, 4096
	x, y := t.words(room/4, 3), t.words(room/4, 9)
	want := words(room/4, 9)
	reached := 0
	for _, off := range []uint64{0, 4, 64, 128, 1024, 2048, room - 4*n} {
		t.must(s.Fill(x.Region(off, 4*n), hal.Pattern32(uint32(off))), "fill")
		err := s.Launch(k, hal.Over(n), hal.At(x.Region(off, 4*n)), hal.At(y.Region(off, 4*n)), hal.Value(uint32(1)), hal.Value(uint32(n)))
		if err != nil && off != 0 && !t.dev.Caps().Has(hal.CapAddress) && errors.Is(err, hal.ErrMisaligned) {
			continue
		}
		t.must(err, "launch at offset %d", off)
		copy(want[off:], words(n, uint32(off)+1))
		reached++
	}
	t.sync(s)
	t.same(t.all(y), want, "arguments within a memory")
	t.want(reached >= 3, "only %d of 7 offsets can be passed", reached)
}

func buildError(t *trial) {
	language := t.dev.Info().Compute.Language
	t.want(language != 0, "a device with CapCompile has no Language")
	_, err := t.dev.Compile(hal.Source{Name: "broken", Text: kernel.Prelude(language) + "KERNEL void f(GLOBAL u32 *y) { y[0] = no_such_name_17; }"})
	if errors.Is(err, hal.ErrUnavailable) {
		t.Skipf("%v", err)
	}
	t.wantKind(err, hal.ErrBuild, "source with an unknown name")
	var be *hal.BuildError
	if !errors.As(err, &be) {
		t.Fatalf("errors.As finds no *hal.BuildError in %v", err)
	}
	t.want(bytes.Contains([]byte(be.Log), []byte("no_such_name_17")), "the log does not contain the unknown name: %q", be.Log)
	_, err = t.dev.Compile(hal.Source{Text: " \n"})
	t.wantKind(err, hal.ErrInvalidArgument, "empty source")
}

func refusedLaunch(t *trial) {
	k, s := t.kernel("add"), t.stream(t.dev)
	args, _, y := t.addArguments(64)
	for range 20 {
		t.wantKind(s.Launch(k, hal.Over(64), args[:2]...), hal.ErrInvalidArgument, "too few arguments")
		t.wantKind(s.Launch(k, hal.Over(1, 1, 1, 1), args...), hal.ErrInvalidArgument, "four dimensions")
		t.wantKind(s.Launch(nil, hal.Over(64), args...), hal.ErrInvalidArgument, "no kernel")
	}
	t.sync(s)
	t.same(t.all(y), words(64, 9), "after refused launches")
	t.must(s.Launch(k, hal.Over(64), args...), "launch")
	t.sync(s)
	t.same(t.all(y), words(64, 7), "after a launch")
}
