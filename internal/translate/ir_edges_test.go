package translate_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/go-halyard/halyard/internal/translate/edges"
	"github.com/go-halyard/halyard/internal/translate/ir"
)

// rowOf returns what is known of the threads of a row of a kernel with a body.
func rowOf(t *testing.T, body string) (*edges.Row, *ir.Function) {
	t.Helper()
	f, _ := known(t, fmt.Sprintf("type S struct {\n\tN  int32\n\tIn struct{ M int32 }\n}\n\n//halyard:kernel\nfunc k(t grid.Thread, n, m int, s S, u uint64, f float32, y []int32, x int, a grid.Matrix[int32]) {\n%s\n}", body))
	return edges.New(edges.Names{Place: ir.InGrid, Name: func(v *ir.Value) string { return edges.Named(v, "r") }}), f
}

// An int is a step times the thread's place plus what the threads of a row share.
func TestRowSums(t *testing.T) {
	for _, c := range []struct{ index, want string }{
		{"t.Global(0)", "1 x + 0"},
		{"(t.Global(0)) - 3 + n", "1 x + n-3"},
		{"n - t.Global(0)", "-1 x + n"},
		{"-t.Global(0)", "-1 x + 0"},
		{"3*(t.Global(0)-n) + t.Global(0)", "4 x + -3*n"},
		{"t.Global(1)*a.Cols() + t.Global(0)", "1 x + r.Y*a.Cols()"},
		{"t.Global(0) + n*m - m*n", "1 x + 0"},
		{"x + t.Global(0)", "1 x + x"},
		{"n / 3", "0 x + (n / int(3))"},
		{"n / m", ""},
		{"n % 3 + n<<2", "0 x + (n % int(3))+(n << uint(2))"},
		{"int(s.N) + int(s.N+1)", "0 x + int(s.N)+int((int32(s.N) + int32(1)))"},
		{"int(u) + len(y)", "0 x + int(u)+len(y)"},
		{"int(f)", ""},
		{"n * t.Global(0)", ""},
		{"t.Global(0) / 2", ""},
		{"int(y[0])", ""},
		{"t.Global(0) + n*1000000000000", "1 x + n*int(1000000000000)"},
		{"n*1000000*1000 + 1", "0 x + ((n * int(1000000)) * int(1000))+1"},
		{"n + 600000 + 600000", ""},
		{"(n + m) * (x + len(y)) * (a.Rows() + a.Cols()) * (n + x)", "0 x + ((((n + m) * (x + len(y))) * (a.Rows() + a.Cols())) * (n + x))"},
		{"min(n, -m)", "0 x + min(n, (-m))"},
	} {
		r, f := rowOf(t, "i := "+c.index+"\ny[i] = 1")
		var index *ir.Value
		f.Body.Visit(func(s *ir.Stmt) {
			if s.Do == ir.Store {
				index = s.Place.Path[0].Index
			}
		}, nil)
		got := ""
		if step, offset, ok := r.Of(index); ok {
			got = fmt.Sprintf("%d x + %s", step, r.Text(offset))
		}
		assert.Equal(t, c.want, got, c.index)
	}
}

// Values that are used twice, each by the next, have no endless texts.
func TestRowSumsOfManyValues(t *testing.T) {
	for _, op := range []string{"&", "*", "+"} {
		body := "i0 := n + m\n"
		for i := range 64 {
			body += fmt.Sprintf("i%d := i%d %s i%d\n", i+1, i, op, i)
		}
		r, f := rowOf(t, body+"y[i64] = 1")
		_, _, ok := r.Of(f.Body.List[len(f.Body.List)-1].Place.Path[0].Index)
		assert.False(t, ok, op)
	}
}

