package dlpacktest

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// python returns an interpreter with a NumPy that speaks DLPack 1.0: that of HALYARD_PYTHON, or python3.
func python(t *testing.T) string {
	t.Helper()
	name := os.Getenv("HALYARD_PYTHON")
	if name == "" {
		name = "python3"
	}
	const probe = "import numpy; v = numpy.__version__; assert tuple(map(int, v.split('.')[:2])) >= (2, 1), v"
	if out, err := exec.Command(name, "-c", probe).CombinedOutput(); err != nil {
		Miss(t, name+" with NumPy 2.1 or later is not there: "+err.Error()+" "+string(out))
	}
	return name
}

// TestNumPy builds the Go library of folder shared, has Python load it, and has the script exchange tensors
// between it and NumPy, in both directions.
func TestNumPy(t *testing.T) {
	interpreter := python(t)
	goTool, err := exec.LookPath("go")
	switch {
	case runtime.GOOS == "windows":
		Miss(t, "the library is built for systems with pthreads")
	case err != nil:
		Miss(t, "the library cannot be built: "+err.Error())
	case Compiler() == "":
		Miss(t, "the library cannot be built: there is no C compiler")
	}
	lib := filepath.Join(t.TempDir(), "shared.so")
	build := exec.Command(goTool, "build", "-buildmode=c-shared", "-o", lib, "./shared")
	build.Env = append(os.Environ(), "CGO_ENABLED=1")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)

	script := filepath.Join("testdata", "driver.py")
	out, err = exec.Command(interpreter, "-X", "faulthandler", script, lib).CombinedOutput()
	require.NoError(t, err, "%s", out)
	text, err := os.ReadFile(script)
	require.NoError(t, err)
	_, list, _ := strings.Cut(string(text), "\nfor test in (")
	list, _, _ = strings.Cut(list, "):")
	want := strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' || r == '\n' })
	require.NotEmpty(t, want)
	require.Equal(t, want, strings.Fields(string(out)), "the checks that have passed")
}
