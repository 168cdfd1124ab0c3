package translate

import (
	"fmt"
	"strings"
	"testing"
)

// longLists has kernels with long lists of conditions, which compare several numbers, or one number twice, or need something that is used behind
// them as well.
var longLists = func() string {
	var cases, chain, nested, values strings.Builder
	for n := range 130 {
		fmt.Fprintf(&values, "\tcase %d, %d:\n\t\ty[i] ^= %d\n", 7*n, 1000+n, n*n)
	}
	for n := range 18 {
		fmt.Fprintf(&cases, "\tcase %c == %d:\n\t\ty[i] += %d\n", "pq"[n%2], n/2, n+1)
		fmt.Fprintf(&chain, "if %c == %d {\n\t\ty[i] = y[i]*3 + %d\n\t} else ", "qp"[n%2], n/2%6, n+1)
		fmt.Fprintf(&nested, "h%d := x[(i+%[1]d)%%len(x)] > %d\n\tif r == %[1]d || !h%[1]d && r == %d {\n\t\tswitch {\n\t\tcase h%[1]d:\n\t\t\ty[i] ^= %d\n\t\t}\n\t} else {\n\t", n, n*3, n+1, 7*n+1)
	}
	return head + fmt.Sprintf(`
//halyard:kernel
func k0(t grid.Thread, a int64, x []uint32, f []float32, y []uint64, z []int32) {
	i := t.Global(0)
	p, q := i%%9, i/4%%9
	switch {
%s	}
	%s{
		y[i] ^= 5
	}
}

//halyard:kernel
func k1(t grid.Thread, a int64, x []uint32, f []float32, y []uint64, z []int32) {
	i := t.Global(0)
	r := i %% 18
	%sy[i]++%s
}

//halyard:kernel
func k2(t grid.Thread, a int64, x []uint32, f []float32, y []uint64, z []int32) {
	i := t.Global(0)
	switch n := int(x[i]%%1200); n {
%s	default:
		y[i] = uint64(n)
	}
}
`, cases.String(), chain.String(), nested.String(), strings.Repeat("\n\t}", 18), values.String())
}()

// Of a long list of conditions the first that is true decides.
func TestLongListsOfConditions(t *testing.T) {
	t.Parallel()
	compare(t, longLists, []string{"K0On", "K1On", "K2On"})
}
