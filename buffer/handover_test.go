package buffer_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/testing/fixture"
	"github.com/go-halyard/halyard/internal/testing/hooked"
)

// These are tests of memory that host and device take turns with, where the order of the two is not a matter of bytes.

// marks knows which events were recorded behind a hand-over, on its stream.
type marks struct {
	mu     sync.Mutex
	on     *hooked.Stream // of the hand-over, nil before it
	behind map[*hooked.Event]bool
	waits  []*hooked.Stream // streams other than on that were made to wait for such an event
}

// markEvents makes the backend note in the result what is recorded and waited for behind a hand-over.
func markEvents(b *hooked.Backend) *marks {
	m := &marks{behind: map[*hooked.Event]bool{}}
	b.Record = func(s *hooked.Stream, e *hooked.Event) error {
		m.mu.Lock()
		m.behind[e] = s == m.on
		m.mu.Unlock()
		return s.Stream.Record(e.Event)
	}
	b.Wait = func(s *hooked.Stream, e *hooked.Event) error {
		m.mu.Lock()
		if m.behind[e] && s != m.on {
			m.waits = append(m.waits, s)
		}
		m.mu.Unlock()
		return s.Stream.Wait(e.Event)
	}
	return m
}

func (m *marks) handOver(s *hooked.Stream) {
	m.mu.Lock()
	m.on = s
	m.mu.Unlock()
}

func (m *marks) isBehind(e *hooked.Event) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.behind[e]
}

// waited is the number of times that a stream was made to wait for a hand-over.
func (m *marks) waited() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.waits)
}

// onTurns opens a device of the backend, and makes a buffer in memory that the device and the host take turns with. The second stream is
// one more of the device's.
func onTurns(t *testing.T, b driver.Backend) (s, second *hal.Stream, x, low, high *buffer.Buffer[uint32]) {
	t.Helper()
	d := fixture.Device(t, b, 1)
	s, second = newStream(t, d), newStream(t, d)
	x, err := buffer.New[uint32](8)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, x.Close()) })
	fill(t, s, x, 1)
	require.NoError(t, s.Sync(ctx))
	low, err = x.Slice(0, 4)
	require.NoError(t, err)
	high, err = x.Slice(4, 8)
	require.NoError(t, err)
	return s, second, x, low, high
}

// A waiting access of one side keeps later accesses of the other from overtaking it, though they share no byte with it: otherwise a
// steady flow of them could keep it waiting for ever.
func TestNobodyIsOvertakenInTurns(t *testing.T) {
	for _, c := range []struct {
		name    string
		mode    coherence.Mode // of the device's accesses
		waiting func(*buffer.Buffer[uint32]) error
		waits   string // what waiting does
		low     uint32 // afterwards
	}{
		{
			"a reader of the device behind a writer of the host", coherence.Read,
			func(b *buffer.Buffer[uint32]) error { return b.Fill(ctx, 2) }, "Overwrite", 2,
		},
		{
			"a writer of the device behind a reader of the host", coherence.ReadWrite,
			func(b *buffer.Buffer[uint32]) error { return b.View(ctx, nothing) }, "Read", 1,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, _, b, low, high := onTurns(t, newTurns())
			held, err := low.TryAcquire(s, c.mode)
			require.NoError(t, err)
			done := make(chan error, 1)
			go func() { done <- c.waiting(low) }()
			require.Eventually(t, func() bool { return buffer.Waiting(b) == 1 }, patience, tick)
			later, err := high.TryAcquire(s, c.mode)
			if err == nil {
				require.NoError(t, later.Release())
			}
			var conflict *buffer.ConflictError
			require.ErrorAs(t, err, &conflict)
			require.Equal(t, c.waits, conflict.Holder.Action)
			require.Equal(t, "host", conflict.Holder.Place, "though it only waits, and shares no byte")
			require.NoError(t, held.Release())
			require.NoError(t, <-done)
			later, err = high.TryAcquire(s, c.mode)
			require.NoError(t, err, "its turn has come")
			require.NoError(t, later.Release())
			require.Equal(t, []uint32{c.low, c.low, c.low, c.low, 1, 1, 1, 1}, contents(t, b))
		})
	}
}

