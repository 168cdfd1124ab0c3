package grid

import (
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/internal/crash"
	"github.com/go-halyard/halyard/kernel"
)

// ways are the functions that run the threads of a block.
var ways = map[string]func(*kernel.Block, func(Thread)){"one after the other": one, "together": RunTogether}

// one calls f for each thread of a block, one after the other.
func one(b *kernel.Block, f func(Thread)) {
	for t := range Threads(b) {
		f(t)
	}
}

func blockOf(x, y, z uint32) *kernel.Block {
	return &kernel.Block{Size: [3]uint32{x, y, z}, Index: [3]uint32{7, 1, 2}, Grid: [3]uint32{9, 8, 6}}
}

// Each thread of a block runs once, and knows its place.
func TestEveryThreadRunsOnce(t *testing.T) {
	for name, run := range ways {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			ran := map[[3]int]int{}
			run(blockOf(5, 3, 2), func(th Thread) {
				mu.Lock()
				defer mu.Unlock()
				ran[[3]int{th.Local(0), th.Local(1), th.Local(2)}]++
				assert.Equal(t, [3]int{5, 3, 2}, [3]int{th.Size(0), th.Size(1), th.Size(2)})
				assert.Equal(t, [3]int{7, 1, 2}, [3]int{th.Block(0), th.Block(1), th.Block(2)})
				assert.Equal(t, [3]int{9, 8, 6}, [3]int{th.Blocks(0), th.Blocks(1), th.Blocks(2)})
				assert.Equal(t, [3]int{35 + th.Local(0), 3 + th.Local(1), 4 + th.Local(2)}, [3]int{th.Global(0), th.Global(1), th.Global(2)})
			})
			assert.Len(t, ran, 30)
			for at, n := range ran {
				assert.Equal(t, 1, n, "thread %v", at)
			}
		})
	}
}

// The largest grid that the host takes has places that a thread can tell.
func TestPlacesAreWide(t *testing.T) {
	b := &kernel.Block{Size: [3]uint32{1, 1 << 16, 1}, Index: [3]uint32{1<<31 - 2, 1<<16 - 2, 1<<16 - 2}}
	last := Thread{}
	one(b, func(t Thread) { last = t })
	assert.Equal(t, [3]int{1<<31 - 2, 1<<32 - 1<<16 - 1, 1<<16 - 2}, [3]int{last.Global(0), last.Global(1), last.Global(2)})
	assert.PanicsWithValue(t, dimension, func() { last.Global(3) })
	b = &kernel.Block{Size: [3]uint32{1 << 16, 1, 1}, Index: [3]uint32{1<<31 - 2, 0, 0}}
	one(b, func(t Thread) { last = t })
	assert.Equal(t, (1<<31-1)<<16-1, last.Global(0))
	assert.Equal(t, 1<<16-1, last.Local(0))
}

// What threads write before a barrier they read after it, block after block, and shared memory is zero when a block begins.
func TestBarriersAndSharedMemory(t *testing.T) {
	for _, n := range []uint32{1, 2, 37, 256, 64} {
		got := make([]int32, n)
		RunTogether(&kernel.Block{Size: [3]uint32{n, 1, 1}}, func(th Thread) {
			a := Shared[[256]int32](th)
			b := Shared[[256]int32](th)
			i := th.Local(0)
			a[i] += int32(i) // zero before
			b[255-i]++
			th.Barrier()
			sum := int32(0)
			for _, v := range a[:n] {
				sum += v
			}
			th.Barrier()
			a[i] = sum + b[255-i]
			th.Barrier()
			got[i] = a[int(n)-1-i]
		})
		for _, v := range got {
			require.EqualValues(t, n*(n-1)/2+1, v, "%d threads", n)
		}
	}
}

// failure returns how a block of four threads fails.
func failure(t *testing.T, f func(Thread)) string {
	t.Helper()
	var p any
	func() {
		defer func() { p = recover() }()
		RunTogether(&kernel.Block{Size: [3]uint32{4, 1, 1}}, f)
	}()
	c, ok := p.(*crash.Crash)
	require.True(t, ok, "%v", p)
	return c.Error()
}

// noneLeft waits until there are no more goroutines than before.
func noneLeft(t *testing.T, before int) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before; runtime.Gosched() {
		require.True(t, time.Now().Before(end), "%d goroutines, %d before", runtime.NumGoroutine(), before)
	}
}

// A block whose threads cannot all come to a barrier fails, and so does one of which a thread panics. No goroutine stays behind.
func TestBlocksThatFail(t *testing.T) {
	before := runtime.NumGoroutine()
	for range 3 {
		assert.Regexp(t, `^let thread 2,0,0 end while thread [013],0,0 waited at a barrier \(grid_test.go:\d+\)$`, failure(t, func(th Thread) {
			if th.Local(0) != 2 {
				th.Barrier()
			}
		}))
		assert.Regexp(t, `^let thread [123],0,0 end while thread 0,0,0 waited at a barrier \(grid_test.go:\d+\)$`, failure(t, func(th Thread) {
			for range 3 {
				th.Barrier()
			}
			if th.Local(0) == 0 {
				th.Barrier()
			}
		}))
		assert.Regexp(t, `^panicked: runtime error: index out of range \[1[3]?\] with length 1 \(grid_test.go:\d+\)$`, failure(t, func(th Thread) {
			th.Barrier()
			one := make([]int, 1)
			if th.Local(0) == 1 {
				one[th.Local(0)]++
			}
			th.Barrier()
		}))
		assert.Regexp(t, `^panicked: grid: Shared of \*\[\d\]int32, where another thread has \*\[\d\]int32`, failure(t, func(th Thread) {
			if th.Local(0) == 3 {
				Shared[[2]int32](th)
			} else {
				Shared[[3]int32](th)
			}
		}))
	}
	noneLeft(t, before)
}

