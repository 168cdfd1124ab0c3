package load

import (
	"fmt"
	"go/ast"
	"go/token"
	"path/filepath"
	"slices"
)

// Kernels returns the functions that are marked as kernels, in the order of the source.
func (p *Package) Kernels() []*ast.FuncDecl {
	var found []*ast.FuncDecl
	for _, file := range p.Files {
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Doc != nil && slices.ContainsFunc(f.Doc.List, isMark) {
				found = append(found, f)
			}
		}
	}
	return found
}

// Import returns a package that the module of p imports, or nil if its source is not there.
func (p *Package) Import(path string) *Package { return p.others.load(path) }

// Outside reports whether a position is in a declaration of constants, types or imports.
func (p *Package) Outside(pos token.Pos) bool {
	for _, file := range p.Files {
		for _, d := range file.Decls {
			if g, ok := d.(*ast.GenDecl); ok && g.Tok != token.VAR && pos >= g.Pos() && pos <= g.End() {
				return true
			}
		}
	}
	return false
}

// Constrained reports whether a position is in a file that only some builds have.
func (p *Package) Constrained(pos token.Pos) bool {
	return p.constrained[p.Fset.Position(pos).Filename]
}

// Line returns a position as file:line.
func (p *Package) Line(pos token.Pos) string {
	at := p.Fset.Position(pos)
	return fmt.Sprintf("%s:%d", filepath.Base(at.Filename), at.Line)
}
