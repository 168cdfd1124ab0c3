package kernel_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/testing/divided"
	"github.com/go-halyard/halyard/internal/testing/hooked"
	"github.com/go-halyard/halyard/kernel"
)

// strangers returns the streams of devices of n backends, which cannot wait for each other's events, and how often the host waited for one of the streams.
func strangers(t *testing.T, n int) (streams []*hal.Stream, syncs *atomic.Int64) {
	syncs = new(atomic.Int64)
	return strangersWith(t, n, func(b *hooked.Backend) {
		b.Call = func(op string, _ int) error {
			if op == "Sync" {
				syncs.Add(1)
			}
			return nil
		}
	}), syncs
}

// strangersWith is strangers with hooks.
func strangersWith(t *testing.T, n int, hook func(*hooked.Backend)) (streams []*hal.Stream) {
	for range n {
		b := &hooked.Backend{Backend: host.New(host.Options{Name: fmt.Sprintf("stranger%d", backends.Add(1)), Discrete: 1})}
		hook(b)
		d, err := hal.OpenWith(ctx, b, 1)
		require.NoError(t, err)
		s, err := d.NewStream()
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, hal.CloseAll(d, s)) })
		streams = append(streams, s)
	}
	require.False(t, n > 1 && streams[0].Device().CanAccessPeer(streams[1].Device()))
	return streams
}

// Launches that copy between devices that cannot wait for each other wait for the devices first, from the fifth in a row on. Launches that copy nothing do
// not, and neither do those while a gate is shut that only the program opens.
func TestLaunchesThatCrossWaitForTheDevices(t *testing.T) {
	const width, height, steps = 40, 64, 10
	start := numbers(rand.New(rand.NewPCG(1, 2)), width*height)
	heat := func(t *testing.T, streams []*hal.Stream, syncs *atomic.Int64) (result []float32, waits int64) {
		q := queue{t: t, on: newSplit(t, streams...)}
		now, next := made(t, start...), made(t, make([]float32, width*height)...)
		for range steps {
			before := syncs.Load()
			divided.Spread(q.of(hal.Over(width, height).Of(8, 4)), width, height, now, next)
			waits += syncs.Load() - before
			now, next = next, now
		}
		return contents(t, now), waits
	}
	_, own := devices(t, 1)
	want, _ := heat(t, own[1:], new(atomic.Int64))

	streams, syncs := strangers(t, 2)
	got, waits := heat(t, streams, syncs)
	assert.Equal(t, want, got)
	// The first launch hands out the elements, so it copies as well.
	assert.EqualValues(t, len(streams)*(steps-4), waits)

	q := queue{t: t, on: newSplit(t, streams...)}
	x, y := made(t, ramp(4800)...), made(t, ramp(4800)...)
	before := syncs.Load()
	for range steps {
		divided.Saxpy(q.of(hal.Over(4800).Of(16)), 1, x, y)
	}
	assert.Equal(t, before, syncs.Load(), "no launch but the first copies")

	g, err := streams[1].Gate()
	require.NoError(t, err)
	now, next := made(t, start...), made(t, make([]float32, width*height)...)
	before = syncs.Load()
	for range steps { // of a kernel whose last launches crossed
		divided.Spread(q.of(hal.Over(width, height).Of(8, 4)), width, height, now, next)
		now, next = next, now
	}
	assert.Equal(t, before, syncs.Load(), "the program would never open the gate")
	require.NoError(t, g.Signal())
	assert.Equal(t, want, contents(t, now))
}

// Between devices whose memory the host can access, as two OpenCL platforms on a processor, a step that crosses waits once for each device, and wakes
// nobody: no gate, no callback, no event that is waited for or asked again and again, and no copy of a driver.
func TestCrossingsWakeNobody(t *testing.T) {
	const width, height, steps, late = 40, 96, 20, 10
	heat := func(t *testing.T, q *kernel.Split, a, b *buffer.Buffer[float32]) func() {
		over := hal.Over(width, height).Of(8, 4)
		return func() {
			require.NoError(t, divided.SpreadOn(ctx, q, over, width, height, a, b))
			require.NoError(t, divided.SpreadOn(ctx, q, over, width, height, b, a))
		}
	}
	for name, prepare := range map[string]func(*testing.T, *kernel.Split, *buffer.Buffer[float32], *buffer.Buffer[float32]) func(){
		"launches": heat,
		"recorded": func(t *testing.T, q *kernel.Split, a, b *buffer.Buffer[float32]) func() {
			step, err := kernel.Record(ctx, q, func(s *kernel.Step) error {
				over := hal.Over(width, height).Of(8, 4)
				return errors.Join(divided.SpreadOn(ctx, s, over, width, height, a, b), divided.SpreadOn(ctx, s, over, width, height, b, a))
			})
			require.NoError(t, err)
			t.Cleanup(func() { assert.NoError(t, step.Close()) })
			return func() { require.NoError(t, step.Run(ctx)) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			calls := map[string]int{}
			streams := strangersWith(t, 2, func(b *hooked.Backend) {
				b.Call = func(op string, _ int) error {
					mu.Lock()
					defer mu.Unlock()
					calls[op]++
					return nil
				}
				b.HostPointer = func(m *hooked.Memory) unsafe.Pointer {
					at := m.Handle()
					return *(*unsafe.Pointer)(unsafe.Pointer(&at))
				}
			})
			_, own := devices(t, 1)
			a, b := made(t, numbers(rand.New(rand.NewPCG(1, 2)), width*height)...), made(t, make([]float32, width*height)...)
			c, d := made(t, contents(t, a)...), made(t, make([]float32, width*height)...)
			step := prepare(t, newSplit(t, streams...), a, b)
			alone := heat(t, newSplit(t, own[1]), c, d)
			for i := range steps {
				if step(); i == late {
					mu.Lock()
					clear(calls)
					mu.Unlock()
				}
				alone()
			}
			mu.Lock()
			seen := maps.Clone(calls)
			mu.Unlock()
			const launches = 2 * (steps - late - 1)
			assert.Equal(t, len(streams)*launches, seen["Sync"], "%v", seen)
			for _, op := range []string{"Gate", "OnDone", "Sync event", "CopyIn", "CopyOut", "Copy", "NewEvent"} {
				assert.Zero(t, seen[op], "%s of %v", op, seen)
			}
			assert.LessOrEqual(t, seen["Query event"], 4*len(streams)*launches, "events are asked again and again")
			assert.Equal(t, contents(t, c), contents(t, a))
		})
	}
}
