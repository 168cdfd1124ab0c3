package hal_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/testing/hooked"
)

// madeUp is a kernel that exists in its description alone.
type madeUp struct{ info driver.KernelInfo }

func (k *madeUp) Info() *driver.KernelInfo { return &k.info }

// launchModel makes random kernels and launches, and knows which of them must be accepted.
type launchModel struct {
	rng     *rand.Rand
	limits  driver.Compute
	kernel  *madeUp
	mems    []*hal.Memory
	closed  *hal.Memory
	foreign *hal.Memory
	got     *driver.Launch // what the driver was given, with its own Args
}

func (m *launchModel) pick(list ...uint32) uint32 { return list[m.rng.IntN(len(list))] }

// anyKernel is a random kernel.
func (m *launchModel) anyKernel() driver.KernelInfo {
	k := driver.KernelInfo{Known: m.rng.IntN(8) > 0, MaxThreads: m.pick(0, 1, 64, 1024), Suggested: m.pick(0, 1, 64, 256, 4096),
		StaticShared: uint64(m.pick(0, 100, 4096)), MaxShared: uint64(m.pick(0, 64, 1000))}
	if m.rng.IntN(10) == 0 {
		k.RequiredBlock = [3]uint32{m.pick(1, 8, 64), m.pick(1, 2), 1}
	}
	for range m.rng.IntN(7) {
		p := driver.Param{Kind: driver.ParamKind(m.rng.IntN(4)), Size: m.pick(0, 1, 2, 4, 8, 8, 12, 24)}
		if p.Kind == driver.ParamPointer {
			p.Size = m.pick(0, 8)
		}
		if p.Kind == driver.ParamShared && !m.limits.SharedByParam {
			p.Kind = driver.ParamValue
		}
		k.Params = append(k.Params, p)
	}
	return k
}

type argument struct {
	arg  hal.Arg
	kind driver.ParamKind
	size uint32
	bad  error // what it is refused for by itself
}

func (m *launchModel) anyArgument() argument {
	mem := m.mems[m.rng.IntN(len(m.mems))]
	switch m.rng.IntN(24) {
	case 0:
		return argument{hal.Arg{}, driver.ParamUnknown, 0, hal.ErrInvalidArgument}
	case 1:
		return argument{hal.At(m.closed.Region(0, 1)), driver.ParamPointer, 8, hal.ErrClosed}
	case 2:
		return argument{hal.At(mem.Region(mem.Size()-1, 2)), driver.ParamPointer, 8, hal.ErrOutOfRange}
	case 3:
		return argument{hal.At(hal.Region{}), driver.ParamPointer, 8, hal.ErrInvalidArgument}
	case 4:
		return argument{hal.At(m.foreign.All()), driver.ParamPointer, 8, hal.ErrWrongDevice}
	case 5:
		return argument{hal.Struct(&struct{ P uintptr }{}), driver.ParamValue, 8, hal.ErrInvalidArgument}
	case 6:
		return argument{hal.Shared(-1), driver.ParamShared, 0, hal.ErrInvalidArgument}
	case 7, 8:
		n := m.pick(0, 1, 64, 4096, 1<<20)
		return argument{hal.Shared(int(n)), driver.ParamShared, n, nil}
	case 9:
		return argument{hal.Value(uint8(1)), driver.ParamValue, 1, nil}
	case 10:
		return argument{hal.Value(int16(1)), driver.ParamValue, 2, nil}
	case 11, 12:
		return argument{hal.Value(float32(1)), driver.ParamValue, 4, nil}
	case 13, 14:
		return argument{hal.Value(float64(1)), driver.ParamValue, 8, nil}
	case 15:
		return argument{hal.Struct(&[3]int32{}), driver.ParamValue, 12, nil}
	case 16:
		return argument{hal.Struct(&struct {
			A [2]uint64
			B uint8
		}{}), driver.ParamValue, 24, nil}
	}
	off := uint64(m.rng.IntN(int(mem.Size()) + 1))
	return argument{hal.At(mem.Region(off, uint64(m.rng.IntN(int(mem.Size()-off)+1)))), driver.ParamPointer, 8, nil}
}

