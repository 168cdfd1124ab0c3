package buffer_test

import (
	"errors"
	"fmt"
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

// countMade is a hook that counts the streams, events and memory that are made.
func countMade(made *atomic.Int64) func(string, int) error {
	return func(op string, _ int) error {
		if op == "NewStream" || op == "NewEvent" || op == "Alloc" {
			made.Add(1)
		}
		return nil
	}
}

// A program that is always some steps ahead of its devices keeps the events of these steps, and none of those before.
func TestStepsThatAreOverAreForgottenWhileTheNextAreUnderWay(t *testing.T) {
	for ahead := 1; ahead <= 8; ahead *= 2 {
		for _, row := range []struct {
			places int
			anew   bool // each step makes a buffer of that of the one before, and closes that
			leases int  // of each step
		}{{1, false, 1}, {2, false, 1}, {1, true, 1}, {1, false, 2}, {2, false, 2}, {1, true, 2}} {
			places := row.places
			t.Run(fmt.Sprintf("%d ahead on %d devices anew %t, %d leases", ahead, places, row.anew, row.leases), func(t *testing.T) {
				b := &hooked.Backend{Backend: host.New(host.Options{Name: "counting", Discrete: 2})}
				var made atomic.Int64
				b.Call = countMade(&made)
				var devs []*hal.Device
				for i := range places {
					d := fixture.Device(t, b, 1+i)
					devs = append(devs, d)
				}
				if row.anew { // which makes events of its own for memory that is closed
					pooled(t, devs[0])
				}
				var streams []*hal.Stream // so many that each has one step under way
				for i := range 2 * ahead {
					streams = append(streams, newStream(t, devs[i%places]))
				}
				x, err := buffer.From(make([]uint32, 4))
				require.NoError(t, err)
				t.Cleanup(func() { require.NoError(t, x.Close()) })
				var gates []*hal.Gate
				t.Cleanup(func() {
					for _, g := range gates {
						_ = g.Signal()
					}
				})
				for i := range 1000 {
					s := streams[i%len(streams)]
					gates = append(gates, hold(t, s))
					if row.anew {
						next, err := buffer.New[uint32](4)
						require.NoError(t, err)
						for range row.leases {
							l, err := buffer.AcquireAll(ctx, s, x.Want(coherence.Read), next.Want(coherence.Overwrite))
							require.NoError(t, err)
							require.NoError(t, l.Release())
						}
						require.NoError(t, x.Close())
						x = next
					} else {
						for range row.leases {
							l, err := x.TryAcquire(s, coherence.ReadWrite)
							require.NoError(t, err)
							require.NoError(t, l.Release())
						}
					}
					if i >= ahead {
						require.NoError(t, gates[i-ahead].Signal())
						require.NoError(t, streams[(i-ahead)%len(streams)].Sync(ctx))
					}
					if i == 100 {
						made.Store(0)
					}
				}
				require.Less(t, made.Load(), int64(100), "events made by the last 900 steps")
			})
		}
	}
}

// While a device is behind, whoever is ahead of it does not ask it about each of its steps again and again.
func TestWorkUnderWayIsAskedSeldom(t *testing.T) {
	b := &hooked.Backend{Backend: host.New(host.Options{Name: "behind", Discrete: 1})}
	var asked atomic.Int64
	b.Call = func(op string, _ int) error {
		if op == "Query event" {
			asked.Add(1)
		}
		return nil
	}
	s := newStream(t, fixture.Device(t, b, 1))
	from, to := newBuffer(t, make([]uint32, 4)), newBuffer(t, make([]uint32, 4))
	require.NoError(t, from.SyncTo(ctx, s.Device()))
	g := hold(t, s)
	const steps = 512
	asked.Store(0)
	for range steps {
		l, err := buffer.AcquireAll(ctx, s, from.Want(coherence.Read), to.Want(coherence.Overwrite))
		require.NoError(t, err)
		require.NoError(t, l.Release())
		from, to = to, from
	}
	require.NoError(t, g.Signal())
	require.Less(t, asked.Load(), int64(steps+steps/2), "questions") // one by each access, and few by Works that join the list
	require.NoError(t, s.Sync(ctx))
}

// A step of a program that is ahead of its device allocates nothing, though its work is made of that of the step before; and it may name a buffer
// twice.
func TestStepsAllocateNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	s := newStream(t, openMany(t, "steps", 1, 1)[0])
	from, to := newBuffer(t, make([]uint32, 4)), newBuffer(t, make([]uint32, 4))
	require.NoError(t, from.SyncTo(ctx, s.Device()))
	steps := func() {
		g, err := s.Gate() // so that none has ended before the last begins
		if err != nil {
			t.Error(err)
		}
		for range 32 {
			l, err := buffer.AcquireAll(ctx, s, from.Want(coherence.Read), from.Want(coherence.Read), to.Want(coherence.Overwrite))
			if err == nil {
				err = l.Release()
			}
			if err != nil {
				t.Error(err)
			}
			from, to = to, from
		}
		_ = errors.Join(g.Signal(), s.Sync(ctx))
	}
	for range 100 {
		steps()
	}
	require.Less(t, testing.AllocsPerRun(100, steps), 20.0, "allocations in 32 steps, and their gate")
}
