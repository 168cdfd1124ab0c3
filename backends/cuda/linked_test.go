//go:build cuda && linux && !linked

package cuda

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-halyard/halyard/internal/testing/cudahiptest"
)

// TestLinkedBinding builds the tests of this package with the linked binding, linked against the
// simulated driver, and runs them.
func TestLinkedBinding(t *testing.T) {
	miss := func(why string) {
		t.Helper()
		if cudahiptest.Required("cuda-linked") {
			t.Fatal(why)
		}
		t.Skip(why)
	}
	if testing.Short() {
		miss("building the linked binding takes long")
	}
	for _, tool := range []string{"go", "cc"} {
		if _, err := exec.LookPath(tool); err != nil {
			miss("the linked binding cannot be built: " + err.Error())
		}
	}
	include := ""
	for _, dir := range []string{os.Getenv("HALYARD_CUDA_INCLUDE"), "/usr/local/cuda/include", "/usr/include"} {
		if _, err := os.Stat(filepath.Join(dir, "cuda.h")); dir != "" && err == nil {
			include = dir
			break
		}
	}
	if include == "" {
		miss("no cuda.h to build the linked binding with; HALYARD_CUDA_INCLUDE can name its folder")
	}
	library, _ := cudahiptest.Libraries(t, "cuda-linked")
	dir := filepath.Dir(library)
	env := append(os.Environ(), "CGO_ENABLED=1", "CGO_CFLAGS=-I"+include, "CGO_LDFLAGS=-L"+dir, "LD_LIBRARY_PATH="+dir)
	program := filepath.Join(t.TempDir(), "linked.test")
	build := exec.Command("go", "test", "-c", "-tags", "cuda linked", "-o", program, ".")
	build.Env = env
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building: %v\n%s", err, out)
	}
	run := exec.Command(program, "-test.v", "-test.run", "^Test(Simulated|Conformance)$", "-test.short")
	run.Env = env
	out, err := run.CombinedOutput()
	if err != nil {
		t.Fatalf("running: %v\n%s", err, out)
	}
	if !strings.Contains(string(out), "--- PASS: TestSimulated/Devices") {
		t.Errorf("no test was run:\n%s", out)
	}
}
