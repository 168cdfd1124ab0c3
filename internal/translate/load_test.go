package translate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/internal/translate/load"
)

// imports returns an importer of the packages that the programs of tests import.
var imports = sync.OnceValues(func() (types.Importer, error) {
	out, err := exec.Command("go", "list", "-deps", "-export", "-json=ImportPath,Export", load.GridPath, "math", "math/bits", "math/cmplx", "unsafe", "fmt", "os").Output()
	if err != nil {
		return nil, err
	}
	exports := map[string]string{}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var l struct{ ImportPath, Export string }
		if err := d.Decode(&l); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		exports[l.ImportPath] = l.Export
	}
	return &oneByOne{imp: importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) {
		if exports[path] == "" {
			return nil, fmt.Errorf("no package %s in tests", path)
		}
		return os.Open(exports[path])
	})}, nil
})

// oneByOne is an importer that parallel tests can share.
type oneByOne struct {
	mu  sync.Mutex
	imp types.Importer
}

func (o *oneByOne) Import(path string) (*types.Package, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.imp.Import(path)
}

// translated translates the text of a package.
func translated(t testing.TB, src string) (*Output, error) {
	t.Helper()
	imp, err := imports()
	require.NoError(t, err)
	return translatedWith(imp, src)
}

func translatedWith(imp types.Importer, src string) (*Output, error) {
	p, err := checked(imp, src)
	if err != nil {
		return nil, err
	}
	return p.Translate()
}

// checked type-checks a package of one file.
func checked(imp types.Importer, src string) (*Package, error) {
	fset := token.NewFileSet()
	file, bad := load.Parse(fset, "k.go", []byte(src))
	if len(bad) > 0 {
		return nil, bad
	}
	p := check(fset, "p", []*ast.File{file}, imp)
	p.Package = p.Expanded(map[string][]byte{"k.go": []byte(src)}, imp)
	return p, nil
}

// check type-checks the files of a package.
func check(fset *token.FileSet, path string, files []*ast.File, imp types.Importer) *Package {
	return &Package{Package: load.Check(fset, path, files, imp)}
}

// module writes a module with one package, and returns its folder. It can import this module's
// packages.
func module(t *testing.T, files map[string]string) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	dir := t.TempDir()
	sum, err := os.ReadFile(filepath.Join(root, "go.sum"))
	require.NoError(t, err)
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	require.NoError(t, err)
	text := strings.Replace(string(mod), "module github.com/go-halyard/halyard", "module example.org/p", 1) +
		"\nrequire github.com/go-halyard/halyard v0.0.0\n\nreplace github.com/go-halyard/halyard => " + root + "\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.sum"), sum, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte(text), 0o600))
	for name, src := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(src), 0o600))
	}
	return dir
}

const saxpy = `package p

import "github.com/go-halyard/halyard/kernel/grid"

//halyard:kernel
func saxpy(t grid.Thread, a float32, x, y []float32) {
	if i := t.Global(0); i < len(y) {
		y[i] += float32(a * x[i])
	}
}
`

// A package that uses declarations of its generated file can be loaded before that file exists, and
// compiles with it.
func TestGeneratedFileCompletesThePackage(t *testing.T) {
	t.Parallel()
	// one parameter has the name of its kernel, and others have names that the generated file uses
	hiding := "\n//halyard:kernel\nfunc scale(t grid.Thread, scale int32, ctx, s, kernels, float32 []int32) { s[0] = scale + ctx[0] + kernels[0] + float32[0] }\n"
	dir := module(t, map[string]string{"saxpy.go": saxpy + hiding, "use.go": "package p\n\nvar Use = Saxpy\n"})
	for range 2 { // without the file, and with it
		packages, err := Load(t.Context(), dir, ".")
		require.NoError(t, err)
		require.Len(t, packages, 1)
		made, err := packages[0].Translate()
		require.NoError(t, err)
		assert.Equal(t, filepath.Join(dir, "p_kernels.go"), made.File)
		assert.True(t, bytes.HasPrefix(made.Go, []byte(load.GeneratedBy+"\n\npackage p\n")))
		require.NoError(t, os.WriteFile(made.File, made.Go, 0o600))
	}
	vet := exec.Command("go", "vet", "-mod=mod", ".")
	vet.Dir = dir
	out, err := vet.CombinedOutput()
	assert.NoError(t, err, "%s", out)
}

