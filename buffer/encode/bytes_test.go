package encode_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/buffer/encode"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/testing/fixture"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var ctx = context.Background()

func newStream(tb testing.TB) *hal.Stream {
	tb.Helper()
	return fixture.Stream(tb, fixture.Device(tb, host.New(host.Options{Discrete: 1}), 1))
}

func newBuffer[T buffer.Number](tb testing.TB, data ...T) *buffer.Buffer[T] {
	tb.Helper()
	b, err := buffer.From(data)
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, b.Close()) })
	return b
}

// toDevice makes a buffer current on the stream's device alone.
func toDevice[T buffer.Number](tb require.TestingT, b *buffer.Buffer[T], s *hal.Stream) {
	l, err := b.TryAcquire(s, coherence.ReadWrite)
	require.NoError(tb, err)
	require.NoError(tb, l.Release())
}

func contents[T buffer.Number](tb require.TestingT, b *buffer.Buffer[T]) (out []T) {
	require.NoError(tb, b.View(ctx, func(s []T) error { out = append(out, s...); return nil }))
	return out
}

func second[A any](_ A, err error) error { return err }

// native is the memory of 32-bit numbers.
func native(data ...uint32) (out []byte) {
	for _, v := range data {
		out = binary.NativeEndian.AppendUint32(out, v)
	}
	return out
}

func TestReaderAtIsOne(t *testing.T) {
	b := newBuffer[uint32](t, 0x01020304, 0x05060708, 0x090a0b0c)
	x := encode.Of(ctx, b)
	require.NoError(t, iotest.TestReader(io.NewSectionReader(x, 0, int64(b.Size())), native(contents(t, b)...)))
}

func TestOnlyWhatIsTouchedMoves(t *testing.T) {
	s := newStream(t)
	b := newBuffer[uint32](t, 0, 1, 2, 3, 4, 5, 6, 7)
	x := encode.Of(ctx, b)
	toDevice(t, b, s)
	moved := func(want uint64, do func()) {
		t.Helper()
		before := b.Stats().BytesCopied
		do()
		require.Equal(t, want, b.Stats().BytesCopied-before)
	}
	p := make([]byte, 6)
	moved(8, func() {
		n, err := x.ReadAt(p, 5)
		require.NoError(t, err)
		require.Equal(t, 6, n)
		require.Equal(t, native(0, 1, 2)[5:11], p)
	})
	moved(4, func() { require.NoError(t, second(x.ReadAt(p[:1], 31))) })
	toDevice(t, b, s)
	moved(0, func() { require.NoError(t, second(x.WriteAt(native(20, 30), 8))) })
	moved(8, func() {
		// Parts of elements 4 and 6, and all of 5.
		n, err := x.WriteAt(make([]byte, 8), 18)
		require.NoError(t, err)
		require.Equal(t, 8, n)
	})
	moved(4, func() { require.NoError(t, second(x.WriteAt([]byte{0xff, 0xff}, 29))) })
	moved(8, func() {
		var out bytes.Buffer
		n, err := x.WriteTo(&out)
		require.NoError(t, err)
		require.Equal(t, int64(32), n)
		want := native(0, 1, 20, 30, 4, 5, 6, 7)
		copy(want[18:], make([]byte, 8))
		copy(want[29:], []byte{0xff, 0xff})
		require.Equal(t, want, out.Bytes())
	})
	toDevice(t, b, s)
	moved(0, func() {
		n, err := x.ReadFrom(iotest.HalfReader(bytes.NewReader(native(8, 7, 6, 5, 4, 3, 2, 1))))
		require.NoError(t, err)
		require.Equal(t, int64(32), n)
		require.Equal(t, []uint32{8, 7, 6, 5, 4, 3, 2, 1}, contents(t, b))
	})
}

func TestSlicesHaveTheirOwnBytes(t *testing.T) {
	b := newBuffer[uint32](t, 0, 1, 2, 3)
	part, err := b.Slice(1, 3)
	require.NoError(t, err)
	x := encode.Of(ctx, part)
	require.NoError(t, second(x.WriteAt(native(9), 4)))
	require.ErrorIs(t, second(x.WriteAt(native(9), 8)), hal.ErrOutOfRange)
	require.Equal(t, []uint32{0, 1, 9, 3}, contents(t, b))
}

