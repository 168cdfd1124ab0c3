package main

// What the program is built of: Halyard, and as few other modules as the build tags need.

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// foreign lists the packages outside the standard library and Halyard that the given ones are built of.
func foreign(t *testing.T, tags string, packages ...string) (found []string) {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-deps", "-tags", tags, "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}"}, packages...)...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, &stderr)
	}
	for _, p := range strings.Fields(string(out)) {
		if p != "example.com/downstream" && !strings.HasPrefix(p, "github.com/go-halyard/halyard/") {
			found = append(found, p)
		}
	}
	return found
}

const halyard = "github.com/go-halyard/halyard/"

// A program that imports hal and buffer is built of the standard library and Halyard alone.
func TestBuffersBringNoOtherModule(t *testing.T) {
	for _, tags := range []string{"", "cuda opencl hip"} {
		if found := foreign(t, tags, halyard+"hal", halyard+"buffer"); len(found) > 0 {
			t.Errorf("tags %q: hal and buffer bring %v", tags, found)
		}
	}
}

// With the backends comes purego, which calls drivers without cgo.
func TestBackendsBringOneModule(t *testing.T) {
	for _, tags := range []string{"", "cuda", "opencl", "hip", "cuda opencl hip"} {
		for _, p := range foreign(t, tags, ".") {
			if !strings.HasPrefix(p, "github.com/ebitengine/purego") {
				t.Errorf("tags %q: the program is built of %s", tags, p)
			}
		}
	}
	sum, err := os.ReadFile("go.sum")
	check(t, err)
	if lines := strings.Count(string(sum), "\n"); lines > 2 {
		t.Errorf("go.sum has %d lines, and one module takes 2", lines)
	}
}

// The program builds with every set of tags, without cgo.
func TestBuildsWithEachTag(t *testing.T) {
	for _, tags := range []string{"", "cuda", "opencl", "hip", "cuda opencl hip"} {
		cmd := exec.Command("go", "build", "-o", os.DevNull, "-tags", tags, ".")
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("tags %q: %v\n%s", tags, err, out)
		}
	}
}
