package kernel_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/buffer/array"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/kernel"
)

var ctx = context.Background()

func saxpy(b *kernel.Block) {
	a, x, y := kernel.Number[float32](b, 0), kernel.Slice[float32](b, 1), kernel.Slice[float32](b, 2)
	from, to := kernel.Threads(b, 0, int(kernel.Number[uint64](b, 3)))
	for i := from; i < to; i++ {
		y[i] += a * x[i]
	}
}

// fill writes a value to all elements but the last ones.
func fill(b *kernel.Block) {
	y, v := kernel.Slice[uint32](b, 0), kernel.Number[uint32](b, 1)
	from, to := kernel.Threads(b, 0, len(y)-int(kernel.Number[uint32](b, 2)))
	for i := from; i < to; i++ {
		y[i] = v
	}
}

var functions = kernel.Functions{
	"saxpy": {Run: saxpy, Params: []hal.Param{
		{Name: "a", Kind: hal.ParamValue, Size: 4}, {Name: "x", Kind: hal.ParamPointer, Const: true}, {Name: "y", Kind: hal.ParamPointer}, {Name: "n", Kind: hal.ParamValue, Size: 8},
	}},
	"fill":  kernel.Go(fill),
	"fails": kernel.Go(func(b *kernel.Block) { panic("no") }),
	"add": kernel.Go(func(b *kernel.Block) {
		x, y := kernel.Slice[uint32](b, 0), kernel.Slice[uint32](b, 1)
		from, to := kernel.Threads(b, 0, len(y))
		for i := from; i < to; i++ {
			y[i] = x[i] + 1
		}
	}),
	"scribble": kernel.Go(func(b *kernel.Block) { kernel.Slice[uint32](b, 0)[1]++ }),
}

func program(t testing.TB) *kernel.Program {
	p := kernel.New(kernel.Source{Go: functions})
	t.Cleanup(func() { assert.NoError(t, p.Close()) })
	return p
}

var backends atomic.Int32

// devices opens the unified device and n discrete ones.
func devices(t testing.TB, n int) (devs []*hal.Device, streams []*hal.Stream) {
	b := host.New(host.Options{Name: fmt.Sprintf("kernels%d", backends.Add(1)), Discrete: n})
	for i := range n + 1 {
		d, err := hal.OpenWith(ctx, b, i)
		require.NoError(t, err)
		s, err := d.NewStream()
		require.NoError(t, err)
		devs, streams = append(devs, d), append(streams, s)
		t.Cleanup(func() { assert.NoError(t, hal.CloseAll(d, s)) })
	}
	return devs, streams
}

func made[T buffer.Element](t testing.TB, data ...T) *buffer.Buffer[T] {
	b, err := buffer.From(data)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, b.Close()) })
	return b
}

func contents[T buffer.Element](t testing.TB, b *buffer.Buffer[T]) (got []T) {
	require.NoError(t, b.View(ctx, func(v []T) error { got = append(got, v...); return nil }))
	return got
}

func ramp(n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(i)
	}
	return x
}

func TestOneCall(t *testing.T) {
	const n = 10_000
	_, streams := devices(t, 2)
	k := program(t).Kernel("saxpy")
	x, y := made(t, ramp(n)...), made(t, make([]float32, n)...)
	for round := 1; round <= 2; round++ {
		for _, s := range streams { // each reads what the one before wrote
			require.NoError(t, k.Launch(ctx, s, hal.Over(n), kernel.Value(float32(2)), kernel.In(x), kernel.InOut(y), kernel.Value(uint64(n))))
		}
		got := contents(t, y)
		for i := range got {
			require.Equal(t, float32(2*3*round*i), got[i])
		}
	}
	assert.Equal(t, uint64(2*4*n), x.Stats().BytesCopied, "x was copied once to each discrete device")
}

func TestOutCopiesNothingIn(t *testing.T) {
	_, streams := devices(t, 1)
	y := made(t, make([]uint32, 1000)...)
	require.NoError(t, program(t).Kernel("fill").Launch(ctx, streams[1], hal.Over(1000), kernel.Out(y), kernel.Value(uint32(7)), kernel.Value(uint32(0))))
	assert.Zero(t, y.Stats().BytesCopied)
	for _, v := range contents(t, y) {
		require.EqualValues(t, 7, v)
	}
}

