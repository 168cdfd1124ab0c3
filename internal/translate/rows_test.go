package translate

import (
	"fmt"
	"go/ast"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/internal/translate/load"
)

// rowKernels are kernels. Running a row must do the same as calling the function for each thread of the row. All have the
// same parameters.
var rowKernels = []struct {
	name   string
	limits string // the end of the row's loop, or a condition in front of the loop; "" for none
	body   string
}{
	{"guardInside", "min(r.End, len(y))", "if i := t.Global(0); i < len(y) {\n\ty[i] += n\n}"},
	{"guardBefore", "min(r.End, int(n))", "i, m := t.Global(0), int(n)\nif i >= m {\n\treturn\n}\ny[i] += 1"},
	{"turned", "min(r.End, int(n))", "if int(n) <= t.Global(0) {\n\treturn\n}\ny[t.Global(0)] += 1"},
	{"both", "min(min(r.End, len(y)), int(n)-3)", "i := t.Global(0)\nif i < len(y) && int(n)-3 > i {\n\ty[i]++\n}"},
	{"twoGuards", "if r.Y >= 2 {", "if t.Global(1) >= 2 {\n\treturn\n}\nif t.Global(0) >= len(y) {\n\treturn\n}\ny[t.Global(0)] += int32(10*t.Global(1) + 1)"},
	{"beyondRow", "min(r.End, len(y)-r.Y)", "x := t.Global(0)\nif x >= len(y)-t.Global(1) {\n\treturn\n}\ny[x+t.Global(1)]++"},
	{"field", "min(r.End, int(s.Most))", "if t.Global(0) >= int(s.Most) {\n\treturn\n}\ny[t.Global(0)] = s.Add"},
	{"named", "min(r.End, int((int32(s.Most) + int32(2))))", "if t.Global(0) >= int(s.Most+2) {\n\treturn\n}\ny[t.Global(0)] = s.Add"},
	{"promoted", "min(r.End, int(s.Deep))", "if t.Global(0) >= int(s.Deep) {\n\treturn\n}\ny[t.Global(0)] = s.Add"},
	{"changedField", "min(r.End, int(s.Most))", "if t.Global(0) >= int(s.Most) {\n\treturn\n}\ns.Most++\ny[t.Global(0)] = int32(s.Most)"},
	{"nested", "min(min(r.End, len(y)), int(n))", "if i := t.Global(0); i < len(y) {\n\tif m := int(n); !(m <= i) {\n\t\ty[i]++\n\t}\n}"},
	{"negative", "min(r.End, -int(n))", "if t.Global(0) >= -int(n) {\n\treturn\n}\ny[0]++"},
	{"below", "", "if t.Global(0) > 5 {\n\treturn\n}\ny[t.Global(0)]++"},
	{"and", "", "if t.Global(0) >= len(y) && n > 0 {\n\treturn\n}\nif n > 0 {\n\ty[t.Global(0)]++\n}"},
	{"more", "", "if i := t.Global(0); i < 7 {\n\ty[i]++\n}\ny[t.Global(0)%len(y)]++"},
	{"first", "", "y[0]++\nif t.Global(0) >= 3 {\n\treturn\n}\ny[1]++"}, // statements before the guard run for every thread
	{"changed", "", "n += 2\nif t.Global(0) >= int(n) {\n\treturn\n}\ny[t.Global(0)] = n"},
	{"moved", "", "i := t.Global(0)\ni += 2\nif i >= len(y) {\n\treturn\n}\ny[i]++"},
	{"changedLater", "min(r.End, int(n))", "if t.Global(0) >= int(n) {\n\treturn\n}\nn--\ny[t.Global(0)] = n"},
	{"redeclared", "", "n, m := n+1, n\ny[t.Global(0)%len(y)] = n*100 + m"},
	{"part", "", "s.Add++\ny[t.Global(0)%len(y)] = s.Add"},
	{"pointed", "", "grow(&n)\ny[t.Global(0)%len(y)] = n"},
	{"method", "", "s.grow()\ny[t.Global(0)%len(y)] = s.Add"},
	{"ranged", "", "for n = range 3 {\n}\ny[t.Global(0)%len(y)] = n"},
	{"divides", "", "if t.Global(0) >= len(y)/int(n) {\n\treturn\n}\ny[t.Global(0)]++"},
	{"loops", "min(r_.End, len(y))", "i := t.Global(0)\nif i >= len(y) {\n\treturn\n}\nthreads:\nfor a := range 5 {\n\tfor r := range 5 {\n\t\tswitch {\n\t\tcase a*r == int(n):\n\t\t\tcontinue threads\n\t\tcase a+r == 6:\n\t\t\treturn\n\t\t}\n\t\ty[i]++\n\t}\n}"},
	{"names", "", "x, r, end, row := t.Global(0), 1, 2, 3\nmin := func1(int32(x))\ny[x%len(y)] = min + int32(r+end+row)"},
	{"library", "", "y[t.Global(0)%len(y)] = int32(m.Abs(float64(-n))) + int32(bits.Len32(uint32(t.Global(0)))) // a comment"},
	{"comments", "", "// one\ni := t.Global(0) // two\n\n\n/* three\n*/ y[i%len(y)] = n\nif n > 100 { y[0] = 1 }"},
	{"empty", "", ""},

	// Rows whose threads between the two ends check nothing.
	{"before", "gridgen.Within(from, to, -3, len(y))", "if i := t.Global(0) - 3; i >= 0 && i < 16 {\n\ty[i] += n\n}"},
	{"behind", "gridgen.Within(from, to, r.Y+1, len(y))", "y[t.Global(1)+t.Global(0)+1] += n"},
	{"flat", "gridgen.Within(from, to, r.Z*len(y)+2*r.Y, len(y))", "x, yy := t.Global(0), 2*t.Global(1)\nif x >= int(n) {\n\treturn\n}\ni := yy + x\ni2 := i + t.Global(2)*len(y)\ny[i2]++"},
	{"edges", "gridgen.Without(from, to, len(y)-1)", "i, m := t.Global(0), len(y)\nif i >= m {\n\treturn\n}\nif i == 0 || m-1 == i || t.Global(1) == 1 {\n\ty[i] = -1\n\treturn\n}\ny[i] = y[i-1] + y[i+1] + 1"},
	{"middle", "gridgen.Without(from, to, 3)", "if t.Global(0)+1 == 4 {\n\treturn\n}\ny[t.Global(0)%len(y)]++\nif t.Global(0) < len(y) {\n\ty[t.Global(0)] += 2\n}"},
	{"unequal", "gridgen.Without(from, to, -r.Y+5)", "if t.Global(0)+t.Global(1) != 5 {\n\ty[t.Global(0)] += n\n}"},
	{"neverMet", "if r.Y == r.Z ||", "if t.Global(1) == t.Global(2) {\n\tn += 100\n}\ny[t.Global(0)] += n"},
	{"counted", "gridgen.Within(from, to, int(s.Add)-40, len(y))", "y[t.Global(0)+int(s.Add)-40] = n"},
	{"far", "gridgen.Within(from, to, int(n)*int(1000000000000), len(y))", "i := t.Global(0) + int(n)*1000000000000\nif i < len(y) {\n\ty[i] = 1\n}"},
	{"otherName", "gridgen.Within(from, to, 0, len(y))", "z := y\nz[t.Global(0)] = n\ny[t.Global(0)]++"},
	{"aliased", "gridgen.Within(from, to, 0, len(y))", "y[t.Global(0)+1] = y[t.Global(0)] + 1\ngrow(&y[t.Global(0)])"},
	{"namesWithin", "gridgen.Within(from_, to_, 0, len(y))", "from, to, at, count, within, y0 := 1, 2, 3, 4, 5, 6\ny[t.Global(0)] += int32(from + to + at + count + within + y0)"},
	{"hiddenWithin", "", "{\n\ty := [3]int32{n, n, n}\n\ts.Add += y[t.Global(0)%3]\n}\ny[t.Global(0)%len(y)] = s.Add"},
	{"changedOffset", "", "n++\nif i := t.Global(0) + int(n) - 10; i < len(y) {\n\ty[i] = 1\n}"},
	{"changedIndex", "", "i := t.Global(0)\nif n > 5 {\n\ti /= 2\n}\ny[i] = 1"},
	{"narrow", "", "i := int32(t.Global(0)) + n\ny[i%16] = 1"},
	{"mirrored", "", "y[10-t.Global(0)] = n"},
	{"array", "", "a, i, e0 := [3]int32{n, 2, 5}, t.Global(0), int32(1)\nfor d, x := range a {\n\tx := x * e0\n\ta[2-d] = 7\n\ty[(i+d)%len(y)] += x\n}"},
	{"arrayOutside", "", "a, i := [2][2]int32{{n, 2}, {5, 6}}, t.Global(0)\nfor _, x := range a[i] {\n\ty[i] += x\n}\nfor range a[1] {\n\ty[i]++\n}"},
	{"arrayLeft", "", "for d, x := range [3]int32{1, 2, 3} {\n\tif d == 1 {\n\t\tcontinue\n\t}\n\ty[0] += x\n}"},
	{"withLoop", "", "for range 3 {\n\ty[t.Global(0)]++\n}"},
}

