package buffer_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/testing/fixture"
)

// Printing a value says what it is, open, closed or zero.
func TestValuesPrintWhatTheyAre(t *testing.T) {
	d := openMany(t, "prints", 1, 1)[0]
	s := newStream(t, d)
	b := newBuffer(t, make([]float32, 100))
	l, err := b.TryAcquire(s, coherence.ReadWrite)
	require.NoError(t, err)
	m := fixture.Memory(t, d, 64)
	e, err := s.Record()
	require.NoError(t, err)
	g := fixture.Gate(t, s)
	none := buffer.Buffer[float32]{}
	for _, row := range []struct {
		value any
		want  string
	}{
		{d, "prints:1 (" + d.Info().Model + ")"},
		{s, "stream on prints:1"},
		{m, "device memory of 64 bytes on prints:1"},
		{m.Region(8, 16), "{device memory of 64 bytes on prints:1 8 16}"},
		{e, "event on prints:1"},
		{g, "gate on prints:1"},
		{b, "buffer of 100 float32"},
		{l, "lease of bytes [0, 400)"},
		{b.State(), "DEVICE_DIRTY, version 2: host not current, prints:1 current"},
		{(*hal.Device)(nil), "no device"},
		{&hal.Stream{}, "no stream"},
		{(*hal.Memory)(nil), "no memory"},
		{&hal.Event{}, "no event"},
		{(*hal.Gate)(nil), "no gate"},
		{&hal.Module{}, "no module"},
		{(*hal.Kernel)(nil), "no kernel"},
		{&none, "no buffer of float32"},
		{buffer.Lease{}, "no lease"},
	} {
		require.Equal(t, row.want, fmt.Sprint(row.value))
	}
	require.NoError(t, l.Release())
	require.NoError(t, e.Close())
	require.NoError(t, b.Close())
	require.Equal(t, "closed buffer of 100 float32", fmt.Sprint(b))
	require.Equal(t, "event on prints:1", fmt.Sprint(e), "closed")
}

// A buffer whose elements are current in parts says so, and where the parts are: a program that fills what is UNINITIALIZED would destroy
// data.
func TestStateOfParts(t *testing.T) {
	devs := openMany(t, "parts", 2, 1, 2)
	b, err := buffer.New[float32](8)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	require.Equal(t, "UNINITIALIZED, version 0: host without memory", b.State().String())
	write := func(dev *hal.Device, lo, hi int) {
		part, err := b.Slice(lo, hi)
		require.NoError(t, err)
		l, err := part.TryAcquire(newStream(t, dev), coherence.Overwrite)
		require.NoError(t, err)
		require.NoError(t, l.Release())
		require.Equal(t, b.State().Version, part.Version(dev), "the part has the newest version")
	}
	write(devs[0], 0, 4)
	require.Equal(t, "PARTIAL, version 1: host without memory, parts:1 not current: [0, 4) at parts:1, [4, 8) not written", b.State().String())
	write(devs[1], 4, 8)
	require.Equal(t, "DISTRIBUTED, version 2: host without memory, parts:1 not current, parts:2 not current: [0, 4) at parts:1, "+
		"[4, 8) at parts:2", b.State().String())
	part, err := b.Slice(2, 6)
	require.NoError(t, err)
	require.True(t, strings.HasSuffix(part.State().String(), ": [0, 2) at parts:1, [2, 4) at parts:2"), "counted from the slice's beginning: %s", part.State())
	first, err := b.Slice(0, 4)
	require.NoError(t, err)
	require.Equal(t, "DEVICE_ONLY", first.State().Name)
	require.NotContains(t, first.State().String(), "[", "no parts")
	require.NoError(t, first.Reset())
	require.Equal(t, "UNINITIALIZED", first.State().Name)
	require.Equal(t, "PARTIAL", b.State().Name)
}

// Elements that a failure has lost were written, so they are not UNINITIALIZED.
func TestStateOfLostElements(t *testing.T) {
	d := openMany(t, "lost", 1, 1)[0]
	b, err := buffer.New[uint32](8)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	half, err := b.Slice(0, 4)
	require.NoError(t, err)
	l, err := half.TryAcquire(newStream(t, d), coherence.Overwrite)
	require.NoError(t, err)
	require.NoError(t, l.ReleaseChecked(func() error { return errors.New("wrong") }))
	require.ErrorIs(t, half.View(ctx, func([]uint32) error { return nil }), hal.ErrDeviceLost)
	require.Equal(t, "LOST", half.State().Name)
	require.Equal(t, "LOST", b.State().Name)
	require.Contains(t, b.State().String(), ": [0, 4) lost, [4, 8) not written")
}
