package hal_test

import (
	"context"
	"math"
	"runtime"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/layer"
)

// floats are the bytes as numbers.
func floats(b []byte) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/4)
}

var saxpyParams = []hal.Param{
	{Name: "a", Kind: hal.ParamValue, Size: 4}, {Name: "x", Kind: hal.ParamPointer, Size: 8, Const: true},
	{Name: "y", Kind: hal.ParamPointer, Size: 8}, {Name: "n", Kind: hal.ParamValue, Size: 8},
}

func saxpy(b *hal.Block) {
	a, n := *(*float32)(b.Args[0].Value()), *(*uint64)(b.Args[3].Value())
	x, y := floats(b.Bytes[1]), floats(b.Bytes[2])
	from := uint64(b.Index[0]) * uint64(b.Size[0])
	for i := from; i < min(from+uint64(b.Size[0]), n); i++ {
		y[i] += a * x[i]
	}
}

// goKernels loads Go functions on the host's first device.
func goKernels(t testing.TB, functions map[string]hal.Function) (*hal.Device, *hal.Stream, *hal.Module) {
	dev, err := hal.Open(context.Background(), "host:0")
	require.NoError(t, err)
	s, err := dev.NewStream()
	require.NoError(t, err)
	m, err := dev.Load(hal.Image{Format: hal.FormatGo, Functions: functions})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, hal.CloseAll(dev, s, m)) })
	return dev, s, m
}

func memoryOf(t testing.TB, dev *hal.Device, n int) (*hal.Memory, []byte) {
	m, err := dev.Alloc(hal.KindHost, uint64(n), 0)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, m.Close()) })
	b, err := m.Bytes()
	require.NoError(t, err)
	clear(b)
	return m, b
}

func kernelNamed(t testing.TB, m *hal.Module, name string) *hal.Kernel {
	k, err := m.Kernel(name)
	require.NoError(t, err)
	return k
}

func TestLaunchOfAGoFunction(t *testing.T) {
	const n = 100_003
	dev, s, m := goKernels(t, map[string]hal.Function{"saxpy": {Params: saxpyParams, Run: saxpy}})
	xm, xb := memoryOf(t, dev, 4*n)
	ym, yb := memoryOf(t, dev, 4*n)
	x, y := floats(xb), floats(yb)
	for i := range x {
		x[i], y[i] = float32(i), 1
	}
	k := kernelNamed(t, m, "saxpy")
	require.NoError(t, s.Launch(k, hal.Over(n), hal.Value(float32(2)), hal.At(xm.All()), hal.At(ym.All()), hal.Value(uint64(n))))
	require.NoError(t, s.Sync(context.Background()))
	for i := range y {
		require.Equal(t, 2*float32(i)+1, y[i])
	}
}

