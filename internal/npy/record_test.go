package npy_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/npy"
	"github.com/go-halyard/halyard/kernel/half"
)

type body struct {
	Mass  float64
	Kind  uint8
	At    [2][3]float32
	Inner struct {
		Z complex64
		H half.Float16
	}
	_ [3]int32 // as padding
	N [1]int16
}

// Structures are NumPy's records, with the same bytes in both. Names of fields may differ in case.
func TestRecords(t *testing.T) {
	want := []body{{Mass: 1.5, Kind: 7, At: [2][3]float32{{1, 2, 3}, {4, 5, 6}}, N: [1]int16{-9}}, {Mass: -2}}
	want[1].Inner.Z, want[1].Inner.H = 3-4i, half.ToFloat16(0.5)
	text, err := npy.Append(nil, false, []int{2}, want)
	require.NoError(t, err)
	h, got, err := npy.Decode[body](text)
	require.NoError(t, err)
	require.Equal(t, want, got)
	require.Equal(t, "[('Mass', '<f8'), ('Kind', '|u1'), ('', '|V3'), ('At', '<f4', (2,3,)), "+
		"('Inner', [('Z', '<c8'), ('H', '<f2'), ('', '|V2')]), ('', '|V12'), ('N', '<i2', (1,)), ('', '|V2')]", h.Type.String())
	_, _, err = npy.Decode[[2]float64](text)
	require.ErrorIs(t, err, hal.ErrUnsupported)
	type other struct {
		X    float64
		Rest [10]float64
	}
	_, _, err = npy.Decode[other](text)
	require.ErrorIs(t, err, hal.ErrInvalidArgument)

	python := os.Getenv("HALYARD_PYTHON")
	if python == "" {
		t.Skip("HALYARD_PYTHON names no interpreter with NumPy")
	}
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.npy"), text, 0o600))
	cmd := exec.Command(python, "-c", `import numpy as np
x = np.load("go.npy")
assert x["Mass"].tolist() == [1.5, -2] and x["Kind"][0] == 7, x
assert x["At"][0].tolist() == [[1, 2, 3], [4, 5, 6]] and x["N"][0].tolist() == [-9], x
assert x["Inner"]["Z"][1] == 3-4j and x["Inner"]["H"][1] == 0.5 and x.dtype.itemsize == 64, x
np.save("again.npy", x)
y = np.zeros((2, 1), np.dtype([("n", "i4"), ("ok", "?"), ("x", "f8")], align=True))
y["n"], y["ok"], y["x"] = 5, True, 2.5
np.save("aligned.npy", y)
np.save("big.npy", y.astype(y.dtype.newbyteorder(">")))`)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	read := func(name string) []byte {
		text, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		return text
	}
	_, got, err = npy.Decode[body](read("again.npy"))
	require.NoError(t, err)
	require.Equal(t, want, got)
	type aligned struct {
		N  int32
		OK uint8
		X  float64
	}
	h, records, err := npy.Decode[aligned](read("aligned.npy"))
	require.NoError(t, err)
	require.Equal(t, []int{2, 1}, h.Shape)
	require.Equal(t, []aligned{{5, 1, 2.5}, {5, 1, 2.5}}, records)
	_, _, err = npy.Decode[aligned](read("big.npy"))
	require.ErrorIs(t, err, hal.ErrUnsupported)
	require.ErrorContains(t, err, `field "n" has the other byte order`)
}

func TestRecordsThatAreRefused(t *testing.T) {
	for fields, want := range map[string]error{
		"[('a', '<f4'":                   hal.ErrInvalidArgument,
		"[('a' '<f4')]":                  hal.ErrInvalidArgument,
		"[('a', '<f4', 3)]":              hal.ErrInvalidArgument,
		"[(('title', 'a'), '<f4')]":      hal.ErrUnsupported,
		"[('', '|Vx')]":                  hal.ErrInvalidArgument,
		"[('a', '|V4')]":                 hal.ErrUnsupported,
		"[('a', '<U4')]":                 hal.ErrUnsupported,
		"[('a', '<f4', (99999, 99999))]": hal.ErrUnsupported,
		"[('', '|V9999999999')]":         hal.ErrUnsupported,
		"[]":                             hal.ErrInvalidArgument,
		"[('a', '<f4', (0,))]":           hal.ErrInvalidArgument,
		"[('a', [('b', '<f4'), ('c', '<f4')), 'd']]": hal.ErrInvalidArgument,
	} {
		_, _, err := npy.Decode[body]([]byte(file(1, "{'descr': "+fields+", 'fortran_order': False, 'shape': (1,), }\n")))
		assert.ErrorIs(t, err, want, fields)
	}
	for _, err := range []error{
		refused[struct{ A bool }](), refused[struct{ A int }](), refused[struct{ Ä int32 }](), refused[struct{ A half.BFloat16 }](), refused[[3]int32](),
	} {
		assert.ErrorIs(t, err, hal.ErrUnsupported)
	}
}

// Names of fields are Latin-1 before version 3 of the format, and UTF-8 from then on. Names that are not of ASCII, or have a quote, come back.
func TestNamesOfFields(t *testing.T) {
	dict := func(name string) string {
		return "{'descr': [(" + name + ", '<f4')], 'fortran_order': False, 'shape': (1,), }\n"
	}
	for _, row := range []struct {
		version    byte
		name, want string
	}{
		{1, "'\xe4'", "[('ä', '<f4')]"},
		{2, "'\xe4'", "[('ä', '<f4')]"},
		{3, "'ä'", "[('ä', '<f4')]"},
		{1, `"it's"`, `[("it's", '<f4')]`},
	} {
		h, err := npy.ReadHeader(strings.NewReader(file(row.version, dict(row.name))))
		require.NoError(t, err)
		require.Equal(t, row.want, h.Type.String())
		text, err := h.Append(nil)
		require.NoError(t, err)
		require.Zero(t, len(text)%64)
		again, err := npy.ReadHeader(bytes.NewReader(text))
		require.NoError(t, err)
		require.Equal(t, h, again)
	}
	_, err := npy.ReadHeader(strings.NewReader(file(3, dict("'\xe4'"))))
	require.ErrorIs(t, err, hal.ErrInvalidArgument)
	_, _, err = npy.Decode[body]([]byte(file(1, dict("'\xe4'"))))
	require.ErrorIs(t, err, hal.ErrInvalidArgument)
	require.True(t, utf8.ValidString(err.Error()), "%q", err)
}

func refused[T any]() error {
	_, err := npy.Append(nil, false, []int{1}, make([]T, 1))
	return err
}
