// Package layout says which Go types have the same layout in memory on the host and on every device: numbers of fixed width, bool, and
// arrays and structures of them.
package layout

import (
	"fmt"
	"reflect"
	"sync"
)

// Layout is what the package knows of a type.
type Layout struct {
	Bad   *Bad // nil if the type has one layout everywhere
	Bools bool // the type contains a bool
}

// Bad is the first part of a type that keeps it from having one layout everywhere.
type Bad struct {
	Path string // of the part, such as Sphere.Name; the type itself if the part is all of it
	Why  string // such as "is of type string"
}

// layouts caches the results of Of.
var layouts sync.Map // of reflect.Type to *Layout

// Of returns the layout of a type.
func Of(t reflect.Type) *Layout {
	if known, ok := layouts.Load(t); ok {
		return known.(*Layout)
	}
	l := new(Layout)
	l.survey(t, t.String())
	known, _ := layouts.LoadOrStore(t, l)
	return known.(*Layout)
}

// survey visits the parts of a type, and returns the size and the alignment that C gives it on every device: a number is aligned to its
// size, and a complex number to the size of one of its parts.
func (l *Layout) survey(t reflect.Type, path string) (size, align uintptr) {
	bad := func(format string, args ...any) {
		if l.Bad == nil {
			l.Bad = &Bad{path, fmt.Sprintf(format, args...)}
		}
	}
	switch t.Kind() {
	case reflect.Bool:
		l.Bools = true
		return 1, 1
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64,
		reflect.Float32, reflect.Float64:
		return t.Size(), t.Size()
	case reflect.Complex64, reflect.Complex128:
		return t.Size(), t.Size() / 2
	case reflect.Int, reflect.Uint:
		bad("has a size that depends on the platform; use %v32 or %[1]v64", t.Kind())
	case reflect.Array:
		if t.Len() == 0 { // C has no such member, and Go may add padding for it
			bad("has no bytes")
			return 1, 1
		}
		size, align = l.survey(t.Elem(), path+"[0]")
		return size * uintptr(t.Len()), align
	case reflect.Struct:
		if t.NumField() == 0 {
			bad("has no bytes")
			return 1, 1
		}
		align = 1
		for i := range t.NumField() {
			f := t.Field(i)
			n, a := l.survey(f.Type, path+"."+f.Name)
			size, align = roundUp(size, a), max(align, a)
			if size != f.Offset && l.Bad == nil { // numbers of 8 bytes on systems of 32 bits
				l.Bad = &Bad{path + "." + f.Name, fmt.Sprintf(
					"starts at byte %d here and at byte %d on devices; put fields of 8 bytes first, or padding before them",
					f.Offset, size)}
			}
			size += n
		}
		if size = roundUp(size, align); size != t.Size() {
			bad("has %d bytes here and %d on devices; put padding at the end", t.Size(), size)
		}
		return size, align
	default:
		if path == t.String() {
			bad("has no fixed layout")
		}
		bad("is of type %v", t)
	}
	return 1, 1
}

func roundUp(n, align uintptr) uintptr { return (n + align - 1) / align * align }
