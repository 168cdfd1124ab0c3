package translate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// batchRunner is the program that runs the kernels of a batch. One process runs them on the host and stores the results. For each device another
// process compares with these, because compilers that load LLVM interfere with each other in one process, and a crash ends only its own process.
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
)

type launch = func(context.Context, *hal.Stream, hal.Grid, int64, *buffer.Buffer[uint32], *buffer.Buffer[float32], *buffer.Buffer[uint64], *buffer.Buffer[int32]) error

const n, block = 48, 16

// result is what a kernel wrote, or how it failed.
type result struct {
	Y     []uint64
	Z     []int32
	Error string
}

func main() {
	ctx := context.Background()
	switch os.Args[1] {
	case "devices":
		for _, d := range must(hal.Devices(ctx)) {
			if d.Backend == "opencl" {
				fmt.Println("DEVICE", d.Name())
			}
		}
	case "host":
		s := must(must(hal.Open(ctx, "host:0")).NewStream())
		var all []result
		for k, l := range launches {
			all = append(all, run(ctx, seeds[k], func(x *buffer.Buffer[uint32], f *buffer.Buffer[float32], y *buffer.Buffer[uint64], z *buffer.Buffer[int32]) error {
				return l(ctx, s, hal.Over(n).Of(block), int64(seeds[k]), x, f, y, z)
			}))
			if all[k].Error != "" { // the stream keeps the error
				fmt.Printf("HOST %d %s\n", k, all[k].Error)
				s = must(must(hal.Open(ctx, "host:0")).NewStream())
			}
		}
		check(gob.NewEncoder(must(os.Create("host.gob"))).Encode(all))
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
			check(os.WriteFile(fmt.Sprintf("%s/%d.%s", dir, seeds[0], os.Args[2]), img.Data, 0o600))
		}
		fmt.Println("COMPILED")
	case "device": // device, file, kernels
		var want []result
		check(gob.NewDecoder(must(os.Open("host.gob"))).Decode(&want))
		dev := must(hal.Open(ctx, os.Args[2]))
		c := string(must(os.ReadFile(os.Args[3])))
		p := kernel.New(kernel.Source{Name: "kernels", Portable: c})
		if err := p.Load(ctx, dev); err != nil {
			fmt.Println("REFUSED", err)
			return
		}
		s := must(dev.NewStream())
		for _, word := range os.Args[4:] {
			k := must(strconv.Atoi(word))
			if want[k].Error != "" {
				continue
			}
			fmt.Printf("BEGIN %d\n", k)
			_, head, _ := strings.Cut(c, "KERNEL void "+names[k]+"(")
			head, _, _ = strings.Cut(head, "{")
			y, z := kernel.InOut, kernel.InOut
			if strings.Contains(head, "const GLOBAL u64") {
				y = kernel.In
			}
			if strings.Contains(head, "const GLOBAL i32") {
				z = kernel.In
			}
			got := run(ctx, seeds[k], func(xs *buffer.Buffer[uint32], fs *buffer.Buffer[float32], ys *buffer.Buffer[uint64], zs *buffer.Buffer[int32]) error {
				return p.Kernel(names[k]).Launch(ctx, s, hal.Over(n).Of(block), kernel.Value(int64(seeds[k])), kernel.In(xs), kernel.Value(int64(n)), kernel.In(fs), kernel.Value(int64(n)),
					y(ys), kernel.Value(int64(n)), z(zs), kernel.Value(int64(n-5)))
			})
			if got.Error != "" {
				fmt.Printf("DIFFERS %d fails on %s: %s\n", k, dev.Name(), got.Error)
				continue
			}
			for i := range got.Y {
				j := min(i, len(got.Z)-1)
				if got.Y[i] != want[k].Y[i] || got.Z[j] != want[k].Z[j] {
					fmt.Printf("DIFFERS %d writes y[%d] = %#x and z[%d] = %d on %s, %#x and %d on the host\n", k, i, got.Y[i], j, got.Z[j], dev.Name(), want[k].Y[i], want[k].Z[j])
					break
				}
			}
		}
		fmt.Println("DONE")
	}
}

