package algo_test

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/testing/everydevice"
	"github.com/go-halyard/halyard/kernel/algo"
	"github.com/go-halyard/halyard/kernel/grid"
)

// A driver's compiler prints nothing about the kernels. PoCL prints how many warnings they have.
func TestCompilersPrintNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("starts itself again, and compiles")
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestSortOfSpecialFloats$", "-test.short")
	cmd.Env = append(os.Environ(), "HALYARD_KERNEL_CACHE=off")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.NotContains(t, string(out), "warning")
}

func Example() {
	q := halyard.Open(context.Background(), "host")
	x := halyard.From(q, []float32{3, 1, 4, 1, 5, 9, 2, 6})
	sum := halyard.New[float32](q, 1)
	algo.Sum(q, x, sum)
	algo.Sort(q, x)
	algo.Scan(q, x, x) // after the sort, without a wait
	fmt.Println(sum, x)
	if err := q.Close(); err != nil {
		fmt.Println(err)
	}
	// Output: [31] [1 2 4 7 11 16 22 31]
}

// lengths are no and one element, primes, numbers of elements around those of a chunk and, for one type, many chunks, and more chunks than
// a chunk of a scan has elements.
func lengths[T any](q *halyard.Queue) []int {
	var zero T
	_, one := any(zero).(float32)
	info := q.Device().Info()
	switch {
	case racing: // each thread of a block is a goroutine
		return []int{1, 2049}
	case info.Backend == "cuda", info.Backend == "hip": // they may be simulated, and interpret each instruction
		return []int{0, 1, 7, 2049, 8193}
	case testing.Short() || !one:
		return []int{0, 1, 7, 2047, 2048, 2049, 8192, 10_007}
	}
	return []int{0, 1, 7, 2047, 2048, 2049, 8192, 10_007, 1_000_000, 2048*2048 + 1}
}

func numbers[T grid.Number](n int) []T {
	r := rand.New(rand.NewPCG(uint64(n), 1))
	x := make([]T, n)
	for i := range x {
		switch any(T(0)).(type) {
		case float32, float64:
			x[i] = T(r.NormFloat64() * 1000)
		default:
			x[i] = T(r.Uint64())
		}
	}
	return x
}

// on runs a test for each type of elements on each device.
func on(t *testing.T, float32s, float64s, int32s, int64s, uint32s, uint64s func(t *testing.T, q *halyard.Queue)) {
	everydevice.Run(t, func(t *testing.T, q *halyard.Queue) {
		for i, fn := range []func(*testing.T, *halyard.Queue){float32s, float64s, int32s, int64s, uint32s, uint64s} {
			if racing && i > 0 {
				break
			}
			if fn(t, q); t.Failed() {
				t.Fatalf("type %d", i)
			}
		}
	})
}

func TestSum(t *testing.T) {
	on(t, sum[float32], sum[float64], sum[int32], sum[int64], sum[uint32], sum[uint64])
}

func sum[T grid.Number](t *testing.T, q *halyard.Queue) {
	for _, n := range lengths[T](q) {
		xs := numbers[T](n)
		x, got := halyard.From(q, xs), halyard.New[T](q, 1)
		algo.Sum(q, x, got)
		is := got.At(0)
		x.Close()
		if q.Err() != nil {
			return
		}
		require.Equal(t, sumOf(xs), is, "of %d elements", n)
	}
}

func TestDot(t *testing.T) {
	on(t, dot[float32], dot[float64], dot[int32], dot[int64], dot[uint32], dot[uint64])
}

func dot[T grid.Number](t *testing.T, q *halyard.Queue) {
	for _, n := range lengths[T](q) {
		xs, products := numbers[T](2*n), make([]T, n)
		for i := range products {
			products[i] = xs[i] * xs[n+i]
		}
		x, got := halyard.From(q, xs), halyard.New[T](q, 1)
		algo.Dot(q, x.Slice(0, n), x.Slice(n, 2*n), got)
		is := got.At(0)
		x.Close()
		if q.Err() != nil {
			return
		}
		require.Equal(t, sumOf(products), is, "of %d elements", n)
	}
}

