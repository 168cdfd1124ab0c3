package conformance_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/conformance"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/testing/hooked"
)

// freeWhenIdle frees memory as CUDA and HIP do: when all streams of all devices have done what they had to.
func freeWhenIdle(m *hooked.Memory) error {
	if !m.Lent {
		for _, s := range own(m.Device).b.all() {
			_ = s.Sync()
		}
	}
	return free(m)
}

// Memory that says that its free waits is not freed while the program holds a gate shut.
func TestFreesThatWait(t *testing.T) {
	conformance.Run(t, newShim(hooks{Free: freeWhenIdle, FreeMayBlock: func(m *hooked.Memory) bool { return !m.Lent }}).harness())
}

// What a device without gates cannot be made to wait for is not held against it.
func TestDevicesWithoutGates(t *testing.T) {
	b, other := &hooked.Backend{Backend: host.New(host.Options{Name: "gateless", Discrete: 2})}, host.New(host.Options{Name: "other", Discrete: 1})
	b.Info = func(i driver.Info) driver.Info {
		i.Caps &^= driver.CapGate
		return i
	}
	var busy sync.Map // streams with work since the last Sync
	b.Drop = func(s *hooked.Stream, _ string) bool {
		busy.Store(s, true)
		return false
	}
	b.Sync = func(s *hooked.Stream) error {
		busy.Delete(s)
		return s.Stream.Sync()
	}
	b.CloseStream = func(s *hooked.Stream) error {
		busy.Delete(s)
		return s.Stream.Close()
	}
	b.Record = func(s *hooked.Stream, e *hooked.Event) error {
		_, late := busy.Load(s)
		e.Data = new(atomic.Bool)
		e.Data.(*atomic.Bool).Store(late)
		return s.Stream.Record(e.Event)
	}
	b.QueryEvent = func(e *hooked.Event) (bool, error) { // an event of work is not done when it is asked for the first time
		if late, ok := e.Data.(*atomic.Bool); ok && late.Swap(false) {
			return false, nil
		}
		return e.Event.Query()
	}
	conformance.Run(t, conformance.Harness{
		Open:    func(ctx context.Context) (*hal.Device, error) { return hal.OpenWith(ctx, b, 1) },
		Peer:    func(ctx context.Context) (*hal.Device, error) { return hal.OpenWith(ctx, b, 2) },
		Others:  []func(context.Context) (*hal.Device, error){func(ctx context.Context) (*hal.Device, error) { return hal.OpenWith(ctx, other, 1) }},
		Backend: b,
		Short:   true,
	})
}