func TestForeignFileIsNotOverwritten(t *testing.T) {
	dir := module(t, map[string]string{"saxpy.go": saxpy, "p_kernels.go": "package p\n\nvar precious = 1\n"})
	_, err := Load(t.Context(), dir, ".")
	assert.ErrorContains(t, err, "p_kernels.go: this file was not written by halyard kernels")
}

func TestPackagesWithoutKernelsAreLeftOut(t *testing.T) {
	dir := module(t, map[string]string{"a.go": "package p\n"})
	packages, err := Load(t.Context(), dir, "./...")
	require.NoError(t, err)
	assert.Empty(t, packages)
	_, err = Load(t.Context(), dir, "./nowhere")
	assert.Error(t, err)
}

// How a parameter is used decides how the launch passes it, also through functions.
func TestModes(t *testing.T) {
	made, err := translated(t, `package p

import "github.com/go-halyard/halyard/kernel/grid"

func get(x []int32, i int) int32    { return x[i] }
func put(x []int32, i int, v int32) { x[i] = v }
func count(x []int32, i int)        { grid.AtomicAdd(&x[i], 1) }
func both(p *int32) int32           { *p++; return *p }
func peek(p *int32) int32           { return *p }
func out(x grid.Out[int32])         { x[0] = 1 }

//halyard:kernel
func k(t grid.Thread, a, b, c, d, e, f, g []int32, h, i grid.Out[int32]) {
	put(b, 0, get(a, 0)+a[1])
	count(c, 0)
	both(&d[0])
	peek(&e[0])
	f[0]++
	for i, v := range g {
		h[i] = v + int32(len(h))
	}
	out(i)
}
`)
	require.NoError(t, err)
	assert.Contains(t, string(made.Go), "ctx, on, over, kernel.In(a), kernel.Value(int64(kernel.Len(a))), kernel.InOut(b), kernel.Value(int64(kernel.Len(b))), "+
		"kernel.InOut(c), kernel.Value(int64(kernel.Len(c))), kernel.InOut(d), kernel.Value(int64(kernel.Len(d))), kernel.In(e), kernel.Value(int64(kernel.Len(e))), "+
		"kernel.InOut(f), kernel.Value(int64(kernel.Len(f))), kernel.In(g), kernel.Value(int64(kernel.Len(g))), kernel.Out(h), kernel.Value(int64(kernel.Len(h))), kernel.Out(i), kernel.Value(int64(kernel.Len(i))))")
}

// generated translates the package in a folder and writes its file.
func generated(t *testing.T, dir string) *Output {
	t.Helper()
	packages, err := Load(t.Context(), dir, ".")
	require.NoError(t, err)
	require.Len(t, packages, 1)
	made, err := packages[0].Translate()
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(made.File, made.Go, 0o600))
	return made
}

// builds builds the package in a folder.
func builds(t *testing.T, dir string, env ...string) {
	t.Helper()
	cmd := exec.Command("go", "build", "-mod=mod", "-ldflags", "-s -w", ".")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	assert.NoError(t, err, "%s", out)
}

