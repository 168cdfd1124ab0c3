package translate

import (
	"cmp"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/internal/layout"
)

var randomTypes = flag.Int("types", 0, "how many random element types to compare; 0: 1000 where HALYARD_REQUIRE asks for OpenCL or NVRTC, else 100")

// typeWriter writes random types of elements, and functions that use every number in them.
type typeWriter struct {
	*rand.Rand
	fields int
}

var leaves = []string{"bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64", "complex64", "complex128"}

// typeShape is a random type: a number, an array of elem, or a structure with fields.
type typeShape struct {
	leaf   string
	length int
	elem   *typeShape
	names  []string
	fields []*typeShape
}

func (w *typeWriter) random(depth int) *typeShape {
	switch n := w.IntN(10); {
	case depth == 0 || n < 4:
		return &typeShape{leaf: leaves[w.IntN(len(leaves))]}
	case n < 6:
		return &typeShape{length: 1 + w.IntN(4), elem: w.random(depth - 1)}
	}
	return w.structure(depth)
}

func (w *typeWriter) structure(depth int) *typeShape {
	s := new(typeShape)
	for range 1 + w.IntN(5) {
		name := "_"
		if len(s.names) == 0 || w.IntN(8) > 0 {
			w.fields++ // so that no two types have the same fields
			name = fmt.Sprintf("f%d", w.fields)
		}
		s.names, s.fields = append(s.names, name), append(s.fields, w.random(depth-1))
	}
	return s
}

func (s *typeShape) String() string {
	switch {
	case s.leaf != "":
		return s.leaf
	case s.elem != nil:
		return fmt.Sprintf("[%d]%s", s.length, s.elem)
	}
	text := "struct {"
	for i, f := range s.fields {
		text += fmt.Sprintf(" %s %s;", s.names[i], f)
	}
	return text + " }"
}

// visit writes a statement for each number of the type, in loops for arrays. path is the place in Go.
func (s *typeShape) visit(path string, depth int, statement func(path, leaf string) string) string {
	switch {
	case s.leaf != "":
		return statement(path, s.leaf) + "\n"
	case s.elem != nil:
		i := fmt.Sprintf("i%d", depth)
		return fmt.Sprintf("for %s := range %d {\n%s}\n", i, s.length, s.elem.visit(path+"["+i+"]", depth+1, statement))
	}
	text := ""
	for i, f := range s.fields {
		if s.names[i] != "_" {
			text += f.visit(path+"."+s.names[i], depth, statement)
		}
	}
	return text
}