// Reads and writes of any ranges agree with a plain slice of bytes, and move the least.
func TestBytesModel(t *testing.T) {
	s := newStream(t)
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(t, "elements")
		b, err := buffer.New[complex64](n)
		require.NoError(t, err)
		defer b.Close()
		x := encode.Of(ctx, b)
		size := 8 * n
		want := make([]byte, size)
		stale := make([]bool, n) // on the host
		touched := func(lo, hi int, whole bool) (bytes uint64) {
			for e := range n {
				if 8*e < hi && lo < 8*e+8 && stale[e] {
					if stale[e] = false; !whole || lo > 8*e || hi < 8*e+8 {
						bytes += 8
					}
				}
			}
			return bytes
		}
		t.Repeat(map[string]func(*rapid.T){
			"device": func(t *rapid.T) {
				toDevice(t, b, s)
				for e := range stale {
					stale[e] = true
				}
			},
			"read": func(t *rapid.T) {
				off := rapid.IntRange(0, size+2).Draw(t, "off")
				p := make([]byte, rapid.IntRange(0, size+2).Draw(t, "n"))
				before, have := b.Stats().BytesCopied, max(0, min(len(p), size-off))
				got, err := x.ReadAt(p, int64(off))
				require.Equal(t, have, got)
				if have < len(p) || off >= size {
					require.Equal(t, io.EOF, err)
				} else {
					require.NoError(t, err)
				}
				require.True(t, bytes.Equal(want[min(off, size):][:have], p[:have]))
				cost := uint64(0)
				if have > 0 {
					cost = touched(off, off+have, false)
				}
				require.Equal(t, cost, b.Stats().BytesCopied-before)
			},
			"write": func(t *rapid.T) {
				off := rapid.IntRange(0, size+2).Draw(t, "off")
				p := rapid.SliceOfN(rapid.Byte(), 0, size+2).Draw(t, "bytes")
				before := b.Stats().BytesCopied
				got, err := x.WriteAt(p, int64(off))
				if off+len(p) > size {
					require.ErrorIs(t, err, hal.ErrOutOfRange)
					require.Zero(t, got)
					return
				}
				require.NoError(t, err)
				require.Equal(t, len(p), got)
				copy(want[off:], p)
				cost := uint64(0)
				if len(p) > 0 {
					cost = touched(off, off+len(p), true)
				}
				require.Equal(t, cost, b.Stats().BytesCopied-before)
			},
			"replace": func(t *rapid.T) {
				for i := range want {
					want[i]++
				}
				before := b.Stats().BytesCopied
				require.NoError(t, second(x.ReadFrom(bytes.NewReader(want))))
				require.Equal(t, before, b.Stats().BytesCopied)
				clear(stale)
			},
			"dump": func(t *rapid.T) {
				var out bytes.Buffer
				require.NoError(t, second(x.WriteTo(&out)))
				require.Equal(t, want, out.Bytes())
				clear(stale)
			},
		})
	})
}

