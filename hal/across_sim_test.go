//go:build cuda && hip && linux

package hal_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	_ "github.com/go-halyard/halyard/backends/cuda"
	_ "github.com/go-halyard/halyard/backends/hip"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/testing/cudahiptest"
	"github.com/go-halyard/halyard/internal/testing/simgpu"
)

// hostFunctions are the symbols without which a driver takes pageable memory in no stream's order.
var hostFunctions = []string{"cuLaunchHostFunc", "hipLaunchHostFunc", "hipStreamAddCallback"}

// simulations are the two simulated drivers. Either may lack host functions.
func simulations(tb testing.TB, cudaLacks, hipLacks bool) (cuda, hip *simgpu.Control) {
	tb.Helper()
	old, full := cudahiptest.Simulate(tb, hostFunctions...), cudahiptest.Simulate(tb)
	pick := func(i int, lacks bool, variable string) *simgpu.Control {
		sim := full[i]
		if lacks {
			sim = old[i]
		}
		tb.Setenv(variable, sim.Library)
		return sim.Control
	}
	return pick(0, cudaLacks, "HALYARD_CUDA_LIBRARY"), pick(1, hipLacks, "HALYARD_HIP_LIBRARY")
}

type simEnd struct {
	d *hal.Device
	s *hal.Stream
	m *hal.Memory
}

func simEnds(tb testing.TB, n uint64, names ...string) (ends []simEnd, closeAll func()) {
	tb.Helper()
	return simEndsOf(tb, n, []hal.Kind{hal.KindDevice, hal.KindDevice}, names...)
}

func simEndsOf(tb testing.TB, n uint64, kinds []hal.Kind, names ...string) (ends []simEnd, closeAll func()) {
	tb.Helper()
	for i, name := range names {
		d, err := hal.Open(ctx, name)
		require.NoError(tb, err)
		s, err := d.NewStream()
		require.NoError(tb, err)
		m, err := d.Alloc(kinds[i], n, 0)
		require.NoError(tb, err)
		ends = append(ends, simEnd{d, s, m})
	}
	return ends, func() {
		tb.Helper()
		for _, e := range ends {
			require.NoError(tb, e.s.Close())
			require.NoError(tb, e.m.Close())
		}
		for _, e := range ends {
			require.NoError(tb, e.d.Close())
		}
	}
}

func clean(tb testing.TB, label any, sims ...*simgpu.Control) {
	tb.Helper()
	for _, c := range sims {
		require.Empty(tb, c.Violations(), label)
		require.Empty(tb, c.Leaks(), label)
	}
}

// The simulated drivers run work in any order that streams and events allow, and devices may lack what makes it easy.
func TestAcrossDriversInAnyOrder(t *testing.T) {
	const n = 1<<20 + 5
	want := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(want)
	for i := range 4 {
		cuda, hip := simulations(t, i&1 != 0, i&2 != 0)
		for _, lack := range []simgpu.Lack{0, simgpu.LackHostRegister} {
			for seed := range uint64(3) {
				for _, names := range [][]string{{"cuda:0", "hip:0"}, {"hip:0", "cuda:1"}, {"cuda:0", "cuda:1"}} {
					for _, c := range []*simgpu.Control{cuda, hip} {
						require.NoError(t, c.Set(simgpu.Without, uint64(lack|simgpu.LackPeer)))
						require.NoError(t, c.Reset(seed))
					}
					ends, closeAll := simEnds(t, n, names...)
					a, b := ends[0], ends[1]
					for _, e := range ends {
						lacks := i&1 != 0 && e.d.Info().Backend == "cuda" || i&2 != 0 && e.d.Info().Backend == "hip"
						require.Equal(t, !lacks, e.d.Caps().Has(hal.CapOrderedPageable))
					}
					require.NoError(t, a.s.CopyIn(a.m.All(), want))
					require.NoError(t, b.s.Fill(b.m.All(), hal.Pattern8(3)))
					require.NoError(t, hal.CopyPeer(b.s, b.m.All(), a.s, a.m.All()))
					got := make([]byte, n)
					require.NoError(t, b.s.CopyOut(got, b.m.All()))
					require.NoError(t, b.s.Sync(ctx))
					require.True(t, bytes.Equal(want, got), "%d, %v, seed %d, %v", i, lack, seed, names)
					closeAll()
					clean(t, names, cuda, hip)
				}
			}
		}
	}
}