func TestArgumentsAreCheckedAtEachLaunch(t *testing.T) {
	type packed struct {
		A int32
		B [3]float32
		C float64
	}
	big := [9]uint64{1, 2, 3, 4, 5, 6, 7, 8, 9}
	var sum atomic.Uint64
	dev, s, m := goKernels(t, map[string]hal.Function{
		"saxpy": {Params: saxpyParams, Run: saxpy},
		"sum": {Params: []hal.Param{{Name: "v", Kind: hal.ParamValue, Size: 72}}, Run: func(b *hal.Block) {
			for _, v := range (*[9]uint64)(b.Args[0].Value()) {
				sum.Add(v)
			}
		}},
	})
	mem, bytes := memoryOf(t, dev, 64)
	gone, err := dev.Alloc(hal.KindDevice, 64, 0)
	require.NoError(t, err)
	require.NoError(t, gone.Close())
	k, at := kernelNamed(t, m, "saxpy"), hal.At(mem.All())
	a, n := hal.Value(float32(1)), hal.Value(uint64(16))
	for name, c := range map[string]struct {
		grid hal.Grid
		args []hal.Arg
		kind error
		says string
	}{
		"too few":             {hal.Over(16), []hal.Arg{a, at, at}, hal.ErrInvalidArgument, "3 arguments, it takes 4; parameter 3 (n) is a value of 8 bytes"},
		"too many":            {hal.Over(16), []hal.Arg{a, at, at, n, n}, hal.ErrInvalidArgument, "more arguments than the 4 that it takes"},
		"wrong size":          {hal.Over(16), []hal.Arg{a, at, at, hal.Value(int32(16))}, hal.ErrInvalidArgument, "argument 3 is a value of 4 bytes, but parameter 3 (n) is a value of 8 bytes"},
		"pointer for a value": {hal.Over(16), []hal.Arg{at, at, at, n}, hal.ErrInvalidArgument, "argument 0 is a pointer, but parameter 0 (a) is a value of 4 bytes"},
		"value for a pointer": {hal.Over(16), []hal.Arg{a, n, at, n}, hal.ErrInvalidArgument, "argument 1 is a value of 8 bytes, but parameter 1 (x) is a pointer"},
		"zero argument":       {hal.Over(16), []hal.Arg{a, {}, at, n}, hal.ErrInvalidArgument, "argument 1 is the zero Arg"},
		"Go pointer inside":   {hal.Over(16), []hal.Arg{a, at, at, hal.Struct(&struct{ P *int }{})}, hal.ErrInvalidArgument, ".P is of type *int"},
		"nil structure":       {hal.Over(16), []hal.Arg{a, at, at, hal.Struct[packed](nil)}, hal.ErrInvalidArgument, "a nil pointer to a structure"},
		"int":                 {hal.Over(16), []hal.Arg{a, at, at, hal.Struct(new(int))}, hal.ErrInvalidArgument, "argument 3 is a int: int has a size that depends on the platform"},
		"closed memory":       {hal.Over(16), []hal.Arg{a, hal.At(gone.All()), at, n}, hal.ErrClosed, "closed"},
		"outside":             {hal.Over(16), []hal.Arg{a, hal.At(mem.Region(60, 8)), at, n}, hal.ErrOutOfRange, "outside"},
		"no memory":           {hal.Over(16), []hal.Arg{a, hal.At(hal.Region{}), at, n}, hal.ErrInvalidArgument, "names no memory"},
		"shared memory twice": {hal.Over(16), []hal.Arg{a, at, at, n, hal.Shared(8), hal.Shared(8)}, hal.ErrInvalidArgument, "one piece"},
		"shared too large":    {hal.Over(16), []hal.Arg{a, at, at, n, hal.Shared(1 << 30)}, hal.ErrInvalidArgument, "1073741824 bytes of shared memory"},
		"shared negative":     {hal.Over(16), []hal.Arg{a, at, at, n, hal.Shared(-1)}, hal.ErrInvalidArgument, "negative"},
		"zero grid value":     {hal.Grid{}, []hal.Arg{a, at, at, n}, hal.ErrInvalidArgument, "Over or Blocks"},
		"four dimensions":     {hal.Over(1, 1, 1, 1), []hal.Arg{a, at, at, n}, hal.ErrInvalidArgument, "one to three dimensions"},
		"negative grid":       {hal.Over(-1), []hal.Arg{a, at, at, n}, hal.ErrInvalidArgument, "dimension 0 is -1"},
		"empty block":         {hal.Over(16).Of(0), []hal.Arg{a, at, at, n}, hal.ErrInvalidArgument, "a block of 0 threads"},
		"large block":         {hal.Over(16).Of(1 << 17), []hal.Arg{a, at, at, n}, hal.ErrInvalidArgument, "the device's limit"},
		"too many threads":    {hal.Blocks(math.MaxInt32, math.MaxUint16, math.MaxUint16).Of(4), []hal.Arg{a, at, at, n}, hal.ErrOutOfRange, "at most 2^62 threads"},
		"large product":       {hal.Over(16).Of(1<<10, 1<<10), []hal.Arg{a, at, at, n}, hal.ErrInvalidArgument, "the limit for this kernel"},
		"many blocks":         {hal.Blocks(1, 1<<20).Of(1), []hal.Arg{a, at, at, n}, hal.ErrOutOfRange, "blocks"},
	} {
		t.Run(name, func(t *testing.T) {
			err := s.Launch(k, c.grid, c.args...)
			require.ErrorIs(t, err, c.kind)
			assert.Contains(t, err.Error(), c.says)
		})
	}
	require.NoError(t, s.Sync(context.Background()))
	assert.Equal(t, make([]byte, 64), bytes, "a refused launch changed the memory")

	require.NoError(t, s.Launch(kernelNamed(t, m, "sum"), hal.Blocks(1).Of(1), hal.Struct(&big)))
	big = [9]uint64{}
	require.NoError(t, s.Sync(context.Background()))
	assert.Equal(t, uint64(45), sum.Load(), "the value was not copied")

	for _, empty := range []hal.Grid{hal.Over(0), hal.Blocks(3, 0)} {
		require.NoError(t, s.Launch(k, empty, a, at, at, n))
		require.ErrorIs(t, s.Launch(k, empty, a, at, at), hal.ErrInvalidArgument, "an empty grid is checked too")
	}
	require.ErrorIs(t, s.Launch(nil, hal.Over(1)), hal.ErrInvalidArgument)
	require.ErrorIs(t, s.Launch(&hal.Kernel{}, hal.Over(1)), hal.ErrInvalidArgument)
	_, err = m.Kernel("sinus")
	require.ErrorIs(t, err, hal.ErrNotFound)
	assert.Contains(t, err.Error(), "there are: saxpy, sum")
}

