package translate_test

import (
	"bufio"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/internal/translate"
	"github.com/go-halyard/halyard/internal/translate/build"
	"github.com/go-halyard/halyard/internal/translate/facts"
	"github.com/go-halyard/halyard/internal/translate/ir"
	"github.com/go-halyard/halyard/internal/translate/ir/interp"
	"github.com/go-halyard/halyard/internal/translate/passes"
)

var interpreted = flag.Int("interpreted", 100, "how many random kernels the interpreter is compared with Go on")

// given are the arguments of a random kernel and, in another value, what Go leaves in them. They are the types of the package that is built.
type given struct {
	P struct {
		G float64
		L [8]int64
		N int32
		F float32
	}
	X     []uint32
	F, G  []float32
	Y     []uint64
	Z     []int32
	E     []givenElem
	M, O  []float32
	Error string

	Columns [2]int32 // of M and O
	Length  int32    // of the memory whose length a launch says
}

type givenElem struct {
	A    int16
	On   bool
	In   struct{ F float32 }
	List [2]uint32
	G    float64
}

// plainHead begins the program that runs random kernels as plain Go. What follows is cut out of the program that runs them on devices.
const plainHead = `package main

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"math"
	"os"

	"github.com/go-halyard/halyard/kernel"
	"github.com/go-halyard/halyard/kernel/grid"
)

type work struct {
	seed          uint64
	dims          int
	block, blocks [3]int
	beyond        int
	function      function
	matrices      bool
	length        func(a int64, x []uint32, f []float32) int
}

type function = func(grid.Thread, int64, Par, []uint32, []float32, []float32, []uint64, []int32, []Elem, grid.Matrix[float32], grid.Matrix[float32])

type result struct {
	Y     []uint64
	Z     []int32
	E     []uint64
	O     []float32
	Error string
}

type given struct {
	P     Par
	X     []uint32
	F, G  []float32
	Y     []uint64
	Z     []int32
	E     []Elem
	M, O  ofMatrix
	Error string
}

func (w *work) total() int { return w.block[0] * w.block[1] * w.block[2] * w.blocks[0] * w.blocks[1] * w.blocks[2] }

func main() {
	out := bufio.NewWriter(os.Stdout)
	for k := range works {
		w := &works[k]
		var before given
		before.P, before.X, before.F, before.G, before.Y, before.Z, before.E = w.data()
		before.M, before.O = w.matrixes()
		for _, g := range []given{before, w.after()} {
			n := []int32{int32(len(g.X)), int32(len(g.F)), int32(len(g.G)), int32(len(g.Y)), int32(len(g.Z)), int32(len(g.E)), int32(len(g.M.all)), int32(len(g.O.all)),
				int32(len(g.Error)), int32(g.M.cols), int32(g.O.cols), 0}
			if w.length != nil {
				n[len(n)-1] = int32(w.length(w.number(), before.X, before.F))
			}
			for _, part := range []any{n, g.P, g.X, g.F, g.G, g.Y, g.Z, g.E, g.M.all, g.O.all, []byte(g.Error)} {
				if err := binary.Write(out, binary.LittleEndian, part); err != nil {
					panic(err)
				}
			}
		}
	}
	if err := out.Flush(); err != nil {
		panic(err)
	}
}

// after runs the kernel as plain does, and returns all that it left.
func (w *work) after() (got given) {
	got.P, got.X, got.F, got.G, got.Y, got.Z, got.E = w.data()
	got.M, got.O = w.matrixes()
	keep := w.function
	defer func() { w.function = keep }()
	w.function = func(t grid.Thread, a int64, p Par, _ []uint32, _ []float32, _ []float32, _ []uint64, _ []int32, _ []Elem, _, _ grid.Matrix[float32]) {
		keep(t, a, p, got.X, got.F, got.G, got.Y, got.Z, got.E, got.M.rows(), got.O.rows())
	}
	got.Error = w.plain().Error
	return got
}
`

// narrowly is the key of the kernels that are compared with narrow integers.
const narrowly = "narrow integers"

