//go:build vulkan

package kernel_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	_ "github.com/go-halyard/halyard/backends/vulkan"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/spirv/build"
	"github.com/go-halyard/halyard/kernel"
	"github.com/go-halyard/halyard/kernel/gridgen"
)

// idle returns a kernel that does nothing, packed. It says that it needs a capability.
func idle(name string, capability uint32) string {
	m := build.New()
	m.Need(capability)
	c, _ := m.Function(m.Type(build.OpTypeVoid))
	c.Do(build.OpReturn)
	c.End()
	m.Entry(name, c.ID)
	return new(build.Packer).Pack(m.Words())
}

// onVulkan returns a stream of the first device of Vulkan, or skips the test.
func onVulkan(t *testing.T) *hal.Stream {
	t.Helper()
	dev, err := hal.Open(t.Context(), "vulkan:0")
	if err != nil {
		if strings.Contains(os.Getenv("HALYARD_REQUIRE"), "vulkan") {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	t.Cleanup(func() { assert.NoError(t, dev.Close()) })
	s, err := dev.NewStream()
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	return s
}

// compiledProgram returns a program of kernels with these modules, or reasons why there is none.
func compiledProgram(codes map[string]gridgen.Code) *kernel.Program {
	src := kernel.Source{Name: "p", Portable: "the text", Source: gridgen.Source{Kernels: map[string]gridgen.Written{}}}
	for name := range codes {
		src.Kernels[name] = gridgen.Written{Code: "k_" + name}
	}
	p := kernel.New(src)
	sum := sha256.Sum256([]byte(src.Portable))
	p.Compiled(hex.EncodeToString(sum[:8]), codes)
	return p
}

// A kernel that a device of Vulkan cannot run fails when it is launched, with its name and the reason, and keeps no other from it.
func TestEachKernelIsAModule(t *testing.T) {
	t.Setenv("HALYARD_VULKAN_WITHOUT", "shaderFloat64")
	s := onVulkan(t)
	const linkage = 5 // no device has it
	p := compiledProgram(map[string]gridgen.Code{
		"fine":   {Words: idle("k_fine", build.Shader)},
		"needs":  {Words: idle("k_needs", linkage)},
		"cannot": {Lacks: "k.go:7: there is no such operation"},
		"wide":   {Words: idle("k_wide", build.Float64), Needs: map[string]string{"shaderInt8": "bytes (k.go:3)", "shaderFloat64": "float64 (k.go:9)"}},
	})
	launch := func(p *kernel.Program, name string) error {
		return p.Kernel(name).Launch(t.Context(), s, hal.Over(1))
	}
	assert.NoError(t, launch(p, "fine"))
	for name, says := range map[string]string{
		"needs":  "kernel needs cannot run on the device: the module needs capability 5",
		"wide":   "kernel wide cannot run on the device: it uses float64 (k.go:9): the module needs shaderFloat64, which the device lacks",
		"cannot": "kernel cannot cannot run on the device: k.go:7: there is no such operation",
	} {
		err := launch(p, name)
		assert.ErrorIs(t, err, hal.ErrUnsupported)
		assert.ErrorContains(t, err, says)
	}
	assert.ErrorIs(t, launch(p, "other"), hal.ErrNotFound)
	assert.NoError(t, p.Close())
	assert.NoError(t, launch(p, "fine"), "it is loaded anew")
	assert.NoError(t, s.Sync(t.Context()))
	assert.NoError(t, p.Close())

	none := compiledProgram(map[string]gridgen.Code{"needs": {Words: idle("k_needs", linkage)}})
	assert.ErrorContains(t, none.Load(t.Context(), s.Device()), "kernel needs cannot run on the device")
	damaged := compiledProgram(map[string]gridgen.Code{"fine": {Words: idle("k_fine", build.Shader)}, "damaged": {Words: "////"}})
	assert.ErrorContains(t, damaged.Load(t.Context(), s.Device()), "kernel damaged: the text is no packed module")
	other := compiledProgram(map[string]gridgen.Code{"fine": {Words: idle("k_fine", build.Shader)}})
	other.Compiled("0123456789abcdef", map[string]gridgen.Code{"fine": {Words: idle("k_fine", build.Shader)}})
	assert.ErrorContains(t, other.Load(t.Context(), s.Device()), "the generated files of p were not written together; run go generate")
	text := kernel.New(kernel.Source{Name: "p", Portable: "KERNEL void k_p(GLOBAL f32 *x) {}"})
	err := text.Load(t.Context(), s.Device())
	assert.ErrorIs(t, err, hal.ErrUnsupported)
	assert.ErrorContains(t, err, "Vulkan's drivers compile no text: write the kernels in Go, run halyard kernels, and build with the tag")
}

// A kernel that one of several devices cannot run, or not in parts, runs on the first alone.
func TestKernelThatADeviceLacksIsNotDivided(t *testing.T) {
	s := onVulkan(t)
	_, streams := devices(t, 1)
	const n = 480
	for _, code := range []gridgen.Code{{Lacks: "k.go:7: there is no such operation"}, {Words: idle("k_f", build.Shader)}} {
		src := kernel.Source{Portable: "the text", Go: kernel.Functions{"f": kernel.Go(func(b *kernel.Block) {
			x := kernel.Slice[float32](b, 0)
			for i, end := kernel.Threads(b, 0, n); i < end; i++ {
				x[i]++
			}
		})}, Source: gridgen.Source{Kernels: map[string]gridgen.Written{"f": {Code: "k_f", Params: []string{"x", "len(x)"}, Footprint: own(false, 1)}}}}
		p := kernel.New(src)
		sum := sha256.Sum256([]byte(src.Portable))
		p.Compiled(hex.EncodeToString(sum[:8]), map[string]gridgen.Code{"f": code})
		x := made(t, ramp(n)...)
		require.NoError(t, p.Kernel("f").Launch(ctx, newSplit(t, streams[1], s), hal.Over(n).Of(16), kernel.InOut(x), kernel.Value(int64(n))))
		assert.Equal(t, float32(n), contents(t, x)[n-1])
		require.NoError(t, p.Close())
	}
}

// A device of Vulkan has no wide code. A launch that is too large for its code is refused, with the argument and the limit.
func TestLaunchesThatAreTooLargeForVulkan(t *testing.T) {
	s := onVulkan(t)
	src := kernel.Source{Name: "p", Portable: "the text", Source: gridgen.Source{Kernels: map[string]gridgen.Written{
		"grid": {Code: "k_grid", Most: 1 << 10},
		"heat": {Code: "k_heat", Params: []string{"n", "p.Rows()", "p.Cols()"}, Most: 1 << 20, Sizes: [][]int{{0}, {1, 2}}},
	}}}
	p := kernel.New(src)
	sum := sha256.Sum256([]byte(src.Portable))
	p.Compiled(hex.EncodeToString(sum[:8]), map[string]gridgen.Code{"grid": {Words: idle("k_grid", build.Shader)}, "heat": {Words: idle("k_heat", build.Shader)}})
	refused := func(says, name string, grid hal.Grid, args ...kernel.Arg) {
		t.Helper()
		err := p.Kernel(name).Launch(t.Context(), s, grid, args...)
		assert.ErrorIs(t, err, hal.ErrUnsupported)
		assert.ErrorContains(t, err, "kernel "+name+": "+says+"; its code for Vulkan, with integers of 32 bits, takes "+map[string]string{"grid": "1024", "heat": "1048576"}[name]+" at most. Launch it on parts")
	}
	assert.NoError(t, p.Kernel("grid").Launch(t.Context(), s, hal.Over(1<<10)))
	refused("the grid has 1025 blocks of 1 threads in dimension 0", "grid", hal.Blocks(1<<10+1).Of(1))
	refused("n is 1048577", "heat", hal.Over(1), kernel.Value(int64(1<<20+1)), kernel.Value(int64(1)), kernel.Value(int64(1)))
	refused("n is -1099511627776", "heat", hal.Over(1), kernel.Value(int64(-1<<40)), kernel.Value(int64(1)), kernel.Value(int64(1)))
	refused("p.Rows() * p.Cols() is 2048 * 1024", "heat", hal.Over(1), kernel.Value(int64(1)), kernel.Value(int64(2048)), kernel.Value(int64(1024)))
	assert.NoError(t, s.Sync(t.Context()))
	assert.NoError(t, p.Close())
}
