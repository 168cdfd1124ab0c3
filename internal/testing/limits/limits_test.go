package limits

import (
	"errors"
	"flag"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/go-halyard/halyard"
	_ "github.com/go-halyard/halyard/backends"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/testing/everydevice"
)

// full runs programs in the sizes in which people run them.
var full = flag.Bool("full", false, "run the programs in full size")

// ended reports whether a launch failed because the device's driver ends loops, with a line of this package. No result must be left then.
func ended[T int32 | int64 | uint32 | float32](t *testing.T, q *halyard.Queue, x *halyard.Buffer[T]) bool {
	t.Helper()
	values := x.Values()
	err := q.Err()
	if err == nil {
		return false
	}
	if !errors.Is(err, hal.ErrUnsupported) || !strings.Contains(err.Error(), "limits.go:") {
		return true // as another test says
	}
	if len(values) != 0 && slices.ContainsFunc(values, func(v T) bool { return v != 0 }) {
		t.Errorf("values are left of a launch that failed: %v", values[:min(len(values), 8)])
	}
	_ = q.Close()
	t.Skip("refused: ", err)
	return true
}

// Loops take as many rounds as Go says, or the launch fails with the line of the loop.
func TestRounds(t *testing.T) {
	x := make([]int32, 300)
	for _, c := range []struct {
		name   string
		launch func(q *halyard.Queue, x *halyard.Buffer[int32])
		each   int32
		few    bool // every driver runs as many
	}{
		{"few", func(q *halyard.Queue, x *halyard.Buffer[int32]) { Once(q.Over(len(x.Values())), 65000, x) }, 65000, true},
		{"one loop", func(q *halyard.Queue, x *halyard.Buffer[int32]) { Once(q.Over(300), 70000, x) }, 70000, false},
		{"few of two loops", func(q *halyard.Queue, x *halyard.Buffer[int32]) { Twice(q.Over(300), 250, 250, x) }, 62500, true},
		{"two loops", func(q *halyard.Queue, x *halyard.Buffer[int32]) { Twice(q.Over(300), 300, 300, x) }, 90000, false},
		{"a long loop inside", func(q *halyard.Queue, x *halyard.Buffer[int32]) { Twice(q.Over(300), 10, 60000, x) }, 600000, false},
		{"few that differ", func(q *halyard.Queue, x *halyard.Buffer[int32]) { Apart(q.Over(300), 8000, x) }, 8007, true},
		{"rounds that differ", func(q *halyard.Queue, x *halyard.Buffer[int32]) { Apart(q.Over(300), 20000, x) }, 20007, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			everydevice.Run(t, func(t *testing.T, q *halyard.Queue) {
				y := halyard.From(q, x)
				c.launch(q, y)
				if ended(t, q, y) {
					if c.few {
						t.Error(q.Err())
					}
					return
				}
				for i, v := range y.Values() {
					if v != c.each {
						t.Fatalf("thread %d took %d rounds, want %d", i, v, c.each)
					}
				}
			})
		})
	}
}

// A launch gets all bytes of its arguments, or is refused with its line.
func TestBytesOfArguments(t *testing.T) {
	everydevice.Run(t, func(t *testing.T, q *halyard.Queue) {
		x := halyard.From(q, make([]int64, 3))
		Passed(q.Over(3), numbers{first: 5, between: [990]int32{989: 7}, last: 1 << 40}, x)
		if !ended(t, q, x) && !slices.Equal(x.Values(), []int64{1<<40 + 2, 1<<40 + 2, 1<<40 + 2}) {
			t.Errorf("the kernel has other arguments: %v", x.Values())
		}
	})
}

// Programs with many rounds.
func TestPrograms(t *testing.T) {
	t.Run("nearest neighbours", func(t *testing.T) { everydevice.Run(t, nearestNeighbours) })
	t.Run("queens", func(t *testing.T) { everydevice.Run(t, countQueens) })
	t.Run("Monte Carlo", func(t *testing.T) { everydevice.Run(t, monteCarlo) })
}

func size(small, large int) int {
	if *full {
		return large
	}
	return small
}

func nearestNeighbours(t *testing.T, q *halyard.Queue) {
	n, dims, chunks, asked := size(9000, 200000), size(16, 128), size(3, 64), size(8, 16)
	r := rand.New(rand.NewPCG(1, 2))
	vectors, queries := make([]float32, n*dims), make([]float32, asked*dims)
	for i := range vectors {
		vectors[i] = float32(r.IntN(64))
	}
	for i := range queries {
		queries[i] = float32(r.IntN(64))
	}
	best, at := make([]float32, asked*nearest), make([]int32, asked*nearest)
	for i := range best {
		best[i], at[i] = math.MaxFloat32, -1
	}
	v, u, b, a := halyard.From(q, vectors), halyard.From(q, queries), halyard.From(q, best), halyard.From(q, at)
	for c := range chunks {
		Neighbours(q.Over(asked), v, u, int32(dims), int32(c*n/chunks), int32((c+1)*n/chunks), b, a)
	}
	if ended(t, q, b) {
		return
	}
	got, who := b.Values(), a.Values()
	for k := range asked {
		type found struct {
			sum float32
			at  int32
		}
		var all []found
		for i := range n {
			sum := float32(0)
			for d := range dims {
				diff := vectors[i*dims+d] - queries[k*dims+d]
				sum += diff * diff
			}
			all = append(all, found{sum, int32(i)})
		}
		slices.SortStableFunc(all, func(x, y found) int { return int(x.sum) - int(y.sum) })
		for j, want := range all[:nearest] {
			if at := k*nearest + j; got[at] != want.sum || who[at] != want.at {
				t.Fatalf("neighbour %d of query %d is vector %d at %v, want %d at %v", j, k, who[at], got[at], want.at, want.sum)
			}
		}
	}
}