// Guards at the front of a kernel limit its threads.
func TestRowLimits(t *testing.T) {
	for _, c := range []struct{ body, want string }{
		{"if t.Global(0) >= n { return }; y[0] = 1", "0 n false"},
		{"i, j := t.Global(0), n; if j <= i || t.Global(1) >= len(y)-1 { return }; y[0] = 1", "0 n, 1 len(y)-1 false false"},
		{"i := t.Global(0); if i < n { if !(i >= m) { y[0] = 1 } }", "0 n, 0 m true false"},
		{"i := t.Global(0); if i < n && f > 0 { y[0] = 1 }", "0 n true"},
		{"i := t.Global(0); if i >= n { return }; i += m; n--; y[i] = 1", "0 n false"},
		{"if s := s.N; t.Global(0) >= int(s) { return }; if t.Global(0) >= int(s.N) { return }; y[0] = 1", "0 int(s.N) false false"},
		{"if t.Global(0) >= 1<<21 { return }; y[0] = 1", "0 int(2097152) false"},
		{"if t.Global(0) >= n { y[1] = 1; return }; y[0] = 1", ""},
		{"if t.Global(0) < n { y[0] = 1 }; y[0] = 2", ""},
		{"i := t.Global(0); i++; if i >= n { return }; y[0] = 1", ""},
		{"n /= m; if t.Global(0) >= n { return }; y[0] = 1", ""},
		{"y[0] = 1; if t.Global(0) >= n { return }; y[0] = 1", ""},
		{"if y[0] > 0 || t.Global(0) >= n { return }; y[0] = 1", ""},
		{"if f > 0 && t.Global(0) >= n { return }; y[0] = 1", ""},
		{"if t.Global(0) > n { return }; y[0] = 1", ""},
		{"if t.Global(0) < n { y[0] = 1 } else { y[0] = 2 }", ""},
		{"i := n / m; if t.Global(0) >= n { return }; y[0] = int32(i)", ""},
		{"i := n / m; if t.Global(0) >= n { return }; i++; y[0] = int32(i)", ""},
		{"i := n; j := i; i = m; if t.Global(0) >= j { return }; y[0] = int32(i)", ""},
		{"if t.Global(0) >= int(s.N) { return }; s.N++; y[0] = s.N", "0 int(s.N) false"},
		{"if t.Global(0) >= int(s.In.M) { return }; s.N++; y[0] = s.N", ""},
	} {
		r, f := rowOf(t, c.body)
		limits, results := r.Limits(f.Body)
		var all []string
		for _, l := range limits {
			all = append(all, fmt.Sprint(l.Dim, " ", r.Text(l.At)))
		}
		got := strings.Join(all, ", ")
		f.Body.Visit(nil, func(v *ir.Value) {
			if result, ok := results[v]; ok {
				got += fmt.Sprint(" ", result)
			}
		})
		assert.Equal(t, c.want, got, c.body)
	}
}

// Comparisons with == and != are known for the threads that are not at the edges of a row, and these threads index parts of slices.
func TestRowEdges(t *testing.T) {
	for _, c := range []struct{ body, want string }{
		{"if i := t.Global(0); i == 0 || n-1 == i { y[i] = 1 }", "0: false, n-1: false, y+0"},
		{"if n-t.Global(0) != m { y[t.Global(0)+1] = 1 }", "n-m: true, y+1"},
		{"if t.Global(1) == n { a.Set(n, t.Global(0)-m, 1) }", "r.Y == n: false, a[n]+-m"},
		{"if t.Global(0)+n == t.Global(0)+m { *a.Ref(n, t.Global(0)) = a.At(n, t.Global(0)) }", "n-m == 0: false, a[n]+0, a[n]+0"},
		{"if 2*t.Global(0) == n || f == 2 || s.N == 3 || t.Global(0) == t.Global(0)+1 { y[n] = y[2*t.Global(0)] }", ""},
		{"a.Set(t.Global(0), n, 1)", ""},
	} {
		r, f := rowOf(t, c.body)
		var all []string
		for _, k := range r.Comparisons(f.Body) {
			all = append(all, fmt.Sprintf("%s%s: %t", k.Edge, k.Never, k.Result))
		}
		note := func(p *ir.Place) {
			if v, ok := r.View(p); ok {
				all = append(all, strings.ReplaceAll(fmt.Sprintf("%s[%s]+%s", v.Of.Name, v.Row, v.Offset), "[]", ""))
			}
		}
		f.Body.Visit(func(s *ir.Stmt) { note(s.Place) }, func(v *ir.Value) { note(v.Place) })
		assert.Equal(t, c.want, strings.Join(all, ", "), c.body)
	}
}
