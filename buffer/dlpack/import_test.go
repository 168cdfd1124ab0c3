package dlpack_test

import (
	"context"
	"fmt"
	"math"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/buffer/array"
	"github.com/go-halyard/halyard/buffer/dlpack"
	"github.com/go-halyard/halyard/buffer/dlpack/internal/abi"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/testing/dlpacktest"
	"github.com/go-halyard/halyard/internal/testing/pintest"
)

// foreign is a tensor that the program in C makes: of 0, 1, 2 and so on, the skip-th byte first.
type foreign struct {
	dlpack.Managed
	deleted *uint64 // calls of its deleter
	peer    *dlpacktest.Peer
}

func makeForeign(t testing.TB, legacy bool, shape, strides []int64, skip uint64, flags uint64) foreign {
	t.Helper()
	return makeVersion(t, 1, legacy, shape, strides, skip, flags)
}

func makeVersion(t testing.TB, major int, legacy bool, shape, strides []int64, skip uint64, flags uint64) foreign {
	t.Helper()
	peer := dlpacktest.Load(t)
	f := foreign{deleted: new(uint64), peer: peer}
	f.Legacy = legacy
	f.Address = peer.Make.Call8(flag(legacy), uintptr(len(shape)), uintptr(unsafe.Pointer(unsafe.SliceData(shape))),
		uintptr(unsafe.Pointer(unsafe.SliceData(strides))), uintptr(skip), uintptr(flags), uintptr(major), uintptr(unsafe.Pointer(f.deleted)))
	return f
}

func (f foreign) calls() uint64 { return atomic.LoadUint64(f.deleted) }

// at is what C has at a place of the data.
func (f foreign) at(i int) int32 { return int32(f.peer.Data.Call2(f.Address, uintptr(i))) }

// tensor is the struct as C has it, for tests that spoil it.
func (f foreign) tensor() *cTensor {
	return (*cTensor)(pointer(f.peer.Tensor.Call2(f.Address, flag(f.Legacy))))
}

// cTensor is the layout that TestLayoutIsCs compares with C's.
type cTensor struct {
	data       uintptr
	device     abi.Device
	ndim       int32
	dtype      abi.DataType
	shape      uintptr
	strides    uintptr
	byteOffset uint64
}

// cLegacy is the struct from before DLPack 1.0.
type cLegacy struct {
	cTensor
	_ [2]uintptr // context and deleter
}

func TestImportOfWhatCMade(t *testing.T) {
	for _, c := range []struct {
		name           string
		shape, strides []int64
		skip           uint64
		want           []int32 // row by row
	}{
		{"scalar", nil, nil, 20, []int32{5}},
		{"line", []int64{4}, nil, 0, []int32{0, 1, 2, 3}},
		{"offset", []int64{4}, []int64{1}, 12, []int32{3, 4, 5, 6}},
		{"rows", []int64{2, 3}, nil, 4, []int32{1, 2, 3, 4, 5, 6}},
		{"columns", []int64{2, 3}, []int64{1, 2}, 0, []int32{0, 2, 4, 1, 3, 5}},
		{"gaps", []int64{2, 2}, []int64{10, 3}, 0, []int32{0, 3, 10, 13}},
		{"backwards", []int64{3}, []int64{-2}, 40, []int32{10, 8, 6}},
		{"both ways", []int64{2, 2}, []int64{-10, 4}, 80, []int32{20, 24, 10, 14}},
		{"three axes", []int64{2, 3, 2}, []int64{100, 10, 2}, 0, []int32{0, 2, 10, 12, 20, 22, 100, 102, 110, 112, 120, 122}},
		{"three axes back", []int64{2, 2, 2}, []int64{4, -2, 1}, 8, []int32{2, 3, 0, 1, 6, 7, 4, 5}},
		{"no elements", []int64{3, 0}, nil, 0, []int32{}},
		{"no rows", []int64{0, 2}, []int64{-7, 9}, 0, []int32{}},
		{"extent one", []int64{1, 3, 1}, []int64{math.MaxInt64, 1, math.MinInt64}, 0, []int32{0, 1, 2}},
	} {
		for _, legacy := range []bool{false, true} {
			for _, copied := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/legacy=%v/copy=%v", c.name, legacy, copied), func(t *testing.T) {
					f := makeForeign(t, legacy, c.shape, c.strides, c.skip, 0)
					b, a, err := dlpack.Import[int32](ctx, f.Managed, dlpack.WithCopy(copied))
					require.NoError(t, err)
					require.Equal(t, flag(copied), uintptr(f.calls()), "the deleter's calls")
					got, err := a.Values(ctx)
					require.NoError(t, err)
					require.Equal(t, c.want, got)
					require.Len(t, a.Shape(), len(c.shape))
					require.NoError(t, a.Update(ctx, func(g array.Accessor[int32]) error {
						for _, p := range g.All() {
							*p += 1000
						}
						return nil
					}))
					if !copied {
						for _, v := range c.want {
							require.Equal(t, v+1000, f.at(int(v)), "C sees what Go wrote")
						}
						require.EqualValues(t, 0, b.Stats().BytesCopied)
					}
					require.NoError(t, b.Close())
					require.NoError(t, b.Close())
					require.EqualValues(t, 1, f.calls())
					require.ErrorIs(t, a.View(ctx, func(array.Accessor[int32]) error { return nil }), hal.ErrClosed)
				})
			}
		}
	}
}

