package translate

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/internal/translate/build"
	"github.com/go-halyard/halyard/internal/translate/load"
)

// Each row has the body of a kernel and a part of its refusal. Text that begins with "//top" is a whole declaration instead of a body. The mark ‹ is
// at the place that the refusal names.
var refused = []struct{ text, want string }{
	{"m := ‹map[int]int{1: 2}; _ = m", "a map has no translation"},
	{"var ‹m map[int]int; _ = m", "use a slice, or an array"},
	{"‹c := make(chan int); _ = c", "has no translation"},
	{"c := ‹make(chan int); _ = c", "make has no translation"},
	{"var ‹c chan int; _ = c", "a channel has no translation"},
	{"var c chan int; ‹c <- 1", "a channel has no translation"},
	{"f := ‹func() {}; f()", "a closure has no translation; declare a function"},
	{"‹func() {}()", "a closure has no translation"},
	{"f := ‹help; _ = f", "a function value has no translation"},
	{"var ‹e any = 1; _ = e", "an interface has no translation"},
	{"var ‹e error; _ = e", "an interface has no translation"},
	{"var ‹s string; _ = s", "a string has no translation; use numbers"},
	{`s := ‹"a"; _ = s`, "a string has no translation"},
	{"z := ‹append(y, 1); _ = z", "append has no translation; use arrays of fixed size"},
	{"z := ‹make([]int32, 4); _ = z", "make has no translation"},
	{"p := ‹new(int32); _ = p", "new has no translation"},
	{"var b [2]uint8; copy(b[:], ‹\"ab\")", "copy has a translation for slices only"},
	{"var m map[int]int; clear(m)", "a map has no translation; use a slice"},
	{"copy(‹o, o)", "o is a grid.Out"},
	{"‹go help(1)", "a goroutine has no translation; threads of the grid"},
	{"‹defer help(1)", "defer has no translation"},
	{"_ = ‹recover()", "recover has no translation"},
	{"‹panic(1)", "panic has no translation; write an error code into a buffer"},
	{"‹println(1)", "println has no translation; call grid.Println, or write into a buffer"},
	{"p := ‹&y[0]; _ = p", "a pointer can only be a parameter"},
	{"v := int32(1); p := ‹&v; _ = p", "a pointer can only be a parameter"},
	{"var ‹p *int32; _ = p", "a pointer can only be a parameter"},
	{"inc‹(&one{1}.v)", "cannot take address"},
	{"‹z := x[1:]; z = z[1:]; _ = z", "declare a variable for each slice, as in y := x[i:j], and do not assign to it again"},
	{"var ‹z []int32; _ = z", "a slice can only be a parameter, or a variable that is declared as a part"},
	{"z := [2][]int32{‹x, y}; _ = z", "a slice can only be a parameter"},
	{"var z struct{ x []int32 }; z.‹x = x[1:]", "a slice can only be a parameter"},
	{"y[0] = first(‹o[1:])", "o is a grid.Out"},
	{"y[0] = ‹tail(x)[0]", "a slice has no translation as a result; return where it begins"},
	{"z := ‹tail(x); _ = z", "a slice has no translation as a result"},
	{"for range ‹tail(x) {}", "a slice has no translation as a result"},
	{"z, n := ‹tails(x); y[n] = z[0]", "a slice has no translation as a result"},
	{"z := ‹[]int32{1}; _ = z", "a slice that a kernel makes has no translation"},
	{"‹x = y", "a variable that is a slice cannot change"},
	{"‹x = x[1:]", "a variable that is a slice cannot change"},
	{"_ = ‹cap(x)", "cap has no translation; use len"},
	{"y[0] = ‹o[0]", "o is a grid.Out, which a kernel can write but not read; make it a []T"},
	{"‹o[0] += 1", "o is a grid.Out"},
	{"‹o[0]++", "o is a grid.Out"},
	{"for _, v := range ‹o { y[0] = v }", "o is a grid.Out"},
	{"y[0] = first(‹o)", "o is a grid.Out"},
	{"‹grid.AtomicAdd(&o[0], 1)", "o is a grid.Out"},
	{"y[0] = ‹variable", "variable is a variable of the package; pass it as a parameter"},
	{"a := [2]int32(‹x[1:3]); y[0] = a[1]", "a part of a slice has no translation here; to get an array, declare one and write copy(a[:], x[i:j])"},
	{"‹variable = 1", "variable is a variable of the package"},
	{"y[0] = ‹table[2]", "table is a variable of the package whose declaration has no list of elements; pass it as a parameter"},
	{"y[0] = ‹written[2]", "written is a variable of the package that k.go:41 changes, and kernels read only variables that nothing changes; pass it as a parameter"},
	{"‹rising[1]++", "rising is a variable of the package that k.go:61 changes"},
	{"y[0] = ‹counted[2].v", "counted is a variable of the package that k.go:41 changes"},
	{"y[0] = ‹pointed[1][1]", "pointed is a variable of the package that k.go:41 takes the address of"},
	{"y[0] = ‹sliced[2]", "sliced is a variable of the package that k.go:41 slices"},
	{"y[0] = int32(len(‹passed))", "passed is a variable of the package that k.go:41 uses otherwise than by index"},
	{"y[0] = ‹grown[0].v", "grown is a variable of the package that k.go:41 calls a method of, which may change it"},
	{"for _, y[0] = range ‹assigned {}", "assigned is a variable of the package that k.go:41 changes"},
	{"first(‹short)", "short is a variable of the package that k.go:61 uses otherwise than by index"},
	{"y[0] = ‹Public[2]", "Public is exported, so other packages may change it; let its name begin with a small letter"},
	{"y[0] = ‹computed[2]", "computed cannot be read by a kernel: k.go:36: this is no constant; write one"},
	{"y[0] = ‹copied[1][2]", "copied cannot be read by a kernel: k.go:37: this is no list of constants"},
	{"_ = ‹named[2]", "named cannot be read by a kernel: k.go:38: a string has no translation; use numbers"},
	{"y[0] = ‹large[2]", "large cannot be read by a kernel: k.go:39: it has 65540 bytes, and a table has at most 65536"},
	{"y[0] = int32(‹long[2])", "long cannot be read by a kernel: k.go:40: it has an array of more than 65532 elements"},
	{"y[0] = ‹empty[0]", "empty cannot be read by a kernel: k.go:35: a table without elements has no translation"},
	{"f := ‹one{1}.get; _ = f", "a method value has no translation; call the method"},
	{"again:\n y[0]++\n ‹goto again", "goto has no translation; write a loop"},
	{"‹select {}", "select has no translation"},
	{"switch any(1).(type) {}", "an interface has no translation"},
	{"_ = ‹unsafe.Slice(&y[0], 1)", "package unsafe has no translation"},
	{"var ‹u uintptr; _ = u", "type uintptr has no translation; use an index for an address, and int(unsafe.Sizeof(x)) for a size"},
	{"_ = unsafe.Pointer(‹&y[0])", "a pointer can only be a parameter"},
	{"y[0] = ‹many(1, 2, 3)", "a variadic function has no translation; name each"},
	{"y[0] = recurse(3)", "recurse calls itself; write a loop"},
	{"‹fmt.Println()", "fmt.Println is a function of another package; call grid.Println, or write into a buffer"},
	{"y[0] = ‹rand.Int32()", "math/rand/v2.Int32 is a function of another package; use package kernel/grid/rand"},
	{"y[0] = ‹rand.New(rand.NewPCG(1, 2)).Int32()", "is a function of another package; use package kernel/grid/rand"},
	{"‹slices.Sort(y)", "slices.Sort is a function of another package; call algo.Sort"},
	{"y[0] = ‹slices.Max(y)", "slices.Max is a function of another package; write one in this package"},
	{"‹sort.Slice(y, nil)", "sort.Slice is a function of another package; call algo.Sort"},
	{"x = ‹append(x, 1)", "append has no translation"},
	{"y[0] = first(‹append(x, 1))", "append has no translation"},
	{"for range ‹append(x, 1) {}", "append has no translation"},
	{"y[0] = ‹append(x, 1)[0]", "append has no translation"},
	{"y[0] = int32(len(‹append(x, 1)))", "append has no translation"},
	{"y[0] = one.get(‹)", "not enough arguments in call to one.get"},
	{"y[0] = ‹one.plus(pairOf())", "a method expression has no translation here; call the method of a variable"},
	{"y[0] = ‹(*one).get(nil)", "a method expression has no translation here; call the method of a variable"},
	{"y[0] = int32(‹grid.Thread.Global(t, 0))", "a method expression has no translation here; call the method of a variable"},
	{"_ = ‹math.Gamma(1)", "math.Gamma has no translation"},
	{"_ = ‹cmplx.Sqrt(1)", "cmplx.Sqrt has no translation; write a function that computes it"},
	{"_, _ = ‹bits.Div64(1, 2, 3)", "bits.Div64 has no translation"},
	{"‹other(t, x)", "other is a kernel, and a kernel cannot call a kernel"},
	{"d := 1; y[0] = int32(t.Global(‹d))", "a dimension must be a constant; write 0, 1 or 2"},
	{"y[0] = int32(t.Local(‹3))", "dimension 3 does not exist"},
	{"if len(x) > 0 { s := ‹grid.Shared[[4]int32](t); s[0] = 1 }", "grid.Shared can only be the value of a variable that is declared at the top level"},
	{"a, b := ‹grid.Shared[[4]int32](t), grid.Shared[[4]int32](t); a[0] = b[0]", "in a statement of its own"},
	{"grid.Shared[[4]int32](t)[0] = 1", "grid.Shared can only be the value of a variable"},
	{"s := ‹grid.Shared[int32](t); *s = 1", "grid.Shared needs an array type; use [1]int32"},
	{"grid.Println(t, ‹x)", "grid.Println prints numbers, bools and constant strings; print the parts one by one"},
	{"grid.Println(t, ‹complex(1, 2))", "grid.Println prints numbers, bools and constant strings"},
	{"n := len(x); grid.Println(t, n, n, n, n, n, n, n, n, ‹n)", "grid.Println prints 8 numbers at most; write two calls"},
	{"‹grid.Println(t, []any{1}...)", "the arguments of grid.Println must be written one by one"},
	{"for range 2 { s := ‹grid.SharedSlice[int32](t, 4); s[0] = 1 }", "grid.SharedSlice can only be the value of a variable that is declared at the top level"},
	{"s := grid.SharedSlice[int32](t, 4); r := ‹grid.SharedSlice[int32](t, 4); s[0] = r[0]", "in a statement of its own, and once"},
	{"var s = ‹grid.SharedSlice[int32](t, 4); s[0] = 1", "write s := grid.SharedSlice[float32](t, n) there"},
	{"s := ‹grid.SharedSlice[int32](t, int(x[0])); s[0] = 1", "a launch must know the length of s"},
	{"s := ‹grid.SharedSlice[int32](t, t.Size(0)); s[0] = 1", "a launch must know the length of s"},
	{"n := len(x); n++; s := ‹grid.SharedSlice[int32](t, n); s[0] = 1", "a launch must know the length of s"},
	{"s := grid.SharedSlice[int](t, 4); s[0] = 1", "a buffer's elements have a fixed width"},
	{"s := grid.Shared[[4]int32](t); s = ‹s", "a pointer can only be a parameter"},
	{"s := grid.Shared[[1]float32](t); grid.‹AtomicOr(&s[0], 1)", "float32 does not satisfy grid.Integer"},
	{"s := grid.Shared[[1]int8](t); grid.‹AtomicAdd(&s[0], 1)", "int8 does not satisfy grid.Number"},
	{"v := int32(1); grid.AtomicAdd(‹&v, 1)", "an atomic operation on a variable of one thread"},
	{"u := ‹t; _ = u.Global(0)", "a grid.Thread can only be a parameter"},
	{"var e [0]int32; y[0] = e[‹0]", "out of bounds"},
	{"//top func k2(t grid.Thread, ‹e struct{ a [0]int32; n int32 }) {}", "an array without elements has no translation in a buffer or as an argument"},
	{"var ‹e struct{}; _ = e", "a structure without fields"},
	{"for i := range ‹iterate { y[0] = int32(i) }", "a range over a function has no translation"},
	{"y[0] = *first2(‹&y[0])", "a pointer can only be a parameter"},
	{"y[0] = ‹undefined", "undefined: undefined"},
	{"if x ‹== nil { y[0] = 1 }", "a comparison of a slice with nil has no translation; compare its length with 0"},
	{"‹dynamic.get()", "has no translation"},
	{"//top func k2(t grid.Thread, ‹y []int) {}", "use int32 or int64 for int"},
	{"//top func k2(t grid.Thread, ‹y []uint) {}", "use uint32 or uint64 for uint"},
	{"//top func k2(t grid.Thread, ‹y []struct{ a [2]struct{ n int } }) {}", ".a[0].n is an int, and a buffer's elements have a fixed width; use int32 or int64"},
	{"//top func k2(t grid.Thread, ‹y []struct{ s string }) {}", "struct{s string}.s is a string; an element of a buffer has numbers, bool, and arrays and structures of them only"},
	{"//top func k2(t grid.Thread, ‹y []*int32) {}", "*int32 is a *int32; an element of a buffer has numbers"},
	{"//top func k2(t grid.Thread, ‹y [][2]uintptr) {}", "[2]uintptr[0] is a uintptr; an element of a buffer has numbers"},
	{"//top func k2(t grid.Thread, ‹y []struct{}) {}", "a structure without fields has no translation"},
	{"//top func k2(t grid.Thread, ‹y [][0]int8) {}", "an array without elements has no translation"},
	{"//top func k2(t grid.Thread, ‹y [][]int32) {}", "a slice of slices has no translation; use a grid.Matrix"},
	{"//top func k2(t grid.Thread, ‹y [513]float64) {}", "y has 4104 bytes, and a kernel's arguments have at most 4088 in all; pass it in a slice"},
	{"//top func k2(t grid.Thread, x []int32, ‹y [510]float64) {}", "the arguments up to y have 4096 bytes, and a kernel's arguments have at most 4088 in all"},
	{"//top func k2(t grid.Thread, ‹y *int32) {}", "a kernel cannot have a pointer parameter"},
	{"//top func k2(t grid.Thread, ‹y map[int]int) {}", "a map has no translation"},
	{"//top func k2(t grid.Thread, ‹s struct{ n int }) {}", "fields of fixed width"},
	{"//top func k2(t grid.Thread, ‹y ...int32) {}", "a variadic function"},
	{"//top func k2(t grid.Thread, y []int32) ‹int32 { return 1 }", "a kernel cannot have results; write them to a slice"},
	{"//top func k2(‹y []int32) {}", "a kernel begins with one parameter of type grid.Thread, as in func double(t grid.Thread, "},
	{"//top func ‹k2() {}", "a kernel begins with one parameter of type grid.Thread"},
	{"//top func k2(t, ‹u grid.Thread) {}", "a kernel begins with one parameter of type grid.Thread, as in func double(t grid.Thread, "},
	{"//top func k2‹[T int32](t grid.Thread, y []T) {}", "a generic kernel is translated for the types that its mark lists; write //halyard:kernel float32"},
	{"//list‹ float32\nfunc k2(t grid.Thread, y []int32) {}", "k2 is not generic; write //halyard:kernel or //halyard:kernel fast, and nothing else in the line"},
	{"//list‹ float32\nfunc k2[T int32 | uint32](t grid.Thread, y []T) {}", "float32 missing in int32 | uint32); list types that it allows"},
	{"//list‹ int32,uint32\nfunc k2[T int32 | uint32](t grid.Thread, y []T) {}", "int32,uint32 lists 2 types, and k2 has 1 type parameters"},
	{"//list‹ int32 uint32 int32\nfunc k2[T int32 | uint32](t grid.Thread, y []T) {}", "int32 is listed twice"},
	{"//list‹ int\nfunc k2[T int | uint32](t grid.Thread, y T) {}", "int has another width on other machines; list int32 or int64"},
	{"//list‹ int32 fast\nfunc k2[T int32](t grid.Thread, y []T) {}", "\"fast\" is no type; write //halyard:kernel TYPE TYPE, or //halyard:kernel TYPE,TYPE for two type parameters, with the word fast before"},
	{"//list‹ nothing\nfunc k2[T int32](t grid.Thread, y []T) {}", "\"nothing\" is no type; write //halyard:kernel TYPE TYPE"},
	{"//list int32\nfunc k2[‹T int32](t grid.Thread, y []int32) {}", "no parameter of this kernel has type T, so a launch could not infer it"},
	{"//list‹" + strings.Repeat(" int32", 33) + "\nfunc k2[T int32](t grid.Thread, y []T) {}", "this lists 33 kernels, and 32 are the most"},
	{"//list int32\nfunc k2[T int32](t grid.Thread, y []T) {\nswitch any(y[0]).(type) {\ncase int32:\n‹break\n}\n}", "break out of a switch over types has no translation"},
	{"//top ‹func (o one) k2(t grid.Thread) {}", "a kernel cannot be a method"},
	{"//top func ‹kernel(t grid.Thread, y []int32) {}", "kernel is a package that the generated file imports; rename this"},
	{"//top func k2(t grid.Thread, ‹o grid.Out[int32]) {}", "the kernel does not write it; write every element"},

	// functions with barriers
	{"//top func k(t grid.Thread, y []int32) { meet(t, y); y[0] = 1 }\nfunc meet(t grid.Thread, y []int32) { t.Barrier(); if y[0] > 1 {\n‹return }; y[1] = 1 }", "meet has a barrier, so it can only return at its end; put the statements that are left out here into an if"},
	{"//top func k(t grid.Thread, y []int32) { meet(t, 3); y[0] = 1 }\nfunc meet(t grid.Thread, n int32) { t.Barrier()\n‹meet(t, n-1) }", "meet calls itself; write a loop"},
	{"//top func k(t grid.Thread, y []int32) { meet(t); y[0] = 1 }\nfunc meet(t grid.Thread) { t.Barrier(); part(t) }\nfunc part(t grid.Thread) {\n‹meet(t) }", "meet calls itself; write a loop"},
	{"//top func k(t grid.Thread, y []int32) {\n‹defer meet(t); y[0] = 1 }\nfunc meet(t grid.Thread) { t.Barrier() }", "defer has no translation"},
	{"//top func k(t grid.Thread, y []int32) {\n‹func() { meet(t) }(); y[0] = 1 }\nfunc meet(t grid.Thread) { t.Barrier() }", "a closure has no translation"},
	{"//top func k(t grid.Thread, y []int32) { f := meet\n‹f(t); y[0] = 1 }\nfunc meet(t grid.Thread) { t.Barrier() }", "a function value has no translation"},
	{"//top func k(t grid.Thread, y []int32) { y[0] = meet(t) }\nfunc meet(t grid.Thread) int32 { s :=\n‹grid.Shared[[4]int32](t); t.Barrier(); return s[0] }", "grid.Shared can only be the value of a variable that is declared at the top level of a kernel"},
	{"//top func k(t grid.Thread, y []int32) { meet(t, y, y); y[0] = 1 }\nfunc meet(t grid.Thread,\n‹p, y []int32) { p = y; t.Barrier(); p[0] = 1 }", "meet has a barrier, so it cannot change the parameter p"},
	{"//top func k(t grid.Thread, y []int32) { meet(t,\n‹y); y[0] = 1 }\ntype row []int32\nfunc meet(t grid.Thread, p row) { t.Barrier(); p[0] = 1 }", "meet has a barrier, so this argument must have the type of the parameter, row"},
	{"//top func k(t grid.Thread, y []int32) { var o outer\n‹o.meet(t, y); y[0] = o.v }\ntype inner struct { v int32 }\ntype outer struct { inner; v int32 }\nfunc (i *inner) meet(t grid.Thread, p []int32) { t.Barrier(); i.v = p[0] }", "meet has a barrier, so write the embedded field in its call, as in x.inner.meet(..)"},
	{"//top func k(t grid.Thread, y []int32) { n := t.Local(0)\nmeet(t, n); y[0] = 1 }\nfunc meet(t grid.Thread, n int) {\n‹for range n { t.Barrier() }; t.Barrier() }", "a loop around a barrier must run as often for all threads"},
	{"//top func k(t grid.Thread, y []int32) { n := t.Local(0)\nmeet(t, n); y[0] = 1 }\nfunc meet(t grid.Thread, n int) { part(t, n) }\nfunc part(t grid.Thread, n int) {\n‹for range n { t.Barrier() }; t.Barrier() }", "; the call is in k.go:"},
	{"//top func k(t grid.Thread, y []int32) { y[0] = meet(t,\n‹meet(t, 1)) }\nfunc meet(t grid.Thread, n int32) int32 { t.Barrier(); return n }", "meet has a barrier, so its call must be a statement of its own, such as v := meet(..)"},
	{"//top func k(t grid.Thread, y []int32) { y[0] = both(t) }\nfunc meet(t grid.Thread, n int32) int32 { t.Barrier(); return n }\nfunc both(t grid.Thread) int32 { return 1 +\n‹meet(t, 1) }", "its call must be a statement of its own"},
	{"//top func k(t grid.Thread, y []int32) { if y[0] > 1 { y[1] = 1 } else { for range 3 { meet(t) } } }\nfunc meet(t grid.Thread) {\n‹t.Barrier() }", "t.Barrier must be a statement of the kernel itself, or of a loop or an if"},
	{"//top func k(t grid.Thread, y []int32) { switch { case len(y) > 1: for range 3 {\n‹meet(t) } } }\nfunc meet(t grid.Thread) { t.Barrier() }", "meet has a barrier, to which all threads of the block must come"},
	{"//top func k(t grid.Thread, y []int32) { meet(t); y[0] = 1 }\nfunc meet(t grid.Thread) { t.Barrier(); nothing(t) }", "undefined: nothing"},
	{"//top func k(t grid.Thread, y []int32) { meet(t, y); y[0] = 1 }\n//halyard:kernel\nfunc meet(t grid.Thread, y []int32) { y[1] = 1; t.Barrier(); y[0] = 1 }", "meet is a kernel, and a kernel cannot call a kernel"},
	{"//top func k(t grid.Thread, y []int32) {\n‹y[meet(t)] = meet(t) }\nfunc meet(t grid.Thread) int32 { t.Barrier(); return 1 }", "its call must be a statement of its own"},
	{"//top func k(t grid.Thread, y []int32) { o := outer{}\n‹y[0] = o.meet(t) }\ntype inner struct{ a int32 }\ntype outer struct { inner; a int32 }\nfunc (o inner) meet(t grid.Thread) int32 { t.Barrier(); return o.a }", "meet has a barrier, so write the embedded field in its call, as in x.inner.meet(..)"},
	{"//top func k(t grid.Thread, y []int32) {\n‹m9(t); y[0] = 1 }\nfunc m0(t grid.Thread) { t.Barrier() }\nfunc m1(t grid.Thread) { m0(t); m0(t) }\nfunc m2(t grid.Thread) { m1(t); m1(t) }\nfunc m3(t grid.Thread) { m2(t); m2(t) }\nfunc m4(t grid.Thread) { m3(t); m3(t) }\nfunc m5(t grid.Thread) { m4(t); m4(t) }\nfunc m6(t grid.Thread) { m5(t); m5(t) }\nfunc m7(t grid.Thread) { m6(t); m6(t) }\nfunc m8(t grid.Thread) { m7(t); m7(t) }\nfunc m9(t grid.Thread) { m8(t); m8(t) }", "the calls of functions with barriers in this kernel come to more than 500"},
}

