package translate_test

import (
	"fmt"
	"go/token"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/internal/translate"
	"github.com/go-halyard/halyard/internal/translate/build"
	"github.com/go-halyard/halyard/internal/translate/facts"
	"github.com/go-halyard/halyard/internal/translate/ir"
)

// known builds the kernel k of a text, with the effects of its functions.
func known(t *testing.T, text string) (*ir.Function, map[*ir.Function]*facts.Effects) {
	t.Helper()
	p, err := translate.Checked("package p\n\nimport \"github.com/go-halyard/halyard/kernel/grid\"\n\n" + text)
	require.NoError(t, err)
	made, err := build.Program(p.Package)
	require.NoError(t, err)
	require.NoError(t, made.Verify())
	effects := map[*ir.Function]*facts.Effects{}
	for _, f := range made.Functions {
		effects[f] = facts.EffectsOf(f, effects)
	}
	return made.Functions[len(made.Functions)-1], effects
}

// What a value varies by follows from what it is computed of, from the memory that it is read from, and from which threads store into a variable.
func TestVaries(t *testing.T) {
	for _, c := range []struct{ body, want string }{
		{"i, j, g, n := t.Global(0), t.Local(1), t.Block(1), t.Size(0); _, _, _, _ = i, j, g, n", "i thread, j row, g block, n nothing"},
		{"a := int(p) * len(x); b := x[a]; c := y[a]; d := x[t.Global(1)]; y[0] = b + c + d", "a nothing, b nothing, c thread, d row"},
		{"s := 0; if p > 3 { s = t.Block(0) }; y[0] = int32(s)", "s block"},
		{"s := 0; if t.Local(1) > 3 { s = 1 }; y[0] = int32(s)", "s row"},
		{"s := 0; if t.Local(0) > 3 { return }; s++; y[0] = int32(s)", "s nothing"},
		{"s := 0; for s < len(x) { s++ }; y[0] = int32(s)", "s nothing"},
		{"s := 0; for s < t.Local(0) { s++ }; y[0] = int32(s)", "s thread"},
		{"s := 0; for i := range 4 { s += i; if t.Local(1) == i { break } }; y[0] = int32(s)", "s row, i nothing"},
		{"s := 0; for i := range 4 { if t.Local(1) == i { continue }; s += i }; y[0] = int32(s)", "s row, i nothing"},
		{"s, a := 0, 0; for range 4 { a = s; s = t.Block(0) }; y[0] = int32(a)", "s block, a block"},
		{"s, a := 0, 0; switch { case p > 1: s = 1; case t.Local(1) > 1: s = 2 ; default: a = 1}; y[0] = int32(a + s)", "s row, a row"},
		{"s := 0; switch p { case 1: s = 1; case 2: s = 2 }; y[0] = int32(s)", "s nothing"},
		{"a, b := sum(p, 3), sum(p, int32(t.Local(0))); y[0] = a + b", "a nothing, b thread"},
		{"a := sign(int32(t.Local(1))); y[0] = a", "a row"},
		{"a, b := last(x, 1), last(y, 1); c := last(x, t.Local(1)); y[0] = a + b + c", "a nothing, b thread, c row"},
		{"var a, b int32; set(&a); b = p; y[0] = a + b", "a thread, b nothing"},
		{"m := grid.Shared[[4]int32](t); a := m[0]; y[0] = a", "m nothing, a thread"},
		{"a := grid.AtomicAdd(&y[0], 1); y[1] = a", "a thread"},
		{"t.Barrier(); if t.Local(0) > 3 { return }; y[0] = 1", "barrier nothing"},
		{"if t.Local(1) > 3 { return }; t.Barrier(); y[0] = 1", "barrier row"},
		{"for i := range 4 { t.Barrier(); if t.Block(0) == i { return } }", "i nothing, barrier block"},
		{"for i := 0; i < int(p); i++ { t.Barrier() }", "i nothing, barrier nothing"},
		{"for i := range 4 { if t.Local(0) == i { break }; t.Barrier() }", "i nothing, barrier thread"},
		{"if x[0] > 3 { t.Barrier() }", "barrier nothing"},
		{"for i := range 4 { t.Barrier(); if t.Local(0) == i { continue }; y[0] = 1 }", "i nothing, barrier nothing"},
		{"for i := range 4 { if t.Local(0) == i { continue }; t.Barrier() }", "i nothing, barrier thread"},
	} {
		f, effects := known(t, `
func sum(a, b int32) int32 { return a + b }

func sign(a int32) int32 {
	if a < 0 {
		return -1
	}
	return 1
}

func set(p *int32) { *p = 1 }

func last(x []int32, n int) int32 { return x[len(x)-n] }

var _ = []any{sum, sign, set, last}

//halyard:kernel
func k(t grid.Thread, p int32, x, y []int32) {
	`+strings.ReplaceAll(c.body, "; ", "\n")+"\n}\n")
		v := facts.VarianceOf(f, effects, nil)
		var got []string
		for _, l := range f.Locals {
			if l.Name != "" {
				got = append(got, fmt.Sprintf("%s %s", l.Name, v.Locals[l.Index]))
			}
		}
		f.Body.Visit(func(s *ir.Stmt) {
			switch {
			case s.Do == ir.Let && s.Value.Name != "":
				got = append(got, fmt.Sprintf("%s %s", s.Value.Name, v.Values[s.Value.ID]))
			case s.Do == ir.Barrier:
				got = append(got, fmt.Sprintf("barrier %s", v.Barriers[s]))
			case s.Count != nil && s.Count.Index.Name != "":
				got = append(got, fmt.Sprintf("%s %s", s.Count.Index.Name, v.Values[s.Count.Index.ID]))
			}
		}, nil)
		want := strings.Split(c.want, ", ")
		slices.Sort(got)
		slices.Sort(want)
		assert.Equal(t, want, got, "%s\n%s", c.body, f)
	}
}

