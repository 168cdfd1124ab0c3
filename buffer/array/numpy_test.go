package array_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/buffer/array"
)

// python returns an interpreter that has NumPy: that of HALYARD_PYTHON, or python3.
func python(t *testing.T) string {
	t.Helper()
	name := os.Getenv("HALYARD_PYTHON")
	if name == "" {
		name = "python3"
	}
	if out, err := exec.Command(name, "-c", "import numpy").CombinedOutput(); err != nil {
		why := fmt.Sprintf("%s with NumPy is not there: %v %s", name, err, out)
		if slices.Contains(strings.FieldsFunc(os.Getenv("HALYARD_REQUIRE"), func(r rune) bool { return r == ',' || r == ' ' }), "numpy") {
			t.Fatal(why)
		}
		t.Skip(why)
	}
	return name
}

// script has the same numbers as the test: element k of an array, counted off row by row, is k-3 for signed and real
// types, k for unsigned ones, and k-3 with an imaginary part of 2k for complex ones.
const script = `
import os, sys
import numpy as np

folder = sys.argv[1]

def numbers(dtype, shape):
    n = int(np.prod(shape))
    k = np.arange(n)
    kind = np.dtype(dtype).kind
    v = k if kind == "u" else k - 3
    if kind == "c":
        v = v + 2j * k
    return v.astype(dtype).reshape(shape)

def save(name, a, version=None):
    with open(os.path.join(folder, "py-" + name + ".npy"), "wb") as f:
        np.lib.format.write_array(f, a, version=version)

for line in sys.stdin:
    name, dtype, shape, fortran = line.split()
    shape = tuple(int(e) for e in shape.split(",") if e)
    want = numbers(dtype, shape)
    got = np.load(os.path.join(folder, "go-" + name + ".npy"))
    assert got.dtype == want.dtype and got.dtype.isnative, (name, got.dtype)
    assert got.shape == want.shape, (name, got.shape)
    assert np.array_equal(got, want), (name, got)
    if len(shape) > 1:
        assert got.flags.f_contiguous == (fortran == "true"), name
    save(name + "-c", np.ascontiguousarray(want).reshape(shape))
    save(name + "-f", np.asfortranarray(want).reshape(shape, order="F") if shape else want)
    save(name + "-big", want.astype(want.dtype.newbyteorder(">")))
    save(name + "-v2", want, (2, 0))
    save(name + "-v3", want, (3, 0))
    print(name, flush=True)
`

// exchange writes arrays for NumPy to check, and returns what checks the arrays that NumPy wrote.
func exchange[T buffer.Element](t *testing.T, folder, dtype string, number func(k int) T, in *[]string) (check []func()) {
	for _, c := range []struct {
		name  string
		shape []int
		order array.Order
	}{
		{"scalar", nil, array.RowMajor},
		{"line", []int{5}, array.RowMajor},
		{"rows", []int{2, 3}, array.RowMajor},
		{"columns", []int{3, 2, 4}, array.ColumnMajor},
		{"deep", []int{1, 2, 1, 3, 1}, array.RowMajor},
	} {
		name := dtype + "-" + c.name
		n := product(c.shape)
		want := make([]T, n)
		for k := range want {
			want[k] = number(k)
		}
		a, err := array.NewIn[T](c.order, c.shape...)
		require.NoError(t, err)
		require.NoError(t, a.Overwrite(ctx, func(g array.Accessor[T]) error { return put(g, want) }))
		var file bytes.Buffer
		_, err = a.WriteNPY(ctx, &file)
		require.NoError(t, err)
		require.NoError(t, a.Close())
		require.NoError(t, os.WriteFile(filepath.Join(folder, "go-"+name+".npy"), file.Bytes(), 0o600))
		*in = append(*in, fmt.Sprintf("%s %s ,%s %v", name, dtype, strings.Trim(strings.ReplaceAll(fmt.Sprint(c.shape), " ", ","), "[]"), c.order == array.ColumnMajor))
		check = append(check, func() {
			for _, kind := range []string{"c", "f", "big", "v2", "v3"} {
				raw, err := os.ReadFile(filepath.Join(folder, "py-"+name+"-"+kind+".npy"))
				require.NoError(t, err)
				a, err := array.ReadNPY[T](bytes.NewReader(raw))
				require.NoError(t, err, "%s %s", name, kind)
				require.True(t, slices.Equal(c.shape, a.Shape()), "%s %s: %v", name, kind, a.Shape())
				got, err := a.Values(ctx)
				require.NoError(t, err)
				require.Equal(t, want, got, "%s %s", name, kind)
				if kind == "f" {
					require.True(t, a.IsContiguous(array.ColumnMajor), "%s", name)
				}
				require.NoError(t, a.Close())
			}
		})
	}
	return check
}

func TestNumPyReadsAndWritesTheSame(t *testing.T) {
	interpreter, folder := python(t), t.TempDir()
	var in []string
	var checks []func()
	add := func(c []func()) { checks = append(checks, c...) }
	add(exchange(t, folder, "int8", func(k int) int8 { return int8(k - 3) }, &in))
	add(exchange(t, folder, "int16", func(k int) int16 { return int16(k - 3) }, &in))
	add(exchange(t, folder, "int32", func(k int) int32 { return int32(k - 3) }, &in))
	add(exchange(t, folder, "int64", func(k int) int64 { return int64(k - 3) }, &in))
	add(exchange(t, folder, "uint8", func(k int) uint8 { return uint8(k) }, &in))
	add(exchange(t, folder, "uint16", func(k int) uint16 { return uint16(k) }, &in))
	add(exchange(t, folder, "uint32", func(k int) uint32 { return uint32(k) }, &in))
	add(exchange(t, folder, "uint64", func(k int) uint64 { return uint64(k) }, &in))
	add(exchange(t, folder, "float32", func(k int) float32 { return float32(k - 3) }, &in))
	add(exchange(t, folder, "float64", func(k int) float64 { return float64(k - 3) }, &in))
	add(exchange(t, folder, "complex64", func(k int) complex64 { return complex(float32(k-3), float32(2*k)) }, &in))
	add(exchange(t, folder, "complex128", func(k int) complex128 { return complex(float64(k-3), float64(2*k)) }, &in))

	cmd := exec.Command(interpreter, "-W", "ignore", "-c", script, folder)
	cmd.Stdin = strings.NewReader(strings.Join(in, "\n"))
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Len(t, strings.Fields(string(out)), len(in), "arrays that NumPy has checked")
	for _, check := range checks {
		check()
	}
}
