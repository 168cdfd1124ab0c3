package pipeline_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/buffer/pipeline"
)

func TestReaderTruncatedGzip(t *testing.T) {
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	_, _ = w.Write(make([]byte, 64))
	require.NoError(t, w.Close())
	cut := z.Bytes()[:z.Len()-4]
	r, err := gzip.NewReader(bytes.NewReader(cut))
	require.NoError(t, err)
	_, want := io.ReadAll(r)
	require.ErrorIs(t, want, io.ErrUnexpectedEOF)
	r, err = gzip.NewReader(bytes.NewReader(cut))
	require.NoError(t, err)
	read := pipeline.Reader[uint32](r)
	n, err := read(context.Background(), make([]uint32, 32))
	require.LessOrEqual(t, n, 16)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
}

// lazy is a writer that takes half, and does not say so.
type lazy struct{}

func (lazy) Write(b []byte) (int, error) { return len(b) / 2, nil }

func TestWriterThatTakesLess(t *testing.T) {
	require.ErrorIs(t, pipeline.Writer[uint32](lazy{})(context.Background(), make([]uint32, 32)), io.ErrShortWrite)
}
