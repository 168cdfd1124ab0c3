package simgpu

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/dl"
)

func TestBuildIsCachedByContent(t *testing.T) {
	cuda, hip := libraries(t)
	before, err := os.Stat(cuda)
	require.NoError(t, err)
	dir := filepath.Dir(filepath.Dir(cuda))
	again, hipAgain, err := Build(dir)
	require.NoError(t, err)
	require.Equal(t, cuda, again)
	require.Equal(t, hip, hipAgain)
	after, err := os.Stat(again)
	require.NoError(t, err)
	require.Equal(t, before.ModTime(), after.ModTime())
	link, err := filepath.EvalSymlinks(filepath.Join(filepath.Dir(cuda), "libcuda.so"))
	require.NoError(t, err)
	cuda, err = filepath.EvalSymlinks(cuda) // the cache may be one
	require.NoError(t, err)
	require.Equal(t, cuda, link)

	old, oldHIP, err := Build(dir, "hipLaunchHostFunc", "cuMemAllocAsync")
	require.NoError(t, err)
	require.NotEqual(t, cuda, old)
	lib, err := dl.Open("", oldHIP)
	require.NoError(t, err)
	require.False(t, lib.Proc("hipLaunchHostFunc").Valid(), "a symbol that was left out must not be found")
	require.True(t, lib.Proc("hipStreamAddCallback").Valid())
}

func TestBuildWithoutCompiler(t *testing.T) {
	if _, err := os.Stat("/proc/self"); err != nil {
		t.Skip("not Linux: Build answers ErrNotLinux")
	}
	t.Setenv("PATH", t.TempDir())
	t.Setenv("CC", "")
	_, _, err := Build(t.TempDir())
	require.ErrorIs(t, err, ErrNoCompiler)
}

func TestBuildCompilerFails(t *testing.T) {
	if _, err := os.Stat("/proc/self"); err != nil {
		t.Skip("not Linux: Build answers ErrNotLinux")
	}
	dir := t.TempDir()
	cc := filepath.Join(dir, "cc")
	require.NoError(t, os.WriteFile(cc, []byte("#!/bin/sh\n[ \"$1\" = --version ] && exit 0\necho broken >&2\nexit 1\n"), 0o755))
	t.Setenv("CC", cc)
	_, _, err := Build(filepath.Join(dir, "out"))
	var failed *BuildError
	require.ErrorAs(t, err, &failed)
	require.Contains(t, failed.Error(), "broken")
	left, err := os.ReadDir(filepath.Join(dir, "out"))
	require.NoError(t, err)
	require.Empty(t, left, "a failed build leaves nothing behind")
}

func TestAttachOtherLibrary(t *testing.T) {
	_, err := Attach(filepath.Join(t.TempDir(), "nothing.so"))
	require.ErrorIs(t, err, driver.ErrUnavailable)
}
