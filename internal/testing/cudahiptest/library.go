package cudahiptest

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-halyard/halyard/internal/testing/simgpu"
)

// Libraries builds the simulated drivers, or returns those that an earlier run has built. If they
// cannot be built, it skips the test, or fails it if HALYARD_REQUIRE contains the backend's name.
func Libraries(t testing.TB, backend string, without ...string) (cuda, hip string) {
	t.Helper()
	cuda, hip, err := simgpu.Build(filepath.Join(os.TempDir(), "halyard-simgpu"), without...)
	switch {
	case errors.Is(err, simgpu.ErrNoCompiler) || errors.Is(err, simgpu.ErrNotLinux):
		if Required(backend) {
			t.Fatal(err)
		}
		t.Skip("there is no simulated driver: ", err)
	case err != nil:
		t.Fatal(err)
	}
	return cuda, hip
}

// Required reports whether HALYARD_REQUIRE, a list of names, contains the name. Then tests for it
// must not be skipped.
func Required(name string) bool {
	list := strings.FieldsFunc(os.Getenv("HALYARD_REQUIRE"), func(r rune) bool { return r == ',' || r == ' ' })
	return slices.Contains(list, name)
}

// attach returns the control of a simulated library.
func attach(t testing.TB, path string) *simgpu.Control {
	t.Helper()
	c, err := simgpu.Attach(path)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
