package buffer_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
)

// Earlier work on the elements may not have ended when MarkModified is called. What comes later waits for it, too.
func TestMarkedWriteKeepsEarlierWork(t *testing.T) {
	for name, row := range map[string]struct {
		mode   coherence.Mode
		lo, hi int // elements of the earlier work
		want   []uint32
	}{
		"write of other elements": {coherence.ReadWrite, 2, 4, []uint32{55, 55, 99, 99}},
		"read":                    {coherence.Read, 0, 4, []uint32{55, 55, 3, 4}},
		"read of other elements":  {coherence.Read, 2, 4, []uint32{55, 55, 3, 4}},
	} {
		for place, d := range map[string]*hal.Device{"unified": openMany(t, "one", 0, 0)[0], "discrete": openMany(t, "one", 1, 1)[0]} {
			t.Run(name+", "+place, func(t *testing.T) {
				s, u, later := newStream(t, d), newStream(t, d), newStream(t, d)
				b := newBuffer(t, []uint32{1, 2, 3, 4})
				require.NoError(t, b.SyncTo(ctx, d))
				mem, err := b.Memory(d)
				require.NoError(t, err)

				g := hold(t, u)
				part, err := b.Slice(row.lo, row.hi)
				require.NoError(t, err)
				l, err := part.TryAcquire(u, row.mode)
				require.NoError(t, err)
				if row.mode != coherence.Read {
					require.NoError(t, u.Fill(l.Region(), hal.Pattern32(99)))
				}
				require.NoError(t, l.Release())
				first, err := mem.Sub(0, 8)
				require.NoError(t, err)
				require.NoError(t, s.Fill(first, hal.Pattern32(55)))
				require.NoError(t, b.MarkModified(s))

				l, err = b.TryAcquire(later, coherence.ReadWrite)
				require.NoError(t, err)
				require.NoError(t, l.Release())
				done, err := later.Done()
				require.NoError(t, err)
				require.False(t, done, "a later writer has overtaken the earlier work")
				require.NoError(t, g.Signal())
				require.Equal(t, row.want, contents(t, b))
			})
		}
	}
}
