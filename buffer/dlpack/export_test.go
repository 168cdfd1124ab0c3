package dlpack_test

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/buffer/array"
	"github.com/go-halyard/halyard/buffer/dlpack"
	"github.com/go-halyard/halyard/buffer/dlpack/internal/abi"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/testing/dlpacktest"
	"github.com/go-halyard/halyard/internal/testing/fixture"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var ctx = context.Background()

const patience = 10 * time.Second

var newStream = fixture.Stream

// openHost opens devices of a host backend of the test's own: 0 is unified, others have memory of their own.
func openHost(tb testing.TB, ordinal int) *hal.Device {
	tb.Helper()
	return fixture.Device(tb, host.New(host.Options{Name: "host", Discrete: 2}), ordinal)
}

func flag(b bool) uintptr {
	if b {
		return 1
	}
	return 0
}

// counted returns 0, 1, 2 and so on.
func counted(n int) []int32 {
	s := make([]int32, n)
	for i := range s {
		s[i] = int32(i)
	}
	return s
}

// weigh is what peer_weigh computes, from an array's elements in row-major order.
func weigh(shape []int, values []int32) (sum int64) {
	index := make([]int, len(shape))
	for _, v := range values {
		w := int64(0)
		for _, i := range index {
			w = 10*w + int64(i) + 1
		}
		sum += w * int64(v)
		for k := len(index) - 1; k >= 0; k-- {
			if index[k]++; index[k] < shape[k] {
				break
			}
			index[k] = 0
		}
	}
	return sum
}

// layouts are arrays of many shapes over buffers of their own.
func layouts(t *testing.T) map[string]*array.Array[int32] {
	t.Helper()
	must := func(a *array.Array[int32], err error) *array.Array[int32] {
		require.NoError(t, err)
		return a
	}
	from := func(shape ...int) *array.Array[int32] {
		n := 1
		for _, e := range shape {
			n *= e
		}
		a := must(array.From(counted(n), shape...))
		t.Cleanup(func() { require.NoError(t, a.Close()) })
		return a
	}
	return map[string]*array.Array[int32]{
		"line":       from(17),
		"one":        from(1, 1),
		"rows":       from(3, 5),
		"transposed": must(from(3, 5).Transpose()),
		"reversed":   must(from(4, 6).Slice(array.All().By(-1), array.All().By(-2))),
		"window":     must(from(7, 9).Slice(array.Between(2, 5), array.Between(3, 8).By(2))),
		"deep":       from(2, 1, 3, 2, 2, 1),
		"axis gone":  must(from(4, 5).Select(1, 3)),
	}
}

func TestCReadsAndWritesWhatIsExported(t *testing.T) {
	peer := dlpacktest.Load(t)
	for name, a := range layouts(t) {
		for _, o := range []struct {
			mode           coherence.Mode
			legacy, copied bool
		}{
			{},
			{mode: coherence.ReadWrite},
			{mode: coherence.ReadWrite, legacy: true},
			{copied: true},
			{copied: true, legacy: true},
		} {
			before, err := a.Values(ctx)
			require.NoError(t, err, name)
			m, err := dlpack.ExportArray(ctx, a, dlpack.WithMode(o.mode), dlpack.WithLegacy(o.legacy), dlpack.WithCopy(o.copied))
			require.NoError(t, err, name)
			writes := o.copied || o.mode != coherence.Read
			if !o.legacy {
				require.EqualValues(t, flag(!writes)|2*flag(o.copied), peer.Flags.Call1(m.Address), name)
			}
			for pass := range 2 {
				want := weigh(a.Shape(), before)
				if pass == 1 && writes {
					want = weigh(a.Shape(), plus(before, 100))
				}
				require.Equal(t, want, int64(peer.Weigh.Call3(m.Address, flag(o.legacy), flag(writes && pass == 0))), "%s %+v", name, o)
			}
			require.Zero(t, peer.Delete.Call2(m.Address, flag(o.legacy)))
			require.Zero(t, dlpack.Outstanding())
			after, err := a.Values(ctx)
			require.NoError(t, err)
			if writes && !o.copied {
				before = plus(before, 100)
			}
			require.Equal(t, before, after, "%s %+v", name, o)
		}
	}
}

func plus(s []int32, n int32) []int32 {
	t := make([]int32, len(s))
	for i, v := range s {
		t[i] = v + n
	}
	return t
}