// A mark that marks nothing is an error, and so is a kernel that the generated file could not use in each build.
func TestMarksThatWouldBeIgnored(t *testing.T) {
	t.Parallel()
	const head, body = "package p\n\nimport \"github.com/go-halyard/halyard/kernel/grid\"\n\nvar _ grid.Thread\n\n", "func k(t grid.Thread, x []int32) { x[0] = 1 }\n"
	const good = head + "//halyard:kernel\n" + body
	const asWritten, nothing = "this marks no kernel; write //halyard:kernel, without a space, and nothing else in the line but the word fast and the types of a generic kernel", "this marks no kernel; write it in the line before a function"
	const leftOut = "k is in a file that some builds leave out, because of a build constraint, its name, or cgo"
	for _, c := range []struct{ file, src, want string }{
		{"k.go", good, ""},
		{"k.go", head + "// Mark it with //halyard:kernel, for halyard: kernels are translated then.\n//\n//halyard:kernel \n" + body, ""},
		{"k.go", head + "// halyard:kernel\n" + body, asWritten},
		{"k.go", head + "//halyard:kernel fast\n" + body, ""},
		{"k.go", "//halyard:kernel fast\n\n" + good, ""},
		{"k.go", "//halyard:kernel fast float32\n\n" + good, "before the package clause only //halyard:kernel fast is allowed, for all kernels of the package"},
		{"k.go", "//halyard:kernel\n" + good, "before the package clause only //halyard:kernel fast is allowed"},
		{"k.go", head + "//halyard:kernel quick\n" + body, "k is not generic; write //halyard:kernel or //halyard:kernel fast, and nothing else in the line"},
		{"k.go", head + "// halyard:kernel fast\n" + body, asWritten},
		{"k.go", head + "//halyard:kernels\n" + body, asWritten},
		{"k.go", head + "//Halyard:Kernel\n" + body, asWritten},
		{"k.go", head + "/* halyard:kernel */\n" + body, asWritten},
		{"k.go", head + "//halyard:kernel\nvar v = 1\n\n" + body, nothing},
		{"k.go", head + "//halyard:kernel\ntype v int\n\n" + body, nothing},
		{"k.go", head + "//halyard:kernel\n\n" + body, nothing},
		{"k.go", head + "func f() {\n\t//halyard:kernel\n}\n", nothing},
		{"k_test.go", good, "a kernel cannot be in a file of tests"},
		{"k_test.go", strings.Replace(good, "package p", "package p_test", 1), "a kernel cannot be in a file of tests"},
		{"k_windows.go", good, "a kernel cannot be in a file that some builds leave out"},
		{"k_mips64le.go", good, "a kernel cannot be in a file that some builds leave out"},
		{"k_linux.go", good, leftOut},
		{"k_linux_amd64.go", good, leftOut},
		{"k.go", "//go:build !windows\n\n" + good, leftOut},
		{"k.go", "// What is this?\n\n//go:build ignore\n\n" + good, "a kernel cannot be in a file that some builds leave out"},
		{"k_other.go", good, ""},
		{"k_test_.go", good, ""},
		{"_k.go", good, "none"},
	} {
		name := c.file + ": " + strings.TrimPrefix(c.src, head)
		dir := module(t, map[string]string{c.file: c.src, "own.go": "package p\n\n//go:build is what this comment is about\nvar own = 1\n"})
		packages, err := Load(t.Context(), dir, ".")
		if err == nil && len(packages) > 0 {
			_, err = packages[0].Translate()
		}
		switch c.want {
		case "":
			assert.NoError(t, err, name)
		case "none":
			assert.NoError(t, err, name)
			assert.Empty(t, packages, name)
		default:
			var all load.Errors
			if assert.ErrorAs(t, err, &all, name) {
				assert.Contains(t, all[0].Text, c.want, name)
				assert.Equal(t, c.file, all[0].Pos.Filename, name)
				assert.Positive(t, all[0].Pos.Line, name)
			}
		}
	}
}

// What a kernel calls may not differ between builds either.
func TestHelpersThatSomeBuildsLeaveOut(t *testing.T) {
	dir := module(t, map[string]string{"k.go": "package p\n\nimport \"github.com/go-halyard/halyard/kernel/grid\"\n\n//halyard:kernel\nfunc k(t grid.Thread, x []int32) {\n\tx[0] = two()\n}\n",
		"two_linux.go": "package p\n\nfunc two() int32 { return 2 }\n"})
	packages, err := Load(t.Context(), dir, ".")
	require.NoError(t, err)
	_, err = packages[0].Translate()
	assert.ErrorContains(t, err, "k.go:7:9: two is in a file that some builds leave out")
}

// Each syntax error has its place.
func TestSyntaxErrors(t *testing.T) {
	dir := module(t, map[string]string{"k.go": saxpy + "\nfunc a() { x := }\n\nfunc b() { if }\n"})
	_, err := Load(t.Context(), dir, ".")
	var all load.Errors
	require.ErrorAs(t, err, &all)
	assert.Equal(t, []int{12, 14}, []int{all[0].Pos.Line, all[len(all)-1].Pos.Line}, err)
	assert.NotContains(t, err.Error(), "-: ")
}