func TestSameBufferTwiceAndOverlappingSlices(t *testing.T) {
	_, streams := devices(t, 1)
	p := program(t)
	x := made(t, ramp(100)...)
	require.NoError(t, p.Kernel("saxpy").Launch(ctx, streams[1], hal.Over(100), kernel.Value(float32(1)), kernel.In(x), kernel.InOut(x), kernel.Value(uint64(100))))
	for i, v := range contents(t, x) {
		require.Equal(t, float32(2*i), v)
	}
	y := made(t, make([]uint32, 100)...)
	left, err := y.Slice(0, 60)
	require.NoError(t, err)
	right, err := y.Slice(40, 100)
	require.NoError(t, err)
	// The block of all threads runs as one call, so the order inside is that of the loop.
	require.NoError(t, p.Kernel("add").Launch(ctx, streams[1], hal.Blocks(1).Of(60), kernel.In(left), kernel.Out(right)))
	got := contents(t, y)
	assert.EqualValues(t, []uint32{0, 1, 1}, []uint32{got[39], got[40], got[79]})
	assert.EqualValues(t, 2, got[80], "element 80 is one more than element 40, which is one more than element 0")
}

func TestRefusedLaunchChangesNothing(t *testing.T) {
	devs, streams := devices(t, 2)
	p := program(t)
	k := p.Kernel("saxpy")
	x, y := made(t, ramp(16)...), made(t, ramp(16)...)
	a, n := kernel.Value(float32(1)), kernel.Value(uint64(16))
	gone := made[float32](t, 1)
	require.NoError(t, gone.Close())
	matrix, err := array.From(ramp(16), 4, 4)
	require.NoError(t, err)
	defer matrix.Close()
	column, err := matrix.Select(1, 0)
	require.NoError(t, err)
	ended, cancel := context.WithCancel(ctx)
	cancel()
	closed, err := devs[1].NewStream()
	require.NoError(t, err)
	require.NoError(t, closed.Close())
	for name, c := range map[string]struct {
		ctx    context.Context
		stream *hal.Stream
		k      *kernel.Kernel
		grid   hal.Grid
		args   []kernel.Arg
		kind   error
		says   string
	}{
		"too few":         {ctx, streams[1], k, hal.Over(16), []kernel.Arg{a, kernel.In(x), kernel.Out(y)}, hal.ErrInvalidArgument, "it takes 4"},
		"wrong size":      {ctx, streams[1], k, hal.Over(16), []kernel.Arg{a, kernel.In(x), kernel.Out(y), a}, hal.ErrInvalidArgument, "4 bytes"},
		"block too large": {ctx, streams[1], k, hal.Over(16).Of(1 << 20), []kernel.Arg{a, kernel.In(x), kernel.Out(y), n}, hal.ErrInvalidArgument, "limit"},
		"const written":   {ctx, streams[1], k, hal.Over(16), []kernel.Arg{a, kernel.InOut(x), kernel.Out(y), n}, hal.ErrInvalidArgument, "parameter 1 (x) is const"},
		"closed buffer":   {ctx, streams[1], k, hal.Over(16), []kernel.Arg{a, kernel.In(gone), kernel.Out(y), n}, hal.ErrClosed, ""},
		"nil operand":     {ctx, streams[1], k, hal.Over(16), []kernel.Arg{a, kernel.In(nil), kernel.Out(y), n}, hal.ErrInvalidArgument, "nil buffer"},
		"nil buffer":      {ctx, streams[1], k, hal.Over(16), []kernel.Arg{a, kernel.In((*buffer.Buffer[float32])(nil)), kernel.Out(y), n}, hal.ErrInvalidArgument, ""},
		"with gaps":       {ctx, streams[1], k, hal.Over(16), []kernel.Arg{a, kernel.In(column), kernel.Out(y), n}, hal.ErrUnsupported, "not contiguous"},
		"unknown kernel":  {ctx, streams[1], p.Kernel("saxpi"), hal.Over(16), []kernel.Arg{a, kernel.In(x), kernel.Out(y), n}, hal.ErrNotFound, "there are: add"},
		"nil stream":      {ctx, nil, k, hal.Over(16), []kernel.Arg{a, kernel.In(x), kernel.Out(y), n}, hal.ErrInvalidArgument, "nil stream"},
		"closed stream":   {ctx, closed, k, hal.Over(16), []kernel.Arg{a, kernel.In(x), kernel.Out(y), n}, hal.ErrClosed, ""},
		"ended context":   {ended, streams[2], k, hal.Over(16), []kernel.Arg{a, kernel.In(x), kernel.Out(y), n}, context.Canceled, ""},
		"zero kernel":     {ctx, streams[1], &kernel.Kernel{}, hal.Over(16), nil, hal.ErrInvalidArgument, ""},
		"nil kernel":      {ctx, streams[1], nil, hal.Over(16), nil, hal.ErrInvalidArgument, ""},
		"no body":         {ctx, streams[1], kernel.New(kernel.Source{Portable: "x"}).Kernel("f"), hal.Over(1), nil, hal.ErrUnsupported, "it takes Go; there is portable text"},
	} {
		t.Run(name, func(t *testing.T) {
			before := y.State()
			err := c.k.Launch(c.ctx, c.stream, c.grid, c.args...)
			require.ErrorIs(t, err, c.kind)
			assert.Contains(t, err.Error(), c.says)
			assert.Equal(t, before.Version, y.State().Version)
			assert.Equal(t, ramp(16), contents(t, y))
			l, err := y.TryAcquire(streams[2], coherence.ReadWrite)
			require.NoError(t, err, "a lease is left")
			require.NoError(t, l.Release())
		})
	}
	// An empty grid is checked like any other, and writes nothing.
	require.NoError(t, k.Launch(ctx, streams[1], hal.Over(0), a, kernel.In(x), kernel.Out(y), n))
	assert.Equal(t, ramp(16), contents(t, y))
	require.ErrorIs(t, k.Launch(ctx, streams[1], hal.Over(0), a, kernel.In(x), kernel.Out(y)), hal.ErrInvalidArgument)
}

