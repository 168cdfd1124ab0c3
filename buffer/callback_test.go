package buffer_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
)

// thrown returns the error with which fn panics, or nil.
func thrown(fn func()) (err error) {
	defer func() { err, _ = recover().(error) }()
	fn()
	return nil
}

// A call whose observer panics does its work, panics as well, and leaves the buffer as if the program had ended the access at once.
func TestObserverThatPanics(t *testing.T) {
	fault := errors.New("the observer's own fault")
	d := openMany(t, "one", 2, 1, 2)
	s, other := newStream(t, d[0]), newStream(t, d[1])
	type subject = *buffer.Buffer[uint32]
	for name, call := range map[string]func(b subject, observed func(fn func())){
		"TryAcquire": func(b subject, observed func(func())) {
			observed(func() { _, _ = b.TryAcquire(s, coherence.ReadWrite) })
		},
		"Acquire":     func(b subject, observed func(func())) { observed(func() { _, _ = b.Acquire(ctx, s, coherence.Read) }) },
		"AcquireHost": func(b subject, observed func(func())) { observed(func() { _, _ = b.AcquireHost(ctx, coherence.Read) }) },
		"AcquireAll": func(b subject, observed func(func())) {
			also := newBuffer(t, []uint32{5})
			observed(func() {
				_, _ = buffer.AcquireAll(ctx, s, also.Want(coherence.ReadWrite), b.Want(coherence.ReadWrite))
			})
			require.NoError(t, also.Update(ctx, nothing))
		},
		"View":     func(b subject, observed func(func())) { observed(func() { _ = b.View(ctx, nothing) }) },
		"Update":   func(b subject, observed func(func())) { observed(func() { _ = b.Update(ctx, nothing) }) },
		"At":       func(b subject, observed func(func())) { observed(func() { _, _ = b.At(ctx, 0) }) },
		"CopyOut":  func(b subject, observed func(func())) { observed(func() { _ = b.CopyOut(ctx, make([]uint32, 4)) }) },
		"Prefetch": func(b subject, observed func(func())) { observed(func() { _ = b.Prefetch(s) }) },
		"SyncTo":   func(b subject, observed func(func())) { observed(func() { _ = b.SyncTo(ctx, d[0]) }) },
		"SyncTo the host": func(b subject, observed func(func())) {
			observed(func() { _ = b.SyncTo(ctx, nil) })
		},
		"Evict": func(b subject, observed func(func())) { observed(func() { _ = b.Evict(ctx, d[1]) }) },
		"Clone": func(b subject, observed func(func())) { observed(func() { _, _ = b.Clone(ctx) }) },
		"CopyFrom": func(b subject, observed func(func())) {
			src := newBuffer(t, []uint32{1, 2, 3, 4})
			observed(func() { _ = b.CopyFrom(ctx, src) })
			require.NoError(t, src.Update(ctx, nothing))
		},
		"FillOn": func(b subject, observed func(func())) {
			observed(func() { _ = b.FillOn(ctx, s, 9) })
			require.Equal(t, []uint32{9, 9, 9, 9}, contents(t, b), "it has filled")
			require.NoError(t, b.CopyIn(ctx, []uint32{1, 2, 3, 4}))
		},
		"Lease.Release": func(b subject, observed func(func())) {
			var l buffer.Lease
			defer buffer.Observe(func(buffer.Activity) {})() // a use is reported if there was an observer from its beginning
			l, err := b.TryAcquire(s, coherence.ReadWrite)
			require.NoError(t, err)
			observed(func() { _ = l.Release() })
			require.ErrorIs(t, l.Release(), hal.ErrClosed)
		},
		"Leases.Release": func(b subject, observed func(func())) {
			defer buffer.Observe(func(buffer.Activity) {})()
			also := newBuffer(t, []uint32{5})
			l, err := buffer.AcquireAll(ctx, s, b.Want(coherence.ReadWrite), also.Want(coherence.ReadWrite))
			require.NoError(t, err)
			observed(func() { _ = l.Release() })
			require.ErrorIs(t, l.Release(), hal.ErrClosed)
			require.NoError(t, also.Update(ctx, nothing))
		},
		"HostLease.Release": func(b subject, observed func(func())) {
			defer buffer.Observe(func(buffer.Activity) {})()
			l, err := b.AcquireHost(ctx, coherence.ReadWrite)
			require.NoError(t, err)
			observed(func() { _ = l.Release() })
			require.ErrorIs(t, l.Release(), hal.ErrClosed)
		},
	} {
		t.Run(name, func(t *testing.T) {
			b, err := buffer.New[uint32](4)
			require.NoError(t, err)
			l, err := b.TryAcquire(other, coherence.Overwrite) // so that every call has something to do
			require.NoError(t, err)
			require.NoError(t, other.Fill(l.Region(), hal.Pattern32(7)))
			require.NoError(t, l.Release())
			if name == "FillOn" || name == "CopyFrom" {
				require.NoError(t, b.SyncTo(ctx, d[0]))
			}
			call(b, func(fn func()) {
				stop := buffer.Observe(func(buffer.Activity) { panic(fault) })
				err := thrown(fn)
				stop()
				require.ErrorIs(t, err, fault)
			})
			require.Len(t, contents(t, b), 4)
			require.NoError(t, b.FillOn(ctx, s, 8), "no access is open")
			require.Equal(t, []uint32{8, 8, 8, 8}, contents(t, b))
			err = thrown(func() {
				defer buffer.Observe(func(buffer.Activity) { panic(fault) })()
				_ = b.Close()
			})
			require.ErrorIs(t, err, fault)
			require.ErrorContains(t, err, "callback_test.go", "it says where")
			require.ErrorIs(t, b.View(ctx, nothing), hal.ErrClosed)
		})
	}
}

