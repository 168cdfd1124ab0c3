package translate

import (
	"go/ast"
	"go/token"
	"go/types"
)

// Source is a package as package build reads it.
type Source struct {
	Path    string
	Fset    *token.FileSet
	Files   []*ast.File
	Types   *types.Package
	Info    *types.Info
	Errors  []types.Error
	Kernels []*ast.FuncDecl // the functions that are marked

	of *Package
}

// Source returns the parsed and checked files of a package, or nil if it has no kernels.
func (p *Package) Source() *Source {
	if p == nil || p.types == nil {
		return nil
	}
	return &Source{p.types.Path(), p.Fset, p.files, p.types, p.info, p.errs, p.marked(), p}
}

// Import returns a package that the module of s imports, or nil if its source is not there.
func (s *Source) Import(path string) *Source { return s.of.foreign.load(path).Source() }

// Outside reports whether a position is in a declaration of constants, types or imports.
func (s *Source) Outside(pos token.Pos) bool { return s.of.outside(pos) }

// Constrained reports whether a position is in a file that only some builds have.
func (s *Source) Constrained(pos token.Pos) bool {
	return s.of.constrained[s.Fset.Position(pos).Filename]
}

// Line returns a position as file:line.
func (s *Source) Line(pos token.Pos) string { return s.of.line(pos) }

// Why returns the message for a type that has no translation, which says what to write instead.
func Why(t types.Type) string { return why(t) }

// NewErrors returns errors in the order of their positions, or nil if there are none.
func NewErrors(list []Error) error { return (&program{errs: list}).failed() }

// Check type-checks the files of a package.
func Check(fset *token.FileSet, path string, files []*ast.File, imports types.Importer) *Package {
	return check(fset, path, files, imports)
}
