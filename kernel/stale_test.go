package kernel

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/syntax"
)

// A program says that its sources have changed only if it finds them, and at its launch only if it was compiled from what is there.
func TestStale(t *testing.T) {
	dir := t.TempDir()
	const text = "package p\n\nfunc double() {}\n"
	line := "p.go double " + syntax.Sums([]byte(text))["double"]
	put := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	from := func(file string) *Program {
		p := New(Source{Name: "p"})
		p.written.file, p.written.sources = file, []string{line}
		return p
	}
	file := filepath.Join(dir, "p_kernels.go")
	put("p.go", text)
	put("p_kernels.go", `"`+line+`"`)
	require.NoError(t, from(file).Stale())
	require.NoError(t, from(file).staleAtLaunch())

	put("p.go", "package p\n\nfunc double() { return }\n")
	require.ErrorIs(t, from(file).Stale(), hal.ErrInvalidArgument)
	require.ErrorContains(t, from(file).Stale(), filepath.Join(dir, "p.go")+": double has changed since p_kernels.go was written; run go generate")
	require.ErrorContains(t, from(file).staleAtLaunch(), "double has changed")
	require.NoError(t, from("/nowhere/p_kernels.go").Stale())
	t.Chdir(dir)
	require.ErrorContains(t, from("example.com/p/p_kernels.go").Stale(), "double has changed", "-trimpath, in the folder of the package")
	require.NoError(t, from("example.com/p/p_kernels.go").staleAtLaunch(), "-trimpath")
	require.NoError(t, New(Source{}).Stale())
	require.ErrorIs(t, (*Program)(nil).Stale(), hal.ErrInvalidArgument)

	put("p_kernels.go", "what another version has written")
	require.NoError(t, from(file).staleAtLaunch(), "the program was not compiled from this file")
	require.NoError(t, os.Remove(filepath.Join(dir, "p.go")))
	require.ErrorContains(t, from(file).Stale(), "double has changed")
}