func TestFailedKernelLosesWhatItWrote(t *testing.T) {
	_, streams := devices(t, 1)
	x, y := made(t, ramp(16)...), made(t, ramp(16)...)
	require.NoError(t, program(t).Kernel("fails").Launch(ctx, streams[1], hal.Over(16), kernel.In(x), kernel.InOut(y)))
	err := y.View(ctx, func([]float32) error { return nil })
	require.Error(t, err)
	assert.Contains(t, err.Error(), "kernel fails, block 0,0,0: the function panicked: no")
	assert.Equal(t, ramp(16), contents(t, x), "what it read is not lost")
	assert.Error(t, streams[1].Sync(ctx))
	require.NoError(t, y.CopyIn(ctx, ramp(16)))
	assert.Equal(t, ramp(16), contents(t, y))
}

func TestOpposedLaunchesDoNotDeadlock(t *testing.T) {
	_, streams := devices(t, 2)
	k := program(t).Kernel("add")
	x, y := made(t, make([]uint32, 64)...), made(t, make([]uint32, 64)...)
	limited, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	done := make(chan error, 4)
	for i := range 4 {
		go func() {
			a, b := x, y
			if i%2 == 1 {
				a, b = y, x
			}
			for range 300 {
				if err := k.Launch(limited, streams[1+i/2], hal.Over(64), kernel.In(a), kernel.InOut(b)); err != nil {
					done <- err
					return
				}
			}
			done <- nil
		}()
	}
	for range 4 {
		require.NoError(t, <-done)
	}
	contents(t, x)
}

// A conflict names the line of the program that launched the kernel.
func TestConflictNamesTheCaller(t *testing.T) {
	_, streams := devices(t, 1)
	p := program(t)
	require.NoError(t, p.Load(ctx, streams[1].Device()))
	k := p.Kernel("add")
	x, y := made[uint32](t, 1), made[uint32](t, 1)
	l, err := y.TryAcquire(streams[0], coherence.ReadWrite)
	require.NoError(t, err)
	defer l.Release()
	var conflict *buffer.ConflictError
	for wait := 5 * time.Millisecond; conflict == nil; wait *= 2 { // on a busy machine the time may be over before the launch comes to the leases
		require.Less(t, wait, time.Minute)
		short, cancel := context.WithTimeout(ctx, wait)
		_, _, line, _ := runtime.Caller(0)
		err = k.Launch(short, streams[1], hal.Over(1), kernel.In(x), kernel.Out(y))
		cancel()
		if errors.As(err, &conflict) {
			assert.Contains(t, conflict.Requested.Site, fmt.Sprintf("kernel_test.go:%d", line+1))
		}
	}
}

