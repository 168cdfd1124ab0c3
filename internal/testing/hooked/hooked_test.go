package hooked_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/conformance"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/testing/hooked"
)

var ctx = context.Background()

// bare is a host backend whose objects implement no optional interface, though their capabilities promise every one.
type bare struct{ driver.Backend }

type bareDevice struct{ driver.Device }

func (b bare) Open(ctx context.Context, ordinal int) (driver.Device, error) {
	d, err := b.Backend.Open(ctx, ordinal)
	return bareDevice{d}, err
}

func (d bareDevice) Info() driver.Info {
	i := d.Device.Info()
	i.Caps = ^driver.Caps(0)
	return i
}

func (d bareDevice) NewStream(o driver.StreamOptions) (driver.Stream, error) {
	s, err := d.Device.NewStream(o)
	return struct{ driver.Stream }{s}, err
}

func (d bareDevice) NewEvent(o driver.EventOptions) (driver.Event, error) {
	e, err := d.Device.NewEvent(o)
	return struct{ driver.Event }{e}, err
}

// A layer without hooks passes what the backend passes.
func TestLayerIsThin(t *testing.T) {
	b := &hooked.Backend{Backend: host.New(host.Options{Name: "layered", Discrete: 2})}
	conformance.Run(t, conformance.Harness{
		Open:    func(ctx context.Context) (*hal.Device, error) { return hal.OpenWith(ctx, b, 1) },
		Peer:    func(ctx context.Context) (*hal.Device, error) { return hal.OpenWith(ctx, b, 2) },
		Backend: b,
		Short:   true,
	})
}

// What a device lacks it lacks under a layer as well: the errors have the same kind.
func TestLayerAddsNoAbility(t *testing.T) {
	refused := func(b driver.Backend) map[string]error {
		d, err := hal.OpenWith(ctx, b, 1)
		require.NoError(t, err)
		s, err := d.NewStream()
		require.NoError(t, err)
		m, err := d.Alloc(hal.KindDevice, 64, 0)
		require.NoError(t, err)
		defer func() {
			require.NoError(t, s.Close())
			require.NoError(t, m.Close())
			require.NoError(t, d.Close())
		}()
		got := map[string]error{}
		_, got["gate"] = s.Gate()
		got["callback"] = s.OnDone(func() {})
		_, got["stream alloc"] = s.AllocAsync(64, 0)
		_, got["register"] = d.Register(make([]byte, 64))
		_, got["import"] = d.Import(hal.ExternalMemory{Kind: hal.KindDevice, Handle: m.Handle(), Size: 64})
		_, got["import stream"] = d.ImportStream(1, func() {})
		_, got["pointer"] = d.PointerInfo(m.Handle())
		_, got["share"] = m.IPCHandle()
		return got
	}
	without := refused(bare{host.New(host.Options{Discrete: 1})})
	for what, err := range refused(&hooked.Backend{Backend: bare{host.New(host.Options{Discrete: 1})}}) {
		assert.ErrorIs(t, without[what], hal.ErrUnsupported, what)
		assert.ErrorIs(t, err, hal.ErrUnsupported, what)
	}
	b := &hooked.Backend{Backend: bare{host.New(host.Options{Discrete: 2})}}
	one, err := b.Open(ctx, 1)
	require.NoError(t, err)
	two, err := b.Open(ctx, 2)
	require.NoError(t, err)
	assert.Zero(t, one.(driver.Peering).PeerAccess(two))
	require.NoError(t, one.Close())
	require.NoError(t, two.Close())
}