// The deleter waits for the last work that uses the memory, whatever is closed before.
func TestDeleterWaitsForWork(t *testing.T) {
	d := openHost(t, 1)
	s := newStream(t, d)
	f := makeForeign(t, false, []int64{1000}, nil, 0, 0)
	b, _, err := dlpack.Import[int32](ctx, f.Managed)
	require.NoError(t, err)
	gate, err := s.Gate()
	require.NoError(t, err)
	require.NoError(t, b.Prefetch(s), "a copy out of the memory, behind the gate")
	require.NoError(t, b.Close())
	idle := makeForeign(t, false, []int64{1000}, nil, 0, 0)
	other, _, err := dlpack.Import[int32](ctx, idle.Managed)
	require.NoError(t, err)
	require.NoError(t, other.Close())
	require.Eventually(t, func() bool { return idle.calls() == 1 }, patience, time.Millisecond)
	require.Zero(t, f.calls(), "while that of another tensor has been called")
	require.NoError(t, gate.Signal())
	require.Eventually(t, func() bool { return f.calls() == 1 }, patience, time.Millisecond)
}

// A device that works on host memory in place does so on the tensor's.
func TestUnifiedDeviceWorksInPlace(t *testing.T) {
	d := openHost(t, 0)
	s := newStream(t, d)
	f := makeForeign(t, false, []int64{1000}, nil, 0, 0)
	b, _, err := dlpack.Import[int32](ctx, f.Managed)
	require.NoError(t, err)
	lease, err := b.TryAcquire(s, coherence.ReadWrite)
	require.NoError(t, err)
	require.Equal(t, f.tensor().data, lease.Pointer())
	require.NoError(t, s.Fill(lease.Region(), hal.Pattern32(3)))
	require.NoError(t, lease.Release())
	require.NoError(t, b.View(ctx, func(x []int32) error { require.Equal(t, fill(1000, 3), x); return nil }))
	require.EqualValues(t, 3, f.at(999))
	require.Zero(t, b.Stats().BytesCopied+b.Stats().BytesRelocated)
	require.NoError(t, b.Close())
	require.Eventually(t, func() bool { return f.calls() == 1 }, patience, time.Millisecond)
}

func TestReadOnlyTensorIsFrozen(t *testing.T) {
	f := makeForeign(t, false, []int64{4}, nil, 0, 1)
	b, a, err := dlpack.Import[int32](ctx, f.Managed)
	require.NoError(t, err)
	require.ErrorIs(t, b.Update(ctx, func([]int32) error { panic("ran") }), buffer.ErrFrozen)
	require.ErrorIs(t, a.Set(ctx, 1, 0), buffer.ErrFrozen)
	_, err = dlpack.Export(ctx, b, dlpack.WithMode(coherence.ReadWrite))
	require.ErrorIs(t, err, buffer.ErrFrozen)
	got, err := a.Values(ctx)
	require.NoError(t, err)
	require.Equal(t, counted(4), got)
	require.NoError(t, b.Close())
	require.EqualValues(t, 1, f.calls())

	f = makeForeign(t, false, []int64{4}, nil, 0, 1)
	b, _, err = dlpack.Import[int32](ctx, f.Managed, dlpack.WithCopy(true))
	require.NoError(t, err)
	require.NoError(t, b.Update(ctx, func([]int32) error { return nil }), "a copy is one's own")
	require.NoError(t, b.Close())
}

