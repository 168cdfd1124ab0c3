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
	f, _ := known(t, fmt.Sprintf("type S struct{ N int32 }\n\n//halyard:kernel\nfunc k(t grid.Thread, n, m int, s S, u uint64, f float32, x []int32, a grid.Matrix[int32]) {\n%s\n}", body))
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
		{"n / 3", "0 x + (n / int(3))"},
		{"n / m", ""},
		{"n % 3 + n<<2", "0 x + (n % int(3))+(n << uint(2))"},
		{"int(s.N) + int(s.N+1)", "0 x + int(s.N)+int((int32(s.N) + int32(1)))"},
		{"int(u) + len(x)", "0 x + int(u)+len(x)"},
		{"int(f)", ""},
		{"n * t.Global(0)", ""},
		{"t.Global(0) / 2", ""},
		{"int(x[0])", ""},
		{"t.Global(0) + n*1000000000000", "1 x + n*int(1000000000000)"},
		{"min(n, -m)", "0 x + min(n, (-m))"},
	} {
		r, f := rowOf(t, "i := "+c.index+"\nx[i] = 1")
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

// Guards at the front of a kernel limit its threads.
func TestRowLimits(t *testing.T) {
	for _, c := range []struct{ body, want string }{
		{"if t.Global(0) >= n { return }; x[0] = 1", "0 n false"},
		{"i, j := t.Global(0), n; if j <= i || t.Global(1) >= len(x)-1 { return }; x[0] = 1", "0 n, 1 len(x)-1 false false"},
		{"i := t.Global(0); if i < n { if !(i >= m) { x[0] = 1 } }", "0 n, 0 m true false"},
		{"i := t.Global(0); if i < n && f > 0 { x[0] = 1 }", "0 n true"},
		{"i := t.Global(0); if i >= n { return }; i += m; n--; x[i] = 1", "0 n false"},
		{"if s := s.N; t.Global(0) >= int(s) { return }; if t.Global(0) >= int(s.N) { return }; x[0] = 1", "0 int(s.N) false false"},
		{"if t.Global(0) >= 1<<21 { return }; x[0] = 1", "0 int(2097152) false"},
		{"if t.Global(0) >= n { x[1] = 1; return }; x[0] = 1", ""},
		{"if t.Global(0) < n { x[0] = 1 }; x[0] = 2", ""},
		{"i := t.Global(0); i++; if i >= n { return }; x[0] = 1", ""},
		{"n /= m; if t.Global(0) >= n { return }; x[0] = 1", ""},
		{"x[0] = 1; if t.Global(0) >= n { return }; x[0] = 1", ""},
		{"if x[0] > 0 || t.Global(0) >= n { return }; x[0] = 1", ""},
		{"if f > 0 && t.Global(0) >= n { return }; x[0] = 1", ""},
		{"if t.Global(0) > n { return }; x[0] = 1", ""},
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
		{"if i := t.Global(0); i == 0 || n-1 == i { x[i] = 1 }", "0: false, n-1: false, x+0"},
		{"if n-t.Global(0) != m { x[t.Global(0)+1] = 1 }", "n-m: true, x+1"},
		{"if t.Global(1) == n { a.Set(n, t.Global(0)-m, 1) }", "r.Y == n: false, a[n]+-m"},
		{"if t.Global(0)+n == t.Global(0)+m { *a.Ref(n, t.Global(0)) = a.At(n, t.Global(0)) }", "n-m == 0: false, a[n]+0"},
		{"if 2*t.Global(0) == n || f == 2 || s.N == 3 || t.Global(0) == t.Global(0)+1 { x[n] = x[2*t.Global(0)] }", ""},
		{"a.Set(t.Global(0), n, 1)", ""},
	} {
		r, f := rowOf(t, c.body)
		var all []string
		for _, k := range r.Comparisons(f.Body) {
			all = append(all, fmt.Sprintf("%s%s: %t", k.Edge, k.Never, k.Result))
		}
		views, at := r.Views(f.Body)
		for _, v := range views {
			row := ""
			if v.Row != "" {
				row = "[" + v.Row + "]"
			}
			all = append(all, v.Of.Name+row+"+"+v.Offset)
		}
		assert.GreaterOrEqual(t, len(at), len(views))
		assert.Equal(t, c.want, strings.Join(all, ", "), c.body)
	}
}
