// Package guide checks the pages beside it: their Go code compiles, and what they say exists.
package guide

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/conformance"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/kernel"
)

// block is a fenced piece of a page.
type block struct {
	page string
	line int // of its first line
	lang string
	text string
	from string // the file that the line before it says it is from, if it does
}

func (b block) String() string { return fmt.Sprintf("%s:%d", b.page, b.line) }

// pages returns the Markdown files that the tests are about.
func pages(t *testing.T) []string {
	t.Helper()
	list, err := filepath.Glob("*.md")
	require.NoError(t, err)
	require.NotEmpty(t, list)
	return append(list, "../security.md", "../support.md", "../../RATIONALE.md")
}

func read(t *testing.T, page string) string {
	t.Helper()
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	return string(text)
}

// prose is a page without its fenced pieces.
func prose(t *testing.T, page string) string {
	t.Helper()
	parts := strings.Split(read(t, page), "```")
	var p strings.Builder
	for i := 0; i < len(parts); i += 2 {
		p.WriteString(parts[i])
	}
	return p.String()
}

// source is how a page says that what follows is part of a file: a link to it and a colon, at the end of a line.
var source = regexp.MustCompile(`\]\(([^)]+\.(?:go|py))\):\n$`)

// blocks returns the fenced pieces in one of the languages.
func blocks(t *testing.T, langs ...string) (found []block) {
	t.Helper()
	for _, page := range pages(t) {
		open := -1
		lines := strings.Split(read(t, page), "\n")
		for i, l := range lines {
			fence, ok := strings.CutPrefix(strings.TrimSpace(l), "```")
			switch {
			case !ok:
			case open < 0:
				open = i
				b := block{page: page, line: i + 2, lang: fence}
				if m := source.FindStringSubmatch(strings.Join(lines[max(0, i-2):i], "\n")); m != nil {
					b.from = filepath.Join(filepath.Dir(page), m[1])
				}
				found = append(found, b)
			default:
				found[len(found)-1].text = strings.Join(lines[open+1:i], "\n") + "\n"
				open = -1
			}
		}
		require.Negative(t, open, "%s: a block has no end", page)
	}
	return slices.DeleteFunc(found, func(b block) bool { return !slices.Contains(langs, b.lang) })
}

// given are the names that code in the pages may use without saying where they come from.
const given = `var (
	ctx    context.Context
	dev    *hal.Device
	second *hal.Device
	stream *hal.Stream
	other  *hal.Stream
	x      *buffer.Buffer[float32]
	data   []float32
	n      int
	t      *testing.T
)

func check(err error)                                {}
func launch(kernel any, p uintptr, stream uintptr)   {}
func use(...any)                                     {}
`

// handle is one more, where package kernel does not have the name.
const handle = "var kernel any\n"

// imported are the packages that code in the pages may use, by the name that it uses.
var imported = map[string]string{
	"halyard": "github.com/go-halyard/halyard",
	"array":   "buffer/array", "buffer": "buffer", "coherence": "coherence", "comm": "comm", "conformance": "conformance", "dlpack": "buffer/dlpack", "kernel": "kernel", "encode": "buffer/encode", "grid": "kernel/grid",
	"hal": "hal", "driver": "hal/driver", "host": "backends/host", "pool": "hal/pool", "trace": "buffer/trace",
	"bytes": "", "context": "", "errors": "", "fmt": "", "io": "", "log": "", "math": "", "os": "", "strings": "", "testing": "", "time": "",
	"unsafe": "", "cl": "github.com/go-gl/cl/v1.2/cl", "cu": "gorgonia.org/cu",
}

const module = "github.com/go-halyard/halyard/"

var qualified = regexp.MustCompile(`\b([a-z]+)\.[A-Z]`)

