package kernel_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/testing/fixture"
	"github.com/go-halyard/halyard/internal/testing/hooked"
	"github.com/go-halyard/halyard/kernel"
	"github.com/go-halyard/halyard/kernel/gridgen"
)

// A launch whose indexes are checked and that is given up returns without its kernel, and has enqueued nothing behind it: on OpenCL the leases' event would tell how that ended, and not the kernel.
func TestAGivenUpLaunchWithCheckedIndexes(t *testing.T) {
	kernel.SetCheckingBounds(true)
	defer kernel.SetCheckingBounds(false)
	t.Setenv("HALYARD_KERNEL_CACHE", t.TempDir())
	hooks := &hooked.Backend{Backend: host.New(host.Options{Name: "givesup", Discrete: 1})}
	var copies atomic.Int32
	hooks.Call = func(op string, _ int) error {
		if op == "CopyOut" {
			copies.Add(1)
		}
		return nil
	}
	s := fixture.Stream(t, fixture.Device(t, &compiling{Backend: hooks, id: "compiler 1"}, 1))
	p := kernel.New(kernel.Source{Portable: "text", Source: gridgen.Source{Indexes: []string{"kernels.go:7"}}})
	x, y := made[uint32](t, 1), made[uint32](t, 0)
	launch := func(ctx context.Context) error {
		return p.Kernel("add").Launch(ctx, s, hal.Over(1), kernel.In(x), kernel.Out(y))
	}
	require.NoError(t, launch(ctx))
	require.EqualValues(t, 1, copies.Swap(0), "a launch reads its record of faults")

	g := fixture.Gate(t, s)
	short, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	given := make(chan error, 1)
	go func() { given <- launch(short) }()
	select {
	case err := <-given:
		require.ErrorIs(t, err, hal.ErrNotReady)
		require.Zero(t, copies.Load(), "something follows the kernel")
	case <-time.After(10 * time.Second):
		t.Error("the launch waits for its kernel although its context has ended")
	}
	require.NoError(t, g.Signal())
	require.Equal(t, []uint32{2}, contents(t, y))
	require.NoError(t, p.Close())
}

// A launch that is given up while its program compiles says that, and the compiler goes on.
func TestGivenUpWhileCompiling(t *testing.T) {
	b, loading, hold := newFailing(nil), make(chan struct{}), make(chan struct{})
	b.Call = func(op string, _ int) error {
		if op == "Load" {
			close(loading)
			<-hold
		}
		return nil
	}
	s := b.streams(t)[0]
	k := kernel.New(kernel.Source{Name: "slow", Go: kernel.Functions{"f": kernel.Go(func(*kernel.Block) {})}}).Kernel("f")
	over, cancel := context.WithCancel(ctx)
	go func() {
		<-loading
		cancel()
	}()
	err := k.Launch(over, s, hal.Over(1))
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorContains(t, err, "still compiling slow for ")
	close(hold)
	require.NoError(t, k.Launch(ctx, s, hal.Over(1)))
	require.NoError(t, s.Sync(ctx))
}