const around = `package p

import (
	"fmt"
	"math"
	"math/bits"
	"math/cmplx"
	"math/rand/v2"
	"slices"
	"sort"
	"unsafe"

	"github.com/go-halyard/halyard/kernel/grid"
)

var _ = fmt.Sprint
var _ = math.Pi
var _ = bits.Len
var _ = cmplx.Abs
var _ = rand.Int32
var _ = slices.Max[[]int32]
var _ = sort.Ints
var _ unsafe.Pointer

type one struct{ v int32 }

func (o one) get() int32 { return o.v }
func (o one) plus(x int32) int32 { return o.v + x }
func pairOf() (o one, x int32) { return }

var variable int32
var table [4]int32
var dynamic interface{ get() int32 }
var written, rising, sliced, assigned, Public = [4]int32{1}, [4]int32{1}, [4]int32{1}, [4]int32{1}, [4]int32{1}
var counted, pointed, passed, grown, short, empty = []one{{1}}, [2][2]int32{}, []int32{1}, [1]counter{}, []int32{1}, []int32{}
var computed = [4]int32{2: help2()}
var copied = [2][4]int32{1: written}
var named = [4]string{"a"}
var large = [1<<14 + 1]int32{}
var long = []uint8{1<<16 - 4: 1}
func change() { written[1] = 2; counted[0].v--; _ = &pointed[0]; _ = sliced[1:]; first(passed); grown[0].up(); for assigned[0] = range 3 {} }
type counter struct{ v int32 }
func (c *counter) up() { c.v++ }
func help2() int32 { return 1 }

func help(x int32)                    {}
func inc(p *int32)                    { *p++ }
func first(x []int32) int32           { return x[0] }
func first2(x *int32) *int32          { return x }
func tail(x []int32) []int32          { return x[1:] }
func tails(x []int32) ([]int32, int)  { return x[1:], len(x) - 1 }
func many(x ...int32) int32           { return x[0] }
func recurse(x int32) int32           { if x > 0 { return recurse(x - 1) }; return 0 }
func iterate(yield func(int) bool)    {}

//halyard:kernel
func other(t grid.Thread, x []int32) {}
`