// Every thread runs once, whatever the shape of the grid and of the block.
func TestEveryBlockRunsOnce(t *testing.T) {
	var counts []atomic.Int32
	_, s, m := goKernels(t, map[string]hal.Function{"count": {Run: func(b *hal.Block) {
		n := [3]uint32{b.Grid[0] * b.Size[0], b.Grid[1] * b.Size[1], b.Grid[2] * b.Size[2]}
		for z := range b.Size[2] {
			for y := range b.Size[1] {
				for x := range b.Size[0] {
					at := [3]uint32{b.Index[0]*b.Size[0] + x, b.Index[1]*b.Size[1] + y, b.Index[2]*b.Size[2] + z}
					counts[at[0]+n[0]*(at[1]+n[1]*at[2])].Add(1)
				}
			}
		}
	}}})
	k := kernelNamed(t, m, "count")
	for _, c := range []struct {
		grid hal.Grid
		want int
	}{
		{hal.Blocks(1).Of(1), 1}, {hal.Over(1000).Of(64), 1024}, {hal.Over(10, 20).Of(4, 8), 12 * 24}, {hal.Blocks(2, 3, 5).Of(3, 2, 1), 180}, {hal.Blocks(977).Of(1), 977},
	} {
		counts = make([]atomic.Int32, c.want)
		require.NoError(t, s.Launch(k, c.grid))
		require.NoError(t, s.Sync(context.Background()))
		for i := range counts {
			require.EqualValues(t, 1, counts[i].Load(), "%+v: thread %d of %d", c.grid, i, c.want)
		}
	}
}

