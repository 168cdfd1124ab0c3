package simgpu

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// The engine linked into a C program under the compiler's sanitizers: no data race,
// no bad access, no leak, whatever the program does.
func TestSanitizers(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the simulation needs Linux")
	}
	if testing.Short() {
		t.Skip("short: the engine is not built under sanitizers")
	}
	cc, err := Compiler()
	if err != nil {
		t.Skip("no C compiler: ", err)
	}
	for _, sanitizer := range []string{"thread", "address,undefined"} {
		t.Run(sanitizer, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(sanitized(t, cc, sanitizer, "stress.c", func(object string) bool { return object != "hip.o" }))
			cmd.Env = append(os.Environ(), "HALYARD_SIM_MEMORY=4194304")
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s", out)
			require.Equal(t, "done\n", string(out))
		})
	}
}

// sanitized builds a program of testdata and some of the objects under a sanitizer of the compiler's. It skips the test if such programs cannot be built,
// or do not run.
func sanitized(t *testing.T, cc, sanitizer, program string, with func(object string) bool) string {
	t.Helper()
	flags := []string{"-g", "-O1", "-fsanitize=" + sanitizer, "-fno-sanitize-recover=all", "-Wno-error"}
	dir := t.TempDir()
	probe, binary := filepath.Join(dir, "probe"), filepath.Join(dir, "program")
	require.NoError(t, os.WriteFile(probe+".c", []byte("int main(void) { return 0; }\n"), 0o666))
	build := func(args ...string) ([]byte, error) {
		return exec.Command(cc, slices.Concat(compileFlags, flags, args)...).CombinedOutput()
	}
	if out, err := build("-o", probe, probe+".c"); err != nil {
		t.Skipf("the compiler has no %s sanitizer: %s", sanitizer, out)
	}
	if out, err := exec.Command(probe).CombinedOutput(); err != nil {
		t.Skipf("a program under the %s sanitizer does not run here: %v %s", sanitizer, err, out)
	}
	folder, err := objects(cc, simCache, flags...)
	require.NoError(t, err)
	files, err := filepath.Glob(filepath.Join(folder, "*.o"))
	require.NoError(t, err)
	files = slices.DeleteFunc(files, func(file string) bool { return !with(filepath.Base(file)) })
	out, err := build(append(append([]string{"-Isrc", "-o", binary, filepath.Join("testdata", program)}, files...), "-lm")...)
	require.NoError(t, err, "%s", out)
	return binary
}
