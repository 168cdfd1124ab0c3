package comm_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/comm"
	"github.com/go-halyard/halyard/conformance/commtest"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/comm/driver"
	"github.com/go-halyard/halyard/internal/testing/fixture"
	"github.com/go-halyard/halyard/internal/testing/gpuaware"
	"github.com/go-halyard/halyard/internal/testing/hooked"
)

// gpus is every kind of device memory.
const gpus = driver.MemoryCUDA | driver.MemoryROCm

// gpu is a rank's device, which stands for one of a vendor, and the rank's engine, which takes its addresses.
type gpu struct {
	e *gpuaware.Engine
	s *hal.Stream
}

// onGPUs runs fn on ranks with a device each, whose backend has the name.
func onGPUs(t *testing.T, backends []string, fn func(ctx context.Context, c *comm.Comm, g *gpu) error, opts ...commtest.Option) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var streams []*hal.Stream
	for _, name := range backends {
		streams = append(streams, fixture.Stream(t, fixture.Device(t, host.New(host.Options{Name: name, Discrete: 1}), 1)))
	}
	commtest.Run(t, len(backends), func(e driver.Engine) error {
		g := &gpu{&gpuaware.Engine{Engine: e, Message: gpus, Collective: gpus}, streams[e.World().Rank()]}
		c := comm.New(g.e, comm.DeviceMemory())
		if err := errors.Join(fn(ctx, c, g), g.e.Err()); err != nil {
			return err
		}
		return c.Close()
	}, opts...)
}

// known makes the elements of a buffer current on the device alone, and tells the engine where they are.
func known[T buffer.Element](ctx context.Context, g *gpu, b *buffer.Buffer[T]) error {
	l, err := b.Acquire(ctx, g.s, coherence.ReadWrite)
	if err != nil {
		return err
	}
	g.e.Know(l.Region().Mem)
	return l.Release()
}

// put writes v to all elements by work of the device.
func put(ctx context.Context, g *gpu, b *buffer.Buffer[float64], v float64) error {
	return errors.Join(known(ctx, g, b), onDevice(ctx, g.s, b, v))
}

// took refuses any other number of addresses.
func took(g *gpu, want int) error {
	if n := g.e.Taken(); n != want {
		return fmt.Errorf("the engine was given %d addresses of devices, not %d", n, want)
	}
	return nil
}

func stats(b *buffer.Buffer[float64]) buffer.Stats {
	s := b.Stats()
	s.BytesAvoided = 0
	return s
}

// Slices of buffers travel from device to device. Nothing is copied on the way, and no other element moves.
func TestMessagesBetweenDevices(t *testing.T) {
	for name, opts := range modes {
		t.Run(name, func(t *testing.T) {
			onGPUs(t, []string{"cuda", "hip"}, func(ctx context.Context, c *comm.Comm, g *gpu) error {
				b, err := buffer.New[float64](1000) // so the host has no memory for it
				if err != nil {
					return err
				}
				if err := put(ctx, g, b, float64(c.Rank()+1)); err != nil {
					return err
				}
				mine, e1 := b.Slice(100, 200)
				theirs, e2 := b.Slice(300, 400)
				before, other := stats(b), 1-c.Rank()
				if err := errors.Join(e1, e2); err != nil {
					return err
				}
				r, err := comm.Irecv(ctx, c, theirs, other, 3)
				if err != nil {
					return err
				}
				if err := comm.Send(ctx, c, mine, other, 3); err != nil {
					return err
				}
				got, err := r.Wait(ctx)
				if err != nil {
					return err
				}
				if got != (comm.Status{Source: other, Tag: 3, Count: 100}) {
					return fmt.Errorf("%+v", got)
				}
				if _, err := comm.Sendrecv(ctx, c, theirs, other, 4, mine, other, 4); err != nil { // the elements come back
					return err
				}
				if after := stats(b); after != before {
					return fmt.Errorf("%+v became %+v", before, after)
				}
				if name := b.State().Name; name != "DEVICE_ONLY" {
					return errors.New(name)
				}
				want := constant(1000, float64(c.Rank()+1))
				copy(want[300:], constant(100, float64(other+1)))
				return errors.Join(took(g, 4), same(contents(b), want), onDevice(ctx, g.s, b, 5), b.Close())
			}, opts...)
		})
	}
}

