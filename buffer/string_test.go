package buffer_test

import (
	"fmt"
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
	require.Equal(t, "event on prints:1", fmt.Sprint(e), "closed")
}
