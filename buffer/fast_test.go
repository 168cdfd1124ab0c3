package buffer_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/protocol"
	"github.com/go-halyard/halyard/internal/testing/fixture"
)

// Accesses that take a shortcut do what those do that take the whole path: the same states, the same bytes moved, the same errors, the same contents.
func TestShortcutsChangeNothing(t *testing.T) {
	t.Cleanup(func() { buffer.SetShortcuts(true) })
	fast := 0
	for seed := range uint64(40) {
		buffer.SetShortcuts(true)
		short, n := story(t, seed)
		fast += n
		buffer.SetShortcuts(false)
		whole, _ := story(t, seed)
		for i := range whole {
			require.Equal(t, whole[i], short[i], "seed %d", seed)
		}
	}
	require.Greater(t, fast, 1000, "accesses for which there is a shortcut")
}

// story makes random accesses, and returns what can be seen of each, and the number of accesses for which there was a shortcut.
func story(t *testing.T, seed uint64) (lines []string, fast int) {
	rng := rand.New(rand.NewPCG(seed, 4))
	f := newFaulty(host.Options{Name: "story", Discrete: 2})
	f.linked = seed%2 == 0
	var streams []*hal.Stream
	for i := range 3 {
		d := fixture.Device(t, f, i)
		streams = append(streams, newStream(t, d), newStream(t, d))
	}
	const n = 8
	list := []*buffer.Buffer[uint32]{newBuffer(t, make([]uint32, n)), newBuffer(t, make([]uint32, n))}
	modes := []coherence.Mode{coherence.Read, coherence.ReadWrite, coherence.Overwrite}
	s := streams[0]
	for step := range 300 {
		if rng.IntN(4) == 0 {
			s = streams[rng.IntN(len(streams))] // else an access often repeats the one before
		}
		which, mode, v := rng.IntN(2), modes[rng.IntN(3)], uint32(step)
		b, part := list[which], list[which]
		if rng.IntN(3) == 0 {
			lo := rng.IntN(n)
			part = cut(t, b, lo, lo+1+rng.IntN(n-lo))
		}
		if seed%4 == 3 && rng.IntN(16) == 0 {
			f.fail([]string{"CopyIn", "CopyOut", "Copy", "Fill"}[rng.IntN(4)], 1)
		}
		what := rng.IntN(14)
		if what < 8 && buffer.Repeats(b, s, protocol.Read) {
			fast++
		}
		var err error
		switch {
		case what < 4:
			var l buffer.Lease
			if l, err = part.Acquire(ctx, s, mode); err == nil {
				if mode != coherence.Read {
					require.NoError(t, s.Fill(l.Region(), hal.Pattern32(v)))
				}
				require.NoError(t, l.Release())
			}
		case what < 5:
			err = part.FillOn(ctx, s, v)
		case what < 8:
			other := list[1-which]
			var l buffer.Leases
			if l, err = buffer.AcquireAll(ctx, s, b.Want(coherence.Read), other.Want(coherence.Overwrite)); err == nil {
				require.NoError(t, s.Copy(l.At(1).Region(), l.At(0).Region()))
				require.NoError(t, l.Release())
			}
		case what < 9:
			err = part.View(ctx, func(x []uint32) error { lines = append(lines, fmt.Sprint(x)); return nil })
		case what < 10:
			err = part.Update(ctx, func(x []uint32) error { x[0] += v; return nil })
		case what < 11:
			err = part.Fill(ctx, v)
		case what < 12:
			err = b.Evict(ctx, s.Device())
		default: // several parts of one buffer, with different modes
			var l buffer.Leases
			wants := []buffer.Want{cut(t, b, 0, 3).Want(coherence.Read), cut(t, b, 2, 5).Want(mode), cut(t, b, 6, n).Want(coherence.Overwrite), list[1-which].Want(coherence.Read)}
			acquire := buffer.AcquireAll
			if v%2 == 0 {
				acquire = buffer.ReserveAll
			}
			if l, err = acquire(ctx, s, wants...); err == nil {
				if mode != coherence.Read {
					require.NoError(t, s.Fill(l.At(1).Region(), hal.Pattern32(v)))
				}
				require.NoError(t, s.Fill(l.At(2).Region(), hal.Pattern32(v+1)))
				require.NoError(t, l.Commit())
				require.NoError(t, l.Release())
			}
		}
		_ = s.Sync(ctx) // so that whether a failure is known does not depend on time
		if err == nil {
			lines = append(lines, fmt.Sprintf("%d: %d, %v, %+v", step, what, b.State(), b.Stats()))
		} else {
			lines = append(lines, fmt.Sprintf("%d: %d, %v, %v, %+v", step, what, err, b.State(), b.Stats()))
		}
	}
	return lines, fast
}
