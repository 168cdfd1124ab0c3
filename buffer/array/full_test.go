package array_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/buffer/array"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/testing/fixture"
	"github.com/go-halyard/halyard/internal/testing/hooked"
)

// Whoever finds another access writing the value waits for it, but not longer than its context, and not at all if it only tries.
func TestFullIsNotAwaitedForLonger(t *testing.T) {
	held, begun := make(chan struct{}), make(chan struct{}, 1)
	var once sync.Once
	release := func() { once.Do(func() { close(held) }) }
	b := &hooked.Backend{Backend: host.New(host.Options{Discrete: 1})}
	b.Alloc = func(d *hooked.Device, k driver.Kind, n, a uint64) (*hooked.Memory, error) {
		if k == driver.KindDevice {
			begun <- struct{}{}
			<-held
		}
		return d.PlainAlloc(k, n, a)
	}
	s := fixture.Stream(t, fixture.Device(t, b, 1))
	a := made(t)(array.Full[int32](7, 4))
	first := make(chan error, 1)
	go func() {
		l, err := a.Acquire(ctx, s, coherence.Read)
		if err == nil {
			err = l.Release()
		}
		first <- err
	}()
	t.Cleanup(release)
	<-begun

	_, err := a.TryAcquire(s, coherence.Read)
	require.ErrorIs(t, err, hal.ErrBusy)
	short, cancel := context.WithTimeout(ctx, time.Millisecond)
	defer cancel()
	_, err = a.Acquire(short, s, coherence.Read)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	_, err = a.AcquireStrided(short, s, coherence.Read)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	_, err = buffer.AcquireAll(short, s, a.Want(coherence.Read))
	require.ErrorIs(t, err, context.DeadlineExceeded)
	_, err = a.Values(short)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	_, _, err = a.Bounds(short)
	require.ErrorIs(t, err, context.DeadlineExceeded)

	release()
	require.NoError(t, <-first)
	require.Equal(t, []int32{7, 7, 7, 7}, values(t, a))
}

// The first access on a device finds no memory free, and waits for that as long as its context allows.
func TestFullIsNotWrittenAfterItsContext(t *testing.T) {
	d, s := openDevice(t)
	held := fixture.Stream(t, d)
	buffer.SetBudget(d, 16)
	gate, err := held.Gate()
	require.NoError(t, err)
	x, err := buffer.New[int32](4)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, x.Close()) })
	l, err := x.Acquire(ctx, held, coherence.Overwrite)
	require.NoError(t, err)
	require.NoError(t, held.Fill(l.Region(), hal.Pattern32(1)))
	require.NoError(t, l.Release())

	a := made(t)(array.Full[int32](7, 4))
	short, cancel := context.WithTimeout(ctx, time.Millisecond)
	defer cancel()
	_, err = a.Acquire(short, s, coherence.Read)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	_, err = buffer.AcquireAll(short, s, a.Want(coherence.Read))
	require.ErrorIs(t, err, context.DeadlineExceeded)

	require.NoError(t, gate.Signal())
	onDevice(t, a, s)
	require.Equal(t, []int32{7, 7, 7, 7}, values(t, a))
}
