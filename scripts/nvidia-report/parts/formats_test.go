//go:build cuda && linux

package parts

import (
	"encoding/binary"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/kernel"
)

const block = 64

// turnText adds to each element a multiple of the one that is as far from the other end of its block, which other threads have read.
const turnText = `
KERNEL void turn(GLOBAL f32 *y, const GLOBAL f32 *x, f32 a, u64 n) {
	LOCAL f32 piece[64];
	u64 i = INDEX(0), me = THREAD(0);
	piece[me] = i < n ? x[i] : 0.0f;
	BARRIER();
	if (i < n) y[i] += a * piece[THREADS(0) - 1 - me];
}
`

// turn is turnText in Go, rounded twice like it.
func turn(y, x []float32, a float32) {
	for i := range y {
		j := i/block*block + block - 1 - i%block
		other := float32(0)
		if j < len(x) {
			other = x[j]
		}
		y[i] += float32(a * other)
	}
}

// NVRTC compiles portable text to PTX, which the driver translates, and to a cubin for the device alone. Both compute what Go does, to the bit.
func TestFormats(t *testing.T) {
	src := hal.Source{Name: "turn", Text: kernel.Prelude(hal.LanguageCUDA) + turnText, Options: []string{"--fmad=false"}}
	for _, d := range cudaDevices(t) {
		for _, f := range []struct {
			format hal.Format
			prefix string
		}{{hal.FormatPTX, "compute_"}, {hal.FormatCubin, "sm_"}} {
			t.Run(d.Name()+"/"+f.format.String(), func(t *testing.T) {
				arch := d.Compute.Arch
				target := f.prefix + strings.TrimPrefix(arch, "sm_")
				img, err := hal.CompileFor(t.Context(), target, src)
				if errors.Is(err, hal.ErrUnsupported) && f.format == hal.FormatPTX {
					img, err = hal.CompileFor(t.Context(), arch, src) // PTX for the newest that the compiler knows
				}
				switch {
				case errors.Is(err, hal.ErrUnavailable):
					t.Skipf("there is no NVRTC: %v", err)
				case errors.Is(err, hal.ErrUnsupported):
					t.Skipf("NVRTC is too old or too new for %s: %v", arch, err)
				}
				require.NoError(t, err)
				if img.Format != f.format {
					t.Skipf("for %s NVRTC made %v", target, img.Format)
				}
				t.Logf("%s: %d bytes of %v for %s", described(d), len(img.Data), img.Format, target)
				dev, err := hal.Open(t.Context(), d.Name())
				require.NoError(t, err)
				t.Cleanup(func() { require.NoError(t, dev.Close()) })
				module, err := dev.Load(img)
				if err != nil && d.Simulated && f.format == hal.FormatCubin {
					t.Skipf("NVRTC made a cubin of %d bytes for %s; the simulated driver takes PTX alone: %v", len(img.Data), target, err)
				}
				require.NoError(t, err)
				compute(t, dev, module)
			})
		}
	}
}

// compute launches turn and compares every element with Go's.
func compute(t *testing.T, dev *hal.Device, module *hal.Module) {
	k, err := module.Kernel("turn")
	require.NoError(t, err)
	s, err := dev.NewStream()
	require.NoError(t, err)
	const n, a = 1000, float32(0.3) // the last block is not full
	x, y := make([]float32, n), make([]float32, n)
	for i := range n {
		x[i], y[i] = float32(i*7%19)/3, float32(i%11)/7
	}
	memories := make([]*hal.Memory, 2)
	for i, v := range [][]float32{y, x} {
		memories[i], err = dev.Alloc(hal.KindDevice, 4*n, 0)
		require.NoError(t, err)
		require.NoError(t, dev.Write(t.Context(), memories[i].All(), encode(v)))
	}
	require.NoError(t, s.Launch(k, hal.Over(n).Of(block), hal.At(memories[0].All()), hal.At(memories[1].All()), hal.Value(a), hal.Value(uint64(n))))
	got := make([]byte, 4*n)
	require.NoError(t, s.CopyOut(got, memories[0].All()))
	require.NoError(t, s.Sync(t.Context()))
	turn(y, x, a)
	for i, want := range y {
		if v := math.Float32frombits(binary.NativeEndian.Uint32(got[4*i:])); v != want {
			t.Fatalf("element %d is %v, and should be %v", i, v, want)
		}
	}
	require.NoError(t, hal.CloseAll(s, module, memories[0], memories[1]))
}

func encode(v []float32) (b []byte) {
	for _, x := range v {
		b = binary.NativeEndian.AppendUint32(b, math.Float32bits(x))
	}
	return b
}