// sumOf adds in the order in which the kernels do.
func sumOf[T grid.Number](x []T) T {
	for {
		var sums []T
		for from := 0; from < max(len(x), 1); from += 8192 {
			var part [256]T
			for i := from; i < min(from+8192, len(x)); i++ {
				part[i%256] += x[i]
			}
			for apart := 1; apart < 256; apart *= 2 { // as grid.BlockSum
				for i := 0; i < 256; i += 2 * apart {
					part[i] += part[i+apart]
				}
			}
			sums = append(sums, part[0])
		}
		if x = sums; len(x) == 1 {
			return x[0]
		}
	}
}

func TestMinAndMax(t *testing.T) {
	on(t, extremes[float32], extremes[float64], extremes[int32], extremes[int64], extremes[uint32], extremes[uint64])
}

func extremes[T grid.Number](t *testing.T, q *halyard.Queue) {
	for _, n := range lengths[T](q) {
		xs := numbers[T](n)
		for i := range xs { // so that many are equal
			xs[i] = T(int(int32(xs[i])) % max(1, n/3))
		}
		x, value, index := halyard.From(q, xs), halyard.New[T](q, 2), halyard.New[int64](q, 2)
		algo.Min(q, x, value.Slice(0, 1), index.Slice(0, 1))
		algo.Max(q, x, value.Slice(1, 2), index.Slice(1, 2))
		largest := halyard.New[T](q, 1)
		algo.Max(q, x, largest, nil)
		values, at, alone := value.Values(), index.Values(), largest.At(0)
		x.Close()
		if q.Err() != nil {
			return
		}
		require.Equal(t, values[1], alone, "without an index")
		if n == 0 {
			require.Equal(t, []int64{-1, -1}, at)
			continue
		}
		least, most := slices.Min(xs), slices.Max(xs)
		require.Equal(t, []T{least, most}, values, "of %d elements", n)
		require.Equal(t, []int64{int64(slices.Index(xs, least)), int64(slices.Index(xs, most))}, at, "of %d elements", n)
	}
}

// The first NaN is taken before any number.
func TestMinOfNaN(t *testing.T) {
	everydevice.Run(t, func(t *testing.T, q *halyard.Queue) {
		xs := make([]float32, 5000)
		xs[4000], xs[3000] = float32(math.NaN()), float32(math.NaN())
		xs[10], xs[20] = float32(math.Inf(-1)), float32(math.Inf(1))
		value, index := halyard.New[float32](q, 2), halyard.New[int64](q, 2)
		x := halyard.From(q, xs)
		algo.Min(q, x, value.Slice(0, 1), index.Slice(0, 1))
		algo.Max(q, x, value.Slice(1, 2), index.Slice(1, 2))
		values, at := value.Values(), index.Values()
		if q.Err() == nil {
			assert.True(t, values[0] != values[0] && values[1] != values[1], values)
			assert.Equal(t, []int64{3000, 3000}, at)
		}
	})
}

func TestScans(t *testing.T) {
	on(t, scans[float32], scans[float64], scans[int32], scans[int64], scans[uint32], scans[uint64])
}

func scans[T grid.Number](t *testing.T, q *halyard.Queue) {
	for _, n := range lengths[T](q) {
		xs := numbers[T](n)
		for i := range xs { // so that sums of floats do not round
			xs[i] = T(int(int32(xs[i])) % 100)
			if T(1)/2 != 0 {
				xs[i] = T(int(xs[i]) & 3)
			}
		}
		x, upTo, before := halyard.From(q, xs), halyard.New[T](q, n), halyard.New[T](q, n)
		algo.Scan(q, x, upTo)
		algo.ExclusiveScan(q, x, before)
		algo.Scan(q, x, x)
		gotUpTo, gotBefore, inPlace := upTo.Values(), before.Values(), x.Values()
		x.Close()
		upTo.Close()
		before.Close()
		if q.Err() != nil {
			return
		}
		sum := T(0)
		wantUpTo, wantBefore := make([]T, n), make([]T, n)
		for i, v := range xs {
			wantBefore[i] = sum
			sum += v
			wantUpTo[i] = sum
		}
		require.True(t, slices.Equal(wantUpTo, gotUpTo), "of %d elements", n)
		require.True(t, slices.Equal(wantBefore, gotBefore), "of %d elements", n)
		require.True(t, slices.Equal(wantUpTo, inPlace), "of %d elements, in place", n)
	}
}

