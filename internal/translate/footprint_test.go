package translate

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const touchedHead = `package main

import "github.com/go-halyard/halyard/kernel/grid"
`

// touchedMain runs random kernels over random boxes, with random arguments.
const touchedMain = `package main

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/go-halyard/halyard/kernel/grid"
	"github.com/go-halyard/halyard/kernel/gridgen"
)

type row struct {
	what   string
	cut    [3]bool
	of     func(gridgen.Box, []int64, []gridgen.Touch)
	thread func(grid.Thread, int, int32, []int32, []int32, []int64, grid.Matrix[int32], grid.Matrix[int32])
}

func main() {
	boxes, cuts, whole := 0, 0, 0
	for _, k := range rows {
		seed := uint64(0)
		fmt.Sscanf(k.what, "k%d", &seed)
		r := rand.New(rand.NewPCG(seed, 8))
		for range 12 {
			number := func() int64 {
				switch r.IntN(30) {
				case 0:
					return math.MaxInt64 - int64(r.IntN(3))
				case 1:
					return math.MinInt64 + int64(r.IntN(3))
				case 2:
					return -int64(r.IntN(5))
				case 3:
					return int64(r.Uint64())
				}
				return int64(r.IntN(12))
			}
			p, q := number(), int32(number())
			x, y, z := make([]int32, r.IntN(30)), make([]int32, r.IntN(30)), make([]int64, r.IntN(30))
			mr, mc, or, oc := r.IntN(7), r.IntN(7), r.IntN(7), r.IntN(7)
			if r.IntN(2) == 0 {
				or, oc = mr, mc
			}
			m, o := make([]int32, mr*mc), make([]int32, or*oc)
			for _, s := range [][]int32{x, y, m, o} {
				for i := range s {
					s[i] = int32(r.IntN(20) - 2)
				}
			}
			mm, oo := grid.MatrixOf(m, mr, mc), grid.MatrixOf(o, or, oc)
			l := &launch{what: k.what, cut: k.cut, of: k.of,
				values: []int64{p, int64(q), 0, int64(len(x)), 0, int64(len(y)), 0, int64(len(z)), 0, int64(mr), int64(mc), 0, int64(or), int64(oc)},
				arrays: []array{arrayOf("x", x), arrayOf("y", y), arrayOf("z", z), arrayOf("m", m), arrayOf("o", o)},
				thread: func(t grid.Thread) { k.thread(t, int(p), q, x, y, z, mm, oo) },
				wild:   p > 1<<20 || p < -1<<20 || q > 1<<20 || q < -1<<20}
			block, blocks := [3]int{1 + r.IntN(5), 1 + r.IntN(3), 1}, [3]int{1 + r.IntN(4), 1 + r.IntN(4), 1}
			box := boxIn(r, block, blocks, r.IntN(2) == 0)
			touch, _, _ := l.check(box, block, blocks)
			boxes++
			for _, t := range touch {
				if t.Whole && t.Write.Hi > t.Write.Lo {
					whole++
				}
			}
			cuts += l.cuts(r, boxIn(r, block, blocks, true), block, blocks)
		}
	}
	end(len(rows), boxes, cuts, whole)
}
`

// touchedRun builds a program of kernels whose accesses are recorded, and runs it. The result is what it says. change changes the generated file.
func touchedRun(t *testing.T, src, main string, change func(string) string) string {
	t.Helper()
	made, err := translated(t, src)
	require.NoError(t, err)
	table := "package main\n\nvar rows = []row{\n"
	for _, f := range made.Footprints {
		table += fmt.Sprintf("\t{%q, [3]bool{%v, %v, %v}, %[1]sFootprint, %[1]s},\n", f.Kernel, f.Cut[0], f.Cut[1], f.Cut[2])
	}
	dir := module(t, map[string]string{"k.go": recorded(t, src), "main_kernels.go": change(string(made.Go)), "rows.go": table + "}\n", "main.go": main, "record.go": recorder})
	build := exec.Command("go", "build", "-mod=mod", "-gcflags", plainly, "-ldflags", "-s -w", "-o", "touched", ".")
	build.Dir, build.Env = dir, append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	run := exec.Command(filepath.Join(dir, "touched"))
	out, _ = run.CombinedOutput()
	return string(out)
}

func unchanged(s string) string { return s }

