package kernel_test

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	_ "github.com/go-halyard/halyard/backends"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/testing/divided"
	"github.com/go-halyard/halyard/kernel"
	"github.com/go-halyard/halyard/kernel/gridgen"
)

// everyStream returns a stream on each device of the machine that runs kernels, but for the host's first, with n discrete ones of the host before them.
func everyStream(t testing.TB, n int) (streams []*hal.Stream) {
	_, own := devices(t, n)
	streams = own[1:]
	infos, err := hal.Devices(ctx)
	require.NoError(t, err)
	for _, info := range infos {
		if info.Backend == "host" {
			continue
		}
		d, err := hal.Open(ctx, info.Name())
		require.NoError(t, err)
		s, err := d.NewStream()
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, hal.CloseAll(d, s)) })
		if _, err := divided.Kernel("saxpy").Of(ctx, d); err == nil { // a simulated HIP device does not run what its compiler makes
			streams = append(streams, s)
		} else if !errors.Is(err, hal.ErrUnavailable) {
			require.ErrorIs(t, err, hal.ErrUnsupported)
		}
	}
	return streams
}

type box struct{ first, count [3]uint32 }

// boxes cuts a grid of blocks into random boxes.
func boxes(rng *rand.Rand, b box, n int) []box {
	d := rng.IntN(3)
	if n <= 1 || b.count[d] < 2 {
		return []box{b}
	}
	at := 1 + rng.Uint32N(b.count[d]-1)
	low, high := b, b
	low.count[d], high.first[d], high.count[d] = at, b.first[d]+at, b.count[d]-at
	return append(boxes(rng, low, n-1), boxes(rng, high, n-1)...)
}

func numbers(rng *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = rng.Float32()
	}
	return x
}

// A grid that is launched in parts gives what one launch of it gives: each thread has its place in the whole grid, also in functions that the kernel
// calls, in rows, in vectors and where threads of a block work together.
func TestBoxesAreTheWhole(t *testing.T) {
	for _, s := range everyStream(t, 1) {
		t.Run(s.Device().Name(), func(t *testing.T) {
			seeds := uint64(12)
			if s.Device().Info().Class != hal.ClassCPU || s.Device().Caps().Has(hal.CapCompile) {
				seeds = 3 // compilers compile anew for each size of a block
			}
			for seed := range seeds {
				rng := rand.New(rand.NewPCG(seed, 7))
				size := [3]uint32{1 + rng.Uint32N(9), 1 + rng.Uint32N(9), 1 + rng.Uint32N(4)}
				block := [3]uint32{1 + rng.Uint32N(8), 1 + rng.Uint32N(8), 1 + rng.Uint32N(2)}
				nx, ny, nz := size[0]*block[0], size[1]*block[1], size[2]*block[2]
				whole := hal.Blocks(int(size[0]), int(size[1]), int(size[2])).Of(int(block[0]), int(block[1]), int(block[2]))
				flat := hal.Blocks(int(size[0]), int(size[1])).Of(int(block[0]), int(block[1]))
				wide, high := int(nx), int(ny)
				tiles := [3]uint32{size[0], size[0], 1}
				square := wide * wide
				x := made(t, numbers(rng, wide*high)...)
				square1, square2 := made(t, numbers(rng, square)...), made(t, numbers(rng, square)...)
				values := func(n ...int32) (args []kernel.Arg) {
					for _, v := range n {
						args = append(args, kernel.Value(v))
					}
					return args
				}
				slice := func(x *buffer.Buffer[float32], out bool) []kernel.Arg {
					if out {
						return []kernel.Arg{kernel.InOut(x), kernel.Value(int64(x.Len()))}
					}
					return []kernel.Arg{kernel.In(x), kernel.Value(int64(x.Len()))}
				}
				compare(t, rng, s, "places", whole, size, block, func(out *buffer.Buffer[int32]) []kernel.Arg {
					return append(values(int32(nx), int32(ny)), kernel.InOut(out), kernel.Value(int64(out.Len())))
				}, int(nx*ny*nz)*4)
				compare(t, rng, s, "spread", flat, [3]uint32{size[0], size[1], 1}, [3]uint32{block[0], block[1], 1}, func(out *buffer.Buffer[float32]) []kernel.Arg {
					return append(append(values(int32(nx), int32(ny)), slice(x, false)...), slice(out, true)...)
				}, wide*high)
				compare(t, rng, s, "product", hal.Blocks(int(size[0]), int(size[0])).Of(8, 8), tiles, [3]uint32{8, 8, 1}, func(out *buffer.Buffer[float32]) []kernel.Arg {
					return append(append(append(values(int32(wide)), slice(square1, false)...), slice(square2, false)...), slice(out, true)...)
				}, square)
				compare(t, rng, s, "saxpy", hal.Blocks(int(size[0])).Of(64), [3]uint32{size[0], 1, 1}, [3]uint32{64, 1, 1}, func(out *buffer.Buffer[float32]) []kernel.Arg {
					return append(append([]kernel.Arg{kernel.Value(float32(3))}, slice(x, false)...), slice(out, true)...)
				}, min(wide*high, int(size[0])*64))
			}
		})
	}
}

// compare launches a kernel as a whole, and in random boxes in a random order, and compares the n elements that it writes.
func compare[T buffer.Element](t *testing.T, rng *rand.Rand, s *hal.Stream, name string, grid hal.Grid, size, block [3]uint32, args func(*buffer.Buffer[T]) []kernel.Arg, n int) {
	t.Helper()
	k := divided.Kernel(name)
	want, got := made(t, make([]T, n)...), made(t, make([]T, n)...)
	require.NoError(t, k.Launch(ctx, s, grid, args(want)...))
	list := boxes(rng, box{count: size}, 4)
	rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	for _, b := range list {
		require.NoError(t, kernel.LaunchPart(ctx, k, s, size, block, b.first, b.count, args(got)...))
	}
	require.Equal(t, contents(t, want), contents(t, got), name)
}

// A footprint gets integers as the kernel gets them, by the types in its translation, and 0 for other numbers.
func TestFootprintsGetIntegers(t *testing.T) {
	p := kernel.New(kernel.Source{
		Portable: "KERNEL void k_f(i8 h_a, u8 h_b, i32 h_c, u32 h_d, const GLOBAL f32 *h_e, i64 h_e_n, u64 h_f, f32 h_g, u16 h_h, i16 h_i GO_FAULTS) {}",
		Source:   gridgen.Source{Kernels: map[string]gridgen.Written{"f": {Code: "k_f", Params: make([]string, 10)}, "g": {Code: "k_g", Params: make([]string, 1)}}},
	})
	defer p.Close()
	m1, v := int64(-1), kernel.Value[int64]
	assert.Equal(t, []int64{-1, 255, -1, 1<<32 - 1, 0, 7, -1, 0, 1<<16 - 1, -1}, kernel.Integers(p.Kernel("f"), kernel.Value(int8(-1)), kernel.Value(uint8(255)),
		kernel.Value(int32(-1)), kernel.Value(uint32(1<<32-1)), kernel.Value(float32(3)), v(7), kernel.Value(uint64(m1)), kernel.Value(float32(3)),
		kernel.Value(uint16(1<<16-1)), kernel.Value(int16(-1))))
	assert.Equal(t, []int64{-5}, kernel.Integers(p.Kernel("g"), kernel.Value(int32(-5))), "a kernel without a translation")
}