// What has no translation is refused at its place, with a sentence that says what to write instead.
func TestRefusals(t *testing.T) {
	require.GreaterOrEqual(t, len(refused), 60)
	for _, c := range refused {
		text := "//halyard:kernel\nfunc k(t grid.Thread, x, y []int32, o grid.Out[int32]) {\no[1] = 1\n" + c.text + "\n}\n"
		if top, ok := strings.CutPrefix(c.text, "//top "); ok {
			text = "//halyard:kernel\n" + top + "\n"
		}
		if list, ok := strings.CutPrefix(c.text, "//list"); ok {
			text = "//halyard:kernel" + list + "\n"
		}
		src := around + text
		at := strings.Index(src, "‹")
		src = strings.Replace(src, "‹", "", 1)
		_, err := translated(t, src)
		var all load.Errors
		if !assert.Error(t, err, c.text) || !assert.True(t, errors.As(err, &all), "%s: %v", c.text, err) {
			continue
		}
		found := false
		for _, e := range all {
			if strings.Contains(e.Text, c.want) && (at < 0 || e.Pos.Line == 1+strings.Count(src[:at], "\n")) {
				found = true
			}
			assert.Positive(t, e.Pos.Column)
			assert.Equal(t, "k.go", e.Pos.Filename)
		}
		assert.True(t, found, "%s\n%v", c.text, err)
	}
}