func TestSorts(t *testing.T) {
	on(t, sorts[float32], sorts[float64], sorts[int32], sorts[int64], sorts[uint32], sorts[uint64])
}

func sorts[T grid.Number](t *testing.T, q *halyard.Queue) {
	for _, n := range lengths[T](q) {
		if n > 1_000_000 {
			continue
		}
		xs := numbers[T](n)
		few := make([]T, n)
		places := make([]uint32, n)
		for i := range xs {
			few[i], places[i] = T(int(int32(xs[i]))%10), uint32(i)
		}
		keys, equal, values := halyard.From(q, xs), halyard.From(q, few), halyard.From(q, places)
		algo.Sort(q, keys)
		algo.SortPairs(q, equal, values)
		got, gotEqual, gotPlaces := keys.Values(), equal.Values(), values.Values()
		keys.Close()
		equal.Close()
		values.Close()
		if q.Err() != nil {
			return
		}
		slices.Sort(xs)
		require.True(t, slices.Equal(xs, got), "%d keys", n)
		slices.SortStableFunc(places, func(a, b uint32) int { return cmp.Compare(few[a], few[b]) })
		require.True(t, slices.Equal(places, gotPlaces), "%d pairs", n)
		for i, at := range places {
			require.Equal(t, few[at], gotEqual[i])
		}
	}
}

// The order of floats is that of their bits where numbers have none.
func TestSortOfSpecialFloats(t *testing.T) {
	everydevice.Run(t, func(t *testing.T, q *halyard.Queue) {
		nan, inf, negative := math.NaN(), math.Inf(1), math.Copysign(0, -1)
		x := halyard.From(q, []float64{nan, 1, inf, 0, -1, math.Copysign(nan, -1), negative, -inf})
		algo.Sort(q, x)
		if got := x.Values(); q.Err() == nil {
			assert.True(t, math.IsNaN(got[0]) && math.IsNaN(got[7]), got)
			assert.Equal(t, "[-Inf -1 -0 0 1 +Inf]", fmt.Sprint(got[1:7]))
		}
	})
}

type point struct {
	X float64
	N uint8
}

func TestCompact(t *testing.T) {
	on(t, compacts[float32], compacts[float64], compacts[[3]int32], compacts[int64], compacts[uint32], compacts[point])
}

func compacts[T comparable](t *testing.T, q *halyard.Queue) {
	for _, n := range lengths[T](q) {
		r := rand.New(rand.NewPCG(uint64(n), 2))
		for _, part := range []int{0, 1, 2, 50} { // one of so many is kept, or none
			xs, flags, want := make([]T, n), make([]bool, n), make([]T, n)
			kept := 0
			for i := range xs {
				switch v := any(&xs[i]).(type) {
				case *[3]int32:
					*v = [3]int32{int32(i), r.Int32(), r.Int32()}
				case *point:
					*v = point{r.Float64(), uint8(i)}
				case *float32:
					*v = r.Float32()
				case *float64:
					*v = r.Float64()
				case *int64:
					*v = r.Int64()
				case *uint32:
					*v = r.Uint32()
				}
				want[i] = xs[0] // what is behind stays
				if flags[i] = part > 0 && r.IntN(part) == 0; flags[i] {
					want[kept] = xs[i]
					kept++
				}
			}
			for i := kept; i < n; i++ {
				want[i] = xs[0]
			}
			few := min(kept, 5)
			x, keep, number := halyard.From(q, xs), halyard.From(q, flags), halyard.New[int64](q, 2)
			all, first := halyard.New[T](q, n), halyard.New[T](q, few)
			if n > 0 {
				all.Fill(xs[0])
			}
			algo.Compact(q, x, keep, all, number.Slice(0, 1))
			algo.Compact(q, x, keep, first, number.Slice(1, 2))
			got, gotFirst, numbers := all.Values(), first.Values(), number.Values()
			for _, b := range []interface{ Close() }{x, keep, number, all, first} {
				b.Close()
			}
			if q.Err() != nil {
				return
			}
			require.Equal(t, []int64{int64(kept), int64(kept)}, numbers, "of %d elements", n)
			require.True(t, slices.Equal(want, got), "one in %d of %d elements", part, n)
			require.True(t, slices.Equal(want[:few], gotFirst), "the first %d of %d elements", few, n)
		}
	}
}