func TestClosedProgramIsLoadedAnew(t *testing.T) {
	_, streams := devices(t, 1)
	p := program(t)
	k := p.Kernel("add")
	x, y := made[uint32](t, 1), made[uint32](t, 1)
	for i := range 3 {
		require.NoError(t, k.Launch(ctx, streams[1], hal.Over(1), kernel.In(x), kernel.Out(y)))
		assert.Equal(t, []uint32{2}, contents(t, y), i)
		require.NoError(t, p.Close())
	}
	require.ErrorIs(t, (*kernel.Program)(nil).Close(), hal.ErrInvalidArgument)
	require.ErrorIs(t, (*kernel.Program)(nil).Load(ctx, streams[1].Device()), hal.ErrInvalidArgument)
	require.ErrorIs(t, p.Load(ctx, nil), hal.ErrInvalidArgument)
	require.NoError(t, p.Load(ctx, streams[1].Device()))
}

// A program does not keep a device open, and works on the next one.
func TestProgramOutlivesDevices(t *testing.T) {
	k := program(t).Kernel("add")
	x, y := made[uint32](t, 1), made[uint32](t, 1)
	b := host.New(host.Options{Name: "kernelsagain", Discrete: 1})
	for range 3 {
		d, err := hal.OpenWith(ctx, b, 1)
		require.NoError(t, err)
		s, err := d.NewStream()
		require.NoError(t, err)
		require.NoError(t, k.Launch(ctx, s, hal.Over(1), kernel.In(x), kernel.Out(y)))
		assert.Equal(t, []uint32{2}, contents(t, y))
		require.NoError(t, x.Evict(ctx, d))
		require.NoError(t, y.Evict(ctx, d))
		require.NoError(t, hal.CloseAll(d, s))
	}
}

func TestArraysAsOperands(t *testing.T) {
	_, streams := devices(t, 1)
	a, err := array.From(slices.Repeat([]float32{3}, 64), 8, 8)
	require.NoError(t, err)
	defer a.Close()
	y, err := array.New[float32](8, 8)
	require.NoError(t, err)
	defer y.Close()
	rows, err := a.Slice(array.Between(2, 4))
	require.NoError(t, err)
	out, err := y.Slice(array.Between(6, 8))
	require.NoError(t, err)
	require.NoError(t, program(t).Kernel("saxpy").Launch(ctx, streams[1], hal.Over(16), kernel.Value(float32(2)), kernel.In(rows), kernel.InOut(out), kernel.Value(uint64(16))))
	got, err := y.Values(ctx)
	require.NoError(t, err)
	assert.Equal(t, []float32{0, 6, 6}, []float32{got[47], got[48], got[63]})
}

func TestWrongBodiesAreErrorsOfTheLaunch(t *testing.T) {
	_, streams := devices(t, 1)
	y := made[uint32](t, 1)
	for name, c := range map[string]struct {
		run  func(*kernel.Block)
		args []kernel.Arg
		says string
	}{
		"no such argument":  {func(b *kernel.Block) { kernel.Slice[uint32](b, 1) }, []kernel.Arg{kernel.Out(y)}, "there is no argument 1; the launch has 1"},
		"number for buffer": {func(b *kernel.Block) { kernel.Slice[uint32](b, 0) }, []kernel.Arg{kernel.Value(uint32(1))}, "argument 0 is a value, not a buffer"},
		"buffer for number": {func(b *kernel.Block) { kernel.Number[uint32](b, 0) }, []kernel.Arg{kernel.Out(y)}, "not a uint32"},
		"wrong width":       {func(b *kernel.Block) { kernel.Number[uint64](b, 0) }, []kernel.Arg{kernel.Value(uint32(1))}, "argument 0 is a value of 4 bytes, not a uint64"},
		"wrong element":     {func(b *kernel.Block) { kernel.Slice[uint64](b, 0) }, []kernel.Arg{kernel.Out(y)}, "has 4 bytes, not a multiple of the size of uint64"},
		"beyond the end":    {func(b *kernel.Block) { kernel.Slice[uint32](b, 0)[1] = 1 }, []kernel.Arg{kernel.Out(y)}, "index out of range [1] with length 1"},
	} {
		p := kernel.New(kernel.Source{Go: kernel.Functions{"f": kernel.Go(c.run)}})
		require.NoError(t, p.Kernel("f").Launch(ctx, streams[1], hal.Blocks(1).Of(1), c.args...), name)
		assert.ErrorContains(t, streams[1].Sync(ctx), c.says, name)
		require.NoError(t, p.Close())
	}
}