func TestOtherVersionIsDeleted(t *testing.T) {
	for _, major := range []int{0, 2, math.MaxUint32} {
		f := makeVersion(t, major, false, []int64{4}, nil, 0, 0)
		f.tensor().ndim = -1 // what lies behind the flags is not looked at
		_, err := f.Tensor()
		require.ErrorIs(t, err, dlpack.ErrVersion)
		require.ErrorContains(t, err, fmt.Sprintf("version %d.", uint32(major)))
		require.Zero(t, f.calls(), "to look at it takes nothing")
		_, _, err = dlpack.Import[int32](ctx, f.Managed)
		require.ErrorIs(t, err, dlpack.ErrVersion)
		require.ErrorIs(t, err, hal.ErrUnsupported)
		require.EqualValues(t, 1, f.calls())
	}
}

// What is refused is as it was: it can be imported once it is put right.
// A boolean is a byte, so booleans are imported as uint8, and as nothing else.
func TestBooleansAreImportedAsBytes(t *testing.T) {
	for _, row := range []struct {
		bits  uint8
		as    func(m dlpack.Managed) error
		takes bool
	}{
		{8, importAs[uint8](t), true},
		{8, importAs[int8](t), false},
		{8, importAs[uint32](t), false},
		{1, importAs[uint8](t), false},
		{16, importAs[uint16](t), false},
	} {
		f := makeForeign(t, false, []int64{8}, []int64{1}, 0, 0) // of the bytes 0 0 0 0 1 0 0 0
		f.tensor().dtype = abi.DataType{Code: abi.Bool, Bits: row.bits, Lanes: 1}
		if err := row.as(f.Managed); row.takes {
			require.NoError(t, err)
		} else {
			require.ErrorIs(t, err, hal.ErrInvalidArgument)
			require.ErrorContains(t, err, fmt.Sprintf("the elements are bool%d", row.bits))
			require.NoError(t, f.Delete())
		}
		require.EqualValues(t, 1, f.calls())
	}
}

func importAs[T buffer.Number](t *testing.T) func(dlpack.Managed) error {
	return func(m dlpack.Managed) error {
		b, a, err := dlpack.Import[T](ctx, m)
		if err != nil {
			return err
		}
		got, err := a.Values(ctx)
		require.NoError(t, err)
		require.Equal(t, []T{0, 0, 0, 0, 1, 0, 0, 0}, got)
		return b.Close()
	}
}