// A function that fails is an error of the stream, once, and of the events that were recorded after it.
func TestFunctionThatFails(t *testing.T) {
	for name, c := range map[string]struct {
		fail func()
		says string
	}{
		"panic":  {func() { panic("at the disco") }, "0,0: the function panicked: at the disco"},
		"Goexit": {func() { assert.FailNow(&fakeT{}, "") }, "the function ended its goroutine"},
	} {
		t.Run(name, func(t *testing.T) {
			_, s, m := goKernels(t, map[string]hal.Function{"fails": {Run: func(*hal.Block) { c.fail() }}, "works": {Run: func(*hal.Block) {}}})
			before, err := s.Record()
			require.NoError(t, err)
			require.NoError(t, s.Launch(kernelNamed(t, m, "fails"), hal.Blocks(3).Of(1)))
			after, err := s.Record()
			require.NoError(t, err)
			require.NoError(t, s.Launch(kernelNamed(t, m, "works"), hal.Blocks(3).Of(1)))
			ctx := context.Background()
			err = s.Sync(ctx)
			require.ErrorIs(t, err, hal.ErrKernel)
			if name == "panic" {
				assert.Contains(t, err.Error(), c.says)
			}
			assert.NoError(t, s.Sync(ctx), "told twice")
			assert.NoError(t, before.Sync(ctx))
			assert.ErrorIs(t, after.Sync(ctx), hal.ErrKernel)
			assert.ErrorIs(t, after.Sync(ctx), hal.ErrKernel, "an event keeps its error")
			later, err := s.Record()
			require.NoError(t, err)
			assert.NoError(t, later.Sync(ctx))
			require.NoError(t, hal.CloseAll(before, after, later))
		})
	}
}

// fakeT ends the goroutine as a failed test does.
type fakeT struct{}

func (*fakeT) Errorf(string, ...any) {}
func (*fakeT) FailNow()              { goexit() }

func goexit() { runtime.Goexit() }

func TestModuleClosedUnderItsLaunch(t *testing.T) {
	dev, s, m := goKernels(t, map[string]hal.Function{"saxpy": {Params: saxpyParams, Run: saxpy}})
	g, err := s.Gate()
	require.NoError(t, err)
	ym, yb := memoryOf(t, dev, 64)
	k := kernelNamed(t, m, "saxpy")
	floats(yb)[3] = 2
	args := []hal.Arg{hal.Value(float32(1)), hal.At(ym.All()), hal.At(ym.All()), hal.Value(uint64(16))}
	require.NoError(t, s.Launch(k, hal.Over(16), args...))
	require.NoError(t, m.Close())
	require.NoError(t, m.Close())
	assert.ErrorIs(t, s.Launch(k, hal.Over(16), args...), hal.ErrClosed)
	_, err = m.Kernel("saxpy")
	assert.ErrorIs(t, err, hal.ErrClosed)
	assert.Equal(t, 1, dev.Usage().Pending)
	require.NoError(t, g.Signal())
	require.NoError(t, s.Sync(context.Background()))
	assert.EqualValues(t, 4, floats(yb)[3])
}

func TestLoadRefuses(t *testing.T) {
	dev, _, _ := goKernels(t, map[string]hal.Function{"f": {Run: func(*hal.Block) {}}})
	for name, c := range map[string]struct {
		image hal.Image
		kind  error
	}{
		"another format":         {hal.Image{Format: hal.FormatPTX, Data: []byte(".version")}, hal.ErrUnsupported},
		"no format":              {hal.Image{}, hal.ErrUnsupported},
		"no function":            {hal.Image{Format: hal.FormatGo}, hal.ErrInvalidArgument},
		"nil function":           {hal.Image{Format: hal.FormatGo, Functions: map[string]hal.Function{"f": {}}}, hal.ErrInvalidArgument},
		"parameter without kind": {hal.Image{Format: hal.FormatGo, Functions: map[string]hal.Function{"f": {Params: []hal.Param{{}}, Run: saxpy}}}, hal.ErrInvalidArgument},
	} {
		_, err := dev.Load(c.image)
		assert.ErrorIs(t, err, c.kind, name)
	}
	_, err := dev.Compile(hal.Source{Text: "void f() {}"})
	assert.ErrorIs(t, err, hal.ErrUnsupported)
}

func TestLaunchDoesNotAllocate(t *testing.T) {
	if raceEnabled {
		t.Skip("pools forget at random under the race detector")
	}
	dev, s, m := goKernels(t, map[string]hal.Function{"saxpy": {Params: saxpyParams, Run: saxpy}})
	mem, _ := memoryOf(t, dev, 64)
	k := kernelNamed(t, m, "saxpy")
	a, at, n := float32(math.Pi), mem.All(), uint64(16)
	per := testing.AllocsPerRun(1000, func() {
		if err := s.Launch(k, hal.Over(16), hal.Value(a), hal.At(at), hal.At(at), hal.Value(n)); err != nil {
			t.Fatal(err)
		}
		if err := s.Sync(context.Background()); err != nil {
			t.Fatal(err)
		}
	})
	assert.Less(t, per, 0.5) // the garbage collector may empty a pool
}

