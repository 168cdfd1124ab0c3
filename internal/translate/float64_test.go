package translate

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What needs float64 is left out of the text on a device that lacks it, and nothing else is.
func TestTextWithoutFloat64(t *testing.T) {
	t.Parallel()
	made, err := translated(t, `package p

import (
	"math"

	"github.com/go-halyard/halyard/kernel/grid"
)

type wide struct{ A [2]float64 }

func sum(w wide) float32 { return float32(w.A[0] + w.A[1]) }

func buf64(x float32) float32 { return max(x, 1e10) }

//halyard:kernel
func all(t grid.Thread, x []float64) { x[0] = 1 }

//halyard:kernel
func inner(t grid.Thread, w wide, x []float32) { x[0] = sum(w) }

//halyard:kernel
func constants(t grid.Thread, x []float32) { x[0] = float32(math.Sqrt(0.3)) }

//halyard:kernel
func bits(t grid.Thread, x []float32) { x[0] = float32(math.NaN()) }

//halyard:kernel
func single(t grid.Thread, x []float32) { x[0] = float32(math.Max(float64(buf64(x[0])), 0.5)) }

//halyard:kernel
func words(t grid.Thread, x []float32) { x[0] = math.Float32frombits(math.Float32bits(x[0]) + 1) }

//halyard:kernel
func whole(t grid.Thread, a float32, f_64 []int64) { f_64[0] = int64(a * 1e-5) }
`)
	require.NoError(t, err)
	left := regexp.MustCompile(`(?s)#ifdef HALYARD_FLOAT64\n.*?#endif\n`).ReplaceAllString(made.C, "")
	for name, there := range map[string]bool{"all": false, "inner": false, "constants": false, "bits": false, "single": true, "whole": true, "words": true} {
		assert.Contains(t, made.C, "KERNEL void k_"+name+"(")
		assert.Equal(t, there, strings.Contains(left, "KERNEL void k_"+name+"("), name)
	}
	assert.NotContains(t, left, "f64 ")
	assert.NotContains(t, left, "T_wide")
	assert.Contains(t, left, "f_buf64(")
}

// Random kernels for devices without float64, and without atomic operations of 64 bits, need neither.
func TestRandomKernelsWithoutFloat64(t *testing.T) {
	t.Parallel()
	imp, err := imports()
	require.NoError(t, err)
	src := singleHead
	for seed := range 25 {
		g := &generator{Rand: rand.New(rand.NewPCG(uint64(seed), 1)), single: true}
		g.kernel(seed, shaped(uint64(seed)))
		src += g.b.String()
	}
	made, err := translatedWith(imp, src)
	require.NoError(t, err)
	left := regexp.MustCompile(`(?s)#if(def GO_ATOMIC64|def HALYARD_FLOAT64|[^\n]*defined\(GO_ATOMIC64\))\n.*?#endif\n`).ReplaceAllString(made.C, "")
	for seed := range 25 {
		assert.Contains(t, left, fmt.Sprintf("KERNEL void k_k%d(", seed))
	}
}

// What has atomic operations of 64 bits is left out of the text on a device that lacks them, and the launch knows where they are.
func TestTextWithoutAtomicsOf64Bits(t *testing.T) {
	t.Parallel()
	made, err := translated(t, `package p

import "github.com/go-halyard/halyard/kernel/grid"

func inc(x []int64) { grid.AtomicAdd(&x[0], 1) }

//halyard:kernel
func whole(t grid.Thread, x []int64) { inc(x) }

//halyard:kernel
func wide(t grid.Thread, x []float64) { grid.AtomicMin(&x[0], 1) }

//halyard:kernel
func single(t grid.Thread, x []float32) { grid.AtomicMin(&x[0], 1) }
`)
	require.NoError(t, err)
	left := regexp.MustCompile(`(?s)#if(def GO_ATOMIC64|def HALYARD_FLOAT64|[^\n]*defined\(GO_ATOMIC64\))\n.*?#endif\n`).ReplaceAllString(made.C, "")
	for name, there := range map[string]bool{"whole": false, "wide": false, "single": true} {
		assert.Contains(t, made.C, "KERNEL void k_"+name+"(")
		assert.Equal(t, there, strings.Contains(left, "KERNEL void k_"+name+"("), name)
	}
	assert.NotContains(t, left, "go_atomic_add_i64(")
	assert.NotContains(t, left, "go_atomic_min_f64(")
	assert.Contains(t, string(made.Go), `{Code: "k_whole", Params: []string{"x", "len(x)"}, Most: 2147418112, Sizes: [][]int{{1}}, Needs: "atomic operations of 64 bits (k.go:5)",`)
	assert.Contains(t, string(made.Go), `Needs: "float64, and atomic operations of 64 bits (k.go:11)",`)
	assert.Contains(t, string(made.Go), "{Code: \"k_single\", Params: []string{\"x\", \"len(x)\"}, Most: 2147418112, Sizes: [][]int{{1}},\n\t\tFootprint:")
}

// For a device of Vulkan the generated file says what each kernel uses that the device may lack, with the line.
func TestLinesOfWhatVulkanMayLack(t *testing.T) {
	t.Parallel()
	made, err := translated(t, `package p

import (
	"math"

	"github.com/go-halyard/halyard/kernel/grid"
)

type small struct {
	a int16
	b [2]int8
}

func half(x float64) float64 { return x / 2 }

//halyard:kernel
func whole(t grid.Thread, x []int32) { x[0]++ }

//halyard:kernel
func given(t grid.Thread, x []int32, y []float64) { x[0] = 1 }

//halyard:kernel
func inside(t grid.Thread, x []float32) {
	x[1] = 1
	x[0] = float32(half(float64(x[0])))
}

//halyard:kernel
func series(t grid.Thread, x []float32) {
	x[1] = float32(math.Sqrt(float64(x[0])))
	x[0] = float32(math.Sin(float64(x[0])))
}

//halyard:kernel
func words(t grid.Thread, x []float32) { x[0] = math.Float32frombits(math.Float32bits(x[0]) + 1) }

//halyard:kernel
func none(t grid.Thread, x []float32) {
	x[1] = float32(math.Abs(float64(x[0])))
	x[2] = float32(math.NaN())
}

//halyard:kernel
func fused(t grid.Thread, x []float32) {
	x[0] = 0
	x[1] = float32(math.FMA(float64(x[0]), 2, float64(x[1])))
}

//halyard:kernel
func bytes(t grid.Thread, n int32,
	x []small) {
	x[0].a += int16(n)
}

//halyard:kernel
func long(t grid.Thread, x []int64) { x[0]++ }
`)
	require.NoError(t, err)
	for _, says := range []string{
		`"shaderInt64": "int, which has 64 bits (k.go:56)",`,
		`"shaderFloat64": "float64 (k.go:20)",`,
		`"shaderFloat64": "float64 (k.go:25)",`,
		`"shaderFloat64": "a function of package math, which is computed in float64 (k.go:31)",`,
		`"shaderFloat64": "float64 (k.go:40)",`,
		`"shaderFloat64": "float64 (k.go:46)",`,
		`"storageBuffer8BitAccess": "integers of 8 bits (k.go:51)",`,
		`"storageBuffer16BitAccess": "integers of 16 bits (k.go:51)",`,
	} {
		assert.Contains(t, regexp.MustCompile(" +").ReplaceAllString(string(made.Vulkan), " "), says)
	}
	assert.NotContains(t, string(made.Vulkan), "float64 (k.go:35)", "the bits of a float32 need no float64")
}
