package array_test

import (
	"context"
	"io"
	"math"
	"math/bits"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/buffer/array"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/testing/fixture"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var ctx = context.Background()

const (
	patience = 10 * time.Second
	tick     = time.Millisecond
)

// openDevice opens a device whose memory the host does not see, and a stream.
func openDevice(tb testing.TB) (*hal.Device, *hal.Stream) {
	tb.Helper()
	d := fixture.Device(tb, host.New(host.Options{Discrete: 1}), 1)
	return d, fixture.Stream(tb, d)
}

// counted returns an array of the numbers 0, 1, 2, ... in the order of memory.
func counted(tb testing.TB, order array.Order, shape ...int) *array.Array[int32] {
	tb.Helper()
	n := 1
	for _, e := range shape {
		n *= e
	}
	data := make([]int32, n)
	for i := range data {
		data[i] = int32(i)
	}
	return made(tb)(array.FromIn(order, data, shape...))
}

// made returns what is given to it if there was no error, and closes it at the end.
func made(tb testing.TB) func(*array.Array[int32], error) *array.Array[int32] {
	return func(a *array.Array[int32], err error) *array.Array[int32] {
		tb.Helper()
		require.NoError(tb, err)
		tb.Cleanup(func() { require.NoError(tb, a.Close()) })
		return a
	}
}

// view returns a view if there was no error.
func view(tb require.TestingT) func(*array.Array[int32], error) *array.Array[int32] {
	return func(a *array.Array[int32], err error) *array.Array[int32] {
		require.NoError(tb, err)
		return a
	}
}

func values(tb require.TestingT, a *array.Array[int32]) []int32 {
	v, err := a.Values(ctx)
	require.NoError(tb, err)
	return v
}

// onDevice makes the whole buffer of an array current on the stream's device and nowhere else, with its
// contents.
func onDevice(tb require.TestingT, a *array.Array[int32], s *hal.Stream) {
	l, err := a.Acquire(ctx, s, coherence.ReadWrite)
	require.NoError(tb, err)
	require.NoError(tb, l.Release())
}

func TestViewsShareElements(t *testing.T) {
	a := counted(t, array.RowMajor, 2, 3, 4)
	f := counted(t, array.ColumnMajor, 2, 3)
	for _, c := range []struct {
		name    string
		got     *array.Array[int32]
		shape   []int
		strides []int
		want    []int32
	}{
		{"whole", a, []int{2, 3, 4}, []int{12, 4, 1}, slices.Sorted(slices.Values(values(t, a)))},
		{"slice", view(t)(a.Slice(array.All(), array.Between(1, 3), array.Between(2, array.End))), []int{2, 2, 2}, []int{12, 4, 1}, []int32{6, 7, 10, 11, 18, 19, 22, 23}},
		{"fewer ranges than axes", view(t)(a.Slice(array.Between(1, 2))), []int{1, 3, 4}, []int{12, 4, 1}, []int32{12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23}},
		{"steps", view(t)(a.Slice(array.All().By(2), array.All().By(2), array.Between(1, 4).By(2))), []int{1, 2, 2}, []int{12, 8, 2}, []int32{1, 3, 9, 11}},
		{"downwards", view(t)(a.Slice(array.Between(0, 1), array.All().By(-1), array.Between(0, 4).By(-3))), []int{1, 3, 2}, []int{12, -4, -3}, []int32{11, 8, 7, 4, 3, 0}},
		{"select", view(t)(a.Select(1, 2)), []int{2, 4}, []int{12, 1}, []int32{8, 9, 10, 11, 20, 21, 22, 23}},
		{"transpose", view(t)(view(t)(a.Select(0, 0)).Transpose()), []int{4, 3}, []int{1, 4}, []int32{0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11}},
		{"permute", view(t)(a.Transpose(1, 2, 0)), []int{3, 4, 2}, []int{4, 1, 12}, []int32{0, 12, 1, 13, 2, 14, 3, 15, 4, 16, 5, 17, 6, 18, 7, 19, 8, 20, 9, 21, 10, 22, 11, 23}},
		{"reshape", view(t)(a.Reshape(4, 1, 6)), []int{4, 1, 6}, []int{6, 6, 1}, slices.Sorted(slices.Values(values(t, a)))},
		{"reshape splits a strided axis", view(t)(view(t)(a.Slice(array.All(), array.All(), array.Between(0, 1))).Reshape(3, 2)), []int{3, 2}, []int{8, 4}, []int32{0, 4, 8, 12, 16, 20}},
		{"ravel", view(t)(a.Reshape(a.Len())), []int{24}, []int{1}, slices.Sorted(slices.Values(values(t, a)))},
		{"column-major", f, []int{2, 3}, []int{1, 2}, []int32{0, 2, 4, 1, 3, 5}},
		{"one element", view(t)(view(t)(a.Slice(array.Between(1, 2), array.Between(2, 3), array.Between(3, 4))).Reshape()), []int{}, []int{}, []int32{23}},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, c.shape, c.got.Shape())
			require.Equal(t, c.strides, c.got.Strides())
			require.Len(t, c.got.Strides(), len(c.shape))
			require.Equal(t, len(c.want), c.got.Len())
			require.Equal(t, c.want, values(t, c.got))
		})
	}
	v := view(t)(a.Transpose())
	require.NoError(t, v.Set(ctx, 99, 3, 1, 0))
	got, err := a.At(ctx, 0, 1, 3)
	require.NoError(t, err)
	require.Equal(t, int32(99), got)
}

