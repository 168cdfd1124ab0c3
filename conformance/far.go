package conformance

import (
	"errors"
	"math"
	"runtime/debug"
	"slices"

	"github.com/go-halyard/halyard/hal"
)

// The checks below use one memory that is larger than 4 GiB. On a device that uses the machine's memory, only the pages that are
// touched take up memory.

const (
	farSize = 1<<32 + 1<<20
	farAway = 1<<32 + 4096 // offsets from here on do not fit into 32 bits; their low 32 bits are offsets near the beginning
)

// far allocates memory of farSize bytes. It skips the check if the device has no such memory, or if need bytes are not free.
func (t *trial) far(kind hal.Kind, need uint64) *hal.Memory {
	i := t.dev.Info()
	if i.MaxAlloc < farSize {
		t.Skipf("memory is at most %d bytes, and 32 bits are enough for every offset", i.MaxAlloc)
	}
	if i.Simulated && !i.SharesHostMemory {
		t.Skipf("a simulated device may write all memory that it allocates, and that takes seconds")
	}
	free, known := t.free()
	if !known || free < need {
		t.Skipf("the check takes %d bytes, of which %d are known to be free", need, free)
	}
	m, err := t.dev.Alloc(kind, farSize, 0)
	if errors.Is(err, hal.ErrOutOfMemory) {
		t.Skipf("%v", err)
	}
	t.must(err, "allocate %d bytes of %v memory", uint64(farSize), kind)
	t.Cleanup(func() { t.must(m.Close(), "close memory") })
	return m
}

// ownMemory reports whether the device has memory of its own, which can be written without taking the machine's.
func ownMemory(d *hal.Device) bool {
	i := d.Info()
	return !i.Simulated && !i.SharesHostMemory && i.Class != hal.ClassCPU
}

// free returns how much memory is free on the device, or on the machine if the device does not report it: such a device
// may use the machine's memory.
func (t *trial) free() (n uint64, known bool) {
	if t.dev.Caps().Has(hal.CapMemInfo) {
		n, _, err := t.dev.MemInfo()
		t.must(err, "memory information")
		return n, true
	}
	host, err := hal.Open(t.ctx, "host:0")
	if err != nil {
		return 0, false
	}
	defer func() { t.must(host.Close(), "close the host") }()
	n, _, err = host.MemInfo()
	return n, err == nil
}

// farOffset works at an offset of more than 32 bits, and checks that the bytes at the offset's low 32 bits do not change.
func farOffset(t *trial) {
	const n = 3000
	s := t.stream(t.dev)
	small := t.memory(t.dev, hal.KindDevice, 4*n)
	for _, k := range kinds(t.dev) {
		if k != hal.KindDevice && (t.p.Short || !ownMemory(t.dev)) {
			continue // page-locking writes all of it
		}
		m := t.far(k, 2*farSize)
		low, high := t.random(4*n), t.random(4*n)
		t.must(s.CopyIn(m.Region(farAway-1<<32, 4*n), low), "copy in")
		t.must(s.CopyIn(m.Region(farAway, 4*n), high), "copy in far away")
		in := t.random(n)
		// Each operation works on a part of its own of the bytes far away.
		t.must(s.Fill(m.Region(farAway, n), hal.Pattern8(0x5f)), "fill far away")
		copy(high, repeated(hal.Pattern8(0x5f), n))
		t.must(s.CopyIn(m.Region(farAway+n, n), in), "copy in far away")
		copy(high[n:], in)
		t.must(s.Copy(small.All(), m.Region(farAway, 4*n)), "copy from far away")
		t.must(s.Copy(m.Region(farAway+2*n, n), small.Region(n/2, n)), "copy to far away")
		t.must(s.Copy(small.Region(0, 8), m.Region(farAway-1<<32, 8)), "copy from near by")
		t.sync(s)
		want := append(append([]byte(nil), low[:8]...), high[8:]...)
		t.same(t.all(small), want, "copied from far away, %v memory", k)
		copy(high[2*n:], want[n/2:n/2+n])
		outHigh, outLow := make([]byte, 4*n), make([]byte, 4*n)
		t.must(s.CopyOut(outHigh, m.Region(farAway, 4*n)), "copy out from far away")
		t.must(s.CopyOut(outLow, m.Region(farAway-1<<32, 4*n)), "copy out")
		t.sync(s)
		t.same(outHigh, high, "far away in %v memory", k)
		t.same(outLow, low, "at the low 32 bits of offsets far away, %v memory", k)
		t.farRows(s, m)
		t.farKernel(s, m)
		t.farImport(s, m, k)
		t.must(m.Close(), "close")
	}
}