// What C writes at a place is what every other place sees afterwards, and only C's place has it at first.
func TestExportMovesWhatIsMissing(t *testing.T) {
	peer := dlpacktest.Load(t)
	d := openHost(t, 1)
	s := newStream(t, d)
	b, err := buffer.From(counted(1000))
	require.NoError(t, err)
	lease, err := b.TryAcquire(s, coherence.Overwrite)
	require.NoError(t, err)
	require.NoError(t, s.Fill(lease.Region(), hal.Pattern32(7)))
	require.NoError(t, lease.Release())

	part, err := b.Slice(10, 20)
	require.NoError(t, err)
	m, err := dlpack.Export(ctx, part, dlpack.WithMode(coherence.ReadWrite))
	require.NoError(t, err)
	require.EqualValues(t, 40, b.Stats().BytesCopied)
	require.EqualValues(t, weigh([]int{10}, fill(10, 7)), peer.Weigh.Call3(m.Address, 0, 1))
	require.NoError(t, m.Delete())

	// The same at the device, whose memory C reaches here.
	for _, how := range [][]dlpack.ExportOption{{dlpack.WithDevice(d)}, {dlpack.WithDevice(d), dlpack.WithStream(s)}, {dlpack.WithStream(s)}} {
		m, err = dlpack.Export(ctx, part, append(how, dlpack.WithMode(coherence.ReadWrite))...)
		require.NoError(t, err)
		tensor, err := m.Tensor()
		require.NoError(t, err)
		require.Equal(t, abi.Device{Type: abi.CPU}, abi.Device{Type: abi.DeviceType(tensor.DeviceType), ID: tensor.DeviceID})
		region, err := part.Memory(d)
		require.NoError(t, err)
		require.Equal(t, region.Mem.Handle()+40, tensor.Data())
		require.EqualValues(t, 80, b.Stats().BytesCopied)
		peer.Weigh.Call3(m.Address, 0, 1)
		require.NoError(t, m.Delete())
	}
	require.NoError(t, b.View(ctx, func(x []int32) error {
		require.Equal(t, fill(10, 407), x[10:20])
		require.Equal(t, fill(10, 7), x[:10])
		require.Equal(t, fill(980, 7), x[20:])
		return nil
	}))
	require.NoError(t, b.Close())
}

func fill(n int, v int32) []int32 { return plus(make([]int32, n), v) }

func TestEveryElementTypeIsNamed(t *testing.T) {
	type celsius float32
	for _, c := range []struct {
		got  abi.DataType
		want string
		code abi.TypeCode
	}{
		{abi.TypeOf[int8](), "int8", abi.Int}, {abi.TypeOf[int16](), "int16", abi.Int},
		{abi.TypeOf[int32](), "int32", abi.Int}, {abi.TypeOf[int64](), "int64", abi.Int},
		{abi.TypeOf[uint8](), "uint8", abi.Uint}, {abi.TypeOf[uint16](), "uint16", abi.Uint},
		{abi.TypeOf[uint32](), "uint32", abi.Uint}, {abi.TypeOf[uint64](), "uint64", abi.Uint},
		{abi.TypeOf[float32](), "float32", abi.Float}, {abi.TypeOf[float64](), "float64", abi.Float},
		{abi.TypeOf[complex64](), "complex64", abi.Complex}, {abi.TypeOf[complex128](), "complex128", abi.Complex},
		{abi.TypeOf[celsius](), "float32", abi.Float},
	} {
		require.Equal(t, c.want, c.got.String())
		require.Equal(t, c.code, c.got.Code)
	}
	require.Equal(t, "bool8", abi.DataType{Code: abi.Bool, Bits: 8, Lanes: 1}.String())
	require.Equal(t, "bfloat16", abi.DataType{Code: abi.BFloat, Bits: 16, Lanes: 1}.String())
	require.Equal(t, "type(9)-8", abi.DataType{Code: 9, Bits: 8, Lanes: 1}.String())
	require.Equal(t, "float16x4", abi.DataType{Code: abi.Float, Bits: 16, Lanes: 4}.String())
}

