package pool_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	_ "github.com/go-halyard/halyard/backends"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/pool"
)

// together runs fn n times in all on so many goroutines, and returns how long that took.
func together(goroutines, n int, fn func(goroutine int)) time.Duration {
	var ready, done sync.WaitGroup
	begin := make(chan struct{})
	for i := range goroutines {
		ready.Add(1)
		done.Add(1)
		go func() {
			defer done.Done()
			ready.Done()
			<-begin
			for range n / goroutines {
				fn(i)
			}
		}()
	}
	ready.Wait()
	start := time.Now()
	close(begin)
	done.Wait()
	return time.Since(start)
}

// BenchmarkAllocFree allocates and frees a block from a pool, on one goroutine and on 64 with a stream for all or
// one each, on every device that there is (with -tags opencl and so on, also on those). In turns with it the device
// itself allocates and gives back as much from as many goroutines: "device-ns/op", and "times-device" is how
// many times faster the pool is.
func BenchmarkAllocFree(b *testing.B) {
	infos, err := hal.Devices(ctx)
	require.NoError(b, err)
	for _, info := range infos {
		for _, row := range []struct {
			kind                hal.Kind
			size                uint64
			goroutines, streams int
		}{
			{hal.KindDevice, 256, 1, 1}, {hal.KindDevice, 4 * kib, 1, 1}, {hal.KindDevice, mib, 1, 1}, {hal.KindDevice, 64 * mib, 1, 1},
			{hal.KindDevice, 4 * kib, 64, 1}, {hal.KindDevice, 4 * kib, 64, 64},
			{hal.KindShared, 4 * kib, 1, 1}, {hal.KindShared, 4 * kib, 64, 64},
		} {
			if row.kind == hal.KindShared && !info.Caps.Has(hal.CapShared) {
				continue
			}
			name := fmt.Sprintf("%s/%s/%d bytes/%d goroutines, %d streams", info.Name(), row.kind, row.size, row.goroutines, row.streams)
			b.Run(name, func(b *testing.B) {
				d, err := hal.Open(ctx, info.Name())
				require.NoError(b, err)
				defer func() { require.NoError(b, d.Close()) }()
				p, err := pool.New(d)
				require.NoError(b, err)
				defer func() { require.NoError(b, p.Close()) }()
				streams := make([]*hal.Stream, row.streams)
				for i := range streams {
					streams[i], err = d.NewStream()
					require.NoError(b, err)
					defer streams[i].Close()
				}
				cycle := func(i int) {
					s := streams[i%len(streams)]
					x, err := p.Alloc(s, row.kind, row.size)
					if err == nil {
						err = x.Free(s)
					}
					if err != nil {
						b.Error(err)
					}
				}
				together(row.goroutines, row.goroutines, cycle)
				raw := func(int) {
					m, err := d.Alloc(row.kind, row.size, 0)
					if err == nil {
						err = m.Close()
					}
					if err != nil {
						b.Error(err)
					}
				}
				b.ReportAllocs()
				b.ResetTimer()
				var pooled, device time.Duration
				var cycles, raws int
				for left := b.N; left > 0; {
					n := (min(left, 1<<17) + row.goroutines - 1) / row.goroutines * row.goroutines
					pooled += together(row.goroutines, n, cycle)
					cycles += n
					left -= n
					if row.size > mib {
						continue
					}
					b.StopTimer()
					const turn = 512
					device += together(row.goroutines, turn, raw)
					raws += turn
					b.StartTimer()
				}
				b.StopTimer()
				if raws > 0 {
					perOp := float64(device) / float64(raws)
					b.ReportMetric(perOp, "device-ns/op")
					b.ReportMetric(perOp/(float64(pooled)/float64(cycles)), "times-device")
				}
			})
		}
	}
}

// BenchmarkStreams is what n streams of a pool cost: one more that comes and goes, with and without Retire, and a block
// of each in turn.
func BenchmarkStreams(b *testing.B) {
	for _, n := range []int{1, 100, 1000, 10000, 100000} {
		d := openHost(b, 0, 0)
		p, err := pool.New(d)
		require.NoError(b, err)
		streams := make([]*hal.Stream, n)
		cycle := func(s *hal.Stream) {
			x, err := p.Alloc(s, hal.KindDevice, 4*kib)
			if err == nil {
				err = x.Free(s)
			}
			if err != nil {
				b.Fatal(err)
			}
		}
		blocks := make([]pool.Block, n)
		for i := range streams {
			streams[i], err = d.NewStream()
			require.NoError(b, err)
			blocks[i] = alloc(b, p, streams[i], 4*kib)
		}
		for i := range streams {
			free(b, blocks[i], streams[i])
		}
		b.Run(fmt.Sprintf("AllocFree/%d", n), func(b *testing.B) {
			i := 0
			for b.Loop() {
				cycle(streams[i])
				if i++; i == n {
					i = 0
				}
			}
		})
		for _, retire := range []bool{true, false} {
			b.Run(fmt.Sprintf("Join/%d/retire=%t", n, retire), func(b *testing.B) {
				for b.Loop() {
					s, err := d.NewStream()
					require.NoError(b, err)
					cycle(s)
					if retire {
						require.NoError(b, p.ForgetStream(s))
					}
					require.NoError(b, s.Close())
				}
			})
		}
		for _, s := range streams {
			require.NoError(b, s.Close())
		}
		require.NoError(b, p.Close())
	}
}
