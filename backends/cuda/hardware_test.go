//go:build cuda && linux

package cuda

import (
	stdcontext "context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	hosts "github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/pool"
	"github.com/go-halyard/halyard/internal/model"
	"github.com/go-halyard/halyard/internal/testing/cudahiptest"
)

// The tests of this file run on NVIDIA hardware, and are skipped on machines that have none.

func TestHardwareConformance(t *testing.T) { cudahiptest.ConformHardware(t, New(), codes, "nvidia") }

func TestHardware(t *testing.T) { cudahiptest.RunHardware(t, New(), "nvidia") }

// TestHardwareModel runs the seeded model of a buffer over the host, a discrete device of the host backend and
// every CUDA device, each with two streams.
func TestHardwareModel(t *testing.T) {
	backend := New()
	n := len(cudahiptest.Hardware(t, backend, "nvidia"))
	ctx := stdcontext.Background()
	var fleet model.Fleet
	add := func(d *hal.Device, err error) {
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, d.Close()) })
		var streams []*hal.Stream
		for range 2 {
			s, err := d.NewStream()
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, s.Close()) })
			streams = append(streams, s)
		}
		fleet.Devices, fleet.Streams = append(fleet.Devices, d), append(fleet.Streams, streams)
	}
	far := hosts.New(hosts.Options{Discrete: 1})
	for i := range 2 {
		add(hal.OpenWith(ctx, far, i))
	}
	for i := range n {
		add(hal.OpenWith(ctx, backend, i))
	}
	// Slow machines run fewer seeds, but at least 50.
	const least, most, enough = 50, 5000, 20 * time.Second
	seed := uint64(0)
	defer func() { t.Logf("the last of %d seeds over %d devices", seed, len(fleet.Devices)) }()
	for start := time.Now(); seed < least || seed < most && time.Since(start) < enough; {
		seed++
		p := model.Generate(model.Seeded(seed), fleet, 64, 30)
		require.NoError(t, model.Run[uint16](ctx, fleet, p), "seed %d: %s", seed, p)
	}
}

func BenchmarkHardware(b *testing.B) {
	cudahiptest.BenchHardware(b, New(), "nvidia", raw(b, libraries()...))
}

// BenchmarkHardwarePool allocates and frees in the order of a stream, from a pool that has the memory already.
func BenchmarkHardwarePool(b *testing.B) {
	backend := New()
	cudahiptest.Hardware(b, backend, "nvidia")
	dev, err := hal.OpenWith(stdcontext.Background(), backend, 0)
	require.NoError(b, err)
	defer func() { require.NoError(b, dev.Close()) }()
	s, err := dev.NewStream()
	require.NoError(b, err)
	defer func() { require.NoError(b, s.Close()) }()
	p, err := pool.New(dev)
	require.NoError(b, err)
	defer func() { require.NoError(b, p.Close()) }()
	for _, size := range cudahiptest.Sizes {
		b.Run(fmt.Sprintf("%d/alloc/pool", size), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				block, err := p.Alloc(s, hal.KindDevice, uint64(size))
				if err == nil {
					err = block.Free(s)
				}
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestHardwareQueueDepth logs how many operations a stream takes behind a shut gate before its calls wait. Nothing may be lost then.
func TestHardwareQueueDepth(t *testing.T) {
	cudahiptest.Hardware(t, New(), "nvidia")
	ctx := stdcontext.Background()
	d, err := hal.OpenWith(ctx, New(), 0)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	const most = 3000
	m, err := d.Alloc(hal.KindDevice, most, 0)
	require.NoError(t, err)
	locked, err := d.Alloc(hal.KindHost, most, 0)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, errors.Join(m.Close(), locked.Close())) })
	pageable := make([]byte, most)
	cell := func(m *hal.Memory, i int) hal.Region { return m.Region(uint64(i), 1) }
	for name, do := range map[string]func(s *hal.Stream, i int) error{
		"fills":                        func(s *hal.Stream, i int) error { return s.Fill(cell(m, i), hal.Pattern8(7)) },
		"copies of page-locked memory": func(s *hal.Stream, i int) error { return s.Copy(cell(m, i), cell(locked, i)) },
		"copies of pageable memory in": func(s *hal.Stream, i int) error { return s.CopyIn(cell(m, i), pageable[i:i+1]) },
		"copies to pageable memory":    func(s *hal.Stream, i int) error { return s.CopyOut(pageable[i:i+1], cell(m, i)) },
	} {
		t.Run(name, func(t *testing.T) {
			s, err := d.NewStream()
			require.NoError(t, err)
			defer func() { require.NoError(t, s.Close()) }()
			gate, err := s.Gate()
			require.NoError(t, err)
			var done atomic.Int64
			failed := make(chan error, 1)
			go func() {
				for i := range most {
					if err := do(s, i); err != nil {
						failed <- err
						return
					}
					done.Add(1)
				}
				failed <- nil
			}()
			for before := int64(-1); before != done.Load(); {
				before = done.Load()
				time.Sleep(200 * time.Millisecond)
			}
			t.Logf("%d of %d operations do not wait", done.Load(), most)
			require.NoError(t, gate.Signal())
			require.NoError(t, <-failed)
			require.NoError(t, s.Sync(ctx))
		})
	}
}