// The elements of an access for overwriting that ends at once, because an observer panics, keep their values: nobody writes them.
func TestObserverThatPanicsBeforeAnOverwrite(t *testing.T) {
	fault := errors.New("the observer's own fault")
	d := openMany(t, "one", 2, 1, 2)
	s, other := newStream(t, d[0]), newStream(t, d[1])
	for name, call := range map[string]func(b *buffer.Buffer[uint32]){
		"TryAcquire":  func(b *buffer.Buffer[uint32]) { _, _ = b.TryAcquire(s, coherence.Overwrite) },
		"Overwrite":   func(b *buffer.Buffer[uint32]) { _ = b.Overwrite(ctx, nothing) },
		"AcquireHost": func(b *buffer.Buffer[uint32]) { _, _ = b.AcquireHost(ctx, coherence.Overwrite) },
		"AcquireAll": func(b *buffer.Buffer[uint32]) {
			_, _ = buffer.AcquireAll(ctx, s, b.Want(coherence.Overwrite))
		},
	} {
		t.Run(name, func(t *testing.T) {
			b, err := buffer.New[uint32](2)
			require.NoError(t, err)
			require.NoError(t, b.FillOn(ctx, other, 7))
			stop := buffer.Observe(func(buffer.Activity) { panic(fault) })
			err = thrown(func() { call(b) })
			stop()
			require.ErrorIs(t, err, fault)
			require.Equal(t, []uint32{7, 7}, contents(t, b))
			require.NoError(t, b.Close())
		})
	}
}

// A callback that uses a buffer or a lease is told so, whether that is the one at hand or another. Nothing waits for itself.
func TestCallbackThatUsesBuffers(t *testing.T) {
	d := openMany(t, "one", 1, 1)[0]
	s := newStream(t, d)
	other := newBuffer(t, []uint32{5})
	ours, err := buffer.AcquireAll(ctx, s, other.Want(coherence.Read))
	require.NoError(t, err)
	defer func() { require.NoError(t, ours.Release()) }()
	lease, err := newBuffer(t, []uint32{6}).TryAcquire(s, coherence.Read)
	require.NoError(t, err)
	defer func() { require.NoError(t, lease.Release()) }()
	for name, use := range map[string]func(b *buffer.Buffer[uint32]){
		"View":              func(b *buffer.Buffer[uint32]) { _ = b.View(ctx, nothing) },
		"State":             func(b *buffer.Buffer[uint32]) { b.State() },
		"TryAcquire":        func(b *buffer.Buffer[uint32]) { _, _ = b.TryAcquire(s, coherence.Read) },
		"Close":             func(b *buffer.Buffer[uint32]) { _ = b.Close() },
		"another's View":    func(*buffer.Buffer[uint32]) { _ = other.View(ctx, nothing) },
		"another's lease":   func(*buffer.Buffer[uint32]) { ours.At(0).Region() },
		"another's Release": func(*buffer.Buffer[uint32]) { _ = ours.Release() },
		"a lease's Release": func(*buffer.Buffer[uint32]) { _ = lease.Release() },
		"View, deep down": func(b *buffer.Buffer[uint32]) {
			var down func(n int)
			down = func(n int) {
				if n == 0 {
					_ = b.View(ctx, nothing)
				} else {
					down(n - 1)
				}
			}
			down(200)
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBuffer(t, []uint32{1, 2})
			stop := buffer.Observe(func(e buffer.Activity) { use(b) })
			err := thrown(func() { _ = b.Prefetch(s) })
			stop()
			require.ErrorContains(t, err, "must not use buffers")
			require.Equal(t, []uint32{1, 2}, contents(t, b))

			l, err := b.TryAcquire(s, coherence.ReadWrite)
			require.NoError(t, err)
			require.NoError(t, l.ReleaseChecked(func() error { use(b); return nil }))
			require.ErrorContains(t, b.View(ctx, nothing), "must not use buffers")
			require.ErrorIs(t, b.View(ctx, nothing), hal.ErrDeviceLost)
			require.NoError(t, b.Reset())
		})
	}
}

// Elements whose check panics are lost, like those whose check returns an error.
func TestCheckThatPanics(t *testing.T) {
	fault := errors.New("the check's own fault")
	s := newStream(t, openMany(t, "one", 1, 1)[0])
	b := newBuffer(t, []uint32{1, 2})
	l, err := b.TryAcquire(s, coherence.ReadWrite)
	require.NoError(t, err)
	require.NoError(t, l.ReleaseChecked(func() error { panic(fault) }))
	require.ErrorIs(t, b.View(ctx, nothing), fault)
	require.ErrorIs(t, b.View(ctx, nothing), hal.ErrDeviceLost)
	require.NoError(t, b.FillOn(ctx, s, 8))
	require.Equal(t, []uint32{8, 8}, contents(t, b))
}
