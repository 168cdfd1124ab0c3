// Package load finds, parses and type-checks packages with kernels, and the packages whose functions kernels call. Errors outside of the kernels and of the
// functions that they call do not matter. So a program can use the generated functions before they exist.
package load

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/token"
	"go/types"
	"go/version"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

// Load returns the packages that match patterns and have kernels or a generated file. The go command runs in the folder dir, matches the patterns, and compiles
// the imports of these packages.
func Load(ctx context.Context, dir string, patterns ...string) (found []*Package, err error) {
	args := append([]string{"list", "-e", "-deps", "-export", "-json=Dir,Name,ImportPath,Export,GoFiles,CgoFiles,TestGoFiles,XTestGoFiles,IgnoredGoFiles,DepOnly,Standard,Error,ForTest", "--"}, patterns...)
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	var out, failure bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &failure
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("go list: %w: %s", err, strings.TrimSpace(failure.String()))
	}
	exports := map[string]string{}
	list := map[string]*listed{}
	var named []listed
	for d := json.NewDecoder(&out); ; {
		var l listed
		err := d.Decode(&l)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		exports[l.ImportPath] = l.Export
		list[l.ImportPath] = &l
		if !l.DepOnly {
			named = append(named, l)
		}
	}
	defer func() { // go/importer panics if a newer compiler wrote the export data
		p := recover()
		if p == nil {
			return
		}
		cmd := exec.CommandContext(ctx, "go", "env", "GOVERSION")
		cmd.Dir = dir
		out, _ := cmd.Output()
		now := strings.TrimSpace(string(out))
		if version.Compare(version.Lang(now), version.Lang(runtime.Version())) <= 0 {
			panic(p)
		}
		found, err = nil, fmt.Errorf("the go command is %s, and this halyard command, built by %s, cannot read what it compiles; build halyard anew, by the same Go", now, runtime.Version())
	}()
	fset := token.NewFileSet()
	imports := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) {
		if exports[path] == "" {
			return nil, fmt.Errorf("package %s could not be compiled", path)
		}
		return os.Open(exports[path])
	})
	known := &others{fset: fset, imports: imports, dir: dir, listed: list, loaded: map[string]*Package{}}
	for _, l := range named {
		if len(l.GoFiles)+len(l.CgoFiles)+len(l.TestGoFiles)+len(l.XTestGoFiles)+len(l.IgnoredGoFiles) == 0 {
			if l.Error != nil {
				return nil, fmt.Errorf("%s: %s", l.ImportPath, strings.TrimSpace(l.Error.Err))
			}
			continue
		}
		p, err := load(fset, imports, dir, l.Dir, l.ImportPath, l.Name, l.GoFiles, l.CgoFiles, append(l.TestGoFiles, l.XTestGoFiles...), l.IgnoredGoFiles)
		if err != nil {
			return nil, err
		}
		if p != nil {
			p.others, p.Written().others = known, known
			found = append(found, p)
		}
	}
	return found, nil
}

// load returns the package in a folder, or nil if it has neither kernels nor a generated file. Kernels in test files, and in files that the go command ignores,
// are errors.
func load(fset *token.FileSet, imports types.Importer, dir, folder, path, name string, plain, cgo, tests, ignored []string) (*Package, error) {
	var files []*ast.File
	var bad Errors
	var generated []string
	constrained, marked, texts := map[string]bool{}, false, map[string][]byte{}
	for i, short := range slices.Concat(plain, cgo, tests, ignored) {
		file := filepath.Join(folder, short)
		src, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		if bytes.HasPrefix(src, []byte(GeneratedBy)) {
			generated = append(generated, file)
			continue
		}
		if short == GeneratedName(name) || short == TestName(name) || short == SIMDName(name) || short == VulkanName(name) {
			bad = append(bad, Error{token.Position{Filename: file}, "this file was not written by halyard kernels, which would overwrite it; rename the file"})
		}
		if rel, err := filepath.Rel(dir, file); err == nil && !strings.HasPrefix(rel, "..") {
			file = rel
		}
		inPackage := i < len(plain)+len(cgo)
		if !inPackage && (!bytes.Contains(src, []byte("halyard:kernel")) || strings.HasPrefix(short, "_") || strings.HasPrefix(short, ".")) {
			continue
		}
		tree, errs := Parse(fset, file, src)
		good, wrong := marks(fset, tree)
		marked = marked || len(good)+len(wrong) > 0
		bad = append(bad, wrong...)
		switch {
		case inPackage:
			files, bad, texts[file] = append(files, tree), append(bad, errs...), src
			constrained[file] = i >= len(plain) || isConstrained(short, tree)
			continue
		case i < len(plain)+len(cgo)+len(tests):
			bad = refuseMarks(bad, fset, good, "a kernel cannot be in a file of tests, which the generated file cannot use; move it to another file")
		default:
			bad = refuseMarks(bad, fset, good, "a kernel cannot be in a file that some builds leave out, as this one does; move it to a file without a build constraint")
		}
	}
	if !marked {
		if len(generated) == 0 {
			return nil, nil
		}
		return &Package{Dir: folder, Name: name, Orphans: generated}, nil
	}
	if len(bad) > 0 {
		return nil, bad
	}
	p := Check(fset, path, files, imports)
	p.Dir, p.constrained = folder, constrained
	p = p.Expanded(texts, imports)
	p.AllFast = slices.ContainsFunc(files, func(f *ast.File) bool { return FastMark(f) != nil })
	for _, file := range generated {
		switch filepath.Base(file) {
		case GeneratedName(p.Name), TestName(p.Name), VulkanName(p.Name):
		case SIMDName(p.Name):
			p.Vectors = append(p.Vectors, file)
		default:
			p.Orphans = append(p.Orphans, file)
		}
	}
	return p, nil
}

// almost matches comments that look like a mark but are not one, such as "// halyard:kernel".
var almost = regexp.MustCompile(`(?i)^(//halyard:.*|//[ \t]*halyard:[ \t]*kernels?([ \t]+\S+)?[ \t\r]*|/\*\s*halyard:kernel\s*\*/)$`)

// marks returns the marks of kernels in a file, and errors for marks that mark no function.
func marks(fset *token.FileSet, file *ast.File) (good []*ast.Comment, bad Errors) {
	docs, fast := map[*ast.CommentGroup]bool{}, FastMark(file)
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok {
			docs[f.Doc] = true
		}
	}
	for _, group := range file.Comments {
		for _, c := range group.List {
			switch {
			case isMark(c) && docs[group] || c == fast:
				good = append(good, c)
			case isMark(c) && c.Pos() < file.Package:
				bad = refuseMarks(bad, fset, []*ast.Comment{c}, "before the package clause only "+Marker+" fast is allowed, for all kernels of the package")
			case isMark(c):
				bad = refuseMarks(bad, fset, []*ast.Comment{c}, "this marks no kernel; write it in the line before a function")
			case almost.MatchString(c.Text):
				bad = refuseMarks(bad, fset, []*ast.Comment{c}, "this marks no kernel; write "+Marker+", without a space, and nothing else in the line but the word fast and the types of a generic kernel")
			}
		}
	}
	return good, bad
}

func refuseMarks(bad Errors, fset *token.FileSet, marks []*ast.Comment, text string) Errors {
	for _, c := range marks {
		bad = append(bad, Error{fset.Position(c.Pos()), text})
	}
	return bad
}
