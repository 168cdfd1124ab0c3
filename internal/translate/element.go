package translate

import (
	"fmt"
	"go/token"
	"go/types"
	"strings"
)

// sizes are the sizes of types in Go where an int has 64 bits. They are those of C on every device: see package internal/layout.
var sizes = types.SizesFor("gc", "amd64")

// element refuses element types that buffers do not have, and has the compiler of C check the size of the others.
func (f *function) element(t types.Type, pos token.Pos) {
	f.buffered(t, types.TypeString(t, types.RelativeTo(f.p.pkg.types)), pos)
	c := f.p.cType(t, pos)
	if _, ok := numberOf(t); ok || f.p.typed["go_size_"+c] {
		return
	}
	f.p.typed["go_size_"+c] = true
	f.p.layouts = append(f.p.layouts, fmt.Sprintf("typedef u8 go_size_%s[sizeof(%[1]s) == %d ? 1 : -1];\n", c, sizes.Sizeof(t)))
}

// buffered refuses parts of an element type that buffers do not have. path is what the part is called in Go.
func (f *function) buffered(t types.Type, path string, pos token.Pos) {
	const only = "an element of a buffer has numbers, bool, and arrays and structures of them only"
	switch u := t.Underlying().(type) {
	case *types.Basic:
		switch {
		case (u.Kind() == types.Int || u.Kind() == types.Uint) && strings.ContainsAny(path, ".["):
			refuse(pos, "%s is an %s, and a buffer's elements have a fixed width; use %[2]s32 or %[2]s64", path, u.Name())
		case u.Kind() == types.Int || u.Kind() == types.Uint:
			refuse(pos, "a buffer's elements have a fixed width; use %s32 or %[1]s64 for %[1]s", u.Name())
		case u.Info()&(types.IsNumeric|types.IsBoolean) == 0 || u.Kind() == types.Uintptr:
			refuse(pos, "%s is a %s; %s", path, u.Name(), only)
		}
	case *types.Array:
		f.buffered(u.Elem(), path+"[0]", pos)
	case *types.Struct:
		for i := range u.NumFields() {
			f.buffered(u.Field(i).Type(), path+"."+u.Field(i).Name(), pos)
		}
	default:
		refuse(pos, "%s is a %s; %s", path, types.TypeString(t, types.RelativeTo(f.p.pkg.types)), only)
	}
}

// valueAt returns the value of a place of type t.
func (f *function) valueAt(at place, t types.Type, pos token.Pos) string {
	c := f.read(at, pos)
	if strings.ContainsAny(at.c, "[.*") || f.kernel && at.param != nil {
		return truth(c, t)
	}
	return c
}

// truth returns the value of memory of type t. A byte that is not 0 is true if it is a bool: others than the translation may have written
// it.
func truth(c string, t types.Type) string {
	if n, ok := numberOf(t); ok && n.truth {
		return "(" + c + " != 0)"
	}
	return c
}