// Threads that wait at different barriers are a failure.
func TestBarriersApart(t *testing.T) {
	assert.Regexp(t, `^let thread \d,0,0 wait at a barrier, and thread \d,0,0 at another \(grid_test.go:\d+\) \(grid_test.go:\d+\)$`, failure(t, func(th Thread) {
		if th.Local(0) == 2 {
			th.Barrier()
		} else {
			th.Barrier()
		}
	}))
}

// A thread may not end its goroutine: the block fails, and the other threads end.
func TestThreadsThatEndTheirGoroutine(t *testing.T) {
	before := runtime.NumGoroutine()
	end := func(th Thread) {
		if th.Local(0) == 2 {
			runtime.Goexit()
		}
		th.Barrier()
	}
	assert.Equal(t, "ended its goroutine", failure(t, end))
	noneLeft(t, before)
}

// Only RunTogether runs what needs it.
func TestRunKnowsNoBarriers(t *testing.T) {
	b := blockOf(1, 1, 1)
	assert.PanicsWithValue(t, "grid: a kernel that calls Barrier needs RunTogether", func() { one(b, Thread.Barrier) })
	assert.PanicsWithValue(t, "grid: a kernel that calls Shared needs RunTogether", func() { one(b, func(th Thread) { Shared[[1]int32](th) }) })
}

// A block whose threads are more than may run at once waits for others, and one that can never run is refused.
func TestThreadsAreLimited(t *testing.T) {
	l := limit{left: 5}
	l.freed.L = &l.mu
	l.take(3)
	taken := make(chan bool)
	go func() {
		l.take(4)
		close(taken)
	}()
	select {
	case <-taken:
		t.Fatal("seven of five")
	default:
	}
	l.give(3)
	<-taken
	assert.Equal(t, 1, l.left)
	assert.PanicsWithValue(t, "with the race detector a block of a kernel with barriers has at most 4096 threads, not 4097", func() { l.take(maxRacing + 1) })
}

// Atomic operations on both types do what they say, and return what was there.
func TestAtomics(t *testing.T) {
	signed(t)
	unsigned(t)
}

func signed(t *testing.T) {
	v := int32(5)
	assert.EqualValues(t, 5, AtomicAdd(&v, -7))
	assert.EqualValues(t, -2, AtomicMin(&v, 3))
	assert.EqualValues(t, -2, AtomicMin(&v, -9))
	assert.EqualValues(t, -9, AtomicMax(&v, -10))
	assert.EqualValues(t, -9, AtomicMax(&v, 12))
	assert.EqualValues(t, 12, AtomicAnd(&v, -2))
	assert.EqualValues(t, 12, AtomicOr(&v, -16))
	assert.EqualValues(t, -4, AtomicXor(&v, 3))
	assert.EqualValues(t, -1, AtomicExchange(&v, -2147483648))
	assert.EqualValues(t, -2147483648, AtomicAdd(&v, -1))
	assert.EqualValues(t, 2147483647, AtomicCompareExchange(&v, 1, 2))
	assert.EqualValues(t, 2147483647, AtomicCompareExchange(&v, 2147483647, -3))
	assert.EqualValues(t, -3, v)
}

func unsigned(t *testing.T) {
	v := uint32(5)
	assert.EqualValues(t, 5, AtomicAdd(&v, 1<<32-6))
	assert.EqualValues(t, uint32(1<<32-1), AtomicMin(&v, 1<<31))
	assert.EqualValues(t, uint32(1<<31), AtomicMax(&v, 3))
	assert.EqualValues(t, uint32(1<<31), AtomicMax(&v, 1<<31+1))
	assert.EqualValues(t, uint32(1<<31+1), AtomicAnd(&v, 3))
	assert.EqualValues(t, 1, AtomicOr(&v, 6))
	assert.EqualValues(t, 7, AtomicXor(&v, 2))
	assert.EqualValues(t, 5, AtomicExchange(&v, 9))
	assert.EqualValues(t, 9, AtomicCompareExchange(&v, 8, 1))
	assert.EqualValues(t, 9, AtomicCompareExchange(&v, 9, 1))
	assert.EqualValues(t, 1, v)
}

// Atomic operations of many threads at once lose none.
func TestAtomicsOfManyThreads(t *testing.T) {
	var sum, bits uint32
	low, high := int32(0), int32(0)
	RunTogether(&kernel.Block{Size: [3]uint32{32, 1, 1}}, func(th Thread) {
		for i := range 100 {
			n := uint32(th.Local(0)*100 + i)
			AtomicAdd(&sum, n)
			AtomicXor(&bits, n)
			AtomicMin(&low, -int32(n))
			AtomicMax(&high, int32(n))
		}
	})
	assert.EqualValues(t, 3200*3199/2, sum)
	assert.EqualValues(t, 0, bits, "0 to 3199 cancel out")
	assert.EqualValues(t, -3199, low)
	assert.EqualValues(t, 3199, high)
}
