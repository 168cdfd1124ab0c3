package hal_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/testing/fixture"
	"github.com/go-halyard/halyard/internal/testing/hooked"
)

// advised is advice that has reached the driver.
type advised struct {
	on       int // ordinal of the device
	off, len uint64
	advice   hal.Advice
	at       int // ordinal, -1 for the host
}

// adviser is a backend of four devices. All take advice but the last.
func adviser(name string) (*hooked.Backend, *[]advised) {
	got := new([]advised)
	return &hooked.Backend{
		Backend: host.New(host.Options{Name: name, Discrete: 3}),
		Info: func(i driver.Info) driver.Info {
			if i.Ordinal < 3 {
				i.Caps |= driver.CapAdvise
			}
			return i
		},
		Advise: func(d *hooked.Device, r driver.Region, a driver.Advice, at *hooked.Device) error {
			ordinal := -1
			if at != nil {
				ordinal = at.Ordinal
			}
			*got = append(*got, advised{d.Ordinal, r.Off, r.Len, a, ordinal})
			return nil
		},
	}, got
}

func TestAdviceReachesTheDriver(t *testing.T) {
	b, got := adviser("advised")
	one, two := fixture.Device(t, b, 1), fixture.Device(t, b, 2)
	m, err := one.Alloc(hal.KindShared, 100, 0)
	require.NoError(t, err)
	defer m.Close()
	require.NoError(t, m.Advise(0, 100, hal.AdviceReadMostly, nil))
	require.NoError(t, m.Advise(10, 20, hal.AdviceNotReadMostly, nil))
	require.NoError(t, m.Advise(0, 100, hal.AdvicePreferredAt, two))
	require.NoError(t, m.Advise(0, 100, hal.AdvicePreferredAt, nil))
	require.NoError(t, m.Advise(0, 100, hal.AdviceNotPreferred, nil))
	require.NoError(t, m.Advise(99, 1, hal.AdviceAccessedBy, one))
	require.NoError(t, m.Advise(99, 1, hal.AdviceNotAccessedBy, one))
	require.NoError(t, m.Advise(100, 0, hal.AdviceReadMostly, nil), "nothing, of which no driver is told")
	require.Equal(t, []advised{
		{1, 0, 100, hal.AdviceReadMostly, -1},
		{1, 10, 20, hal.AdviceNotReadMostly, -1},
		{1, 0, 100, hal.AdvicePreferredAt, 2},
		{1, 0, 100, hal.AdvicePreferredAt, -1},
		{1, 0, 100, hal.AdviceNotPreferred, -1},
		{1, 99, 1, hal.AdviceAccessedBy, 1},
		{1, 99, 1, hal.AdviceNotAccessedBy, 1},
	}, *got)

	failed := &hal.Error{Op: "advise", Kind: hal.ErrDriver}
	b.Call = func(op string, _ int) error {
		if op == "Advise" {
			return failed
		}
		return nil
	}
	require.ErrorIs(t, m.Advise(0, 100, hal.AdviceReadMostly, nil), hal.ErrDriver)
	b.Call = nil
}

func TestAdviceRefused(t *testing.T) {
	b, got := adviser("refusing")
	other, _ := adviser("another")
	one, bare, far := fixture.Device(t, b, 1), fixture.Device(t, b, 3), fixture.Device(t, other, 1)
	alloc := func(d *hal.Device, k hal.Kind) *hal.Memory {
		m, err := d.Alloc(k, 100, 0)
		require.NoError(t, err)
		t.Cleanup(func() { _ = m.Close() })
		return m
	}
	m, closed := alloc(one, hal.KindShared), alloc(one, hal.KindShared)
	require.NoError(t, closed.Close())
	gone, err := hal.OpenWith(t.Context(), b, 2)
	require.NoError(t, err)
	require.NoError(t, gone.Close())
	for _, c := range []struct {
		what   string
		mem    *hal.Memory
		off, n uint64
		advice hal.Advice
		at     *hal.Device
		kind   error
	}{
		{"no memory", nil, 0, 1, hal.AdviceReadMostly, nil, hal.ErrInvalidArgument},
		{"zero memory", new(hal.Memory), 0, 1, hal.AdviceReadMostly, nil, hal.ErrInvalidArgument},
		{"closed memory", closed, 0, 1, hal.AdviceReadMostly, nil, hal.ErrClosed},
		{"device memory", alloc(one, hal.KindDevice), 0, 1, hal.AdviceReadMostly, nil, hal.ErrUnsupported},
		{"host memory", alloc(one, hal.KindHost), 0, 1, hal.AdviceReadMostly, nil, hal.ErrUnsupported},
		{"memory of a device without the ability", alloc(bare, hal.KindShared), 0, 1, hal.AdviceReadMostly, nil, hal.ErrUnsupported},
		{"no advice", m, 0, 1, 0, nil, hal.ErrInvalidArgument},
		{"unknown advice", m, 0, 1, hal.AdviceNotAccessedBy + 1, nil, hal.ErrInvalidArgument},
		{"read-mostly at a device", m, 0, 1, hal.AdviceReadMostly, one, hal.ErrInvalidArgument},
		{"not read-mostly at a device", m, 0, 1, hal.AdviceNotReadMostly, one, hal.ErrInvalidArgument},
		{"not preferred at a device", m, 0, 1, hal.AdviceNotPreferred, one, hal.ErrInvalidArgument},
		{"zero device", m, 0, 1, hal.AdvicePreferredAt, new(hal.Device), hal.ErrInvalidArgument},
		{"closed device", m, 0, 1, hal.AdvicePreferredAt, gone, hal.ErrClosed},
		{"another backend's device", m, 0, 1, hal.AdvicePreferredAt, far, hal.ErrWrongDevice},
		{"a device without the ability", m, 0, 1, hal.AdviceAccessedBy, bare, hal.ErrUnsupported},
		{"past the end", m, 1, 100, hal.AdviceReadMostly, nil, hal.ErrOutOfRange},
		{"beyond the end", m, 101, 0, hal.AdviceReadMostly, nil, hal.ErrOutOfRange},
		{"more than there are", m, 1, ^uint64(0), hal.AdviceReadMostly, nil, hal.ErrOutOfRange},
	} {
		require.ErrorIs(t, c.mem.Advise(c.off, c.n, c.advice, c.at), c.kind, c.what)
	}
	require.Empty(t, *got, "what the driver was told")
}

func TestAdviceHasNames(t *testing.T) {
	seen := map[string]bool{}
	for a := hal.AdviceReadMostly; a <= hal.AdviceNotAccessedBy; a++ {
		require.False(t, a.String() == "" || seen[a.String()], "%d", a)
		seen[a.String()] = true
	}
	require.Equal(t, "advice(0)", hal.Advice(0).String())
	require.Equal(t, "advice(7)", (hal.AdviceNotAccessedBy + 1).String())
}
