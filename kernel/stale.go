package kernel

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/syntax"
)

// written is where the file that the command "halyard kernels" wrote is, and what was found out about it.
type written struct {
	file    string // as the compiler saw it; "" for a source written by hand
	sources []string

	once sync.Once
	err  error
}

// Stale returns an error of kind hal.ErrInvalidArgument if a kernel, or something of its module that it uses, has changed since the
// command "halyard kernels" translated it. Comments, formatting and moves within a file are no changes. It returns nil if the sources are
// not where they were when the program was compiled. The test that the command writes calls it. So does the first launch of a program's
// kernels, if the program was compiled after the change.
func (p *Program) Stale() error {
	if p == nil {
		return noProgram("compare")
	}
	return p.written.compare("compare")
}

func (w *written) compare(op string) error {
	if len(w.sources) == 0 {
		return nil
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
		path := filepath.Join(folder, filepath.FromSlash(file))
		if sums[file] == nil {
			src, err := os.ReadFile(path)
			if err != nil && !os.IsNotExist(err) {
				return nil
			}
			sums[file] = syntax.Sums(src)
		}
		if sums[file][name] != sum {
			return hal.Errorf(op, hal.ErrInvalidArgument,
				"%s: %s has changed since %s was written; run go generate, or go tool halyard kernels, in that folder",
				path, name, filepath.Base(w.file))
		}
	}
	return nil
}

// staleAtLaunch is Stale for the first launch. A program that was compiled before its sources changed is right as it is: it has the old
// kernels, and what was made of them.
func (p *Program) staleAtLaunch() error {
	w := &p.written
	w.once.Do(func() {
		if len(w.sources) > 0 && filepath.IsAbs(w.file) && w.compiledFrom() {
			w.err = w.compare("launch")
		}
	})
	return w.err
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
	if strings.Contains(exe, "go-build") {
		return true // go run and go test have just compiled it, or know that it is what they would compile
	}
	built, err := os.Stat(exe)
	if err != nil {
		return false
	}
	for _, line := range w.sources {
		file, _, _ := strings.Cut(line, " ")
		source, err := os.Stat(filepath.Join(filepath.Dir(w.file), filepath.FromSlash(file)))
		if err != nil || source.ModTime().After(built.ModTime()) {
			return false
		}
	}
	return true
}

// remember is called by New, which a file that the command wrote calls.
func (w *written) remember(sources []string) {
	if len(sources) == 0 {
		return
	}
	if _, file, _, ok := runtime.Caller(2); ok {
		w.file, w.sources = file, sources
	}
}
