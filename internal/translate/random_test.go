package translate

import (
	"errors"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	randomKernels  = flag.Int("kernels", 50, "how many random kernels to compare")
	randomSeed     = flag.Uint64("seed", 1, "of the first of them")
	randomWidth    = flag.String("simd", "", "build them with Go 1.27's package simd, and run the host's with vectors of so many bits")
	randomTogether = flag.Bool("together", false, "make each a kernel with operations of blocks and groups")
	randomSingle   = flag.Bool("single", false, "make kernels that need no float64 and no atomic operations of 64 bits")
	randomTargets  = flag.Int("compile", 10, "how many of them the compilers for CUDA and HIP take as well")
)

// Random kernels give the same bits in Go and in their translation: when the function is called for each thread, by rows and phases on the host, and
// on every OpenCL device. The last line says how many ran on each. Without flags they are the same each time; make fuzz takes others each time.
func TestRandomKernels(t *testing.T) {
	t.Parallel()
	const each = 25
	count, targets := *randomKernels, *randomTargets // tests beside this one read the flags
	if testing.Short() {
		count, targets = min(count, 25), min(targets, 5)
	}
	targets = min(targets, count)
	b := newBatch(t)
	asked := map[string]int{}     // how many kernels each device and each compiler is to take
	missing := map[string]error{} // the errors of missing compilers, by target
	for first := 0; first < count; first += each {
		var kernels []text
		for k := first; k < min(first+each, count); k++ {
			seed := *randomSeed + uint64(k)
			kernels = append(kernels, text{seed, random(seed, 0)})
		}
		begin := time.Now()
		all, err := b.run(t.Context(), kernels, nil)
		require.NoError(t, err)
		if len(b.devices) == 1 && count <= 50 {
			count = min(count, each) // they run on the host alone, and nobody asked for more
		}
		var sample []int
		for k := range kernels {
			if first+k < targets {
				sample = append(sample, k)
			}
		}
		for _, target := range []string{"sm_80", "gfx906"} {
			if missing[target] != nil || targets == 0 {
				continue
			}
			asked[target] = targets
			if err := b.device(t.Context(), nil, target, kernels, sample, all); errors.Is(err, errNoCompiler) {
				missing[target] = err
				delete(asked, target)
			} else {
				require.NoError(t, err)
			}
		}
		for k, f := range all {
			switch {
			case f.plain != "":
				t.Errorf("the kernel of seed %d is not as it was meant: %s\n%s", kernels[k].seed, f.plain, kernels[k].src)
			case f.refused != "":
				t.Errorf("a compiler refuses the kernel of seed %d: %s\n%s", kernels[k].seed, f.refused, kernels[k].src)
			case f.differs != "":
				b.report(t, kernels[k], f)
			}
		}
		t.Logf("seeds %d to %d: %v", kernels[0].seed, kernels[len(kernels)-1].seed, time.Since(begin).Round(time.Millisecond))
		if t.Failed() {
			return
		}
	}
	t.Log("time went to ", b.spent)
	for target, compiler := range map[string]string{"sm_80": "nvrtc", "gfx906": "hiprtc"} {
		t.Run(target, func(t *testing.T) {
			if missing[target] == nil {
				return
			}
			if strings.Contains(os.Getenv("HALYARD_REQUIRE"), compiler) {
				t.Fatalf("HALYARD_REQUIRE asks for %s: %v", compiler, missing[target])
			}
			t.Skip(missing[target])
		})
	}
	requireDevices(t, b.devices)
	for _, d := range b.devices {
		asked[d] = count
	}
	assert.Equal(t, asked, b.compared, "kernels compared")
	t.Logf("did %d of %d random kernels: %v", count, *randomKernels, b.compared)
}

// requireDevices skips a test that has had no device to compare with but the host, unless the environment asks for one.
func requireDevices(t *testing.T, devices []string) {
	if len(devices) > 1 {
		return
	}
	if required := os.Getenv("HALYARD_REQUIRE"); strings.Contains(required, "opencl") || strings.Contains(required, "vulkan") {
		t.Fatal("HALYARD_REQUIRE asks for OpenCL or Vulkan, and there is no such device")
	}
	t.Skip("there is no device of OpenCL or Vulkan to compare with")
}

// report fails the test because a kernel differs, and logs the smallest kernel that still differs.
func (b *batch) report(t *testing.T, k text, f found) {
	t.Errorf("the kernel of seed %d %s; repeat it with -args -seed %d -kernels 1\n%s", k.seed, f.differs, k.seed, k.src)
	if k.fails() { // a smaller one might fail in several threads, of which any may be first
		return
	}
	small, c, err := b.shrunk(t.Context(), k, slices.DeleteFunc(slices.Clone(b.devices), func(d string) bool { return !strings.Contains(f.differs, " on "+d+" ") }))
	t.Logf("made smaller:\n%s\nin C:\n%s", small, c)
	if err != nil {
		t.Error(err)
	}
}

// A mistake that the test plants in the translation is found by random kernels. One of them is made so small that little but the mistake
// is left.
func TestPlantedMistakeIsShrunk(t *testing.T) {
	t.Parallel()
	if *randomKernels < 1000 {
		t.Skip("building Go programs for many small kernels takes minutes; make fuzz does")
	}
	b := newBatch(t)
	b.plant = withoutShiftMeaning
	require.NoError(t, b.build(t.Context(), []text{{1, random(1, 0)}}))
	requireDevices(t, b.devices)
	device := slices.IndexFunc(b.devices, func(d string) bool { return strings.HasPrefix(d, "opencl") }) // the mistake is in the text
	if device < 0 {
		t.Skip("there is no OpenCL device")
	}
	for seed := uint64(1); seed < 100; seed += 20 {
		var kernels []text
		for k := range uint64(20) {
			kernels = append(kernels, text{seed + k, random(seed+k, 0)})
		}
		all, err := b.run(t.Context(), kernels, b.devices[device:device+1])
		require.NoError(t, err)
		for k, f := range all {
			if f.differs == "" || kernels[k].fails() {
				continue
			}
			small, c, err := b.shrunk(t.Context(), kernels[k], b.devices[device:device+1])
			require.NoError(t, err)
			t.Logf("%s\n%d bytes became\n%s\nin C\n%s", f.differs, len(kernels[k].src), small, c)
			assert.Regexp(t, "go_shl_[iu]32\\([^i]", c)
			assert.Less(t, len(small), 500)
			return
		}
	}
	t.Error("no kernel showed the mistake")
}
