package translate

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A change that every thread makes to one element gets a warning. One that a thread may make alone, that is atomic or of the thread's own element gets none.
func TestWarningsOfLostChanges(t *testing.T) {
	t.Parallel()
	src := `package p

import "github.com/go-halyard/halyard/kernel/grid"

//halyard:kernel
func k(t grid.Thread, x, y []float32, n int) {
	i := t.Global(0)
	s := grid.Shared[[2]float32](t)
	s[1] *= y[i] // lost
	t.Barrier()
	x[n] = max(x[n], y[i]) // lost
	if i < len(y) {
		x[0] += y[i] // lost
	} else {
		y[0] = 1
	}
	for j := range n {
		x[j]++ // lost
		x[i]++
		x[i+j]++
	}
	if i == 0 {
		x[1] += 1
	}
	if t.Local(0) == 0 && n > 2 {
		s[0]++
	}
	grid.AtomicAdd(&x[0], 1)
	x[2] = y[2] + 1
	if 0 < i {
		return
	}
	x[3]++
}

//halyard:kernel
func left(t grid.Thread, x []float32) {
	for j := range x {
		if t.Global(0) != j {
			break
		}
		x[0]++
	}
	switch t.Global(0) {
	case 0:
		x[0]++
	}
	x[t.Block(0)]++
}

//halyard:kernel
func written(t grid.Thread, x, y []float32, n int) {
	i := t.Global(0)
	s := grid.Shared[[2]float32](t)
	s[0] = float32(t.Block(0))
	s[1] = y[t.Local(0)] // last
	t.Barrier()
	if i < len(y) {
		x[n] = y[i] // last
		x[1] = y[n]
	}
	if i < len(y) && y[i] > y[0] {
		x[2] = y[i]
	}
	best := float32(0)
	for j := range n {
		best += y[i+j]
		x[j] = float32(n)
	}
	x[3] = best // last
	x[4] = float32(t.Block(0)) // last
	x[5], x[i] = best, best // last
	if y[i] > 7 {
		return
	}
	x[6] = best
}
`
	made, err := translated(t, src)
	require.NoError(t, err)
	var want, got []int
	for i, line := range strings.Split(src, "\n") {
		if strings.HasSuffix(line, "// lost") || strings.HasSuffix(line, "// last") {
			want = append(want, i+1)
		}
	}
	for _, w := range made.Warnings {
		got = append(got, w.Pos.Line)
		advice := "use grid.AtomicAdd"
		if strings.HasSuffix(strings.Split(src, "\n")[w.Pos.Line-1], "// last") {
			advice = "only the value of one of them stays"
		}
		assert.Contains(t, w.Text, advice)
	}
	assert.Equal(t, want, got)
}
