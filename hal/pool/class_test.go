package pool

import (
	"testing"

	"pgregory.net/rapid"
)

func TestClassesCoverSizesWithinAnEighth(t *testing.T) {
	check := func(t rapid.TB, n uint64) {
		c := classOf(n)
		top := unitsOf(c)
		if c < 0 || c >= classes || top < n {
			t.Fatalf("%d units: class %d of %d units", n, c, top)
		}
		if n > 8 && 8*(top-n) >= n || n <= 8 && top != n {
			t.Fatalf("%d units: %d are wasted", n, top-n)
		}
		if c > 0 && unitsOf(c-1) >= n {
			t.Fatalf("%d units: class %d, but class %d has %d", n, c, c-1, unitsOf(c-1))
		}
		if f := floorClass(n); unitsOf(f) > n || f+1 < classes && unitsOf(f+1) <= n {
			t.Fatalf("%d units: floor is class %d of %d units", n, f, unitsOf(f))
		}
	}
	for n := uint64(1); n < 5000; n++ {
		check(t, n)
	}
	check(t, mostUnits)
	check(t, mostUnits-1)
	rapid.Check(t, func(t *rapid.T) { check(t, rapid.Uint64Range(1, mostUnits).Draw(t, "units")) })
}
