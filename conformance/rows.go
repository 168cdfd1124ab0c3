package conformance

import (
	"fmt"
	"math"

	"github.com/go-halyard/halyard/hal"
)

var rowsChecks = []Check{
	{Name: "MatchRowByRow", Rule: "Copies of rows to, from and on the device are exact, and the bytes between the rows do not change.", run: rowsMatch},
	{Name: "InStreamOrder", Rule: "A copy of rows runs in stream order.", Needs: hal.CapGate, run: rowsInOrder},
	{Name: "WithinOneMemory", Rule: "Rows can be copied within one memory if they do not overlap; copies that overlap are refused.", run: rowsWithin},
	{Name: "BoundsRejected", Rule: "Rows that end beyond a memory, or whose extent overflows, are out of range; rows that overlap each other are an invalid argument.", run: rowsBounds},
	{Name: "Peer", Rule: "Rows are copied to and from the memory of another device only if it can be accessed.", NeedsPeer: true, run: rowsPeer},
}

// copyRows copies rows between slices, as Copy2D is expected to.
func copyRows(dst, src []byte, dstPitch, srcPitch, width, rows int) {
	for i := range rows {
		copy(dst[i*dstPitch:][:width], src[i*srcPitch:])
	}
}

func rowsMatch(t *trial) {
	s := t.stream(t.dev)
	for _, c := range []struct{ width, rows, dstPitch, srcPitch, dstOff, srcOff int }{
		{1, 1, 1, 1, 0, 0}, {16, 4, 16, 16, 0, 0}, {16, 4, 16, 64, 8, 0}, {13, 7, 29, 17, 3, 5}, {1, 100, 2, 3, 1, 1},
		{200, 3, 1000, 256, 0, 77}, {4096, 33, 5000, 4096, 100, 0}, {64, 1, 0, 0, 9, 9}, {100, 0, 200, 300, 0, 0}, {0, 50, 7, 7, 1, 2},
		{1000, t.Size(600, 60), 1024, 1500, 0, 1},
	} {
		what := fmt.Sprintf("%+v", c)
		dstSize, srcSize := c.dstOff+max(c.rows, 1)*max(c.dstPitch, c.width)+5, c.srcOff+max(c.rows, 1)*max(c.srcPitch, c.width)+5
		w, n := uint64(c.width), uint64(c.rows)
		for _, k := range kinds(t.dev) {
			a, b := t.large(dstSize), t.large(srcSize)
			dst, src := t.memory(t.dev, k, dstSize), t.memory(t.dev, hal.KindDevice, srcSize)
			t.put(dst, 0, a)
			t.put(src, 0, b)
			from, to := src.Pitched(uint64(c.srcOff), uint64(c.srcPitch)), dst.Pitched(uint64(c.dstOff), uint64(c.dstPitch))
			t.must(s.Copy2D(to, from, w, n), "copy %s", what)
			t.sync(s)
			copyRows(a[c.dstOff:], b[c.srcOff:], c.dstPitch, c.srcPitch, c.width, c.rows)
			t.same(t.all(dst), a, "%v memory, %s", k, what)
			t.same(t.all(src), b, "the source, %s", what)

			host := t.large(srcSize)
			t.must(s.CopyIn2D(to, host, uint64(c.srcPitch), w, n), "copy in %s", what)
			t.sync(s)
			copyRows(a[c.dstOff:], host, c.dstPitch, c.srcPitch, c.width, c.rows)
			t.same(t.all(dst), a, "%v memory, in, %s", k, what)

			out := t.large(srcSize)
			want := append([]byte(nil), out...)
			t.must(s.CopyOut2D(out, uint64(c.srcPitch), to, w, n), "copy out %s", what)
			t.sync(s)
			copyRows(want, a[c.dstOff:], c.srcPitch, c.dstPitch, c.width, c.rows)
			t.same(out, want, "%v memory, out, %s", k, what)
		}
	}
}

