//go:build linux || darwin

package dl_test

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/go-halyard/halyard/internal/dl"
)

// A library locks if OpenCL's functions are in it or in what it is linked with.
func TestLibrariesOnOpenCLTakeTurns(t *testing.T) {
	dir := t.TempDir()
	build := func(name, text string, more ...string) *dl.Library {
		source, path := filepath.Join(dir, name+".c"), filepath.Join(dir, name+".so")
		if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command(cmp.Or(os.Getenv("CC"), "cc"), append([]string{"-shared", "-fPIC", "-o", path, source}, more...)...).CombinedOutput(); err != nil {
			t.Skipf("no C compiler: %v: %s", err, out)
		}
		lib, err := dl.Open("", path)
		if err != nil {
			t.Fatal(err)
		}
		return lib
	}
	build("cl", "int clGetPlatformIDs(void) { return 0; }")
	for name, want := range map[string]bool{"on": true, "off": false} {
		var more []string
		text := "int hipInit(void) { return 0; }"
		if want {
			text = "int clGetPlatformIDs(void); int hipInit(void) { return clGetPlatformIDs(); }"
			more = []string{filepath.Join(dir, "cl.so")}
		}
		unlock := build(name, text, more...).LockOpenCL()
		free := dl.OpenCL.TryLock()
		if free {
			dl.OpenCL.Unlock()
		}
		if free == want {
			t.Errorf("%s: locked %v, want %v", name, !free, want)
		}
		unlock()
		if !dl.OpenCL.TryLock() {
			t.Fatalf("%s: still locked", name)
		}
		dl.OpenCL.Unlock()
	}
}