const rowHead = `package main

import (
	m "math"
	"math/bits"

	"github.com/go-halyard/halyard/kernel/grid"
)

type count int32

type inner struct{ Deep int32 }

type S struct {
	Most count
	Add  int32
	inner
}

func (s *S) grow() { s.Add += 5 }

func grow(n *int32) { *n += 4 }

func func1(n int32) int32 { return n + 1 }

`

// rowMain compares rows with functions, and makes one launch fail.
const rowMain = `package main

import (
	"context"
	"fmt"
	"slices"

	_ "github.com/go-halyard/halyard/backends"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/kernel"
	"github.com/go-halyard/halyard/kernel/grid"
	"github.com/go-halyard/halyard/kernel/gridgen"
)

func compare(name string, function func(grid.Thread, int32, S, []int32), row func(gridgen.Row, int32, S, []int32)) {
	for _, size := range [][3]uint32{{8, 1, 1}, {1, 1, 1}, {5, 3, 2}, {32, 2, 1}} {
		for _, index := range [][3]uint32{{}, {1, 0, 0}, {0, 1, 1}, {2, 1, 0}} {
			b := &kernel.Block{Size: size, Index: index, Grid: [3]uint32{3, 2, 2}}
			results := [2][]int32{}
			failed := [2]string{}
			for i := range results {
				y := make([]int32, 16)
				func() {
					defer func() {
						if p := recover(); p != nil {
							failed[i] = fmt.Sprint(p)
						}
					}()
					if i == 0 {
						for t := range grid.Threads(b) {
							function(t, 9, S{7, 30, inner{3}}, y)
						}
						return
					}
					for r := range gridgen.Rows(b) {
						row(r, 9, S{7, 30, inner{3}}, y)
					}
				}()
				results[i] = y
			}
			if failed[0] != failed[1] || !slices.Equal(results[0], results[1]) {
				fmt.Println("FAILED", name, size, index, failed, results)
			}
		}
	}
	fmt.Println("compared", name)
}

func main() {
	for _, c := range comparisons {
		compare(c.name, c.function, c.row)
	}
	ctx := context.Background()
	dev, err := hal.Open(ctx, "host:0")
	if err != nil {
		panic(err)
	}
	s, err := dev.NewStream()
	if err != nil {
		panic(err)
	}
	for _, launch := range []func(context.Context, kernel.Target, hal.Grid, int32, S, kernel.Vector[int32]) error{OutsideOn, BeyondOn, UnformattedOn} {
		y, err := buffer.New[int32](4)
		if err != nil {
			panic(err)
		}
		fmt.Println(launch(ctx, s, hal.Over(8), 1, S{}, y), s.Sync(ctx))
	}
}
`