// All mistakes are reported at once, in the order of the text.
func TestAllRefusalsAreReported(t *testing.T) {
	_, err := translated(t, around+"//halyard:kernel\nfunc k(t grid.Thread, y []int32) {\n\tgo help(1)\n\ty[0] = variable\n\tif y[0] > 0 {\n\t\tpanic(1)\n\t}\n}\n")
	var all load.Errors
	require.ErrorAs(t, err, &all)
	require.Len(t, all, 3)
	assert.Equal(t, []int{60, 61, 63}, []int{all[0].Pos.Line, all[1].Pos.Line, all[2].Pos.Line})

	// What uses a variable whose declaration is refused is not refused, too.
	_, err = translated(t, around+"//halyard:kernel\nfunc k(t grid.Thread, y []int32) {\n\ta, b := grid.Shared[[4]int32](t), grid.Shared[[4]int32](t)\n\ta[0] = b[0]\n}\n")
	require.ErrorAs(t, err, &all)
	require.Len(t, all, 1)
	for _, declared := range []string{"s := ", "var s = "} {
		_, err = translated(t, around+"//halyard:kernel\nfunc k(t grid.Thread, y []int32) {\n\t"+declared+"grid.Shared[int32](t)\n\t*s = y[0]\n}\n")
		require.ErrorAs(t, err, &all)
		require.Len(t, all, 1, "%v", err)
	}
}

