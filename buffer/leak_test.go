package buffer_test

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
)

// leaks tells how many buffers of a size were reported as leaked since.
func leaks(t *testing.T) func(description string) int {
	var mu sync.Mutex
	var seen []string
	previous := hal.SetLeakHandler(func(l hal.Leak) {
		mu.Lock()
		seen = append(seen, l.Object)
		mu.Unlock()
	})
	t.Cleanup(func() { hal.SetLeakHandler(previous) })
	return func(description string) (n int) {
		mu.Lock()
		defer mu.Unlock()
		for _, s := range seen {
			if strings.Contains(s, description) {
				n++
			}
		}
		return n
	}
}

// collected waits until something is true once the garbage has been collected.
func collected(t *testing.T, is func() bool) {
	t.Helper()
	require.Eventually(t, func() bool { runtime.GC(); return is() }, patience, tick)
}

func TestDroppedBuffersAreReportedAndGivenBack(t *testing.T) {
	const n, elems = 100, 64 << 10
	reported := leaks(t)
	d := openMany(t, "one", 1, 1)[0]
	s := newStream(t, d)
	func() {
		for range n {
			b, err := buffer.New[uint32](elems)
			require.NoError(t, err)
			use(t, b, s, coherence.ReadWrite)
		}
	}()
	require.Equal(t, n, buffer.ResidencyOf(d).Replicas+reported("buffer of 262144 bytes"))
	require.NoError(t, s.Sync(ctx))
	collected(t, func() bool { return d.Usage().Held == 0 && buffer.ResidencyOf(d).Replicas == 0 })
	require.Equal(t, n, reported("buffer of 262144 bytes"))

	// One that was closed is not reported.
	func() {
		b, err := buffer.New[uint32](3)
		require.NoError(t, err)
		use(t, b, s, coherence.ReadWrite)
		require.NoError(t, b.Close())
		_, err = buffer.New[uint32](5) // is, once the collector has come by
		require.NoError(t, err)
	}()
	collected(t, func() bool { return reported("buffer of 20 bytes") == 1 })
	require.Zero(t, reported("buffer of 12 bytes"))
}

// What is dropped behind a gate is given back once the work has ended.
func TestDroppedBufferKeepsItsMemoryUnderWork(t *testing.T) {
	reported := leaks(t)
	d := openMany(t, "one", 1, 1)[0]
	s := newStream(t, d)
	g := hold(t, s)
	func() {
		b, err := buffer.New[uint32](7)
		require.NoError(t, err)
		fill(t, s, b, 1)
	}()
	collected(t, func() bool { return reported("buffer of 28 bytes") == 1 })
	require.Equal(t, uint64(28), d.Usage().Held)
	require.NoError(t, g.Signal())
	require.Eventually(t, func() bool { return d.Usage().Held == 0 }, patience, tick)
}

// A buffer can still be used by way of what was made of it.
func TestABufferInUseIsNotReported(t *testing.T) {
	reported := leaks(t)
	s := newStream(t, openMany(t, "one", 1, 1)[0])
	anew := func(n int) *buffer.Buffer[uint32] {
		b, err := buffer.New[uint32](n)
		require.NoError(t, err)
		return b
	}
	// A collection after which another buffer was reported has seen all that could be.
	marker := 1000
	collect := func() {
		marker++
		anew(marker)
		collected(t, func() bool { return reported(size(marker)) == 1 })
	}
	slice := cut(t, anew(3), 1, 2)
	lease, err := anew(5).TryAcquire(s, coherence.ReadWrite)
	require.NoError(t, err)
	leases, err := buffer.AcquireAll(ctx, s, anew(7).Want(coherence.ReadWrite), anew(9).Want(coherence.Read))
	require.NoError(t, err)
	want := anew(11).Want(coherence.ReadWrite)
	bytes, err := buffer.Reinterpret[uint8](anew(13))
	require.NoError(t, err)
	host, err := anew(15).AcquireHost(ctx, coherence.ReadWrite)
	require.NoError(t, err)
	for range 3 {
		collect()
	}
	for _, n := range []int{3, 5, 7, 9, 11, 13, 15} {
		require.Zero(t, reported(size(n)), "%d elements", n)
	}
	require.NoError(t, slice.Fill(ctx, 1))
	require.NoError(t, s.Fill(lease.Region(), hal.Pattern32(1)))
	require.NoError(t, lease.Release())
	require.NoError(t, leases.Release())
	l, err := buffer.AcquireAll(ctx, s, want)
	require.NoError(t, err)
	require.NoError(t, l.Release())
	require.NoError(t, bytes.Fill(ctx, 1))
	require.NoError(t, host.Release())
	collected(t, func() bool {
		for _, n := range []int{3, 5, 7, 9, 11, 13, 15} {
			if reported(size(n)) == 0 {
				return false
			}
		}
		return true
	})
}

func size(n int) string { return fmt.Sprintf("buffer of %d bytes", 4*n) }
