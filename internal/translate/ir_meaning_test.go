package translate_test

import (
	"flag"
	"fmt"
	"math"
	"os"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/internal/translate"
	"github.com/go-halyard/halyard/internal/translate/build"
	"github.com/go-halyard/halyard/internal/translate/ir"
	"github.com/go-halyard/halyard/internal/translate/ir/interp"
	"github.com/go-halyard/halyard/kernel"
	"github.com/go-halyard/halyard/kernel/grid"
	"github.com/go-halyard/halyard/kernel/half"
)

var rewritten = flag.Bool("rewrite", false, "write into testdata/ir.txt what the kernels of ir_kernels_test.go become")

// meant are the kernels of ir_kernels_test.go with their arguments.
func meant() map[string]struct {
	kernel any
	grid   interp.Grid
	args   []any
} {
	specials := []float64{0, math.Copysign(0, -1), 1, -1.5, 2, 1e19, -1e19, 300, math.Inf(1), math.Inf(-1), math.NaN(), 1e-310, 0.1, -129, 3e9}
	var x, y []complex128
	var z, w []complex64
	for _, a := range specials {
		for i, b := range specials {
			x, y = append(x, complex(a, b)), append(y, complex(b, specials[(i*7)%len(specials)]))
			z, w = append(z, complex64(x[len(x)-1])), append(w, complex64(y[len(y)-1]))
		}
	}
	var ints, others []int32
	for i := range int32(32) {
		ints, others = append(ints, i*37%50-9), append(others, 5-i)
	}
	words := make([]uint32, len(specials))
	for i := range words {
		words[i] = uint32(i) * 0x9e3779b9
	}
	line := func(n int) interp.Grid { return interp.Grid{Size: [3]int{n, 1, 1}, Blocks: [3]int{1, 1, 1}} }
	n := len(x)
	return map[string]struct {
		kernel any
		grid   interp.Grid
		args   []any
	}{
		"wideComplex":   {wideComplex, line(n + 3), []any{x, y, make(grid.Out[complex128], n), make([]bool, n), make([]float64, n)}},
		"narrowComplex": {narrowComplex, line(n), []any{z, w, make([]wave, n)}},
		"cells": {cells, interp.Grid{Size: [3]int{3, 2, 1}, Blocks: [3]int{2, 2, 1}}, []any{
			interp.Rows{Elements: ints[:12], Cols: 4}, interp.Rows{Elements: make([]int32, 12), Cols: 4}, interp.Rows{Elements: slices.Clone(others[:12]), Cols: 4}, []wave{}}},
		"ordered":  {ordered, line(32), []any{ints, others}},
		"left":     {left, line(32), []any{ints, others}},
		"together": {together, interp.Grid{Size: [3]int{8, 1, 1}, Blocks: [3]int{4, 1, 1}}, []any{ints, others}},
		"numbers":  {numbers, line(len(words)), []any{specials, words, make([]float64, len(words))}},
		"divides":  {divides, line(1), []any{[]int32{0}, []int32{0}}},
		"shifts":   {shifts, line(1), []any{[]int32{-3}, []int32{0}}},
		"beyond":   {beyond, line(1), []any{interp.Rows{Elements: ints[:6], Cols: 3}, []int32{0}}},
		"below":    {below, line(1), []any{[]int32{0}, []int32{0}}},

		"beyondPart":    {beyondPart, line(1), []any{ints, []int32{0}}},
		"boundOfPart":   {boundOfPart, line(1), []any{ints, []int32{0}}},
		"unkeptElement": {unkeptElement, line(1), []any{[][3]int32{{}}, []int32{1}}},

		"noElements": {noElements, line(1), []any{[]int32{0}, []int32{0}}},
	}
}

// asGo runs a kernel as Go does, and returns its panic as text.
func asGo(k any, g interp.Grid, args []any) (failure string) {
	defer func() {
		if r := recover(); r != nil {
			failure = fmt.Sprint(r)
		}
	}()
	in := []reflect.Value{{}}
	for i, a := range args {
		if m, ok := a.(interp.Rows); ok {
			elements := m.Elements.([]int32)
			if a = grid.MatrixOf(elements, len(elements)/m.Cols, m.Cols); reflect.TypeOf(k).In(i+1) != reflect.TypeOf(a) {
				a = grid.OutMatrixOf(elements, len(elements)/m.Cols, m.Cols)
			}
		}
		in = append(in, reflect.ValueOf(a))
	}
	b := kernel.Block{}
	for d := range 3 {
		b.Size[d], b.Grid[d] = uint32(g.Size[d]), uint32(g.Blocks[d])
	}
	for b.Index[1] = 0; b.Index[1] < b.Grid[1]; b.Index[1]++ {
		for b.Index[0] = 0; b.Index[0] < b.Grid[0]; b.Index[0]++ {
			grid.RunTogether(&b, func(t grid.Thread) { reflect.ValueOf(k).Call(append([]reflect.Value{reflect.ValueOf(t)}, in[1:]...)) })
		}
	}
	return ""
}