// A row does the same as the function for each of its threads, and a failure names the function's
// line.
func TestRows(t *testing.T) {
	t.Parallel()
	src, table := rowHead, "package main\n\nimport (\n\t\"github.com/go-halyard/halyard/kernel/grid\"\n\t\"github.com/go-halyard/halyard/kernel/gridgen\"\n)\n\nvar comparisons = []struct {\n\tname string\n\tfunction func(grid.Thread, int32, S, []int32)\n\trow func(gridgen.Row, int32, S, []int32)\n}{\n"
	for _, k := range rowKernels {
		src += fmt.Sprintf("//halyard:kernel\nfunc %s(t grid.Thread, n int32, s S, y []int32) {\n%s\n}\n\n", k.name, k.body)
		table += fmt.Sprintf("\t{%q, %s, %sRow},\n", k.name, k.name, k.name)
	}
	table += "}\n"
	at := strings.Count(src, "\n") + 1
	src += "//halyard:kernel\nfunc outside(t grid.Thread, n int32, s S, y []int32) {\n\tif n > 0 {\n\t\ty[t.Global(0)+4] = 1\n\t}\n}\n\n"
	src += "//halyard:kernel\nfunc beyond(t grid.Thread, n int32, s S, y []int32) {\n\tvar a [2][2]int32\n\tfor _, x := range a[t.Global(0)] {\n\t\ty[0] += x\n\t}\n}\n\n"
	src += "//halyard:kernel\nfunc unformatted(t grid.Thread, n int32, s S, y []int32) {\n\n\n\n if n > 5 { y[0] = 1 ; y[1] = 2 }\n\n\n\n y[t.Global(0) +\n  4] = 1\n}\n"
	dir := module(t, map[string]string{"kernels.go": src, "main.go": rowMain, "table.go": table})
	packages, err := Load(t.Context(), dir, ".")
	require.NoError(t, err)
	require.Len(t, packages, 1)
	made, err := packages[0].Translate()
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(made.File, made.Go, 0o600))

	within := regexp.MustCompile(`(?m)^\s+\w+ := from\w* \+ at\w*$`)
	twice, once := false, false // whether a kernel runs two threads of a row at a time, and whether one runs them one by one
	for _, k := range rowKernels {
		_, text, _ := strings.Cut(string(made.Go), "\nfunc "+k.name+"Row(")
		head, _, ok := strings.Cut(text, "++ {\n")
		require.True(t, ok, k.name)
		if strings.Contains(head, "gridgen.Within") {
			text, _, _ = strings.Cut(text, "\n}\n")
			switch n := len(within.FindAllString(text, -1)); n {
			case 1:
				once = true
			case 3:
				twice = true
			default:
				t.Errorf("%s: the body is there %d times", k.name, n)
			}
		}
		guard, _, _ := strings.Cut(head, ".First()")
		switch {
		case k.limits == "":
			assert.NotContains(t, head, "min(", k.name)
			assert.NotContains(t, guard, "if ", k.name)
		default:
			assert.Contains(t, head, k.limits, k.name)
		}
	}
	lines := strings.Split(string(made.Go), "\n")
	back := 0
	for i, l := range lines {
		if strings.HasPrefix(l, "//line "+filepath.Base(made.File)+":") {
			back++
			assert.Equal(t, fmt.Sprintf("//line %s:%d", filepath.Base(made.File), i+2), l)
		}
	}
	assert.Equal(t, len(rowKernels)+3+len(within.FindAll(made.Go, -1)), back)
	assert.True(t, twice && once)

	for _, args := range [][]string{{"vet", "-mod=mod", "."}, {"run", "-mod=mod", "."}} {
		cmd := exec.Command("go", args...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s\n%s", out, made.Go)
		if args[0] == "run" {
			assert.NotContains(t, string(out), "FAILED", "%s", made.Go)
			assert.Equal(t, len(rowKernels), strings.Count(string(out), "compared"))
			assert.Contains(t, string(out), fmt.Sprintf("(kernels.go:%d)", at+3))
			assert.Contains(t, string(out), fmt.Sprintf("(kernels.go:%d)", at+10), "the line of a loop whose rounds are written one after the other")
			assert.Contains(t, string(out), fmt.Sprintf("(kernels.go:%d)", at+24), "the line of the function as it stands in the file")
		}
	}
}

