package encode_test

import (
	"bytes"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/buffer/encode"
	"github.com/go-halyard/halyard/hal"
)

func TestNoElements(t *testing.T) {
	b := newBuffer[uint32](t)
	whole := newBuffer[uint32](t, 1, 2)
	part, err := whole.Slice(2, 2)
	require.NoError(t, err)
	for _, x := range []encode.Bytes[uint32]{encode.Of(ctx, b), encode.Of(ctx, part)} {
		var out bytes.Buffer
		require.NoError(t, second(x.WriteTo(&out)))
		require.NoError(t, second(x.ReadFrom(&out)))
		require.ErrorIs(t, second(x.ReadFrom(bytes.NewReader([]byte{1}))), hal.ErrOutOfRange)
		require.NoError(t, second(x.WriteAt(nil, 0)))
		require.ErrorIs(t, second(x.ReadAt(make([]byte, 1), 0)), io.EOF)
	}
	require.Equal(t, []uint32{1, 2}, contents(t, whole))
}
