package translate

import (
	"context"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-halyard/halyard/internal/spirv/build"
)

// batchRunner is the program that runs the kernels of a batch. One process calls the functions themselves for each thread and stores the results. For
// the host and for each device another process compares with these, because compilers that load LLVM interfere with each other in one process, and
// a crash ends only its own process.
const batchRunner = `package main

import (
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"

	_ "github.com/go-halyard/halyard/backends"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/kernel"
	"github.com/go-halyard/halyard/kernel/grid"
	"github.com/go-halyard/halyard/kernel/gridgen"
)

type (
	launch   = func(context.Context, kernel.Target, hal.Grid, int64, Par, kernel.Vector[uint32], kernel.Vector[float32], kernel.Vector[float32], kernel.Vector[uint64], kernel.Vector[int32], kernel.Vector[Elem], kernel.Matrix[float32], kernel.Matrix[float32]) error
	function = func(grid.Thread, int64, Par, []uint32, []float32, []float32, []uint64, []int32, []Elem, grid.Matrix[float32], grid.Matrix[float32])
)

// launchWithout is the launch of a kernel that takes no matrices.
func launchWithout(f func(context.Context, kernel.Target, hal.Grid, int64, Par, kernel.Vector[uint32], kernel.Vector[float32], kernel.Vector[float32], kernel.Vector[uint64], kernel.Vector[int32], kernel.Vector[Elem]) error) launch {
	return func(ctx context.Context, to kernel.Target, size hal.Grid, a int64, p Par, x kernel.Vector[uint32], f1, g kernel.Vector[float32], y kernel.Vector[uint64], z kernel.Vector[int32], e kernel.Vector[Elem], _, _ kernel.Matrix[float32]) error {
		return f(ctx, to, size, a, p, x, f1, g, y, z, e)
	}
}

// work is a kernel with its grid.
type work struct {
	seed          uint64
	name          string
	dims          int
	block, blocks [3]int
	beyond        int
	fails         bool // an index is out of range
	launch        launch
	function      function // with the matrices
	matrices      bool
	length        func(a int64, x []uint32, f []float32) int // of the memory whose length a launch says, nil if the kernel has none
}

func (w *work) total() int {
	n := 1
	for d := range 3 {
		n *= w.block[d] * w.blocks[d]
	}
	return n
}

func (w *work) grid() hal.Grid { return hal.Blocks(w.blocks[:w.dims]...).Of(w.block[:w.dims]...) }

// result is what a kernel wrote, or how it failed.
type result struct {
	Y     []uint64
	Z     []int32
	E     []uint64 // the sums of the elements
	O     []float32
	Error string
}

func main() {
	ctx := context.Background()
	switch os.Args[1] {
	case "devices":
		for _, d := range must(hal.Devices(ctx)) {
			if d.Backend == "opencl" || d.Backend == "vulkan" || d.Name() == "cuda:0" && os.Getenv("HALYARD_NVRTC_LIBRARY") != "" {
				fmt.Println("DEVICE", d.Name())
			}
		}
	case "plain":
		var all []result
		for k := range works {
			all = append(all, works[k].plain())
			if bad := all[k].Error; (bad != "") != works[k].fails {
				fmt.Printf("PLAIN %d %s\n", k, bad)
			}
		}
		check(gob.NewEncoder(must(os.Create("plain.gob"))).Encode(all))
	case "compile": // target, file
		language := hal.LanguageCUDA
		if os.Args[2][0] == 'g' {
			language = hal.LanguageHIP
		}
		img, err := hal.CompileFor(ctx, os.Args[2], hal.Source{Name: "kernels.c", Text: kernel.Prelude(language) + string(must(os.ReadFile(os.Args[3])))})
		if errors.Is(err, hal.ErrUnavailable) {
			fmt.Println("MISSING", err)
			return
		}
		if err != nil {
			fmt.Println("REFUSED", err)
			return
		}
		if dir := os.Getenv("HALYARD_TEST_KEEP"); dir != "" {
			check(os.WriteFile(fmt.Sprintf("%s/%d.%s", dir, works[0].seed, os.Args[2]), img.Data, 0o600))
		}
		fmt.Println("COMPILED")
	case "device": // device, file, kernels
		var want []result
		check(gob.NewDecoder(must(os.Open("plain.gob"))).Decode(&want))
		dev := must(hal.Open(ctx, os.Args[2]))
		c := string(must(os.ReadFile(os.Args[3])))
		sites := make([]string, 1000)
		var code struct {
			Sum     string
			Kernels map[string]gridgen.Code
			Written map[string]gridgen.Written
		}
		check(gob.NewDecoder(must(os.Open("vulkan.gob"))).Decode(&code))
		src := kernel.Source{Name: "kernels", Portable: c, Source: gridgen.Source{Indexes: sites, Kernels: code.Written}}
		// Otherwise only CUDA and HIP have integers of 32 bits in C. With them, Intel's compiler 2026.22 computes the kernel of seed 17 wrong; the same text
		// is right on PoCL and Oclgrind.
		narrow := works[0].seed/25%2 == 0 && strings.HasPrefix(os.Args[2], "opencl") && !strings.Contains(dev.Info().Driver, "Intel")
		if narrow {
			src.Options = map[hal.Language][]string{hal.LanguageOpenCLC: {"-DGO_NARROW"}}
		}
		p := kernel.New(src)
		p.Compiled(code.Sum, code.Kernels)
		if os.Args[2] == "host:0" {
			p = nil
		} else if err := p.Load(ctx, dev); err != nil {
			fmt.Println("REFUSED", err)
			return
		}
		s := must(dev.NewStream())
		for _, word := range os.Args[4:] {
			k := must(strconv.Atoi(word))
			fmt.Printf("BEGIN %d\n", k)
			large := max(works[k].number(), -works[k].number()) > 1<<30
			if sizes := code.Written["k_"+works[k].name].Sizes; narrow && large && len(sizes) > 0 && sizes[0][0] == 0 {
				continue // the launch does not keep the limit
			}
			got := works[k].on(ctx, s, p, c)
			if strings.Contains(got.Error, "integers of 32 bits") && large {
				got = want[k] // a device of Vulkan refuses the launch
			}
			if d := differ(got, want[k]); d != "" {
				fmt.Printf("DIFFERS %d on %s %s\n", k, dev.Name(), d)
			}
			if got.Error != "" { // the stream may keep the error
				s = must(dev.NewStream())
			}
		}
		fmt.Println("DONE")
	}
}

// differ says how a result is not what plain Go gives.
func differ(got, want result) string {
	if got.Error != "" || want.Error != "" {
		var index, index2, n int
		_, text, _ := strings.Cut(want.Error, "index out of range ")
		if _, err := fmt.Sscanf(text, "[%d] with length %d", &index, &n); err != nil {
			fmt.Sscanf(text, "[%d]", &index)
		}
		_, text, _ = strings.Cut(got.Error, "index ")
		if _, err := fmt.Sscanf(text, "%d out of range with length", &index2); err != nil {
			fmt.Sscanf(text, "out of range [%d]", &index2)
		}
		if got.Error == "" || want.Error == "" || index != index2 {
			return fmt.Sprintf("gives error %q, and %q on the host", got.Error, want.Error)
		}
		return ""
	}
	for i := range got.E {
		if got.E[i] != want.E[i] {
			return fmt.Sprintf("writes e[%d] with the sum %#x; plain Go writes one with %#x", i, got.E[i], want.E[i])
		}
	}
	for i := range got.O {
		if math.Float32bits(got.O[i]) != math.Float32bits(want.O[i]) && (got.O[i] == got.O[i] || want.O[i] == want.O[i]) {
			return fmt.Sprintf("writes element %d of o as %v; plain Go writes %v", i, got.O[i], want.O[i])
		}
	}
	for i := range got.Y {
		j := min(i, len(got.Z)-1)
		if got.Y[i] != want.Y[i] || got.Z[j] != want.Z[j] {
			return fmt.Sprintf("writes y[%d] = %#x and z[%d] = %d; plain Go writes %#x and %d", i, got.Y[i], j, got.Z[j], want.Y[i], want.Z[j])
		}
	}
	return ""
}

// data are the arguments that belong to a seed.
func (w *work) data() (p Par, xs []uint32, fs, gs []float32, ys []uint64, zs []int32, es []Elem) {
	xs = []uint32{0, 1, 2, 3, 7, 31, 32, 33, 63, 64, 65, 127, 128, 255, 256, 65535, 65536, 1<<31 - 1, 1 << 31, 1<<31 + 1, 1<<32 - 1, 1<<32 - 2}
	fs = []float32{0, 1, -1, 0.5, -0.5, 1.5, -1.5, 2.5, 3e9, -3e9, 5e9, 1e19, -1e19, 1e20, 300, -300, 1e-40, 1e-45, math.MaxFloat32, float32(math.Inf(1)), float32(math.Inf(-1)),
		float32(math.NaN()), float32(math.Copysign(0, -1)), 3.1415927, 65535.9, 2147483520, 1e10, -0.9, -0.001}
	r := (w.seed+1)*0x9e3779b97f4a7c15 | 1
	next := func() uint64 {
		r ^= r << 13
		r ^= r >> 7
		r ^= r << 17
		return r
	}
	n := w.total() - w.beyond
	for len(xs) < n {
		xs = append(xs, uint32(next()))
	}
	for len(fs) < n {
		v := float32(int32(next())) / 65536
		if next()%4 == 0 {
			v /= 32768
		}
		fs = append(fs, v)
	}
	p = Par{N: int32(next()), F: float32(int32(next())) / 65536, G: Wide(int64(next())) / 65536}
	for i := range p.L {
		p.L[i] = int64(next()) >> (next() % 60)
	}
	for i := range w.total() {
		e := Elem{A: int16(next()), On: next()%3 == 0, List: [2]uint32{uint32(next()), uint32(i)}, G: Wide(int32(next())) / 128}
		e.In.F = fs[i%len(fs)]
		es = append(es, e)
	}
	shift := int(next() % 16) // so that small grids see others
	xs, fs = append(xs[min(shift, len(xs)-n):][:n:n]), append(fs[min(shift, len(fs)-n):][:n:n])
	return p, xs, fs, make([]float32, w.total()), make([]uint64, n), make([]int32, max(1, n-5)), es
}

// without is a kernel that takes no matrices, in plain Go.
func without(f func(grid.Thread, int64, Par, []uint32, []float32, []float32, []uint64, []int32, []Elem)) function {
	return func(t grid.Thread, a int64, p Par, x []uint32, f1, g []float32, y []uint64, z []int32, e []Elem, _, _ grid.Matrix[float32]) {
		f(t, a, p, x, f1, g, y, z, e)
	}
}

// ofMatrix are the elements of a matrix.
type ofMatrix struct {
	all  []float32
	cols int
}

func (m ofMatrix) rows() grid.Matrix[float32] { return grid.MatrixOf(m.all, len(m.all)/m.cols, m.cols) }

// matrixes are the matrices that belong to a seed: one that kernels read, and one that they write.
func (w *work) matrixes() (m, o ofMatrix) {
	r := (w.seed+3)*0x9e3779b97f4a7c15 | 1
	next := func(n int) int {
		r ^= r << 13
		r ^= r >> 7
		r ^= r << 17
		return int(r >> 1 % uint64(n))
	}
	m, o = ofMatrix{cols: 1 + next(40)}, ofMatrix{cols: 1 + next(30)}
	o.all = make([]float32, o.cols*(1+next(50)))
	for range m.cols * (1 + next(40)) {
		m.all = append(m.all, float32(next(1<<20)-1<<19)/256)
	}
	return m, o
}

// number is the argument a, which needs 64 bits in some kernels.
func (w *work) number() int64 {
	if w.seed%3 == 0 {
		return int64((w.seed + 1) * 0x9e3779b97f4a7c15)
	}
	return int64(w.seed)
}

func sums(es []Elem) (all []uint64) {
	for i := range es {
		all = append(all, es[i].sum())
	}
	return all
}

// plain calls the function for each thread.
func (w *work) plain() (got result) {
	p, x, f, g, y, z, e := w.data()
	m, o := w.matrixes()
	defer func() {
		if p := recover(); p != nil {
			got = result{Error: fmt.Sprint(p)}
		}
	}()
	b := kernel.Block{Size: [3]uint32{1, 1, 1}, Grid: [3]uint32{1, 1, 1}}
	for d := range 3 {
		b.Size[d], b.Grid[d] = uint32(w.block[d]), uint32(w.blocks[d])
	}
	for b.Index[2] = 0; b.Index[2] < b.Grid[2]; b.Index[2]++ {
		for b.Index[1] = 0; b.Index[1] < b.Grid[1]; b.Index[1]++ {
			for b.Index[0] = 0; b.Index[0] < b.Grid[0]; b.Index[0]++ {
				grid.RunTogether(&b, func(t grid.Thread) { w.function(t, w.number(), p, x, f, g, y, z, e, m.rows(), o.rows()) })
			}
		}
	}
	return result{y, z, sums(e), o.all, ""}
}

// on launches a kernel: the program's, or that of the generated file if p is nil.
func (w *work) on(ctx context.Context, s *hal.Stream, p *kernel.Program, c string) result {
	par, xs, fs, gs, ys, zs, es := w.data()
	e := must(buffer.New[Elem](len(es)))
	x, f, g, y, z := must(buffer.New[uint32](len(xs))), must(buffer.New[float32](len(fs))), must(buffer.New[float32](len(gs))), must(buffer.New[uint64](len(ys))), must(buffer.New[int32](len(zs)))
	ms, written := w.matrixes()
	m, o := must(buffer.New[float32](len(ms.all))), must(buffer.New[float32](len(written.all)))
	defer func() { hal.CloseAll(x, f, g, y, z, e, m, o) }()
	check(m.CopyIn(ctx, ms.all))
	check(o.CopyIn(ctx, written.all))
	check(x.CopyIn(ctx, xs))
	check(f.CopyIn(ctx, fs))
	check(g.CopyIn(ctx, gs))
	check(y.CopyIn(ctx, ys))
	check(z.CopyIn(ctx, zs))
	check(e.CopyIn(ctx, es))
	var err error
	if p == nil {
		err = w.launch(ctx, s, w.grid(), w.number(), par, x, f, g, y, z, e, kernel.InRows(m, ms.cols), kernel.InRows(o, written.cols))
	} else {
		_, head, _ := strings.Cut(c, "KERNEL void k_"+w.name+"(")
		head, _, _ = strings.Cut(head, "{")
		gm, ym, zm, em := kernel.InOut, kernel.InOut, kernel.InOut, kernel.InOut
		if !strings.Contains(head, ", GLOBAL T_Elem") {
			em = kernel.In
		}
		if !strings.Contains(head, ", GLOBAL f32 *h_g") {
			gm = kernel.In
		}
		if !strings.Contains(head, ", GLOBAL u64") {
			ym = kernel.In
		}
		if !strings.Contains(head, ", GLOBAL i32") {
			zm = kernel.In
		}
		args := []kernel.Arg{kernel.Value(w.number()), kernel.Struct(&par), kernel.In(x), kernel.Value(int64(len(xs))), kernel.In(f), kernel.Value(int64(len(fs))),
			gm(g), kernel.Value(int64(len(gs))), ym(y), kernel.Value(int64(len(ys))), zm(z), kernel.Value(int64(len(zs))), em(e), kernel.Value(int64(len(es)))}
		if w.matrices {
			om := kernel.InOut
			if !strings.Contains(head, ", GLOBAL f32 *h_o") {
				om = kernel.In
			}
			args = append(args, kernel.In(m), kernel.Value(int64(len(ms.all)/ms.cols)), kernel.Value(int64(ms.cols)),
				om(o), kernel.Value(int64(len(written.all)/written.cols)), kernel.Value(int64(written.cols)))
		}
		if w.length != nil {
			args = append(args, kernel.Value(int64(w.length(w.number(), xs, fs))))
		}
		err = p.Kernel("k_" + w.name).Launch(ctx, s, w.grid(), args...)
	}
	if err == nil {
		err = y.CopyOut(ctx, ys)
	}
	if err == nil {
		err = z.CopyOut(ctx, zs)
	}
	if err == nil {
		err = e.CopyOut(ctx, es)
	}
	if err == nil {
		err = o.CopyOut(ctx, written.all)
	}
	if err != nil {
		return result{Error: err.Error()}
	}
	return result{ys, zs, sums(es), written.all, ""}
}

func must[T any](v T, err error) T { check(err); return v }

func check(err error) {
	if err != nil {
		panic(err)
	}
}
`

