package kernel

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/syntax"
	"github.com/go-halyard/halyard/kernel/gridgen"
)

// Only programs that the go command has just compiled, or knows to be up to date, are taken for new: not those that have its name in theirs.
func TestProgramsOfGo(t *testing.T) {
	hash := strings.Repeat("2ef071f6", 8)
	for exe, want := range map[string]bool{
		"/tmp/go-build284825243/b001/exe/main":     true,
		"/tmp/go-build284825243/b001/p.test":       true,
		`/Temp/go-build28/b123/p.test.exe`:         true,
		"/cache/2e/" + hash + "-d/main":            true,
		"/home/go-build/bin/main":                  false,
		"/home/go-builds/main":                     false,
		"/tmp/go-build284825243/b001/exe/bin/main": false,
		"/cache/2f/" + hash + "-d/main":            false,
		"/cache/2e/2ef0-d/main":                    false,
		"main":                                     false,
		"":                                         false,
	} {
		require.Equal(t, want, byGo(exe), exe)
	}
}

// A name that a kernel uses, and that its package does not declare, gets another meaning by a new declaration.
func TestStaleByANewDeclaration(t *testing.T) {
	dir := t.TempDir()
	p := New(Source{Name: "p"})
	p.written.file, p.written.sources, p.written.format = filepath.Join(dir, "p_kernels.go"), []string{"./ len,min,T.sum p"}, syntax.Format
	put := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	put("p_kernels.go", "package p")
	put("p.go", "package p\n\nfunc max() { min := 1; _ = min }\n\nfunc (u U) sum() {}\n\nfunc (T) min() {}\n")
	put("tool.go", "//go:build ignore\n\npackage main\n\nfunc min() {}\n")
	put("p_test.go", "package p_test\n\nfunc min() {}\n")
	require.NoError(t, p.Stale())
	for text, name := range map[string]string{"func min(x, y int) int { return x }": "min", "const (\n\ta = 1\n\tlen = 2\n)": "len", "func (t *T) sum() {}": "T.sum"} {
		put("new.go", "package p\n\n"+text+"\n")
		require.ErrorIs(t, p.Stale(), hal.ErrInvalidArgument)
		require.ErrorContains(t, p.Stale(), filepath.Join(dir, "new.go")+": "+name+" is declared there, and kernels that p_kernels.go has would mean it; run go generate")
	}
}

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
		p.written.file, p.written.sources, p.written.format = file, []string{line}, syntax.Format
		return p
	}
	file := filepath.Join(dir, "p_kernels.go")
	put("p.go", text)
	put("p_kernels.go", `"`+line+`"`)
	require.NoError(t, from(file).Stale())
	require.NoError(t, from(file).staleAtLaunch())

	put("p.go", "package p\n\nfunc double() { return }\n")
	require.ErrorIs(t, from(file).Stale(), hal.ErrInvalidArgument)
	require.ErrorContains(t, from(file).Stale(), "double has changed since p_kernels.go was written from "+filepath.Join(dir, "p.go")+"; run go generate")
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

// A file that another version of the command wrote fails at the first launch, with both versions and what to do.
func TestFileOfAnotherVersion(t *testing.T) {
	dev, err := hal.Open(t.Context(), "host:0")
	require.NoError(t, err)
	defer dev.Close()
	p := New(Source{Name: "p", Go: Functions{"f": Go(func(*Block) {})}, Source: gridgen.Source{Sources: []string{"p.go f 0"}, Format: syntax.Format - 1}})
	err = p.Load(t.Context(), dev)
	require.ErrorIs(t, err, hal.ErrInvalidArgument)
	require.ErrorContains(t, err, fmt.Sprintf("stale_test.go is of format %d of halyard kernels, and this version of Halyard takes format %d; run go generate", syntax.Format-1, syntax.Format))
	require.Equal(t, 1, strings.Count(err.Error(), fmt.Sprintf("format %d", syntax.Format-1)), "a sentence")
	require.ErrorIs(t, p.Stale(), hal.ErrInvalidArgument)
}
