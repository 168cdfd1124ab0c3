package layout_test

import (
	"reflect"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/internal/layout"
)

type inner struct {
	A uint8
	_ [2]int16
	B complex64
}

type named struct {
	In   [2]inner
	Name string
}

func TestOf(t *testing.T) {
	for _, fine := range []any{int8(0), uint64(0), float32(0), complex128(0), true, [3]int16{}, inner{}, struct {
		A [2][3]inner
		B bool
	}{}} {
		require.Nil(t, layout.Of(reflect.TypeOf(fine)).Bad, "%T", fine)
	}
	require.True(t, layout.Of(reflect.TypeFor[[2]struct{ X [1]bool }]()).Bools)
	require.False(t, layout.Of(reflect.TypeFor[inner]()).Bools)
	for _, c := range []struct {
		value     any
		path, why string
	}{
		{"", "string", "has no fixed layout"},
		{0, "int", "has a size that depends on the platform; use int32 or int64"},
		{struct{ N [2]uint }{}, "struct { N [2]uint }.N[0]", "has a size that depends on the platform; use uint32 or uint64"},
		{named{}, "layout_test.named.Name", "is of type string"},
		{[4]*int{}, "[4]*int[0]", "is of type *int"},
		{[]int8{}, "[]int8", "has no fixed layout"},
		{map[int8]int8{}, "map[int8]int8", "has no fixed layout"},
		{func() {}, "func()", "has no fixed layout"},
		{make(chan int8), "chan int8", "has no fixed layout"},
		{struct{ V any }{}, "struct { V interface {} }.V", "is of type interface {}"},
		{uintptr(0), "uintptr", "has no fixed layout"},
		{unsafe.Pointer(nil), "unsafe.Pointer", "has no fixed layout"},
		{struct{}{}, "struct {}", "has no bytes"},
		{struct{ A [0]int8 }{}, "struct { A [0]int8 }.A", "has no bytes"},
	} {
		bad := layout.Of(reflect.TypeOf(c.value)).Bad
		require.NotNil(t, bad, "%T", c.value)
		require.Equal(t, c.path, bad.Path)
		require.Equal(t, c.why, bad.Why)
	}
}

func TestNumbersOfEightBytes(t *testing.T) {
	type apart struct {
		A int32
		B int64
	}
	type after struct {
		B float64
		A int32
	}
	here := reflect.TypeFor[apart]().Field(1).Offset
	if here == 8 {
		require.Nil(t, layout.Of(reflect.TypeFor[apart]()).Bad)
		require.Nil(t, layout.Of(reflect.TypeFor[after]()).Bad)
		return
	}
	require.Equal(t, "starts at byte 4 here and at byte 8 on devices; put fields of 8 bytes first, or padding before them", layout.Of(reflect.TypeFor[apart]()).Bad.Why)
	require.Equal(t, "has 12 bytes here and 16 on devices; put padding at the end", layout.Of(reflect.TypeFor[after]()).Bad.Why)
}