// A message that is shorter than the buffer is not an error, and one between a device and the host is a message like any other.
func TestMessagesBetweenHostAndDevice(t *testing.T) {
	onGPUs(t, []string{"cuda", "cuda"}, func(ctx context.Context, c *comm.Comm, g *gpu) error {
		if c.Rank() == 0 {
			b := buffered(numbers(50, 0))
			_, err := comm.Recv(ctx, c, b, 1, 0)
			return errors.Join(err, comm.Send(ctx, c, b, 1, 0), took(g, 0), same(contents(b), constant(50, 4)), b.Close())
		}
		b := buffered(make([]float64, 80))
		if err := put(ctx, g, b, 4); err != nil {
			return err
		}
		part, err := b.Slice(0, 50)
		if err != nil {
			return err
		}
		if err := errors.Join(comm.Send(ctx, c, part, 0, 0), put(ctx, g, b, 6)); err != nil {
			return err
		}
		got, err := comm.Recv(ctx, c, b, 0, 0)
		if got.Count != 50 {
			err = errors.Join(err, fmt.Errorf("%+v", got))
		}
		return errors.Join(err, took(g, 2), same(contents(b), append(constant(50, 4), constant(30, 6)...)), b.Close())
	})
}

// The engine gets no address where one of the conditions is missing, and the elements arrive all the same.
func TestWhenDevicesAddressesAreNotGiven(t *testing.T) {
	for _, row := range []struct {
		name             string
		backend          string
		ordinal          int
		message, collect driver.MemoryKinds
		without          hal.Caps
		opts             []comm.Option
		want             int // of the two operations
		prepare          func(ctx context.Context, b *buffer.Buffer[float64], s *hal.Stream) error
	}{
		{name: "all are met", want: 2},
		{name: "current on the host too", want: 2, prepare: func(ctx context.Context, b *buffer.Buffer[float64], _ *hal.Stream) error { return b.SyncTo(ctx, nil) }},
		{name: "not asked for", opts: []comm.Option{}},
		{name: "the engine does not say so", message: driver.MemoryHost, collect: driver.MemoryHost},
		{name: "the engine takes those of another vendor", message: driver.MemoryROCm, collect: driver.MemoryROCm},
		{name: "the engine takes them for messages alone", collect: driver.MemoryHost, want: 1},
		{name: "the engine takes them for collective operations alone", message: driver.MemoryHost, want: 1},
		{name: "another backend", backend: "opencl"},
		{name: "the device has no addresses", without: hal.CapAddress},
		{name: "the device works on the host's memory", ordinal: -1},
		{name: "newer on the host", prepare: func(ctx context.Context, b *buffer.Buffer[float64], _ *hal.Stream) error {
			return b.Fill(ctx, 7)
		}},
		{name: "partly newer on the host", prepare: func(ctx context.Context, b *buffer.Buffer[float64], _ *hal.Stream) error { return b.Set(ctx, 99, 7) }},
		{name: "evicted", prepare: func(ctx context.Context, b *buffer.Buffer[float64], s *hal.Stream) error {
			return errors.Join(b.SyncTo(ctx, nil), b.Evict(ctx, s.Device()))
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			if row.backend == "" {
				row.backend = "cuda"
			}
			if row.message == 0 {
				row.message = gpus
			}
			if row.collect == 0 {
				row.collect = gpus
			}
			if row.opts == nil {
				row.opts = []comm.Option{comm.DeviceMemory()}
			}
			ctx := t.Context()
			backend := &hooked.Backend{Backend: host.New(host.Options{Name: row.backend, Discrete: 1}), Info: func(i hal.Info) hal.Info {
				i.Caps &^= row.without
				return i
			}}
			s := fixture.Stream(t, fixture.Device(t, backend, 1+row.ordinal))
			j := commtest.New(1)
			defer j.Close()
			g := &gpu{&gpuaware.Engine{Engine: j.Engine(0), Message: row.message, Collective: row.collect}, s}
			c := comm.New(g.e, row.opts...)
			b := buffered(make([]float64, 100))
			require.NoError(t, put(ctx, g, b, 7))
			if row.prepare != nil {
				require.NoError(t, row.prepare(ctx, b, s))
			}
			require.NoError(t, comm.Send(ctx, c, b, 0, 1))
			require.NoError(t, comm.Allreduce(ctx, c, b, b, comm.Sum))
			require.NoError(t, g.e.Err())
			require.Equal(t, row.want, g.e.Taken())
			got := buffered(make([]float64, 100))
			_, err := comm.Recv(ctx, c, got, 0, 1)
			require.NoError(t, err)
			require.Equal(t, constant(100, 7), contents(got))
			require.Equal(t, constant(100, 7), contents(b))
			require.NoError(t, hal.CloseAll(c, got, b))
		})
	}
}