// touchedKernels returns random kernels, those of seeds from first on.
func touchedKernels(first uint64, count int) string {
	var b strings.Builder
	b.WriteString(touchedHead + touchedHelpers)
	for k := range count {
		b.WriteString(touched(first+uint64(k), int(first)+k))
	}
	return b.String()
}

// foundKernels are the seeds of kernels whose footprints were wrong once.
var foundKernels = []uint64{115, 161, 20114, 31855, 33482}

// What random kernels read and write is within their footprints, for random boxes and arguments. Parts that may run apart give the same memory as the
// whole. make fuzz takes more kernels.
func TestFootprintsOfRandomKernels(t *testing.T) {
	t.Parallel()
	const each = 250
	for first := 0; first < *randomKernels; first += each {
		count := min(each, *randomKernels-first)
		src := touchedKernels(*randomSeed+uint64(first), count)
		for _, seed := range foundKernels {
			if begin := *randomSeed + uint64(first); first == 0 && (seed < begin || seed >= begin+uint64(count)) {
				src += touched(seed, int(seed))
			}
		}
		said := touchedRun(t, src, touchedMain, unchanged)
		if !assert.Contains(t, said, ", 0 violations", "%s", src) {
			return
		}
		t.Logf("seeds %d on: %s", *randomSeed+uint64(first), said)
	}
}

// A mistake in footprints is found by random kernels.
func TestPlantedMistakesInFootprints(t *testing.T) {
	t.Parallel()
	src := touchedKernels(100, 24)
	for _, plant := range [][2]string{
		{".Add(1)", ".Add(0)"},
		{".Or(at", ".When(at"},
		{"Whole: gridgen.Filled(span, 1", "Whole: true || gridgen.Filled(span, 1"},
	} {
		said := touchedRun(t, src, touchedMain, func(s string) string {
			require.Contains(t, s, plant[0])
			return strings.ReplaceAll(s, plant[0], plant[1])
		})
		assert.Contains(t, said, "VIOLATION", "%s", plant[0])
	}
	// A grid that is cut where parts use the same elements.
	bodies := []string{"y[i] = y[max(i-1, 0)] + 1", "y[i/2] = int32(i)", "y[j] = int32(i)", "y[i] = int32(y[len(y)-1])"}
	src = touchedHead
	for k, body := range bodies {
		src += fmt.Sprintf("\n//halyard:kernel\nfunc k%d(%s) {\n\ti, j := t.Global(0), t.Global(1)\n\tif i < len(y) && j < len(y) {\n\t\t%s\n\t}\n}\n", k, touchedParams, body)
	}
	made, err := translated(t, src)
	require.NoError(t, err)
	said := touchedRun(t, src, strings.NewReplacer("cut: k.cut", "cut: [3]bool{true}", "range 12", "range 40").Replace(touchedMain), unchanged)
	for k, body := range bodies {
		assert.False(t, made.Footprints[k].Cut[0], body)
		assert.Contains(t, said, fmt.Sprintf("VIOLATION k%d", k), body)
	}
}