func TestOrderIsToldApart(t *testing.T) {
	c, f := counted(t, array.RowMajor, 2, 3), counted(t, array.ColumnMajor, 2, 3)
	row := view(t)(c.Slice(array.Between(1, 2)))
	column := view(t)(c.Slice(array.All(), array.Between(1, 2)))
	flipped := view(t)(c.Slice(array.All().By(-1)))
	for _, x := range []struct {
		name   string
		a      *array.Array[int32]
		c, f   bool
		order  array.Order
		either bool
	}{
		{"row-major", c, true, false, array.RowMajor, true},
		{"column-major", f, false, true, array.ColumnMajor, true},
		{"a row", row, true, true, array.RowMajor, true},
		{"a column", column, false, false, array.RowMajor, false},
		{"upside down", flipped, false, false, array.RowMajor, false},
		{"transposed", view(t)(c.Transpose()), false, true, array.ColumnMajor, true},
	} {
		require.Equal(t, x.c, x.a.IsContiguous(array.RowMajor), x.name)
		require.Equal(t, x.f, x.a.IsContiguous(array.ColumnMajor), x.name)
		order, ok := x.a.Order()
		require.Equal(t, x.order, order, x.name)
		require.Equal(t, x.either, ok, x.name)
	}
}

func TestMakers(t *testing.T) {
	for name, c := range map[string]struct {
		a    *array.Array[int32]
		want []int32
	}{
		"New":            {made(t)(array.New[int32](2, 2)), []int32{0, 0, 0, 0}},
		"From":           {made(t)(array.From([]int32{1, 2, 3, 4}, 2, 2)), []int32{1, 2, 3, 4}},
		"FromIn":         {made(t)(array.FromIn(array.ColumnMajor, []int32{1, 2, 3, 4}, 2, 2)), []int32{1, 3, 2, 4}},
		"Full":           {made(t)(array.Full[int32](7, 2, 2)), []int32{7, 7, 7, 7}},
		"without axes":   {made(t)(array.From([]int32{5})), []int32{5}},
		"Full of zeros":  {made(t)(array.Full[int32](0, 3)), []int32{0, 0, 0}},
		"many axes of 1": {made(t)(array.From([]int32{5}, slices.Repeat([]int{1}, array.MaxRank)...)), []int32{5}},
	} {
		require.Equal(t, c.want, values(t, c.a), name)
	}
	b, err := buffer.From([]int32{0, 1, 2, 3, 4, 5, 6, 7})
	require.NoError(t, err)
	defer b.Close()
	over := view(t)(array.FromBuffer(b, 2, 4))
	require.Equal(t, []int{4, 1}, over.Strides())
	over = view(t)(view(t)(array.FromBuffer(b, 4, 2)).Transpose())
	require.Equal(t, []int32{0, 2, 4, 6, 1, 3, 5, 7}, values(t, over))
	over = view(t)(array.FromStrides(b, 7, []int{2, 1, 3}, []int{-4, 0, -1}))
	require.Equal(t, []int32{7, 6, 5, 3, 2, 1}, values(t, over))
	require.Equal(t, 7, over.Offset())
	require.NoError(t, over.Set(ctx, -1, 1, 0, 2))
	require.NoError(t, b.View(ctx, func(s []int32) error {
		require.Equal(t, []int32{0, -1, 2, 3, 4, 5, 6, 7}, s)
		return nil
	}))
}