// A function that uses a thread for more than its place, or that would mean something else in the generated file, has
// no row and is called as it is.
func TestFunctionsThatHaveNoRows(t *testing.T) {
	for name, body := range map[string]string{
		"passed":   "help(t, x)",
		"local":    "x[t.Local(0)] = 1",
		"together": "t.Barrier()\nx[t.Global(0)] = 1",
		"alone":    "t.Global(0)\nx[0] = 1",
		"dot":      "x[t.Global(0)] = int32(Sqrt(4))",
		"hal":      "x[t.Global(0)] = int32(hal.Sqrt(4))",
	} {
		src := "package p\n\nimport (\n\t\"github.com/go-halyard/halyard/kernel/grid\"\n"
		switch name {
		case "dot":
			src += "\t. \"math\"\n"
		case "hal":
			src += "\thal \"math\"\n"
		}
		src += ")\n\nfunc help(t grid.Thread, x []int32) { x[t.Global(0)] = 1 }\n\n//halyard:kernel\nfunc k(t grid.Thread, x []int32) {\n" + body + "\n}\n"
		made, err := translated(t, src)
		require.NoError(t, err, name)
		assert.NotContains(t, string(made.Go), "gridgen.Row", name)
		assert.Contains(t, string(made.Go), "k(t, x)", name)
	}
	with, err := translated(t, "package p\n\nimport \"github.com/go-halyard/halyard/kernel/grid\"\n\n//halyard:kernel\nfunc k(t grid.Thread, x []int32) { x[t.Global(0)] = 1 }\n")
	require.NoError(t, err)
	assert.Contains(t, string(with.Go), "gridgen.Row", "one that has them")
}

