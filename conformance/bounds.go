package conformance

import (
	"fmt"
	"math"
	"slices"

	"github.com/go-halyard/halyard/hal"
)

var boundsChecks = []Check{
	{Name: "OffsetPastEnd", Rule: "A region that begins beyond the end is out of range.", run: offsetPastEnd},
	{Name: "LengthPastEnd", Rule: "A region that ends beyond the end is out of range.", run: lengthPastEnd},
	{Name: "Overflow", Rule: "An offset and a length whose sum wraps past 2^64 are out of range.", run: overflow},
	{Name: "SubViewBase", Rule: "Sub counts offsets from the start of the region.", run: subViewBase},
	{Name: "NestedView", Rule: "Nested parts of a region name the right bytes.", run: nestedView},
	{Name: "SubPastEndRejected", Rule: "Sub refuses a part that reaches beyond its region.", run: subPastEnd},
	{Name: "ViewAfterParentFree", Rule: "A region of closed memory is refused as closed.", run: viewAfterParentFree},
	{Name: "OrderOfChecks", Rule: "Arguments are checked in one order: closed, device, alignment, range, overlap.", run: orderOfChecks},
	{Name: "FailedCallHasNoEffect", Rule: "A call that is refused changes nothing and enqueues nothing.", run: failedCallHasNoEffect},
}

// outside checks that every call refuses the regions, which reach beyond a memory of 64 bytes.
func outside(t *trial, regions [][2]uint64) {
	s := t.stream(t.dev)
	m, o := t.filled(t.dev, t.random(64)), t.filled(t.dev, t.random(64))
	b := make([]byte, 64)
	for _, x := range regions {
		r := m.Region(x[0], x[1])
		for what, call := range map[string]func() error{
			"copy to":     func() error { return s.Copy(r, o.Region(0, x[1])) },
			"copy from":   func() error { return s.Copy(o.Region(0, x[1]), r) },
			"copy in":     func() error { return s.CopyIn(r, b) },
			"copy out":    func() error { return s.CopyOut(b, r) },
			"fill":        func() error { return s.Fill(r, hal.Pattern8(1)) },
			"write":       func() error { return t.dev.Write(t.ctx, r, b) },
			"read":        func() error { return t.dev.Read(t.ctx, b, r) },
			"across to":   func() error { return hal.CopyPeer(s, r, s, o.Region(0, x[1])) },
			"across from": func() error { return hal.CopyPeer(s, o.Region(0, x[1]), s, r) },
		} {
			t.refuses(hal.ErrOutOfRange, fmt.Sprintf("%s [%d, +%d) of 64 bytes", what, x[0], x[1]), call, m, o)
		}
	}
	t.idle(s, "the stream after calls that were refused")
}

func offsetPastEnd(t *trial) { outside(t, [][2]uint64{{65, 1}, {4096, 8}, {1 << 40, 1}}) }

func lengthPastEnd(t *trial) { outside(t, [][2]uint64{{0, 65}, {63, 2}, {64, 1}, {0, 1 << 40}}) }

func overflow(t *trial) {
	outside(t, [][2]uint64{{8, math.MaxUint64 - 7}, {math.MaxUint64, 1}, {math.MaxUint64 - 3, 8}, {1 << 63, 1 << 63}, {64, math.MaxUint64}, {1, math.MaxUint64}})
}

func subViewBase(t *trial) {
	b := t.random(256)
	m := t.filled(t.dev, b)
	whole := region(m, 100, 50)
	part, err := whole.Sub(10, 20)
	t.must(err, "sub")
	t.want(part == region(m, 110, 20), "a part is [%d, +%d)", part.Off, part.Len)
	s := t.stream(t.dev)
	out := make([]byte, 20)
	t.must(s.CopyOut(out, part), "copy out")
	t.must(s.Fill(part, hal.Pattern8(0x42)), "fill")
	t.sync(s)
	t.same(out, b[110:130], "read through a part")
	copy(b[110:], repeated(hal.Pattern8(0x42), 20))
	t.same(t.all(m), b, "written through a part")
}

func nestedView(t *trial) {
	b := t.random(1024)
	m := t.filled(t.dev, b)
	s := t.stream(t.dev)
	r, off := m.All(), uint64(0)
	for r.Len > 10 {
		cut := 1 + t.rng.Uint64N(r.Len/4)
		next, err := r.Sub(cut, r.Len-2*cut+cut/2)
		t.must(err, "sub")
		off += cut
		t.want(next.Off == off, "a part begins at %d, want %d", next.Off, off)
		r = next
		out := make([]byte, r.Len)
		t.must(s.CopyOut(out, r), "copy out")
		t.sync(s)
		t.same(out, b[off:off+r.Len], "the part at %d", off)
	}
	empty, err := r.Sub(r.Len, 0)
	t.must(err, "the empty part at the end")
	t.must(s.Fill(empty, hal.Zero), "fill the empty part")
}