// text is a kernel with what it calls. It is named k0, and all else that it declares ends in 0 or has 0_ in it.
type text struct {
	seed uint64
	src  string
}

// ids are the places in a kernel's text where its number stands.
var ids = regexp.MustCompile(`\b(k|g|m|e|w|x|rec|inner|h)0(_|\b)`)

func (k text) numbered(id int) string {
	return ids.ReplaceAllString(k.src, fmt.Sprintf("${1}%d${2}", id))
}

// fails reports whether one thread of the kernel has an index out of range.
func (k text) fails() bool { return strings.Contains(k.src, "// oops") }

// ends reports whether threads may return while others go to a barrier at the kernel's end. Plain Go would say so.
func (k text) ends() bool { return strings.Contains(atEnd.FindString(k.src), "Barrier") }

var atEnd = regexp.MustCompile(`(?:\n\t(?:t\.Barrier\(\)|return)?)+\n}\s*$`)

// withoutEnd returns the kernel as a function for plain Go, which has no barriers at its end.
func (k text) withoutEnd(id int) string {
	_, own, _ := strings.Cut(k.numbered(id), "//halyard:kernel\n")
	return strings.Replace(atEnd.ReplaceAllString(own, "\n}\n"), "func k", "func p", 1)
}

var lengths = regexp.MustCompile(`grid\.SharedSlice\[.*\]\(t, (.*)\)\n`)

