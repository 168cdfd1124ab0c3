package grid

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/go-halyard/halyard/internal/crash"
	"github.com/go-halyard/halyard/kernel"
)

// in runs f for each thread of a block, and returns what each gave.
func in[R any](x, y, z int, f func(Thread) R) []R {
	got := make([]R, x*y*z)
	RunTogether(&kernel.Block{Size: [3]uint32{uint32(x), uint32(y), uint32(z)}, Grid: [3]uint32{1, 1, 1}}, func(t Thread) { got[t.rank()] = f(t) })
	return got
}

// summed adds values up as the comment of BlockSum says.
func summed(values []float32) float32 {
	a := append([]float32(nil), values...)
	for d := 1; d < len(a); d *= 2 {
		for n := 0; n < len(a); n += 2 * d {
			if n+d < len(a) {
				a[n] += a[n+d]
			}
		}
	}
	return a[0]
}

// Operations of blocks and groups give each thread what their comments say, in the order that they say.
func TestBlockOperations(t *testing.T) {
	for _, size := range [][3]int{{1, 1, 1}, {2, 1, 1}, {5, 3, 2}, {31, 1, 1}, {32, 1, 1}, {33, 1, 1}, {4, 16, 1}, {100, 1, 1}, {333, 1, 1}} {
		n := size[0] * size[1] * size[2]
		r := rand.New(rand.NewPCG(uint64(n), 1))
		values, on, picks := make([]float32, n), make([]bool, n), make([]int, n)
		for i := range values {
			values[i], on[i], picks[i] = r.Float32()*1e4-3e3, r.IntN(3) == 0, r.IntN(200)-60
		}
		each := func(what string, op func(Thread) any, want func(n int) any) {
			for i, got := range in(size[0], size[1], size[2], op) {
				assert.Equal(t, want(i), got, "%s of thread %d of %v", what, i, size)
			}
		}
		v := func(t Thread) float32 { return values[t.rank()] }
		group := func(i int) (from, to int) { return i &^ 31, min(i&^31+32, n) }
		each("lane", func(t Thread) any { return GroupLane(t) }, func(i int) any { return i & 31 })
		each("sum", func(t Thread) any { return BlockSum(t, v(t)) }, func(int) any { return summed(values) })
		each("scan", func(t Thread) any { return BlockScan(t, v(t)) }, func(i int) any { return summed(values[:i+1]) })
		each("exclusive scan", func(t Thread) any { return BlockExclusiveScan(t, v(t)) }, func(i int) any { return summed(append(values[:i:i], make([]float32, 1-min(i, 1))...)) })
		each("group's sum", func(t Thread) any { return GroupSum(t, v(t)) }, func(i int) any { from, to := group(i); return summed(values[from:to]) })
		each("group's scan", func(t Thread) any { return GroupScan(t, v(t)) }, func(i int) any { return summed(values[i&^31 : i+1]) })
		each("group's exclusive scan", func(t Thread) any { return GroupExclusiveScan(t, v(t)) }, func(i int) any {
			if i&31 == 0 {
				return float32(0)
			}
			return summed(values[i&^31 : i])
		})
		least, most, count := values[0], values[0], 0
		for i, x := range values {
			least, most, count = min(least, x), max(most, x), count+number(on[i])
		}
		each("least", func(t Thread) any { return BlockMin(t, v(t)) }, func(int) any { return least })
		each("most", func(t Thread) any { return BlockMax(t, v(t)) }, func(int) any { return most })
		each("count", func(t Thread) any { return BlockCount(t, on[t.rank()]) }, func(int) any { return count })
		each("any", func(t Thread) any { return BlockAny(t, on[t.rank()]) }, func(int) any { return count > 0 })
		each("all", func(t Thread) any { return BlockAll(t, !on[t.rank()]) }, func(int) any { return count == 0 })
		ballot := func(i int) (all uint32) {
			from, to := group(i)
			for j := from; j < to; j++ {
				all |= uint32(number(on[j])) << (j & 31)
			}
			return all
		}
		each("ballot", func(t Thread) any { return GroupBallot(t, on[t.rank()]) }, func(i int) any { return ballot(i) })
		each("group's count", func(t Thread) any { return GroupCount(t, on[t.rank()]) }, func(i int) any { return bits.OnesCount32(ballot(i)) })
		each("group's any", func(t Thread) any { return GroupAny(t, on[t.rank()]) }, func(i int) any { return ballot(i) != 0 })
		each("group's all", func(t Thread) any { return GroupAll(t, !on[t.rank()]) }, func(i int) any { return ballot(i) == 0 })
		each("broadcast", func(t Thread) any { return BlockBroadcast(t, v(t), (t.rank()+3)%n) }, func(i int) any { return values[(i+3)%n] })
		other := func(i, j int) any {
			if j >= n {
				j = i
			}
			return values[j]
		}
		each("shuffle", func(t Thread) any { return GroupShuffle(t, v(t), picks[t.rank()]) }, func(i int) any { return other(i, i&^31|picks[i]&31) })
		each("shuffle xor", func(t Thread) any { return GroupShuffleXor(t, v(t), 5) }, func(i int) any { return other(i, i^5) })
		text := func(t Thread) string { return fmt.Sprint(t.rank() % 10) }
		each("reduce", func(t Thread) any { return len(BlockReduce(t, text(t), func(a, b string) string { return a + b })) }, func(int) any { return n })
		each("group's bits", func(t Thread) any { return [2]int{GroupAnd(t, t.rank()|64), GroupOr(t, t.rank())} }, func(i int) any {
			from, to := group(i)
			and, or := -1, 0
			for j := from; j < to; j++ {
				and, or = and&(j|64), or|j
			}
			return [2]int{and, or}
		})
	}
}

// Threads that are at different operations, or at none, end with an error that says where.
func TestThreadsAtDifferentOperations(t *testing.T) {
	for want, f := range map[string]func(Thread){
		`let thread 0,0,0 wait at a barrier, and thread 1,0,0 at another \(block_test.go:\d+\)|thread 1,0,0 wait at a barrier, and thread 0,0,0`: func(t Thread) {
			if t.Local(0) == 0 {
				BlockSum(t, 1)
			} else {
				BlockSum(t, 1.5)
			}
		},
		`let thread 1,0,0 end while thread 0,0,0 waited at a barrier \(block_test.go:\d+\)`: func(t Thread) {
			if t.Local(0) == 0 {
				GroupShuffleXor(t, 1, 1)
			}
		},
	} {
		func() {
			defer func() {
				c, ok := recover().(*crash.Crash)
				if assert.True(t, ok) {
					assert.Regexp(t, want, c.Error())
				}
			}()
			RunTogether(&kernel.Block{Size: [3]uint32{2, 1, 1}}, f)
		}()
	}
	assert.PanicsWithValue(t, "grid: a kernel that calls a function of its block or group needs RunTogether", func() {
		one(&kernel.Block{Size: [3]uint32{1, 1, 1}}, func(t Thread) { BlockSum(t, 1) })
	})
}

// In a loop, each round has the values of that round.
func TestBlockOperationsInLoops(t *testing.T) {
	for _, sum := range in(8, 1, 1, func(t Thread) (sum int) {
		for i := range 1000 {
			sum += BlockSum(t, i*t.rank()) << (i % 3)
		}
		return sum
	}) {
		want := 0
		for i := range 1000 {
			want += i * 28 << (i % 3)
		}
		assert.Equal(t, want, sum)
	}
}