func TestExportedBufferIsInUse(t *testing.T) {
	b, err := buffer.From(counted(8))
	require.NoError(t, err)
	var told []error
	m, err := dlpack.Export(ctx, b, dlpack.WithDone(func(err error) { told = append(told, err) }))
	require.NoError(t, err)
	require.ErrorIs(t, b.Close(), hal.ErrBusy)
	require.NoError(t, b.View(ctx, func([]int32) error { return nil }), "readers share")
	short, cancel := context.WithTimeout(ctx, 5*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, b.Update(short, func([]int32) error { return nil }), hal.ErrNotReady)
	require.Empty(t, told)
	require.NoError(t, m.Delete())
	require.Equal(t, []error{nil}, told)

	m, err = dlpack.Export(ctx, b, dlpack.WithMode(coherence.ReadWrite))
	require.NoError(t, err)
	short, cancel = context.WithTimeout(ctx, 5*time.Millisecond)
	defer cancel()
	_, err = dlpack.Export(short, b)
	require.ErrorIs(t, err, hal.ErrNotReady)
	require.Equal(t, 1, dlpack.Outstanding())
	var conflict *buffer.ConflictError
	require.ErrorAs(t, b.Close(), &conflict)
	require.Equal(t, "ReadWrite", conflict.Holder.Action)
	require.NoError(t, m.Delete())
	require.NoError(t, b.Close())
	require.Len(t, told, 1)
}

// A program that gives a buffer away closes it in Done.
func TestDoneMayCloseTheBuffer(t *testing.T) {
	peer := dlpacktest.Load(t)
	b, err := buffer.From(counted(8))
	require.NoError(t, err)
	var closed error = hal.ErrNotReady
	m, err := dlpack.Export(ctx, b, dlpack.WithDone(func(error) { closed = b.Close() }))
	require.NoError(t, err)
	require.Zero(t, peer.Delete.Call2(m.Address, 0))
	require.NoError(t, closed)
	require.ErrorIs(t, b.View(ctx, func([]int32) error { return nil }), hal.ErrClosed)
}

func TestDeleterCountsOnce(t *testing.T) {
	peer := dlpacktest.Load(t)
	for _, legacy := range []bool{false, true} {
		b, err := buffer.From(counted(8))
		require.NoError(t, err)
		calls := 0
		m, err := dlpack.Export(ctx, b, dlpack.WithMode(coherence.ReadWrite), dlpack.WithLegacy(legacy), dlpack.WithDone(func(error) { calls++ }))
		require.NoError(t, err)
		require.Zero(t, peer.Delete.Call2(m.Address, flag(legacy)))
		require.Zero(t, peer.Delete.Call2(m.Address, flag(legacy)), "a consumer that calls twice")
		require.ErrorIs(t, m.Delete(), hal.ErrClosed)
		require.Equal(t, 1, calls)
		require.NoError(t, b.Close())
		runtime.KeepAlive(m)
	}
}

// What C has stays where it is and as it is, whatever the collector does, and can be collected when C is done.
func TestExportOutlivesWhatGoForgets(t *testing.T) {
	peer := dlpacktest.Load(t)
	var collected atomic.Int32
	addr := func() uintptr {
		b, err := buffer.From(counted(5000))
		require.NoError(t, err)
		runtime.AddCleanup(b, func(int) { collected.Add(1) }, 0)
		m, err := dlpack.Export(ctx, b, dlpack.WithDone(func(error) { _ = b.Close() }))
		require.NoError(t, err)
		return m.Address
	}()
	for range 5 {
		runtime.GC()
		junk := make([][]byte, 2000)
		for i := range junk {
			junk[i] = make([]byte, 1+i*13)
			for k := range junk[i] {
				junk[i][k] = 0xfb
			}
		}
	}
	require.Equal(t, weigh([]int{5000}, counted(5000)), int64(peer.Weigh.Call3(addr, 0, 0)))
	require.Zero(t, collected.Load())
	require.Zero(t, peer.Delete.Call2(addr, 0))
	require.Eventually(t, func() bool { runtime.GC(); return collected.Load() == 1 }, patience, time.Millisecond)
}

