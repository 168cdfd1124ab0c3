package dlpack_test

import (
	"bytes"
	"context"
	"runtime"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/buffer/dlpack"
	"github.com/go-halyard/halyard/buffer/dlpack/internal/abi"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/testing/hooked"
)

func TestDeleterOfRefusedAttempt(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	// Memory is adopted as some OpenCL devices do: the host cannot access it.
	d, err := hal.OpenWith(ctx, &hooked.Backend{Backend: host.New(host.Options{}), HostPointer: func(*hooked.Memory) unsafe.Pointer { return nil }}, 0)
	require.NoError(t, err)
	defer func() { require.NoError(t, d.Close()) }()
	f := makeForeign(t, false, []int64{4}, nil, 0, 0)
	b, _, err := dlpack.Import[int32](ctx, f.Managed, dlpack.WithDevice(d))
	require.NoError(t, err)
	for range 100 {
		runtime.Gosched()
	}
	require.Zero(t, f.calls(), "the tensor is in use")
	require.NoError(t, b.Close())
	require.EqualValues(t, 1, f.calls())
}

// waits reports whether a goroutine waits for a channel in a function.
func waits(function string) bool {
	stacks := make([]byte, 1<<20)
	for _, g := range bytes.Split(stacks[:runtime.Stack(stacks, true)], []byte("\n\n")) {
		head, frames, _ := bytes.Cut(g, []byte("\n"))
		top, _, _ := bytes.Cut(frames, []byte("\n"))
		if bytes.Contains(head, []byte("[chan receive")) && bytes.Contains(top, []byte(function)) {
			return true
		}
	}
	return false
}

// A tensor that is refused after all is the caller's only when no copy reads it any more.
func TestRefusedCopyIsOverWhenImportReturns(t *testing.T) {
	// A copy within the device is reported to have failed, though it has been enqueued, behind a gate.
	gates := make(chan driver.Gate)
	backend := &hooked.Backend{Backend: host.New(host.Options{Name: "cuda", Discrete: 1}),
		Copy: func(s *hooked.Stream, dst, src driver.Region, _ bool) error {
			g, err := s.PlainGate()
			if err != nil {
				return err
			}
			if err := s.Stream.Copy(dst, src); err != nil {
				return err
			}
			gates <- g
			return &driver.Error{Op: "copy", Backend: "cuda", Kind: driver.ErrDriver}
		}}
	d, err := hal.OpenWith(ctx, backend, 1)
	require.NoError(t, err)
	f := makeForeign(t, false, []int64{4}, nil, 0, 0)
	f.tensor().device = abi.Device{Type: abi.CUDA, ID: 1}
	result := make(chan error, 1)
	go func() {
		_, _, err := dlpack.Import[int32](ctx, f.Managed, dlpack.WithDevice(d), dlpack.WithCopy(true))
		result <- err
	}()
	g := <-gates
	require.Eventually(t, func() bool { return len(result) > 0 || waits("dlpack.imported[") }, 10*time.Second, time.Millisecond)
	require.Empty(t, result, "the copy has not run yet")
	require.NoError(t, g.Open())
	require.ErrorIs(t, <-result, hal.ErrDriver)
	require.Zero(t, f.calls(), "the tensor is the caller's")
	require.NoError(t, d.Close())
	require.NoError(t, f.Delete())
	require.EqualValues(t, 1, f.calls())
}

// An Import that is refused before a copy was made does not wait for what else goes on.
func TestRefusedImportDoesNotWait(t *testing.T) {
	f := makeForeign(t, false, []int64{4}, nil, 0, 0) // skips the test where there is no C compiler, before anything is open
	f.tensor().device = abi.Device{Type: abi.CUDA, ID: 1}
	d, err := hal.OpenWith(ctx, host.New(host.Options{Name: "cuda", Discrete: 1}), 1)
	require.NoError(t, err)
	s := newStream(t, d)
	g, err := s.Gate()
	require.NoError(t, err)
	copies, err := d.CopyStream(false)
	require.NoError(t, err)
	require.NoError(t, copies.WaitStream(s)) // as any copy does of what s writes
	over, cancel := context.WithCancel(ctx)
	cancel()
	_, _, err = dlpack.Import[int32](over, f.Managed, dlpack.WithDevice(d), dlpack.WithCopy(true))
	require.ErrorIs(t, err, hal.ErrNotReady)
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, g.Signal())
	require.NoError(t, f.Delete())
	require.NoError(t, s.Sync(ctx))
	require.NoError(t, s.Close())
	require.NoError(t, d.Close())
}
