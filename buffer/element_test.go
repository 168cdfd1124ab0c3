package buffer_test

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
)

type sphere struct {
	Center [3]float64
	Color  [3]uint8
	Lit    bool
	Radius float32
	_      [2]uint32 // the layout of 32-bit systems is the same
}

type labelled struct {
	Sphere sphere
	Name   string
}

func TestElementsOfBadTypesAreRefused(t *testing.T) {
	d := openMany(t, "one", 1, 1)[0]
	mem, err := d.Alloc(hal.KindDevice, 64, 0)
	require.NoError(t, err)
	defer func() { require.NoError(t, mem.Close()) }()
	numbers := newBuffer(t, make([]uint64, 8))
	refused := func(err error, text string) {
		t.Helper()
		require.ErrorIs(t, err, hal.ErrInvalidArgument)
		require.ErrorContains(t, err, text+"; an element has numbers, bool, and arrays and structures of them only")
	}
	_, err = buffer.New[labelled](1)
	refused(err, "buffer_test.labelled.Name is of type string")
	_, err = buffer.From([]labelled{{}})
	refused(err, "buffer_test.labelled.Name is of type string")
	_, err = buffer.Adopt[[8]*int](mem)
	refused(err, "[8]*int[0] is of type *int")
	_, err = buffer.AdoptSlice([]any{1}, nil)
	refused(err, "interface {} has no fixed layout")
	_, err = buffer.Reinterpret[int](numbers)
	refused(err, "int has a size that depends on the platform; use int32 or int64")
	_, err = buffer.New[struct{}](3)
	refused(err, "struct {} has no bytes")
	require.Zero(t, (*buffer.Buffer[struct{}])(nil).Len())
	require.Zero(t, new(buffer.Buffer[[0]int8]).Len())
}

func TestElementsWithFields(t *testing.T) {
	devs := openMany(t, "one", 2, 1, 2)
	s, other := newStream(t, devs[0]), newStream(t, devs[1])
	b := newBuffer(t, make([]sphere, 5))
	want := make([]sphere, 5)
	for i := range want {
		want[i] = sphere{Center: [3]float64{1, 2, float64(i)}, Color: [3]uint8{9, 8, uint8(i)}, Lit: i%2 == 0, Radius: 0.5}
		require.NoError(t, b.Set(ctx, i, want[i]))
	}
	for _, on := range []*hal.Stream{s, other} { // to a device, and from one device to another
		l, err := b.Acquire(ctx, on, coherence.ReadWrite)
		require.NoError(t, err)
		require.Equal(t, uint64(5*unsafe.Sizeof(want[0])), l.Region().Len)
		require.NoError(t, l.Release())
	}
	v, err := b.At(ctx, 3)
	require.NoError(t, err)
	require.Equal(t, want[3], v)
	part, err := b.Slice(1, 3)
	require.NoError(t, err)
	require.NoError(t, part.Update(ctx, func(s []sphere) error { s[0].Center[1], want[1].Center[1] = 7, 7; return nil }))
	require.Equal(t, want[1:3], contents(t, part))
	require.Equal(t, "buffer of 2 buffer_test.sphere", part.String())
	c, err := b.Clone(ctx)
	require.NoError(t, err)
	require.NoError(t, c.Fill(ctx, want[4]))
	left, err := c.Slice(0, 2)
	require.NoError(t, err)
	require.NoError(t, left.CopyFrom(ctx, part))
	require.Equal(t, []sphere{want[1], want[2], want[4], want[4], want[4]}, contents(t, c))
	require.NoError(t, c.Close())
	require.Zero(t, testing.AllocsPerRun(100, func() { _, _ = b.At(ctx, 3) }))
}

func TestFillOfElementsOfAnySize(t *testing.T) {
	s := newStream(t, openMany(t, "one", 1, 1)[0])
	fillBoth(t, s, [3]uint8{1, 2, 3})
	fillBoth(t, s, [3]int16{1, 2, 3})
	fillBoth(t, s, [3]float32{1, 2, 3})
	fillBoth(t, s, [3]uint64{1, 2, 3})
	fillBoth(t, s, [5]float64{5, 4, 3, 2, 1})
	fillBoth(t, s, [3]float32{})
	fillBoth(t, s, [2]complex128{1, 2i})
	fillBoth(t, s, sphere{Center: [3]float64{1, 2, 3}, Lit: true, Radius: 4})
	fillBoth(t, s, true)

	// Elements that repeat a pattern are filled at once, whatever their size and place.
	floats := newBuffer(t, make([]float32, 7))
	rest, err := floats.Slice(1, 7)
	require.NoError(t, err)
	pairs, err := buffer.Reinterpret[[2]float32](rest)
	require.NoError(t, err)
	require.NoError(t, pairs.FillOn(ctx, s, [2]float32{3, 4}))
	require.Equal(t, []float32{0, 3, 4, 3, 4, 3, 4}, contents(t, floats))
	require.NoError(t, pairs.FillOn(ctx, s, [2]float32{5, 5}))
	require.Equal(t, []float32{0, 5, 5, 5, 5, 5, 5}, contents(t, floats))
}

// A byte that is neither 0 nor 1 is no bool of Go. No call makes one of it.
func TestNoBoolOfOtherBytes(t *testing.T) {
	d := openMany(t, "one", 1, 1)[0]
	s := newStream(t, d)
	bytes := newBuffer(t, []uint8{2, 3, 4, 5})
	_, err := buffer.Reinterpret[bool](bytes)
	require.ErrorIs(t, err, hal.ErrInvalidArgument)
	require.ErrorContains(t, err, "uint8 and bool share bytes of a bool, which must be true or false; copy the elements")
	flags := newBuffer(t, []bool{true, false, true, true})
	_, err = buffer.Reinterpret[uint8](flags)
	require.ErrorIs(t, err, hal.ErrInvalidArgument)
	same, err := buffer.Reinterpret[bool](flags)
	require.NoError(t, err)
	require.Equal(t, []bool{true, false, true, true}, contents(t, same))
	clone, err := flags.Clone(ctx)
	require.NoError(t, err)
	_, err = buffer.Reinterpret[uint8](clone)
	require.ErrorIs(t, err, hal.ErrInvalidArgument)
	require.NoError(t, clone.Close())
	mem, err := d.Alloc(hal.KindDevice, 64, 0)
	require.NoError(t, err)
	_, err = buffer.Adopt[struct{ Lit [64]bool }](mem)
	require.ErrorIs(t, err, hal.ErrInvalidArgument)
	require.ErrorContains(t, err, "contains a bool, and bytes of the memory may be neither true nor false; adopt it as uint8")
	require.NoError(t, mem.Close())

	l, err := flags.Acquire(ctx, s, coherence.Overwrite)
	require.NoError(t, err)
	require.NoError(t, s.Fill(l.Region(), hal.Pattern8(0)))
	require.NoError(t, l.Release())
	require.Equal(t, []bool{false, false, false, false}, contents(t, flags))
	require.NoError(t, flags.Fill(ctx, true))
	require.NoError(t, flags.FillOn(ctx, s, true))
	require.NoError(t, flags.Overwrite(ctx, func(s []bool) error { require.Equal(t, []bool{false, false, false, false}, s); return nil }))
	require.NoError(t, flags.Fill(ctx, true))
	require.NoError(t, flags.AccessRanges(ctx, coherence.Overwrite, []buffer.Range{{Lo: 1, Hi: 2}, {Lo: 3, Hi: 4}}, func(s []bool) error {
		require.Equal(t, []bool{false, true, false}, s)
		return nil
	}))
	require.Equal(t, []bool{true, false, true, false}, contents(t, flags))
}