func TestSharedMemoryOfABlock(t *testing.T) {
	_, streams := devices(t, 0)
	sums := made(t, make([]uint32, 64)...)
	p := kernel.New(kernel.Source{Go: kernel.Functions{"sum": kernel.Go(func(b *kernel.Block) {
		s := kernel.SharedSlice[uint32](b)
		for i := range s {
			s[i] = b.Index[0]
		}
		runtime.Gosched() // another block may run
		var sum uint32
		for _, v := range s {
			sum += v
		}
		kernel.Slice[uint32](b, 0)[b.Index[0]] = sum
	})}})
	defer p.Close()
	require.NoError(t, p.Kernel("sum").Launch(ctx, streams[0], hal.Blocks(64).Of(1), kernel.Out(sums), kernel.Shared(4*100)))
	for i, v := range contents(t, sums) {
		require.EqualValues(t, 100*i, v)
	}
}

func TestCheckedLaunches(t *testing.T) {
	kernel.SetChecking(true)
	defer kernel.SetChecking(false)
	_, streams := devices(t, 1)
	p := program(t)
	x, y := made(t, make([]uint32, 64)...), made(t, make([]uint32, 64)...)
	calls := uint32(0)
	reads := kernel.New(kernel.Source{Go: kernel.Functions{
		"grow": kernel.Go(func(b *kernel.Block) {
			y := kernel.Slice[uint32](b, 1)
			for i := range y {
				if i == 4 {
					y[i] = y[i] + 1
				} else {
					y[i] = uint32(i)
				}
			}
		}),
		"change": kernel.Go(func(b *kernel.Block) {
			calls++
			for i, y := 0, kernel.Slice[uint32](b, 1); i < len(y); i++ {
				y[i] = calls
			}
		}),
	}})
	for _, s := range streams {
		require.NoError(t, p.Kernel("add").Launch(ctx, s, hal.Over(64), kernel.In(x), kernel.Out(y)))
		require.NoError(t, p.Kernel("add").Launch(ctx, s, hal.Over(64), kernel.In(x), kernel.InOut(x)))
		z := made[uint32](t, 5, 6)
		require.NoError(t, p.Kernel("add").Launch(ctx, s, hal.Over(2), kernel.In(z), kernel.Out(z)))
		assert.Equal(t, []uint32{5 + 1, 6 + 1}, contents(t, z), "an Out that is read as an In keeps its elements for it")
		err := p.Kernel("scribble").Launch(ctx, s, hal.Blocks(1).Of(1), kernel.In(x))
		require.ErrorIs(t, err, hal.ErrInvalidArgument)
		assert.Contains(t, err.Error(), "kernel scribble: it wrote to argument 0, which is passed with In")
		err = p.Kernel("fill").Launch(ctx, s, hal.Over(64), kernel.Out(y), kernel.Value(uint32(7)), kernel.Value(uint32(3)))
		require.ErrorIs(t, err, hal.ErrInvalidArgument)
		// The bytes before are 0, which bytes of the random pattern may be, too.
		assert.Regexp(t, "it left 1[2-5] bytes unwritten of argument 0, which is passed with Out; the first at byte 24[1-4]", err.Error())
		require.NoError(t, p.Kernel("fill").Launch(ctx, s, hal.Over(64), kernel.InOut(y), kernel.Value(uint32(7)), kernel.Value(uint32(3))))
		if s == streams[0] {
			err = reads.Kernel("grow").Launch(ctx, s, hal.Over(1), kernel.InOut(x), kernel.Out(y))
			// A byte of the random pattern may be 0, as all of the other.
			assert.Regexp(t, "kernel grow: byte 1[6-9] that it writes to argument 1 depends on what an argument passed with Out held before", err)
			require.NoError(t, reads.Kernel("change").Launch(ctx, s, hal.Over(1), kernel.InOut(x), kernel.Out(y)), "differs by itself")
		}
		assert.ErrorContains(t, p.Kernel("fails").Launch(ctx, s, hal.Over(1), kernel.In(x)), "kernel fails failed")
		before := contents(t, y)
		require.Error(t, p.Kernel("add").Launch(ctx, s, hal.Over(64).Of(1<<20), kernel.In(x), kernel.Out(y)))
		assert.Equal(t, before, contents(t, y), "a refused launch changes nothing")
	}
}

// Programs that write many floats in checking mode write four bytes of a random pattern now and then.
func TestPatternIsNoNumber(t *testing.T) {
	for range 100 {
		p := kernel.NewPattern()
		for i := 0; i < len(p); i += 4 {
			assert.True(t, math.IsNaN(float64(math.Float32frombits(binary.LittleEndian.Uint32(p[i:])))), "%x", p)
			assert.Equal(t, byte(0x7f), p[i+3])
		}
		for i := 0; i < len(p); i += 8 {
			assert.True(t, math.IsNaN(math.Float64frombits(binary.LittleEndian.Uint64(p[i:]))), "%x", p)
		}
	}
}