// interpretedBatch compares the interpreter with Go on kernels, which are built as one program. It counts the kernels that passes change, by
// the pass, and those that are compared with narrow integers. Short ones do not have all parameters.
func interpretedBatch(t *testing.T, dir, head string, kernels []translate.RandomText, short bool, changed map[string]int) (compared int) {
	var src, table strings.Builder
	src.WriteString(head)
	table.WriteString("package main\n\nimport \"github.com/go-halyard/halyard/kernel/grid\"\n\nvar _ grid.Thread\n\nvar works = []work{\n")
	for id, k := range kernels {
		src.WriteString(k.Text)
		arguments := k.Arguments
		if short {
			arguments = fmt.Sprintf("func(t grid.Thread, a int64, p Par, x []uint32, f, g []float32, y []uint64, z []int32, e []Elem, m, o grid.Matrix[float32]) { k%d(t, a, x, f, y, z) }, false, nil", id)
		}
		fmt.Fprintf(&table, "\t{%d, 0, %#v, %#v, %d, %s},\n", k.Seed, k.Block, k.Blocks, k.Beyond, arguments)
	}
	_, rest, _ := strings.Cut(translate.BatchRunner, "// data are the arguments")
	rest, _, _ = strings.Cut(rest, "// on launches a kernel")
	if short { // their threads have an element each
		rest = strings.Replace(rest, "max(1, n-5)", "n", 1)
	}
	for name, content := range map[string]string{"main.go": plainHead + "\n// data are the arguments" + rest, "kernels.go": src.String(), "table.go": table.String() + "}\n"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
	}
	made := exec.CommandContext(t.Context(), "go", "build", "-mod=mod", "-gcflags", "-dwarf=false", "-ldflags", "-s -w", "-o", "plain", ".")
	made.Dir, made.Env = dir, append(os.Environ(), "CGO_ENABLED=0")
	out, err := made.CombinedOutput()
	require.NoError(t, err, "%s", out)
	run := exec.CommandContext(t.Context(), "./plain")
	run.Dir, run.Stderr = dir, os.Stderr
	pipe, err := run.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, run.Start())
	defer func() {
		_, err := io.Copy(io.Discard, pipe)
		assert.NoError(t, errors.Join(err, run.Wait()))
	}()

	p, err := translate.Checked(src.String())
	require.NoError(t, err)
	program, err := build.Program(p.Package)
	require.NoError(t, err)
	require.NoError(t, program.Verify())
	results := bufio.NewReader(pipe)
	devices := passed(t, program, changed)
	id := 0
	effects, narrow := map[*ir.Function]*facts.Effects{}, facts.NarrowOf(devices)
	for i, f := range program.Functions {
		effects[f] = facts.EffectsOf(f, effects)
		if !f.Kernel {
			continue
		}
		k := kernels[id]
		id++
		got, want := readGiven(t, results), readGiven(t, results)
		a := int64(k.Seed) // as in work.number
		if k.Seed%3 == 0 {
			a = int64((k.Seed + 1) * 0x9e3779b97f4a7c15)
		}
		list := func(g given) []any {
			if short {
				return []any{a, g.X, g.F, g.Y, g.Z}
			}
			all := []any{a, g.P, g.X, g.F, g.G, g.Y, g.Z, g.E}
			if strings.Contains(k.Text, "o grid.Matrix[float32]") {
				all = append(all, interp.Rows{Elements: g.M, Cols: int(g.Columns[0])}, interp.Rows{Elements: g.O, Cols: int(g.Columns[1])})
			}
			if strings.Contains(k.Text, "grid.SharedSlice") {
				all = append(all, int(g.Length))
			}
			return all
		}
		after, again := got.copied(), got.copied()
		trace, wrong := variedAsSaid(f, effects)
		size := interp.Grid{Size: k.Block, Blocks: k.Blocks}
		err := interp.Traced(program, f, size, trace, nil, list(got)...)
		if w := wrong(); w != "" {
			t.Errorf("the kernel of seed %d: %s\n%s", k.Seed, w, f)
			return compared
		}
		if d := differs(got, want, err); d != "" {
			t.Errorf("the kernel of seed %d %s\n%s\n%s", k.Seed, d, k.Text, f)
			return compared
		}
		f = devices.Functions[i]
		err = interp.Run(devices, f, size, list(after)...)
		if d := differs(after, want, err); d != "" {
			t.Errorf("the kernel of seed %d, as devices get it, %s\n%s\n%s", k.Seed, d, k.Text, f)
			return compared
		}
		if most, sizes := narrow.Limit(f); !k.Fails && (len(sizes) == 0 || max(a, -a) <= most) {
			err := interp.Traced(devices, f, size, nil, narrow, list(again)...)
			if d := differs(again, want, err); d != "" {
				t.Errorf("the kernel of seed %d, with narrow integers, %s\n%s\n%s", k.Seed, d, k.Text, f)
				return compared
			}
			changed[narrowly]++
		}
		assert.Equal(t, k.Fails, want.Error != "", "the kernel of seed %d is not as it was meant", k.Seed)
		compared++
	}
	assert.Equal(t, len(kernels), id)
	return compared
}