// fitting is a right argument for a parameter.
func (m *launchModel) fitting(p driver.Param) argument {
	for {
		a := m.anyArgument()
		if a.bad == nil && (p.Kind == driver.ParamUnknown || p.Kind == a.kind) && (p.Size == 0 || p.Size == a.size || a.kind == driver.ParamShared) &&
			(a.kind != driver.ParamShared || p.Kind == driver.ParamShared) {
			return a
		}
		if p.Size == 12 && p.Kind != driver.ParamPointer && p.Kind != driver.ParamShared {
			return argument{hal.Struct(&[3]int32{}), driver.ParamValue, 12, nil}
		}
	}
}

type shape struct {
	n, of     []int
	over      bool
	unchecked bool
}

func (m *launchModel) anyShape() shape {
	s := shape{over: m.rng.IntN(2) == 0, unchecked: m.rng.IntN(6) == 0}
	number := func(odd int) int {
		if m.rng.IntN(odd) == 0 {
			return []int{-1, 0, 1 << 16, 1 << 20, 1 << 33 & math.MaxInt, (1<<62 + 5) & math.MaxInt}[m.rng.IntN(6)]
		}
		return 1 + m.rng.IntN(100)
	}
	for range m.rng.IntN(12)/4 + 1 {
		s.n = append(s.n, number(12))
	}
	if m.rng.IntN(30) == 0 {
		s.n = make([]int, []int{0, 4}[m.rng.IntN(2)])
	}
	if m.rng.IntN(2) == 0 {
		for range m.rng.IntN(3) + 1 {
			s.of = append(s.of, number(20)%77)
		}
	} else if s.over { // the block is the library's choice, and the number of blocks with it
		for i := range s.n {
			s.n[i] = min(s.n[i], 60_000)
		}
	}
	return s
}

func (s shape) grid() hal.Grid {
	g := hal.Blocks(s.n...)
	if s.over {
		g = hal.Over(s.n...)
	}
	if s.of != nil {
		g = g.Of(s.of...)
	}
	if s.unchecked {
		g = g.Unchecked()
	}
	return g
}

