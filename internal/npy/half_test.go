package npy_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/npy"
	"github.com/go-halyard/halyard/kernel/half"
)

// Numbers of 16 bits are NumPy's float16, in both byte orders; NumPy has no bfloat16, and the error says what to write.
func TestHalfPrecision(t *testing.T) {
	want := []half.Float16{half.ToFloat16(1.5), half.ToFloat16(-2), half.ToFloat16(65504), half.ToFloat16(6e-8)}
	text, err := npy.Append(nil, false, []int{4}, want)
	require.NoError(t, err)
	h, got, err := npy.Decode[half.Float16](text)
	require.NoError(t, err)
	require.Equal(t, npy.Type{Kind: 'f', Size: 2}, h.Type)
	require.Equal(t, want, got)
	_, _, err = npy.Decode[uint16](text)
	require.ErrorIs(t, err, hal.ErrInvalidArgument)

	_, err = npy.Append(nil, false, []int{1}, []half.BFloat16{{}})
	require.ErrorIs(t, err, hal.ErrUnsupported)
	require.ErrorContains(t, err, "NumPy has no type for a half.BFloat16; write its bits as uint16, or convert to float32")

	python := os.Getenv("HALYARD_PYTHON")
	if python == "" {
		t.Skip("HALYARD_PYTHON names no interpreter with NumPy")
	}
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.npy"), text, 0o600))
	cmd := exec.Command(python, "-c", `import numpy as np
x = np.load("go.npy")
assert x.dtype == np.float16 and x.tolist() == [1.5, -2, 65504, 2**-24], x
np.save("little.npy", x)
np.save("big.npy", x.astype(">f2"))`)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	for _, name := range []string{"little.npy", "big.npy"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		h, err := npy.ReadHeader(bytes.NewReader(text))
		require.NoError(t, err)
		require.Equal(t, name == "big.npy", h.BigEndian)
		_, got, err := npy.Decode[half.Float16](text)
		require.NoError(t, err)
		require.Equal(t, want, got, name)
	}
}
