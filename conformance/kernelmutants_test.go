package conformance_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/conformance"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/testing/hooked"
	"github.com/go-halyard/halyard/kernel"
)

// kernelMutants are backends that launch kernels wrongly.
var kernelMutants = map[string]func(b *hooked.Backend){
	"launches nothing": func(b *hooked.Backend) {
		b.Launch = func(*hooked.Stream, driver.Kernel, *driver.Launch) error { return nil }
	},
	"launches twice": func(b *hooked.Backend) {
		b.Launch = func(s *hooked.Stream, k driver.Kernel, l *driver.Launch) error {
			if err := s.PlainLaunch(k, l); err != nil {
				return err
			}
			return s.PlainLaunch(k, l)
		}
	},
	"leaves out the last block": func(b *hooked.Backend) {
		b.Launch = func(s *hooked.Stream, k driver.Kernel, l *driver.Launch) error {
			if l.Grid[0] > 1 {
				l.Grid[0]--
			}
			return s.PlainLaunch(k, l)
		}
	},
	"exchanges two dimensions of the block": func(b *hooked.Backend) {
		b.Launch = func(s *hooked.Stream, k driver.Kernel, l *driver.Launch) error {
			l.Block[0], l.Block[1] = l.Block[1], l.Block[0]
			return s.PlainLaunch(k, l)
		}
	},
	"takes the grid for threads": func(b *hooked.Backend) {
		b.Launch = func(s *hooked.Stream, k driver.Kernel, l *driver.Launch) error {
			l.Grid[0] = (l.Grid[0] + l.Block[0] - 1) / l.Block[0]
			return s.PlainLaunch(k, l)
		}
	},
	"ignores offsets": func(b *hooked.Backend) {
		b.Launch = func(s *hooked.Stream, k driver.Kernel, l *driver.Launch) error {
			for i := range l.Args {
				l.Args[i].Region.Off = 0
			}
			return s.PlainLaunch(k, l)
		}
	},
	"cuts values to 4 bytes": func(b *hooked.Backend) {
		b.Launch = func(s *hooked.Stream, k driver.Kernel, l *driver.Launch) error {
			for i := range l.Args {
				l.Args[i].Bits[0] &= 1<<32 - 1
			}
			return s.PlainLaunch(k, l)
		}
	},
	"cuts structures to 16 bytes": func(b *hooked.Backend) {
		b.Launch = func(s *hooked.Stream, k driver.Kernel, l *driver.Launch) error {
			for i := range l.Args {
				if a := &l.Args[i]; a.Ptr != nil {
					short := make([]byte, a.Size)
					copy(short, unsafe.Slice((*byte)(a.Ptr), 16))
					a.Ptr = unsafe.Pointer(&short[0])
				}
			}
			return s.PlainLaunch(k, l)
		}
	},
	"gives no shared memory": func(b *hooked.Backend) {
		b.Launch = func(s *hooked.Stream, k driver.Kernel, l *driver.Launch) error {
			l.Shared = 0
			return s.PlainLaunch(k, l)
		}
	},
	"waits for the kernel": func(b *hooked.Backend) {
		b.Launch = func(s *hooked.Stream, k driver.Kernel, l *driver.Launch) error {
			if err := s.PlainLaunch(k, l); err != nil {
				return err
			}
			return s.Stream.Sync()
		}
	},
	"launches beside the stream": func(b *hooked.Backend) {
		b.Launch = func(s *hooked.Stream, k driver.Kernel, l *driver.Launch) error {
			other, err := s.Device.Device.NewStream(driver.StreamOptions{})
			if err != nil {
				return err
			}
			return other.(driver.Launcher).Launch(k, l)
		}
	},
	"finds any name": func(b *hooked.Backend) {
		b.Kernel = func(m *hooked.Module, name string) (driver.Kernel, error) {
			if k, err := m.Module.Kernel(name); err == nil {
				return k, nil
			}
			return m.Module.Kernel("put")
		}
	},
	"finds another kernel": func(b *hooked.Backend) {
		b.Kernel = func(m *hooked.Module, name string) (driver.Kernel, error) {
			if name == "add" {
				name = "put"
			}
			return m.Module.Kernel(name)
		}
	},
	"reads again after a barrier what it has read before it": func(b *hooked.Backend) {
		replaceKernel(b, "shift", func(b *kernel.Block) {
			n, at := int(b.Size[0]), int(b.Index[0])*int(b.Size[0])
			x, y := kernel.Slice[uint32](b, 0)[at:][:n], kernel.Slice[uint32](b, 1)[at:][:n]
			copy(y, x)
			for i := range y {
				y[i] = y[(i+1)%n]
			}
		})
	},
	"reads a buffer again after a barrier": func(b *hooked.Backend) {
		replaceKernel(b, "shift_buffer", func(b *kernel.Block) {
			n := int(b.Size[0])
			y := kernel.Slice[uint32](b, 0)[int(b.Index[0])*n:][:n]
			for i := range y {
				y[i] = y[(i+1)%n]
			}
		})
	},
	"knows a parameter too few": func(b *hooked.Backend) {
		b.Kernel = func(m *hooked.Module, name string) (driver.Kernel, error) {
			k, err := m.Module.Kernel(name)
			if err != nil || len(k.Info().Params) == 0 {
				return k, err
			}
			k.Info().Params = k.Info().Params[1:]
			return k, nil
		}
	},
	"knows no limits": func(b *hooked.Backend) {
		b.Info = func(i driver.Info) driver.Info { i.Compute = driver.Compute{}; return i }
	},
	"a failed kernel is not told of": func(b *hooked.Backend) {
		b.Query = func(s *hooked.Stream) (bool, error) { done, _ := s.Stream.Query(); return done, nil }
		b.Sync = func(s *hooked.Stream) error { _ = s.Stream.Sync(); return nil }
		b.QueryEvent = func(e *hooked.Event) (bool, error) { done, _ := e.Event.Query(); return done, nil }
		b.SyncEvent = func(e *hooked.Event) error { _ = e.Event.Sync(); return nil }
	},
	"claims kernels that it does not launch": func(b *hooked.Backend) {
		b.Launch = func(s *hooked.Stream, k driver.Kernel, l *driver.Launch) error {
			return &driver.Error{Op: "launch", Kind: driver.ErrUnsupported}
		}
	},
}

