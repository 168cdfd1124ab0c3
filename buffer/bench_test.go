package buffer_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/pool"
)

// sizes show that the cost of an access that moves nothing does not depend on the buffer's size.
var sizes = []int{1 << 10, 1 << 20, 1 << 26}

func BenchmarkAcquireRelease(b *testing.B) {
	for _, mode := range []coherence.Mode{coherence.Read, coherence.ReadWrite} {
		for _, n := range sizes {
			b.Run(fmt.Sprintf("%v/%d", mode, n), func(b *testing.B) {
				d := openMany(b, "one", 1, 1)[0]
				s := newStream(b, d)
				x, err := buffer.New[float32](n / 4)
				require.NoError(b, err)
				defer x.Close()
				require.NoError(b, x.SyncTo(ctx, d))
				b.ReportAllocs()
				for b.Loop() {
					l, err := x.TryAcquire(s, mode)
					if err != nil {
						b.Fatal(err)
					}
					if err := l.Release(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkAcquireBehindCopy is Acquire and Release while the copy that brings the bytes is still under way.
func BenchmarkAcquireBehindCopy(b *testing.B) {
	d := openMany(b, "one", 1, 1)[0]
	s := newStream(b, d)
	x := newBuffer(b, make([]float32, 1<<10))
	g, err := s.Gate()
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, g.Signal()) })
	require.NoError(b, x.Prefetch(s))
	b.ReportAllocs()
	for b.Loop() {
		l, err := x.TryAcquire(s, coherence.Read)
		if err != nil {
			b.Fatal(err)
		}
		if err := l.Release(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkView(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			x, err := buffer.New[float32](n / 4)
			require.NoError(b, err)
			defer x.Close()
			fn := func([]float32) error { return nil }
			require.NoError(b, x.View(ctx, fn))
			b.ReportAllocs()
			for b.Loop() {
				if err := x.View(ctx, fn); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkIntervals is Acquire and Release of one element that is current on the device, in a buffer with 1, a thousand
// and a million ranges that have states of their own. "growth" is how much longer it takes than with 1, "log2" how
// many times longer it would take if it took log2 of the number of intervals, plus one.
func BenchmarkIntervals(b *testing.B) {
	d := openMany(b, "one", 1, 1)[0]
	s := newStream(b, d)
	base := 0.0
	for _, n := range []int{1, 1e3, 1e6} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			x, err := buffer.New[uint8](n)
			require.NoError(b, err)
			defer x.Close()
			require.NoError(b, x.SyncTo(ctx, d))
			for i := 1; i < n; i += 2 {
				require.NoError(b, x.Set(ctx, i, 1)) // current on the host alone from now on
			}
			require.Equal(b, n, buffer.Intervals(x))
			rng := rand.New(rand.NewPCG(1, 2))
			parts := make([]*buffer.Buffer[uint8], 1<<10)
			for i := range parts {
				at := rng.IntN((n+1)/2) * 2
				parts[i], err = x.Slice(at, at+1)
				require.NoError(b, err)
			}
			before := x.Stats().BytesCopied
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				l, err := parts[i%len(parts)].TryAcquire(s, coherence.Read)
				if err != nil {
					b.Fatal(err)
				}
				if err := l.Release(); err != nil {
					b.Fatal(err)
				}
				i++
			}
			b.StopTimer()
			require.Equal(b, before, x.Stats().BytesCopied)
			ns := float64(b.Elapsed().Nanoseconds()) / float64(b.N)
			if n == 1 {
				base = ns
			}
			if base > 0 {
				b.ReportMetric(ns/base, "growth")
				b.ReportMetric(1+math.Log2(float64(n)), "log2")
			}
		})
	}
}

// BenchmarkReplica makes a buffer, has the device overwrite it, and closes it, with memory of the device and of a
// pool. "none-ns/op" is the same with no replica made: a second buffer has one already.
func BenchmarkReplica(b *testing.B) {
	for _, size := range []int{4 << 10, 16 << 20} {
		for _, from := range []string{"device", "pool"} {
			b.Run(fmt.Sprintf("%s/%d", from, size), func(b *testing.B) {
				d := openMany(b, "one", 1, 1)[0]
				s := newStream(b, d)
				if from == "pool" {
					pooled(b, d)
				}
				use := func(x *buffer.Buffer[uint8]) {
					l, err := x.TryAcquire(s, coherence.Overwrite)
					if err == nil {
						err = l.Release()
					}
					if err != nil {
						b.Fatal(err)
					}
				}
				kept, err := buffer.New[uint8](size)
				require.NoError(b, err)
				defer kept.Close()
				use(kept)
				b.ReportAllocs()
				for b.Loop() {
					x, err := buffer.New[uint8](size)
					if err != nil {
						b.Fatal(err)
					}
					use(x)
					if err := x.Close(); err != nil {
						b.Fatal(err)
					}
				}
				b.StopTimer()
				begin := time.Now()
				for range b.N {
					x, err := buffer.New[uint8](size)
					if err != nil {
						b.Fatal(err)
					}
					use(kept)
					if err := x.Close(); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(time.Since(begin).Nanoseconds())/float64(b.N), "none-ns/op")
			})
		}
	}
}

// BenchmarkOne is one element read and written on the host.
func BenchmarkOne(b *testing.B) {
	x := newBuffer(b, make([]float32, 1000))
	b.ReportAllocs()
	for b.Loop() {
		v, err := x.At(ctx, 500)
		if err == nil {
			err = x.Set(ctx, 501, v)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkReplicaMemory takes the memory of a replica and gives it back, from the device and from a pool, and on the
// pool alone.
func BenchmarkReplicaMemory(b *testing.B) {
	const size = 1 << 20
	for _, from := range []string{"device", "pool", "pool alone"} {
		b.Run(from, func(b *testing.B) {
			d := openMany(b, "one", 1, 1)[0]
			s := newStream(b, d)
			var p *pool.Pool
			if from != "device" {
				p = pooled(b, d)
			}
			x, err := buffer.New[uint8](size)
			require.NoError(b, err)
			defer x.Close()
			b.ReportAllocs()
			for b.Loop() {
				if from != "pool alone" {
					err = buffer.Cycle(x, s)
				} else if block, aerr := p.Alloc(s, hal.KindDevice, size); aerr == nil {
					err = block.Free(s)
				} else {
					err = aerr
				}
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
