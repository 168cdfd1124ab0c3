//go:build linux

package dl_test

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-halyard/halyard/internal/dl"
)

// A program that is linked with -static could load libraries, which crash when they are called: it loads none.
func TestStaticProgramsLoadNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("links a program")
	}
	dir := t.TempDir()
	source, program := filepath.Join(dir, "a.c"), filepath.Join(dir, "program")
	if err := os.WriteFile(source, []byte("int main(void) { return 0; }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(cmp.Or(os.Getenv("CC"), "cc"), "-static", "-o", program, source).CombinedOutput(); err != nil {
		t.Skipf("no C compiler that links with -static: %v: %s", err, out)
	}
	build := exec.Command("go", "build", "-ldflags", "-w -linkmode external -extldflags -static", "-o", program, "./testdata/static")
	build.Env = append(os.Environ(), "CGO_ENABLED=1")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	out, err := exec.Command(program).CombinedOutput()
	want := (&dl.LoadError{Static: true}).Error()
	if !strings.Contains(want, "-static") || err != nil || string(out) != want+"\n"+want+"\n" {
		t.Errorf("%v: %s", err, out)
	}
}