// matrices reports whether the kernel takes matrices.
func (k text) matrices() bool { return strings.Contains(k.src, "o grid.Matrix[float32]") }

// arguments returns a function that takes all arguments, whether the kernel has matrices, and how to find the length that a launch says.
func (k text) arguments(function string) string {
	length := "nil"
	if !k.matrices() {
		function = "without(" + function + ")"
	}
	if found := lengths.FindStringSubmatch(k.src); found != nil {
		length = "func(a int64, x []uint32, f []float32) int { return " + found[1] + " }"
	}
	return fmt.Sprintf("%s, %v, %s", function, k.matrices(), length)
}

// batch has the folder in which batches are built, one after the other.
type batch struct {
	dir      string
	devices  []string                 // the host, all of OpenCL and Vulkan, and one of CUDA, known after the first build
	spent    map[string]time.Duration // by each kind of program
	compared map[string]int           // the kernels that each device ran, and each architecture's compiler took
	head     string                   // begins the package of the kernels
	made     map[string]*Output       // the translations of the last build, by their text
	plant    func(c string) string    // makes a mistake in the translation, if it is not nil
	compiler string                   // flags of Go's compiler for the kernels and their launches
}

func newBatch(t *testing.T) *batch {
	b := &batch{dir: module(t, map[string]string{"main.go": batchRunner}), compiler: "-dwarf=false", head: head,
		spent: map[string]time.Duration{}, compared: map[string]int{}, made: map[string]*Output{}}
	if *randomSingle {
		b.head = singleHead
	}
	return b
}