// accepts reports whether a launch has to be accepted. The block is that which the driver was given, if any.
func (m *launchModel) accepts(k *driver.KernelInfo, s shape, args []argument) (ok bool, empty bool) {
	if len(s.n) == 0 || len(s.n) > 3 {
		return false, false
	}
	limit := func(list ...uint32) uint64 {
		most := uint64(1<<31 - 1)
		for _, n := range list {
			if n != 0 {
				most = min(most, uint64(n))
			}
		}
		return most
	}
	block := [3]uint64{1, 1, 1}
	if s.of != nil {
		threads := uint64(1)
		for d, n := range s.of {
			if n < 1 || uint64(n) > limit(m.limits.MaxBlock[d]) {
				return false, false
			}
			block[d] = uint64(n)
			threads *= uint64(n)
		}
		if threads > limit(k.MaxThreads, m.limits.MaxThreads) {
			return false, false
		}
		if r := k.RequiredBlock; r != [3]uint32{} && block != [3]uint64{uint64(r[0]), uint64(r[1]), uint64(r[2])} {
			return false, false
		}
	} else if r := k.RequiredBlock; r != [3]uint32{} {
		for d := range block {
			block[d] = uint64(r[d])
			if block[d] > limit(m.limits.MaxBlock[d]) {
				return false, false
			}
		}
		if block[0]*block[1]*block[2] > limit(k.MaxThreads, m.limits.MaxThreads) {
			return false, false
		}
	} else if m.got != nil {
		for d := range block {
			block[d] = uint64(m.got.Block[d]) // any that keeps the limits will do
		}
	}
	all := 1.0
	for d, n := range s.n {
		if n < 0 {
			return false, false
		}
		if n == 0 {
			empty = true
		}
		count := uint64(n)
		if s.over {
			count = (uint64(n) + block[d] - 1) / block[d]
		}
		most := uint64(1<<32 - 1)
		if m.limits.MaxGrid[d] != 0 {
			most = uint64(m.limits.MaxGrid[d])
		}
		if m.limits.MaxGlobal != 0 {
			most = min(most, m.limits.MaxGlobal/block[d])
		}
		if count > most {
			return false, empty
		}
		all *= float64(count * block[d])
	}
	if all > 1<<62 {
		return false, empty
	}
	if !k.Known && !s.unchecked {
		return false, empty
	}
	n, shared, pieces := 0, uint64(0), 0
	for _, a := range args {
		if a.bad != nil {
			return false, empty
		}
		if a.kind == driver.ParamShared {
			shared += uint64(a.size)
			if !m.limits.SharedByParam {
				if pieces++; pieces > 1 {
					return false, empty
				}
				continue
			}
			if k.Known && (n >= len(k.Params) || k.Params[n].Kind != driver.ParamShared && k.Params[n].Kind != driver.ParamUnknown) {
				return false, empty
			}
		}
		if k.Known {
			if n >= len(k.Params) {
				return false, empty
			}
			p := k.Params[n]
			if p.Kind != driver.ParamUnknown && p.Kind != a.kind || p.Size != 0 && p.Size != a.size && a.kind != driver.ParamShared {
				return false, empty
			}
		}
		n++
	}
	if k.Known && n != len(k.Params) {
		return false, empty
	}
	most := k.MaxShared
	if most == 0 {
		most = m.limits.Shared - k.StaticShared
	}
	return shared <= most, empty
}

