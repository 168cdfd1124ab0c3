package kernelcache

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/hal/driver"
)

// BenchmarkGet compares Get with reading a file of the same size and its checksum, which is the least that it can cost.
func BenchmarkGet(b *testing.B) {
	for _, size := range []int{5_000, 200_000} {
		c, key := Open(b.TempDir(), 0), NewKey()
		img := &driver.Image{Format: driver.FormatCubin, Data: make([]byte, size), Params: example().Params}
		for i := range img.Data {
			img.Data[i] = byte(rand.Uint32())
		}
		require.NoError(b, c.Put(key, img))
		b.Run(fmt.Sprintf("cache/%d", size), func(b *testing.B) {
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				if _, ok := c.Get(key); !ok {
					b.Fatal("not there")
				}
			}
		})
		b.Run(fmt.Sprintf("file/%d", size), func(b *testing.B) {
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				data, err := os.ReadFile(path(c, key))
				if err != nil || sha256.Sum256(data) == [32]byte{} {
					b.Fatal(err)
				}
			}
		})
	}
	c := Open(b.TempDir(), 0)
	b.Run("absent", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			c.Get(NewKey())
		}
	})
}

// BenchmarkGetOfMany shows that Get does not depend on how many entries there are.
func BenchmarkGetOfMany(b *testing.B) {
	for _, n := range []int{10, 1000, 10_000} {
		c := unsynced(b.TempDir(), 0)
		for i := range n {
			require.NoError(b, c.Put(NewKey(fmt.Sprint(i)), example()))
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			i := 0
			for b.Loop() {
				if _, ok := c.Get(NewKey(fmt.Sprint(i % n))); !ok {
					b.Fatal("not there")
				}
				i++
			}
		})
	}
}

// BenchmarkPut stores entries in a cache that is full.
func BenchmarkPut(b *testing.B) {
	for _, n := range []int64{100, 1000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			c := unsynced(b.TempDir(), n*block)
			i := 0
			for ; i < int(n); i++ {
				require.NoError(b, c.Put(NewKey(fmt.Sprint(i)), example()))
			}
			for b.Loop() {
				if err := c.Put(NewKey(fmt.Sprint(i)), example()); err != nil {
					b.Fatal(err)
				}
				i++
			}
			b.ReportMetric(float64(c.scans.Load())/float64(i), "scans/op")
		})
	}
}
