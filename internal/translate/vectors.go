package translate

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/format"
	"go/token"
	"go/types"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/go-halyard/halyard/internal/translate/ir"
	"github.com/go-halyard/halyard/internal/translate/lanes"
	"github.com/go-halyard/halyard/internal/translate/load"
)

// vectors returns the function that runs the threads of a row of a kernel as vectors, or the reason why there is none.
func (p *Package) vectors(f *function, row *rows) (*lanes.Vectors, *load.Error) {
	switch {
	case row == nil:
		return nil, f.noRow
	case f.together && row.noVectors == nil:
		return nil, p.ErrorAt(f.decl.Pos(), "nothing between the barriers of this kernel is for all threads")
	case f.together:
		return nil, row.noVectors
	}
	kernel := strings.TrimSuffix(strings.TrimRight(strings.TrimSuffix(row.name, "_"), "_"), "Row")
	return p.vectorsOf(f, f.made, lanes.Kernel{Loop: row.name, File: lanes.File{Names: func() (hook, name string) {
		return p.free("hook", kernel+"Vectors", f.argNames...), p.free("vectors", kernel+"Lanes", f.argNames...)
	}}})
}

// vectorsOf returns the function for a kernel, or for a part of one, or the reason why there is none.
func (p *Package) vectorsOf(f *function, made *ir.Function, k lanes.Kernel) (*lanes.Vectors, *load.Error) {
	if at := p.open(f.decl); at.IsValid() {
		return nil, p.ErrorAt(at, "what has the type of a type parameter has no vector code")
	}
	const hides = "this name hides one that the generated file uses; rename it"
	for i, m := range f.params {
		if m.kind == thread {
			continue
		}
		n := p.laneParam(m)
		if n.Name == "" || n.Name == "_" {
			n.Name = f.argNames[i]
		}
		if k.Params = append(k.Params, n); types.Universe.Lookup(n.Name) != nil || ofGrid(n.Name) {
			return nil, p.ErrorAt(m.pos, hides)
		}
	}
	for _, name := range lanes.Imports {
		if p.Types.Scope().Lookup(name) != nil || slices.ContainsFunc(k.Params, func(m lanes.Param) bool { return m.Name == name }) {
			return nil, p.ErrorAt(f.decl.Pos(), "%s is a package that the generated file imports; rename what has this name", name)
		}
	}
	for _, name := range types.Universe.Names() {
		if obj := p.Types.Scope().Lookup(name); obj != nil {
			return nil, p.ErrorAt(obj.Pos(), hides)
		}
	}
	k.Function, k.Pos, k.Always, k.File.At, k.File.BackHere = made, f.decl.Pos(), p.allVectors, p.Fset.Position, backHere
	k.File.Taken = func(name string) bool {
		return p.taken[name] || p.Types.Scope().Lookup(name) != nil || types.Universe.Lookup(name) != nil || generatedImports[name] != ""
	}
	k.File.Own = func(at token.Pos) bool {
		return slices.ContainsFunc(p.Files, func(f *ast.File) bool { return f.FileStart <= at && at < f.FileEnd })
	}
	v, why := lanes.Write(k)
	if why != nil {
		return nil, p.ErrorAt(why.Pos, "%s", why.Text)
	}
	return v, nil
}

// laneParam returns a parameter of a kernel as package lanes needs it.
func (p *Package) laneParam(m *param) lanes.Param {
	n, number := lanes.Param{Name: m.name, Type: p.typeName(m.typ)}, m.typ
	if m.kind != value {
		number = elem(m)
		n.Element = types.TypeString(number, types.RelativeTo(p.Types))
	}
	number = numberIn(number)
	_, isNumber := number.Underlying().(*types.Basic)
	_, predeclared := types.Unalias(number).(*types.Basic)
	n.Named = isNumber && !predeclared
	return n
}

// Loop says how the host runs a kernel.
type Loop struct {
	Kernel  string
	Pos     token.Position
	Vectors bool        // threads of a row, or of parts between barriers, run as vectors in builds with package simd
	Fast    bool        // the kernel is fast
	Why     *load.Error // the first reason why threads do not run as vectors, perhaps only those of one part
}

// used returns the text of a file, without the line of an import that it does not need.
func used(text []byte, name, line string) []byte {
	if regexp.MustCompile(`\b` + name + `\.`).Match(text) {
		return text
	}
	return bytes.Replace(text, []byte(line), nil, 1)
}

// simdBuilds are the builds that have package simd. Its emulation is several times slower than scalar code, so other processors are left out.
const simdBuilds = "//go:build go1.27 && goexperiment.simd && (amd64 || arm64 || wasm)"

// simd returns the file with vector code, or nil if no kernel has any.
func (p *Package) simd(all []*lanes.Vectors) ([]byte, error) {
	needed := map[string]string{}
	var b strings.Builder
	var hooks [2]string // the second is for functions that are right only where Go does not fuse
	for _, v := range all {
		if v != nil {
			maps.Copy(needed, v.Imports)
			i := 0
			if v.Fused {
				i = 1
			}
			hooks[i] += fmt.Sprintf("%s = %s\n", v.Hook, v.Name)
		}
	}
	if hooks[0]+hooks[1] == "" {
		return nil, nil
	}
	fmt.Fprintf(&b, "%s\n\n%s\n\npackage %s\n\nimport (\n", load.GeneratedBy, simdBuilds, p.Name)
	for _, path := range slices.Sorted(maps.Values(needed)) {
		fmt.Fprintf(&b, "\t%q\n", path)
	}
	const gridImport = "\t\"github.com/go-halyard/halyard/kernel/grid\"\n"
	b.WriteString("\t\"simd\"\n\n" + gridImport + gridgenImport + "\t\"github.com/go-halyard/halyard/kernel/lanes\"\n)\n\n")
	b.WriteString("func init() {\n")
	for i, condition := range []string{"lanes.Hardware()", "lanes.Hardware() && !lanes.Fuses"} {
		if hooks[i] != "" {
			fmt.Fprintf(&b, "if %s {\n%s}\n", condition, hooks[i])
		}
	}
	b.WriteString("}\n")
	for _, v := range all {
		if v != nil {
			b.WriteString("\n" + v.Text)
		}
	}
	src, err := format.Source(used(used([]byte(b.String()), "grid", gridImport), "gridgen", gridgenImport))
	if err != nil {
		return nil, fmt.Errorf("the generated file is not valid Go, which is a bug of halyard kernels: %w", err)
	}
	return numbered(src, load.SIMDName(p.Name)), nil
}