// So they do where the host can touch the memory at one end or at both, and the copy may need no memory in between.
func TestAcrossDriversInPlaceInAnyOrder(t *testing.T) {
	kinds := [][]hal.Kind{{hal.KindHost, hal.KindDevice}, {hal.KindDevice, hal.KindHost}, {hal.KindHost, hal.KindHost}, {hal.KindShared, hal.KindDevice}, {hal.KindDevice, hal.KindShared}}
	for i := range 4 {
		cuda, hip := simulations(t, i&1 != 0, i&2 != 0)
		for seed := range uint64(2) {
			for _, names := range [][]string{{"cuda:0", "hip:0"}, {"hip:0", "cuda:1"}, {"cuda:0", "cuda:1"}} {
				for _, kinds := range kinds {
					for _, n := range []uint64{5001, 1<<20 + 5} {
						for _, c := range []*simgpu.Control{cuda, hip} {
							require.NoError(t, c.Set(simgpu.Without, uint64(simgpu.LackPeer)))
							require.NoError(t, c.Reset(seed))
						}
						label := fmt.Sprintf("%d, %v, %v, %d bytes, seed %d", i, names, kinds, n, seed)
						ends, closeAll := simEndsOf(t, n, kinds, names...)
						a, b := ends[0], ends[1]
						middle, err := b.d.Alloc(hal.KindDevice, n, 0)
						require.NoError(t, err)
						for round := range byte(3) {
							require.NoError(t, a.s.Fill(a.m.All(), hal.Pattern8(10+round)))
							if round != 2 { // when the destination is idle
								require.NoError(t, b.s.Fill(b.m.All(), hal.Pattern8(20)))
							}
							require.NoError(t, hal.CopyPeer(b.s, b.m.All(), a.s, a.m.All()))
							require.NoError(t, a.s.Fill(a.m.All(), hal.Pattern8(30)))
							require.NoError(t, b.s.Copy(middle.All(), b.m.All()))
							require.NoError(t, b.s.Fill(b.m.All(), hal.Pattern8(40)))
							if round == 1 {
								require.NoError(t, b.s.Sync(ctx))
							}
							got := make([]byte, n)
							require.NoError(t, b.s.CopyOut(got, middle.All()))
							require.NoError(t, b.s.Sync(ctx))
							require.Equal(t, int(n), bytes.Count(got, []byte{10 + round}), label)
						}
						require.NoError(t, middle.Close())
						closeAll()
						clean(t, label, cuda, hip)
					}
				}
			}
		}
	}
}

// The source fills every piece of host memory that there is while the destination has not begun, and no more.
func TestAcrossSourceRunsAhead(t *testing.T) {
	cuda, hip := simulations(t, false, false)
	const n, piece, pieces = 4 << 20, 512 << 10, 3 // of across.go, for this size
	ends, closeAll := simEnds(t, n, "cuda:0", "hip:0")
	a, b := ends[0], ends[1]
	require.NoError(t, a.s.Fill(a.m.All(), hal.Pattern8(6)))
	require.NoError(t, a.s.Sync(ctx))
	g, err := b.s.Gate()
	require.NoError(t, err)
	before := cuda.Bytes()
	require.NoError(t, hal.CopyPeer(b.s, b.m.All(), a.s, a.m.All()))
	require.Eventually(t, func() bool { return cuda.Bytes()-before >= pieces*piece }, 20*time.Second, time.Millisecond)
	require.Zero(t, hip.Bytes())
	done, err := a.s.Done()
	require.NoError(t, err)
	require.False(t, done)
	require.Equal(t, uint64(pieces*piece), cuda.Bytes()-before)
	require.NoError(t, g.Signal())
	got := make([]byte, n)
	require.NoError(t, b.s.CopyOut(got, b.m.All()))
	require.NoError(t, b.s.Sync(ctx))
	require.Equal(t, n, bytes.Count(got, []byte{6}))
	closeAll()
	clean(t, "", cuda, hip)
}