// half squared is one more than there are numbers.
const half = 1 << (bits.UintSize / 2)

func TestBadInputIsRefused(t *testing.T) {
	_, s := openDevice(t)
	a := counted(t, array.RowMajor, 2, 3)
	gaps := view(t)(a.Slice(array.All(), array.Between(0, 2)))
	b, err := buffer.From(make([]int32, 6))
	require.NoError(t, err)
	defer b.Close()
	wide, err := buffer.From(make([]int32, 8))
	require.NoError(t, err)
	defer wide.Close()
	gone, cancel := context.WithCancel(ctx)
	cancel()
	var none array.Array[int32]
	before := a.State()

	array1 := func(_ *array.Array[int32], err error) error { return err }
	value := func(_ int32, err error) error { return err }
	unseen := func(array.Accessor[int32]) error { panic("ran") }
	for _, c := range []struct {
		name string
		err  error
		kind error
	}{
		{"too many bytes of nothing", array1(array.New[int32](half, 0, half, 4)), hal.ErrOutOfRange},
		{"negative extent", array1(array.New[int32](-1)), hal.ErrInvalidArgument},
		{"two negative extents", array1(array.New[int32](-2, -3)), hal.ErrInvalidArgument},
		{"too many elements", array1(array.New[int32](math.MaxInt, 2)), hal.ErrOutOfRange},
		{"product wraps to a small number", array1(array.New[int32](half, half, 4)), hal.ErrOutOfRange},
		{"too many bytes", array1(array.New[int32](math.MaxInt)), hal.ErrOutOfRange},
		{"too many axes", array1(array.New[int32](slices.Repeat([]int{1}, array.MaxRank+1)...)), hal.ErrInvalidArgument},
		{"too little data", array1(array.From([]int32{1, 2, 3}, 2, 2)), hal.ErrInvalidArgument},
		{"no data", array1(array.From[int32](nil)), hal.ErrInvalidArgument},
		{"too much data", array1(array.From([]int32{1, 2}, 1)), hal.ErrInvalidArgument},
		{"nil buffer", array1(array.FromBuffer[int32](nil, 1)), hal.ErrInvalidArgument},
		{"buffer too long", array1(array.FromBuffer(b, 5)), hal.ErrInvalidArgument},
		{"buffer too short", array1(array.FromBuffer(b, 7)), hal.ErrInvalidArgument},

		{"strides: nil buffer", array1(array.FromStrides[int32](nil, 0, nil, nil)), hal.ErrInvalidArgument},
		{"strides: one missing", array1(array.FromStrides(b, 0, []int{2, 3}, []int{1})), hal.ErrInvalidArgument},
		{"strides: nothing behind", array1(array.FromStrides(b, 7, []int{0}, []int{1})), hal.ErrOutOfRange},
		{"strides: 0", array1(array.FromStrides(b, 0, []int{2}, []int{0})), hal.ErrInvalidArgument},
		{"strides: shared elements", array1(array.FromStrides(b, 0, []int{2, 3}, []int{1, 1})), hal.ErrInvalidArgument},
		{"strides: interleaved", array1(array.FromStrides(wide, 0, []int{3, 2}, []int{2, 3})), hal.ErrInvalidArgument},
		{"strides: offset before", array1(array.FromStrides(b, -1, []int{1}, []int{1})), hal.ErrOutOfRange},
		{"strides: offset behind", array1(array.FromStrides(b, 6, nil, nil)), hal.ErrOutOfRange},
		{"strides: end behind", array1(array.FromStrides(b, 1, []int{2, 3}, []int{3, 1})), hal.ErrOutOfRange},
		{"strides: end before", array1(array.FromStrides(b, 4, []int{2, 3}, []int{-3, -1})), hal.ErrOutOfRange},
		{"strides: wrap", array1(array.FromStrides(b, 1, []int{3}, []int{math.MaxInt/2 + 1})), hal.ErrOutOfRange},
		{"strides: least", array1(array.FromStrides(b, 1, []int{3}, []int{math.MinInt})), hal.ErrOutOfRange},

		{"slice: too many ranges", array1(a.Slice(array.All(), array.All(), array.All())), hal.ErrInvalidArgument},
		{"slice: zero Range", array1(a.Slice(array.Range{})), hal.ErrInvalidArgument},
		{"slice: step 0", array1(a.Slice(array.All().By(0))), hal.ErrInvalidArgument},
		{"slice: nothing behind", array1(a.Slice(array.Between(3, 3))), hal.ErrOutOfRange},
		{"slice: reversed", array1(a.Slice(array.Between(1, 0))), hal.ErrOutOfRange},
		{"slice: before", array1(a.Slice(array.Between(-1, 1))), hal.ErrOutOfRange},
		{"slice: behind", array1(a.Slice(array.All(), array.Between(1, 4))), hal.ErrOutOfRange},
		{"slice: from behind the end", array1(a.Slice(array.Between(3, array.End))), hal.ErrOutOfRange},
		{"select: axis", array1(a.Select(2, 0)), hal.ErrOutOfRange},
		{"select: negative axis", array1(a.Select(-1, 0)), hal.ErrOutOfRange},
		{"select: index", array1(a.Select(1, 3)), hal.ErrOutOfRange},
		{"transpose: axis", array1(a.Transpose(0, 2)), hal.ErrOutOfRange},
		{"transpose: twice", array1(a.Transpose(1, 1)), hal.ErrInvalidArgument},
		{"transpose: too few", array1(a.Transpose(1)), hal.ErrInvalidArgument},
		{"reshape: length", array1(a.Reshape(5)), hal.ErrInvalidArgument},
		{"reshape: extent", array1(a.Reshape(-2, -3)), hal.ErrInvalidArgument},
		{"reshape: wraps", array1(a.Reshape(half, half)), hal.ErrOutOfRange},
		{"reshape: gaps", array1(gaps.Reshape(4)), hal.ErrUnsupported},
		{"ravel: transposed", array1(view(t)(a.Transpose()).Reshape(a.Len())), hal.ErrUnsupported},

		{"At: too few indices", value(a.At(ctx, 1)), hal.ErrInvalidArgument},
		{"At: behind", value(a.At(ctx, 2, 0)), hal.ErrOutOfRange},
		{"At: before", value(a.At(ctx, 0, -1)), hal.ErrOutOfRange},
		{"At: context", value(a.At(gone, 0, 0)), context.Canceled},
		{"Set: too many indices", a.Set(ctx, 1, 0, 0, 0), hal.ErrInvalidArgument},
		{"Set: behind", a.Set(ctx, 1, 0, 3), hal.ErrOutOfRange},
		{"Set: context", a.Set(gone, 1, 0, 0), context.Canceled},
		{"View: nil", a.View(ctx, nil), hal.ErrInvalidArgument},
		{"Update: nil", a.Update(ctx, nil), hal.ErrInvalidArgument},
		{"Overwrite: nil", a.Overwrite(ctx, nil), hal.ErrInvalidArgument},
		{"View: context", a.View(gone, unseen), context.Canceled},
		{"Update: context", gaps.Update(gone, unseen), context.Canceled},
		{"Overwrite: context", a.Overwrite(gone, unseen), context.Canceled},
		{"Overwrite of gaps: context", gaps.Overwrite(gone, unseen), context.Canceled},
		{"Pack: context", array1(a.Pack(gone)), context.Canceled},
		{"Pack of gaps: context", array1(gaps.Pack(gone)), context.Canceled},
		{"Acquire: gaps", second(gaps.TryAcquire(s, coherence.Read)), hal.ErrUnsupported},
		{"Acquire: gaps", second(gaps.Acquire(ctx, s, coherence.Read)), hal.ErrUnsupported},
		{"Acquire: stream", second(a.TryAcquire(nil, coherence.Read)), hal.ErrInvalidArgument},
		{"Acquire: mode", second(a.TryAcquire(s, coherence.Mode(3))), hal.ErrInvalidArgument},
		{"Buffer: gaps", second(gaps.Buffer()), hal.ErrUnsupported},
		{"Close: view", gaps.Close(), hal.ErrInvalidArgument},
		{"Close: program's buffer", view(t)(array.FromBuffer(b, 6)).Close(), hal.ErrInvalidArgument},
		{"WriteNPY: nil", second(a.WriteNPY(ctx, nil)), hal.ErrInvalidArgument},
		{"ReadNPY: nil", array1(array.ReadNPY[int32](nil)), hal.ErrInvalidArgument},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.ErrorIs(t, c.err, c.kind)
			var e *hal.Error
			require.ErrorAs(t, c.err, &e)
		})
	}
	require.Equal(t, before, a.State(), "refused calls changed the state")
	require.Equal(t, []int32{0, 1, 2, 3, 4, 5}, values(t, a))

	for name, err := range map[string]error{
		"Slice": array1(none.Slice()), "Select": array1(none.Select(0, 0)), "Transpose": array1(none.Transpose()),
		"Reshape": array1(none.Reshape()),
		"At":      value(none.At(ctx)), "Set": none.Set(ctx, 1), "View": none.View(ctx, unseen), "Update": none.Update(ctx, unseen),
		"Overwrite": none.Overwrite(ctx, unseen), "Pack": array1(none.Pack(ctx)),
		"Values":  second(none.Values(ctx)),
		"Acquire": second(none.TryAcquire(s, coherence.Read)), "Buffer": second(none.Buffer()), "Close": none.Close(),
		"WriteNPY": second(none.WriteNPY(ctx, nil)),
	} {
		require.ErrorIs(t, err, hal.ErrInvalidArgument, name)
	}
	require.Zero(t, none.Len())
	require.Zero(t, none.Stats())
	require.Zero(t, none.State())
	require.False(t, none.IsContiguous(array.RowMajor))
}

