// Package vulkan makes the modules of kernels for Vulkan: it builds their representation, and package spirv prints it.
//
// The other files of this package have the functions that Vulkan lacks, or that its drivers compute with errors that are too large. They are Go, and are
// built and printed as functions that kernels call: a function with the name of one in package math takes its place. Each file stands for itself, and
// imports package math only. A new function of package math: here, and in ir.Functions.
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

	"github.com/go-halyard/halyard/internal/translate"
	"github.com/go-halyard/halyard/internal/translate/build"
	"github.com/go-halyard/halyard/internal/translate/ir"
	"github.com/go-halyard/halyard/internal/translate/spirv"
)

// Modules makes the modules of a package's kernels.
func Modules(p *translate.Package, sites []string, kernels []translate.Entry) ([]translate.Modules, error) {
	lacking, err := functions()
	if err != nil {
		return nil, err
	}
	return modules(p, sites, kernels, lacking)
}

func modules(p *translate.Package, sites []string, kernels []translate.Entry, lacking *ir.Program) ([]translate.Modules, error) {
	program, err := build.Program(p)
	if err != nil {
		return nil, err
	}
	var all []translate.Modules
	for _, k := range kernels {
		var made translate.Modules
		for _, f := range program.Functions {
			if !f.Kernel || f.Name != k.Kernel {
				continue
			}
			o := spirv.Options{Entry: k.Name, Lacking: lacking, Loops: k.Loops, Sites: sites}
			made.Plain = spirv.Module(program, f, o)
			o.Reports = spirv.Bounds
			made.Checked = spirv.Module(program, f, o)
			if o.Reports = spirv.Rounds; k.Loops {
				made.Watched = spirv.Module(program, f, o)
			}
		}
		all = append(all, made)
	}
	return all, nil
}

//go:embed angle.go bits.go float.go power.go single.go
var sources embed.FS

// functions are the functions that Vulkan lacks.
var functions = sync.OnceValues(func() (*ir.Program, error) { return built(func(text string) string { return text }) })

// built builds the functions. changed returns the text that takes a file's place.
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
	return build.Functions(translate.Check(fset, "vulkan", files, mathematics{}))
}

// mathematics imports package math with the functions that have a translation, so that no compiled package is needed.
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
