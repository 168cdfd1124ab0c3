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
)

const goKernel = `package k

import "github.com/go-halyard/halyard/kernel/grid"

//halyard:kernel
func double(t grid.Thread, x []int32) {
	if i := t.Global(0); i < len(x) {
		x[i] *= 2
	}
}
`

// The command writes a file, finds out when it is stale, and names what it cannot translate.
func TestKernels(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("no go command to read packages with")
	}
	dir, err := os.MkdirTemp(".", "_kernels-") // in this module, so that it finds what it imports, and in no pattern of the go command
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, os.RemoveAll(dir)) })
	source, generated := filepath.Join(dir, "k.go"), filepath.Join(dir, "k_kernels.go")
	write := func(text string) { require.NoError(t, os.WriteFile(source, []byte(text), 0o600)) }
	halyard := func(args ...string) (int, string) {
		var out, failure bytes.Buffer
		code := run(t.Context(), append([]string{"kernels"}, args...), &out, &failure)
		return code, out.String() + failure.String()
	}
	here := "./" + filepath.Base(dir)

	write(goKernel)
	code, out := halyard("--check", here)
	assert.Equal(t, exitFailed, code)
	assert.Contains(t, out, generated+" does not exist")
	code, out = halyard(here)
	assert.Equal(t, exitPassed, code, out)
	assert.Contains(t, out, "wrote "+generated)
	code, out = halyard("--check", here)
	assert.Equal(t, exitPassed, code, out)
	assert.Empty(t, out)

	write(strings.Replace(goKernel, "*= 2", "*= 3", 1))
	before, err := os.ReadFile(generated)
	require.NoError(t, err)
	code, out = halyard("--check", here)
	assert.Equal(t, exitFailed, code)
	assert.Contains(t, out, generated+" is out of date")
	code, out = halyard("--print", here)
	assert.Equal(t, exitPassed, code)
	assert.Contains(t, out, "KERNEL void k_double(GLOBAL i32 *h_x, i64 h_x_n GO_FAULTS) {")
	after, err := os.ReadFile(generated)
	require.NoError(t, err)
	assert.Equal(t, before, after, "--check and --print write nothing")

	write(strings.Replace(goKernel, "x[i] *= 2", "panic(1)", 1))
	code, out = halyard(here)
	assert.Equal(t, exitFailed, code)
	assert.Contains(t, out, source+":8:3: panic has no translation; write an error code into a buffer")

	write("package k\n")
	code, out = halyard("--check", here)
	assert.Equal(t, exitFailed, code)
	assert.Contains(t, out, generated+" belongs to no kernel")
	code, out = halyard(here)
	assert.Equal(t, exitPassed, code, out)
	assert.Contains(t, out, "removed "+generated)
	assert.NoFileExists(t, generated)
	code, out = halyard(here)
	assert.Equal(t, exitFailed, code)
	assert.Contains(t, out, "no function is marked //halyard:kernel")

	code, out = halyard("--check", "--print", here)
	assert.Equal(t, exitUsage, code, out)
	code, out = halyard("--ptx", "sm_70", here)
	assert.Equal(t, exitUsage, code, out)
	code, out = halyard("../../hal")
	assert.Equal(t, exitFailed, code)
	assert.Contains(t, out, "no function is marked //halyard:kernel")
}