// Whatever call of either driver fails, the error is reported or the bytes are right, and nothing is left behind.
func TestAcrossEveryVendorCallFails(t *testing.T) {
	cuda, hip := simulations(t, false, false)
	const n = 1 << 20
	want := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{2}).Read(want)
	for _, failing := range []*simgpu.Control{cuda, hip} {
		for call := uint64(1); ; call++ {
			require.NoError(t, cuda.Reset(0))
			require.NoError(t, hip.Reset(0))
			ends, closeAll := simEnds(t, n, "cuda:0", "hip:0")
			a, b := ends[0], ends[1]
			require.NoError(t, a.s.CopyIn(a.m.All(), want))
			require.NoError(t, a.s.Sync(ctx))
			before := failing.CallCount()
			failing.FailCall(call, 999)
			err := hal.CopyPeer(b.s, b.m.All(), a.s, a.m.All())
			past := failing.CallCount()-before < call
			failing.FailCall(0, 0)
			if err != nil {
				require.NoError(t, hal.CopyPeer(b.s, b.m.All(), a.s, a.m.All()), "after call %d", call)
			}
			got := make([]byte, n)
			require.NoError(t, b.s.CopyOut(got, b.m.All()))
			require.NoError(t, b.s.Sync(ctx))
			require.True(t, bytes.Equal(want, got), "call %d: %v", call, err)
			closeAll()
			clean(t, call, cuda, hip)
			if past {
				require.Greater(t, call, uint64(10))
				break
			}
		}
	}
}

// BenchmarkAcross compares the staged copy with one leg after the other, each through page-locked memory of its own device where it has
// one, over simulated links of 0.2 GB/s for page-locked and 0.08 GB/s for pageable memory, one for each device. The link and
// the caller that a pageable copy holds up are modelled; the host's own work is real. Two legs that take equally long cannot
// gain more than a factor of 2.
func BenchmarkAcross(b *testing.B) {
	cuda, hip := simulations(b, false, false)
	for _, c := range []*simgpu.Control{cuda, hip} {
		require.NoError(b, c.Set(simgpu.Without, uint64(simgpu.LackPeer)))
		require.NoError(b, c.Reset(0))
		require.NoError(b, c.Set(simgpu.Validate, 0))
		require.NoError(b, c.Set(simgpu.Pageable, 80_000))
		require.NoError(b, c.Set(simgpu.LinkRate, 200_000))
	}
	const n = 16 << 20
	for _, names := range [][]string{{"cuda:0", "hip:0"}, {"hip:0", "cuda:0"}, {"cuda:0", "cuda:1"}} {
		b.Run(names[0]+"-"+names[1], func(b *testing.B) {
			ends, closeAll := simEnds(b, n, names...)
			defer closeAll()
			from, to := ends[0], ends[1]
			out, err := from.d.Alloc(hal.KindHost, n, 0)
			require.NoError(b, err)
			defer out.Close()
			in, err := to.d.Alloc(hal.KindHost, n, 0)
			require.NoError(b, err)
			defer in.Close()
			hostIn, err := in.Bytes()
			require.NoError(b, err)
			hostOut, err := out.Bytes()
			require.NoError(b, err)
			b.SetBytes(n)
			staged, serial := time.Duration(0), time.Duration(0)
			for b.Loop() {
				start := time.Now()
				require.NoError(b, hal.CopyPeer(to.s, to.m.All(), from.s, from.m.All()))
				require.NoError(b, to.s.Sync(ctx))
				staged += time.Since(start)
				b.StopTimer()
				start = time.Now()
				require.NoError(b, from.s.Copy(out.All(), from.m.All()))
				require.NoError(b, from.s.Sync(ctx))
				if names[0][:3] != names[1][:3] { // memory of one driver is page-locked to all its devices
					copy(hostIn, hostOut)
					require.NoError(b, to.s.Copy(to.m.All(), in.All()))
				} else {
					require.NoError(b, to.s.CopyIn(to.m.All(), hostOut))
				}
				require.NoError(b, to.s.Sync(ctx))
				serial += time.Since(start)
				b.StartTimer()
			}
			b.ReportMetric(float64(serial)/float64(staged), "serial/staged")
		})
	}
}

// BenchmarkAcrossSimulated compares at every size, over links that take no time.
func BenchmarkAcrossSimulated(b *testing.B) {
	cuda, hip := simulations(b, false, false)
	for _, c := range []*simgpu.Control{cuda, hip} {
		require.NoError(b, c.Set(simgpu.Validate, 0))
	}
	for _, names := range [][]string{{"cuda:0", "hip:0"}, {"cuda:0", "host:0"}, {"host:0", "hip:0"}} {
		b.Run(names[0]+"-"+names[1], func(b *testing.B) {
			var d [2]*hal.Device
			for i, name := range names {
				var err error
				d[i], err = hal.Open(ctx, name)
				require.NoError(b, err)
				b.Cleanup(func() { require.NoError(b, d[i].Close()) })
			}
			benchAcross(b, d[0], d[1])
		})
	}
}