// put sets the elements from src, in row-major order.
func put[T buffer.Element](g array.Accessor[T], src []T) error {
	for n, p := range g.All() {
		*p = src[n]
	}
	return nil
}

func second[A any](_ A, err error) error { return err }

func TestClosedArraysRefuse(t *testing.T) {
	_, s := openDevice(t)
	for _, make := range []func() (*array.Array[int32], error){
		func() (*array.Array[int32], error) { return array.From([]int32{1, 2, 3, 4}, 2, 2) },
		func() (*array.Array[int32], error) { return array.Full[int32](3, 2, 2) },
	} {
		a, err := make()
		require.NoError(t, err)
		column := view(t)(a.Select(1, 0))
		require.NoError(t, a.Close())
		require.NoError(t, a.Close())
		for name, err := range map[string]error{
			"At": second(a.At(ctx, 0, 0)), "Set": a.Set(ctx, 1, 0, 0), "Values": second(a.Values(ctx)),
			"View": column.View(ctx, func(array.Accessor[int32]) error { panic("ran") }), "Pack": second(column.Pack(ctx)),
			"whole Pack": second(a.Pack(ctx)), "TryAcquire": second(a.TryAcquire(s, coherence.Read)),
			"Overwrite": column.Overwrite(ctx, func(array.Accessor[int32]) error { return nil }),
			"WriteNPY":  second(a.WriteNPY(ctx, io.Discard)), "part WriteNPY": second(column.WriteNPY(ctx, io.Discard)),
		} {
			require.ErrorIs(t, err, hal.ErrClosed, name)
			var e *hal.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, name[strings.Index(name, " ")+1:], e.Op, "the error names the call that the program made")
		}
	}
}