// replaceKernel makes the backend run a function of its own for one kernel.
func replaceKernel(b *hooked.Backend, name string, run func(*kernel.Block)) {
	b.Kernel = func(m *hooked.Module, wanted string) (driver.Kernel, error) {
		if wanted != name {
			return m.Module.Kernel(wanted)
		}
		other, err := m.Device.Device.(driver.Loader).Load(&driver.Image{Format: driver.FormatGo,
			Functions: map[string]driver.Function{name: kernel.Go(run)}})
		if err != nil {
			return nil, err
		}
		return other.Kernel(name)
	}
}

func kernelHarness(plant func(*hooked.Backend)) conformance.Harness {
	b := &hooked.Backend{Backend: host.New(host.Options{Name: "kernels", Discrete: 2, MemoryLimit: 32 << 20})}
	if plant != nil {
		plant(b)
	}
	return conformance.Harness{
		Open:    func(ctx context.Context) (*hal.Device, error) { return hal.OpenWith(ctx, b, 1) },
		Peer:    func(ctx context.Context) (*hal.Device, error) { return hal.OpenWith(ctx, b, 2) },
		Backend: b, Short: true, Match: "^Kernels/", Timeout: 5 * time.Second,
	}
}

// TestKernelMutants runs the group Kernels on backends that launch kernels wrongly on purpose, and fails for each that passes.
func TestKernelMutants(t *testing.T) {
	conformance.Run(t, kernelHarness(nil))
	if raceEnabled {
		t.Skip("backends that do not wait for their work race on purpose")
	}
	previous := hal.SetLeakHandler(func(hal.Leak) {})
	t.Cleanup(func() { hal.SetLeakHandler(previous) })
	var table strings.Builder
	for name, plant := range kernelMutants {
		ctx, stop := context.WithCancel(t.Context())
		killer := ""
		_, err := conformance.Execute(ctx, kernelHarness(plant), func(r conformance.Result) {
			if killer == "" && r.Outcome.Bad() {
				killer = r.Check.Name
				stop()
			}
		})
		stop()
		if killer == "" {
			require.NoError(t, err)
			t.Errorf("%q survives", name)
		}
		fmt.Fprintf(&table, "%-56s %s\n", name, killer)
	}
	t.Logf("%d mutants:\n%s", len(kernelMutants), table.String())
}