// farRows copies two rows that are more than 4 GiB apart.
func (t *trial) farRows(s *hal.Stream, m *hal.Memory) {
	const width, pitch = 500, 1<<32 + 8192
	b, near := t.random(2*width), t.random(width)
	o := t.memory(t.dev, hal.KindDevice, 2*width)
	out, again := make([]byte, 2*width), make([]byte, 2*width)
	t.must(s.CopyIn(m.Region(64+pitch-1<<32, width), near), "copy in")
	t.must(s.CopyIn2D(m.Pitched(64, pitch), b, width, width, 2), "copy rows in")
	t.must(s.Copy2D(o.Pitched(0, width), m.Pitched(64, pitch), width, 2), "copy rows")
	t.must(s.CopyOut2D(out, width, m.Pitched(64, pitch), width, 2), "copy rows out")
	// These rows lie side by side far away, with a gap between them.
	const there, gap = farAway + 20_000, width + 12
	t.must(s.Copy2D(m.Pitched(there, gap), o.Pitched(0, width), width, 2), "copy rows to far away")
	t.must(s.CopyOut2D(again, width, m.Pitched(there, gap), width, 2), "copy rows out from far away")
	t.sync(s)
	t.same(out, b, "rows that are far apart")
	t.same(t.all(o), b, "copied from rows that are far apart")
	t.same(again, b, "rows far away")
	t.same(t.getFar(m, there, width), b[:width], "far away, where a row was copied to")
	t.same(t.getFar(m, there+gap, width), b[width:], "far away, where a row was copied to")
	t.must(s.CopyIn(m.Region(there, width), b[width:]), "copy in far away")
	t.must(s.CopyIn(m.Region(there+gap, width), b[:width]), "copy in far away")
	t.must(s.Copy2D(o.Pitched(0, width), m.Pitched(there, gap), width, 2), "copy rows from far away")
	t.must(s.CopyOut2D(out, width, m.Pitched(there, gap), width, 2), "copy rows out from far away")
	t.sync(s)
	t.same(t.all(o), slices.Concat(b[width:], b[:width]), "rows from far away")
	t.same(out, t.all(o), "rows out from far away")
	t.same(t.getFar(m, 64+pitch-1<<32, width), near, "4 GiB before a row")
}

// getFar reads bytes with a copy of its own.
func (t *trial) getFar(m *hal.Memory, off uint64, n int) []byte {
	b := make([]byte, n)
	t.must(m.Device().Read(t.ctx, b, m.Region(off, uint64(n))), "read %d bytes at %d", n, off)
	return b
}

// farKernel passes a kernel a region far away.
func (t *trial) farKernel(s *hal.Stream, m *hal.Memory) {
	if !t.dev.Caps().Has(hal.CapKernels) || t.p.Short && t.dev.Caps().Has(hal.CapCompile) {
		return
	}
	const n = 64
	t.put(m, farAway-1<<32, words(n, 1))
	t.must(s.Launch(t.kernel("put"), hal.Over(n), hal.At(m.Region(farAway, 4*n)), hal.Value(uint32(77)), hal.Value(uint32(n))), "launch")
	t.sync(s)
	t.same(t.getFar(m, farAway, 4*n), words(n, 77), "written by a kernel far away")
	t.same(t.get(m, farAway-1<<32, 4*n), words(n, 1), "what no kernel was given")
}