// A kernel that writes each field of an Out leaves the bytes between them.
func TestCheckedLaunchesOfStructures(t *testing.T) {
	kernel.SetChecking(true)
	defer kernel.SetChecking(false)
	type element struct {
		a uint8 // 3 bytes of padding follow
		b float32
		c [2]struct {
			d int32
			_ [5]uint8
		}
		e uint8
	}
	p := kernel.New(kernel.Source{Go: kernel.Functions{"fields": kernel.Go(func(b *kernel.Block) {
		for i := range kernel.Slice[element](b, 0) {
			e := &kernel.Slice[element](b, 0)[i]
			e.a, e.b, e.c[0].d, e.c[1].d, e.e = 1, 2, 3, 4, 5
		}
	}), "most": kernel.Go(func(b *kernel.Block) {
		for i := range kernel.Slice[element](b, 0) {
			e := &kernel.Slice[element](b, 0)[i]
			e.a, e.b, e.c[1].d, e.e = 1, 2, 4, 5
		}
	})}})
	defer func() { assert.NoError(t, p.Close()) }()
	_, streams := devices(t, 0)
	x := made[element](t, make([]element, 3)...)
	assert.NoError(t, p.Kernel("fields").Launch(ctx, streams[0], hal.Blocks(1).Of(1), kernel.Out(x)))
	assert.EqualValues(t, 4, contents(t, x)[2].c[1].d)
	// A field of one byte that is written has what was there before by chance, once in 256 times, and counts as unwritten then.
	assert.Regexp(t, `it left 1[2-8] bytes unwritten of argument 0, which is passed with Out; the first at byte [08]`,
		p.Kernel("most").Launch(ctx, streams[0], hal.Blocks(1).Of(1), kernel.Out(x)))
}

func TestLaunchesDoNotAllocate(t *testing.T) {
	if raceEnabled {
		t.Skip("pools forget at random under the race detector")
	}
	_, streams := devices(t, 1)
	k := program(t).Kernel("saxpy")
	x, y := made(t, ramp(16)...), made(t, ramp(16)...)
	per := testing.AllocsPerRun(500, func() {
		if err := k.Launch(ctx, streams[1], hal.Over(16), kernel.Value(float32(0)), kernel.In(x), kernel.InOut(y), kernel.Value(uint64(16))); err != nil {
			t.Fatal(err)
		}
		if err := streams[1].Sync(ctx); err != nil {
			t.Fatal(err)
		}
	})
	assert.Less(t, per, 0.5)
}

func TestPreludeIsForLanguages(t *testing.T) {
	for l, marks := range map[hal.Language]string{hal.LanguageOpenCLC: "HALYARD_OPENCL", hal.LanguageCUDA: "HALYARD_CUDA", hal.LanguageHIP: "HALYARD_HIP"} {
		assert.Contains(t, kernel.Prelude(l), "#define "+marks+" 1")
	}
	assert.Empty(t, kernel.Prelude(0))
	var be *hal.BuildError
	assert.False(t, errors.As(errors.New(""), &be))
}

// A launch over no threads, and buffers of no elements, are like any other.
func TestNoElements(t *testing.T) {
	_, streams := devices(t, 1)
	k := program(t).Kernel("saxpy")
	whole, none := made(t, ramp(4)...), made[float32](t)
	part, err := whole.Slice(4, 4)
	require.NoError(t, err)
	for _, checks := range []bool{false, true} {
		kernel.SetChecking(checks)
		defer kernel.SetChecking(false)
		for _, s := range streams {
			for _, x := range []*buffer.Buffer[float32]{none, part} {
				for _, threads := range []int{0, 64} {
					require.NoError(t, k.Launch(ctx, s, hal.Over(threads), kernel.Value(float32(2)), kernel.In(x), kernel.InOut(x), kernel.Value(uint64(0))))
					require.NoError(t, k.Launch(ctx, s, hal.Over(threads), kernel.Value(float32(2)), kernel.In(whole), kernel.Out(x), kernel.Value(uint64(0))))
				}
			}
			require.NoError(t, k.Launch(ctx, s, hal.Over(0), kernel.Value(float32(2)), kernel.In(whole), kernel.InOut(whole), kernel.Value(uint64(4))))
		}
	}
	require.Equal(t, ramp(4), contents(t, whole))
}
