package array_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/buffer/array"
)

// The cost of an access by the number of ranges that it holds at once.
func BenchmarkView(b *testing.B) {
	a, err := array.New[int32](1024, 16)
	require.NoError(b, err)
	defer a.Close()
	fn := func(array.Accessor[int32]) error { return nil }
	for _, rows := range []int{1, 16, 256, 1024} {
		v, err := a.Slice(array.Between(0, rows), array.Between(0, 8))
		require.NoError(b, err)
		b.Run(fmt.Sprint(rows), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := v.View(ctx, fn); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkElements(b *testing.B) {
	const n = 256
	a, err := array.New[int32](n, n)
	require.NoError(b, err)
	defer a.Close()
	for name, walk := range map[string]func(array.Accessor[int32]) error{
		"At": func(g array.Accessor[int32]) error {
			for i := range n {
				for j := range n {
					if _, err := g.At(i, j); err != nil {
						return err
					}
				}
			}
			return nil
		},
		"All": func(g array.Accessor[int32]) error {
			for _, p := range g.All() {
				_ = *p
			}
			return nil
		},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := a.View(ctx, walk); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(n*n), "ns/element")
		})
	}
}

func BenchmarkTransposedPack(b *testing.B) {
	const n = 1024
	a, err := array.New[float32](n, n)
	require.NoError(b, err)
	defer a.Close()
	v, err := a.Transpose()
	require.NoError(b, err)
	b.SetBytes(4 * n * n)
	for b.Loop() {
		p, err := v.Pack(ctx)
		require.NoError(b, err)
		require.NoError(b, p.Close())
	}
}