// run launches a kernel with the inputs that belong to its seed.
func run(ctx context.Context, seed uint64, launch func(*buffer.Buffer[uint32], *buffer.Buffer[float32], *buffer.Buffer[uint64], *buffer.Buffer[int32]) error) result {
	x, f, y, z := must(buffer.New[uint32](n)), must(buffer.New[float32](n)), must(buffer.New[uint64](n)), must(buffer.New[int32](n-5))
	defer func() { hal.CloseAll(x, f, y, z) }()
	xs := []uint32{0, 1, 2, 3, 7, 31, 32, 33, 63, 64, 65, 127, 128, 255, 256, 65535, 65536, 1<<31 - 1, 1 << 31, 1<<31 + 1, 1<<32 - 1, 1<<32 - 2}
	fs := []float32{0, 1, -1, 0.5, 1.5, -1.5, 2.5, 3e9, -3e9, 5e9, 1e19, -1e19, 1e20, 300, -300, 1e-40, 1e-45, math.MaxFloat32, float32(math.Inf(1)), float32(math.Inf(-1)),
		float32(math.NaN()), float32(math.Copysign(0, -1)), 3.1415927, 65535.9, 2147483520, 1e10}
	r := (seed+1)*0x9e3779b97f4a7c15 | 1
	next := func() uint64 {
		r ^= r << 13
		r ^= r >> 7
		r ^= r << 17
		return r
	}
	for len(xs) < n {
		xs = append(xs, uint32(next()))
	}
	for len(fs) < n {
		fs = append(fs, float32(int32(next()))/65536)
	}
	got := result{make([]uint64, n), make([]int32, n-5), ""}
	check(x.CopyIn(ctx, xs))
	check(f.CopyIn(ctx, fs))
	check(y.CopyIn(ctx, got.Y))
	check(z.CopyIn(ctx, got.Z))
	err := launch(x, f, y, z)
	if err == nil {
		err = y.CopyOut(ctx, got.Y)
	}
	if err == nil {
		err = z.CopyOut(ctx, got.Z)
	}
	if err != nil {
		got.Error = err.Error()
	}
	return got
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
var ids = regexp.MustCompile(`\b(k|g|m|rec|inner|h)0(_|\b)`)

func (k text) numbered(id int) string {
	return ids.ReplaceAllString(k.src, fmt.Sprintf("${1}%d${2}", id))
}

// batch has the folder in which batches are built, one after the other.
type batch struct {
	dir     string
	devices []string                 // of OpenCL; known once something was built
	spent   map[string]time.Duration // by each kind of program
	plant   func(c string) string    // makes a mistake in the translation, if it is not nil
}

func newBatch(t *testing.T) *batch {
	return &batch{dir: module(t, map[string]string{"main.go": batchRunner}), spent: map[string]time.Duration{}}
}

// program runs the program that was built, and returns the lines of its output.
func (b *batch) program(ctx context.Context, args ...string) []string {
	begin := time.Now()
	defer func() { b.spent[strings.Join(args[:min(2, len(args))], " ")] += time.Since(begin) }()
	run := exec.CommandContext(ctx, "./kernels", args...)
	run.Dir, run.Env = b.dir, append(os.Environ(), "HALYARD_KERNEL_CACHE=off", "HALYARD_HOST_DEVICES=1")
	out, err := run.CombinedOutput()
	if err != nil {
		out = append(out, "\nCRASHED "+err.Error()...)
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

// translateTexts translates kernels in one package.
func translateTexts(kernels []text, which []int) (src string, made *Output, err error) {
	imp, err := imports()
	if err != nil {
		return "", nil, err
	}
	var s strings.Builder
	s.WriteString(head)
	for _, k := range which {
		s.WriteString(kernels[k].numbered(k))
	}
	made, err = translatedWith(imp, s.String())
	return s.String(), made, err
}

func (b *batch) build(ctx context.Context, kernels []text) error {
	all := make([]int, len(kernels))
	var launches, names, seeds strings.Builder
	for k := range kernels {
		all[k] = k
		fmt.Fprintf(&launches, "K%d, ", k)
		fmt.Fprintf(&names, "\"k%d\", ", k)
		fmt.Fprintf(&seeds, "%d, ", kernels[k].seed)
	}
	src, made, err := translateTexts(kernels, all)
	if err != nil {
		return fmt.Errorf("no translation: %w", err)
	}
	for name, content := range map[string]string{"kernels.go": src, "main_kernels.go": string(made.Go),
		"table.go": fmt.Sprintf("package main\n\nvar launches = []launch{%s}\n\nvar names = []string{%s}\n\nvar seeds = []uint64{%s}\n", &launches, &names, &seeds)} {
		if err := os.WriteFile(filepath.Join(b.dir, name), []byte(content), 0o600); err != nil {
			return err
		}
	}
	build := exec.CommandContext(ctx, "go", "build", "-mod=mod", "-tags", "opencl cuda hip", "-ldflags", "-s -w", "-o", "kernels", ".")
	build.Dir, build.Env = b.dir, append(os.Environ(), "CGO_ENABLED=0")
	begin := time.Now()
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w: %s", err, out)
	}
	b.spent["go build"] += time.Since(begin)
	return nil
}

// found is what a batch found about a kernel: that it failed on the host, was refused by a compiler, or differed. Each is empty if
// it did not happen.
type found struct{ host, refused, differs string }

// run builds kernels and runs them on the host. Then each kernel is compared on the devices that on gives for its number.
func (b *batch) run(ctx context.Context, kernels []text, on func(k int) []string) ([]found, error) {
	if err := b.build(ctx, kernels); err != nil {
		return nil, err
	}
	if b.devices == nil {
		b.devices = []string{}
		for _, line := range b.program(ctx, "devices") {
			if name, ok := strings.CutPrefix(line, "DEVICE "); ok {
				b.devices = append(b.devices, name)
			}
		}
	}
	all := make([]found, len(kernels))
	for _, line := range b.program(ctx, "host") {
		var k int
		if n, _ := fmt.Sscanf(line, "HOST %d", &k); n == 1 {
			all[k].host = line
		} else if line != "" {
			return nil, fmt.Errorf("the host: %s", line)
		}
	}
	byDevice := map[string][]int{}
	for k := range kernels {
		if all[k].host == "" {
			for _, d := range on(k) {
				byDevice[d] = append(byDevice[d], k)
			}
		}
	}
	for d, list := range byDevice {
		if err := b.device(ctx, d, kernels, list, all); err != nil {
			return nil, err
		}
	}
	return all, nil
}

var errNoCompiler = errors.New("the compiler is not there")

// device runs kernels on a device, or compiles them for an architecture. If the compiler crashes or refuses the whole list, device tries each half.
// Without a compiler for the architecture the error is errNoCompiler.
func (b *batch) device(ctx context.Context, d string, kernels []text, list []int, all []found) error {
	if len(list) == 0 {
		return nil
	}
	_, made, err := translateTexts(kernels, list)
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
	args := []string{"compile", d, file}
	if strings.Contains(d, ":") {
		args[0] = "device"
		for _, k := range list {
			args = append(args, fmt.Sprint(k))
		}
	}
	said := b.program(ctx, args...)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	last := said[len(said)-1]
	if reason, missing := strings.CutPrefix(last, "MISSING "); missing {
		return fmt.Errorf("%w: %s", errNoCompiler, reason)
	}
	for _, line := range said {
		var k int
		if n, _ := fmt.Sscanf(line, "DIFFERS %d", &k); n == 1 {
			all[k].differs = line
		}
	}
	if last == "DONE" || last == "COMPILED" {
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
	if err := b.device(ctx, d, kernels, list[:len(list)/2], all); err != nil {
		return err
	}
	return b.device(ctx, d, kernels, list[len(list)/2:], all)
}