// program makes a file that compiles if the block does: statements become the body of a function.
func (b block) program() string {
	if strings.HasPrefix(strings.TrimLeft(b.text, "\n"), "package ") {
		return b.text
	}
	used := map[string]bool{"context": true, "hal": true, "buffer": true, "testing": true}
	for _, m := range qualified.FindAllStringSubmatch(b.text, -1) {
		used[m[1]] = true
	}
	var p strings.Builder
	p.WriteString("package p\n\nimport (\n")
	for name, path := range imported {
		switch {
		case !used[name]:
		case path == "":
			fmt.Fprintf(&p, "\t%q\n", name)
		case strings.Contains(path, "."):
			fmt.Fprintf(&p, "\t%s %q\n", name, path)
		default:
			fmt.Fprintf(&p, "\t%q\n", module+path)
		}
	}
	p.WriteString(")\n\n" + given + "\n")
	if !used["kernel"] {
		p.WriteString(handle)
	}
	if regexp.MustCompile(`(?m)^func [A-Z]`).MatchString(b.text) {
		p.WriteString(b.text) // declarations
	} else {
		p.WriteString("func _() {\n" + b.text + "}\n")
	}
	return p.String()
}

func goCommand(env []string, args ...string) ([]byte, error) {
	cmd := exec.Command("go", args...)
	cmd.Dir = "../.."
	cmd.Env = append(os.Environ(), env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, &stderr)
	}
	return out, nil
}

// loader type-checks packages: Halyard's and the standard library's as the go command has compiled them; others from source,
// cgo included, without a C compiler or headers: what comes from C is unknown to it, and matches anything.
type loader struct {
	fset     *token.FileSet
	compiled map[string]string // files by import path
	gc       types.Importer
	done     map[string]*types.Package
}

// oneLoader makes one loader for all tests.
var oneLoader = sync.OnceValues(func() (*loader, error) {
	l := &loader{fset: token.NewFileSet(), compiled: map[string]string{}, done: map[string]*types.Package{}}
	args := []string{"list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}", "reflect"}
	for name, path := range imported {
		switch {
		case path == "":
			args = append(args, name)
		case !strings.Contains(path, "."):
			args = append(args, module+path)
		}
	}
	out, err := goCommand(nil, args...)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(out)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		l.compiled[path] = file
	}
	l.gc = importer.ForCompiler(l.fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(l.compiled[path]) })
	return l, nil
})

func loaded(t *testing.T) *loader {
	t.Helper()
	l, err := oneLoader()
	require.NoError(t, err)
	return l
}

// Import implements types.Importer.
func (l *loader) Import(path string) (*types.Package, error) {
	if p := l.done[path]; p != nil {
		return p, nil
	}
	if path == "unsafe" {
		return types.Unsafe, nil
	}
	if l.compiled[path] != "" {
		return l.gc.Import(path)
	}
	out, err := goCommand([]string{"CGO_ENABLED=1"}, "list", "-e", "-f", "{{.Dir}}{{range .GoFiles}}\n{{.}}{{end}}{{range .CgoFiles}}\n{{.}}{{end}}", path)
	if err != nil {
		return nil, err
	}
	dir, names, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	var files []*ast.File
	for _, n := range strings.Fields(names) {
		f, err := parser.ParseFile(l.fset, filepath.Join(dir, n), nil, 0)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s has no files", path)
	}
	c := types.Config{Importer: l, FakeImportC: true, IgnoreFuncBodies: true, Error: func(error) {}}
	p, _ := c.Check(path, l.fset, files, nil)
	l.done[path] = p
	return p, nil
}

func (l *loader) check(b block) error {
	f, err := parser.ParseFile(l.fset, b.String(), b.program(), 0)
	if err != nil {
		return err
	}
	c := types.Config{Importer: l}
	_, err = c.Check("p", l.fset, []*ast.File{f}, nil)
	return err
}

// Every piece of Go in the pages compiles. Code for other packages' bindings, which need a vendor's headers, is
// type-checked against those packages' source. What comes from a file is compiled there.
func TestGoCompiles(t *testing.T) {
	l := loaded(t)
	count := 0
	for _, b := range blocks(t, "go") {
		if b.from != "" || b.page == mistakesPage { // TestMistakesGiveTheirMessages and TestMistakesInKernels look at this page
			continue
		}
		count++
		assert.NoError(t, l.check(b), "%v", b)
	}
	assert.Greater(t, count, 10, "the pages have code")
}

