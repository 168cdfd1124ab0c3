package buffer_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/testing/fixture"
	"github.com/go-halyard/halyard/internal/testing/hooked"
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

// What the host has written outside an access counts if the host was current. It is never overwritten with stale bytes without a word.
func TestMarkedWriteOfTheHost(t *testing.T) {
	d := openMany(t, "one", 1, 1)[0]
	s := newStream(t, d)
	data := []uint32{1, 2, 3, 4}
	b, err := buffer.AdoptSlice(data, nil)
	require.NoError(t, err)
	require.NoError(t, b.SyncTo(ctx, d))
	g := hold(t, s)
	l, err := b.TryAcquire(s, coherence.Read)
	require.NoError(t, err)
	require.ErrorIs(t, b.MarkHostModified(), hal.ErrBusy, "a lease is open")
	require.NoError(t, l.Release())
	require.NoError(t, b.MarkHostModified(), "the device's stale bytes may still be read")
	require.Equal(t, "HOST_DIRTY", b.State().Name)
	require.NoError(t, g.Signal())

	copy(data, []uint32{5, 6})
	require.NoError(t, b.MarkHostModified())
	require.NoError(t, b.SyncTo(ctx, d))
	require.NoError(t, b.Evict(ctx, d))
	require.Equal(t, []uint32{5, 6, 3, 4}, contents(t, b))

	g = hold(t, s)
	require.NoError(t, b.FillOn(ctx, s, 9))
	data[0] = 77
	before := b.State()
	require.ErrorIs(t, b.MarkHostModified(), coherence.ErrConflict, "the device has newer bytes")
	require.Equal(t, before, b.State())
	dst, err := b.Slice(0, 1)
	require.NoError(t, err)
	require.ErrorIs(t, dst.MarkHostModified(), coherence.ErrConflict)
	require.NoError(t, g.Signal())
	require.Equal(t, []uint32{9, 9, 9, 9}, contents(t, b))
	require.NoError(t, b.Freeze())
	require.ErrorIs(t, b.MarkHostModified(), buffer.ErrFrozen)
	require.NoError(t, b.Close())
	require.ErrorIs(t, b.MarkHostModified(), hal.ErrClosed)
	require.ErrorIs(t, (*buffer.Buffer[uint32])(nil).MarkHostModified(), hal.ErrInvalidArgument)
}

// On a device that works on the host's memory, work under way may write what the host says it has written, or read it.
func TestMarkedWriteOfTheHostBesideAUnifiedDevice(t *testing.T) {
	d := openMany(t, "one", 0, 0)[0]
	s := newStream(t, d)
	b, err := buffer.New[uint32](4)
	require.NoError(t, err)
	g := hold(t, s)
	require.NoError(t, b.FillOn(ctx, s, 9))
	require.ErrorIs(t, b.MarkHostModified(), hal.ErrNotReady)
	require.NoError(t, g.Signal())
	require.NoError(t, b.SyncTo(ctx, nil))
	g = hold(t, s)
	l, err := b.TryAcquire(s, coherence.Read)
	require.NoError(t, err)
	require.NoError(t, l.Release())
	require.NoError(t, b.MarkHostModified())
	later := newStream(t, d)
	require.NoError(t, b.FillOn(ctx, later, 8))
	done, err := later.Done()
	require.NoError(t, err)
	require.False(t, done, "a later writer has overtaken the reader")
	require.NoError(t, g.Signal())
	require.Equal(t, []uint32{8, 8, 8, 8}, contents(t, b))
	require.NoError(t, b.Close())
}

// ending is a context that ends when somebody waits for its end.
type ending struct {
	context.Context
	ended atomic.Bool
}

func (c *ending) Done() <-chan struct{} {
	c.ended.Store(true)
	done := make(chan struct{})
	close(done)
	return done
}

func (c *ending) Err() error {
	if c.ended.Load() {
		return context.Canceled
	}
	return nil
}

// After SyncTo the program may write without a lease, so earlier work that still reads the elements there has to end first.
func TestSyncToWaitsForReaders(t *testing.T) {
	unified, discrete := openMany(t, "one", 0, 0)[0], openMany(t, "two", 1, 1)[0]
	for name, row := range map[string]struct{ reader, writer *hal.Device }{
		"host and copy from it":     {discrete, nil},
		"host and unified device":   {unified, nil},
		"device and another stream": {discrete, discrete},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStream(t, row.reader)
			data := []uint32{1, 2, 3, 4}
			b, err := buffer.AdoptSlice(data, nil)
			require.NoError(t, err)
			if row.writer != nil {
				require.NoError(t, b.SyncTo(ctx, row.writer))
			}
			out := make([]byte, 4)
			g := hold(t, s)
			l, err := b.TryAcquire(s, coherence.Read)
			require.NoError(t, err)
			first, err := l.Region().Sub(0, 4)
			require.NoError(t, err)
			require.NoError(t, s.CopyOut(out, first))
			require.NoError(t, l.Release())
			require.ErrorIs(t, b.SyncTo(&ending{Context: ctx}, row.writer), context.Canceled, "the work has not ended")
			require.NoError(t, g.Signal())
			require.NoError(t, b.SyncTo(ctx, row.writer))
			if row.writer == nil {
				data[0] = 5
				require.NoError(t, b.MarkHostModified())
			}
			require.NoError(t, s.Sync(ctx))
			require.Equal(t, []byte{1, 0, 0, 0}, out)
			require.NoError(t, b.Close())
		})
	}
}

// A binding can hold buffers of any type as such an interface of its own.
var _ interface {
	State() buffer.State
	Stats() buffer.Stats
	Size() uint64
	Want(mode coherence.Mode) buffer.Want
	SyncTo(ctx context.Context, dev *hal.Device) error
	Acquire(ctx context.Context, s *hal.Stream, mode coherence.Mode) (buffer.Lease, error)
	AcquireHost(ctx context.Context, mode coherence.Mode) (buffer.HostLease, error)
	Memory(dev *hal.Device) (hal.Region, error)
	MarkModified(s *hal.Stream) error
	MarkHostModified() error
	Evict(ctx context.Context, dev *hal.Device) error
	Close() error
} = (*buffer.Buffer[uint32])(nil)

// A device that shares the host's memory has a replica of its own if there was no page-locked memory at its first access. Memory is that
// replica's, and not that of the host, which is page-locked later.
func TestMemoryIsThatOfTheReplica(t *testing.T) {
	fails := 0
	f := &hooked.Backend{Backend: host.New(host.Options{Name: "short"})}
	f.Call = func(op string, _ int) error {
		if fails > 0 && op == "Alloc" {
			fails--
			return hal.Errorf(op, hal.ErrDriver, "not now")
		}
		return nil
	}
	d := fixture.Device(t, f, 0)
	s := newStream(t, d)
	b, err := buffer.New[uint32](4, buffer.WithPinnedHost(d))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	fails = 1
	use(t, b, s, coherence.Read)
	require.NoError(t, b.Fill(ctx, 3))
	require.NoError(t, b.SyncTo(ctx, d))
	m, err := b.Memory(d)
	require.NoError(t, err)
	require.NoError(t, s.Fill(m, hal.Pattern32(7)))
	require.NoError(t, b.MarkModified(s))
	require.Equal(t, []uint32{7, 7, 7, 7}, contents(t, b))
}
