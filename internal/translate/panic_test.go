package translate

import (
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var everyFile = flag.Bool("everyfile", false, "translate the functions of all of Go's files, and not of a sample")

// noImports imports the packages that tests have. Other packages are empty, so code that uses them
// has no types.
type noImports struct {
	have   types.Importer
	others map[string]*types.Package
}

func (n *noImports) Import(path string) (*types.Package, error) {
	switch path {
	case gridPath, "math", "math/bits", "unsafe":
		return n.have.Import(path)
	}
	if n.others[path] == nil {
		p := types.NewPackage(path, filepath.Base(path))
		p.MarkComplete()
		n.others[path] = p
	}
	return n.others[path], nil
}

// The translator translates or refuses every function of Go's own source, both as a kernel and as a function that a kernel calls. It never panics.
// Most imported packages are empty here, so the translator also meets code whose types are missing.
func TestGoItselfDoesNotPanic(t *testing.T) {
	t.Parallel()
	imp, err := imports()
	require.NoError(t, err)
	var units [][]string // the files of a package, or one file of Go's own tests
	root := build.Default.GOROOT
	err = filepath.WalkDir(filepath.Join(root, "src"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if p, err := build.ImportDir(path, 0); err == nil && len(p.GoFiles) > 0 {
			var files []string
			for _, name := range p.GoFiles {
				files = append(files, filepath.Join(path, name))
			}
			units = append(units, files)
		}
		return nil
	})
	if err != nil {
		t.Skip("Go's source is not installed:", err)
	}
	_ = filepath.WalkDir(filepath.Join(root, "test"), func(path string, d fs.DirEntry, err error) error { // which some installations lack
		if err == nil && !d.IsDir() && strings.HasSuffix(path, ".go") {
			units = append(units, []string{path})
		}
		return nil
	})
	slices.SortFunc(units, func(a, b []string) int { return strings.Compare(a[0], b[0]) })
	parsed, functions, done := 0, 0, 0
	for _, unit := range units {
		name := filepath.Base(filepath.Dir(unit[0]))
		if !*everyFile && !slices.Contains([]string{"bits", "color", "sort", "rand", "chacha8rand", "utf8", "container", "ring", "crc32", "sha1", "edwards25519", "adler32", "slices"}, name) {
			continue
		}
		fset := token.NewFileSet()
		var files []*ast.File
		for _, path := range unit {
			file, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
			if err == nil {
				files = append(files, file)
			}
		}
		if len(files) == 0 {
			continue
		}
		parsed += len(files)
		n, translated := neverPanics(t, &noImports{imp, map[string]*types.Package{}}, fset, files)
		functions, done = functions+n, done+translated
		if *everyFile {
			t.Log(unit[0], n, translated)
		}
	}
	t.Logf("%d packages and files alone, %d files, %d functions, %d translations", len(units), parsed, functions, done)
	assert.Greater(t, done, 20, "hardly anything was translated, so hardly anything was tried")
}

// neverPanics translates each function of a package twice: as a kernel, and as a function that a kernel
// calls.
func neverPanics(t *testing.T, imp types.Importer, fset *token.FileSet, files []*ast.File) (functions, done int) {
	p := check(fset, "p", files, imp)
	base := p.program()
	var decls []ast.Decl
	for _, file := range files {
		decls = append(decls, file.Decls...)
	}
	for _, d := range decls {
		decl, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		functions++
		for _, as := range []string{"kernel", "function"} {
			text, err := translateOne(base, decl, as)
			switch {
			case err == nil && text != "":
				done++
			case err == nil:
				t.Errorf("%s: function %s has neither a translation nor an error as %s", fset.Position(decl.Pos()), decl.Name.Name, as)
			default:
				var e Errors
				if !errors.As(err, &e) {
					t.Errorf("%s: function %s as %s: %v", fset.Position(decl.Pos()), decl.Name.Name, as, err)
				}
			}
		}
	}
	return functions, done
}

// translateOne translates one function, as a kernel or as a function that a kernel calls. Most functions are refused as kernels because of their
// parameters.
func translateOne(base *program, decl *ast.FuncDecl, as string) (text string, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	p := base.pkg
	g := &program{own: p, pkg: p, known: base.known, took: map[*Package]bool{}, context: types.NewContext(), decls: base.decls, kernels: map[*types.Func]bool{}, functions: map[*types.Func][]*function{},
		typed: map[string]bool{}, structs: map[string]string{}, needed: map[string]bool{}}
	obj, ok := p.info.Defs[decl.Name].(*types.Func)
	if !ok {
		return "", Errors{{Text: "the checker has no such function"}}
	}
	if as == "kernel" {
		g.kernels[obj] = true
		var f *function
		var launcher string
		g.launches = map[string]Launch{decl.Name.Name: silent{}}
		g.try(func() { f, launcher = g.kernel(decl) })
		if err := g.failed(); err != nil {
			return "", err
		}
		text := g.text()
		err := p.generate(&Output{C: text}, "", []*function{f}, []string{launcher}, g.sites, nil)
		return text, err
	}
	var args []types.Type
	var spaces []space
	g.try(func() {
		sig := obj.Type().(*types.Signature)
		n := sig.TypeParams().Len() + sig.RecvTypeParams().Len()
		params := sig.TypeParams()
		if sig.RecvTypeParams().Len() > 0 {
			params = sig.RecvTypeParams()
		}
		for i := range n {
			constraint, ok := params.At(i).Constraint().Underlying().(*types.Interface)
			if !ok || !types.Satisfies(types.Typ[types.Int32], constraint) {
				refuse(decl.Pos(), "int32 is no such type")
			}
			args = append(args, types.Typ[types.Int32])
		}
		n = sig.Params().Len()
		if sig.Recv() != nil {
			n++
		}
		spaces = make([]space, n)
		g.function(obj, args, spaces, decl.Pos())
	})
	if err := g.failed(); err != nil {
		return "", err
	}
	return g.text(), nil
}

// silent is a Launch of which nothing is known.
type silent struct{}

func (silent) Footprint(string) (function, value string)        { return "", "kernel.Footprint{}" }
func (silent) Said() (cut [3]bool, why string, slices []string) { return cut, "", nil }
func (silent) Steps() string                                    { return "" }
func (silent) Over([]string, bool) string                       { return "" }
func (silent) Rounds() (most [][]string, from, at token.Pos)    { return nil, 0, 0 }
