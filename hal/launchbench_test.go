package hal_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/driver"
)

// idle is a host backend whose streams take launches and run none, so that what hal does about a launch can be measured alone.
type idle struct{ driver.Backend }

type idleDevice struct{ driver.Device }

type idleStream struct{ driver.Stream }

func (b idle) Open(ctx context.Context, n int) (driver.Device, error) {
	d, err := b.Backend.Open(ctx, n)
	return idleDevice{d}, err
}

func (d idleDevice) Formats() []driver.Format { return d.Device.(driver.Loader).Formats() }

func (d idleDevice) Load(i *driver.Image) (driver.Module, error) {
	return d.Device.(driver.Loader).Load(i)
}

func (d idleDevice) NewStream(o driver.StreamOptions) (driver.Stream, error) {
	s, err := d.Device.NewStream(o)
	return idleStream{s}, err
}

func (idleStream) Launch(driver.Kernel, *driver.Launch) error { return nil }

// BenchmarkLaunchChecks measures what hal adds to a driver's launch of a kernel with six arguments, three of them memory.
func BenchmarkLaunchChecks(b *testing.B) {
	dev, err := hal.OpenWith(context.Background(), idle{host.New(host.Options{Name: "idle", Discrete: 1})}, 1)
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
