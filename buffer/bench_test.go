package buffer_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
)

// sizes show that the cost of an access that moves nothing does not depend on the buffer's size.
var sizes = []int{1 << 10, 1 << 20, 1 << 26}

func BenchmarkAcquireRelease(b *testing.B) {
	for _, mode := range []coherence.Action{coherence.Read, coherence.ReadWrite} {
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
					l, err := x.Acquire(s, mode)
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