// layoutRunner makes buffers of the types on the host and on each other device, launches the kernels on them, and compares. It has every compiler
// check the offsets that Go gives the fields.
const layoutRunner = `package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	_ "github.com/go-halyard/halyard/backends"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/kernel"
)

const n = 5

func main() {
	ctx := context.Background()
	c := string(must(os.ReadFile("kernels.c")))
	text := string(must(os.ReadFile("offsets.c")))
	if len(os.Args) > 1 { // in its own process, because compilers that load LLVM interfere with each other
		for target, language := range map[string]hal.Language{"compute_70": hal.LanguageCUDA, "gfx906": hal.LanguageHIP} {
			_, err := hal.CompileFor(ctx, target, hal.Source{Name: "kernels.c", Text: kernel.Prelude(language) + text})
			switch {
			case errors.Is(err, hal.ErrUnavailable):
				fmt.Println("left out", target, err)
			case err != nil:
				fmt.Println("FAILED", target, err)
			default:
				fmt.Println("compiled", target)
			}
		}
		return
	}
	want := run(ctx, must(hal.Open(ctx, "host:0")), nil)
	for _, d := range must(hal.Devices(ctx)) {
		if d.Backend != "opencl" {
			continue
		}
		begin := time.Now()
		dev := must(hal.Open(ctx, d.Name()))
		if err := kernel.New(kernel.Source{Name: "offsets", Portable: text + "KERNEL void none(void) {}\n"}).Load(ctx, dev); err != nil {
			fmt.Println("FAILED", d.Name(), err)
			continue
		}
		got := run(ctx, dev, kernel.New(kernel.Source{Name: "values", Portable: c, Options: map[hal.Language][]string{hal.LanguageOpenCLC: {"-cl-opt-disable"}}}))
		for k := range want {
			if got[k] != want[k] {
				fmt.Printf("FAILED type %d on %s: %v, and %v on the host\n", k, d.Name(), got[k], want[k])
			}
		}
		fmt.Println("ran on", d.Name(), len(want), "types,", time.Since(begin))
	}
}

// values makes a buffer and fills it, and check returns the sum of its values when the kernel has changed them.
func values[T any](ctx context.Context, s *hal.Stream, fill func(*T, func() uint64)) *buffer.Buffer[T] {
	b := must(buffer.New[T](n))
	r := uint64(1)
	next := func() uint64 {
		r ^= r << 13
		r ^= r >> 7
		r ^= r << 17
		return r
	}
	var first T
	fill(&first, next)
	check(b.FillOn(ctx, s, first)) // of any size, on the device
	if v := must(b.At(ctx, n-1)); sum(v) != sum(first) {
		fmt.Printf("FAILED: a fill with %v gives %v\n", first, v)
	}
	for i := range n {
		var v T
		fill(&v, next)
		check(b.Set(ctx, i, v))
	}
	return b
}

func sum(v any) string { return fmt.Sprint(v) }

func contents[T any](ctx context.Context, b *buffer.Buffer[T]) string {
	all := make([]T, n)
	check(b.CopyOut(ctx, all))
	return fmt.Sprint(all)
}

func must[T any](v T, err error) T { check(err); return v }

func check(err error) {
	if err != nil {
		panic(err)
	}
}
`

// built is the type itself, so that its offsets are Go's.
func (s *typeShape) built() reflect.Type {
	switch {
	case s.leaf != "":
		return basics[s.leaf]
	case s.elem != nil:
		return reflect.ArrayOf(s.length, s.elem.built())
	}
	var fields []reflect.StructField
	for i, f := range s.fields {
		fields = append(fields, reflect.StructField{Name: s.names[i], PkgPath: "p", Type: f.built()})
	}
	return reflect.StructOf(fields)
}

var basics = map[string]reflect.Type{"bool": reflect.TypeFor[bool](), "int8": reflect.TypeFor[int8](), "int16": reflect.TypeFor[int16](), "int32": reflect.TypeFor[int32](),
	"int64": reflect.TypeFor[int64](), "uint8": reflect.TypeFor[uint8](), "uint16": reflect.TypeFor[uint16](), "uint32": reflect.TypeFor[uint32](),
	"uint64": reflect.TypeFor[uint64](), "float32": reflect.TypeFor[float32](), "float64": reflect.TypeFor[float64](), "complex64": reflect.TypeFor[complex64](),
	"complex128": reflect.TypeFor[complex128]()}

// offsets returns declarations of C that a compiler refuses if a field is not where it is in Go.
func (s *typeShape) offsets(name string) string {
	text := fmt.Sprintf("typedef u8 at_%s[sizeof(T_%[1]s) == %d ? 1 : -1];\n", name, s.built().Size())
	var visit func(t reflect.Type, offset uintptr, place string)
	visit = func(t reflect.Type, offset uintptr, place string) {
		if place != "" {
			text += fmt.Sprintf("typedef u8 at_%s_%d[OFFSET(T_%[1]s, %[3]s) == %[4]d ? 1 : -1];\n", name, len(text), strings.TrimPrefix(place, "."), offset)
		}
		switch t.Kind() {
		case reflect.Array:
			for _, i := range []int{0, t.Len() - 1}[:min(2, t.Len())] {
				visit(t.Elem(), offset+uintptr(i)*t.Elem().Size(), fmt.Sprintf("%s.a[%d]", place, i))
			}
		case reflect.Struct:
			for i := range t.NumField() {
				if f := t.Field(i); f.Name != "_" {
					visit(f.Type, offset+f.Offset, place+".h_"+f.Name)
				}
			}
		}
	}
	visit(s.built(), 0, "")
	return text
}