// What the pages show of a file is in it, word for word, and on lines of its own.
func TestExcerptsAreCurrent(t *testing.T) {
	count := 0
	for _, b := range blocks(t, "go", "python") {
		if b.from == "" {
			continue
		}
		count++
		assert.NotEmpty(t, strings.TrimSpace(b.text), "%v", b)
		assert.True(t, strings.Contains("\n"+read(t, b.from), "\n"+b.text), "%v is not what %s says", b, b.from)
	}
	assert.Greater(t, count, 5, "the pages show examples")
}

// The test itself: code that does not compile is found, in both ways of looking.
func TestBadCodeIsFound(t *testing.T) {
	l := loaded(t)
	assert.NoError(t, l.check(block{text: "p, err := cu.MemAlloc(16)\ncheck(err)\nuse(p)\n"}))
	for _, text := range []string{
		"use(cu.NoSuchCall(16))\n",
		"use(cu.MemAlloc())\n",
		"use(dev.NoSuchMethod(), cu.MemAlloc)\n",
	} {
		assert.Error(t, l.check(block{text: text}), text)
	}
}

var link = regexp.MustCompile(`\]\(([^)#]+)(#[^)]*)?\)`)

// What the pages link to is there.
func TestLinks(t *testing.T) {
	for _, page := range pages(t) {
		for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(prose(t, page), ""), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			_, err := os.Stat(filepath.Join(filepath.Dir(page), m[1]))
			assert.NoError(t, err, "%s leads to %s", page, m[1])
		}
	}
}

var (
	variable  = regexp.MustCompile(`HALYARD_[A-Z_]+`)
	checkName = regexp.MustCompile("`([A-Z][A-Za-z]+/[A-Z][A-Za-z0-9]+)`")
)

// Environment variables and checks of the suite that the pages speak of exist.
func TestNamesExist(t *testing.T) {
	environment := read(t, "environment.md")
	suite := read(t, "writing-a-backend.md")
	prelude := kernel.Prelude(hal.LanguageOpenCLC) + kernel.Prelude(hal.LanguageCUDA) + kernel.Prelude(hal.LanguageHIP)
	for _, page := range pages(t) {
		for _, v := range variable.FindAllString(read(t, page), -1) {
			if strings.Contains(prelude, v) {
				continue // a macro
			}
			assert.Contains(t, environment, "| `"+v+"` |", "%s speaks of it", page)
		}
	}
	names := map[string]bool{}
	for _, c := range conformance.Checks() {
		names[c.Name] = true
	}
	for _, m := range checkName.FindAllStringSubmatch(suite, -1) {
		assert.True(t, names[m[1]], "no check is called %s", m[1])
	}
}

var (
	code   = regexp.MustCompile("`([^`\n]+)`")
	dotted = regexp.MustCompile(`\b([A-Za-z]+)\.([A-Z][A-Za-z0-9]*)`)
)

// owners are the packages of the types whose methods and fields the pages name without their package.
var owners = map[string]string{
	"Device": "hal", "Stream": "hal", "Memory": "hal", "Event": "hal", "Info": "hal", "Buffer": "buffer", "Lease": "buffer",
	"Array": "array", "Pool": "pool", "Block": "pool", "Recording": "trace", "Token": "hal", "Program": "kernel", "Source": "kernel",
}