func TestTopK(t *testing.T) {
	on(t, tops[float32], tops[float64], tops[int32], tops[int64], tops[uint32], tops[uint64])
}

func tops[T grid.Number](t *testing.T, q *halyard.Queue) {
	for _, n := range lengths[T](q) {
		if n > 1_000_000 {
			continue
		}
		xs := numbers[T](n)
		few := make([]T, n)
		for i := range xs {
			few[i] = T(int(int32(xs[i])) % 10)
			if T(0)-1 < 0 && T(1)/2 != 0 && few[i] == 0 && i%2 == 0 {
				few[i] *= T(0) - 1 // -0
			}
		}
		for _, xs := range [][]T{xs, few} {
			order := make([]int64, n)
			for i := range order {
				order[i] = int64(i)
			}
			slices.SortStableFunc(order, func(a, b int64) int { return cmp.Compare(xs[b], xs[a]) })
			x := halyard.From(q, xs)
			for _, k := range []int{0, 1, 10, n / 3, n} {
				if k > n || k == n && racing {
					continue
				}
				values, at, alone := halyard.New[T](q, k), halyard.New[int64](q, k), halyard.New[T](q, k)
				algo.TopK(q, x, values, at)
				algo.TopK(q, x, alone, nil)
				gotValues, gotAt, gotAlone := values.Values(), at.Values(), alone.Values()
				values.Close()
				at.Close()
				alone.Close()
				if q.Err() != nil {
					return
				}
				require.True(t, slices.Equal(order[:k], gotAt), "%d of %d elements", k, n)
				for j, i := range order[:k] {
					require.Equal(t, fmt.Sprint(xs[i]), fmt.Sprint(gotValues[j]), "-0 stays -0")
				}
				require.True(t, slices.Equal(gotValues, gotAlone), "without indexes")
			}
			x.Close()
		}
	}
}

// NaNs come before numbers, in the order of their indexes, as Max has them, and keep their bits.
func TestTopKOfSpecialFloats(t *testing.T) {
	everydevice.Run(t, func(t *testing.T, q *halyard.Queue) {
		nan, inf, negative := float32(math.NaN()), float32(math.Inf(1)), float32(math.Copysign(0, -1))
		x := halyard.From(q, []float32{1, negative, -nan, 0, inf, nan, -inf, -1, math.Float32frombits(0xffc00001)})
		values, at := halyard.New[float32](q, 9), halyard.New[int64](q, 9)
		algo.TopK(q, x, values, at)
		got, where := values.Values(), at.Values()
		if q.Err() == nil {
			assert.Equal(t, []int64{2, 5, 8, 4, 0, 1, 3, 7, 6}, where)
			assert.Equal(t, "[NaN NaN NaN +Inf 1 -0 0 -1 -Inf]", fmt.Sprint(got))
			assert.Equal(t, uint32(0xffc00001), math.Float32bits(got[2]))
		}
	})
}

func ExampleCompact() {
	q := halyard.Open(context.Background(), "host")
	x, keep := halyard.From(q, []float32{3, -1, 4, -1, 5}), halyard.From(q, []bool{true, false, true, false, true}) // mostly by a kernel
	kept, number := halyard.New[float32](q, 5), halyard.New[int64](q, 1)
	algo.Compact(q, x, keep, kept, number)
	fmt.Println(kept.Slice(0, int(number.At(0))))
	if err := q.Close(); err != nil {
		fmt.Println(err)
	}
	// Output: [3 4 5]
}

