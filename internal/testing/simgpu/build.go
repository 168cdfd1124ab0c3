package simgpu

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
)

//go:embed src/*.c src/*.h
var sources embed.FS

// ErrNoCompiler means that there is no C compiler: neither $CC nor cc, gcc or
// clang.
var ErrNoCompiler = errors.New("simgpu: no C compiler to build the simulated drivers with")

// ErrNotLinux means that the simulation does not work on this system.
var ErrNotLinux = errors.New("simgpu: the simulated drivers need Linux")

// BuildError is a failure of the C compiler or linker.
type BuildError struct {
	Command string // the command that was run
	Output  string // its output
	Err     error
}

// Error returns the command, how it ended, and its output.
func (e *BuildError) Error() string {
	return fmt.Sprintf("simgpu: %s: %v\n%s", e.Command, e.Err, e.Output)
}

// Unwrap returns how the command ended.
func (e *BuildError) Unwrap() error { return e.Err }

const (
	cudaName = "libcuda.so.1"
	hipName  = "libamdhip64.so.6"
)

var compileFlags = []string{"-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-O2", "-ffp-contract=off", "-fPIC", "-pthread"}

// Build builds the two simulated libraries, unless they are built already, and returns their
// absolute paths. They are in a folder below dir whose name is a hash of what they are built from.
// Beside libcuda.so.1 there is a link libcuda.so, for linkers. Both libraries lack the symbols
// named in without, as older drivers do.
//
// Any number of processes may build in the same dir at once. The error is ErrNotLinux,
// ErrNoCompiler, a *BuildError, or an error of the file system.
func Build(dir string, without ...string) (cudaLib, hipLib string, err error) {
	if runtime.GOOS != "linux" {
		return "", "", ErrNotLinux
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return "", "", err
	}
	cc, err := Compiler()
	if err != nil {
		return "", "", err
	}
	without = slices.Clone(without)
	slices.Sort(without)
	key, err := contentKey(cc, without)
	if err != nil {
		return "", "", err
	}
	final := filepath.Join(dir, key)
	cudaLib, hipLib = filepath.Join(final, cudaName), filepath.Join(final, hipName)
	err = once(dir, final, func(tmp string) error {
		objects, err := objects(cc, dir)
		if err != nil {
			return err
		}
		return link(cc, objects, tmp, without)
	})
	return cudaLib, hipLib, err
}

// once fills the folder final below dir, unless it is there already.
func once(dir, final string, fill func(tmp string) error) error {
	if _, err := os.Stat(final); err == nil {
		return nil
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(dir, "build-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	if err := errors.Join(os.Chmod(tmp, 0o755), fill(tmp)); err != nil {
		return err
	}
	if err := os.Rename(tmp, final); err != nil {
		// Another process may have been faster; what it made is the same.
		if _, statErr := os.Stat(final); statErr != nil {
			return err
		}
	}
	return nil
}

// Compiler returns the path of the C compiler that builds the drivers. The error is ErrNoCompiler.
func Compiler() (string, error) {
	names := []string{"cc", "gcc", "clang"}
	if cc := os.Getenv("CC"); cc != "" {
		names = slices.Insert(names, 0, cc)
	}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", ErrNoCompiler
}

func contentKey(cc string, without []string) (string, error) {
	h := sha256.New()
	version, err := exec.Command(cc, "--version").Output()
	if err != nil {
		return "", &BuildError{Command: cc + " --version", Err: err}
	}
	fmt.Fprintf(h, "%s\n%s\n%s %s\n%q\n%q\n", cc, version, runtime.GOARCH, cudaName+hipName, compileFlags, without)
	err = fs.WalkDir(sources, "src", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := sources.ReadFile(path)
		fmt.Fprintf(h, "%s %d\n%s\n", path, len(text), text)
		return err
	})
	if err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)[:12]), nil
}

func run(dir, name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return &BuildError{Command: name + " " + strings.Join(args, " "), Output: string(out), Err: err}
	}
	return nil
}

// objects compiles the sources with flags beside those of every build, unless they lie below dir already, and returns the folder with an object for
// each. Libraries that leave out different symbols are linked of the same objects.
func objects(cc, dir string, flags ...string) (string, error) {
	flags = append(slices.Clone(compileFlags), flags...)
	key, err := contentKey(cc, flags)
	if err != nil {
		return "", err
	}
	final, err := filepath.Abs(filepath.Join(dir, key+".o"))
	if err != nil {
		return "", err
	}
	return final, once(dir, final, func(tmp string) error {
		if err := os.CopyFS(tmp, sources); err != nil {
			return err
		}
		files, err := filepath.Glob(filepath.Join(tmp, "src", "*.c"))
		if err != nil {
			return err
		}
		errs := make([]error, len(files))
		slots := make(chan struct{}, runtime.NumCPU())
		var wg sync.WaitGroup
		for i, file := range files {
			slots <- struct{}{}
			wg.Go(func() {
				errs[i] = run(tmp, cc, slices.Concat(flags, []string{"-c", file})...)
				<-slots
			})
		}
		wg.Wait()
		return errors.Join(append(errs, os.RemoveAll(filepath.Join(tmp, "src")))...)
	})
}

// link makes the libraries of objects.
func link(cc, objects, out string, without []string) error {
	files, err := filepath.Glob(filepath.Join(objects, "*.o"))
	if err != nil {
		return err
	}
	var shared, cuda, hip []string
	for _, file := range files {
		switch name := filepath.Base(file); {
		case strings.HasPrefix(name, "cuda"):
			cuda = append(cuda, file)
		case name == "hip.o":
			hip = append(hip, file)
		default:
			shared = append(shared, file)
		}
	}
	// Only the vendor's names and the control interface are exported, so that two engines in one
	// process do not share symbols.
	var script strings.Builder
	script.WriteString("{ global: cu*; hip*; halyard_sim_*; local: ")
	for _, name := range without {
		script.WriteString(name + "; ")
	}
	script.WriteString("*; };\n")
	if err := os.WriteFile(filepath.Join(out, "exports"), []byte(script.String()), 0o666); err != nil {
		return err
	}
	for name, own := range map[string][]string{cudaName: cuda, hipName: hip} {
		args := []string{"-shared", "-pthread", "-Wl,-soname," + name, "-Wl,--version-script=exports",
			"-Wl,-z,defs", "-Wl,-z,nodelete", "-Wl,-Bsymbolic", "-o", name}
		if err := run(out, cc, slices.Concat(args, own, shared, []string{"-lm"})...); err != nil {
			return err
		}
	}
	return os.Symlink(cudaName, filepath.Join(out, "libcuda.so"))
}