// passed returns the program that is printed for devices. It checks the program after each pass, and counts the functions that each pass
// changes.
func passed(t *testing.T, program *ir.Program, changed map[string]int) *ir.Program {
	t.Helper()
	made := passes.Copy(program)
	require.NoError(t, made.Verify())
	require.Equal(t, program.String(), made.String(), "the copy")
	for _, pass := range passes.All {
		var before []string
		for _, f := range made.Functions {
			before = append(before, f.String())
		}
		pass.Run(made)
		require.NoError(t, made.Verify(), "after the pass %s", pass.Name)
		for i, f := range made.Functions {
			if f.String() != before[i] {
				changed[pass.Name]++
			}
		}
	}
	require.Equal(t, passes.Devices(program).String(), made.String())
	return made
}

// copied returns a copy whose slices are its own.
func (g given) copied() given {
	g.X, g.F, g.G = slices.Clone(g.X), slices.Clone(g.F), slices.Clone(g.G)
	g.Y, g.Z, g.E = slices.Clone(g.Y), slices.Clone(g.Z), slices.Clone(g.E)
	g.M, g.O = slices.Clone(g.M), slices.Clone(g.O)
	return g
}

// variedAsSaid returns a function that notes the values of lets which are not in loops, and one that says which of them differs between threads for
// which package facts says that it does not.
func variedAsSaid(f *ir.Function, effects map[*ir.Function]*facts.Effects) (interp.Trace, func() string) {
	type key struct {
		id         int
		block, row [3]int
	}
	said, seen, inLoops, wrong := facts.VarianceOf(f, effects, nil), map[key]uint64{}, map[*ir.Value]bool{}, ""
	f.Body.Visit(func(s *ir.Stmt) {
		if s.Do == ir.Loop {
			for _, r := range s.Regions() {
				r.Visit(nil, func(v *ir.Value) { inLoops[v] = true })
			}
		}
	}, nil)
	return func(block, local [3]int, v *ir.Value, bits uint64) {
		by := facts.Nothing
		if v.Type != nil {
			by = said.Values[v.ID]
		}
		if v.Type == nil || inLoops[v] || by == facts.Thread {
			return
		}
		k := key{id: v.ID}
		if by >= facts.Block {
			k.block = block
		}
		if by >= facts.Row {
			k.row = [3]int{0, local[1], local[2]}
		}
		if was, ok := seen[k]; ok && was != bits {
			wrong = fmt.Sprintf("value %q (%d) is said to vary by %s, and is %#x and %#x", v.Name, v.ID, by, was, bits)
		}
		seen[k] = bits
	}, func() string { return wrong }
}

// readGiven reads what the program wrote.
func readGiven(t *testing.T, in io.Reader) (g given) {
	var n [12]int32
	require.NoError(t, binary.Read(in, binary.LittleEndian, &n))
	g.X, g.F, g.G, g.Y, g.Z, g.E = make([]uint32, n[0]), make([]float32, n[1]), make([]float32, n[2]), make([]uint64, n[3]), make([]int32, n[4]), make([]givenElem, n[5])
	g.M, g.O, g.Columns, g.Length = make([]float32, n[6]), make([]float32, n[7]), [2]int32{n[9], n[10]}, n[11]
	text := make([]byte, n[8])
	for _, part := range []any{&g.P, g.X, g.F, g.G, g.Y, g.Z, g.E, g.M, g.O, text} {
		require.NoError(t, binary.Read(in, binary.LittleEndian, part))
	}
	g.Error = string(text)
	return g
}

