//go:build cuda && linux

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/testing/cudahiptest"
)

const ptxProgram = `package main

import (
	"context"
	"fmt"

	_ "github.com/go-halyard/halyard/backends"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/kernel/grid"
)

//halyard:kernel
func double(t grid.Thread, x []int32) {
	if i := t.Global(0); i < len(x) {
		x[i] *= 2
	}
}

func main() {
	ctx := context.Background()
	dev, err := hal.Open(ctx, "cuda:0")
	check(err)
	s, err := dev.NewStream()
	check(err)
	x, err := buffer.From([]int32{1, 2, 21})
	check(err)
	check(DoubleOn(ctx, s, hal.Over(3), x))
	fmt.Println(x.At(ctx, 2))
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
`

// alignedProgram runs kernels that read neighbouring numbers, on a buffer and on views of it that begin at addresses of all kinds.
const alignedProgram = `package main

import (
	"context"
	"fmt"

	_ "github.com/go-halyard/halyard/backends"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/kernel/grid"
)

//halyard:kernel
func fours(t grid.Thread, x, sums []int32) {
	if i := t.Global(0); i < len(sums) {
		sum := int32(0)
		for k := 0; k < len(x); k += 4 {
			sum = 3*sum + x[k] + 5*x[k+1] + 7*x[k+2] - int32(i)*x[k+3]
		}
		sums[i] = sum
	}
}

//halyard:kernel
func sixes(t grid.Thread, x [][6]int32, sums []int32) {
	if i := t.Global(0); i < len(sums) {
		sum := int32(0)
		for k := range x {
			for d, v := range x[i%len(x)] {
				sum = 3*sum + (v-x[k][d])*(v-x[k][d])
			}
		}
		sums[i] = sum
	}
}

func main() {
	ctx := context.Background()
	dev, err := hal.Open(ctx, "cuda:0")
	check(err)
	s, err := dev.NewStream()
	check(err)
	flat, rows := make([]int32, 4*12), make([][6]int32, 12)
	for i := range flat {
		flat[i], rows[i/6%12][i%6] = int32(i*i), int32(i*7%23)
	}
	x, err := buffer.From(flat)
	check(err)
	y, err := buffer.From(rows)
	check(err)
	sums, err := buffer.From(make([]int32, 5))
	check(err)
	for from := range 5 {
		part, err := x.Slice(from, from+40)
		check(err)
		check(FoursOn(ctx, s, hal.Over(5), part, sums))
		check(sums.View(ctx, func(got []int32) error {
			for i, got := range got {
				sum := int32(0)
				for k := from; k < from+40; k += 4 {
					sum = 3*sum + flat[k] + 5*flat[k+1] + 7*flat[k+2] - int32(i)*flat[k+3]
				}
				fmt.Print(got == sum, " ")
			}
			return nil
		}))
		some, err := y.Slice(from, from+6)
		check(err)
		check(SixesOn(ctx, s, hal.Over(5), some, sums))
		check(sums.View(ctx, func(got []int32) error {
			for i, got := range got {
				sum := int32(0)
				for k := from; k < from+6; k++ {
					for d, v := range rows[from+i] {
						sum = 3*sum + (v-rows[k][d])*(v-rows[k][d])
					}
				}
				fmt.Print(got == sum, " ")
			}
			return nil
		}))
	}
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
`

// A program with PTX in it needs NVIDIA's driver, and no compiler.
func TestKernelsWithPTX(t *testing.T) {
	text, said := runPTX(t, ptxProgram)
	assert.Contains(t, text, ".target sm_70")
	assert.Equal(t, "42 <nil>\n", said)
}

// Kernels load several numbers at once only where the address allows it. The simulated device refuses other addresses, as NVIDIA's do.
func TestViewsThatAreNotAligned(t *testing.T) {
	text, said := runPTX(t, alignedProgram)
	for _, kernel := range []string{"k_fours", "k_sixes"} {
		_, body, _ := strings.Cut(text, ".entry "+kernel+"(")
		body, _, _ = strings.Cut(body, "\n}")
		assert.Contains(t, body, "ld.global.v", kernel)
	}
	assert.Equal(t, strings.Repeat("true ", 50), said)
}

// runPTX writes the kernels of a program with PTX in them, and runs the program on a simulated device. It returns the generated text, and what the program writes.
func runPTX(t *testing.T, source string) (text, said string) {
	t.Helper()
	_, err := hal.CompileFor(t.Context(), "compute_70", hal.Source{Text: "extern \"C\" __global__ void f() {}"})
	if err != nil && !strings.Contains(os.Getenv("HALYARD_REQUIRE"), "nvrtc") {
		t.Skip(err)
	}
	require.NoError(t, err)
	driver, _ := cudahiptest.Libraries(t, "cuda")
	dir, err := os.MkdirTemp(".", "_kernels-")
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, os.RemoveAll(dir)) })
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main.go"), []byte(source), 0o600))
	var out, failure bytes.Buffer
	require.Equal(t, exitPassed, run(t.Context(), []string{"kernels", "--ptx", "compute_70", "./" + filepath.Base(dir)}, &out, &failure), "%s%s", &out, &failure)
	generated, err := os.ReadFile(filepath.Join(dir, "main_kernels.go"))
	require.NoError(t, err)
	program := filepath.Join(t.TempDir(), "program")
	build := exec.Command("go", "build", "-tags", "cuda", "-o", program, "./"+filepath.Base(dir))
	output, err := build.CombinedOutput()
	require.NoError(t, err, "%s", output)
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), "HALYARD_CUDA_LIBRARY="+driver, "HALYARD_NVRTC_LIBRARY=/nonexistent", "HALYARD_KERNEL_CACHE=off")
	output, err = cmd.CombinedOutput()
	require.NoError(t, err, "%s", output)
	return string(generated), string(output)
}
