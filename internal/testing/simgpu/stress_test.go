package simgpu

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
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
	program, err := os.ReadFile(filepath.Join("testdata", "stress.c"))
	require.NoError(t, err)
	for _, sanitizer := range []string{"thread", "address,undefined"} {
		t.Run(sanitizer, func(t *testing.T) {
			t.Parallel()
			key, err := contentKey(cc, []string{sanitizer, string(program)})
			require.NoError(t, err)
			cache := filepath.Join("..", "..", "..", ".cache", "sim", "stress")
			require.NoError(t, os.MkdirAll(cache, 0o777))
			binary, err := filepath.Abs(filepath.Join(cache, key))
			require.NoError(t, err)
			if _, err := os.Stat(binary); err != nil {
				buildStress(t, cc, sanitizer, binary)
			}
			cmd := exec.Command(binary)
			cmd.Env = append(os.Environ(), "HALYARD_SIM_MEMORY=4194304")
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s", out)
			require.Equal(t, "done\n", string(out))
		})
	}
}

func buildStress(t *testing.T, cc, sanitizer, binary string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("src", "*.c"))
	require.NoError(t, err)
	tmp := requireSanitizer(t, cc, sanitizer)
	program := filepath.Join(tmp, "program")
	args := append(sanitizerFlags(sanitizer), "-o", program, filepath.Join("testdata", "stress.c"))
	for _, f := range files {
		if !strings.HasSuffix(f, "hip.c") {
			args = append(args, f)
		}
	}
	args = append(args, "-lm")
	out, err := exec.Command(cc, args...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.NoError(t, os.Rename(program, binary))
}

func sanitizerFlags(sanitizer string) []string {
	return []string{"-std=c11", "-D_GNU_SOURCE", "-g", "-O1", "-fsanitize=" + sanitizer, "-fno-sanitize-recover=all", "-pthread", "-ffp-contract=off"}
}

// requireSanitizer skips the test if programs under the sanitizer cannot be built, or do not run. It returns a folder beside the
// cache that is removed at the end.
func requireSanitizer(t *testing.T, cc, sanitizer string) (dir string) {
	t.Helper()
	cache := filepath.Join("..", "..", "..", ".cache", "sim", "stress")
	require.NoError(t, os.MkdirAll(cache, 0o777))
	dir, err := os.MkdirTemp(cache, "build-")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	probe := filepath.Join(dir, "probe")
	require.NoError(t, os.WriteFile(probe+".c", []byte("int main(void) { return 0; }\n"), 0o666))
	if out, err := exec.Command(cc, append(sanitizerFlags(sanitizer), "-o", probe, probe+".c")...).CombinedOutput(); err != nil {
		t.Skipf("the compiler has no %s sanitizer: %s", sanitizer, out)
	}
	if out, err := exec.Command(probe).CombinedOutput(); err != nil {
		t.Skipf("a program under the %s sanitizer does not run here: %v %s", sanitizer, err, out)
	}
	return dir
}
