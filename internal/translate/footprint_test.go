package translate

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
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
	"math"
	"math/rand/v2"

	"github.com/go-halyard/halyard/kernel"
	"github.com/go-halyard/halyard/kernel/grid"
)

type row struct {
	what   string
	seed   uint64
	cut    [3]bool
	of     func(kernel.Box, []int64, []kernel.Touch)
	thread func(grid.Thread, int, int32, []int32, []int32, []int64, grid.Matrix[int32], grid.Matrix[int32])
}

func main() {
	boxes, cuts, whole := 0, 0, 0
	for _, k := range rows {
		r := rand.New(rand.NewPCG(k.seed, 8))
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
		seed := strings.TrimPrefix(f.Kernel, "k")
		table += fmt.Sprintf("\t{%q, %s, [3]bool{%v, %v, %v}, %sFootprint, %[6]s},\n", f.Kernel, seed, f.Cut[0], f.Cut[1], f.Cut[2], f.Kernel)
	}
	dir := module(t, map[string]string{"k.go": recorded(t, src), "main_kernels.go": change(string(made.Go)), "rows.go": table + "}\n", "main.go": main, "record.go": recorder})
	build := exec.Command("go", "build", "-mod=mod", "-o", "touched", ".")
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

// What random kernels read and write is within their footprints, for random boxes and arguments. Parts that may run apart give the same memory as the
// whole. make fuzz takes more kernels.
func TestFootprintsOfRandomKernels(t *testing.T) {
	t.Parallel()
	const each = 250
	for first := 0; first < *randomKernels; first += each {
		count := min(each, *randomKernels-first)
		src := touchedKernels(*randomSeed+uint64(first), count)
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
	src := touchedKernels(1, 60)
	for from, to := range map[string]string{".Add(1)": ".Add(0)", ".Below(": ".Below(grid.Only(2).Min(", "touch[1] = kernel.Touch{Read": "touch[1] = kernel.Touch{Write"} {
		said := touchedRun(t, src, touchedMain, func(s string) string {
			if from == ".Below(" {
				return strings.ReplaceAll(s, ".Times(grid.Only(2))", ".Times(grid.Only(1))")
			}
			return strings.ReplaceAll(s, from, to)
		})
		assert.Contains(t, said, "VIOLATION", "%s", from)
	}
}