// A module of the device's own handle does not keep the device open, and is closed with it.
func TestModulesOfCommonCloseWithTheDevice(t *testing.T) {
	dev, err := hal.Open(context.Background(), "host:0")
	require.NoError(t, err)
	m, err := layer.Common(dev).Load(hal.Image{Format: hal.FormatGo, Functions: map[string]hal.Function{"f": {Run: func(*hal.Block) {}}}})
	require.NoError(t, err)
	_, err = m.Kernel("f")
	require.NoError(t, err)
	mem, err := layer.Common(dev).Alloc(hal.KindDevice, 8, 0)
	require.NoError(t, err)
	err = dev.Close()
	require.ErrorIs(t, err, hal.ErrBusy)
	require.Contains(t, err.Error(), "memory")
	require.NotContains(t, err.Error(), "module", "which is not in the way")
	require.NoError(t, mem.Close())
	require.NoError(t, dev.Close())
	_, err = m.Kernel("f")
	require.ErrorIs(t, err, hal.ErrClosed)
	require.NoError(t, m.Close())
}

// The stream's error says how a kernel failed.
func TestLaunchThatFails(t *testing.T) {
	_, s, m := goKernels(t, map[string]hal.Function{"fails": {Run: func(*hal.Block) { panic("no") }}, "works": {Run: func(*hal.Block) {}}})
	require.NoError(t, s.Launch(kernelNamed(t, m, "fails"), hal.Blocks(1)))
	require.NoError(t, s.Launch(kernelNamed(t, m, "works"), hal.Blocks(1)))
	err := s.Sync(context.Background())
	assert.ErrorIs(t, err, hal.ErrKernel)
	assert.ErrorContains(t, err, "the function panicked: no")
	assert.NoError(t, s.Sync(context.Background()), "it is told once")
}

// A launch of no grid makes all checks and runs nothing.
func TestLaunchOfNothingMakesAllChecks(t *testing.T) {
	ran := false
	_, s, m := goKernels(t, map[string]hal.Function{"f": {Run: func(*hal.Block) { ran = true }}})
	k := kernelNamed(t, m, "f")
	require.True(t, layer.Empty(hal.Over(4, 0)) && !layer.Empty(hal.Over(64)))
	require.NoError(t, layer.Launch(s, k, hal.Over(64), layer.How{Check: true}, nil))
	require.ErrorIs(t, layer.Launch(s, k, hal.Over(-1), layer.How{Check: true}, nil), hal.ErrInvalidArgument)
	require.NoError(t, s.Sync(t.Context()))
	require.False(t, ran)
	require.NoError(t, s.Launch(k, hal.Over(64)))
	require.NoError(t, s.Sync(t.Context()))
	require.True(t, ran)
}

// An empty region at the end of the program's own memory is no pointer to what follows the memory.
func TestLaunchWithAnEmptyRegionAtTheEnd(t *testing.T) {
	dev, s, mod := goKernels(t, map[string]hal.Function{"f": {Run: func(b *hal.Block) {
		if len(b.Bytes[0]) != 0 {
			panic("not empty")
		}
		runtime.GC() // which ends the process if it finds a pointer to memory that is free
	}}})
	k := kernelNamed(t, mod, "f")
	for range 50 {
		for _, n := range []int{24, 4096, 1 << 20} {
			m, err := dev.Register(make([]byte, n))
			require.NoError(t, err)
			require.NoError(t, s.Launch(k, hal.Blocks(1), hal.At(m.Region(uint64(n), 0))))
			require.NoError(t, s.Sync(context.Background()))
			require.NoError(t, m.Close())
		}
	}
}
