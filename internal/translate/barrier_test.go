package translate

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const meeting0 = `package p

import "github.com/go-halyard/halyard/kernel/grid"

type pair struct{ a, b int }

func plain(t grid.Thread)              { t.Barrier() }
func guarded(t grid.Thread, n int)     { if n > 3 { RETURN }; t.Barrier() }
func own(t grid.Thread)                { if t.Local(0) == 0 { OWN }; t.Barrier() }
func set(p *int, v int)                { *p = v }
func count(x []int32) int32            { return grid.AtomicAdd(&x[0], 1) }
func (p *pair) put(v int)              { p.a = v }
func (p pair) meet(t grid.Thread)      { if p.a > 0 { METHOD } }
func place(t grid.Thread) int          { return t.Local(0) }
func double(n int) int                 { return 2 * n }

//halyard:kernel
func k(t grid.Thread, n int, x, y []int32) {
	i := t.Local(0)
	_ = i
BODY
}
`

// A barrier that some threads of a block do not come to is refused, at the jump with which they leave or at the barrier. One that all come to is
// translated: then ‹ is missing. RETURN, OWN and METHOD stand in the helpers above.
func TestBarriersThatSomeThreadsMiss(t *testing.T) {
	for _, c := range []string{
		"if i > 3 { ‹return }; t.Barrier()",
		"if i > 3 { x[0] = 1 } else { ‹return }; t.Barrier()",
		"if n > 3 { return }; t.Barrier()",
		"if len(x) < 3 || t.Size(0)*t.Block(0) > n { return }; t.Barrier()",
		"if x[n] > 3 { return }; t.Barrier()",
		"if x[i] > 3 { ‹return }; t.Barrier()",
		"t.Barrier(); if i > 3 { return }; y[i] = 1",
		"for j := range 4 { if i == j { ‹return } }; t.Barrier()",
		"for j := range 4 { if n == j { return } }; t.Barrier()",
		"switch i { case 1: ‹return }; t.Barrier()",
		"switch n { case i: ‹return }; t.Barrier()",
		"switch { case n > 1: return; case i > 1: ‹return }; t.Barrier()",
		"switch n { case 1: return }; t.Barrier()",
		"for range 4 { if n > 1 { if i > 1 { ‹return } } ; t.Barrier() }",
		"for range 4 { t.Barrier(); if i > 1 { ‹return } }",
		"for range 4 { t.Barrier(); if i > 1 { ‹break } }",
		"for range 4 { t.Barrier(); if i > 1 { continue }; y[i] = 1 }",
		"for range 4 { if i > 1 { ‹continue }; t.Barrier() }",
		"for range 4 { switch { case i > 1: break }; t.Barrier() }",
		"for range 4 { switch { case i > 1: ‹continue }; t.Barrier() }",
		"a: for range 4 { for range 3 { if i > 1 { continue a } }; y[i] = 1 }; t.Barrier()",
		"a: for range 4 { for range 3 { t.Barrier(); if i > 1 { ‹continue a } } }",
		"a: for range 4 { for range 3 { t.Barrier(); if i > 1 { ‹break a } } }",
		"for range 4 { for range 3 { if i > 1 { break } }; t.Barrier() }",
		"if i > 1 { ‹t.Barrier() }",
		"for range i { ‹t.Barrier() }",
		"for j := i; j < 9; j++ { ‹t.Barrier() }",
		"for j := 0; j < 9; j++ { t.Barrier() }",
		"for j := n; j > 0; j /= 2 { if i < j { y[i] += x[i+j] }; t.Barrier() }",
		"for j := 1; j < 9; j += i { ‹t.Barrier() }",
		"for j := range x { t.Barrier(); y[i] = x[j] }",
		"m := n; if i > 1 { m = 2 }; if m > 1 { ‹t.Barrier() }",
		"m := n; for range 4 { if m > 1 { ‹t.Barrier() }; if i > 2 { m++ } }",
		"m := n; for range i { m++ }; if m > 1 { ‹t.Barrier() }",
		"m := n; for range 4 { if i > 2 { break }; m++ }; if m > 1 { ‹t.Barrier() }",
		"var m int; m, y[0] = i, 3; if m > 1 { ‹t.Barrier() }",
		"var m [2]int; m[i] = 3; if m[0] > 1 { ‹t.Barrier() }",
		"var m [2]int; m[n] = 3; if m[0] > 1 { t.Barrier() }",
		"var p pair; p.b = i; if p.a > 1 { ‹t.Barrier() }",
		"var p pair; p.put(i); if p.a > 1 { ‹t.Barrier() }",
		"var p pair; p.put(n); if p.a > 1 { t.Barrier() }",
		"m := 0; set(&m, i); if m > 1 { ‹t.Barrier() }",
		"m := 0; set(&m, n); if m > 1 { t.Barrier() }",
		"m := 0; if i > 0 { set(&m, n) }; if m > 1 { ‹t.Barrier() }",
		"if count(y) == 0 { ‹t.Barrier() }",
		"if grid.AtomicAdd(&y[0], 1) == 0 { ‹t.Barrier() }",
		"if place(t) == 0 { ‹t.Barrier() }",
		"if double(n) == 0 { t.Barrier() }",
		"if double(i) == 0 { ‹t.Barrier() }",
		"s := grid.Shared[[1]int32](t); for s[0] == 0 { t.Barrier(); if i == 0 { s[0] = 1 }; t.Barrier() }",
		"if i > 1 { ‹plain(t) }",
		"if i > 1 { ‹return }; plain(t)",
		"guarded(t, n)",
		"guarded(t, i) // RETURN",
		"guarded(t, n); guarded(t, i) // RETURN",
		"own(t) // OWN",
		"pair{a: n}.meet(t)",
		"pair{a: i}.meet(t) // METHOD",
	} {
		body, inHelper, _ := strings.Cut(c, " // ")
		src := strings.Replace(meeting0, "BODY", body, 1)
		for word, is := range map[string]string{"RETURN": "return", "OWN": "return", "METHOD": "t.Barrier()"} {
			if word == inHelper {
				is = "‹" + is
			} else if word == "OWN" {
				is = "y := 1; _ = y"
			}
			src = strings.Replace(src, word, is, 1)
		}
		at := strings.Index(src, "‹")
		_, err := translated(t, strings.Replace(src, "‹", "", 1))
		if at < 0 {
			assert.NoError(t, err, c)
			continue
		}
		var all Errors
		if !assert.ErrorAs(t, err, &all, c) {
			continue
		}
		assert.Len(t, all, 1, c)
		assert.Equal(t, at, all[0].Pos.Offset, "%s: %v", c, err)
	}
}

// The refusal names the barrier or the condition, and says what to write.
func TestWhatTheRefusalOfABarrierSays(t *testing.T) {
	_, err := translated(t, strings.NewReplacer("RETURN", "return", "OWN", "", "METHOD", "", "BODY", "if i > 3 {\nreturn\n}\nt.Barrier()\nif i > 4 {\nt.Barrier()\n}").Replace(meeting0))
	require.Error(t, err)
	const says = "k.go:22:1: threads that return here do not come to the barrier in line %d, where the others of their block wait for them; " +
		"put the statements that they leave out into an if, and t.Barrier outside of it\n"
	assert.Equal(t, fmt.Sprintf(says, 24)+"k.go:26:1: not all threads of a block come to this barrier, because the condition in line 25 may differ between them; "+
		"write t.Barrier where all come to it, and only the other statements under the condition", err.Error())
}
