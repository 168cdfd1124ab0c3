package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"go/build"
	"go/scanner"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

const module = "github.com/go-halyard/halyard"

var tags = []string{"cuda", "opencl", "hip", "vulkan"}

// sums returns, for each benchmark, a sum of the files that its result depends on: those of Go that its programs on Linux on amd64 are compiled from,
// with the tags of all backends and with or without vectors; what is embedded; all files of its own folders; and which versions of other modules there
// are. Of Go files comments, formatting and tests do not count, so that a better comment does not make a measurement old.
func sums(root string, benches []bench) (map[string]string, error) {
	packages, err := list(root)
	if err != nil {
		return nil, err
	}
	s := summer{root: root, known: map[string][]byte{}}
	all := map[string]string{}
	for _, b := range benches {
		files := map[string]bool{"go.mod": true, "bench/go.mod": true, "bench/install.sh": true}
		for _, p := range packages {
			if !b.owns(p.ImportPath) {
				continue
			}
			for _, d := range append(p.Deps, p.ImportPath) {
				if err := s.files(packages[d], files); err != nil {
					return nil, err
				}
			}
		}
		for _, folder := range b.folders {
			if err := s.folder(folder, files); err != nil {
				return nil, err
			}
		}
		if all[b.name], err = s.sum(files); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// listed is what go list says of a package.
type listed struct {
	ImportPath, Dir  string
	Deps, EmbedFiles []string
}

// list returns the packages of all modules of the repository.
func list(root string) (map[string]*listed, error) {
	cmd := exec.Command("go", "list", "-e", "-tags", strings.Join(tags, ","), "-json=ImportPath,Dir,Deps,EmbedFiles", module+"/...")
	cmd.Dir, cmd.Stderr = root, os.Stderr
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0")
	text, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	packages := map[string]*listed{}
	for d := json.NewDecoder(bytes.NewReader(text)); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return packages, nil
		} else if err != nil {
			return nil, err
		}
		packages[p.ImportPath] = &p
	}
}

func (b *bench) owns(path string) bool {
	return slices.ContainsFunc(b.folders, func(f string) bool { return path == module+"/"+f || strings.HasPrefix(path, module+"/"+f+"/") })
}

type summer struct {
	root  string
	known map[string][]byte // sums of files
}

// files adds the files of a package that count. The package is nil if it is of another module.
func (s *summer) files(p *listed, files map[string]bool) error {
	if p == nil {
		return nil
	}
	dir, err := filepath.Rel(s.absolute(), p.Dir)
	if err != nil {
		return err
	}
	for _, name := range p.EmbedFiles {
		files[filepath.ToSlash(filepath.Join(dir, name))] = true
	}
	entries, err := os.ReadDir(p.Dir)
	for _, e := range entries {
		if name := e.Name(); !e.IsDir() && compiled(p.Dir, name) {
			files[filepath.ToSlash(filepath.Join(dir, name))] = true
		}
	}
	return err
}

func (s *summer) absolute() string {
	dir, err := filepath.Abs(s.root)
	if err != nil {
		return s.root
	}
	return dir
}

// compiled reports whether a file is a part of a program.
func compiled(dir, name string) bool {
	if strings.HasSuffix(name, "_test.go") {
		return false
	}
	c := build.Context{GOOS: "linux", GOARCH: "amd64", Compiler: "gc", BuildTags: tags, ReleaseTags: append(build.Default.ReleaseTags, "go1.27")}
	without, err := c.MatchFile(dir, name)
	c.ToolTags = []string{"goexperiment.simd"}
	with, err2 := c.MatchFile(dir, name)
	return (without || with) && err == nil && err2 == nil
}

// folder adds all files of a benchmark's own folder that are not about Go: scripts, and programs in other languages.
func (s *summer) folder(folder string, files map[string]bool) error {
	return filepath.WalkDir(filepath.Join(s.root, folder), func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() || strings.HasSuffix(path, "_test.go") || strings.HasSuffix(path, ".md") {
			return err
		}
		name, err := filepath.Rel(s.root, path)
		files[filepath.ToSlash(name)] = true
		return err
	})
}

func (s *summer) sum(files map[string]bool) (string, error) {
	names := make([]string, 0, len(files))
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	h := sha256.New()
	for _, name := range names {
		if s.known[name] == nil {
			text, err := os.ReadFile(filepath.Join(s.root, name))
			if err != nil {
				return "", err
			}
			if strings.HasSuffix(name, ".go") {
				text = tokens(text)
			}
			of := sha256.Sum256(text)
			s.known[name] = of[:]
		}
		fmt.Fprintf(h, "%s %x\n", name, s.known[name])
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:8]), nil
}

// tokens returns the tokens of a Go file, and the comments that are directives.
func tokens(text []byte) []byte {
	var (
		out bytes.Buffer
		s   scanner.Scanner
	)
	s.Init(token.NewFileSet().AddFile("", -1, len(text)), text, nil, scanner.ScanComments)
	for {
		_, tok, lit := s.Scan()
		switch {
		case tok == token.EOF:
			return out.Bytes()
		case tok == token.COMMENT && !strings.HasPrefix(lit, "//go:") && !strings.HasPrefix(lit, "//halyard:"):
		case tok == token.SEMICOLON: // written, or at the end of a line
			out.WriteString(";\n")
		case lit != "":
			out.WriteString(lit + " ")
		default:
			out.WriteString(tok.String() + " ")
		}
	}
}
