package kernel

import (
	"bytes"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/syntax"
)

// written is where the file that the command "halyard kernels" wrote is, and what was found out about it.
type written struct {
	file    string // as the compiler saw it; "" for a source written by hand
	sources []string
	format  int

	once sync.Once
	err  error
}

// old returns an error if another version of the command wrote the file.
func (w *written) old(op string) error {
	if len(w.sources) == 0 || w.format == syntax.Format {
		return nil
	}
	return hal.Errorf(op, hal.ErrInvalidArgument, "%s is of format %d of halyard kernels, and this version of Halyard takes format %d; "+
		"run go generate, or go tool halyard kernels, in that folder", w.file, w.format, syntax.Format)
}

func (w *written) compare(op string) error {
	if err := w.old(op); err != nil || len(w.sources) == 0 {
		return err
	}
	folder := filepath.Dir(w.file)
	if !filepath.IsAbs(w.file) { // compiled with -trimpath: a test still runs in the folder of its package
		folder = "."
	}
	if _, err := os.Stat(filepath.Join(folder, filepath.Base(w.file))); err != nil {
		return nil
	}
	sums := map[string]map[string]string{} // by file
	for _, line := range w.sources {
		file, rest, _ := strings.Cut(line, " ")
		name, sum, _ := strings.Cut(rest, " ")
		source := filepath.Join(folder, filepath.FromSlash(file))
		if strings.HasSuffix(file, "/") {
			names := strings.Split(name, ",")
			if file == "./" && !slices.ContainsFunc(w.sources, func(l string) bool { return strings.Contains(l, " halyard:kernel ") }) {
				names = append(names, "halyard:kernel") // a mark for all kernels of the package
			}
			if file, name := declares(source, sum, names); file != "" {
				return hal.Errorf(op, hal.ErrInvalidArgument,
					"%s: %s is declared there, and kernels that %s has would mean it; "+
						"run go generate, or go tool halyard kernels, in that folder",
					file, name, filepath.Base(w.file))
			}
			continue
		}
		if sums[file] == nil {
			src, err := os.ReadFile(source)
			if err != nil && !os.IsNotExist(err) {
				return nil
			}
			sums[file] = syntax.Sums(src)
		}
		if sums[file][name] != sum {
			return hal.Errorf(op, hal.ErrInvalidArgument,
				"%s has changed since %s was written from %s; run go generate, or go tool halyard kernels, in that folder",
				name, filepath.Base(w.file), source)
		}
	}
	return nil
}

// declares returns a file of a package that declares one of the names at its top, and the name. The file may be one that only some builds
// have: there the kernel's function would mean something else than its translation does.
func declares(folder, pkg string, names []string) (file, name string) {
	files, _ := filepath.Glob(filepath.Join(folder, "*.go"))
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil || syntax.Head(src) != pkg {
			continue
		}
		sums := syntax.Sums(src)
		for _, name := range names {
			if sums[name] != "" {
				return file, name
			}
		}
	}
	return "", ""
}

// compiledFrom reports whether the program was compiled from the files that are there now. Another checkout may be at the same path, on
// the machine that the program was deployed to.
func (w *written) compiledFrom() bool {
	text, err := os.ReadFile(w.file)
	if err != nil {
		return false
	}
	for _, line := range w.sources {
		if !bytes.Contains(text, []byte(`"`+line+`"`)) {
			return false
		}
	}
	exe, err := os.Executable()
	if err != nil {
		return false
	}
	if byGo(exe) {
		return true // go run and go test have just compiled it, or know that it is what they would compile
	}
	built, err := os.Stat(exe)
	if err != nil {
		return false
	}
	for _, line := range w.sources {
		file, _, _ := strings.Cut(line, " ")
		files := []string{filepath.Join(filepath.Dir(w.file), filepath.FromSlash(file))}
		if strings.HasSuffix(file, "/") {
			files, _ = filepath.Glob(filepath.Join(files[0], "*.go"))
		}
		for _, file := range files {
			source, err := os.Stat(file)
			if err != nil || source.ModTime().After(built.ModTime()) {
				return false
			}
		}
	}
	return true
}

// byGo reports whether a program is one that go run or go test has just compiled, or has found in the go command's cache.
func byGo(exe string) bool {
	exe = filepath.ToSlash(exe)
	for _, form := range []string{"go-build[0-9]*/b[0-9]*/exe/*", "go-build[0-9]*/b[0-9]*/*.test", "go-build[0-9]*/b[0-9]*/*.test.exe",
		"[0-9a-f][0-9a-f]/*-d/*"} {
		end := exe // as many elements as the form has
		for strings.Count(end, "/") > strings.Count(form, "/") {
			_, end, _ = strings.Cut(end, "/")
		}
		if ok, _ := path.Match(form, end); ok {
			hash := path.Base(path.Dir(end)) // in the cache it is the name of the folder, and begins with the name of the folder above
			return strings.HasPrefix(form, "go-build") || len(hash) == 64+len("-d") && strings.HasPrefix(hash,
				path.Base(path.Dir(path.Dir(end))))
		}
	}
	return false
}

// remember is called by New, which a file that the command wrote calls.
func (w *written) remember(sources []string, format int) {
	if len(sources) == 0 {
		return
	}
	if _, file, _, ok := runtime.Caller(2); ok {
		w.file, w.sources, w.format = file, sources, format
	}
}