func rowsInOrder(t *trial) {
	s := t.stream(t.dev)
	m, n := t.filled(t.dev, make([]byte, 8192)), t.filled(t.dev, make([]byte, 8192))
	in, out := t.hostBytes(8192), t.hostBytes(8192)
	copy(in, t.random(8192))
	g := t.shut(s)
	t.must(s.Fill(m.All(), hal.Pattern8(1)), "fill")
	t.must(s.Copy2D(n.Pitched(0, 100), m.Pitched(0, 50), 40, 50), "copy")
	t.must(s.CopyIn2D(m.Pitched(10, 64), in, 32, 32, 64), "copy in")
	t.must(s.CopyOut2D(out, 64, m.Pitched(10, 64), 32, 64), "copy out")
	t.must(s.Fill(m.All(), hal.Pattern8(2)), "fill")
	t.busy(s, "copies of rows")
	t.same(out, make([]byte, 8192), "before the gate is open")
	t.letGo(g)
	t.sync(s)
	want := make([]byte, 8192)
	copyRows(want, in, 64, 32, 32, 64)
	t.same(out, want, "copied out")
	copied := make([]byte, 8192)
	copyRows(copied, repeated(hal.Pattern8(1), 8192), 100, 50, 40, 50)
	t.same(t.all(n), copied, "copied across")
}

func rowsWithin(t *trial) {
	const size, pitch = 4096, 64
	s := t.stream(t.dev)
	b := t.random(size)
	m := t.filled(t.dev, b)
	for _, c := range []struct{ dst, src, dstPitch, srcPitch, width, rows int }{
		{32, 0, pitch, pitch, 32, 64}, {0, 32, pitch, pitch, 32, 64}, {10, 43, pitch, pitch, 31, 20},
		{2048, 0, pitch, pitch, 64, 32}, {2048, 7, 32, 64, 32, 16}, {64*4 + 16, 8, pitch, pitch, 8, 30}, {3, 2, 2, 2, 1, 1000},
	} {
		t.must(s.Copy2D(m.Pitched(uint64(c.dst), uint64(c.dstPitch)), m.Pitched(uint64(c.src), uint64(c.srcPitch)), uint64(c.width), uint64(c.rows)), "%+v", c)
		t.sync(s)
		copyRows(b[c.dst:], append([]byte(nil), b[c.src:]...), c.dstPitch, c.srcPitch, c.width, c.rows)
		t.same(t.all(m), b, "%+v", c)
	}
	for _, c := range []struct{ dst, src, dstPitch, srcPitch, width, rows int }{
		{0, 0, pitch, pitch, 8, 10}, {31, 0, pitch, pitch, 32, 64}, {0, 33, pitch, pitch, 32, 60}, {128 + 31, 0, pitch, pitch, 32, 3},
		{64 + 60, 0, pitch, pitch, 8, 5}, {100, 0, pitch, 32, 16, 20}, {5, 0, 0, 0, 10, 1},
	} {
		for range 2 {
			t.refuses(hal.ErrOverlap, fmt.Sprintf("%+v", c), func() error {
				return s.Copy2D(m.Pitched(uint64(c.dst), uint64(c.dstPitch)), m.Pitched(uint64(c.src), uint64(c.srcPitch)), uint64(c.width), uint64(c.rows))
			}, m)
			c.dst, c.src, c.dstPitch, c.srcPitch = c.src, c.dst, c.srcPitch, c.dstPitch
		}
	}
}