const offsetMacro = "#ifdef HALYARD_CUDA\n#define OFFSET(T, m) __INTADDR__(&((T *)0)->m)\n#else\n#define OFFSET(T, m) __builtin_offsetof(T, m)\n#endif\n"

// Elements of random types have the same layout in Go and in C on every device: the compilers compare offsets and sizes, and kernels that use every number
// read and write the same values as on the host.
func TestElementsHaveOneLayout(t *testing.T) {
	t.Parallel()
	if strconv.IntSize == 32 {
		t.Skip("structures with numbers of 8 bytes may be laid out otherwise here, and are refused")
	}
	required := strings.Contains(os.Getenv("HALYARD_REQUIRE"), "opencl")
	all := cmp.Or(*randomTypes, 100)
	if *randomTypes == 0 && (required || strings.Contains(os.Getenv("HALYARD_REQUIRE"), "nvrtc")) {
		all = 1000
	}
	count := all
	if testing.Short() {
		count = min(count, 100)
	}
	w := &typeWriter{Rand: rand.New(rand.NewPCG(1, 3))}
	shapes, text := make([]*typeShape, count), ""
	var params []string
	for j := range shapes {
		shapes[j] = w.structure(3)
		text += fmt.Sprintf("type L%d %s\n\n", j, shapes[j])
		params = append(params, fmt.Sprintf("s%d []L%[1]d", j))
		if len(params) == 100 || j == count-1 {
			text += fmt.Sprintf("//halyard:kernel\nfunc n%d(t grid.Thread, %s) {}\n\n", j, strings.Join(params, ", "))
			params = nil
		}
	}
	imp, err := imports()
	require.NoError(t, err)
	declared, err := translatedWith(imp, head+text)
	require.NoError(t, err)
	var offsets strings.Builder
	offsets.WriteString(offsetMacro)
	for line := range strings.Lines(declared.C) {
		if strings.HasPrefix(line, "typedef") {
			offsets.WriteString(line)
		}
	}
	for j, s := range shapes {
		require.Nil(t, layout.Of(s.built()).Bad)
		offsets.WriteString(s.offsets(fmt.Sprintf("L%d", j)))
	}

	const each = 5             // a compiler takes longer for a large kernel than for several small ones
	valued := (count + 9) / 10 // Intel's compiler takes a fifth of a second for each
	var src, table strings.Builder
	src.WriteString(head)
	table.WriteString("package main\n\nimport (\n\t\"context\"\n\n\t\"github.com/go-halyard/halyard/buffer\"\n\t\"github.com/go-halyard/halyard/hal\"\n\t\"github.com/go-halyard/halyard/kernel\"\n)\n\nfunc run(ctx context.Context, dev *hal.Device, p *kernel.Program) (found []string) {\n\ts := must(dev.NewStream())\n")
	for first := 0; first < valued; first += each {
		k := first / each
		var params, args, byHand, body, closing strings.Builder
		for j := first; j < min(first+each, valued); j++ {
			s := shapes[j]
			fmt.Fprintf(&src, "type L%d %s\n\n", j, s)
			fmt.Fprintf(&params, "s%d []L%[1]d, ", j)
			hash := s.visit("p", 0, func(path, leaf string) string {
				switch leaf {
				case "bool":
					return fmt.Sprintf("h = h*31 + b(%s)\n%[1]s = !%[1]s", path)
				case "complex64", "complex128":
					return fmt.Sprintf("h = h*31 + f64(float64(real(%s)))*7 + f64(float64(imag(%[1]s)))\n%[1]s -= complex(0.5, 2)", path)
				case "float32", "float64":
					return fmt.Sprintf("h = h*31 + f%s(%s)\n%[2]s = %[2]s*0.5 + %s(i)", leaf[5:], path, leaf)
				}
				return fmt.Sprintf("h = h*31 + uint64(%s)\n%[1]s += %s(i + 1)", path, leaf)
			})
			fmt.Fprintf(&src, "func (p *L%d) use(i int) (h uint64) {\n%sreturn h\n}\n\n", j, hash)
			fill := s.visit("p", 0, func(path, leaf string) string {
				switch leaf {
				case "bool":
					return path + " = next()>>40&1 == 1"
				case "complex64", "complex128":
					return fmt.Sprintf("%s = %s(complex(float64(int32(next()>>20))/64, float64(int32(next()>>20))/32))", path, leaf)
				case "float32", "float64":
					return fmt.Sprintf("%s = %s(int32(next()>>20)) / 64", path, leaf)
				}
				return fmt.Sprintf("%s = %s(next() >> 8)", path, leaf)
			})
			// in turn through a pointer, and through a copy that is stored back
			if j%2 == 0 {
				fmt.Fprintf(&body, "\tsum = sum*31 + s%d[i].use(i)\n", j)
			} else {
				fmt.Fprintf(&body, "\tv%d := s%[1]d[i]\n\tsum = sum*31 + v%[1]d.use(i)\n\ts%[1]d[i] = v%[1]d\n\tif v%[1]d != s%[1]d[i] {\n\t\tsum++\n\t}\n", j)
			}
			fmt.Fprintf(&table, "\tb%d := values(ctx, s, func(p *L%[1]d, next func() uint64) {\n%s})\n", j, fill)
			fmt.Fprintf(&args, "b%d, ", j)
			fmt.Fprintf(&byHand, "kernel.InOut(b%d), kernel.Value(int64(n)), ", j)
			fmt.Fprintf(&closing, "\tfound = append(found, contents(ctx, b%d))\n\tcheck(b%[1]d.Close())\n", j)
		}
		fmt.Fprintf(&src, "//halyard:kernel\nfunc k%d(t grid.Thread, %ssums []uint64) {\n\tsum := uint64(7)\n\ti := t.Global(0)\n\tif i >= len(sums) {\n\t\treturn\n\t}\n%s\tsums[i] = sum\n}\n\n", k, params.String(), body.String())
		fmt.Fprintf(&table, "\tsums%d := must(buffer.New[uint64](n))\n\tif p == nil {\n\t\tcheck(K%[1]dOn(ctx, s, hal.Over(n).Of(4), %ssums%[1]d))\n\t} else {\n\t\tcheck(p.Kernel(\"k_k%[1]d\").Launch(ctx, s, hal.Over(n).Of(4), %[3]skernel.InOut(sums%[1]d), kernel.Value(int64(n))))\n\t}\n", k, args.String(), byHand.String())
		fmt.Fprintf(&table, "%s\tfound[len(found)-1] += contents(ctx, sums%d)\n\tcheck(sums%[2]d.Close())\n", closing.String(), k)
	}
	table.WriteString("\tcheck(s.Close())\n\treturn found\n}\n\n")
	dir := module(t, map[string]string{"kernels.go": src.String(), "main.go": layoutRunner, "table.go": table.String(), "offsets.c": offsets.String()})
	packages, err := Load(t.Context(), dir, ".")
	require.NoError(t, err)
	made, err := packages[0].Translate()
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(made.File, made.Go, 0o600))
	require.NoError(t, os.WriteFile(made.VulkanFile, made.Vulkan, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "kernels.c"), []byte(made.C), 0o600))
	build := exec.Command("go", "build", "-mod=mod", "-gcflags", plainly, "-ldflags", "-s -w", "-tags", "opencl cuda hip", "-o", "kernels", ".")
	build.Dir, build.Env = dir, append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	out = nil
	for _, args := range [][]string{{"compile"}, nil} {
		run := exec.Command("./kernels", args...)
		run.Dir, run.Env = dir, append(os.Environ(), "HALYARD_KERNEL_CACHE=off", "HALYARD_HOST_DEVICES=1")
		begin := time.Now()
		said, err := run.CombinedOutput()
		assert.NoError(t, err, "%s", said)
		out = append(out, said...)
		t.Log(args, time.Since(begin).Round(time.Millisecond))
	}
	require.NotContains(t, string(out), "FAILED")
	t.Log(string(out))
	ran := regexp.MustCompile(`ran on (\S+) (\d+) types`).FindAllStringSubmatch(string(out), -1)
	if len(ran) == 0 {
		if required {
			t.Fatal("HALYARD_REQUIRE asks for OpenCL, and there is no such device")
		}
		t.Skip("there is no OpenCL device to compare with")
	}
	for _, r := range ran {
		require.Equal(t, fmt.Sprint(valued), r[2], "types compared on %s", r[1])
	}
	t.Logf("did %d of %d random types, and the values of %d", count, all, valued)
}