// Whatever the text is, the translator translates it or reports what is wrong. What has a representation keeps its rules.
func FuzzBody(f *testing.F) {
	for _, c := range refused {
		f.Add(strings.ReplaceAll(c.text, "‹", ""))
	}
	for _, s := range []string{
		"for i := range x { if i > 3 { continue }; y[i] = x[i] << y[i] }", "switch x[0] { case 1, 2: fallthrough; case 3: break; default: y[0]++ }",
		"a, b := x[0], x[1]; a, b = b, a; y[0] = min(a, b, 3)", "s := grid.Shared[[4][2]int32](t); s[t.Local(0)][1] = 2; t.Barrier(); y[0] = s[0][1]",
		"L: for { for { break L } }", "var v one; v.v, y[0] = 1, v.get()", "y[0] = int32(math.Sqrt(float64(x[0])) / 3)", "inc(&y[0]); help(1 << x[0])",
		"type local struct { a [3]int32; b bool }; v := [2]local{1: {b: true}}; w := v; if v != w { return }", "y[0] /= x[0]; y[0] %= -1; y[0] <<= 40; y[0] &^= 1",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, body string) {
		p, err := Checked(around + "//halyard:kernel\nfunc k(t grid.Thread, x, y []int32, o grid.Out[int32]) {\no[1] = 1\n" + body + "\n}\n")
		if err != nil {
			return
		}
		made, err := p.Translate()
		if (made == nil) == (err == nil) {
			t.Error("neither a translation nor an error")
		}
		if program, _ := build.Program(p.Package); program != nil {
			assert.NoError(t, program.Verify())
		}
	})
}

// Fields without a name are told from others in comparisons.
func TestFieldsWithoutNames(t *testing.T) {
	made, err := translated(t, "package p\n\nimport \"github.com/go-halyard/halyard/kernel/grid\"\n\ntype A struct {\n\t_ int32\n\tx int32\n}\n\ntype B struct {\n\t_0 int32\n\tx int32\n}\n\n"+
		"//halyard:kernel\nfunc k(t grid.Thread, y []int32) {\n\tvar a, c A\n\tvar b, d B\n\tif a == c {\n\t\ty[0] = 1\n\t}\n\tif b == d {\n\t\ty[1] = 1\n\t}\n}\n")
	require.NoError(t, err)
	assert.Equal(t, 2, strings.Count(made.C, "go_equal_")/2, made.C)
}
