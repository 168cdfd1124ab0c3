package syntax

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const file = `package p

import "math"

// Frame is a size.
type Frame struct{ Width, Height int }

const (
	one, two = iota, "2"
	three, four
)

var list = func() int { a := 1; return a }()

type (
	number = int32
	pair[T any] struct {
		first, second T
	}
)

func (f *Frame) Area() int { return f.Width * f.Height }

func (p pair[T]) sum() T { return p.first + p.second }

func root(x float64) float64 {
	if x < 0 {
		return 0 // there is none
	}
	return max(math.Sqrt(x), 1)
}
`

func TestSumsByName(t *testing.T) {
	sums := Sums([]byte(file))
	require.Equal(t, []string{"Frame", "Frame.Area", "four", "import:math",
		"list", "number", "one", "pair", "pair.sum", "root", "three", "two"}, slices.Sorted(maps.Keys(sums)))
	require.Equal(t, sums["one"], sums["four"])
	require.NotEqual(t, sums["list"], sums["one"])
}

// Generated files of other modules have these hashes, and are not written again for a new version of this one.
func TestSumsStayAsTheyAre(t *testing.T) {
	require.Equal(t, "3dbe80a7038e173b", Sums([]byte(file))["root"])
}

// Only what a declaration says changes its hash, not how it is written.
func TestSumsChangeWithTheirDeclarationOnly(t *testing.T) {
	before := Sums([]byte(file))
	for _, c := range []struct{ old, new, changes string }{
		{"// there is none", "// complex numbers have one", ""},
		{"{ return f.Width * f.Height }", "{\n\treturn f.Width *\n\t\tf.Height // of it\n}", ""},
		{"max(math.Sqrt(x), 1)", "max(\n\t\tmath.Sqrt(x),\n\t\t1,\n\t)", ""},
		{"import \"math\"", "import (\n\t\"math\"\n\t\"os\"\n)", ""},
		{"import \"math\"", "import math \"math\"", "import:math"},
		{"import \"math\"", "import \"example.org/math\"", "import:math"},
		{"x < 0", "x <= 0", "root"},
		{"f.Width * f.Height", "f.Width + f.Height", "Frame.Area"},
		{"\"2\"", "\"3\"", "four one three two"},
		{"a := 1", "a := 2", "list"},
		{"func root(", "func square(", "root"},
	} {
		after := Sums([]byte(strings.Replace(file, c.old, c.new, 1)))
		var changed []string
		for _, name := range slices.Sorted(maps.Keys(before)) {
			if after[name] != before[name] {
				changed = append(changed, name)
			}
		}
		require.Equal(t, c.changes, strings.Join(changed, " "), c.new)
	}
}

func TestHead(t *testing.T) {
	for src, want := range map[string]string{
		file: "p", "// Package q.\npackage q // here": "q", "//go:build linux && !cgo\n\npackage q": "q",
		"//go:build ignore\n\npackage main": "", "": "", "func": "", "package": "",
	} {
		require.Equal(t, want, Head([]byte(src)), src)
	}
}

func TestSumsOfWhatIsNoGo(t *testing.T) {
	for _, src := range []string{"", "}", "func", "func (", "func (x", "type", "const (", "var = ;", "\x00\xff", "func () ()", "const a,", "type ( ;"} {
		require.NotPanics(t, func() { Sums([]byte(src)) }, src)
	}
}

// The types that the mark of a kernel lists count, and nothing else of its comment does.
func TestSumsChangeWithTheTypesOfAMark(t *testing.T) {
	of := func(comment string) string {
		return Sums([]byte("package p\n\n" + comment + "\nfunc f[T any](x T) {}\n"))["f"]
	}
	plain, list := of("//halyard:kernel"), of("//halyard:kernel int32 float32")
	require.Equal(t, of(""), plain)
	require.NotEqual(t, plain, list)
	require.NotEqual(t, list, of("//halyard:kernel int32"))
	require.Equal(t, list, of("// f is a kernel.\n//\n//halyard:kernel\tint32  float32"))
}