// Work that a stream has still to do on the elements is waited for, before they leave and before others arrive. A wait that ends first changes nothing.
func TestDevicesWorkIsWaitedForBeforeAnAddressIsGiven(t *testing.T) {
	onGPUs(t, []string{"cuda", "cuda"}, func(ctx context.Context, c *comm.Comm, g *gpu) error {
		b := buffered(numbers(500, c.Rank()))
		if err := known(ctx, g, b); err != nil {
			return err
		}
		gate, err := g.s.Gate()
		if err != nil {
			return err
		}
		soon, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
		defer cancel()
		if c.Rank() == 0 {
			if err := onDevice(ctx, g.s, b, 7); err != nil {
				return errors.Join(err, gate.Signal())
			}
			if _, err := comm.Isend(soon, c, b, 1, 0); !errors.Is(err, context.DeadlineExceeded) {
				return errors.Join(fmt.Errorf("sent while the kernel was under way: %w", err), gate.Signal())
			}
			sent := make(chan error)
			go func() { sent <- comm.Send(ctx, c, b, 1, 0) }()
			return errors.Join(gate.Signal(), <-sent, took(g, 1), same(contents(b), constant(500, 7)), b.Close())
		}
		copied, err := g.s.Device().Alloc(hal.KindDevice, b.Size(), 0)
		if err != nil {
			return errors.Join(err, gate.Signal())
		}
		l, err := b.Acquire(ctx, g.s, coherence.Read)
		if err == nil {
			err = errors.Join(g.s.Copy(copied.All(), l.Region()), l.Release())
		}
		if err == nil {
			if _, err := comm.Irecv(soon, c, b, 0, 0); !errors.Is(err, context.DeadlineExceeded) {
				return errors.Join(fmt.Errorf("received under work that reads: %w", err), gate.Signal())
			}
		}
		if err = errors.Join(err, took(g, 0), gate.Signal(), same(contents(b), numbers(500, 1))); err != nil {
			return err
		}
		_, err = comm.Recv(ctx, c, b, 0, 0)
		got := make([]byte, b.Size())
		return errors.Join(err, took(g, 1), g.s.CopyOut(got, copied.All()), g.s.Sync(ctx), same(floats(got), numbers(500, 1)),
			same(contents(b), constant(500, 7)), copied.Close(), b.Close())
	})
}

// While a device's memory is sent, streams may read it and not write it. While it is received into, they may do neither.
func TestAddressesExcludeStreams(t *testing.T) {
	onGPUs(t, []string{"cuda", "cuda"}, func(ctx context.Context, c *comm.Comm, g *gpu) error {
		b := buffered(numbers(2000, c.Rank()))
		if err := known(ctx, g, b); err != nil {
			return err
		}
		refused := func(mode coherence.Mode) error {
			l, err := b.TryAcquire(g.s, mode)
			if err == nil {
				return errors.Join(fmt.Errorf("%v was not refused", mode), l.Release())
			}
			if !errors.Is(err, coherence.ErrConflict) {
				return err
			}
			return nil
		}
		if c.Rank() == 0 {
			r, err := comm.Isend(ctx, c, b, 1, 0)
			if err != nil {
				return err
			}
			l, err := b.TryAcquire(g.s, coherence.Read)
			if err != nil {
				return fmt.Errorf("a reader during a send: %w", err)
			}
			err = errors.Join(l.Release(), refused(coherence.ReadWrite), refused(coherence.Overwrite), comm.SendSlice(ctx, c, []int8{1}, 1, 1))
			_, waited := r.Wait(ctx)
			return errors.Join(err, waited, took(g, 1), onDevice(ctx, g.s, b, 3), b.Close())
		}
		r, err := comm.Irecv(ctx, c, b, 0, 0)
		if err != nil {
			return err
		}
		err = errors.Join(refused(coherence.Read), refused(coherence.ReadWrite))
		if _, e := comm.RecvSlice(ctx, c, make([]int8, 1), 0, 1); e != nil {
			return errors.Join(err, e)
		}
		_, waited := r.Wait(ctx)
		return errors.Join(err, waited, took(g, 1), same(contents(b), numbers(2000, 0)), onDevice(ctx, g.s, b, 3), b.Close())
	}, commtest.EagerLimit(8))
}