// A generated file without kernels is found: also one that the package's former name gave it.
func TestOrphans(t *testing.T) {
	t.Parallel()
	const old = load.GeneratedBy + "\n\npackage p\n"
	dir := module(t, map[string]string{"p.go": "package p\n", "p_kernels.go": old})
	packages, err := Load(t.Context(), dir, ".")
	require.NoError(t, err)
	require.Len(t, packages, 1)
	made, err := packages[0].Translate()
	require.NoError(t, err)
	assert.Equal(t, &Output{Orphans: []string{filepath.Join(dir, "p_kernels.go")}}, made)

	dir = module(t, map[string]string{"p.go": saxpy, "former_kernels.go": old})
	made = generated(t, dir)
	assert.Equal(t, []string{filepath.Join(dir, "former_kernels.go")}, made.Orphans)
	assert.NotEmpty(t, made.Go)
}

// The functions of package rand are translated like those of the package that uses them, also beside functions of the same names.
func TestRandomNumbersAreTranslated(t *testing.T) {
	t.Parallel()
	dir := module(t, map[string]string{"k.go": `package p

import (
	"github.com/go-halyard/halyard/kernel/grid"
	"github.com/go-halyard/halyard/kernel/grid/rand"
)

func New(seed uint64) rand.Rand { return rand.New(seed, 1) }

//halyard:kernel
func k(t grid.Thread, x []float32) {
	r, s := New(1), rand.New(2, 3)
	x[0] = r.Float32() + s.Float32()
}
`})
	packages, err := Load(t.Context(), dir, ".")
	require.NoError(t, err)
	require.Len(t, packages, 1)
	made, err := packages[0].Translate()
	require.NoError(t, err)
	assert.Regexp(t, `FUNCTION T_Rand f_New(_1)?\(GO_UINT h_seed, GO_INT h_stream\)`, made.C)
	assert.Regexp(t, `FUNCTION T_Rand f_New(_1)?\(GO_UINT h_seed\)`, made.C)
	assert.Equal(t, 1, strings.Count(made.C, "FUNCTION f32 f_Float32("))
}

// A go command that is newer than the Go that built the program is named, with what to do.
func TestNewerGo(t *testing.T) {
	t.Setenv("GOTOOLCHAIN", "go1.27.0")
	dir := module(t, map[string]string{"k.go": "package main\n\nimport \"github.com/go-halyard/halyard/kernel/grid\"\n\n//halyard:kernel\nfunc k(t grid.Thread, y []int32) { y[t.Global(0)] = 1 }\n"})
	if out, err := exec.Command("go", "env", "GOVERSION").Output(); err != nil || strings.HasPrefix(runtime.Version(), strings.TrimSpace(string(out))) {
		t.Skip("no other Go than this")
	}
	_, err := Load(t.Context(), dir, ".")
	require.ErrorContains(t, err, "the go command is go1.27.0, and this halyard command, built by "+runtime.Version()+", cannot read what it compiles; build halyard anew")
}

// The end of a file is told once.
func TestUnexpectedEnd(t *testing.T) {
	_, bad := load.Parse(token.NewFileSet(), "k.go", []byte("package p\n\nfunc f() {\n\tif true {\n"))
	for i, e := range bad {
		require.NotContains(t, bad[:i], e)
	}
}

// A variable that a file of tests or of another build changes is no table. What a local variable of the same name means there does not matter.
func TestVariablesThatOtherFilesChange(t *testing.T) {
	t.Parallel()
	const kernel = "package p\n\nimport \"github.com/go-halyard/halyard/kernel/grid\"\n\nvar table = [...]int32{1, 2}\n\n//halyard:kernel\nfunc k(t grid.Thread, x []int32) { x[0] = table[t.Global(0)&1] }\n"
	for _, c := range []struct{ file, src, want string }{
		{"own_windows.go", "package p\n\nfunc init() { table[1] = 3 }\n", "table is a variable of the package that own_windows.go:3 changes"},
		{"own_test.go", "package p\n\nvar _ = &table\n", "table is a variable of the package that own_test.go:3 takes the address of"},
		{"own_test.go", "package p\n\nfunc f() int32 {\n\ttable := [2]int32{}\n\ttable[0]++\n\treturn table[1]\n}\n\nvar _ = table[1] + f()\n", ""},
		{"own_test.go", "package p_test\n\nvar table [3]int\n\nfunc init() { table[1] = 3 }\n", ""},
	} {
		packages, err := Load(t.Context(), module(t, map[string]string{"k.go": kernel, c.file: c.src}), ".")
		require.NoError(t, err)
		_, err = packages[0].Translate()
		if c.want == "" {
			assert.NoError(t, err, c.src)
		} else {
			assert.ErrorContains(t, err, c.want)
		}
	}
}