func countQueens(t *testing.T, q *halyard.Queue) {
	n, want := size(9, 12), int32(size(352, 14200))
	ways := halyard.New[int32](q, n*n)
	Queens(q.Over(n*n), int32(n), ways)
	if ended(t, q, ways) {
		return
	}
	sum := int32(0)
	for _, w := range ways.Values() {
		sum += w
	}
	if sum != want {
		t.Errorf("%d ways to place %d queens, want %d", sum, n, want)
	}
}

func monteCarlo(t *testing.T, q *halyard.Queue) {
	rounds, threads := size(100000, 1000000), 64
	hits := halyard.New[uint32](q, threads)
	Inside(q.Over(threads), int32(rounds), hits)
	if ended(t, q, hits) {
		return
	}
	for i, got := range hits.Values() {
		state, want := uint32(i)*747796405+2891336453, uint32(0)
		for range rounds {
			state = state*1664525 + 1013904223
			x := state >> 17
			state = state*1664525 + 1013904223
			if y := state >> 17; x*x+y*y < 1<<30 {
				want++
			}
		}
		if got != want {
			t.Fatalf("thread %d has %d hits, want %d", i, got, want)
		}
	}
}

// Each thread gets the element of an argument that it asks for.
func TestElementsOfArguments(t *testing.T) {
	everydevice.Run(t, func(t *testing.T, q *halyard.Queue) {
		is, want := make([]int32, 300), make([]int32, 300)
		v := list{[8]int32{10, 11, 12, 13, 14, 15, 16, 17}}
		for i := range is {
			is[i] = int32(i % 3)
			if i%3 > 0 {
				want[i] = v.of[i&7]
			}
		}
		x := halyard.From(q, is)
		Chosen(q.Over(300), v, x)
		if !ended(t, q, x) && !slices.Equal(x.Values(), want) {
			t.Errorf("the kernel has other arguments: %v", x.Values())
		}
	})
}

// Each thread has its own copies, though threads take different numbers of rounds.
func TestCopiesInLoops(t *testing.T) {
	everydevice.Run(t, func(t *testing.T, q *halyard.Queue) {
		x, want := make([]uint32, 300), make([]int64, 300)
		for i := range x {
			x[i] = uint32(i*7) % 8
			n := int64(x[i])
			last, swapped, c := max(n, 1)-1, n%2, []int64{3, 4, 5, 0, 1, 2, 3, 4, 5}[min(n, 6):]
			sum := int64(3)
			if n > 0 {
				sum = 3 * (n - 1)
			}
			want[i] = 100000000*n + 1000000000*sum + last*101 + last/2*20 + 1000*(1+swapped) + 10000*(2-swapped) + 100000*c[0] + 1000000*c[1] + 10000000*c[2]
		}
		y := halyard.New[int64](q, 300)
		Copied(q.Over(300), halyard.From(q, x), y)
		if !ended(t, q, y) && !slices.Equal(y.Values(), want) {
			t.Errorf("threads have the copies of others: %v", y.Values())
		}
	})
}

// The size of -0 is 0, also where a driver takes all roots for positive.
func TestSizesOfRoots(t *testing.T) {
	everydevice.Run(t, func(t *testing.T, q *halyard.Queue) {
		x, y := halyard.From(q, []float32{float32(math.Copysign(0, -1)), 0, 4}), halyard.New[float32](q, 3)
		Roots(q.Over(3), x, y)
		if q.Err() == nil && (!slices.Equal(y.Values(), []float32{0, 0, 2}) || math.Signbit(float64(y.Values()[0]))) {
			t.Errorf("sizes of roots: %v", y.Values())
		}
	})
}

// What a record is made of is read before the record is replaced.
func TestRecordsMadeOfThemselves(t *testing.T) {
	everydevice.Run(t, func(t *testing.T, q *halyard.Queue) {
		x, is, want := make([]uint32, 300), make([]record, 300), make([]record, 300)
		for i := range is {
			x[i], is[i] = uint32(i), record{tag: 1, on: 2, was: float32(-i - 1)}
			want[i] = record{is: float64(-i - 1), list: [2]uint32{1: uint32(i)}}
		}
		e := halyard.From(q, is)
		Renewed(q.Over(300), halyard.From(q, x), e)
		if q.Err() == nil && !slices.Equal(e.Values(), want) {
			t.Errorf("records: %v", e.Values()[:8])
		}
	})
}
