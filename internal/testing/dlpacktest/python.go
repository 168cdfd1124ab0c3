package dlpacktest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

// Python returns an interpreter that has NumPy, of that version or later: HALYARD_PYTHON, or python3. If there is none it
// skips the test, or fails it if HALYARD_REQUIRE has "numpy".
func Python(t testing.TB, major, minor int) string {
	t.Helper()
	name := os.Getenv("HALYARD_PYTHON")
	if name == "" {
		name = "python3"
	}
	probe := fmt.Sprintf("import numpy; v = numpy.__version__; assert tuple(map(int, v.split('.')[:2])) >= (%d, %d), v", major, minor)
	if out, err := exec.Command(name, "-c", probe).CombinedOutput(); err != nil {
		Miss(t, fmt.Sprintf("%s with NumPy %d.%d or later is not there: %v %s", name, major, minor, err, out))
	}
	return name
}

// Shared builds a package as a library for C and returns the library's path. Without a C compiler or the go command it skips or fails
// the test, as Python does.
func Shared(t testing.TB, pkg string) string {
	t.Helper()
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
	build := exec.Command(goTool, "build", "-buildmode=c-shared", "-o", lib, pkg)
	build.Env = append(os.Environ(), "CGO_ENABLED=1")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build -buildmode=c-shared %s: %v\n%s", pkg, err, out)
	}
	return lib
}