// A value is pure if computing it cannot panic. What an operand that is computed elsewhere does is not asked.
func TestPure(t *testing.T) {
	for text, want := range map[string]bool{
		"p": true, "p / 3": true, "p / p": false, "p % p": false, "float32(p) / float32(p)": true, "p << 3": true, "p << q": false, "p << uint32(q)": true,
		"p >> q": false, "-(p + 3*q)": true, "x[0]": false, "a[1]": false, "s.N": true, "int32(len(x))": true, "max(p, q/q)": false, "d": true,
		"math.Sqrt(float64(p))": true, "next(p)": false, "m.At(0, 0)": false,
	} {
		f, _ := known(t, fmt.Sprintf(`
import "math"

func next(a int32) int32 { return a + 1 }

var _, _ = next, math.Pi

//halyard:kernel
func k(t grid.Thread, p, q int32, s struct{ N int32 }, x []int32, m grid.Matrix[int32]) {
	a, d := [2]int32{p, q}, x[1]
	a[p&1]++
	v := %s
	_, _, _ = a, d, v
}`, text))
		var v *ir.Value
		f.Body.Visit(func(s *ir.Stmt) {
			if s.Do == ir.Let && (s.Value.Name == "v" || s.Value.Name == "d" && text == "d") {
				v = s.Value
			}
		}, nil)
		if text == "d" { // an operand that is bound
			v = &ir.Value{Op: ir.Neg, Type: v.Type, Args: []*ir.Value{v}}
		}
		if assert.NotNil(t, v, text) {
			assert.Equal(t, want, facts.Pure(v), text)
		}
	}
}

