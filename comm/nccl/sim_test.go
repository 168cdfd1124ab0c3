//go:build cuda && hip && linux

package nccl_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	_ "github.com/go-halyard/halyard/backends/cuda"
	_ "github.com/go-halyard/halyard/backends/hip"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/comm/nccl"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/testing/cudahiptest"
	"github.com/go-halyard/halyard/internal/testing/simgpu"
	"github.com/go-halyard/halyard/internal/testing/simnccl"
)

const devices = 4

// simulation is a simulated driver with the simulated library on it.
type simulation struct {
	cudahiptest.Simulated
	backend string
	library string
}

// simulate builds the libraries, without some symbols, and has the package load them.
func simulate(t testing.TB, without ...string) []simulation {
	t.Helper()
	drivers := cudahiptest.Simulate(t)
	lib, rccl, err := simnccl.Build(filepath.Join(os.TempDir(), "halyard-simgpu"), drivers[0].Library, drivers[1].Library, without...)
	require.NoError(t, err)
	sims := []simulation{{drivers[0], "cuda", lib}, {drivers[1], "hip", rccl}}
	for _, s := range sims {
		require.NoError(t, s.Set(simgpu.Devices, devices))
		require.NoError(t, s.Reset(0))
		t.Cleanup(func() {
			require.NoError(t, s.Set(simgpu.Devices, 2))
			require.NoError(t, s.Reset(0))
		})
	}
	return sims
}

// each runs a test on both libraries, after which nothing may be left and no rule of the driver's broken.
func each(t *testing.T, test func(t *testing.T, s simulation)) {
	for _, s := range simulate(t) {
		t.Run(s.backend, func(t *testing.T) {
			t.Setenv(nccl.EnvLibrary, s.library)
			test(t, s)
			s.kept(t)
		})
	}
}

// kept is Kept after the library has given its memory back.
func (s simulation) kept(t testing.TB) {
	t.Helper()
	left, err := simnccl.Reap(s.library)
	require.NoError(t, err)
	require.Zero(t, left, "work of the library that streams have not ended")
	s.Kept(t)
}

// rank is one rank of a job.
type rank struct {
	c      *nccl.Comm
	dev    *hal.Device
	stream *hal.Stream
	made   []interface{ Close() error }
}

// within is how long a test may take before it is given up.
const within = time.Minute

// job runs fn on n ranks, which are goroutines with a device each, and returns what they returned. Everything is closed then; a communicator that failed
// is given up.
func (s simulation) job(t testing.TB, n int, fn func(ctx context.Context, r *rank) error) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	return s.jobWithin(ctx, n, fn)
}

func (s simulation) jobWithin(ctx context.Context, n int, fn func(ctx context.Context, r *rank) error) error {
	first, err := hal.Open(ctx, s.backend+":0")
	if err != nil {
		return err
	}
	defer first.Close()
	id, err := nccl.NewID(first)
	if err != nil {
		return err
	}
	// Devices are closed when no rank is at work, and the library has given back its memory on them.
	var working sync.WaitGroup
	working.Add(n)
	var once sync.Once
	var reaped error
	return errors.Join(ranks(n, func(i int) error {
		return s.rank(ctx, i, func(dev *hal.Device) (*nccl.Comm, error) { return nccl.Join(ctx, id, i, n, dev) }, fn, func() {
			working.Done()
			working.Wait()
			once.Do(func() { reaped = s.reap() })
		})
	}), reaped)
}

// reap has the library give back its memory.
func (s simulation) reap() error {
	for start := time.Now(); ; runtime.Gosched() {
		left, err := simnccl.Reap(s.library)
		switch {
		case left == 0 || err != nil:
			return err
		case time.Since(start) > within:
			return fmt.Errorf("%d pieces of the library's work have not ended", left)
		}
	}
}

// ranks calls fn for each rank at once, and joins the errors.
func ranks(n int, fn func(i int) error) error {
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			if err := fn(i); err != nil {
				errs[i] = fmt.Errorf("rank %d: %w", i, err)
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// rank is one rank of a job, from its device to the end. It calls done before the device is closed.
func (s simulation) rank(ctx context.Context, i int, join func(*hal.Device) (*nccl.Comm, error), fn func(ctx context.Context, r *rank) error, done func()) (err error) {
	var finish sync.Once
	last := done
	done = func() { finish.Do(last) }
	defer done()
	dev, err := hal.Open(ctx, fmt.Sprintf("%s:%d", s.backend, i%devices))
	if err != nil {
		return err
	}
	defer func() { done(); err = errors.Join(err, dev.Close()) }()
	stream, err := dev.NewStream()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stream.Close()) }()
	c, err := join(dev)
	if err != nil {
		return err
	}
	r := &rank{c: c, dev: dev, stream: stream}
	defer func() {
		if err != nil {
			c.Abort()
		}
		// An end of its own: the work of an aborted communicator still has to leave the stream.
		end, cancel := context.WithTimeout(context.Background(), within)
		defer cancel()
		err = errors.Join(err, c.Close(end), stream.Sync(end))
		for _, b := range r.made {
			err = errors.Join(err, b.Close())
		}
		done()
	}()
	return fn(ctx, r)
}

// from returns a buffer of the elements, which is closed with the rank.
func from[T nccl.Number](r *rank, data []T) *buffer.Buffer[T] {
	b, err := buffer.From(data)
	if err != nil {
		panic(err)
	}
	r.made = append(r.made, b)
	return b
}

func empty[T nccl.Number](r *rank, n int) *buffer.Buffer[T] {
	b, err := buffer.New[T](n)
	if err != nil {
		panic(err)
	}
	r.made = append(r.made, b)
	return b
}

func part[T nccl.Number](b *buffer.Buffer[T], lo, hi int) *buffer.Buffer[T] {
	s, err := b.Slice(lo, hi)
	if err != nil {
		panic(err)
	}
	return s
}

// holds waits for the rank's work, and compares the elements of a buffer.
func holds[T nccl.Number](ctx context.Context, r *rank, what string, b *buffer.Buffer[T], want func(i int) T) error {
	if err := r.c.Sync(ctx, r.stream); err != nil {
		return fmt.Errorf("%s of %T: %w", what, *new(T), err)
	}
	return b.View(ctx, func(s []T) error {
		for i := range s {
			if w := want(i); s[i] != w {
				return fmt.Errorf("%s of %T: %w: element %d of %d is %v, not %v", what, w, errWrong, i, len(s), s[i], w)
			}
		}
		return nil
	})
}

// errWrong is the error of elements that are not what they should be.
var errWrong = errors.New("wrong element")