// What is said of kernels names rows and elements, and the line that keeps a launch from being cut.
func TestWhatIsSaidOfFootprints(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ body, said string }{
		{"if i < p && j < len(y)/p {\n\t\ty[j*p+i] = x[(j+1)*p+i] + x[(j-1)*p+i]\n\t}", "[false true false] | x: reads rows j-1 to j+1; y: writes row j"},
		{"if i < len(z)/2 {\n\t\tz[2*i], z[2*i+1] = 1, int64(x[i])\n\t}", "[true false false] | x: reads element i; z: writes elements 2*i to 2*i+1"},
		{"if i < len(x) {\n\t\tgrid.AtomicAdd(&y[0], x[i])\n\t}", "[false false false] k.go:10: threads change elements of y together, by an atomic function" +
			" | x: reads element i; y: reads and writes all (atomic, k.go:10)"},
		{"if i < len(x) {\n\t\ty[x[i]] = 1\n\t}", "[false false false] k.go:10: the index of y does not follow t.Global(0) | x: reads element i; y: writes all (k.go:10)"},
		{"if i < len(y) {\n\t\ty[i] = y[max(i-1, 0)]\n\t}", "[false false false] k.go:10: the index of y does not follow t.Global(0) | y: reads all (k.go:10), writes element i"},
		{"if i < len(y)-1 {\n\t\ty[i] = y[i+1]\n\t}", "[false false false] k.go:10: y is read here where other threads may write it | y: reads element i+1, writes element i"},
		{"if i < len(y) {\n\t\tw := x[i : i+4]\n\t\ty[i] = w[0] + w[3]\n\t}", "[true false false] | x: reads elements i to i+3; y: writes element i"},
		{"if i < len(y) {\n\t\tcopy(y[i:i+1], x[2*i:2*i+2])\n\t\tz[i:][:1][0] = 1\n\t}", "[true false false] | x: reads element 2*i+k (for each k of a loop); y: writes element i+k (for each k of a loop); z: writes element i"},
		{"if i < len(y) {\n\t\ty[i] = last(x[2*i : 2*i+2])\n\t\tclear(z[i : i+1])\n\t}", "[true false false] | x: reads element 2*i+1; y: writes element i; z: writes element i+k (for each k of a loop)"},
		{"for k := range m.Cols() {\n\t\to.Set(j, k, m.At(j, k)+m.At(k, j))\n\t}", "[false true false] | m: reads row j and row k (for each k of a loop); o: writes row j"},
	} {
		made, err := translated(t, touchedHead+"\n//halyard:kernel\nfunc k("+touchedParams+") {\n\ti, j := t.Global(0), t.Global(1)\n\t_, _ = i, j\n\t"+c.body+"\n}\n"+
			"\nfunc last(x []int32) int32 { return x[len(x)-1] }\n")
		require.NoError(t, err)
		f := made.Footprints[0]
		assert.Equal(t, c.said, fmt.Sprintf("%v %s| %s", f.Cut, strings.TrimPrefix(f.Why+" ", " "), strings.Join(f.Slices, "; ")), c.body)
	}
}

// Writes fill what a kernel writes if each thread comes to them: also behind a loop or a switch that a break leaves, and not behind a return.
func TestWritesThatEachThreadComesTo(t *testing.T) {
	t.Parallel()
	for body, whole := range map[string]bool{
		"s := int32(0)\n\tfor k := range x {\n\t\tif x[k] > 3 {\n\t\t\tbreak\n\t\t}\n\t\ts++\n\t}\n\tif i < len(y) {\n\t\ty[i] = s\n\t}":         true,
		"s := int32(0)\n\tswitch p {\n\tcase 1:\n\t\ts = 2\n\t\tbreak\n\tcase 2:\n\t\ts = 3\n\t}\n\tif i < len(y) {\n\t\ty[i] = s\n\t}":          true,
		"for k := range x {\n\t\tif x[k] > 3 {\n\t\t\treturn\n\t\t}\n\t}\n\tif i < len(y) {\n\t\ty[i] = 1\n\t}":                                  false,
		"for k := range len(y) {\n\t\tfor j := range x {\n\t\t\tif x[j] > 3 {\n\t\t\t\tbreak\n\t\t\t}\n\t\t}\n\t\ty[k] = 1\n\t}":                 true,
		"for k := range len(y) {\n\t\tif x[k] > 3 {\n\t\t\tbreak\n\t\t}\n\t\ty[k] = 1\n\t}":                                                      false,
		"outer:\n\tfor k := range len(y) {\n\t\tfor j := range x {\n\t\t\tif x[j] > 3 {\n\t\t\t\tbreak outer\n\t\t\t}\n\t\t}\n\t\ty[k] = 1\n\t}": false,
	} {
		made, err := translated(t, touchedHead+"\n//halyard:kernel\nfunc k("+touchedParams+") {\n\ti := t.Global(0)\n\t_ = i\n\t"+body+"\n}\n")
		require.NoError(t, err)
		assert.Equal(t, whole, strings.Contains(string(made.Go), "Whole: "), body)
	}
}

// A number whose address is passed is another one afterwards, also if it is a parameter.
func TestFootprintsOfNumbersThatFunctionsChange(t *testing.T) {
	t.Parallel()
	const head = touchedHead + "\nfunc up(n *int) { *n += 3 }\n\ntype far int32\n\nfunc (f *far) up() { *f += 3 }\n\n"
	for _, body := range []string{
		"up(&p)\n\tif i < len(y) {\n\t\ty[i] = x[i+p]\n\t}",
		"r.up()\n\tif i < len(y) {\n\t\ty[i] = x[i+int(r)]\n\t}",
		"n := i\n\tif n >= 0 && n < 9 && i < len(y) {\n\t\tup(&n)\n\t\ty[i] = x[n]\n\t}",
	} {
		made, err := translated(t, head+"//halyard:kernel\nfunc k(t grid.Thread, p int, r far, x, y []int32) {\n\ti := t.Global(0)\n\t"+body+"\n}\n")
		require.NoError(t, err)
		assert.Contains(t, made.Footprints[0].Slices[0], "x: reads all", body)
	}
}

