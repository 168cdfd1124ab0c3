package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCount(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a.go": `package p
const A, b = 1, 2
type T[E any] struct { F, g int; U }
func (t *T[E]) M() {}
func (t *T[E]) n() {}
type u struct{ X int }
func (u) Y() {}
type I interface { Do(); undo() }
func New() {}
type U = u
`,
		"a_linux.go":  "package p\nvar V int\n",
		"a_darwin.go": "package p\nvar V int\n",
		"a_test.go":   "package p\nfunc Helper() {}\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	names, err := count(dir)
	require.NoError(t, err)
	require.Equal(t, []string{"A", "I", "I.Do", "New", "T", "T.F", "T.M", "U", "V"}, names)

	for _, below := range []string{"internal/x", "cmd"} {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, below), 0o700))
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "internal/x/x.go"), []byte("package x\nvar Hidden int\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "cmd/main.go"), []byte("package main\nvar Program int\n"), 0o600))
	var out strings.Builder
	total, err := run(&out, []string{dir, filepath.Join(dir, "none")}, true)
	require.NoError(t, err)
	require.Equal(t, 9, total)
	require.NotContains(t, out.String(), "Hidden")
	require.Contains(t, out.String(), "T.M")
}
