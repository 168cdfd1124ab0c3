package translate

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Kernels convert the numbers of 16 bits as Go does: all of them to float32, and back what is in the middle between two and beside it. The package is not
// special to the translation.
func TestHalves(t *testing.T) {
	if testing.Short() {
		t.Skip("short: a program is built with the build tags of all backends")
	}
	t.Parallel()
	dir := module(t, map[string]string{"kernels.go": `package main

import (
	"github.com/go-halyard/halyard/kernel/grid"
	"github.com/go-halyard/halyard/kernel/half"
)

//halyard:kernel
func convert(t grid.Thread, wide []float32, h []half.Float16, b []half.BFloat16, fromH, fromB []float32) {
	i := t.Global(0)
	if i >= len(wide) {
		return
	}
	fromH[i], fromB[i] = h[i].Float32(), b[i].Float32()
	h[i], b[i] = half.ToFloat16(wide[i]), half.ToBFloat16(wide[i])
}
`, "main.go": `package main

import (
	"context"
	"fmt"
	"math"

	_ "github.com/go-halyard/halyard/backends"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/kernel/half"
)

func main() {
	ctx := context.Background()
	var hs []half.Float16
	var bs []half.BFloat16
	var xs []float32
	for i := range 1 << 16 {
		h, b := half.Float16{Bits: uint16(i)}, half.BFloat16{Bits: uint16(i)}
		x := h.Float32()
		switch i % 2 {
		case 0: // the middle between this number and the next, or beside it
			x = float32((float64(x) + float64(half.Float16{Bits: uint16(i + 1)}.Float32())) / 2)
		case 1:
			x = math.Float32frombits(uint32(i)<<16 | 0x8000)
		}
		for _, y := range []float32{x, math.Nextafter32(x, 0), math.Nextafter32(x, 9)} {
			hs, bs, xs = append(hs, h), append(bs, b), append(xs, y)
		}
	}
	n := len(xs)
	for _, d := range must(hal.Devices(ctx)) {
		if d.Backend != "opencl" && d.Backend != "vulkan" && d.Name() != "host:0" {
			continue
		}
		s := must(must(hal.Open(ctx, d.Name())).NewStream())
		h, b, x := must(buffer.From(hs)), must(buffer.From(bs)), must(buffer.From(xs))
		fromH, fromB := must(buffer.New[float32](n)), must(buffer.New[float32](n))
		check(ConvertOn(ctx, s, hal.Over(n), x, h, b, fromH, fromB))
		gotH, gotB, wideH, wideB := make([]half.Float16, n), make([]half.BFloat16, n), make([]float32, n), make([]float32, n)
		check(h.CopyOut(ctx, gotH))
		check(b.CopyOut(ctx, gotB))
		check(fromH.CopyOut(ctx, wideH))
		check(fromB.CopyOut(ctx, wideB))
		wrong := 0
		for i, y := range xs {
			isNaN := y != y
			same := func(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) || a != a && b != b }
			if !isNaN && gotH[i] != half.ToFloat16(y) || !isNaN && gotB[i] != half.ToBFloat16(y) || isNaN && !(gotH[i].Float32() != gotH[i].Float32() && gotB[i].Float32() != gotB[i].Float32()) ||
				!same(wideH[i], hs[i].Float32()) || !same(wideB[i], bs[i].Float32()) {
				if wrong++; wrong < 5 {
					fmt.Println("FAILED", d.Name(), hs[i], y, gotH[i], gotB[i], wideH[i], wideB[i])
				}
			}
		}
		fmt.Println("ran on", d.Name(), n)
	}
}

func must[T any](v T, err error) T { check(err); return v }

func check(err error) {
	if err != nil {
		panic(err)
	}
}
`})
	packages, err := Load(t.Context(), dir, ".")
	require.NoError(t, err)
	made, err := packages[0].Translate()
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(made.File, made.Go, 0o600))
	require.NoError(t, os.WriteFile(made.VulkanFile, made.Vulkan, 0o600))
	run := exec.Command("go", "run", "-mod=mod", "-gcflags", plainly, "-ldflags", "-s -w", "-tags", "opencl vulkan", ".")
	run.Dir, run.Env = dir, append(os.Environ(), "CGO_ENABLED=0", "HALYARD_KERNEL_CACHE=off", "HALYARD_HOST_DEVICES=1")
	out, err := run.Output()
	require.NoError(t, err, "%s", out)
	require.NotContains(t, string(out), "FAILED", made.C)
	require.Contains(t, string(out), "ran on host:0 196608")
	t.Log(string(out))
	if !strings.Contains(string(out), "ran on opencl") && !strings.Contains(string(out), "ran on vulkan") {
		t.Skip("there is no OpenCL or Vulkan device to compare with")
	}
}