// declarations returns those of a file that have one of these names.
func declarations(t *testing.T, file string, names ...string) string {
	t.Helper()
	src, err := os.ReadFile(filepath.Join("../..", file))
	require.NoError(t, err)
	fset := token.NewFileSet()
	tree, err := parser.ParseFile(fset, file, src, parser.ParseComments)
	require.NoError(t, err)
	var b strings.Builder
	add := func(n ast.Node, doc *ast.CommentGroup) {
		from := n.Pos()
		if doc != nil {
			from = doc.Pos()
		}
		b.WriteString(string(src[fset.Position(from).Offset:fset.Position(n.End()).Offset]) + "\n\n")
	}
	for _, d := range tree.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if slices.Contains(names, d.Name.Name) {
				add(d, d.Doc)
			}
		case *ast.GenDecl:
			if d.Tok == token.CONST || d.Tok == token.TYPE {
				add(d, nil)
			}
		}
	}
	return b.String()
}

// exactMain runs kernels with arguments of each of which the footprint is to be exact.
const exactMain = `package main

import (
	"fmt"
	"math/rand/v2"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/kernel/grid"
	"github.com/go-halyard/halyard/kernel/gridgen"
)

type row struct {
	what   string
	cut    [3]bool
	of     func(gridgen.Box, []int64, []gridgen.Touch)
	thread any
}

func floats(n int) []float32 {
	s := make([]float32, n)
	for i := range s {
		s[i] = float32(i % 7)
	}
	return s
}

// launchOf returns the launch of a kernel, its block and its blocks.
func launchOf(r *rand.Rand, k row) (*launch, [3]int, [3]int) {
	l := &launch{what: k.what, cut: k.cut, of: k.of, exact: true}
	over := func(block, n [3]int) (*launch, [3]int, [3]int) {
		var blocks [3]int
		for d := range 3 {
			blocks[d] = (n[d] + block[d] - 1) / block[d]
		}
		return l, block, blocks
	}
	with := func(names string, slices ...[]float32) {
		for i, s := range slices {
			l.arrays = append(l.arrays, arrayOf(names[i:i+1], s))
		}
	}
	n, rows := 1+r.IntN(20), 1+r.IntN(9)
	int64s := func(all ...int) {
		for _, n := range all {
			l.values = append(l.values, int64(n))
		}
	}
	switch f := k.thread.(type) {
	case func(grid.Thread, int, []float32, grid.Out[float32]): // heat and spread
		if k.what == "heat" {
			from, to := floats(n*(rows+2)), floats(n*(rows+2))
			with("ft", from, to)
			int64s(n, 0, len(from), 0, len(to))
			l.thread = func(t grid.Thread) { f(t, n, from, to) }
			return over([3]int{4, 1, 1}, [3]int{n, rows, 1})
		}
		from, to := floats(n*(n+2)), floats(n*n)
		with("ft", from, to)
		int64s(n, 0, len(from), 0, len(to))
		l.thread = func(t grid.Thread) { f(t, n, from, to) }
		return over([3]int{4, 2, 1}, [3]int{n, n, 1})
	case func(grid.Thread, int32, int32, []float32, grid.Out[float32]): // smooth and blur, and spread and laplace with a row more on each side
		from, to := floats(n*rows), floats(n*rows)
		if k.what == "spread" || k.what == "laplace" {
			from = floats(n*(rows+2))
		}
		with("ft", from, to)
		int64s(n, rows, 0, len(from), 0, len(to))
		l.thread = func(t grid.Thread) { f(t, int32(n), int32(rows), from, to) }
		return over([3]int{4, 2, 1}, [3]int{n, rows, 1})
	case func(grid.Thread, float32, []float32, []float32, grid.Out[float32]): // move
		old, v, now := floats(4*n), floats(3*n), floats(4*n)
		with("ovn", old, v, now)
		int64s(0, 0, len(old), 0, len(v), 0, len(now))
		l.thread = func(t grid.Thread) { f(t, 0.5, old, v, now) }
		return over([3]int{4, 1, 1}, [3]int{n, 1, 1})
	case func(grid.Thread, grid.Matrix[float32], grid.OutMatrix[float32]): // blurred
		from, to := floats(n*rows), floats(n*rows)
		with("ft", from, to)
		int64s(0, rows, n, 0, rows, n)
		l.thread = func(t grid.Thread) { f(t, grid.MatrixOf(from, rows, n), grid.OutMatrixOf(to, rows, n)) }
		return over([3]int{4, 2, 1}, [3]int{n, rows, 1})
	case func(grid.Thread, []float32, grid.Out[float32], int): // laplace
		p, q := floats(n*n), floats(n*n)
		with("pq", p, q)
		int64s(0, len(p), 0, len(q), n)
		l.thread = func(t grid.Thread) { f(t, p, q, n) }
		return over([3]int{4, 2, 1}, [3]int{n, n, 1})
	case func(grid.Thread, []float32, []float32, grid.Out[float32], int): // product
		a, b, sums := floats(n*rows), floats(n*rows), floats(rows)
		with("abs", a, b, sums)
		int64s(0, len(a), 0, len(b), 0, len(sums), n)
		l.thread, l.together = func(t grid.Thread) { f(t, a, b, sums, n) }, true
		return over([3]int{64, 1, 1}, [3]int{64 * rows, 1, 1})
	case func(grid.Thread, []float32, []float32, []float32, []float32, []float32, []float32): // advance
		x, y, p, q, a, b := floats(n), floats(n), floats(n), floats(n), floats(1), floats(1)
		with("xrpqab", x, y, p, q, a, b)
		int64s(0, n, 0, n, 0, n, 0, n, 0, 1, 0, 1)
		l.thread = func(t grid.Thread) { f(t, x, y, p, q, a, b) }
		return over([3]int{4, 1, 1}, [3]int{n, 1, 1})
	case func(grid.Thread, []float32, []float32, []float32, []float32): // direct
		p, y, a, b := floats(n), floats(n), floats(1), floats(1)
		with("prab", p, y, a, b)
		int64s(0, n, 0, n, 0, 1, 0, 1)
		l.thread = func(t grid.Thread) { f(t, p, y, a, b) }
		return over([3]int{4, 1, 1}, [3]int{n, 1, 1})
	case func(grid.Thread, int32, int32, int32, []float32, []float32, grid.Out[float32]): // matmul
		inner := 1 + r.IntN(40)
		a, b, c := floats(rows*inner), floats(inner*n), floats(rows*n)
		with("abc", a, b, c)
		int64s(rows, n, inner, 0, len(a), 0, len(b), 0, len(c))
		l.thread, l.together = func(t grid.Thread) { f(t, int32(rows), int32(n), int32(inner), a, b, c) }, true
		return over([3]int{16, 16, 1}, [3]int{n, rows, 1})
	case func(grid.Thread, float32, int32, []float32, []float32, grid.Out[float32]): // step
		first := r.IntN(n)
		old, v, now := floats(4*n), floats(3*(n-first)), floats(4*(n-first))
		with("ovn", old, v, now)
		int64s(0, first, 0, len(old), 0, len(v), 0, len(now))
		l.thread, l.together = func(t grid.Thread) { f(t, 0.5, int32(first), old, v, now) }, true
		return over([3]int{64, 1, 1}, [3]int{n - first, 1, 1})
	case func(grid.Thread, []float32, []float32, []float32, []float32, grid.Out[float32], grid.Out[float32], grid.Out[float32]): // attract
		x, y, z, m, ax, ay, az := floats(n), floats(n), floats(n), floats(n), floats(n), floats(n), floats(n)
		with("xyzmabc", x, y, z, m, ax, ay, az)
		int64s(0, n, 0, n, 0, n, 0, n, 0, n, 0, n, 0, n)
		l.thread = func(t grid.Thread) { f(t, x, y, z, m, ax, ay, az) }
		return over([3]int{4, 1, 1}, [3]int{n, 1, 1})
	case func(grid.Thread, int32, int32, grid.Out[uint16]): // mandelbrot
		out := make([]uint16, n*rows)
		l.arrays = append(l.arrays, arrayOf("out", out))
		int64s(n, 9, 0, len(out))
		l.thread = func(t grid.Thread) { f(t, int32(n), 9, out) }
		return over([3]int{4, 1, 1}, [3]int{n, rows, 1})
	}
	panic(fmt.Sprintf("%s: %T", k.what, k.thread))
}

func main() {
	r := rand.New(rand.NewPCG(1, 9))
	boxes, cuts, whole := 0, 0, 0
	for _, k := range rows {
		for range 150 {
			l, block, blocks := launchOf(r, k)
			box := boxIn(r, block, blocks, true)
			touch, _, ok := l.check(box, block, blocks)
			if !ok {
				l.violated(box, "panicked")
			}
			for i, t := range touch {
				if t.Whole && t.Write.Hi > t.Write.Lo {
					whole++
				}
				if full := t.Write.Hi - t.Write.Lo; l.arrays[i].n > 0 && full == l.arrays[i].n && !t.Whole && t.Read == (buffer.Range{}) {
					l.violated(box, "%s: all is written, and Whole is not set", l.arrays[i].name)
				}
			}
			boxes++
			l.exact = false
			cuts += l.cuts(r, boxIn(r, block, blocks, true), block, blocks)
		}
	}
	end(len(rows), boxes, cuts, whole)
}
`