// A byte of a bool is true unless it is 0, and kernels write 0 or 1, whatever another program has put there.
func TestBoolsOfAnyByte(t *testing.T) {
	t.Parallel()
	dir := module(t, map[string]string{"kernels.go": `package main

import "github.com/go-halyard/halyard/kernel/grid"

type flags struct {
	n  int32
	on [2]bool
}

func count(f flags) (n int32) {
	for _, on := range f.on {
		if on == true {
			n++
		}
	}
	return n
}

//halyard:kernel
func look(t grid.Thread, yes bool, x []bool, f []flags, sums []int32) {
	i := t.Global(0)
	if i >= len(sums) {
		return
	}
	other := flags{f[i].n, [2]bool{true, true}}
	sums[i] = count(f[i])
	if f[i] == other && yes {
		sums[i] += 10
	}
	if x[i] == yes {
		sums[i] += 100
	}
	x[i], f[i].on[1] = x[i], x[i] && yes
}
`, "main.go": `package main

import (
	"context"
	"fmt"

	_ "github.com/go-halyard/halyard/backends"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
)

func main() {
	ctx := context.Background()
	for _, d := range must(hal.Devices(ctx)) {
		if d.Backend != "opencl" && d.Backend != "vulkan" {
			continue
		}
		s := must(must(hal.Open(ctx, d.Name())).NewStream())
		x, f, sums := must(buffer.New[bool](3)), must(buffer.New[flags](3)), must(buffer.New[int32](3))
		for _, b := range []interface {
			Acquire(context.Context, *hal.Stream, coherence.Mode) (buffer.Lease, error)
		}{x, f} {
			l := must(b.Acquire(ctx, s, coherence.Overwrite))
			check(s.Fill(l.Region(), hal.Pattern8(2)))
			check(l.Release())
		}
		check(LookOn(ctx, s, hal.Over(3).Of(2), true, x, f, sums))
		raw := make([]byte, 27)
		l := must(x.Acquire(ctx, s, coherence.Read))
		check(s.CopyOut(raw[:3], l.Region()))
		check(l.Release())
		check(s.Sync(ctx))
		v := make([]int32, 3)
		check(sums.CopyOut(ctx, v))
		all := make([]flags, 3)
		check(f.CopyOut(ctx, all))
		fmt.Println(raw[:3], v, all[0].n, all[0].on[1])
	}
}

func must[T any](v T, err error) T { check(err); return v }

func check(err error) {
	if err != nil {
		panic(err)
	}
}
`})
	packages, err := Load(t.Context(), dir, ".")
	require.NoError(t, err)
	made, err := packages[0].Translate()
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(made.File, made.Go, 0o600))
	require.NoError(t, os.WriteFile(made.VulkanFile, made.Vulkan, 0o600))
	run := exec.Command("go", "run", "-mod=mod", "-gcflags", plainly, "-ldflags", "-s -w", "-tags", "opencl vulkan", ".")
	run.Dir, run.Env = dir, append(os.Environ(), "CGO_ENABLED=0", "HALYARD_KERNEL_CACHE=off")
	out, err := run.Output()
	require.NoError(t, err, "%s", out)
	if len(out) == 0 {
		t.Skip("there is no device of OpenCL or Vulkan")
	}
	for line := range strings.Lines(string(out)) {
		require.Equal(t, "[1 1 1] [112 112 112] 33686018 true\n", line)
	}
}
