package build

import (
	"flag"
	"fmt"
	"go/ast"
	gobuild "go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/internal/translate/facts"
	"github.com/go-halyard/halyard/internal/translate/footprint"
	"github.com/go-halyard/halyard/internal/translate/ir"
	"github.com/go-halyard/halyard/internal/translate/load"
)

// mostlyEmpty imports packages that are empty but for three, so that code which uses them has no types.
type mostlyEmpty struct{ have types.Importer }

func (m mostlyEmpty) Import(path string) (*types.Package, error) {
	switch path {
	case "maps", "math", "math/bits", "unsafe":
		return m.have.Import(path)
	}
	p := types.NewPackage(path, filepath.Base(path))
	p.MarkComplete()
	return p, nil
}

var everyFile = flag.Bool("everyfile", false, "build the functions of all of Go's files, and not of a sample")

// ownFiles returns the files of some of Go's packages, or of all packages and, each by itself, of its tests.
func ownFiles(t *testing.T) (units [][]string) {
	root := gobuild.Default.GOROOT
	unit := func(dir string) error {
		found, err := gobuild.ImportDir(dir, 0)
		if err == nil && len(found.GoFiles) > 0 {
			var files []string
			for _, name := range found.GoFiles {
				files = append(files, filepath.Join(dir, name))
			}
			units = append(units, files)
		}
		return err
	}
	if *everyFile {
		require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
			case d.IsDir() && strings.HasPrefix(path, filepath.Join(root, "src")):
				_ = unit(path) // most folders have no package for this platform, or none at all
			case strings.HasPrefix(path, filepath.Join(root, "test")) && strings.HasSuffix(path, ".go"):
				units = append(units, []string{path})
			}
			return err
		}))
		return units
	}
	for _, dir := range []string{
		"maps", "math", "math/bits", "math/cmplx", "image/color", "sort", "math/rand", "math/rand/v2", "internal/chacha8rand", "unicode/utf8", "container/ring", "hash/crc32",
		"crypto/internal/fips140/sha256", "crypto/internal/fips140/edwards25519/field", "hash/adler32", "slices", "strconv", "compress/bzip2", "image/draw",
	} {
		if err := unit(filepath.Join(root, "src", dir)); err != nil {
			t.Skip("Go's source is not installed:", err)
		}
	}
	return units
}

// Functions of Go's own packages are built or refused, without a panic, and those that are built keep the rules.
func TestGoItselfDoesNotPanic(t *testing.T) {
	t.Parallel()
	imports := mostlyEmpty{importer.ForCompiler(token.NewFileSet(), "source", nil)}
	functions, done := 0, 0
	for _, unit := range ownFiles(t) {
		fset := token.NewFileSet()
		var files []*ast.File
		for _, path := range unit {
			if file, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution); err == nil { // some of Go's tests have errors
				files = append(files, file)
			}
		}
		if len(files) == 0 {
			continue
		}
		src := load.Check(fset, "p", files, imports)
		for _, file := range files {
			for _, d := range file.Decls {
				decl, ok := d.(*ast.FuncDecl)
				if !ok {
					continue
				}
				functions++
				made, err := buildOne(src, decl)
				if !assert.NoError(t, err, "%s: %s", fset.Position(decl.Pos()), decl.Name.Name) {
					return
				}
				if made != nil {
					done++
					assert.NoError(t, made.Verify(), "%s\n%s", fset.Position(decl.Pos()), made)
					assert.NotEmpty(t, made.String())
					assert.NoError(t, find(made), "%s\n%s", fset.Position(decl.Pos()), made)
				}
			}
		}
	}
	t.Logf("%d functions, %d built", functions, done)
	assert.Greater(t, done, 100, "hardly anything was built, so hardly anything was tried")
}

// find finds out what is known of functions, as if each were a kernel.
func find(made *ir.Program) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	effects := map[*ir.Function]*facts.Effects{}
	for _, f := range made.Functions {
		effects[f] = facts.EffectsOf(f, effects)
		facts.VarianceOf(f, effects, nil)
		facts.LoopedOf(f)
		footprint.Steps(f)
		footprint.Over(f, effects, make([]string, len(f.Params)), false)
		touched := footprint.Of(made, f, effects)
		touched.Func("touch")
		touched.Said()
	}
	return nil
}

// buildOne builds a function, with int32 for its type parameters. It returns nil if the function is refused, or cannot have them.
func buildOne(src *load.Package, decl *ast.FuncDecl) (made *ir.Program, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	g := newProgram(src)
	obj, ok := src.Info.Defs[decl.Name].(*types.Func)
	if !ok {
		return nil, nil
	}
	sig := obj.Signature()
	var args []types.Type
	for _, list := range []*types.TypeParamList{sig.RecvTypeParams(), sig.TypeParams()} {
		for v := range list.TypeParams() {
			if c, ok := v.Constraint().Underlying().(*types.Interface); !ok || !types.Satisfies(types.Typ[types.Int32], c) {
				return nil, nil
			}
			args = append(args, types.Typ[types.Int32])
		}
	}
	g.try(func() { g.function(obj, args, make([]form, sig.Params().Len()+1), decl.Pos()) })
	if len(g.errs) > 0 {
		return nil, nil
	}
	return g.made, nil
}