// farImport imports all of the memory, and works far away in that.
func (t *trial) farImport(s *hal.Stream, m *hal.Memory, k hal.Kind) {
	check := func(m *hal.Memory, what string) {
		b := t.random(100)
		t.must(s.CopyIn(m.Region(farSize-100, 100), b), "copy in at the end of %s", what)
		t.sync(s)
		t.same(t.getFar(m, farSize-100, 100), b, "the end of %s", what)
		t.want(m.Size() == farSize, "%s has %d bytes, want %d", what, m.Size(), uint64(farSize))
	}
	if t.dev.Caps().Has(hal.CapImport) {
		x, err := t.dev.Import(hal.ExternalMemory{Kind: k, Handle: m.Handle(), Size: farSize})
		t.must(err, "import %d bytes", uint64(farSize))
		check(x, "memory that was imported")
		t.must(x.Close(), "close imported memory")
	}
	if t.dev.Caps().Has(hal.CapStreamAlloc) && k == hal.KindDevice {
		x, err := s.AllocAsync(farSize, 0)
		if errors.Is(err, hal.ErrOutOfMemory) {
			return
		}
		t.must(err, "allocate %d bytes in stream order", uint64(farSize))
		check(x, "memory allocated in stream order")
		t.must(x.Close(), "close")
		t.sync(s)
	}
}

// farLength copies and fills more than 4 GiB. It checks both ends, and the places where lengths of 31, 32 and 33 bits end. Before a
// copy it writes only these places.
func farLength(t *trial) {
	if t.p.Short || !ownMemory(t.dev) {
		t.Skipf("the check writes more than 4 GiB, which takes long on a device in the machine's memory")
	}
	const n = 64
	size := uint64(farSize)
	if size > math.MaxInt {
		t.Skipf("a slice of this program has at most %d bytes", math.MaxInt)
	}
	places := []uint64{0, 1<<20 - n, 1<<24 - n/2, 1<<31 - n/2, 1<<32 - n/2, farSize - n}
	s := t.stream(t.dev)
	mark := func(m *hal.Memory) [][]byte {
		var marks [][]byte
		for _, at := range places {
			b := t.random(n)
			t.must(s.CopyIn(m.Region(at, n), b), "copy in")
			marks = append(marks, b)
		}
		t.sync(s)
		return marks
	}
	check := func(m *hal.Memory, marks [][]byte, what string) {
		for i, at := range places {
			t.same(t.getFar(m, at, n), marks[i], "%s: at %d of %d bytes", what, at, uint64(farSize))
		}
	}
	src := t.far(hal.KindDevice, 3*farSize)
	marks := mark(src)
	host := make([]byte, size) // made once, because Go would clear memory that it reuses
	t.must(s.CopyOut(host, src.All()), "copy out")
	t.sync(s)
	for i, at := range places {
		t.same(host[at:at+n], marks[i], "copied out: at %d of %d bytes", at, uint64(farSize))
	}
	dst := t.far(hal.KindDevice, farSize)
	t.must(s.Copy(dst.All(), src.All()), "copy")
	t.sync(s)
	check(dst, marks, "copied")
	t.must(src.Close(), "close")
	t.must(s.Fill(dst.All(), hal.Pattern8(0x6e)), "fill")
	t.sync(s)
	for i := range marks {
		marks[i] = repeated(hal.Pattern8(0x6e), n)
	}
	check(dst, marks, "filled")
	for i, at := range places {
		marks[i] = t.random(n)
		copy(host[at:], marks[i])
	}
	t.must(s.CopyIn(dst.All(), host), "copy in")
	t.sync(s)
	check(dst, marks, "copied in")
	host = nil
	debug.FreeOSMemory()
}
