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
	assert.Contains(t, out, "wrote "+strings.TrimSuffix(generated, ".go")+"_vulkan.go")
	code, out = halyard("--check", here)
	assert.Equal(t, exitPassed, code, out)
	assert.Empty(t, out)
	code, out = halyard("-v", here)
	assert.Equal(t, exitPassed, code, out)
	assert.Contains(t, out, source+":6:1: a launch of double can be cut along t.Global(0)\n\tx: reads and writes element i\n")

	assert.NotContains(t, out, "is fast")
	const isFast = ":6:1: double is fast: devices may fuse products with sums, and approximate quotients and roots of float32\n"
	t.Setenv(envFast, "yes")
	code, out = halyard(here)
	assert.Equal(t, exitUsage, code)
	assert.Contains(t, out, "HALYARD_FAST=yes: write 1")
	t.Setenv(envFast, "1")
	code, out = halyard("-v", here)
	assert.Equal(t, exitPassed, code, out)
	assert.Contains(t, out, source+isFast)
	t.Setenv(envFast, "")
	write(strings.Replace(goKernel, "kernel\n", "kernel fast\n", 1))
	code, out = halyard("-v", here)
	assert.Equal(t, exitPassed, code, out)
	assert.Contains(t, out, source+isFast)

	write(strings.Replace(goKernel, "*= 2", "*= 3", 1))
	before, err := os.ReadFile(generated)
	require.NoError(t, err)
	code, out = halyard("--check", here)
	assert.Equal(t, exitFailed, code)
	assert.Contains(t, out, generated+" is out of date")
	assert.Contains(t, out, strings.TrimSuffix(generated, ".go")+"_vulkan.go is out of date")
	code, out = halyard("--print", here)
	assert.Equal(t, exitPassed, code)
	assert.Contains(t, out, "KERNEL void k_double(GLOBAL i32 *h_x, i64 h_x_n GO_FAULTS) {")
	code, out = halyard("--print=spirv", here)
	assert.Equal(t, exitPassed, code)
	assert.Regexp(t, `^; kernel double\n(?s:.*)OpEntryPoint 5 %\d+ "k_double"`, out)
	code, out = halyard("--ir", here)
	assert.Equal(t, exitPassed, code)
	assert.Contains(t, out, "kernel double(x []global i32) {\n")
	code, out = halyard("--ir", "--check", here)
	assert.Equal(t, exitUsage, code, out)
	code, out = halyard("--print=ptx", here)
	assert.Equal(t, exitUsage, code)
	assert.Contains(t, out, "--print=ptx: write c or spirv")
	after, err := os.ReadFile(generated)
	require.NoError(t, err)
	assert.Equal(t, before, after, "--check, --print and --ir write nothing")

	write(strings.Replace(goKernel, "x[i] *= 2", "panic(1)", 1))
	code, out = halyard("--ir", here)
	assert.Equal(t, exitFailed, code)
	assert.Contains(t, out, "panic has no translation")
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

// A kernel with vectors has a second file. It is told when it is stale, and goes when no kernel has vectors.
func TestFileWithVectors(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("no go command to read packages with")
	}
	dir := t.TempDir()
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	sum, err := os.ReadFile(filepath.Join(root, "go.sum"))
	require.NoError(t, err)
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	require.NoError(t, err)
	text := strings.Replace(string(mod), "module github.com/go-halyard/halyard", "module example.org/p", 1) +
		"\nrequire github.com/go-halyard/halyard v0.0.0\n\nreplace github.com/go-halyard/halyard => " + root + "\n"
	write := func(name, content string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
	}
	write("go.sum", string(sum))
	write("go.mod", text)
	kernel := func(index string) {
		write("p.go", "package p\n\nimport \"github.com/go-halyard/halyard/kernel/grid\"\n\n//halyard:kernel\nfunc twice(t grid.Thread, x, y []float32) {\n\ti := t.Global(0)\n\ty["+index+"] = x[i] + x[i]\n}\n")
	}
	t.Chdir(dir)
	t.Setenv("GOFLAGS", "-mod=mod")
	t.Setenv("GOWORK", "off")
	call := func(o kernelsOptions) (string, error) {
		var out bytes.Buffer
		err := o.run(t.Context(), &out, nil)
		return out.String(), err
	}
	kernel("i")
	out, err := call(kernelsOptions{verbose: true})
	require.NoError(t, err)
	assert.Contains(t, out, "wrote p_kernels_simd.go\n")
	assert.Contains(t, out, "p.go:6:1: twice runs as vectors on the host")
	out, err = call(kernelsOptions{check: true})
	require.NoError(t, err, out)
	write("p_kernels_simd.go", "// Code generated by halyard kernels; DO NOT EDIT.\n\n//go:build go1.27\n\npackage p\n")
	out, err = call(kernelsOptions{check: true})
	require.Error(t, err)
	assert.Contains(t, out, "p_kernels_simd.go is out of date; run halyard kernels\n")
	kernel("i / 2")
	out, err = call(kernelsOptions{check: true})
	require.Error(t, err)
	assert.Contains(t, out, "p_kernels_simd.go belongs to no kernel; run halyard kernels, which removes it\n")
	out, err = call(kernelsOptions{verbose: true})
	require.NoError(t, err)
	assert.Contains(t, out, "removed p_kernels_simd.go\n")
	assert.Contains(t, out, "p.go:8:4: twice runs thread by thread on the host: the stores of the threads are not to neighbours")
	assert.NoFileExists(t, "p_kernels_simd.go")
}