// What the pages call by name in their sentences and tables is there, in Halyard and in what programs are ported from.
func TestIdentifiersExist(t *testing.T) {
	l := loaded(t)
	scope := func(name string) *types.Scope {
		path := imported[name]
		if !strings.Contains(path, ".") {
			path = module + path
		}
		p, err := l.Import(path)
		require.NoError(t, err)
		return p.Scope()
	}
	count := 0
	for _, page := range pages(t) {
		for _, m := range code.FindAllStringSubmatch(prose(t, page), -1) {
			for _, d := range dotted.FindAllStringSubmatch(m[1], -1) {
				if owner, ok := owners[d[1]]; ok {
					named, _ := scope(owner).Lookup(d[1]).(*types.TypeName)
					if assert.NotNil(t, named, "%s: %s", page, d[0]) {
						found, _, _ := types.LookupFieldOrMethod(types.NewPointer(named.Type()), true, named.Pkg(), d[2])
						if found == nil { // an alias of a struct
							found, _, _ = types.LookupFieldOrMethod(named.Type(), true, named.Pkg(), d[2])
						}
						// Events of cu have the same name.
						assert.True(t, found != nil || page == "porting.md" && d[1] == "Event" || d[0] == "Stream.Synchronize" || d[0] == "Stream.Wait", "%s: there is no %s", page, d[0])
						count++
					}
				} else if path, ok := imported[d[1]]; ok && path != "" {
					assert.NotNil(t, scope(d[1]).Lookup(d[2]), "%s: there is no %s", page, d[0])
					count++
				}
			}
		}
	}
	assert.Greater(t, count, 100, "the pages name what they speak of")
}

// The table of abilities has a row for each. What a row names is in package hal/driver, and TestCapsAndInterfaces of the template, which the
// page relies on, asks for each interface.
func TestEveryCapabilityIsExplained(t *testing.T) {
	page := read(t, "writing-a-backend.md")
	f, err := parser.ParseFile(token.NewFileSet(), "../../hal/driver/info.go", nil, 0)
	require.NoError(t, err)
	count := 0
	ast.Inspect(f, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok {
			for _, name := range v.Names {
				if strings.HasPrefix(name.Name, "Cap") {
					count++
					assert.True(t, strings.Contains(page, "`"+name.Name+"`"), "no row for %s", name.Name)
				}
			}
		}
		return true
	})
	assert.Equal(t, len(hal.Caps(^uint32(0)).Names()), count)

	driver, err := loaded(t).Import(module + "hal/driver")
	require.NoError(t, err)
	members := map[string]bool{} // methods of interfaces, fields are not named
	for _, name := range driver.Scope().Names() {
		if i, ok := driver.Scope().Lookup(name).Type().Underlying().(*types.Interface); ok {
			for m := range i.Methods() {
				members[m.Name()] = true
			}
		}
	}
	template, err := os.ReadFile("../../examples/template/template_test.go")
	require.NoError(t, err)
	interfaces := 0
	for _, row := range regexp.MustCompile("(?m)^\\| `Cap[^|]*\\|([^|]*)\\|").FindAllStringSubmatch(page, -1) {
		for _, m := range code.FindAllStringSubmatch(row[1], -1) {
			name := m[1]
			if strings.Contains(name, ".") || members[name] {
				continue // TestIdentifiersExist looks for what has a dot
			}
			found := driver.Scope().Lookup(name)
			if assert.NotNil(t, found, "hal/driver has no %s", name) && types.IsInterface(found.Type()) {
				interfaces++
				assert.Contains(t, string(template), ".(driver."+name+")", "TestCapsAndInterfaces of the template")
			}
		}
	}
	assert.Equal(t, 15, interfaces, "interfaces in the table")
}

var macro = regexp.MustCompile(`(?m)^#define ([A-Z][A-Z0-9_]+)\b`)

// The table of the portable dialect has every macro of the prelude.
func TestEveryMacroIsExplained(t *testing.T) {
	page := read(t, "kernels.md")
	found := macro.FindAllStringSubmatch(kernel.Prelude(hal.LanguageOpenCLC), -1)
	require.Greater(t, len(found), 20)
	for _, m := range found {
		name := strings.TrimPrefix(m[1], "ATOMIC_")
		assert.Regexp(t, "\\b"+name+"\\b|_"+name+"\\b", page)
	}
}