func ExampleTopK() {
	q := halyard.Open(context.Background(), "host")
	x := halyard.From(q, []float32{3, 1, 4, 1, 5, 9, 2, 6, 5})
	values, indexes := halyard.New[float32](q, 4), halyard.New[int64](q, 4)
	algo.TopK(q, x, values, indexes)
	fmt.Println(values, indexes)
	if err := q.Close(); err != nil {
		fmt.Println(err)
	}
	// Output: [9 6 5 5] [5 7 4 8]
}

func TestHistogram(t *testing.T) {
	everydevice.Run(t, func(t *testing.T, q *halyard.Queue) {
		histogram[uint8](t, q)
		histogram[int32](t, q)
		histogram[uint32](t, q)
	})
}

func histogram[T uint8 | int32 | uint32](t *testing.T, q *halyard.Queue) {
	for _, n := range lengths[int32](q) {
		for _, bins := range []int{0, 1, 10, 1024, 1025} {
			xs, want := make([]T, n), make([]uint32, bins)
			for i := range xs {
				xs[i] = T(i*i%1100 - 20)
				if v := int(xs[i]); v >= 0 && v < bins {
					want[v]++
				}
			}
			x, counts := halyard.From(q, xs), halyard.New[uint32](q, bins)
			algo.Histogram(q, x, counts)
			if got := counts.Values(); q.Err() == nil {
				require.True(t, slices.Equal(want, got), "%d elements, %d bins", n, bins)
			}
			x.Close()
			counts.Close()
		}
	}
}

// What cannot be done is refused at the line of the call, and changes nothing.
func TestRefusals(t *testing.T) {
	type numbers = *halyard.Buffer[int32]
	for want, call := range map[string]func(q *halyard.Queue, x, none numbers, at *halyard.Buffer[int64]){
		"Sum: invalid argument: sum has 0 elements, and the result is one; pass a slice": func(q *halyard.Queue, x, none numbers, _ *halyard.Buffer[int64]) {
			algo.Sum(q, x, none)
		},
		"Min: invalid argument: value has 0 elements, and the result is one": func(q *halyard.Queue, x, none numbers, at *halyard.Buffer[int64]) {
			algo.Min(q, x, none, at)
		},
		"Max: invalid argument: index has 0 elements, and the result is one": func(q *halyard.Queue, x, _ numbers, at *halyard.Buffer[int64]) {
			algo.Max(q, x, x.Slice(0, 1), at.Slice(0, 0))
		},
		"Scan: invalid argument: sums has 0 elements, and x has 3": func(q *halyard.Queue, x, none numbers, _ *halyard.Buffer[int64]) {
			algo.Scan(q, x, none)
		},
		"SortPairs: invalid argument: there are 1 values, and 3 keys": func(q *halyard.Queue, x, _ numbers, _ *halyard.Buffer[int64]) {
			algo.SortPairs(q, x, halyard.New[uint32](q, 1))
		},
		"Dot: invalid argument: y has 0 elements, and x has 3": func(q *halyard.Queue, x, none numbers, _ *halyard.Buffer[int64]) {
			algo.Dot(q, x, none, x.Slice(0, 1))
		},
		"TopK: invalid argument: values has 5 elements, and x has 3": func(q *halyard.Queue, x, _ numbers, _ *halyard.Buffer[int64]) {
			algo.TopK(q, x, halyard.New[int32](q, 5), nil)
		},
		"TopK: invalid argument: indexes has 1 elements, and values has 2": func(q *halyard.Queue, x, _ numbers, at *halyard.Buffer[int64]) {
			algo.TopK(q, x, halyard.New[int32](q, 2), at)
		},
		"Compact: invalid argument: keep has 2 elements, and x has 3": func(q *halyard.Queue, x, none numbers, at *halyard.Buffer[int64]) {
			algo.Compact(q, x, halyard.New[bool](q, 2), none, at)
		},
		"Compact: invalid argument: elements of type uint8 have no number of 32 or 64 bits": func(q *halyard.Queue, _, _ numbers, at *halyard.Buffer[int64]) {
			algo.Compact(q, halyard.New[uint8](q, 2), halyard.New[bool](q, 2), halyard.New[uint8](q, 2), at)
		},
	} {
		q := halyard.Open(t.Context(), "host")
		x := halyard.From(q, []int32{3, 2, 1})
		call(q, x, halyard.New[int32](q, 0), halyard.New[int64](q, 1))
		values := x.Buffer()
		err := q.Err()
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, "algo_test.go:")
		require.ErrorIs(t, err, hal.ErrInvalidArgument)
		got := make([]int32, 3)
		require.NoError(t, values.CopyOut(t.Context(), got))
		assert.Equal(t, []int32{3, 2, 1}, got)
		_ = q.Close()
	}
	var none *halyard.Queue
	algo.Sort(none, halyard.New[int32](none, 3)) // does nothing
}