func TestManyThreadsExportAndDelete(t *testing.T) {
	peer := dlpacktest.Load(t)
	b, err := buffer.From(counted(64))
	require.NoError(t, err)
	var done atomic.Int32
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 50 {
				mode, legacy := coherence.Read, i%5 == 0
				if legacy {
					mode = coherence.ReadWrite
				}
				m, err := dlpack.Export(ctx, b, dlpack.WithMode(mode), dlpack.WithLegacy(legacy), dlpack.WithDone(func(error) { done.Add(1) }))
				if err != nil {
					t.Error(err)
					return
				}
				if got := int64(peer.Weigh.Call3(m.Address, flag(legacy), 0)); got != weigh([]int{64}, counted(64)) {
					t.Errorf("C reads %d", got)
				}
				if (g+i)%2 == 0 {
					peer.Delete.Call2(m.Address, flag(legacy))
				} else if err := m.Delete(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	require.EqualValues(t, 400, done.Load())
	require.Zero(t, dlpack.Outstanding())
	require.NoError(t, b.Close())
}

func TestBadExportsAreRefused(t *testing.T) {
	d, other := openHost(t, 1), openHost(t, 2)
	s := newStream(t, d)
	b, err := buffer.From(counted(8))
	require.NoError(t, err)
	refused := func(kind error, opts ...dlpack.ExportOption) {
		t.Helper()
		opts = append(opts, dlpack.WithDone(func(error) { t.Error("the function of WithDone was called") }))
		_, err := dlpack.Export(ctx, b, opts...)
		require.ErrorIs(t, err, kind)
	}
	refused(hal.ErrUnsupported, dlpack.WithLegacy(true))
	refused(hal.ErrInvalidArgument, nil)
	_, err = dlpack.ExportArray(ctx, &array.Array[int32]{}, nil)
	require.ErrorIs(t, err, hal.ErrInvalidArgument)
	refused(hal.ErrInvalidArgument, dlpack.WithMode(coherence.Mode(3)))
	refused(hal.ErrInvalidArgument, dlpack.WithStream(nil))
	refused(hal.ErrWrongDevice, dlpack.WithDevice(other), dlpack.WithStream(s))
	_, err = dlpack.Export[int32](ctx, nil)
	require.ErrorIs(t, err, hal.ErrInvalidArgument)
	_, err = dlpack.ExportArray[int32](ctx, nil)
	require.ErrorIs(t, err, hal.ErrInvalidArgument)
	_, err = dlpack.ExportArray(ctx, &array.Array[int32]{}, dlpack.WithCopy(true))
	require.ErrorIs(t, err, hal.ErrInvalidArgument)
	over, cancel := context.WithCancel(ctx)
	cancel()
	for _, dev := range []*hal.Device{nil, d} {
		_, err = dlpack.Export(over, b, dlpack.WithDevice(dev))
		require.ErrorIs(t, err, hal.ErrNotReady)
	}
	require.NoError(t, b.Freeze())
	refused(buffer.ErrFrozen, dlpack.WithMode(coherence.ReadWrite))
	refused(buffer.ErrFrozen, dlpack.WithMode(coherence.ReadWrite), dlpack.WithDevice(d))
	m, err := dlpack.Export(ctx, b)
	require.NoError(t, err, "a frozen buffer can be read")
	require.NoError(t, m.Delete())
	require.NoError(t, b.Close())
	refused(hal.ErrClosed)
	refused(hal.ErrClosed, dlpack.WithCopy(true))
	refused(hal.ErrClosed, dlpack.WithDevice(d))
	require.Zero(t, dlpack.Outstanding())
}

// The export of a device without a stream waits for the work under way there.
func TestExportWaitsAsAsked(t *testing.T) {
	d := openHost(t, 1)
	s := newStream(t, d)
	b, err := buffer.New[int32](1 << 10)
	require.NoError(t, err)
	lease, err := b.TryAcquire(s, coherence.Overwrite)
	require.NoError(t, err)
	gate, err := s.Gate()
	require.NoError(t, err)
	require.NoError(t, s.Fill(lease.Region(), hal.Pattern32(5)))
	require.NoError(t, lease.Release())

	short, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	_, err = dlpack.Export(short, b, dlpack.WithDevice(d))
	require.ErrorIs(t, err, hal.ErrNotReady)
	require.Zero(t, dlpack.Outstanding(), "the lease was given back")
	require.NoError(t, gate.Signal())
	m, err := dlpack.Export(ctx, b, dlpack.WithDevice(d))
	require.NoError(t, err)
	tensor, err := m.Tensor()
	require.NoError(t, err)
	first := *(*int32)(pointer(tensor.Data()))
	require.EqualValues(t, 5, first)
	require.NoError(t, m.Delete())
	require.NoError(t, b.Close())
}

func pointer(addr uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&addr)) }