func rowsBounds(t *trial) {
	const size = 1000
	s := t.stream(t.dev)
	m, keep := t.filled(t.dev, t.random(size)), t.filled(t.dev, t.random(size))
	for _, c := range []struct {
		off, pitch, width, rows uint64
		kind                    error
	}{
		{0, 100, 101, 1 + size/100, hal.ErrInvalidArgument}, {0, 100, 50, 11, hal.ErrOutOfRange}, {0, 100, 101, 2, hal.ErrInvalidArgument},
		{951, 100, 50, 1, hal.ErrOutOfRange}, {0, math.MaxUint64, 8, 2, hal.ErrOutOfRange}, {8, math.MaxUint64 - 8, 8, 2, hal.ErrOutOfRange},
		{0, 1 << 62, 8, 5, hal.ErrOutOfRange}, {0, 16, 8, 1 << 62, hal.ErrOutOfRange}, {math.MaxUint64, 8, 8, 1, hal.ErrOutOfRange},
		{size + 1, 8, 8, 0, hal.ErrOutOfRange}, {0, 0, size + 1, 1, hal.ErrOutOfRange}, {0, 0, 8, 2, hal.ErrInvalidArgument},
	} {
		what := fmt.Sprintf("%+v", c)
		bad, good := m.Pitched(c.off, c.pitch), keep.Pitched(0, size)
		wide := c.width <= size && c.rows == 1
		t.refuses(c.kind, what+" to", func() error { return s.Copy2D(bad, good, c.width, c.rows) }, m, keep)
		if !wide && c.pitch < size {
			t.refuses(c.kind, what+" in", func() error { return s.CopyIn2D(bad, make([]byte, 1<<16), 2000, c.width, c.rows) }, m)
		}
		t.refuses(c.kind, what+" out", func() error { return s.CopyOut2D(make([]byte, 1<<16), 2000, bad, c.width, c.rows) }, m)
	}
	b := make([]byte, 100)
	t.refuses(hal.ErrOutOfRange, "too little host memory", func() error { return s.CopyIn2D(m.Pitched(0, 50), b, 50, 20, 3) }, m)
	t.refuses(hal.ErrOutOfRange, "too little host memory", func() error { return s.CopyOut2D(b, 81, m.Pitched(0, 50), 20, 2) }, m)
	t.refuses(hal.ErrInvalidArgument, "rows that overlap on the host", func() error { return s.CopyOut2D(b, 19, m.Pitched(0, 50), 20, 2) }, m)
	t.refuses(hal.ErrOutOfRange, "no host memory", func() error { return s.CopyIn2D(m.Pitched(0, 50), nil, 50, 20, 1) }, m)
	t.refuses(hal.ErrInvalidArgument, "no memory", func() error { return s.Copy2D(hal.Pitched{}, m.Pitched(0, 1), 1, 1) }, m)
	t.must(s.CopyIn2D(m.Pitched(size, 0), nil, 0, 0, 0), "copy nothing in at the end")
	t.must(s.Copy2D(m.Pitched(size, 5), keep.Pitched(0, 5), 5, 0), "copy no rows at the end")
	gone := t.memory(t.dev, hal.KindDevice, 64)
	t.must(gone.Close(), "close")
	t.wantKind(s.Copy2D(gone.Pitched(0, 8), m.Pitched(0, 8), 8, 0), hal.ErrClosed, "copy no rows to closed memory")
	t.must(s.Close(), "close")
	t.wantKind(s.Copy2D(m.Pitched(0, 8), keep.Pitched(0, 8), 4, 2), hal.ErrClosed, "copy rows on a closed stream")
	t.wantKind(s.CopyIn2D(m.Pitched(0, 8), b, 8, 4, 2), hal.ErrClosed, "copy rows in on a closed stream")
}

func rowsPeer(t *trial) {
	a, b := t.random(4096), t.random(4096)
	near, far := t.filled(t.dev, a), t.filled(t.peer, b)
	s := t.stream(t.dev)
	err := s.Copy2D(near.Pitched(5, 80), far.Pitched(3, 70), 33, 40)
	if !t.dev.CanAccessPeer(t.peer) {
		t.wantKind(err, hal.ErrWrongDevice, "copy rows of a device that cannot be accessed")
		return
	}
	t.must(err, "copy from the peer")
	t.sync(s)
	copyRows(a[5:], b[3:], 80, 70, 33, 40)
	t.same(t.all(near), a, "from the peer")
	t.must(s.Copy2D(far.Pitched(0, 100), near.Pitched(1, 50), 50, 40), "copy to the peer")
	t.sync(s)
	copyRows(b, a[1:], 100, 50, 50, 40)
	t.same(t.all(far), b, "to the peer")
	t.wantKind(s.CopyIn2D(far.Pitched(0, 8), make([]byte, 64), 8, 8, 8), hal.ErrWrongDevice, "rows from the host to the peer")
}
