package hal

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

func (t *exposures) depth() int {
	if t == nil {
		return 0
	}
	return 1 + max(t.left.depth(), t.right.depth())
}

// Memories are found by the bytes that they have, however many come and go and overlap.
func TestExposuresAreFound(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	var tree *exposures
	var all []*exposure
	for range 3000 {
		if len(all) > 200 || len(all) > 0 && rnd.IntN(3) == 0 {
			i := rnd.IntN(len(all))
			tree = tree.remove(all[i])
			all[i] = all[len(all)-1]
			all = all[:len(all)-1]
		} else {
			start := uintptr(1 + rnd.IntN(5000))
			x := &exposure{start: start, end: start + uintptr(1+rnd.IntN(60)), mem: new(memoryState), rank: rnd.Uint64()}
			tree.cross(x)
			tree = tree.insert(x)
			for _, y := range all {
				if x.start < y.end && y.start < x.end {
					require.True(t, x.crossed.Load())
					require.True(t, y.crossed.Load())
				}
			}
			all = append(all, x)
		}
		st := new(streamState)
		start := uintptr(1 + rnd.IntN(5000))
		end := start + uintptr(1+rnd.IntN(30))
		tree.note(st, start, end)
		for _, x := range all {
			require.Equal(t, x.start < end && start < x.end, x.mem.last.Load() == st)
		}
	}
	for _, x := range all {
		tree = tree.remove(x)
	}
	require.Nil(t, tree)
}

// To find one, and to add one, takes a few steps among many.
func TestExposuresAreFoundInFewSteps(t *testing.T) {
	var tree *exposures
	for i := range uintptr(1 << 14) {
		tree = tree.insert(&exposure{start: i * 64, end: i*64 + 64, rank: rand.Uint64()})
	}
	require.Less(t, tree.depth(), 4*14)
	x := tree.exposure
	require.Less(t, testing.AllocsPerRun(100, func() { tree.remove(x) }), 4.*14)
}

// What a stream has found by its bytes it finds again without looking, until the memory is hidden, or another is found to
// have the same bytes.
func TestExposureIsRemembered(t *testing.T) {
	x := &exposure{start: 100, end: 200}
	require.True(t, x.has(100, 200))
	require.False(t, x.has(99, 200))
	require.False(t, x.has(100, 201))
	tree := (*exposures)(nil).insert(x)
	tree.cross(&exposure{start: 200, end: 300})
	require.True(t, x.has(100, 200))
	tree.cross(&exposure{start: 199, end: 300})
	require.False(t, x.has(100, 200))
}

// BenchmarkExposures exposes and hides one more memory, and looks for bytes of no memory, while n are exposed.
func BenchmarkExposures(b *testing.B) {
	for _, n := range []int{0, 100, 1000, 10000, 100000} {
		bytes := make([]byte, 64*(n+2))
		at := func(i int) unsafe.Pointer { return unsafe.Pointer(&bytes[64*i]) }
		all := make([]memoryState, n+1)
		for i := range all {
			all[i].size = 64
			if i < n {
				all[i].expose(at(i))
			}
		}
		b.Run(fmt.Sprintf("Expose/%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				all[n].expose(at(n))
				all[n].hide()
			}
		})
		b.Run(fmt.Sprintf("Look/%d", n), func(b *testing.B) {
			var st streamState
			for b.Loop() {
				st.noteBytes(at(n+1), 4)
			}
		})
		for i := range all {
			all[i].hide()
		}
	}
	require.Nil(b, exposed.tree.Load())
}