func TestLeaseIsExactlyTheArray(t *testing.T) {
	_, s := openDevice(t)
	a := counted(t, array.RowMajor, 4, 5)
	rows := view(t)(a.Slice(array.Between(1, 3)))
	l, err := rows.TryAcquire(s, coherence.ReadWrite)
	require.NoError(t, err)
	require.Equal(t, uint64(5*4), l.Region().Off)
	require.Equal(t, uint64(10*4), l.Region().Len)
	require.NoError(t, s.Fill(l.Region(), hal.Pattern32(7)))
	_, err = view(t)(rows.Transpose()).TryAcquire(s, coherence.Read)
	require.ErrorIs(t, err, hal.ErrBusy, "the transposed rows are the same elements")
	other, err := view(t)(a.Select(0, 0)).Acquire(ctx, s, coherence.ReadWrite)
	require.NoError(t, err)
	require.NoError(t, other.Release())
	require.NoError(t, l.Release())
	require.Equal(t, uint64(15*4), a.Stats().BytesCopied)
	require.Equal(t, []int32{0, 1, 2, 3, 4, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 15, 16, 17, 18, 19}, values(t, a))

	b, err := rows.Buffer()
	require.NoError(t, err)
	require.Equal(t, 10, b.Len())
	require.ErrorIs(t, b.Close(), hal.ErrInvalidArgument)
	b, err = a.Buffer()
	require.NoError(t, err)
	require.ErrorIs(t, b.Close(), hal.ErrInvalidArgument, "the array closes it")
	require.NoError(t, b.Reset())
	require.Equal(t, make([]int32, 20), values(t, a))
}

