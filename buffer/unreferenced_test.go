package buffer_test

import (
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/testing/unreferenced"
)

// A call keeps open what it is called on and what it is given, although the program has no other reference to it.
func TestCallsKeepTheirBuffers(t *testing.T) {
	d, err := hal.OpenWith(ctx, unreferenced.Backend(host.New(host.Options{Name: "unreferenced", Discrete: 1})), 1)
	require.NoError(t, err)
	s := newStream(t, d)
	made := func() *buffer.Buffer[int32] { // with the newest elements on the device
		b, err := buffer.From([]int32{1, 2, 3, 4})
		require.NoError(t, err)
		require.NoError(t, b.FillOn(ctx, s, 7))
		return b
	}
	type (
		ints = buffer.Buffer[int32]
		list = []int32
	)
	held := func(l buffer.Lease, err error) error {
		if err == nil {
			err = l.Release()
		}
		return err
	}
	encoded, err := made().GobEncode()
	require.NoError(t, err)
	nothing := func([]int32) error { return nil }
	all := []buffer.Range{{Lo: 0, Hi: 1}, {Lo: 2, Hi: 4}}
	unreferenced.Methods(t, made, map[string]func(*ints) error{
		"AccessRanges":     func(b *ints) error { return b.AccessRanges(ctx, coherence.ReadWrite, all, nothing) },
		"Acquire":          func(b *ints) error { return held(b.Acquire(ctx, s, coherence.Read)) },
		"AcquireHost":      func(b *ints) error { l, err := b.AcquireHost(ctx, coherence.ReadWrite); l.Release(); return err },
		"AcquireRanges":    func(b *ints) error { return held(b.AcquireRanges(ctx, s, coherence.Overwrite, all)) },
		"At":               func(b *ints) error { return second(b.At(ctx, 1)) },
		"Clone":            func(b *ints) error { return second(b.Clone(ctx)) },
		"Close":            func(b *ints) error { return b.Close() },
		"CopyFrom":         func(b *ints) error { return b.CopyFrom(ctx, made()) },
		"CopyIn":           func(b *ints) error { return b.CopyIn(ctx, make(list, 4)) },
		"CopyOut":          func(b *ints) error { return b.CopyOut(ctx, make(list, 4)) },
		"Element":          func(b *ints) error { b.Element(); return nil },
		"Evict":            func(b *ints) error { _ = b.Fill(ctx, 1); return b.Evict(ctx, nil) },
		"Fill":             func(b *ints) error { return b.Fill(ctx, 1) },
		"FillOn":           func(b *ints) error { return b.FillOn(ctx, s, 1) },
		"Freeze":           func(b *ints) error { return b.Freeze() },
		"Frozen":           func(b *ints) error { b.Frozen(); return nil },
		"GobDecode":        func(*ints) error { return new(ints).GobDecode(encoded) },
		"GobEncode":        func(b *ints) error { return second(b.GobEncode()) },
		"Len":              func(b *ints) error { b.Len(); return nil },
		"MarkHostModified": func(b *ints) error { _ = b.SyncTo(ctx, nil); return b.MarkHostModified() },
		"MarkModified":     func(b *ints) error { return b.MarkModified(s) },
		"Memory":           func(b *ints) error { return second(b.Memory(d)) },
		"Overwrite":        func(b *ints) error { return b.Overwrite(ctx, nothing) },
		"Prefetch":         func(b *ints) error { return b.Prefetch(s) },
		"Reset":            func(b *ints) error { return b.Reset() },
		"Set":              func(b *ints) error { return b.Set(ctx, 1, 1) },
		"Size":             func(b *ints) error { b.Size(); return nil },
		"Slice":            func(b *ints) error { return second(b.Slice(1, 3)) },
		"State":            func(b *ints) error { b.State(); return nil },
		"Stats":            func(b *ints) error { b.Stats(); return nil },
		"String":           func(b *ints) error { _ = b.String(); return nil },
		"SyncTo":           func(b *ints) error { return b.SyncTo(ctx, nil) },
		"TryAcquire":       func(b *ints) error { return held(b.TryAcquire(s, coherence.Read)) },
		"Unfreeze":         func(b *ints) error { _ = b.Freeze(); return b.Unfreeze() },
		"Update":           func(b *ints) error { return b.Update(ctx, nothing) },
		"Values":           func(b *ints) error { return second(b.Values(ctx)) },
		"Version":          func(b *ints) error { b.Version(d); return nil },
		"View":             func(b *ints) error { return b.View(ctx, nothing) },
		"Want": func(b *ints) error {
			l, err := buffer.AcquireAll(ctx, s, b.Want(coherence.Read), made().Want(coherence.ReadWrite))
			if err == nil {
				err = l.Release()
			}
			return err
		},
	})
}

// Evict keeps its buffer also while it waits.
func TestEvictKeepsItsBufferWhileItWaits(t *testing.T) {
	d, err := hal.OpenWith(ctx, host.New(host.Options{Name: "evict", Discrete: 1}), 1)
	require.NoError(t, err)
	b, err := buffer.From(make([]int32, 4321))
	require.NoError(t, err)
	require.NoError(t, b.FillOn(ctx, newStream(t, d), 7))
	require.NoError(t, b.Fill(ctx, 1))
	in, err := d.CopyStream(false)
	require.NoError(t, err)
	g, err := in.Gate()
	require.NoError(t, err)
	var leaked atomic.Bool
	previous := hal.SetLeakHandler(func(l hal.Leak) {
		if l.Object == "buffer of 17284 bytes" {
			leaked.Store(true)
		}
	})
	defer func() { hal.SetLeakHandler(previous) }()
	done := make(chan error)
	evict := func(b *buffer.Buffer[int32]) { done <- b.Evict(ctx, nil) }
	go evict(b)
	for range 100 {
		runtime.GC()
		runtime.Gosched()
	}
	require.False(t, leaked.Load())
	require.NoError(t, g.Signal())
	require.NoError(t, <-done)
}

func second[T any](_ T, err error) error { return err }