// Random launches of random kernels are accepted if and only if a model says so, and the driver is given exactly what was passed.
// HALYARD_LAUNCHES sets how many.
func TestRandomLaunches(t *testing.T) {
	launches := 30_000
	if v, err := strconv.Atoi(os.Getenv("HALYARD_LAUNCHES")); err == nil {
		launches = v
	}
	seed := rand.Uint64()
	defer func() { t.Logf("seed %d, %d launches", seed, launches) }()
	for _, byParam := range []bool{false, true} {
		m := &launchModel{rng: rand.New(rand.NewPCG(seed, 1)), kernel: &madeUp{}}
		m.limits = driver.Compute{MaxThreads: 1024, MaxBlock: [3]uint32{1024, 1024, 64}, MaxGrid: [3]uint32{1<<31 - 1, 65535, 65535}, MaxGlobal: 1 << 32, Warp: 32,
			Shared: 48 << 10, SharedByParam: byParam}
		b := &hooked.Backend{Backend: host.New(host.Options{Name: fmt.Sprintf("launches%t", byParam), Discrete: 1})}
		b.Info = func(i driver.Info) driver.Info { i.Compute = m.limits; return i }
		b.Kernel = func(*hooked.Module, string) (driver.Kernel, error) {
			k := *m.kernel
			return &k, nil
		}
		b.Launch = func(_ *hooked.Stream, _ driver.Kernel, l *driver.Launch) error {
			c := *l
			m.got = &c
			return nil
		}
		ctx := context.Background()
		dev, err := hal.OpenWith(ctx, b, 1)
		require.NoError(t, err)
		far, err := hal.Open(ctx, "host:0")
		require.NoError(t, err)
		s, err := dev.NewStream()
		require.NoError(t, err)
		for _, n := range []uint64{1, 64, 1000} {
			mem, err := dev.Alloc(hal.KindDevice, n, 0)
			require.NoError(t, err)
			m.mems = append(m.mems, mem)
		}
		m.closed, err = dev.Alloc(hal.KindDevice, 8, 0)
		require.NoError(t, err)
		require.NoError(t, m.closed.Close())
		m.foreign, err = far.Alloc(hal.KindDevice, 8, 0)
		require.NoError(t, err)
		accepted := 0
		var mod *hal.Module
		var k *hal.Kernel
		for i := range launches / 2 {
			if i%100 == 0 {
				if mod != nil {
					require.NoError(t, mod.Close())
				}
				mod, err = dev.Load(hal.Image{Format: hal.FormatGo, Functions: map[string]hal.Function{"f": {Run: func(*hal.Block) {}}}})
				require.NoError(t, err)
				m.kernel.info = m.anyKernel()
				k, err = mod.Kernel("f")
				require.NoError(t, err)
			}
			var args []argument
			if m.rng.IntN(3) > 0 {
				for _, p := range m.kernel.info.Params {
					args = append(args, m.fitting(p))
				}
				if m.rng.IntN(3) == 0 && len(args) > 0 {
					args[m.rng.IntN(len(args))] = m.anyArgument()
				}
			} else {
				for range m.rng.IntN(8) {
					args = append(args, m.anyArgument())
				}
			}
			sh := m.anyShape()
			m.got = nil
			list := make([]hal.Arg, len(args))
			for i := range args {
				list[i] = args[i].arg
			}
			err := s.Launch(k, sh.grid(), list...)
			var e *hal.Error
			if err != nil && (!errors.As(err, &e) || e.Kind == hal.ErrDriver || e.Kind == hal.ErrKernel) {
				t.Fatalf("seed %d: error %v", seed, err)
			}
			want, empty := m.accepts(&m.kernel.info, sh, args)
			if (err == nil) != want {
				t.Fatalf("seed %d: launch %d of %+v, shape %+v, arguments %+v: error %v, accepted by the model: %t", seed, i, m.kernel.info, sh, args, err, want)
			}
			if ran := m.got != nil; ran != (want && !empty) {
				t.Fatalf("seed %d: launch %d of %+v, shape %+v: reached the driver: %t, empty: %t", seed, i, m.kernel.info, sh, ran, empty)
			}
			if m.got != nil {
				accepted++
				m.checkGiven(t, seed, args)
			}
		}
		require.Greater(t, accepted, launches/40)
		require.NoError(t, hal.CloseAll(far, m.foreign, dev, s, m.mems[0], m.mems[1], m.mems[2], mod))
	}
}

// checkGiven fails unless the driver was given the arguments as they were passed, within the limits.
func (m *launchModel) checkGiven(t *testing.T, seed uint64, args []argument) {
	threads := uint64(1)
	for d := range 3 {
		threads *= uint64(m.got.Block[d])
		if m.got.Grid[d] == 0 || m.got.Block[d] == 0 || m.got.Block[d] > m.limits.MaxBlock[d] {
			t.Fatalf("seed %d: the driver was given a grid of %v and blocks of %v", seed, m.got.Grid, m.got.Block)
		}
	}
	if most := m.kernel.info.MaxThreads; threads > uint64(m.limits.MaxThreads) || most != 0 && threads > uint64(most) {
		t.Fatalf("seed %d: the driver was given a block of %d threads", seed, threads)
	}
	n, shared := 0, uint64(0)
	for _, a := range args {
		if a.kind == driver.ParamShared && !m.limits.SharedByParam {
			shared = uint64(a.size)
			continue
		}
		g := m.got.Args[n]
		if g.Kind != a.kind || g.Size != a.size || a.kind == driver.ParamPointer && g.Region.Mem == nil || a.kind == driver.ParamValue && (a.size > 16) != (g.Ptr != unsafe.Pointer(nil)) {
			t.Fatalf("seed %d: argument %d of kind %v and %d bytes reached the driver as %+v", seed, n, a.kind, a.size, g)
		}
		n++
	}
	if n != len(m.got.Args) || shared != m.got.Shared {
		t.Fatalf("seed %d: the driver was given %d arguments and %d shared bytes, want %d and %d", seed, len(m.got.Args), m.got.Shared, n, shared)
	}
}
