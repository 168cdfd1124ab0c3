package grid

import (
	"testing"

	"github.com/go-halyard/halyard/kernel"
)

// What a thread of a block costs that meets ten barriers, or none.
func BenchmarkThread(b *testing.B) {
	const n = 256
	for barriers, label := range map[int]string{0: "0 barriers", 10: "10 barriers"} {
		b.Run(label, func(b *testing.B) {
			block := &kernel.Block{Size: [3]uint32{n, 1, 1}}
			f := func(t Thread) {
				for range barriers {
					t.Barrier()
				}
			}
			b.ReportAllocs()
			for range b.N {
				RunTogether(block, f)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n/float64(max(barriers, 1)), "ns/thread/barrier")
		})
	}
}
