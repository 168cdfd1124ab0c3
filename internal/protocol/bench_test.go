package protocol

import (
	"fmt"
	"testing"
)

// The maps have intervals that differ in one place and are all valid at another, so that a query
// about the whole range has to consider them all.
func BenchmarkMap(b *testing.B) {
	for _, n := range []int{1, 1000, 1_000_000} {
		const stride = 64
		m := comb(n, stride)
		p := Place(3)
		if n == 1 {
			p = 1
		}
		size := m.Size()
		next := func(i *uint64) uint64 {
			*i = *i*6364136223846793005 + 1442695040888963407
			return (*i >> 33) % uint64(n) * stride
		}
		run := func(name string, f func(at uint64)) {
			b.Run(fmt.Sprintf("%s/intervals=%d", name, n), func(b *testing.B) {
				b.ReportAllocs()
				var seed uint64
				for b.Loop() {
					f(next(&seed))
				}
			})
		}
		var valid bool
		run("ValidIn-small", func(at uint64) { valid = m.ValidIn(at+8, at+16, p) })
		run("ValidIn-whole", func(uint64) { valid = m.ValidIn(1, size-1, p) })
		run("State-whole", func(uint64) { valid = m.State(0, size).Valid.Has(p) })
		run("State-most", func(uint64) { valid = m.State(1, size-1).Valid.Has(p) })
		dst := make([]Transfer, 0, 4)
		run("Plan-valid", func(at uint64) { dst, _ = m.Plan(Read, p, at, at+stride, nil, dst[:0]) })
		// Each turn splits one interval in three and merges it again.
		other := Place(5)
		run("Write-split-merge", func(at uint64) {
			valid := m.State(at, at+stride).Valid
			_ = m.Commit(Overwrite, other, at+16, at+20)
			first := valid.First()
			_ = m.Commit(Overwrite, first, at+16, at+20)
			if rest := valid.Without(first); rest != 0 {
				_ = m.Commit(Read, rest.First(), at+16, at+20)
			}
		})
		if !valid || m.Len() != n {
			b.Fatal("the benchmark changed its map")
		}
	}
}

func BenchmarkPlan(b *testing.B) {
	s := State{Of(0, 1, 2), Of(0, 1)}
	b.ReportAllocs()
	for b.Loop() {
		_, _, _, _ = s.Plan(Read, 2, nil)
	}
}