// A send that is given up keeps the memory that the engine may go on to read.
func TestASendThatIsGivenUpKeepsItsDeviceMemory(t *testing.T) {
	d := fixture.Device(t, host.New(host.Options{Name: "cuda", Discrete: 1}), 1)
	j := commtest.New(2, commtest.EagerLimit(0))
	defer j.Close()
	g := &gpu{&gpuaware.Engine{Engine: j.Engine(0), Message: gpus}, fixture.Stream(t, d)}
	c := comm.New(g.e, comm.DeviceMemory())
	mem := fixture.Memory(t, d, 800)
	b, err := buffer.Adopt[float64](mem)
	require.NoError(t, err)
	require.NoError(t, put(t.Context(), g, b, 1))
	r, err := comm.Isend(t.Context(), c, b, 1, 0)
	require.NoError(t, err)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = r.Wait(ended)
	require.ErrorIs(t, err, comm.ErrTimeout)
	require.ErrorIs(t, b.Close(), coherence.ErrConflict)
	require.Equal(t, constant(100, 1), contents(b), "readers are admitted")
	require.Equal(t, 1, g.e.Taken())
	require.NoError(t, c.Close())
}

// An operation in place on a device's memory that was refused has changed nothing.
func TestARefusedReductionOnADeviceKeepsItsElements(t *testing.T) {
	onGPUs(t, []string{"hip"}, func(ctx context.Context, c *comm.Comm, g *gpu) error {
		b := buffered(make([]float64, 10))
		g.e.Refuse = driver.Errorf("Allreduce", driver.ErrUnsupported, "no reductions")
		if err := put(ctx, g, b, 2); err != nil {
			return err
		}
		if err := comm.Allreduce(ctx, c, b, b, comm.Sum); !errors.Is(err, comm.ErrUnsupported) {
			return fmt.Errorf("not refused: %w", err)
		}
		return errors.Join(took(g, 1), c.Err(), same(contents(b), constant(10, 2)), b.Close())
	})
}

// What a device's work has failed to make is not sent.
func TestLostElementsOnADeviceAreNotSent(t *testing.T) {
	onGPUs(t, []string{"cuda"}, func(ctx context.Context, c *comm.Comm, g *gpu) error {
		b := buffered(make([]float64, 10))
		if err := known(ctx, g, b); err != nil {
			return err
		}
		l, err := b.Acquire(ctx, g.s, coherence.Overwrite)
		if err != nil {
			return err
		}
		failed := errors.New("failed")
		if err := l.ReleaseChecked(func() error { return failed }); err != nil {
			return err
		}
		if err := comm.Send(ctx, c, b, 0, 0); !errors.Is(err, failed) {
			return fmt.Errorf("sent: %w", err)
		}
		return errors.Join(took(g, 0), c.Err(), b.Close())
	})
}

// A buffer that replaces its elements, and buffers that the library has memory for, stay what they are.
func TestSendrecvOfOneBufferOnADevice(t *testing.T) {
	onGPUs(t, []string{"cuda", "cuda"}, func(ctx context.Context, c *comm.Comm, g *gpu) error {
		b, err := comm.NewBuffer[float64](c, 20)
		if err != nil {
			return err
		}
		if err := put(ctx, g, b, float64(c.Rank())); err != nil {
			return err
		}
		other := 1 - c.Rank()
		_, err = comm.Sendrecv(ctx, c, b, other, 0, b, other, 0)
		return errors.Join(err, took(g, 0), same(contents(b), constant(20, float64(other))), b.Close())
	})
}

// There is no steady growth: what an operation on a device's memory takes is given back.
func TestNothingIsAllocatedForDevicesInSteadyState(t *testing.T) {
	if raceEnabled {
		t.Skip("with the race detector everything allocates")
	}
	s := fixture.Stream(t, fixture.Device(t, host.New(host.Options{Name: "cuda", Discrete: 1}), 1))
	j := commtest.New(1)
	defer j.Close()
	c := comm.New(&mirror{Engine: j.Engine(0), kinds: driver.MemoryCUDA, world: func(e *mirror) driver.Comm { return mirrorComm{e.Engine.World(), e} }},
		comm.DeviceMemory())
	a, b := buffered(numbers(100, 0)), buffered(numbers(100, 1))
	ctx := context.Background()
	for _, x := range []*buffer.Buffer[float64]{a, b} {
		require.NoError(t, onDevice(ctx, s, x, 1))
	}
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	before := stats(b)
	require.Zero(t, testing.AllocsPerRun(200, func() {
		r, err := comm.Irecv(ctx, c, b, 0, 1)
		must(err)
		must(comm.Send(ctx, c, a, 0, 1))
		_, err = r.Wait(ctx)
		must(err)
	}))
	require.Equal(t, before, stats(b))
	require.Equal(t, contents(a), contents(b))
	require.NoError(t, hal.CloseAll(a, b, c))
}