// copied returns arguments of their own.
func copied(args []any) []any {
	args = slices.Clone(args)
	for i, a := range args {
		if m, ok := a.(interp.Rows); ok {
			args[i] = interp.Rows{Elements: slices.Clone(m.Elements.([]int32)), Cols: m.Cols}
			continue
		}
		v := reflect.ValueOf(a)
		c := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		reflect.Copy(c, v)
		args[i] = c.Interface()
	}
	return args
}

// Forms of Go that random kernels do not have mean in the interpreter what they mean in Go, and fail with Go's message at the line. Their
// representation is that of testdata.
func TestInterpreterOnFormsOfGo(t *testing.T) {
	src, err := os.ReadFile("ir_kernels_test.go")
	require.NoError(t, err)
	p, err := translate.Checked(string(src))
	require.NoError(t, err)
	program, err := build.Program(p.Package)
	require.NoError(t, err)
	require.NoError(t, program.Verify())
	const text = "testdata/ir.txt"
	if *rewritten {
		require.NoError(t, os.WriteFile(text, []byte(program.String()), 0o600))
	}
	was, err := os.ReadFile(text)
	require.NoError(t, err)
	assert.Equal(t, string(was), program.String(), "if this is meant, run the test with -args -rewrite")
	made := map[string]*ir.Function{}
	for _, f := range program.Functions {
		if f.Kernel {
			made[f.Name] = f
		}
	}
	all := meant()
	require.Len(t, made, len(all))
	lines := map[string]int{"divides": 238, "shifts": 244, "beyond": 249, "below": 255, "beyondPart": 259, "boundOfPart": 270, "unkeptElement": 278, "noElements": 286}
	for name, m := range all {
		want, got := copied(m.args), copied(m.args)
		failure := asGo(m.kernel, m.grid, want)
		err := interp.Run(program, made[name], m.grid, got...)
		assert.Equal(t, fmt.Sprint(want), fmt.Sprint(got), "%s\n%s", name, made[name])
		if failure == "" {
			assert.NoError(t, err, name)
			continue
		}
		var fault *interp.Fault
		if assert.ErrorAs(t, err, &fault, name) {
			assert.Contains(t, failure, fault.Text, name)
			assert.Equal(t, lines[name], fault.Pos.Line, name)
		}
	}
}

// A block in which not all threads come to a barrier fails.
func TestInterpreterTellsOfBarriersThatThreadsMiss(t *testing.T) {
	p, err := translate.Checked(`package p

import "github.com/go-halyard/halyard/kernel/grid"

//halyard:kernel
func k(t grid.Thread, x []int32) {
	if t.Local(0) > int(x[0]) {
		return
	}
	t.Barrier()
	grid.AtomicAdd(&x[1], 1)
}
`)
	require.NoError(t, err)
	program, err := build.Program(p.Package)
	require.NoError(t, err)
	for last, want := range map[int32]string{4: "", 3: "", 2: "a thread does not come to the barrier at which others of its block wait (k.go:10)", -1: ""} {
		x := []int32{last, 0}
		err := interp.Run(program, program.Functions[0], interp.Grid{Size: [3]int{4, 1, 1}, Blocks: [3]int{2, 1, 1}}, x)
		if want == "" {
			require.NoError(t, err)
			assert.EqualValues(t, 8*min(1, last+1), x[1], "all threads of both blocks, or none")
		} else {
			assert.EqualError(t, err, want)
		}
	}
}

// Numbers of 16 bits need nothing of their own: their conversions are written in Go, in another package. All of them are converted, and back.
func TestInterpreterConvertsHalves(t *testing.T) {
	packages, err := translate.Load(t.Context(), translate.Module(t, map[string]string{"k.go": `package p

import (
	"github.com/go-halyard/halyard/kernel/grid"
	"github.com/go-halyard/halyard/kernel/half"
)

//halyard:kernel
func convert(t grid.Thread, h []half.Float16, b []half.BFloat16, wide []float32) {
	i := t.Global(0)
	wide[2*i], wide[2*i+1] = h[i].Float32(), b[i].Float32()
	h[i], b[i] = half.ToFloat16(wide[2*i+1]), half.ToBFloat16(wide[2*i]*1.01)
}
`}), ".")
	require.NoError(t, err)
	program, err := build.Program(packages[0].Package)
	require.NoError(t, err)
	const n = 1 << 16
	h, b, wide := make([]half.Float16, n), make([]half.BFloat16, n), make([]float32, 2*n)
	for i := range n {
		h[i].Bits, b[i].Bits = uint16(i), uint16(i)
	}
	kernel := program.Functions[len(program.Functions)-1]
	require.NoError(t, interp.Run(program, kernel, interp.Grid{Size: [3]int{n, 1, 1}, Blocks: [3]int{1, 1, 1}}, h, b, wide))
	for i := range n {
		x, y := half.Float16{Bits: uint16(i)}.Float32(), half.BFloat16{Bits: uint16(i)}.Float32()
		if x == x && y == y {
			require.Equal(t, []float32{x, y}, wide[2*i:2*i+2])
			require.Equal(t, half.ToFloat16(y), h[i])
			require.Equal(t, half.ToBFloat16(x*1.01), b[i])
		}
	}
}