func TestBadTensorsAreRefused(t *testing.T) {
	d := openHost(t, 1)
	for _, c := range []struct {
		name  string
		kind  error
		spoil func(*cTensor)
		opts  []dlpack.ImportOption
	}{
		{"no data", hal.ErrInvalidArgument, func(c *cTensor) { c.data = 0 }, nil},
		{"negative rank", hal.ErrInvalidArgument, func(c *cTensor) { c.ndim = -1 }, nil},
		{"huge rank", hal.ErrInvalidArgument, func(c *cTensor) { c.ndim = math.MaxInt32 }, nil},
		{"no shape", hal.ErrInvalidArgument, func(c *cTensor) { c.shape = 0 }, nil},
		{"odd shape", hal.ErrMisaligned, func(c *cTensor) { c.shape++ }, nil},
		{"odd strides", hal.ErrMisaligned, func(c *cTensor) { c.strides += 4 }, nil},
		{"other type", hal.ErrInvalidArgument, func(c *cTensor) { c.dtype.Code = abi.Float }, nil},
		{"other width", hal.ErrInvalidArgument, func(c *cTensor) { c.dtype.Bits = 64 }, nil},
		{"vectors", hal.ErrUnsupported, func(c *cTensor) { c.dtype.Lanes = 4 }, nil},
		{"no lanes", hal.ErrUnsupported, func(c *cTensor) { c.dtype.Lanes = 0 }, nil},
		{"past the end", hal.ErrOutOfRange, func(c *cTensor) { c.byteOffset = math.MaxUint64 - 8 }, nil},
		{"past the end", hal.ErrOutOfRange, func(c *cTensor) { c.byteOffset = math.MaxUint64 - uint64(c.data) - 8 }, []dlpack.ImportOption{dlpack.WithCopy(true)}},
		{"misaligned", hal.ErrMisaligned, func(c *cTensor) { c.byteOffset = 2 }, nil},
		{"negative device", hal.ErrInvalidArgument, func(c *cTensor) { c.device.ID = -1 }, nil},
		{"Metal", hal.ErrUnsupported, func(c *cTensor) { c.device.Type = 8 }, nil},
		{"no kind", hal.ErrUnsupported, func(c *cTensor) { c.device.Type = 0 }, nil},
		{"CUDA nowhere", hal.ErrWrongDevice, func(c *cTensor) { c.device.Type = abi.CUDA }, nil},
		{"CUDA elsewhere", hal.ErrWrongDevice, func(c *cTensor) { c.device.Type = abi.CUDA }, []dlpack.ImportOption{dlpack.WithDevice(d)}},
		{"pinned elsewhere", hal.ErrWrongDevice, func(c *cTensor) { c.device.Type = abi.ROCmHost }, []dlpack.ImportOption{dlpack.WithDevice(d)}},
		{"cl_mem elsewhere", hal.ErrWrongDevice, func(c *cTensor) { c.device.Type = abi.OpenCL }, []dlpack.ImportOption{dlpack.WithDevice(d)}},
		{"nil option", hal.ErrInvalidArgument, func(*cTensor) {}, []dlpack.ImportOption{nil}},
	} {
		for _, legacy := range []bool{false, true} {
			f := makeForeign(t, legacy, []int64{2, 3}, []int64{3, 1}, 0, 0)
			right := *f.tensor()
			c.spoil(f.tensor())
			_, _, err := dlpack.Import[int32](ctx, f.Managed, c.opts...)
			require.ErrorIs(t, err, c.kind, c.name)
			require.Zero(t, f.calls(), c.name)
			*f.tensor() = right
			b, _, err := dlpack.Import[int32](ctx, f.Managed)
			require.NoError(t, err, c.name)
			require.NoError(t, b.Close())
			require.EqualValues(t, 1, f.calls(), c.name)
		}
	}
	for _, c := range []struct {
		name           string
		kind           error
		shape, strides []int64
	}{
		{"negative extent", hal.ErrInvalidArgument, []int64{3, -1}, nil},
		{"countless", hal.ErrOutOfRange, []int64{1 << 40, 1 << 40}, nil},
		{"countless bytes", hal.ErrOutOfRange, []int64{math.MaxInt64}, nil},
		{"far strides", hal.ErrOutOfRange, []int64{3, 3}, []int64{math.MaxInt64, 1}},
		{"far strides back", hal.ErrOutOfRange, []int64{3}, []int64{math.MinInt64}},
		{"before the start", hal.ErrOutOfRange, []int64{2}, []int64{math.MinInt64 / 4}},
		{"before the start", hal.ErrOutOfRange, []int64{2}, []int64{-1 << 60}},
		{"broadcast", hal.ErrInvalidArgument, []int64{3, 3}, []int64{0, 1}},
		{"overlap", hal.ErrInvalidArgument, []int64{3, 3}, []int64{1, 1}},
	} {
		f := makeForeign(t, false, c.shape, c.strides, 0, 0)
		_, _, err := dlpack.Import[int32](ctx, f.Managed)
		require.ErrorIs(t, err, c.kind, c.name)
		require.Zero(t, f.calls(), c.name)
		require.NoError(t, f.Delete())
		require.EqualValues(t, 1, f.calls(), c.name)
	}
	for _, m := range []dlpack.Managed{{}, {Legacy: true}} {
		_, _, err := dlpack.Import[int32](ctx, m)
		require.ErrorIs(t, err, hal.ErrInvalidArgument)
		require.ErrorIs(t, m.Delete(), hal.ErrInvalidArgument)
		_, _, err = dlpack.Import[int32](ctx, dlpack.Managed{Address: 4097, Legacy: m.Legacy})
		require.ErrorIs(t, err, hal.ErrMisaligned)
	}
}

