package load

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"
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

// Declared returns the functions that the package declares.
func (p *Package) Declared() map[*types.Func]*ast.FuncDecl {
	decls := map[*types.Func]*ast.FuncDecl{}
	for _, file := range p.Files {
		for _, d := range file.Decls {
			if decl, ok := d.(*ast.FuncDecl); ok {
				if f, ok := p.Info.Defs[decl.Name].(*types.Func); ok {
					decls[f] = decl
				}
			}
		}
	}
	return decls
}

// Mark returns the line that marks a kernel, the types that follow the mark in that line, and whether the word fast is between them.
func Mark(kernel *ast.FuncDecl) (mark *ast.Comment, types []string, fast bool) {
	mark = kernel.Doc.List[slices.IndexFunc(kernel.Doc.List, isMark)]
	types = strings.Fields(mark.Text[len(Marker):])
	if fast = len(types) > 0 && types[0] == Fast; fast {
		types = types[1:]
	}
	return mark, types, fast
}

// FastMark returns the line before the package clause of a file that makes all kernels of the package fast, or nil.
func FastMark(file *ast.File) *ast.Comment {
	for _, group := range file.Comments {
		for _, c := range group.List {
			if c.Pos() < file.Package && isMark(c) && strings.TrimSpace(c.Text[len(Marker):]) == Fast {
				return c
			}
		}
	}
	return nil
}

// Instances returns the lists of type arguments for which a kernel is translated. For a function that is not generic, it returns a single empty list.
func (p *Package) Instances(kernel *ast.FuncDecl) (all [][]types.Type, why *Error) {
	mark, words, _ := Mark(kernel)
	if len(words) == 0 {
		return [][]types.Type{nil}, nil
	}
	for _, word := range words {
		var list []types.Type
		for _, name := range strings.Split(word, ",") {
			t, err := types.Eval(p.Fset, p.Types, mark.Pos(), name)
			if err != nil || !t.IsType() {
				return nil, p.ErrorAt(mark.Pos(), "%q is no type; write %s TYPE TYPE, or %[2]s TYPE,TYPE for two type parameters, "+
					"with the word fast before the types if floats may be computed approximately", name, Marker)
			}
			list = append(list, t.Type)
		}
		all = append(all, list)
	}
	return all, nil
}

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

// Mentions reports whether a type has a type parameter in it for which fits returns true.
func Mentions(t types.Type, fits func(*types.TypeParam) bool) bool {
	inside := func(t types.Type) bool { return Mentions(t, fits) }
	switch t := types.Unalias(t).(type) {
	case *types.TypeParam:
		return fits(t)
	case *types.Named:
		return slices.ContainsFunc(slices.Collect(t.TypeArgs().Types()), inside)
	case interface{ Elem() types.Type }: // an array, a pointer, a slice
		return inside(t.Elem())
	case *types.Tuple:
		return slices.ContainsFunc(slices.Collect(t.Variables()), func(v *types.Var) bool { return inside(v.Type()) })
	}
	return false
}