// Blur has clamps and loops over weights, and matmul tiles that are loaded by hand; the other kernels are those of the examples and benchmarks.
const blurs = `
//halyard:kernel
func blur(t grid.Thread, width, height int32, from []float32, to grid.Out[float32]) {
	x, y, w, h := t.Global(0), t.Global(1), int(width), int(height)
	if x >= w || y >= h {
		return
	}
	sum := float32(0)
	for j := range 3 {
		for i := -1; i <= 1; i++ {
			sum += from[min(max(y+j-1, 0), h-1)*w+min(max(x+i, 0), w-1)]
		}
	}
	to[y*w+x] = sum / 9
}

const edge = 16

//halyard:kernel
func matmul(t grid.Thread, rows, cols, inner int32, a, b []float32, c grid.Out[float32]) {
	at := grid.Shared[[edge][edge]float32](t)
	bt := grid.Shared[[edge][edge]float32](t)
	x, y, col, row := t.Local(0), t.Local(1), t.Global(0), t.Global(1)
	m, n, depth := int(rows), int(cols), int(inner)
	sum := float32(0)
	for k := 0; k < depth; k += edge {
		at[y][x] = 0
		if row < m && k+x < depth {
			at[y][x] = a[row*depth+k+x]
		}
		bt[y][x] = 0
		if col < n && k+y < depth {
			bt[y][x] = b[(k+y)*n+col]
		}
		t.Barrier() // the edges are complete
		for i := 0; i < edge; i++ {
			sum += float32(at[y][i] * bt[i][x])
		}
		t.Barrier() // all threads have read them
	}
	if row < m && col < n {
		c[row*n+col] = sum
	}
}

//halyard:kernel
func blurred(t grid.Thread, from grid.Matrix[float32], to grid.OutMatrix[float32]) {
	i, j := t.Global(1), t.Global(0)
	if i >= to.Rows() || j >= to.Cols() {
		return
	}
	sum := float32(0)
	for k := i - 1; k <= i+1; k++ {
		at := k
		if at < 0 {
			at = 0
		} else if at >= from.Rows() {
			at = from.Rows() - 1
		}
		sum += from.At(at, max(j-1, 0)) + from.At(at, j) + from.At(at, min(j+1, from.Cols()-1))
	}
	to.Set(i, j, sum/9)
}
`

// The footprints of heat, conjugate gradient, matrix product, n-body, blur and Mandelbrot are exact: their spans are those of what the kernels use.
func TestExactFootprints(t *testing.T) {
	t.Parallel()
	const examples, apps = "examples/gokernels/", "bench/apps/"
	// Two programs, as some kernels have the same names.
	for _, src := range []string{
		declarations(t, "bench/kernels/c.go", "heat", "attract", "root") +
			declarations(t, apps+"frontdoor/mandelbrot.go", "escape") +
			declarations(t, apps+"frontdoor/heat.go", "spread") +
			declarations(t, examples+"stencil/stencil.go", "smooth") +
			declarations(t, examples+"cg/kernels.go", "laplace", "product", "advance", "direct") +
			blurs,
		declarations(t, examples+"nbody/nbody.go", "step", "read", "root") +
			declarations(t, apps+"gokernels/heat.go", "spread") +
			declarations(t, apps+"gokernels/cg.go", "laplace") +
			declarations(t, apps+"frontdoor/nbody.go", "move"),
	} {
		head := strings.Replace(touchedHead, "import ", "import \"math\"\nimport ", 1)
		assert.Contains(t, touchedRun(t, head+src, exactMain, unchanged), ", 0 violations", "%s", src)
	}
}
