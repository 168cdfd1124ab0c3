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

// A program with PTX in it needs NVIDIA's driver, and no compiler.
func TestKernelsWithPTX(t *testing.T) {
	_, err := hal.CompileFor(t.Context(), "compute_70", hal.Source{Text: "extern \"C\" __global__ void f() {}"})
	if err != nil && !strings.Contains(os.Getenv("HALYARD_REQUIRE"), "nvrtc") {
		t.Skip(err)
	}
	require.NoError(t, err)
	driver, _ := cudahiptest.Libraries(t, "cuda")
	dir, err := os.MkdirTemp(".", "_kernels-")
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, os.RemoveAll(dir)) })
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main.go"), []byte(ptxProgram), 0o600))
	var out, failure bytes.Buffer
	require.Equal(t, exitPassed, run(t.Context(), []string{"kernels", "--ptx", "compute_70", "./" + filepath.Base(dir)}, &out, &failure), "%s%s", &out, &failure)
	text, err := os.ReadFile(filepath.Join(dir, "main_kernels.go"))
	require.NoError(t, err)
	assert.Contains(t, string(text), ".target sm_70")
	program := filepath.Join(t.TempDir(), "program")
	build := exec.Command("go", "build", "-tags", "cuda", "-o", program, "./"+filepath.Base(dir))
	said, err := build.CombinedOutput()
	require.NoError(t, err, "%s", said)
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), "HALYARD_CUDA_LIBRARY="+driver, "HALYARD_NVRTC_LIBRARY=/nonexistent", "HALYARD_KERNEL_CACHE=off")
	said, err = cmd.CombinedOutput()
	require.NoError(t, err, "%s", said)
	assert.Equal(t, "42 <nil>\n", string(said))
}