func full[T buffer.Element](t *testing.T, value T) {
	a, err := array.Full(value, 2, 2)
	require.NoError(t, err)
	defer a.Close()
	got, err := a.Values(ctx)
	require.NoError(t, err)
	require.Equal(t, []T{value, value, value, value}, got)
}

func TestFullOfEveryType(t *testing.T) {
	full(t, int8(-3))
	full(t, uint16(60000))
	full(t, int32(-70000))
	full(t, uint64(1<<63+1))
	full(t, float32(1.25))
	full(t, complex(1, 2))
	full(t, math.Inf(-1))
}

func TestColumnsAreUpdatedAtOnce(t *testing.T) {
	a := counted(t, array.RowMajor, 3, 2)
	var wg sync.WaitGroup
	meet := make(chan int)
	for i := range 2 {
		column := view(t)(a.Select(1, i))
		wg.Add(1)
		go func() {
			defer wg.Done()
			assert.NoError(t, column.Update(ctx, func(g array.Accessor[int32]) error {
				// Neither gets further unless the other is in here too.
				if i == 0 {
					meet <- i
				} else {
					<-meet
				}
				for _, p := range g.All() {
					*p += int32(100 * (i + 1))
				}
				return nil
			}))
		}()
	}
	wg.Wait()
	require.Equal(t, []int32{100, 201, 102, 203, 104, 205}, values(t, a))
}

// Views that cross one another, from many goroutines, never wait in a circle.
func TestManyGoroutinesUpdateCrossingViews(t *testing.T) {
	defer array.HoldAtMost(3)()
	_, s := openDevice(t)
	a := made(t)(array.New[int32](6, 6))
	views := []*array.Array[int32]{
		a, view(t)(a.Transpose()), view(t)(a.Select(1, 2)), view(t)(a.Slice(array.All().By(-2), array.All().By(-2))),
		view(t)(a.Slice(array.Between(1, 4), array.Between(1, 4))), view(t)(a.Select(0, 3)),
	}
	const each = 25
	var wg sync.WaitGroup
	for _, v := range views {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := range each {
				assert.NoError(t, v.Update(ctx, func(g array.Accessor[int32]) error {
					for _, p := range g.All() {
						*p++
					}
					return nil
				}))
				if i%5 == 0 {
					l, err := a.Acquire(ctx, s, coherence.ReadWrite)
					if assert.NoError(t, err) {
						assert.NoError(t, l.Release())
					}
				}
			}
		}()
	}
	wg.Wait()
	want := make([]int32, 36)
	for _, v := range views {
		for r := range 6 {
			for c := range 6 {
				p := r*6 + c
				for _, run := range v.Runs() {
					if run[0] <= p && p < run[1] {
						want[p] += each
					}
				}
			}
		}
	}
	require.Equal(t, want, values(t, a))
}

// The ranges of an Overwrite are entered together or not at all.
func TestOverwriteCutShortChangesNothing(t *testing.T) {
	_, s := openDevice(t)
	a := counted(t, array.RowMajor, 4, 3)
	onDevice(t, a, s)
	column := view(t)(a.Select(1, 1))
	busy, err := view(t)(a.Select(0, 2)).TryAcquire(s, coherence.ReadWrite)
	require.NoError(t, err)
	short, cancel := context.WithTimeout(ctx, time.Millisecond)
	defer cancel()
	set := func(g array.Accessor[int32]) error {
		for i, p := range g.All() {
			*p = int32(-1 - i)
		}
		return nil
	}
	require.ErrorIs(t, column.Overwrite(short, set), context.DeadlineExceeded)
	require.NoError(t, busy.Release())
	require.Equal(t, []int32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, values(t, a))
	require.NoError(t, column.Overwrite(ctx, set))
	require.Equal(t, []int32{-1, -2, -3, -4}, values(t, column))

	fail := hal.ErrBusy
	require.Equal(t, fail, column.Overwrite(ctx, func(g array.Accessor[int32]) error {
		require.NoError(t, set(g))
		return fail
	}))
	require.Equal(t, []int32{-1, -2, -3, -4}, values(t, column))
}

