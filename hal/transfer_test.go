package hal_test

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/hal"
)

// Reads and writes do not wait for what stands on the device's copy streams, as buffers put it there.
func TestReadAndWriteWaitForNothingElse(t *testing.T) {
	d := openHost(t, 1, 1)
	m, other := newMemory(t, d, 4), newMemory(t, d, 4)
	for _, out := range []bool{false, true} {
		s, err := d.CopyStream(out)
		require.NoError(t, err)
		g, err := s.Gate()
		require.NoError(t, err)
		require.NoError(t, s.Fill(other.All(), hal.Zero))
		defer g.Signal()
	}
	require.NoError(t, d.Write(ctx, m.All(), []byte{1, 2, 3, 4}))
	got := make([]byte, 4)
	require.NoError(t, d.Read(ctx, got, m.All()))
	require.Equal(t, []byte{1, 2, 3, 4}, got)
}

// The error of work on a copy stream is for those who put it there.
func TestReadDoesNotReturnOthersErrors(t *testing.T) {
	b := newCounting("read")
	d := openCounting(t, b)
	m, err := d.Alloc(hal.KindDevice, 4, 0)
	require.NoError(t, err)
	s, err := d.CopyStream(true)
	require.NoError(t, err)
	*b.stream.Data.(*error) = errWork
	require.NoError(t, d.Write(ctx, m.All(), []byte{1, 2, 3, 4}))
	require.NoError(t, d.Read(ctx, make([]byte, 4), m.All()))
	require.ErrorIs(t, s.Sync(ctx), errWork)
	require.NoError(t, m.Close())
	require.NoError(t, d.Close())
}

// Calls that are given up, or come at once, share few streams and lose none.
func TestReadsShareFewStreams(t *testing.T) {
	d := openHost(t, 1, 1)
	m := newMemory(t, d, 1<<20)
	gone, cancel := context.WithCancel(ctx)
	cancel()
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			bytes := make([]byte, 1<<20)
			for range 20 {
				if err := d.Write(ctx, m.All(), bytes); err != nil {
					t.Error(err)
				}
				if err := d.Read(givesUp(3), bytes, m.All()); err != nil {
					bytes = make([]byte, 1<<20) // the copy goes on
				}
				if err := d.Read(gone, bytes, m.All()); err == nil {
					t.Error("read after the end of its context")
				}
			}
		})
	}
	wg.Wait()
	require.NoError(t, d.Read(ctx, make([]byte, 1<<20), m.All()))
}