// differs says how the interpreter differs from Go.
func differs(got, want given, err error) string {
	var fault *interp.Fault
	switch {
	case err != nil && !errors.As(err, &fault):
		return err.Error()
	case (err == nil) != (want.Error == "") || err != nil && !strings.Contains(want.Error, fault.Text):
		return fmt.Sprintf("fails with %v, and in Go with %q", err, want.Error)
	case err != nil:
		return ""
	}
	for i := range want.Y {
		if got.Y[i] != want.Y[i] {
			return fmt.Sprintf("writes y[%d] = %#x, and Go %#x", i, got.Y[i], want.Y[i])
		}
	}
	for i := range want.Z {
		if got.Z[i] != want.Z[i] {
			return fmt.Sprintf("writes z[%d] = %d, and Go %d", i, got.Z[i], want.Z[i])
		}
	}
	same := func(x, y float64) bool { return x == y || x != x && y != y }
	for i := range want.G {
		if !same(float64(got.G[i]), float64(want.G[i])) {
			return fmt.Sprintf("writes g[%d] = %v, and Go %v", i, got.G[i], want.G[i])
		}
	}
	for i := range want.O {
		if !same(float64(got.O[i]), float64(want.O[i])) {
			return fmt.Sprintf("writes element %d of o as %v, and Go %v", i, got.O[i], want.O[i])
		}
	}
	for i, e := range want.E {
		g := got.E[i]
		if !same(g.G, e.G) || !same(float64(g.In.F), float64(e.In.F)) || g.A != e.A || g.On != e.On || g.List != e.List {
			return fmt.Sprintf("writes e[%d] = %+v, and Go %+v", i, g, e)
		}
	}
	return ""
}

// The interpreter computes the same as Go on random kernels, to the bit, and fails as Go does. Values vary between threads only as package facts says.
// With the flag the test takes more kernels.
func TestInterpreterEqualsGo(t *testing.T) {
	t.Parallel()
	dir := translate.Module(t, map[string]string{})
	const each = 100
	count, compared, changed := *interpreted, 0, map[string]int{}
	if testing.Short() {
		count = min(count, 20) // 2 s of a processor; 100 take 25
		t.Logf("did %d of %d random kernels", count, *interpreted)
	}
	for first := 0; first < count && !t.Failed(); first += each {
		begin := time.Now()
		var kernels []translate.RandomText
		for id := range min(each, count-first) {
			kernels = append(kernels, translate.Randomly(translate.FirstSeed()+uint64(first+id), id))
		}
		compared += interpretedBatch(t, dir, translate.RandomHead, kernels, false, changed)
		t.Logf("%d kernels from seed %d: %v", min(each, count-first), translate.FirstSeed()+uint64(first), time.Since(begin).Round(time.Millisecond))
	}
	assert.Equal(t, count, compared)
	assert.Greater(t, changed[narrowly], count*3/4)
	for _, pass := range passes.All {
		assert.True(t, count < each || changed[pass.Name] > 0, "the pass %s changes nothing", pass.Name)
	}
	t.Logf("the interpreter equals Go on %d kernels, from seed %d; passes change %v", compared, translate.FirstSeed(), changed)
}

// The interpreter computes the same as Go on kernels that use every form of statement and expression.
func TestInterpreterKnowsWhatGoMeans(t *testing.T) {
	t.Parallel()
	src := translate.RandomHead + translate.MeaningKernels(t)
	var kernels []translate.RandomText
	for id := range strings.Count(src, "//halyard:kernel") {
		kernels = append(kernels, translate.RandomText{Seed: uint64(id), Block: [3]int{16, 1, 1}, Blocks: [3]int{3, 1, 1}})
	}
	assert.Equal(t, len(kernels), interpretedBatch(t, translate.Module(t, map[string]string{}), src, kernels, true, map[string]int{}))
}
