package pool_test

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/pool"
)

// compareWithDevice reports how many times faster than one Alloc and Close of the device an Alloc
// and Free of a pool is, measured here.
func compareWithDevice(b *testing.B, d *hal.Device, size uint64, n int, took time.Duration) {
	const rounds = 2000
	start := time.Now()
	for range rounds {
		m, err := d.Alloc(hal.KindDevice, size, 0)
		require.NoError(b, err)
		require.NoError(b, m.Close())
	}
	device := time.Since(start) / rounds
	pooled := float64(took) / float64(n)
	b.ReportMetric(float64(device), "device-ns/op")
	b.ReportMetric(float64(device)/pooled, "times-device")
}

func cycle(b *testing.B, p pool.Allocator, s *hal.Stream, size uint64) {
	x, err := p.Alloc(s, hal.KindDevice, size)
	if err != nil {
		b.Error(err)
		return
	}
	if err := x.Free(s); err != nil {
		b.Error(err)
	}
}

func BenchmarkAllocFree(b *testing.B) {
	for _, row := range []struct {
		name string
		size uint64
	}{{"256B", 256}, {"4KiB", 4 << 10}, {"1MiB", 1 << 20}, {"64MiB", 64 << 20}} {
		b.Run(row.name, func(b *testing.B) {
			d := openHost(b, 0, 0)
			p, s := newPool(b, d, pool.Options{}), newStream(b, d)
			b.ReportAllocs()
			start := time.Now()
			for b.Loop() {
				cycle(b, p, s, row.size)
			}
			took := time.Since(start)
			if row.size <= 4<<10 {
				compareWithDevice(b, d, row.size, b.N, took)
			}
		})
	}
}

// Goroutines that share a stream, and goroutines that have one each.
func BenchmarkAllocFree64Goroutines(b *testing.B) {
	const goroutines = 64
	for _, row := range []struct {
		name    string
		streams int
	}{{"one stream", 1}, {"64 streams", goroutines}} {
		b.Run(row.name, func(b *testing.B) {
			d := openHost(b, 0, 0)
			p := newPool(b, d, pool.Options{})
			streams := make([]*hal.Stream, row.streams)
			for i := range streams {
				streams[i] = newStream(b, d)
			}
			per := b.N/goroutines + 1
			var ready, done sync.WaitGroup
			begin := make(chan struct{})
			for i := range goroutines {
				ready.Add(1)
				done.Add(1)
				go func() {
					defer done.Done()
					s := streams[i%len(streams)]
					cycle(b, p, s, 4096)
					ready.Done()
					<-begin
					for range per {
						cycle(b, p, s, 4096)
					}
				}()
			}
			ready.Wait()
			b.ReportAllocs()
			b.ResetTimer()
			start := time.Now()
			close(begin)
			done.Wait()
			took := time.Since(start)
			b.StopTimer()
			compareWithDevice(b, d, 4096, per*goroutines, took)
			// What one goroutine waits for one alloc and free, were they to run one after the other.
			b.ReportMetric(float64(took)*float64(min(goroutines, runtime.GOMAXPROCS(0)))/float64(per*goroutines), "cpu-ns/op")
		})
	}
}

func BenchmarkDeviceAllocClose(b *testing.B) {
	d := openHost(b, 0, 0)
	b.ReportAllocs()
	for b.Loop() {
		m, err := d.Alloc(hal.KindDevice, 4096, 0)
		if err != nil {
			b.Fatal(err)
		}
		_ = m.Close()
	}
	_ = context.Background()
}
