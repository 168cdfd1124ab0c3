package translate

import (
	"errors"
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	randomKernels = flag.Int("kernels", 200, "how many random kernels to compare")
	randomSeed    = flag.Uint64("seed", 1, "of the first of them")
	randomTargets = flag.Int("compile", 10, "how many of them the compilers for CUDA and HIP take as well")
)

// Random kernels give the same bits in Go and in their translation. Each is compared on one OpenCL device; the devices take
// turns.
func TestRandomKernels(t *testing.T) {
	t.Parallel()
	const each = 200
	count, targets := *randomKernels, *randomTargets // tests beside this one read the flags
	if testing.Short() {
		count, targets = min(count, 25), min(targets, 5)
	}
	b := newBatch(t)
	if len(b.devices) == 0 {
		count = min(count, 25) // they are only compiled: there is no device to compare
	}
	var compared, refusals, failures, compiled int
	missing := map[string]error{} // the errors of missing compilers, by target
	for first := 0; first < count; first += each {
		var kernels []text
		for k := first; k < min(first+each, count); k++ {
			seed := *randomSeed + uint64(k)
			kernels = append(kernels, text{seed, random(seed, 0)})
		}
		begin := time.Now()
		all, err := b.run(t.Context(), kernels, func(k int) []string {
			if len(b.devices) == 0 {
				return nil
			}
			return []string{b.devices[k%len(b.devices)]}
		})
		require.NoError(t, err)
		var sample []int
		for k := range kernels {
			if first+k < targets {
				sample = append(sample, k)
			}
		}
		for _, target := range []string{"sm_80", "gfx906"} {
			if missing[target] != nil || len(sample) == 0 {
				continue
			}
			before := make([]found, len(kernels))
			if err := b.device(t.Context(), target, kernels, sample, before); errors.Is(err, errNoCompiler) {
				missing[target] = err
				continue
			} else {
				require.NoError(t, err)
			}
			for _, k := range sample {
				if all[k].refused == "" {
					all[k].refused = before[k].refused
				}
				if before[k].refused == "" {
					compiled++
				}
			}
		}
		for k, f := range all {
			switch {
			case f.host != "":
				failures++
				t.Errorf("the kernel of seed %d fails on the host: %s\n%s", kernels[k].seed, f.host, kernels[k].src)
			case f.refused != "":
				refusals++
				t.Errorf("a compiler refuses the kernel of seed %d: %s\n%s", kernels[k].seed, f.refused, kernels[k].src)
			case f.differs != "":
				b.report(t, kernels[k], f)
			}
			compared++
		}
		t.Logf("seeds %d to %d: %v", kernels[0].seed, kernels[len(kernels)-1].seed, time.Since(begin).Round(time.Millisecond))
		if t.Failed() {
			return
		}
	}
	t.Logf("%d kernels on the host and %s: %d failed, %d refused; compilers for CUDA and HIP took %d", compared, strings.Join(b.devices, " or "), failures, refusals, compiled)
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
	requireDevices(t, b)
}

// requireDevices skips a test that has had no device to compare with, unless the environment asks for one.
func requireDevices(t *testing.T, b *batch) {
	if len(b.devices) > 0 {
		return
	}
	if strings.Contains(os.Getenv("HALYARD_REQUIRE"), "opencl") {
		t.Fatal("HALYARD_REQUIRE asks for OpenCL, and there is no such device")
	}
	t.Skip("there is no OpenCL device to compare with")
}

// report fails the test because a kernel differs, and logs the smallest kernel that still differs.
func (b *batch) report(t *testing.T, k text, f found) {
	t.Errorf("the kernel of seed %d %s; repeat it with -args -seed %d -kernels 1\n%s", k.seed, f.differs, k.seed, k.src)
	small, c, err := b.shrunk(t.Context(), k, b.devices)
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
	for seed := uint64(1); seed < 100; seed += 20 {
		var kernels []text
		for k := range uint64(20) {
			kernels = append(kernels, text{seed + k, random(seed+k, 0)})
		}
		all, err := b.run(t.Context(), kernels, func(int) []string { return b.devices[:min(1, len(b.devices))] })
		require.NoError(t, err)
		requireDevices(t, b)
		for k, f := range all {
			if f.differs == "" {
				continue
			}
			small, c, err := b.shrunk(t.Context(), kernels[k], b.devices[:1])
			require.NoError(t, err)
			t.Logf("%s\n%d bytes became\n%s\nin C\n%s", f.differs, len(kernels[k].src), small, c)
			assert.Regexp(t, "go_shl_[iu]32\\([^i]", c)
			assert.Less(t, len(small), 500)
			return
		}
	}
	t.Error("no kernel showed the mistake")
}
