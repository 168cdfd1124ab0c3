package pipeline_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/buffer/pipeline"
	"github.com/go-halyard/halyard/hal"
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
	n, err := read(ctx, make([]uint32, 32))
	require.LessOrEqual(t, n, 16)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
}

// lazy is a writer that takes half, and does not say so.
type lazy struct{}

func (lazy) Write(b []byte) (int, error) { return len(b) / 2, nil }

func TestWriterThatTakesLess(t *testing.T) {
	require.ErrorIs(t, pipeline.Writer[uint32](lazy{})(ctx, make([]uint32, 32)), io.ErrShortWrite)
}

// reads is a stream that counts its reads, each of which gives as many bytes as the function says.
type reads struct {
	n     int
	gives func(read int) int
}

func (r *reads) Read([]byte) (int, error) {
	r.n++
	return r.gives(r.n), nil
}

// A stream that gives little at a time is read no further once the context has ended.
func TestReaderStopsWithItsContext(t *testing.T) {
	d := openHost(t, 1)
	why := errors.New("why")
	c, cancel := context.WithCancelCause(ctx)
	slow := &reads{gives: func(read int) int {
		if read == 5 {
			cancel(why)
		}
		return 1
	}}
	err := pipeline.Run(c, d, 1<<20, pipeline.Reader[uint32](slow),
		func(pipeline.Work) (int, error) { return 0, errors.New("no chunk is full") }, pipeline.Writer[uint32](io.Discard))
	require.ErrorIs(t, err, hal.ErrNotReady)
	require.ErrorIs(t, err, why)
	require.Equal(t, 5, slow.n)
}

func TestReaderThatMakesNoProgress(t *testing.T) {
	stuck := &reads{gives: func(read int) int {
		if read > 200 {
			t.Fatal("read on without progress")
		}
		return min(1, max(0, 9-read))
	}}
	n, err := pipeline.Reader[uint32](stuck)(ctx, make([]uint32, 32))
	require.ErrorIs(t, err, io.ErrNoProgress)
	require.Equal(t, 2, n, "what came before")
	require.Equal(t, 8+100, stuck.n)

	halting := &reads{gives: func(read int) int { return (read / 90) % 2 }} // 89 empty reads, 90 that are not, and so on
	n, err = pipeline.Reader[byte](halting)(ctx, make([]byte, 180))
	require.NoError(t, err)
	require.Equal(t, 180, n)
}