// If two kernels use the same name for different packages, the second has no row and is called as
// it is.
func TestRowsWithImportsOfOneName(t *testing.T) {
	imp, err := imports()
	require.NoError(t, err)
	fset, files := newFiles(t, "package p\n\nimport (\n\tm \"math\"\n\n\t\"github.com/go-halyard/halyard/kernel/grid\"\n)\n\n//halyard:kernel\nfunc a(t grid.Thread, x []int32) { x[t.Global(0)] = int32(m.Abs(4)) }\n",
		"package p\n\nimport (\n\tm \"math/bits\"\n\n\t\"github.com/go-halyard/halyard/kernel/grid\"\n)\n\n//halyard:kernel\nfunc b(t grid.Thread, x []int32) { x[t.Global(0)] = int32(m.Len32(4)) }\n")
	made, err := check(fset, "p", files, imp).Translate()
	require.NoError(t, err)
	assert.Contains(t, string(made.Go), "\tm \"math\"\n")
	assert.Contains(t, string(made.Go), "func aRow(")
	assert.NotContains(t, string(made.Go), "func bRow(")
}

func newFiles(t *testing.T, sources ...string) (*token.FileSet, []*ast.File) {
	t.Helper()
	fset := token.NewFileSet()
	var files []*ast.File
	for i, src := range sources {
		file, bad := load.Parse(fset, fmt.Sprintf("k%d.go", i), []byte(src))
		require.Empty(t, bad)
		files = append(files, file)
	}
	return fset, files
}

// The text of a generic kernel's row is for all types of its list, although what is known of the row is known for the first. A parameter whose type is declared
// is converted.
func TestRowsOfGenericKernels(t *testing.T) {
	made, err := translated(t, `package p

import "github.com/go-halyard/halyard/kernel/grid"

//halyard:kernel int32 int64
func some[T int32 | int64](t grid.Thread, n T, m int, y []T) {
	if t.Global(0) >= int(n*2) || t.Global(0) >= m {
		return
	}
	y[t.Global(0)] = n
	y[t.Global(0)+int(n)] = n
}

type size int

//halyard:kernel
func declared(t grid.Thread, n size, y []int32) {
	if t.Global(0) >= int(n) {
		return
	}
	y[t.Global(0)+int(n*2)] = 1
}

//halyard:kernel int32 int64
func chosen[T int32 | int64](t grid.Thread, m int, y []T) {
	var zero T
	switch any(zero).(type) {
	case int32:
		if t.Global(0) >= m {
			return
		}
	}
	y[t.Global(0)] = 1
}
`)
	require.NoError(t, err)
	_, text, _ := strings.Cut(string(made.Go), "func someRow")
	some, text, _ := strings.Cut(text, "\n}\n")
	_, text, _ = strings.Cut(text, "func declaredRow")
	declared, text, _ := strings.Cut(text, "\n}\n")
	_, text, _ = strings.Cut(text, "func chosenRow")
	chosen, _, _ := strings.Cut(text, "\n}\n")
	assert.Contains(t, some, "end := min(r.End, m)\n")
	assert.Contains(t, some, "gridgen.Within(from, to, 0, len(y))")
	assert.NotContains(t, some, "int(n)*")
	assert.Equal(t, 1, strings.Count(some, "gridgen.Within("), "the type of n differs")
	assert.Contains(t, declared, "end := min(r.End, int(n))\n")
	assert.Contains(t, declared, "gridgen.Within(from, to, 2*int(n), len(y))")
	assert.NotContains(t, chosen, "min(")
	assert.Contains(t, chosen, "gridgen.Within(from, to, 0, len(y))")
}