func subPastEnd(t *trial) {
	m := t.filled(t.dev, t.random(64))
	r := region(m, 16, 16)
	for _, x := range [][2]uint64{{17, 0}, {0, 17}, {16, 1}, {1, math.MaxUint64}, {math.MaxUint64, 1}, {math.MaxUint64, math.MaxUint64}} {
		t.refuses(hal.ErrOutOfRange, fmt.Sprintf("[%d, +%d) of 16 bytes", x[0], x[1]), func() error {
			_, err := r.Sub(x[0], x[1])
			return err
		}, m)
	}
}

func viewAfterParentFree(t *trial) {
	s := t.stream(t.dev)
	m, o := t.memory(t.dev, hal.KindDevice, 64), t.filled(t.dev, t.random(64))
	part, err := m.All().Sub(8, 16)
	t.must(err, "sub")
	t.must(m.Close(), "close")
	b := make([]byte, 16)
	for what, call := range map[string]func() error{
		"copy to":   func() error { return s.Copy(part, region(o, 0, 16)) },
		"copy from": func() error { return s.Copy(region(o, 0, 16), part) },
		"copy in":   func() error { return s.CopyIn(part, b) },
		"copy out":  func() error { return s.CopyOut(b, part) },
		"fill":      func() error { return s.Fill(part, hal.Zero) },
		"write":     func() error { return t.dev.Write(t.ctx, part, b) },
		"read":      func() error { return t.dev.Read(t.ctx, b, part) },
	} {
		t.refuses(hal.ErrClosed, what+" a part of closed memory", call, o)
	}
}

func orderOfChecks(t *trial) {
	s, closed := t.stream(t.dev), t.stream(t.dev)
	t.must(closed.Close(), "close")
	m, gone := t.filled(t.dev, t.random(64)), t.memory(t.dev, hal.KindDevice, 64)
	t.must(gone.Close(), "close")
	foreign := t.filled(t.separate(), t.random(64))
	b := make([]byte, 8)
	for _, c := range []struct {
		kind error
		what string
		call func() error
	}{
		{hal.ErrClosed, "closed stream before device", func() error { return closed.Fill(foreign.All(), hal.Zero) }},
		{hal.ErrClosed, "closed memory before range", func() error { return s.Fill(gone.Region(99, 99), hal.Zero) }},
		{hal.ErrClosed, "closed memory before alignment", func() error { return s.Fill(gone.Region(1, 1), hal.Pattern64(0)) }},
		{hal.ErrClosed, "closed source before range of the destination", func() error { return s.Copy(m.Region(99, 1), gone.Region(0, 1)) }},
		{hal.ErrWrongDevice, "device before alignment", func() error { return s.Fill(foreign.Region(1, 1), hal.Pattern64(0)) }},
		{hal.ErrWrongDevice, "device before range", func() error { return s.CopyIn(foreign.Region(99, 8), b) }},
		{hal.ErrMisaligned, "alignment before range", func() error { return s.Fill(m.Region(99, 99), hal.Pattern64(0)) }},
		{hal.ErrOutOfRange, "range before overlap", func() error { return s.Copy(m.Region(0, 65), m.Region(1, 65)) }},
		{hal.ErrOutOfRange, "range before different lengths", func() error { return s.CopyIn(m.Region(60, 9), b) }},
		{hal.ErrOutOfRange, "range before nothing to do", func() error { return s.CopyIn(m.Region(65, 0), nil) }},
	} {
		t.refuses(c.kind, c.what, c.call, m)
	}
}

func failedCallHasNoEffect(t *trial) {
	s := t.stream(t.dev)
	b := t.random(64)
	m := t.filled(t.dev, b)
	host := t.random(64)
	kept := slices.Clone(host)
	e, gone := t.recorded(s), t.recorded(s)
	t.sync(s)
	t.must(gone.Close(), "close event")
	calls := []func() error{
		func() error { return s.CopyOut(host, m.Region(32, 64)) },
		func() error { return s.CopyOut(host[:32], m.Region(1<<63, 32)) },
		func() error { return s.CopyIn(m.Region(32, 64), host) },
		func() error { return s.Fill(m.Region(0, 65), hal.Pattern8(1)) },
		func() error { return s.Copy(m.Region(0, 40), m.Region(20, 40)) },
		func() error { return s.WaitEvent(nil) },
		func() error { return s.WaitEvent(gone) },
		func() error { return e.OnDone(nil) },
		func() error { return s.OnDone(nil) },
		func() error { _, err := e.Elapsed(e); return err },
		func() error { _, err := t.dev.Alloc(hal.KindDevice, math.MaxUint64, 0); return err },
	}
	before := t.usage(m)
	for range t.Size(50, 5) {
		for i, call := range calls {
			if call() == nil {
				t.Errorf("call %d was not refused", i)
			}
		}
	}
	t.idle(s, "the stream")
	t.idle(e, "the event")
	t.same(host, kept, "host memory")
	t.same(t.all(m), b, "device memory")
	t.want(t.usage(m)[t.dev] == before[t.dev], "usage changed from %+v to %+v", before[t.dev], t.usage(m)[t.dev])
	t.must(s.CopyIn(m.All(), host), "a good call afterwards")
	t.sync(s)
	t.same(t.all(m), host, "after a good call")
}
