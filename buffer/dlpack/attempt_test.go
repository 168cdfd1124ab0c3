package dlpack_test

import (
	"context"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/buffer/dlpack"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/driver"
)

// turns is the host backend, which adopts memory as some OpenCL devices do: host and device take turns with it.
type turns struct{ *host.Backend }

func (b turns) Open(ctx context.Context, ordinal int) (driver.Device, error) {
	d, err := b.Backend.Open(ctx, ordinal)
	return turnsDevice{d, d.(driver.Adopter)}, err
}

type turnsDevice struct {
	driver.Device
	driver.Adopter
}

func (d turnsDevice) Adopt(k driver.Kind, p uintptr, n uint64) (driver.Memory, error) {
	m, err := d.Adopter.Adopt(k, p, n)
	return turnsMemory{m}, err
}

type turnsMemory struct{ driver.Memory }

func (turnsMemory) NeedsMap() bool { return true }

func TestDeleterOfRefusedAttempt(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	d, err := hal.OpenWith(ctx, turns{host.New(host.Options{})}, 0)
	require.NoError(t, err)
	defer func() { require.NoError(t, d.Close()) }()
	f := makeForeign(t, false, []int64{4}, nil, 0, 0)
	b, _, err := dlpack.Import[int32](ctx, f.Managed, dlpack.ImportOptions{Device: d})
	require.NoError(t, err)
	for range 100 {
		runtime.Gosched()
	}
	require.Zero(t, f.calls(), "the tensor is in use")
	require.NoError(t, b.Close())
	require.EqualValues(t, 1, f.calls())
}