// A result that shares elements with what it is made of would be wrong, because threads read what others have written: it is refused, and
// nothing changes. In the same elements a scan, and in one of them a sum or a minimum, are right.
func TestResultsThatOverlap(t *testing.T) {
	everydevice.Run(t, func(t *testing.T, q *halyard.Queue) {
		for _, n := range []int{10, 5000} {
			data := numbers[int32](n)
			for name, call := range map[string]func(q *halyard.Queue, x *halyard.Buffer[int32]){
				"Scan: source and destination overlap: sums and x share": func(q *halyard.Queue, x *halyard.Buffer[int32]) { algo.Scan(q, x.Slice(0, n-1), x.Slice(1, n)) },
				"ExclusiveScan: source and destination overlap: sums and x share": func(q *halyard.Queue, x *halyard.Buffer[int32]) {
					algo.ExclusiveScan(q, x.Slice(1, n), x.Slice(0, n-1))
				},
				"SortPairs: source and destination overlap: values and keys share": func(q *halyard.Queue, x *halyard.Buffer[int32]) { algo.SortPairs(q, x, halyard.As[uint32](x)) },
				"Histogram: source and destination overlap: counts and x share": func(q *halyard.Queue, x *halyard.Buffer[int32]) {
					algo.Histogram(q, x, halyard.As[uint32](x.Slice(3, 6)))
				},
				"Compact: source and destination overlap: kept and x share": func(q *halyard.Queue, x *halyard.Buffer[int32]) {
					algo.Compact(q, x, halyard.New[bool](q, n), x.Slice(1, 3), halyard.New[int64](q, 1))
				},
				"TopK: source and destination overlap: values and x share": func(q *halyard.Queue, x *halyard.Buffer[int32]) { algo.TopK(q, x, x.Slice(0, 2), nil) },
				"Min: source and destination overlap: index and x share 8 bytes": func(q *halyard.Queue, x *halyard.Buffer[int32]) {
					algo.Min(q, x, halyard.New[int32](q, 1), halyard.As[int64](x.Slice(2, 4)))
				},
				"Max: source and destination overlap: index and value share 4 byte": func(q *halyard.Queue, x *halyard.Buffer[int32]) {
					algo.Max(q, x.Slice(4, n), x.Slice(0, 1), halyard.As[int64](x.Slice(0, 2)))
				},
			} {
				p := halyard.On(t.Context(), q.Stream())
				x := halyard.From(p, data)
				below := x.Buffer()
				call(p, x)
				got := make([]int32, n)
				assert.NoError(t, below.CopyOut(t.Context(), got))
				assert.Equal(t, data, got)
				err := p.Close()
				assert.ErrorIs(t, err, hal.ErrOverlap)
				assert.ErrorContains(t, err, name)
				assert.ErrorContains(t, err, "algo_test.go:")
			}
			x, at := halyard.From(q, data), halyard.New[int64](q, 1)
			sum, least := int32(0), slices.Min(data)
			for _, v := range data {
				sum += v
			}
			algo.Min(q, x, x.Slice(n-1, n), at)
			got := x.At(n - 1)
			if q.Err() != nil {
				return
			}
			assert.Equal(t, least, got)
			x.Set(n-1, data[n-1])
			algo.Sum(q, x, x.Slice(1, 2))
			assert.Equal(t, sum, x.At(1))
			algo.Scan(q, x.Slice(2, 4), x.Slice(4, 6))
			assert.Equal(t, data[2]+data[3], x.At(5))
		}
	})
}