func TestCopyTakesWhatNoBufferCanBeOver(t *testing.T) {
	for _, c := range []struct {
		shape, strides []int64
		skip           uint64
		want           []int32
	}{
		{[]int64{2, 3}, []int64{0, 1}, 0, []int32{0, 1, 2, 0, 1, 2}},
		{[]int64{2, 3}, []int64{1, 1}, 0, []int32{0, 1, 2, 1, 2, 3}},
		{[]int64{2}, nil, 5, []int32{2 << 24, 3 << 24}}, // the bytes of 1, 2, 3 from the second on
	} {
		f := makeForeign(t, true, c.shape, c.strides, c.skip, 0)
		b, a, err := dlpack.Import[int32](ctx, f.Managed, dlpack.WithCopy(true))
		require.NoError(t, err)
		require.EqualValues(t, 1, f.calls())
		got, err := a.Values(ctx)
		require.NoError(t, err)
		require.Equal(t, c.want, got)
		require.NoError(t, b.Close())
	}
	f := makeForeign(t, false, []int64{4}, nil, 0, 0)
	over, cancel := context.WithCancel(ctx)
	cancel()
	_, _, err := dlpack.Import[int32](over, f.Managed, dlpack.WithCopy(true))
	require.ErrorIs(t, err, hal.ErrNotReady)
	require.Zero(t, f.calls())
	require.NoError(t, f.Delete())
}

// A struct may have no deleter.
func TestNoDeleterIsNone(t *testing.T) {
	data := counted(6)
	m := dlpack.Managed{Legacy: true, Address: pintest.Address(t, &cLegacy{cTensor: cTensor{data: pintest.Slice(t, data),
		device: abi.Device{Type: abi.CPU}, ndim: 1, dtype: abi.TypeOf[int32](), shape: pintest.Slice(t, []int64{6})}})}
	b, _, err := dlpack.Import[int32](ctx, m)
	require.NoError(t, err)
	require.NoError(t, b.Update(ctx, func(x []int32) error { x[5] = 50; return nil }))
	require.NoError(t, b.Close())
	require.Equal(t, []int32{0, 1, 2, 3, 4, 50}, data)
}

// Export and Import without anything in between, as two libraries of one program would.
func TestRoundTrip(t *testing.T) {
	for name, a := range layouts(t) {
		want, err := a.Values(ctx)
		require.NoError(t, err)
		m, err := dlpack.ExportArray(ctx, a, dlpack.WithMode(coherence.ReadWrite))
		require.NoError(t, err)
		_, _, err = dlpack.Import[float32](ctx, m)
		require.ErrorIs(t, err, hal.ErrInvalidArgument)
		b, got, err := dlpack.Import[int32](ctx, m)
		require.NoError(t, err, name)
		_, _, err = dlpack.Import[int32](ctx, m)
		require.ErrorIs(t, err, hal.ErrClosed, "it was taken")
		require.ErrorIs(t, m.Delete(), hal.ErrClosed)
		require.Equal(t, a.Shape(), got.Shape(), name)
		require.NoError(t, got.Update(ctx, func(g array.Accessor[int32]) error {
			for _, p := range g.All() {
				*p++
			}
			return nil
		}))
		require.Equal(t, 1, dlpack.Outstanding())
		require.NoError(t, b.Close())
		require.Zero(t, dlpack.Outstanding())
		_, _, err = dlpack.Import[int32](ctx, m)
		require.ErrorIs(t, err, hal.ErrClosed)
		after, err := a.Values(ctx)
		require.NoError(t, err)
		require.Equal(t, plus(want, 1), after, name)
	}
}

func TestTensorIsDescribed(t *testing.T) {
	f := makeForeign(t, false, []int64{2, 3, 4}, nil, 8, 3)
	f.tensor().dtype = abi.DataType{Code: abi.Bool, Bits: 8, Lanes: 1}
	got, err := f.Tensor()
	require.NoError(t, err)
	require.Equal(t, []int64{2, 3, 4}, got.Shape)
	require.Equal(t, []int64{12, 4, 1}, got.Strides)
	require.Equal(t, "bool8", got.Type)
	require.True(t, got.ReadOnly)
	require.True(t, got.Copied())
	require.EqualValues(t, 8, got.ByteOffset())
	require.Equal(t, []int32{1, 0}, []int32{got.DeviceType, got.DeviceID})
	require.Equal(t, "dltensor_versioned", f.CapsuleName())
	require.Equal(t, "dltensor", dlpack.Managed{Legacy: true}.CapsuleName())
	require.NoError(t, f.Delete())
}