// program runs the program that was built, and returns the lines of its output.
func (b *batch) program(ctx context.Context, env []string, args ...string) []string {
	begin := time.Now()
	defer func() { b.spent[strings.Join(args[:min(2, len(args))], " ")] += time.Since(begin) }()
	run := exec.CommandContext(ctx, "./kernels", args...)
	run.Dir, run.Env = b.dir, slices.Concat(os.Environ(), []string{"HALYARD_KERNEL_CACHE=off", "HALYARD_HOST_DEVICES=1", "HALYARD_CHECK="}, env)
	if *randomWidth != "" {
		run.Env = append(run.Env, "GODEBUG=simd=+"+*randomWidth)
	}
	out, err := run.CombinedOutput()
	if err != nil {
		out = append(out, "\nCRASHED "+err.Error()...)
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

// translate translates kernels in one package, each list of a build once.
func (b *batch) translate(kernels []text, which []int) (src string, made *Output, err error) {
	var s strings.Builder
	s.WriteString(b.head)
	for _, k := range which {
		s.WriteString(kernels[k].numbered(k))
		if kernels[k].ends() {
			s.WriteString(kernels[k].withoutEnd(k))
		}
	}
	src = s.String()
	if b.made[src] != nil {
		return src, b.made[src], nil
	}
	imp, err := imports()
	if err != nil {
		return "", nil, err
	}
	b.made[src], err = translatedWith(imp, src)
	return src, b.made[src], err
}

func (b *batch) build(ctx context.Context, kernels []text) error {
	all := make([]int, len(kernels))
	table := "package main\n\nvar works = []work{\n"
	for k := range kernels {
		all[k] = k
		s, function, launch := shaped(kernels[k].seed), "k", fmt.Sprintf("K%dOn", k)
		if kernels[k].ends() {
			function = "p"
		}
		if !kernels[k].matrices() {
			launch = "launchWithout(" + launch + ")"
		}
		table += fmt.Sprintf("\t{%d, \"k%d\", %d, %#v, %#v, %d, %v, %s, %s},\n", kernels[k].seed, k, s.dims, s.block, s.blocks, s.beyond, kernels[k].fails(),
			launch, kernels[k].arguments(fmt.Sprint(function, k)))
	}
	clear(b.made)
	src, made, err := b.translate(kernels, all)
	if err != nil {
		return fmt.Errorf("no translation: %w", err)
	}
	vectors := string(made.SIMD)
	if vectors == "" {
		vectors = "package main\n"
	}
	for name, content := range map[string]string{"kernels.go": src, "main_kernels.go": string(made.Go), "main_kernels_simd.go": vectors, "table.go": table + "}\n"} {
		if err := os.WriteFile(filepath.Join(b.dir, name), []byte(content), 0o600); err != nil {
			return err
		}
	}
	build := exec.CommandContext(ctx, "go", "build", "-mod=mod", "-tags", "opencl cuda hip vulkan", "-gcflags", b.compiler,
		"-ldflags", "-s -w", "-o", "kernels", ".")
	build.Dir, build.Env = b.dir, append(os.Environ(), "CGO_ENABLED=0")
	if *randomWidth != "" {
		build.Env = append(build.Env, withVectors...)
	}
	begin := time.Now()
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w: %s", err, out)
	}
	b.spent["go build"] += time.Since(begin)
	if b.devices == nil {
		b.devices = []string{"host:0"}
		for _, line := range b.program(ctx, nil, "devices") {
			if name, ok := strings.CutPrefix(line, "DEVICE "); ok {
				b.devices = append(b.devices, name)
			}
		}
	}
	return nil
}

// found is what a batch found about a kernel: that plain Go does not do what it was written to do, that a compiler refuses it, or that a device
// differs from plain Go. Each is empty if it did not happen.
type found struct{ plain, refused, differs string }

// run builds kernels, calls them as plain Go, and compares each on the devices: on all if devices is nil.
func (b *batch) run(ctx context.Context, kernels []text, devices []string) ([]found, error) {
	return b.runApart(ctx, [][]text{kernels}, devices)
}

// runApart is run for lists of kernels that are one program in Go, and one program for each list on a device. The result is that of all
// lists, in their order.
func (b *batch) runApart(ctx context.Context, apart [][]text, devices []string) ([]found, error) {
	kernels := slices.Concat(apart...)
	if err := b.build(ctx, kernels); err != nil {
		return nil, err
	}
	all := make([]found, len(kernels))
	for _, line := range b.program(ctx, nil, "plain") {
		var k int
		if n, _ := fmt.Sscanf(line, "PLAIN %d", &k); n == 1 {
			all[k].plain = line
		} else if line != "" {
			return nil, fmt.Errorf("plain Go: %s", line)
		}
	}
	if devices == nil {
		devices = b.devices
	}
	first := 0
	for _, some := range apart {
		var lists [2][]int // the second are those with an index out of range, which a device tells if it is asked
		for k := first; k < first+len(some); k++ {
			switch {
			case all[k].plain != "":
			case kernels[k].fails():
				lists[1] = append(lists[1], k)
			default:
				lists[0] = append(lists[0], k)
			}
		}
		first += len(some)
		for _, d := range devices {
			for i, env := range [][]string{nil, {"HALYARD_CHECK=bounds"}} {
				if err := b.device(ctx, env, d, kernels, lists[i], all); err != nil {
					return nil, err
				}
			}
		}
	}
	return all, nil
}

// nests is how deep the conditions of a kernel are nested, in a generated file; sizes are the limits of its launches, and sized is what they know about
// shared memory of their length.
var (
	sized = regexp.MustCompile(`Code: "(\w+)", Params: \[\]string\{(.*?)\},.* SharedElem: (\d+), SharedStatic: (\d+)`)
	nests = regexp.MustCompile(`Code: "(\w+)",.* Nests: (\d+), NestsAt: "(.*?)"`)
	sizes = regexp.MustCompile(`Code: "(\w+)", Params: \[\]string\{(.*?)\}, Most: (\d+), Sizes: \[\]\[\]int\{((?:\{[\d, ]+\},? ?)*)\}`)
)

// vulkan writes the kernels of a translation as modules of SPIR-V, with what a launch knows about them from the generated file.
func (b *batch) vulkan(c string, translation *Output) error {
	sum, generated := sumOf(c), translation.Go
	file, err := os.Create(filepath.Join(b.dir, "vulkan.gob"))
	if err != nil {
		return err
	}
	defer file.Close()
	type packed struct{ Words, Checked string }
	type known struct {
		Code    string
		Nests   int
		NestsAt string
		Params  []string
		Most    int64
		Sizes   [][]int

		SharedElem, SharedStatic int64
	}
	made, written := map[string]packed{}, map[string]known{}
	for name, m := range translation.modules {
		made[name] = packed{new(build.Packer).Pack(m.Plain.Words()), new(build.Packer).Pack(m.Checked.Words())}
	}
	for _, found := range sizes.FindAllStringSubmatch(string(generated), -1) {
		w := known{Code: found[1], Params: strings.Split(found[2], ", ")}
		w.Most, _ = strconv.ParseInt(found[3], 10, 64)
		if err := json.Unmarshal([]byte("["+strings.NewReplacer("{", "[", "}", "]").Replace(found[4])+"]"), &w.Sizes); err != nil {
			return err
		}
		written[found[1]] = w
	}
	for _, found := range nests.FindAllStringSubmatch(string(generated), -1) {
		depth, _ := strconv.Atoi(found[2])
		w := written[found[1]]
		w.Nests, w.NestsAt = depth, found[3]
		written[found[1]] = w
	}
	for _, found := range sized.FindAllStringSubmatch(string(generated), -1) {
		w := written[found[1]]
		w.Code, w.Params = found[1], strings.Split(found[2], ", ")
		w.SharedElem, _ = strconv.ParseInt(found[3], 10, 64)
		w.SharedStatic, _ = strconv.ParseInt(found[4], 10, 64)
		written[found[1]] = w
	}
	return gob.NewEncoder(file).Encode(struct {
		Sum     string
		Kernels map[string]packed
		Written map[string]known
	}{sum, made, written})
}

var errNoCompiler = errors.New("the compiler is not there")

// device runs kernels on a device, or compiles them for an architecture. If the compiler crashes or refuses the whole list, device tries each half.
// Without a compiler for the architecture the error is errNoCompiler.
func (b *batch) device(ctx context.Context, env []string, d string, kernels []text, list []int, all []found) error {
	if len(list) == 0 {
		return nil
	}
	_, made, err := b.translate(kernels, list)
	if err != nil {
		return err
	}
	c := made.C
	if b.plant != nil {
		c = b.plant(c)
	}
	const file = "kernels.c"
	if err := os.WriteFile(filepath.Join(b.dir, file), []byte(c), 0o600); err != nil {
		return err
	}
	if err := b.vulkan(c, made); err != nil {
		return err
	}
	args := []string{"compile", d, file}
	if strings.Contains(d, ":") {
		args[0] = "device"
		for _, k := range list {
			args = append(args, fmt.Sprint(k))
		}
	}
	said := b.program(ctx, env, args...)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	last := said[len(said)-1]
	if reason, missing := strings.CutPrefix(last, "MISSING "); missing {
		return fmt.Errorf("%w: %s", errNoCompiler, reason)
	}
	if last == "DONE" || last == "COMPILED" {
		for _, line := range said {
			var k int
			if n, _ := fmt.Sscanf(line, "DIFFERS %d", &k); n == 1 {
				all[k].differs += line + "\n"
			}
			if strings.HasPrefix(line, "BEGIN ") {
				b.compared[d]++
			}
		}
		if last == "COMPILED" {
			b.compared[d] += len(list)
		}
		return nil
	}
	at := slices.IndexFunc(said, func(line string) bool {
		return strings.HasPrefix(line, "REFUSED") || strings.HasPrefix(line, "CRASHED")
	})
	text := d + ": " + strings.Join(said[max(0, at):], "\n")
	if len(list) == 1 {
		all[list[0]].refused = text
		return nil
	}
	if err := b.device(ctx, env, d, kernels, list[:len(list)/2], all); err != nil {
		return err
	}
	return b.device(ctx, env, d, kernels, list[len(list)/2:], all)
}