// Recorded functions do the same in each run, with the elements that there are then.
func TestRecorded(t *testing.T) {
	everydevice.Run(t, recorded)
	t.Run("two devices", func(t *testing.T) {
		t.Setenv("HALYARD_HOST_DEVICES", "2")
		q := halyard.Open(t.Context(), "host:1", "host:2")
		recorded(t, q)
		require.NoError(t, q.Close())
	})
}

func recorded(t *testing.T, q *halyard.Queue) {
	const n = 3 * 2048
	x, y := halyard.New[float32](q, n), halyard.From(q, numbers[float32](n))
	keep, kept := halyard.New[bool](q, n), halyard.New[float32](q, n)
	sum, dot, least, most := halyard.New[float32](q, 1), halyard.New[float32](q, 1), halyard.New[float32](q, 1), halyard.New[float32](q, 1)
	scanned, sorted, top := halyard.New[float32](q, n), halyard.New[float32](q, n), halyard.New[float32](q, 5)
	number, bytes, counts := halyard.New[int64](q, 1), halyard.New[uint8](q, n), halyard.New[uint32](q, 256)
	all := func(q *halyard.Queue) {
		algo.Sum(q, x, sum)
		algo.Dot(q, x, y, dot)
		algo.Min(q, x, least, nil)
		algo.Max(q, x, most, nil)
		algo.Scan(q, x, scanned)
		algo.Compact(q, x, keep, kept, number)
		algo.TopK(q, x, top, nil)
		algo.Histogram(q, bytes, counts)
		algo.Sort(q, sorted)
	}
	result := func() map[string]any {
		return map[string]any{"Sum": sum.Values(), "Dot": dot.Values(), "Min": least.Values(), "Max": most.Values(), "Scan": scanned.Values(),
			"Compact": kept.Values(), "its number": number.Values(), "TopK": top.Values(), "Histogram": counts.Values(), "Sort": sorted.Values()}
	}
	step := q.Record(all)
	if q.Err() != nil {
		return // everydevice knows whether it may fail
	}
	require.Equal(t, make([]float32, 1), sum.Values(), "a function ran while it was recorded")
	for run := range 3 {
		values := numbers[float32](n + run)[:n]
		pass := make([]bool, n)
		some := make([]uint8, n)
		for i := range pass {
			pass[i], some[i] = values[i] > 0, uint8(math.Float32bits(values[i]))
		}
		x.SetValues(values)
		sorted.SetValues(values)
		keep.SetValues(pass)
		bytes.SetValues(some)
		kept.Fill(0)
		step.Run()
		got := result()
		sorted.SetValues(values)
		kept.Fill(0)
		all(q)
		for name, want := range result() {
			if !reflect.DeepEqual(want, got[name]) {
				t.Errorf("run %d: %s differs", run, name)
			}
		}
		slices.Sort(values)
		slices.Reverse(values)
		require.Equal(t, values[:5], top.Values())
	}
	step.Close()
}

// Functions that only read much are divided: each device has a part of the elements.
func TestDivided(t *testing.T) {
	t.Setenv("HALYARD_HOST_DEVICES", "2")
	q := halyard.Open(t.Context(), "host:1", "host:2")
	const n = 1 << 20
	x, sum := halyard.From(q, numbers[float32](n)), halyard.New[float32](q, 1)
	for range 5 {
		algo.Sum(q, x, sum)
	}
	one := halyard.Open(t.Context(), "host:0")
	alone := halyard.New[float32](one, 1)
	algo.Sum(one, halyard.From(one, x.Values()), alone)
	require.Equal(t, alone.Values(), sum.Values())
	require.Regexp(t, `host:1.*host:2`, fmt.Sprint(x.Buffer().State()))
	require.NoError(t, one.Close())
	require.NoError(t, q.Close())
}
