//go:build opencl

package opencl

import (
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestMemoryOfPoCLIsFreedLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var freed []uintptr
		l := &lateFrees{free: func(base uintptr) { freed = append(freed, base) }}
		seen := func() []uintptr {
			l.mu.Lock()
			defer l.mu.Unlock()
			return slices.Clone(freed)
		}
		l.put(1, 100)
		time.Sleep(keepFreed / 2)
		l.put(2, 100)
		synctest.Wait()
		require.Empty(t, seen())
		time.Sleep(keepFreed / 2)
		synctest.Wait()
		require.Equal(t, []uintptr{1}, seen(), "freed when its time has passed, with no further call")
		time.Sleep(keepFreed / 2)
		synctest.Wait()
		require.Equal(t, []uintptr{1, 2}, seen())

		tries := 0
		l.put(3, 100)
		l.allocate(func() bool { tries++; return true })
		require.Equal(t, 1, tries)
		l.allocate(func() bool { tries++; return slices.Contains(freed, 3) })
		require.Equal(t, 3, tries, "a failed allocation is tried again with the memory that was kept")
		l.allocate(func() bool { tries++; return false })
		require.Equal(t, 4, tries, "and not where none was")

		l.put(4, keepFreedBytes+1)
		require.NotContains(t, seen(), uintptr(4), "the last one is kept")
		l.put(5, 1)
		require.Contains(t, seen(), uintptr(4), "too many bytes")
		l.close()
		require.Equal(t, []uintptr{1, 2, 3, 4, 5}, seen())

		freed = nil
		for i := range keepFreedBlocks + 10 {
			l.put(uintptr(i), 1)
		}
		require.Len(t, freed, 10, "too many blocks")
		require.EqualValues(t, keepFreedBlocks, l.bytes)
		l.close()
		require.Len(t, freed, keepFreedBlocks+10)
		require.Zero(t, l.bytes)
	})
}

// A free waits while an allocation is made.
func TestNoFreeBesideAnAllocation(t *testing.T) {
	var freed atomic.Bool
	l := &lateFrees{free: func(uintptr) { freed.Store(true) }}
	l.put(1, 1)
	closed := make(chan struct{})
	l.allocate(func() bool {
		go func() {
			l.close()
			close(closed)
		}()
		time.Sleep(2 * keepFreed) // for close, and for the timer
		require.False(t, freed.Load())
		return true
	})
	<-closed
	require.True(t, freed.Load())
}
