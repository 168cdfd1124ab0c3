package rand

import (
	"fmt"
	"math"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
)

func Example() {
	r := New(1, 0) // seed 1, stream 0: every program gets these numbers
	fmt.Println(r.IntN(6)+1, r.IntN(6)+1, r.IntN(6)+1)
	fmt.Println(r.Float32())
	// Output:
	// 6 5 6
	// 0.4755932
}

// The known answers of Random123, the authors' library: kat_vectors, philox4x32 with 10 rounds.
func TestKnownAnswers(t *testing.T) {
	for _, c := range []struct {
		counter [4]uint32
		key     [2]uint32
		want    [4]uint32
	}{
		{[4]uint32{}, [2]uint32{}, [4]uint32{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
		{[4]uint32{math.MaxUint32, math.MaxUint32, math.MaxUint32, math.MaxUint32}, [2]uint32{math.MaxUint32, math.MaxUint32},
			[4]uint32{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
		{[4]uint32{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, [2]uint32{0xa4093822, 0x299f31d0},
			[4]uint32{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
	} {
		assert.Equal(t, c.want, Philox(c.counter, c.key))
	}
}

// A generator goes through the blocks of its stream, and forgets none of their numbers.
func TestStreams(t *testing.T) {
	r := New(0x299f31d0_a4093822, 0x03707344_13198a2e)
	r.blocks = 0x85a308d3_243f6a88
	for block := range uint64(3) {
		n := r.blocks
		if block == 0 {
			assert.EqualValues(t, 0xd16cfe09, r.Uint32())
			assert.EqualValues(t, 0x94fdcceb, r.Uint32())
			assert.EqualValues(t, 0x5001e420, r.Uint32())
			assert.EqualValues(t, 0x24126ea1, r.Uint32())
			continue
		}
		want := Philox([4]uint32{uint32(n), uint32(n >> 32), 0x13198a2e, 0x03707344}, [2]uint32{0xa4093822, 0x299f31d0})
		assert.Equal(t, want, [4]uint32{r.Uint32(), r.Uint32(), r.Uint32(), r.Uint32()})
	}
	other := New(0x299f31d0_a4093822, -1)
	assert.NotEqual(t, r.Uint32(), other.Uint32())
	assert.EqualValues(t, 40, unsafe.Sizeof(r), "as the documentation says")
}

// Each result is as often as it should be.
func TestIntN(t *testing.T) {
	var count [6]int
	r := New(7, 0)
	for range 60_000 {
		count[r.IntN(6)]++
	}
	square := 0.0
	for _, n := range count {
		square += float64(n-10_000) * float64(n-10_000) / 10_000
	}
	assert.Less(t, square, 20.5, "chi-square with 5 degrees of freedom: 0.1 % are more")
	for _, n := range []int{0, -1, math.MinInt, 1} {
		assert.Zero(t, r.IntN(n))
	}
	assert.Less(t, r.IntN(math.MaxInt), math.MaxInt)
}

// The numbers fill [0, 1) to its ends.
func TestFloats(t *testing.T) {
	r := New(1, 1)
	least, most, sum := float32(1), float32(0), 0.0
	for range 1_000_000 {
		x := r.Float32()
		least, most = min(least, x), max(most, x)
		sum += r.Float64()
	}
	assert.True(t, least >= 0 && least < 1e-5 && most < 1 && most > 1-1e-5, "%v to %v", least, most)
	assert.InDelta(t, 0.5, sum/1e6, 0.001)
	r = Rand{a: math.MaxUint32, b: math.MaxUint32, left: 2}
	assert.Equal(t, float32(1-1.0/(1<<24)), r.Float32())
	r = Rand{a: math.MaxUint32, b: math.MaxUint32, left: 2}
	assert.Equal(t, 1-1.0/(1<<53), r.Float64())
}

// Moments, and the part beyond 1, 2 and 3 standard deviations.
func TestNormFloat64(t *testing.T) {
	const n = 1_000_000
	r := New(11, 5)
	var moments [5]float64
	var beyond [4]float64
	for range n {
		x := r.NormFloat64()
		for i := range moments {
			moments[i] += math.Pow(x, float64(i)) / n
		}
		for i := range beyond {
			if math.Abs(x) > float64(i) {
				beyond[i] += 1.0 / n
			}
		}
	}
	for i, want := range []float64{1, 0, 1, 0, 3} {
		assert.InDelta(t, want, moments[i], 0.03, "moment %d", i)
	}
	for i := range beyond {
		assert.InDelta(t, math.Erfc(float64(i)/math.Sqrt2), beyond[i], 0.002, "beyond %d", i)
	}
}

// The logarithm is as exact as it says.
func TestLog(t *testing.T) {
	r := New(2, 2)
	for range 200_000 {
		x := math.Ldexp(r.Float64()+1e-9, -r.IntN(200))
		assert.InEpsilon(t, math.Log(x), log(x), 1e-14)
	}
	for _, x := range []float64{0.5, 0.25, 1 - 1.0/(1<<53), math.SmallestNonzeroFloat64 * (1 << 53), math.Sqrt2 / 2} {
		assert.InEpsilon(t, math.Log(x), log(x), 1e-15, x)
	}
	assert.Zero(t, log(1))
}

func BenchmarkUint32(b *testing.B) {
	r, sum := New(1, 1), uint32(0)
	for range b.N {
		sum += r.Uint32()
	}
	_ = sum
}
