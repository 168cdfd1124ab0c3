package translate_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/internal/translate"
	"github.com/go-halyard/halyard/internal/translate/build"
	"github.com/go-halyard/halyard/internal/translate/facts"
	"github.com/go-halyard/halyard/internal/translate/ir"
	"github.com/go-halyard/halyard/internal/translate/launches"
)

func init() { *translate.Launches = launches.Of }

// known builds the kernel k of a text, with the effects of its functions.
func known(t *testing.T, text string) (*ir.Function, map[*ir.Function]*facts.Effects) {
	t.Helper()
	p, err := translate.Checked("package p\n\nimport \"github.com/go-halyard/halyard/kernel/grid\"\n\n" + text)
	require.NoError(t, err)
	made, err := build.Program(p)
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
		{"var a, b int32; set(&a); b = p; y[0] = a + b", "a thread, b nothing"},
		{"m := grid.Shared[[4]int32](t); a := m[0]; y[0] = a", "m nothing, a thread"},
		{"a := grid.AtomicAdd(&y[0], 1); y[1] = a", "a thread"},
		{"t.Barrier(); if t.Local(0) > 3 { return }; y[0] = 1", "barrier nothing"},
		{"if t.Local(1) > 3 { return }; t.Barrier(); y[0] = 1", "barrier row"},
		{"for i := range 4 { t.Barrier(); if t.Block(0) == i { return } }", "i nothing, barrier block"},
		{"for i := 0; i < int(p); i++ { t.Barrier() }", "i nothing, barrier nothing"},
		{"for i := range 4 { if t.Local(0) == i { break }; t.Barrier() }", "i nothing, barrier thread"},
		{"if x[0] > 3 { t.Barrier() }", "barrier nothing"},
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

var _ = []any{sum, sign, set}

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

// kernelOf builds a kernel with a body, whose statements are separated by semicolons.
func kernelOf(t *testing.T, body string) (*ir.Function, map[*ir.Function]*facts.Effects) {
	t.Helper()
	return known(t, `
func low(a int32) int32 {
	if a < 0 {
		return 0
	}
	return a & 7
}

func add(p *int32, v int32) { *p += v }

func wait(t grid.Thread, p *int32) { t.Barrier(); *p++ }

var _ = []any{low, add, wait}

//halyard:kernel
func k(t grid.Thread, p int32, u uint8, x, y []int32) {
	`+strings.ReplaceAll(body, "; ", "\n")+"\n}\n")
}

// The range of a value follows from its type, from what it is computed of, and from the conditions around it.
func TestRanges(t *testing.T) {
	for _, c := range []struct{ body, want string }{
		{"a := int(u) + 3; b := a*2 - 1; y[0] = int32(b)", "a 3 258, b 5 515"},
		{"a := u + 1; y[0] = int32(a)", "a 0 255"},
		{"a := t.Local(0) % 8; b := a << 3; c := a >> 1 & 2; y[0] = int32(b + c)", "a 0 7, b 0 56, c 0 2"},
		{"for i := 2; i < 12; i += 3 { y[i] = 1 }", "i 2 11"},
		{"for i := 9; i >= 1; i-- { y[i] = 1 }", "i 1 9"},
		{"for i := range x { y[i] = 1 }", "i 0 9223372036854775806"},
		{"s := 0; for i := range 9 { s = i*2 }; y[0] = int32(s)", "s 0 16, i 0 8"},
		{"s := int32(0); for range 9 { s++ }; y[0] = int32(s)", "s -2147483648 2147483647"},
		{"a := int(p); if a >= 0 && a < 20 { b := a + 1; y[b] = 1 }", "a -2147483648 2147483647, b 1 20"},
		{"a := int(p); if a < 0 || !(a < 20) { return }; b := a + 1; y[b] = 1", "a -2147483648 2147483647, b 1 20"},
		{"a := low(p); b := min(a, 3); c := max(p, 5) / 5; y[b] = c", "a 0 7, b 0 3, c 1 429496729"},
		{"s := int32(1); add(&s, 2); y[0] = s", "s -2147483648 2147483647"},
		{"a := t.Global(0) - t.Local(0); y[a] = 1", "a -2147483646 2147483646"},
		{"a := int8(p); b := -a; c := ^a; y[0] = int32(b + c)", "a -128 127, b -128 127, c -128 127"},
	} {
		f, _ := kernelOf(t, c.body)
		of := map[*ir.Function]*facts.Ranges{}
		f.Body.Visit(nil, func(v *ir.Value) {
			if v.Op == ir.Call {
				of[v.Call] = facts.RangesOf(v.Call, of)
			}
		})
		r := facts.RangesOf(f, of)
		var got []string
		say := func(name string, is facts.Range) {
			if name != "" {
				got = append(got, fmt.Sprintf("%s %d %d", name, is.Least, is.Most))
			}
		}
		for _, l := range f.Locals {
			say(l.Name, r.Locals[l.Index])
		}
		f.Body.Visit(func(s *ir.Stmt) {
			switch {
			case s.Do == ir.Let:
				say(s.Value.Name, r.Values[s.Value.ID])
			case s.Count != nil:
				say(s.Count.Index.Name, r.Values[s.Count.Index.ID])
			}
		}, nil)
		want := strings.Split(c.want, ", ")
		slices.Sort(got)
		slices.Sort(want)
		assert.Equal(t, want, got, "%s\n%s", c.body, f)
	}
}

// A statement that leaves a loop or a switch is one of it, of those between, and of none around the one that it leaves.
func TestExits(t *testing.T) {
	f, _ := kernelOf(t, `outer:
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
	}`)
	exits, got := facts.ExitsOf(f), []facts.Exit{}
	f.Body.Visit(func(s *ir.Stmt) {
		if e := exits[s]; e != nil {
			got = append(got, *e)
		}
	}, nil)
	assert.Equal(t, []facts.Exit{{Continues: true, Returns: true}, {Continues: true, Beyond: true}, {Breaks: true, Beyond: true}, {}}, got)
}

// Who may change a place follows from its memory and from what the kernel writes.
func TestOwners(t *testing.T) {
	f, effects := kernelOf(t, "s := grid.Shared[[4]int32](t); a := x[0] + x[1]; a++; var v [2]int32; v[a] = 1; s[t.Local(0)] = v[1]; t.Barrier(); y[p] = s[t.Local(0)]; y[p] += a")
	o := facts.OwnersOf(f, effects)
	got := map[string]string{}
	for _, p := range f.Params {
		got[p.Name] = fmt.Sprint(o.Params[p.Index], o.Mixed[p])
	}
	for _, l := range f.Locals {
		got[l.Name] = fmt.Sprint(o.Locals[l.Index], o.Mixed[l])
	}
	assert.Equal(t, map[string]string{"p": "alone false", "u": "alone false", "x": "nobody false", "y": "anyone false", "s": "block false", "a": "alone false", "v": "alone true"}, got)
}

// What is used behind a barrier and was made before it lives over it.
func TestOverBarriers(t *testing.T) {
	for _, c := range []struct{ body, want string }{
		{"a, b := x[0], x[1]; y[0] = b; t.Barrier(); y[1] = a", "a"},
		{"s := int32(0); for i := range 3 { s++; t.Barrier(); y[i] = s; s = 0 }", "i s"},
		{"s := int32(0); for i := range 3 { t.Barrier(); s = x[i]; y[i] = s }", "i"},
		{"s := int32(0); for { s++; if s > 3 { break }; t.Barrier() }; y[0] = 2", "s"},
		{"s := x[0]; if p > 2 { t.Barrier(); s = 4 }; y[0] = s", ""},
		{"s := x[0]; switch p { case 1: t.Barrier(); fallthrough; case 2: y[0] = s }; y[1] = 2", "s"},
		{"s, n := x[0], x[1]; wait(t, &s); y[0] = n", "n s"},
		{"a := x[0]; v := [2]int32{a, 2}; t.Barrier(); v[1] = 3; y[0] = v[0]", "v"},
	} {
		f, effects := kernelOf(t, c.body)
		var got []string
		for _, live := range facts.OverBarriers(f, effects) {
			for v := range live.Values {
				got = append(got, v.Name)
			}
			for l := range live.Locals {
				got = append(got, l.Name)
			}
		}
		slices.Sort(got)
		assert.Equal(t, c.want, strings.Join(got, " "), "%s\n%s", c.body, f)
	}
}