// An unbroken range is overwritten where it is, with everybody else kept out; other elements go
// through memory of fn's own, and nobody waits for fn.
func TestOverwriteInPlace(t *testing.T) {
	_, s := openDevice(t)
	a := counted(t, array.RowMajor, 4, 3)
	for _, c := range []struct {
		v       *array.Array[int32]
		inPlace bool
	}{
		{view(t)(a.Slice(array.Between(1, 3))), true},
		{view(t)(view(t)(a.Slice(array.Between(1, 3))).Transpose()), true},
		{view(t)(a.Slice(array.Between(1, 3).By(-1))), true},
		{view(t)(a.Select(1, 0)), false},
	} {
		require.NoError(t, c.v.Overwrite(ctx, func(g array.Accessor[int32]) error {
			l, err := a.TryAcquire(s, coherence.Read)
			if c.inPlace {
				require.ErrorIs(t, err, hal.ErrBusy)
			} else {
				require.NoError(t, err)
				require.NoError(t, l.Release())
			}
			return put(g, make([]int32, a.Len()))
		}))
	}
	require.Equal(t, []int32{0, 1, 2, 0, 0, 0, 0, 0, 0, 0, 10, 11}, values(t, a))
}

func TestPackIsRowMajor(t *testing.T) {
	_, s := openDevice(t)
	f := counted(t, array.ColumnMajor, 2, 3)
	onDevice(t, f, s)
	before := f.Stats().BytesCopied
	p := made(t)(view(t)(f.Transpose()).Pack(ctx))
	require.Equal(t, []int{2, 1}, p.Strides())
	require.Equal(t, "DEVICE_ONLY", p.State().Name, "it is copied where it is")
	require.Equal(t, before, f.Stats().BytesCopied)
	require.Equal(t, values(t, view(t)(f.Transpose())), values(t, p))
	p = made(t)(f.Pack(ctx))
	require.Equal(t, []int{3, 1}, p.Strides())
	require.Equal(t, values(t, f), values(t, p))
	p = made(t)(view(t)(f.Slice(array.All().By(-1))).Pack(ctx))
	require.Equal(t, []int{3, 1}, p.Strides())
	require.Equal(t, []int32{1, 3, 5, 0, 2, 4}, values(t, p))
	require.NoError(t, p.Set(ctx, 9, 0, 0))
	require.Equal(t, []int32{0, 2, 4, 1, 3, 5}, values(t, f), "a copy")
}

// A strided view is acquired on a device without its gaps: they are neither brought there nor excluded.
func TestAcquireStridedLeavesTheGapsAlone(t *testing.T) {
	_, s := openDevice(t)
	a := counted(t, array.RowMajor, 4, 3)
	column := view(t)(a.Select(1, 1))
	before := a.Stats()
	l, err := column.AcquireStrided(ctx, s, coherence.ReadWrite)
	require.NoError(t, err)
	require.Equal(t, uint64(16), a.Stats().BytesCopied-before.BytesCopied)
	require.Equal(t, uint64(4*10), l.Region().Len)
	other := view(t)(a.Select(1, 2))
	require.NoError(t, other.Update(ctx, func(g array.Accessor[int32]) error {
		for _, p := range g.All() {
			*p += 100
		}
		return nil
	}), "the gaps are somebody else's")
	short, cancel := context.WithTimeout(ctx, time.Millisecond)
	defer cancel()
	require.ErrorIs(t, view(t)(a.Select(0, 3)).View(short, func(array.Accessor[int32]) error { return nil }), context.DeadlineExceeded)
	for i := range uint64(4) {
		r, err := l.Region().Sub(4*3*i, 4)
		require.NoError(t, err)
		require.NoError(t, s.Fill(r, hal.Pattern32(uint32(50+i))))
	}
	require.NoError(t, l.Release())
	require.Equal(t, []int32{0, 50, 102, 3, 51, 105, 6, 52, 108, 9, 53, 111}, values(t, a))

	_, err = column.AcquireStrided(ctx, nil, coherence.Read)
	require.ErrorIs(t, err, hal.ErrInvalidArgument)
}
