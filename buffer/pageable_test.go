package buffer_test

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/testing/fixture"
	"github.com/go-halyard/halyard/internal/testing/hooked"
)

// openSecluded opens a device that has memory of its own which the host cannot touch, and lacks what is named.
func openSecluded(t *testing.T, name string, lacks driver.Caps) *hal.Device {
	d := fixture.Device(t, &hooked.Backend{
		Backend: host.New(host.Options{Name: name, Discrete: 1}),
		Info: func(i driver.Info) driver.Info {
			i.Caps &= (driver.CapAddress | driver.CapAsyncCopy | driver.CapGate | driver.CapOrderedPageable) &^ lacks
			return i
		},
		PeerAccess: func(*hooked.Device, *hooked.Device) driver.PeerAccess { return 0 },
		HostPointer: func(m *hooked.Memory) unsafe.Pointer {
			if m.Kind != driver.KindHost {
				return nil
			}
			return m.PlainHostPointer()
		},
	}, 1)
	return d
}

// Nothing that needs the host's bytes waits with the buffer locked until a copy from a third device has brought them.
func TestAcquireBehindACopyToTheHostLocksNothing(t *testing.T) {
	for name, lacks := range map[string]driver.Caps{
		"in order":       0,
		"at the call":    driver.CapOrderedPageable,
		"without a gate": driver.CapOrderedPageable | driver.CapGate,
	} {
		for _, seen := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, seen by the host %t", name, seen), func(t *testing.T) {
				a, d := openSecluded(t, "one", 0), openSecluded(t, "two", lacks)
				sa, sd := newStream(t, a), newStream(t, d)
				b := newBuffer(t, make([]uint32, 8))
				low, high := cut(t, b, 0, 4), cut(t, b, 4, 8)
				g := hold(t, sa)
				fill(t, sa, low, 5)
				if seen {
					require.ErrorIs(t, b.View(untilCopied(t), nothing), context.Canceled, "the copy is under way")
				}

				stop, cancel := context.WithCancel(ctx)
				began := make(chan error, 1)
				done := make(chan error, 1)
				go func() {
					began <- nil
					done <- taken(low.Acquire(stop, sd, coherence.Read))
				}()
				<-began
				// Meanwhile the others get what they ask for, though the gate stays shut.
				for range 100 {
					require.Equal(t, 8, b.Len())
					_ = b.State()
					_ = b.Stats()
					require.NoError(t, high.Fill(ctx, 6))
				}
				err := taken(low.TryAcquire(sd, coherence.Read)) // does not wait, and may say that it would have to
				if err != nil {
					require.ErrorIs(t, err, hal.ErrNotReady)
				}
				cancel()
				if err := <-done; err != nil { // else the device was made to wait
					require.ErrorIs(t, err, context.Canceled)
				}
				require.NoError(t, g.Signal())
				l, err := low.Acquire(ctx, sd, coherence.Read)
				require.NoError(t, err)
				got := make([]byte, 16)
				require.NoError(t, sd.CopyOut(got, l.Region()))
				require.NoError(t, l.Release())
				require.NoError(t, sd.Sync(ctx))
				require.Equal(t, []byte{5, 0, 0, 0, 5, 0, 0, 0, 5, 0, 0, 0, 5, 0, 0, 0}, got)
				require.Equal(t, []uint32{5, 5, 5, 5, 6, 6, 6, 6}, contents(t, b))
				require.Zero(t, buffer.Waiting(b))
			})
		}
	}
}

// A device that moves the host's bytes to its own memory may read them while the copy is enqueued: they have to be there by then.
func TestAMoveWaitsForCopiesToTheHost(t *testing.T) {
	u := &hooked.Backend{Backend: host.New(host.Options{Name: "reads at the call"})}
	u.Info = func(i driver.Info) driver.Info {
		i.Caps &^= driver.CapRegister | driver.CapOrderedPageable
		return i
	}
	u.CopyIn = func(s *hooked.Stream, to driver.Region, from unsafe.Pointer) error {
		now := bytes.Clone(unsafe.Slice((*byte)(from), to.Len))
		if err := s.Stream.CopyIn(to, unsafe.Pointer(&now[0])); err != nil {
			return err
		}
		runtime.KeepAlive(now)
		return s.Stream.Sync()
	}
	sa, su := newStream(t, openSecluded(t, "one", 0)), newStream(t, fixture.Device(t, u, 0))
	b := newBuffer(t, make([]uint32, 4))
	g := hold(t, sa)
	fill(t, sa, b, 5)
	require.ErrorIs(t, b.View(untilCopied(t), nothing), context.Canceled)
	if err := taken(b.TryAcquire(su, coherence.Read)); err != nil {
		require.ErrorIs(t, err, hal.ErrNotReady)
	}
	require.NoError(t, g.Signal())
	require.NoError(t, taken(b.Acquire(ctx, su, coherence.Read)))
	got, err := onDevice(t, su, b)
	require.NoError(t, err)
	require.Equal(t, []uint32{5, 5, 5, 5}, got)
	require.Equal(t, []uint32{5, 5, 5, 5}, contents(t, b))
}
