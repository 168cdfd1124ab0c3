// Package vulkan makes the modules of kernels for Vulkan. Package spirv prints them.
//
// The other files of this package have the functions that Vulkan lacks, or that its drivers compute with errors that are too large. They are written in Go, and
// are built and printed like other functions that kernels call. A function that has the same name as one in package math replaces it. Each file imports only
// package math. A new function of package math goes into this package and into ir.Functions.
package vulkan

import (
	"embed"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"reflect"
	"strings"
	"sync"

	module "github.com/go-halyard/halyard/internal/spirv/build"
	"github.com/go-halyard/halyard/internal/translate/build"
	"github.com/go-halyard/halyard/internal/translate/ir"
	"github.com/go-halyard/halyard/internal/translate/load"
	"github.com/go-halyard/halyard/internal/translate/spirv"
)

// Modules are the modules of one kernel.
type Modules struct {
	Plain, Checked *module.Module // Checked reports indexes out of range
	Watched        *module.Module // reports whether the device has ended a loop; nil if no device can end a loop of the kernel
}

// ModulesOf makes the modules of a kernel.
func ModulesOf(p *ir.Program, kernel *ir.Function, o spirv.Options) (Modules, error) {
	lacking, err := functions()
	if err != nil {
		return Modules{}, err
	}
	o.Lacking = lacking
	return modules(p, kernel, o), nil
}

func modules(p *ir.Program, kernel *ir.Function, o spirv.Options) (made Modules) {
	made.Plain = spirv.Module(p, kernel, o)
	o.Reports = spirv.Bounds
	made.Checked = spirv.Module(p, kernel, o)
	if o.Reports = spirv.Rounds; o.Loops {
		made.Watched = spirv.Module(p, kernel, o)
	}
	return made
}

//go:embed angle.go bits.go float.go power.go single.go
var sources embed.FS

// functions are the functions that Vulkan lacks.
var functions = sync.OnceValues(func() (*ir.Program, error) { return built(func(text string) string { return text }) })

// built builds the functions that Vulkan lacks. The function changed returns the text that replaces a file's text, for tests.
func built(changed func(text string) string) (*ir.Program, error) {
	fset := token.NewFileSet()
	var files []*ast.File
	entries, err := sources.ReadDir(".")
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		text, err := sources.ReadFile(e.Name())
		if err != nil {
			return nil, err
		}
		file, err := parser.ParseFile(fset, e.Name(), changed(string(text)), parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	return build.Functions(load.Check(fset, "vulkan", files, mathematics{}))
}

// mathematics is an importer for package math. Its package math has only the functions that have a translation, so no compiled package is needed.
type mathematics struct{}

func (mathematics) Import(path string) (*types.Package, error) {
	if path != "math" {
		return nil, fmt.Errorf("package %s is not needed here", path)
	}
	p := types.NewPackage(path, path)
	for name, f := range ir.Functions {
		name, ok := strings.CutPrefix(name, "math.")
		if !ok {
			continue
		}
		t := reflect.TypeOf(f)
		var params, results []*types.Var
		for i := range t.NumIn() {
			params = append(params, types.NewParam(token.NoPos, p, "", types.Universe.Lookup(t.In(i).Name()).Type()))
		}
		for i := range t.NumOut() {
			results = append(results, types.NewParam(token.NoPos, p, "", types.Universe.Lookup(t.Out(i).Name()).Type()))
		}
		sig := types.NewSignatureType(nil, nil, nil, types.NewTuple(params...), types.NewTuple(results...), false)
		p.Scope().Insert(types.NewFunc(token.NoPos, p, name, sig))
	}
	p.MarkComplete()
	return p, nil
}