// The indexes of a kernel's slices are sums of products, also behind calls, loops and conditions. Those that are computed from memory are not known.
func TestReach(t *testing.T) {
	f, effects := known(t, `
type sizes struct{ Width, Height int32 }

func at(y []int32, i, by int) int32 { return y[i*by] }

//halyard:kernel
func k(t grid.Thread, n, by int32, s sizes, x, y []int32) {
	i, w := t.Global(0), int(n)
	row := t.Global(1)*w - 1
	y[row+i+w] = x[i-(i-2)]
	j := i / 2
	y[j*2+i*w*w] += x[len(x)-1-j] + x[int(s.Width)*t.Block(1)]
	for k := i; k < len(x); k += 2 {
		y[k*4] = x[k-i]
	}
	for k := range 3 {
		y[4*k+k] = x[(k-i)*-w]
	}
	m := 0
	for m < 5 {
		m++
	}
	y[m] = x[int(x[0])] + at(x, t.Block(0)*t.Size(0)+t.Local(0), w)
	if n > 3 {
		m = 2
	} else {
		m = i
	}
	if w > 4 {
		y[m] = 1
	}
	y[i] = 2
}
`)
	r := facts.ReachOf(&ir.Program{}, f, effects)
	var got []string
	for _, a := range r.Accesses {
		text := a.Of.Name + " "
		if r.Named(a.Index) {
			text += r.Text(a.Index)
		} else {
			text += "?"
		}
		if a.Read && a.Write {
			text += " both"
		}
		got = append(got, fmt.Sprint(text, " ", len(a.Known)))
	}
	assert.Equal(t, []string{
		"x 2 0", "y n*t.Global(1)+n+i-1 0", "x len(x)-j-1 0", "x ? 0", "y n*n*i+2*j both 0",
		"x -i+k 1", "y 4*k 1", "x n*i-n*k 1", "y 5*k 1",
		"x n*i 0", "x 0 0", "x ? 0", "y ? 0", "y m 1", "y i 0",
	}, got)
}

// A statement that leaves a loop or a switch is one of it, of those between, and of none around the one that it leaves.
func TestExits(t *testing.T) {
	f, _ := known(t, `
//halyard:kernel
func k(t grid.Thread, x []int32) {
outer:
	for i := range 3 {
		for j := range 3 {
			switch {
			case i == j:
				break
			case j == 2:
				continue outer
			}
			if i > j {
				continue
			}
			for range x {
			}
		}
		if i == 1 {
			return
		}
	}
}
`)
	var got []facts.Exit
	f.Body.Visit(func(s *ir.Stmt) {
		if s.Do == ir.Loop || s.Do == ir.Switch {
			got = append(got, facts.ExitOf(s))
		}
	}, nil)
	assert.Equal(t, []facts.Exit{{Beyond: true}, {Beyond: true}, {Breaks: true, Beyond: true}, {}}, got)
}

// A barrier to which package facts lets the host come once for a block does not vary between the block's threads, and neither does a variable that it computes
// once. A variable that each phase computes again varies by the thread's place alone.
func TestDivisionFollowsVariance(t *testing.T) {
	t.Parallel()
	again, same := 0, 0
	for seed := range uint64(60) {
		k := translate.Randomly(seed+1, 0)
		p, err := translate.Checked(translate.RandomHead + k.Text)
		require.NoError(t, err)
		made, err := build.Program(p.Package)
		require.NoError(t, err)
		effects := map[*ir.Function]*facts.Effects{}
		for _, f := range made.Functions {
			effects[f] = facts.EffectsOf(f, effects)
			if !f.Kernel {
				continue
			}
			// Without a Go text each variable could be computed before its statement.
			d := facts.Divide([]*ir.Function{f}, effects, facts.Source{
				Value: func(token.Pos) (any, bool) { return nil, true }, Names: func(any) []token.Pos { return nil }, Cut: func(token.Pos) bool { return true }}, true)
			varies := facts.VarianceOf(f, effects, nil)
			if d.Refused == nil {
				for s, by := range varies.Barriers {
					assert.LessOrEqual(t, by, facts.Block, "a barrier at %d\n%s", s.Pos, f)
				}
			}
			for _, v := range f.Vars {
				if v.Value == nil || v.Value.Op == ir.Const {
					continue
				}
				switch d.Class(v.Pos) {
				case facts.Same:
					same++
					assert.LessOrEqual(t, varies.Values[v.Value.ID], facts.Block, "%s\n%s", v.Name, f)
				case facts.Again:
					again++
				}
			}
		}
	}
	assert.Positive(t, same)
	assert.Positive(t, again)
}
