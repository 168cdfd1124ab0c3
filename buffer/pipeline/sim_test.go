//go:build cuda && hip && linux

package pipeline_test

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/buffer/pipeline"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/testing/cudahiptest"
)

// The simulated drivers run work in any order that streams and events allow.
func TestAnyOrder(t *testing.T) {
	cudahiptest.EachSimulated(t, func(t *testing.T, sim cudahiptest.Simulated) {
		for seed := range uint64(60) {
			require.NoError(t, sim.Reset(seed))
			d, err := hal.Open(ctx, sim.Device)
			require.NoError(t, err)
			seen := 0
			require.NoError(t, pipeline.Run(ctx, d, 300, numbers(5000), duplicate, inOrder(&seen), pipeline.WithDepth(1+int(seed%4))))
			require.Equal(t, 5000, seen)
			require.NoError(t, d.Close())
			sim.Kept(t, "seed", seed)
		}
	})
}

// Whatever call of the vendor's fails, the sink has had a beginning of the results, each right, or all of them, and nothing is left
// behind.
func TestEveryVendorCallFails(t *testing.T) {
	cudahiptest.EachSimulated(t, func(t *testing.T, sim cudahiptest.Simulated) {
		sim.FailEachCall(t, 20, func(n uint64, during func(func())) {
			d, err := hal.Open(ctx, sim.Device)
			require.NoError(t, err)
			seen := 0
			during(func() {
				err = pipeline.Run(ctx, d, 300, numbers(1000), duplicate, inOrder(&seen))
			})
			if err == nil {
				require.Equal(t, 1000, seen, "call %d", n)
			} else {
				require.NotContains(t, err.Error(), "result ", "call %d", n)
			}
			require.NoError(t, d.Close(), "call %d", n)
		})
	})
}

// BenchmarkPipeline compares a pipeline with a loop that does one chunk after the other, over the modelled bus of
// cudahiptest.SlowLink, which carries one copy at a time. The source makes its elements and the sink hashes the results, on the
// processor; the device's work is a copy within it. The loop has page-locked memory too. Four
// stages of which two share the link cannot gain more than a factor of 2 where all take equally long.
func BenchmarkPipeline(b *testing.B) {
	const chunk, chunks = 1 << 18, 16 // 1 MiB each
	for _, sim := range cudahiptest.Simulate(b) {
		sim.SlowLink(b)
		d, err := hal.Open(ctx, sim.Device)
		require.NoError(b, err)
		b.Run(sim.Device, func(b *testing.B) {
			b.SetBytes(2 * 4 * chunk * chunks)
			piped, looped := time.Duration(0), time.Duration(0)
			for b.Loop() {
				start := time.Now()
				source, sink := busy(chunks)
				require.NoError(b, pipeline.Run(ctx, d, chunk, source, duplicate, sink))
				piped += time.Since(start)
				b.StopTimer()
				start = time.Now()
				source, sink = busy(chunks)
				require.NoError(b, loop(d, chunk, source, sink))
				looped += time.Since(start)
				b.StartTimer()
			}
			b.ReportMetric(float64(looped)/float64(piped), "loop/pipeline")
		})
		require.NoError(b, d.Close())
	}
}

// busy is a source of so many chunks and a sink, each of which has work to do on every element.
func busy(chunks int) (pipeline.Source[int32], pipeline.Sink[int32]) {
	x := uint64(1)
	source := func(_ context.Context, fill []int32) (int, error) {
		if chunks--; chunks < 0 {
			return 0, io.EOF
		}
		for i := range fill {
			x ^= x << 13
			x ^= x >> 7
			x ^= x << 17
			fill[i] = int32(x)
		}
		return len(fill), nil
	}
	var sum [sha256.Size]byte
	return source, func(_ context.Context, results []int32) error {
		h := sha256.New()
		_, _ = h.Write(sum[:])
		if err := binary.Write(h, binary.NativeEndian, results); err != nil {
			return err
		}
		h.Sum(sum[:0])
		return nil
	}
}

// loop does one chunk after the other.
func loop(d *hal.Device, chunk int, source pipeline.Source[int32], sink pipeline.Sink[int32]) error {
	in, err := buffer.New[int32](chunk, buffer.WithPinnedHost(d))
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := buffer.New[int32](chunk, buffer.WithPinnedHost(d))
	if err != nil {
		return err
	}
	defer out.Close()
	s, err := d.NewStream()
	if err != nil {
		return err
	}
	defer s.Close()
	for {
		n := 0
		last := false
		err := in.Overwrite(ctx, func(fill []int32) (err error) {
			if n, err = source(ctx, fill); err == io.EOF {
				last, err = true, nil
			}
			return err
		})
		if err != nil || n == 0 && last {
			return err
		}
		from, err := in.TryAcquire(s, coherence.Read)
		if err != nil {
			return err
		}
		to, err := out.TryAcquire(s, coherence.Overwrite)
		if err != nil {
			return err
		}
		_, err = duplicate(pipeline.Work{N: n, Stream: s, In: from, Results: to})
		_, _ = from.Release(), to.Release()
		if err != nil {
			return err
		}
		if err := out.View(ctx, func(r []int32) error { return sink(ctx, r) }); err != nil || last {
			return err
		}
	}
}