// The host reads mapped memory once the mapping has ended, and not when it has been enqueued. Here the mapping is held until somebody asks
// for its end.
func TestHostWaitsForTheMappingInTurns(t *testing.T) {
	backend := newTurns()
	m := markEvents(backend)
	var gate driver.Gate
	mapNow := backend.Map
	backend.Map = func(s *hooked.Stream, mem *hooked.Memory, write bool) (err error) {
		if gate == nil {
			m.handOver(s)
			if gate, err = s.PlainGate(); err != nil {
				return err
			}
		}
		return mapNow(s, mem, write)
	}
	var once sync.Once
	open := func() { once.Do(func() { assert.NoError(t, gate.Open()) }) }
	backend.QueryEvent = func(e *hooked.Event) (bool, error) {
		if m.isBehind(e) {
			open()
		}
		return e.Event.Query()
	}
	backend.SyncEvent = func(e *hooked.Event) error {
		if m.isBehind(e) {
			open()
		}
		return e.Event.Sync()
	}
	s, _, b, _, _ := onTurns(t, backend)
	fill(t, s, b, 7)
	require.NoError(t, s.Sync(ctx))
	got := contents(t, b)
	open()
	require.Equal(t, []uint32{7, 7, 7, 7, 7, 7, 7, 7}, got)
}

// When the host has only read, giving the memory back changes no byte. Still no work of the device may overtake it.
func TestWorkWaitsForTheHandBackInTurns(t *testing.T) {
	backend := newTurns()
	m := markEvents(backend)
	unmapNow := backend.Unmap
	backend.Unmap = func(s *hooked.Stream, mem *hooked.Memory) error {
		m.handOver(s)
		return unmapNow(s, mem)
	}
	s, second, b, low, high := onTurns(t, backend)
	reading, err := low.TryAcquire(s, coherence.Read) // so that the host takes its turn for reading only
	require.NoError(t, err)
	require.NoError(t, b.View(ctx, nothing))
	require.NoError(t, reading.Release())
	require.NoError(t, s.Sync(ctx))
	gate := fixture.Gate(t, s)
	first, err := low.TryAcquire(s, coherence.ReadWrite)
	require.NoError(t, err)
	require.Zero(t, m.waited())
	l, err := high.TryAcquire(second, coherence.ReadWrite)
	require.NoError(t, err)
	require.Equal(t, 1, m.waited(), "the second stream waits for the first to give the memory back")
	require.NoError(t, l.Release())
	require.NoError(t, first.Release())
	require.NoError(t, gate.Signal())
}

// The same goes for memory that is given back because mapping it has failed.
func TestWorkWaitsForTheHandBackInTurnsAfterAFailure(t *testing.T) {
	f := newFaulty(host.Options{Name: "failing turns", Discrete: 1})
	takeTurns(&f.Backend)
	recordFaulty := f.Record
	m := markEvents(&f.Backend)
	record := f.Record
	f.Record = func(s *hooked.Stream, e *hooked.Event) error {
		if err := record(s, e); err != nil {
			return err
		}
		return recordFaulty(s, e)
	}
	unmapNow := f.Unmap
	var gate driver.Gate
	opened := false
	open := func() {
		if !opened && gate != nil {
			assert.NoError(t, gate.Open())
		}
		opened = true
	}
	f.Unmap = func(s *hooked.Stream, mem *hooked.Memory) (err error) {
		if gate == nil && !opened {
			m.handOver(s)
			if gate, err = s.PlainGate(); err != nil {
				return err
			}
		}
		return unmapNow(s, mem)
	}
	s, _, b, _, _ := onTurns(t, f)
	t.Cleanup(open)
	f.fail("CopyOut", 1) // which is how the mapping is done
	require.ErrorIs(t, b.View(ctx, nothing), errLate)
	l, err := b.TryAcquire(s, coherence.Overwrite)
	require.NoError(t, err)
	require.Equal(t, 1, m.waited())
	open()
	require.NoError(t, s.Fill(l.Region(), hal.Pattern32(3)))
	require.NoError(t, l.Release())
	require.Equal(t, []uint32{3, 3, 3, 3, 3, 3, 3, 3}, contents(t, b))
}

// Giving memory back to the device counts as a write of all its bytes. If a copy that wrote some of them before turns out to have failed,
// that is not forgotten, and the other bytes are not lost.
func TestFailureBeforeTheHandBackInTurnsIsKept(t *testing.T) {
	f, devs := openFaulty(t, 1)
	s, _, b, _, high := onTurns(t, newTurns())
	other := newStream(t, devs[0])
	fill(t, other, high, 2) // current on the other device only
	require.NoError(t, other.Sync(ctx))
	out, err := devs[0].CopyStream(true)
	require.NoError(t, err)
	gate := fixture.Gate(t, out)
	f.fail("CopyOut", 1)
	require.NoError(t, high.Prefetch(s)) // the copy to the host's memory, and then the hand-back
	require.NoError(t, gate.Signal())
	require.ErrorIs(t, high.View(ctx, nothing), errLate)
	require.Equal(t, []uint32{1, 1, 1, 1, 2, 2, 2, 2}, contents(t, b), "the high ones are copied anew")
}
