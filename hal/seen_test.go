package hal

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// at is an address in a room of bytes that stays where it is.
func at(room []byte, i int) unsafe.Pointer { return unsafe.Pointer(&room[i]) }

// Memories are found by the bytes that they have, however many come and go and overlap.
func TestSeenMemoriesAreFound(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	room := onHeap(6000)
	type shown struct {
		mem        *memoryState
		start, end int
	}
	var all []shown
	for range 3000 {
		if len(all) > 200 || len(all) > 0 && rnd.IntN(3) == 0 {
			i := rnd.IntN(len(all))
			all[i].mem.hideBytes()
			all[i] = all[len(all)-1]
			all = all[:len(all)-1]
		} else {
			x := shown{mem: new(memoryState), start: rnd.IntN(5000)}
			x.mem.Size = uint64(1 + rnd.IntN(60))
			x.end = x.start + int(x.mem.Size)
			x.mem.showBytes(at(room, x.start))
			for _, y := range all {
				if x.start < y.end && y.start < x.end {
					require.True(t, x.mem.view.Load().shared.Load())
					require.True(t, y.mem.view.Load().shared.Load())
				}
			}
			all = append(all, x)
		}
		st := new(streamState)
		start := rnd.IntN(5000)
		end := start + 1 + rnd.IntN(30)
		st.noteBytes(at(room, start), uint64(end-start))
		for _, x := range all {
			require.Equal(t, x.start < end && start < x.end, x.mem.Last() == &st.User)
		}
	}
	for _, x := range all {
		x.mem.hideBytes()
	}
	require.False(t, seen.any.Load())
}

// To find one, and to add one, takes a few steps among many.
func TestSeenMemoriesAreFoundInFewSteps(t *testing.T) {
	const many = 1 << 14
	room := onHeap(64 * many)
	all := make([]memoryState, many)
	defer func() {
		for i := range all {
			all[i].hideBytes()
		}
	}()
	for i := range all {
		all[i].Size = 64
		before := seen.tree.Steps()
		all[i].showBytes(at(room, 64*i))
		require.Less(t, seen.tree.Steps()-before, 10*14)
	}
	var st streamState
	before := seen.tree.Steps()
	require.Zero(t, testing.AllocsPerRun(100, func() { st.noteBytes(at(room, 64*7+8), 16) }))
	st.noteBytes(at(room, 64*9-1), 2)
	require.Less(t, seen.tree.Steps()-before, 2*4*14)
}

// What a stream has found by its bytes it finds again without looking, until the memory is hidden, or another is found to
// have the same bytes.
func TestSeenMemoryIsRemembered(t *testing.T) {
	room := onHeap(300)
	var a, b, c memoryState
	a.Size, b.Size, c.Size = 100, 100, 101
	a.showBytes(at(room, 100))
	v := a.view.Load()
	require.True(t, v.alone(v.Lo, v.Hi))
	require.False(t, v.alone(v.Lo-1, v.Hi))
	require.False(t, v.alone(v.Lo, v.Hi+1))
	b.showBytes(at(room, 200))
	require.True(t, v.alone(v.Lo, v.Hi))
	c.showBytes(at(room, 199))
	require.False(t, v.alone(v.Lo, v.Hi))
	for _, m := range []*memoryState{&a, &b, &c} {
		m.hideBytes()
	}
	require.False(t, b.view.Load() != nil || v.alone(v.Lo, v.Hi))
}

// BenchmarkSeen shows and hides the bytes of one more memory, and looks for bytes of no memory, while those of n are seen.
func BenchmarkSeen(b *testing.B) {
	for _, n := range []int{0, 100, 1000, 10000, 100000} {
		room := onHeap(64 * (n + 2))
		all := make([]memoryState, n+1)
		for i := range all {
			all[i].Size = 64
			if i < n {
				all[i].showBytes(at(room, 64*i))
			}
		}
		b.Run(fmt.Sprintf("Show/%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				all[n].showBytes(at(room, 64*n))
				all[n].hideBytes()
			}
		})
		b.Run(fmt.Sprintf("Look/%d", n), func(b *testing.B) {
			var st streamState
			for b.Loop() {
				st.noteBytes(at(room, 64*(n+1)), 4)
			}
		})
		for i := range all {
			all[i].hideBytes()
		}
	}
	require.False(b, seen.any.Load())
}

// onHeap returns memory whose address stays, as that of a stack may not.
//
//go:noinline
func onHeap(n int) []byte { return make([]byte, n) }
