// Package dlpacktest has the other side of DLPack for tests: a program in C that takes tensors and makes them, and a
// Go library that Python loads to exchange them with NumPy (folder shared).
package dlpacktest

import (
	"embed"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-halyard/halyard/internal/dl"
)

//go:embed testdata/peer.c testdata/tensor.h
var sources embed.FS

// Peer is the program in C; testdata/peer.c tells what each function does.
type Peer struct {
	Layout dl.Proc `sym:"peer_layout"`
	Weigh  dl.Proc `sym:"peer_weigh"`
	Flags  dl.Proc `sym:"peer_flags"`
	Delete dl.Proc `sym:"peer_delete"`
	Make   dl.Proc `sym:"peer_make"`
	Data   dl.Proc `sym:"peer_data"`
	Tensor dl.Proc `sym:"peer_tensor"`
}

var built struct {
	sync.Once
	peer *Peer
	why  string // why there is no peer
	err  error
}

// Load builds the program and loads it, once. Without a C compiler it skips the test, or fails it if
// HALYARD_REQUIRE has "numpy", because the tests with NumPy need a compiler too.
func Load(t testing.TB) *Peer {
	t.Helper()
	built.Do(build)
	switch {
	case built.err != nil:
		t.Fatal(built.err)
	case built.why != "":
		Miss(t, built.why)
	}
	return built.peer
}

// Miss skips a test, or fails it if HALYARD_REQUIRE has "numpy".
func Miss(t testing.TB, why string) {
	t.Helper()
	if slices.Contains(strings.FieldsFunc(os.Getenv("HALYARD_REQUIRE"), func(r rune) bool { return r == ',' || r == ' ' }), "numpy") {
		t.Fatal(why)
	}
	t.Skip(why)
}

// Compiler is the C compiler, "" if there is none.
func Compiler() string {
	for _, name := range []string{os.Getenv("CC"), "cc", "gcc", "clang"} {
		if path, err := exec.LookPath(name); name != "" && err == nil {
			return path
		}
	}
	return ""
}

func build() {
	cc := Compiler()
	switch {
	case runtime.GOOS == "windows":
		built.why = "the program in C is for systems with pthreads"
		return
	case cc == "":
		built.why = "there is no C compiler"
		return
	}
	dir, err := os.MkdirTemp("", "dlpack-peer-")
	if err != nil {
		built.err = err
		return
	}
	defer os.RemoveAll(dir) // a library that is loaded needs its file no longer
	if built.err = os.CopyFS(dir, sources); built.err != nil {
		return
	}
	lib := filepath.Join(dir, "peer.so")
	cmd := exec.Command(cc, "-std=c11", "-Wall", "-Wextra", "-Werror", "-O2", "-fPIC", "-shared", "-pthread", "-o", lib, "peer.c")
	cmd.Dir = filepath.Join(dir, "testdata")
	if out, err := cmd.CombinedOutput(); err != nil {
		built.err = &BuildError{string(out), err}
		return
	}
	l, err := dl.Open("", lib)
	if err == nil {
		built.peer = &Peer{}
		_, err = l.Fill(built.peer)
	}
	built.err = err
}

// BuildError is the output of the C compiler and how it ended.
type BuildError struct {
	Output string
	Err    error
}

func (e *BuildError) Error() string {
	return "building the program in C: " + e.Err.Error() + "\n" + e.Output
}

// Unwrap returns how the compiler ended.
func (e *BuildError) Unwrap() error { return e.Err }
