package buffer_test

import (
	"bytes"
	"encoding/gob"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/kernel/half"
)

type parcel struct {
	Kind uint8 // seven bytes of padding follow
	At   [2]float64
	half half.Float16
	Fine bool
	_    int16
	Turn complex64
}

// A buffer goes through gob with its elements: here those of structures, the newest of which are on a device.
func TestGob(t *testing.T) {
	d := openMany(t, "gob", 1, 1)[0]
	want := []parcel{{1, [2]float64{2, 3}, half.ToFloat16(4), true, 0, 5 + 6i}, {Kind: 255}}
	b := newBuffer(t, want)
	l, err := b.TryAcquire(newStream(t, d), coherence.ReadWrite)
	require.NoError(t, err)
	require.NoError(t, l.Release())
	type message struct {
		Parcels *buffer.Buffer[parcel]
		None    *buffer.Buffer[int8]
		Empty   buffer.Buffer[int8]
	}
	var wire bytes.Buffer
	require.NoError(t, gob.NewEncoder(&wire).Encode(&message{Parcels: b, Empty: *newBuffer(t, []int8{})}))
	var got message
	require.NoError(t, gob.NewDecoder(&wire).Decode(&got))
	defer got.Parcels.Close()
	defer got.Empty.Close()
	v, err := got.Parcels.Values(ctx)
	require.NoError(t, err)
	require.Equal(t, want, v)
	require.Nil(t, got.None)
	require.Zero(t, got.Empty.Len())
	data, err := b.GobEncode()
	require.NoError(t, err)
	require.ErrorIs(t, got.Parcels.GobDecode(data), hal.ErrInvalidArgument, "it has elements")
	require.ErrorIs(t, new(buffer.Buffer[uint8]).GobDecode(data), hal.ErrInvalidArgument, "another type")
	require.ErrorIs(t, new(buffer.Buffer[string]).GobDecode(data), hal.ErrInvalidArgument)
	_, err = new(buffer.Buffer[int8]).GobEncode()
	require.ErrorIs(t, err, hal.ErrInvalidArgument)
}

func FuzzGobDecode(f *testing.F) {
	for _, n := range []int{0, 1, 3} {
		b, err := buffer.From(make([]parcel, n))
		require.NoError(f, err)
		data, err := b.GobEncode()
		require.NoError(f, err)
		require.NoError(f, b.Close())
		f.Add(data)
		f.Add(data[:len(data)/2])
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var b buffer.Buffer[parcel]
		if err := b.GobDecode(data); err != nil {
			require.ErrorIs(t, err, hal.ErrInvalidArgument)
			return
		}
		again, err := b.GobEncode()
		require.NoError(t, err)
		require.NoError(t, b.Close())
		elements := b.Len() * int(unsafe.Sizeof(parcel{}))
		require.Equal(t, data[len(data)-elements:], again[len(again)-elements:])
	})
}

func TestValuesAndFrozen(t *testing.T) {
	b := newBuffer(t, []int32{1, 2, 3})
	part, err := b.Slice(1, 3)
	require.NoError(t, err)
	v, err := part.Values(ctx)
	require.NoError(t, err)
	require.Equal(t, []int32{2, 3}, v)
	require.False(t, b.Frozen())
	require.NoError(t, b.Freeze())
	require.True(t, part.Frozen())
	require.NoError(t, b.Unfreeze())
	require.False(t, part.Frozen())
	none := new(buffer.Buffer[int32])
	require.False(t, none.Frozen())
	_, err = none.Values(ctx)
	require.ErrorIs(t, err, hal.ErrInvalidArgument)
}