func TestBadInputIsRefused(t *testing.T) {
	b := newBuffer[uint32](t, 1, 2)
	x := encode.Of(ctx, b)
	gone, cancel := context.WithCancel(ctx)
	cancel()
	y := encode.Of(gone, b)
	broken := errors.New("broken")
	p := []byte{1, 2, 3, 4}
	before := b.State()
	for name, c := range map[string]struct{ err, kind error }{
		"ReadAt: negative":         {second(x.ReadAt(p, -1)), hal.ErrInvalidArgument},
		"ReadAt: end":              {second(x.ReadAt(p, 8)), io.EOF},
		"ReadAt: far behind":       {second(x.ReadAt(p, math.MaxInt64)), io.EOF},
		"ReadAt: context":          {second(y.ReadAt(p, 0)), context.Canceled},
		"WriteAt: negative":        {second(x.WriteAt(p, -1)), hal.ErrInvalidArgument},
		"WriteAt: end":             {second(x.WriteAt(p, 5)), hal.ErrOutOfRange},
		"WriteAt: far behind":      {second(x.WriteAt(p, math.MaxInt64)), hal.ErrOutOfRange},
		"WriteAt: nothing, behind": {second(x.WriteAt(nil, 9)), hal.ErrOutOfRange},
		"WriteAt: context":         {second(y.WriteAt(p, 0)), context.Canceled},
		"WriteTo: nil":             {second(x.WriteTo(nil)), hal.ErrInvalidArgument},
		"WriteTo: context":         {second(y.WriteTo(io.Discard)), context.Canceled},
		"WriteTo: failing":         {second(x.WriteTo(failing{3, broken})), broken},
		"WriteTo: short":           {second(x.WriteTo(failing{3, nil})), io.ErrShortWrite},
		"ReadFrom: nil":            {second(x.ReadFrom(nil)), hal.ErrInvalidArgument},
		"ReadFrom: context":        {second(y.ReadFrom(bytes.NewReader(make([]byte, 8)))), context.Canceled},
		"ReadFrom: too few":        {second(x.ReadFrom(bytes.NewReader(make([]byte, 7)))), io.ErrUnexpectedEOF},
		"ReadFrom: too few, kind":  {second(x.ReadFrom(bytes.NewReader(make([]byte, 7)))), hal.ErrInvalidArgument},
		"ReadFrom: too many":       {second(x.ReadFrom(bytes.NewReader(make([]byte, 9)))), hal.ErrOutOfRange},
		"ReadFrom: failing":        {second(x.ReadFrom(io.MultiReader(bytes.NewReader(make([]byte, 8)), iotest.ErrReader(broken)))), broken},
	} {
		require.ErrorIs(t, c.err, c.kind, name)
	}
	r := bytes.NewReader(make([]byte, 8))
	require.ErrorIs(t, second(y.ReadFrom(r)), context.Canceled)
	require.Equal(t, 8, r.Len(), "nothing is read for a context that has ended")
	require.Equal(t, before, b.State())
	require.Equal(t, []uint32{1, 2}, contents(t, b))

	for name, z := range map[string]encode.Bytes[uint32]{"zero": {}, "nil buffer": encode.Of[uint32](ctx, nil)} {
		for method, err := range map[string]error{
			"ReadAt": second(z.ReadAt(p, 0)), "WriteAt": second(z.WriteAt(p, 0)), "WriteTo": second(z.WriteTo(io.Discard)),
			"ReadFrom": second(z.ReadFrom(bytes.NewReader(p))),
		} {
			require.ErrorIs(t, err, hal.ErrInvalidArgument, "%s %s", name, method)
		}
	}
	require.NoError(t, b.Close())
	for op, err := range map[string]error{
		"ReadAt": second(x.ReadAt(p, 0)), "WriteAt": second(x.WriteAt(p, 0)), "WriteTo": second(x.WriteTo(io.Discard)),
		"ReadFrom": second(x.ReadFrom(bytes.NewReader(make([]byte, b.Size())))),
	} {
		require.ErrorIs(t, err, hal.ErrClosed, op)
		var e *hal.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, op, e.Op, "the error names the call that the program made")
	}
}

// failing is a writer that takes n bytes.
type failing struct {
	n   int
	err error
}

func (w failing) Write([]byte) (int, error) { return w.n, w.err }

func TestConcurrentReadersAndWriters(t *testing.T) {
	b := newBuffer(t, make([]uint32, 64)...)
	x := encode.Of(ctx, b)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			p := bytes.Repeat([]byte{byte(i + 1)}, 32)
			q := make([]byte, 256)
			for range 50 {
				assert.NoError(t, second(x.WriteAt(p, int64(32*i))))
				assert.NoError(t, second(x.ReadAt(q, 0)))
				assert.Equal(t, p, q[32*i:32*i+32])
			}
		}()
	}
	wg.Wait()
}
