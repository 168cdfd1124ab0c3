package simnccl

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-halyard/halyard/internal/dl"
	"github.com/go-halyard/halyard/internal/testing/simgpu"
)

//go:embed src/*.c src/*.h
var sources embed.FS

var flags = []string{"-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-O2", "-fPIC", "-pthread"}

const (
	ncclName = "libnccl.so.2"
	rcclName = "librccl.so.1"
)

// Bugs returns the values of HALYARD_SIM_NCCL_BUG. Each value makes the libraries misbehave in one
// way.
func Bugs() []string {
	return []string{"drop", "shorten", "early", "unordered", "async-error", "wrong-op", "wrong-part", "wrong-root", "hang", "never-launched", "swapped"}
}

// Build builds the two simulated libraries in a folder below dir, unless they are built already. They are linked with the simulated drivers at the
// paths cuda and hip. They lack the symbols named in without, as older libraries do. Errors are those of [simgpu.Build].
func Build(dir, cuda, hip string, without ...string) (nccl, rccl string, err error) {
	cc, err := simgpu.Compiler()
	if err != nil {
		return "", "", err
	}
	without = slices.Clone(without)
	slices.Sort(without)
	key, err := hash(cc, cuda, hip, without)
	if err != nil {
		return "", "", err
	}
	final := filepath.Join(dir, "nccl-"+key)
	nccl, rccl = filepath.Join(final, ncclName), filepath.Join(final, rcclName)
	if _, err := os.Stat(rccl); err == nil {
		return nccl, rccl, nil
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return "", "", err
	}
	tmp, err := os.MkdirTemp(dir, "build-")
	if err != nil {
		return "", "", err
	}
	defer os.RemoveAll(tmp)
	out := filepath.Join(tmp, "out")
	if err := compile(cc, tmp, out, cuda, hip, without); err != nil {
		return "", "", err
	}
	if err := os.Rename(out, final); err != nil {
		// Another process may have been faster. Its libraries are the same.
		if _, statErr := os.Stat(rccl); statErr != nil {
			return "", "", err
		}
	}
	return nccl, rccl, nil
}

// Reap makes a simulated library free the memory of work that streams have finished, and returns how many operations are not
// finished. Tests call it before they look for leaks.
func Reap(path string) (left int, err error) {
	lib, err := dl.Open("", path)
	if err != nil {
		return 0, err
	}
	var table struct {
		Reap dl.Proc `sym:"halyard_sim_nccl_reap"`
	}
	if _, err := lib.Fill(&table); err != nil {
		return 0, err
	}
	return int(int32(table.Reap.Call0())), nil
}

// hash is of all that the libraries depend on.
func hash(cc, cuda, hip string, without []string) (string, error) {
	h := sha256.New()
	fmt.Fprintf(h, "%s\n%s\n%s\n%q\n%q\n", cc, cuda, hip, flags, without)
	files, err := sources.ReadDir("src")
	if err != nil {
		return "", err
	}
	for _, f := range files {
		text, err := sources.ReadFile("src/" + f.Name())
		if err != nil {
			return "", err
		}
		fmt.Fprintf(h, "%s %d\n%s\n", f.Name(), len(text), text)
	}
	return hex.EncodeToString(h.Sum(nil)[:12]), nil
}

// compile builds both libraries into the folder out, from a copy of the sources in tmp.
func compile(cc, tmp, out, cuda, hip string, without []string) error {
	if err := errors.Join(os.CopyFS(tmp, sources), os.Mkdir(out, 0o777)); err != nil {
		return err
	}
	script := "{ global: nccl*; halyard_sim_*; local: "
	for _, name := range without {
		script += name + "; "
	}
	if err := os.WriteFile(filepath.Join(tmp, "src", "exports"), []byte(script+"*; };\n"), 0o666); err != nil {
		return err
	}
	link := func(name, driver string, more ...string) error {
		args := slices.Concat(flags, more, []string{"-shared", "-Wl,-soname," + name, "-Wl,--version-script=exports", "-Wl,-z,defs", "-Wl,-z,nodelete",
			"-o", filepath.Join(out, name), "nccl.c", "server.c", "wire.c", driver, "-Wl,-rpath," + filepath.Dir(driver)})
		cmd := exec.Command(cc, args...)
		cmd.Dir = filepath.Join(tmp, "src")
		if text, err := cmd.CombinedOutput(); err != nil {
			return &simgpu.BuildError{Command: cc + " " + strings.Join(args, " "), Output: string(text), Err: err}
		}
		return nil
	}
	if err := link(ncclName, cuda); err != nil {
		return err
	}
	return link(rcclName, hip, "-DSIMULATE_RCCL")
}
