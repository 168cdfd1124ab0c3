package build

import (
	"fmt"
	"go/ast"
	gobuild "go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/internal/translate"
	"github.com/go-halyard/halyard/internal/translate/facts"
	"github.com/go-halyard/halyard/internal/translate/footprint"
	"github.com/go-halyard/halyard/internal/translate/ir"
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

// Functions of Go's own packages are built or refused, without a panic, and those that are built keep the rules.
func TestGoItselfDoesNotPanic(t *testing.T) {
	t.Parallel()
	imports := mostlyEmpty{importer.ForCompiler(token.NewFileSet(), "source", nil)}
	functions, done := 0, 0
	for _, dir := range []string{
		"maps", "math", "math/bits", "math/cmplx", "image/color", "sort", "math/rand", "math/rand/v2", "internal/chacha8rand", "unicode/utf8", "container/ring", "hash/crc32",
		"crypto/internal/fips140/sha256", "crypto/internal/fips140/edwards25519/field", "hash/adler32", "slices", "strconv", "compress/bzip2", "image/draw",
	} {
		found, err := gobuild.ImportDir(filepath.Join(gobuild.Default.GOROOT, "src", dir), 0)
		if err != nil {
			t.Skip("Go's source is not installed:", err)
		}
		fset := token.NewFileSet()
		var files []*ast.File
		for _, name := range found.GoFiles {
			file, err := parser.ParseFile(fset, filepath.Join(found.Dir, name), nil, parser.SkipObjectResolution)
			require.NoError(t, err)
			files = append(files, file)
		}
		src := translate.Check(fset, "p", files, imports).Source()
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

// buildOne builds a function, with int32 for its type parameters. It returns nil if the function is refused.
func buildOne(src *translate.Source, decl *ast.FuncDecl) (made *ir.Program, err error) {
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
	for range sig.TypeParams().Len() + sig.RecvTypeParams().Len() {
		args = append(args, types.Typ[types.Int32])
	}
	g.try(func() { g.function(obj, args, make([]ir.Space, sig.Params().Len()+1), decl.Pos()) })
	if len(g.errs) > 0 {
		return nil, nil
	}
	return g.made, nil
}
