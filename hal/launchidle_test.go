package hal_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/driver"
)

// idle is a host backend whose streams take launches and run none, so that what hal does about a launch can be measured alone.
type idle struct {
	driver.Backend
	seen func(*driver.Launch) // each launch, or nil
}

type idleDevice struct {
	driver.Device
	seen func(*driver.Launch)
}

type idleStream struct {
	driver.Stream
	seen func(*driver.Launch)
}

func (b idle) Open(ctx context.Context, n int) (driver.Device, error) {
	d, err := b.Backend.Open(ctx, n)
	return idleDevice{d, b.seen}, err
}

func (d idleDevice) Formats() []driver.Format { return d.Device.(driver.Loader).Formats() }

func (d idleDevice) Load(i *driver.Image) (driver.Module, error) {
	return d.Device.(driver.Loader).Load(i)
}

func (d idleDevice) NewStream(o driver.StreamOptions) (driver.Stream, error) {
	s, err := d.Device.NewStream(o)
	return idleStream{s, d.seen}, err
}

func (s idleStream) Launch(_ driver.Kernel, l *driver.Launch) error {
	if s.seen != nil {
		s.seen(l)
	}
	return nil
}

// BenchmarkLaunchChecks measures what hal adds to a driver's launch of a kernel with six arguments, three of them memory.
func BenchmarkLaunchChecks(b *testing.B) {
	dev, err := hal.OpenWith(context.Background(), idle{Backend: host.New(host.Options{Name: "idle", Discrete: 1})}, 1)
	require.NoError(b, err)
	s, err := dev.NewStream()
	require.NoError(b, err)
	number, pointer := hal.Param{Kind: hal.ParamValue, Size: 4}, hal.Param{Kind: hal.ParamPointer, Size: 8}
	m, err := dev.Load(hal.Image{Format: hal.FormatGo, Functions: map[string]hal.Function{"f": {Run: func(*hal.Block) {},
		Params: []hal.Param{pointer, pointer, pointer, number, number, number}}}})
	require.NoError(b, err)
	k, err := m.Kernel("f")
	require.NoError(b, err)
	var mems [3]*hal.Memory
	for i := range mems {
		mems[i], err = dev.Alloc(hal.KindDevice, 4096, 0)
		require.NoError(b, err)
	}
	b.ReportAllocs()
	for range b.N {
		err := s.Launch(k, hal.Over(1000), hal.At(mems[0].All()), hal.At(mems[1].All()), hal.At(mems[2].All()),
			hal.Value(float32(1)), hal.Value(uint32(2)), hal.Value(int32(3)))
		if err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	require.NoError(b, hal.CloseAll(dev, s, m, mems[0], mems[1], mems[2]))
}

// TestLaunchesForgetEarlierArguments launches with more arguments than there is room for at first, and with some that are refused: what the driver
// is given for the next launch has nothing of theirs in it, which would keep memory reachable.
func TestLaunchesForgetEarlierArguments(t *testing.T) {
	launched := 0
	dev, err := hal.OpenWith(t.Context(), idle{Backend: host.New(host.Options{Name: "idle", Discrete: 1}), seen: func(l *driver.Launch) {
		launched++
		for i, a := range l.Args[:min(cap(l.Args), 16)] {
			if i >= len(l.Args) {
				assert.Zero(t, a, "argument %d of %d", i, len(l.Args))
			} else if a.Kind == driver.ParamValue && a.Size <= 16 {
				assert.Zero(t, a.Region, "argument %d", i)
				assert.Nil(t, a.Ptr, "argument %d", i)
			}
		}
	}}, 1)
	require.NoError(t, err)
	s, err := dev.NewStream()
	require.NoError(t, err)
	const many = 20
	large, few := make([]hal.Param, many), []hal.Param{{Kind: hal.ParamPointer, Size: 8}, {Kind: hal.ParamValue, Size: 8}, {Kind: hal.ParamValue, Size: 8}}
	args := make([]hal.Arg, many)
	var value [4]uint64
	for i := range large {
		large[i] = hal.Param{Kind: hal.ParamValue, Size: 32}
		args[i] = hal.Struct(&value)
	}
	none := func(*hal.Block) {}
	m, err := dev.Load(hal.Image{Format: hal.FormatGo, Functions: map[string]hal.Function{"large": {Params: large, Run: none}, "few": {Params: few, Run: none}}})
	require.NoError(t, err)
	mem, err := dev.Alloc(hal.KindDevice, 64, 0)
	require.NoError(t, err)
	pointer, word := hal.At(mem.All()), hal.Value(uint64(1))
	for range 100 {
		require.NoError(t, s.Launch(kernelNamed(t, m, "large"), hal.Blocks(1), args...))
		require.NoError(t, s.Launch(kernelNamed(t, m, "few"), hal.Blocks(1), pointer, word, word))
		require.ErrorIs(t, s.Launch(kernelNamed(t, m, "large"), hal.Blocks(1), append(args[:many-1:many-1], pointer)...), hal.ErrInvalidArgument)
		require.NoError(t, s.Launch(kernelNamed(t, m, "few"), hal.Blocks(1), pointer, word, word))
		require.ErrorIs(t, s.Launch(kernelNamed(t, m, "few"), hal.Blocks(1), pointer, pointer, word), hal.ErrInvalidArgument)
		require.ErrorIs(t, s.Launch(kernelNamed(t, m, "few"), hal.Blocks(1), hal.At(hal.Region{}), word, word), hal.ErrInvalidArgument)
		require.NoError(t, s.Launch(kernelNamed(t, m, "few"), hal.Blocks(1), pointer, word, word))
	}
	require.Equal(t, 400, launched)
	require.NoError(t, hal.CloseAll(dev, s, m, mem))
}
