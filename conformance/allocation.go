package conformance

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/go-halyard/halyard/hal"
)

var allocationChecks = []Check{
	{Name: "Distinct", Rule: "Live blocks never overlap: each keeps the bytes that were written to it.", run: allocDistinct},
	{Name: "SizeAtLeastRequested", Rule: "Every requested byte can be used, and Size returns the requested size.", run: sizeAtLeastRequested},
	{Name: "KindHonoured", Rule: "Memory is of the requested kind: the host can access host and shared memory, but not device memory of a discrete device.", run: kindHonoured},
	{Name: "RandomAllocFree", Rule: "Allocating and freeing in random order disturbs no live block.", run: randomAllocFree},
	{Name: "FreeOnOtherGoroutine", Rule: "Memory can be freed on any goroutine.", run: freeOnOtherGoroutine},
	{Name: "HugeRejected", Rule: "An allocation larger than the device's memory fails as out of memory, with the figures, and changes nothing.", run: hugeRejected},
	{Name: "ContentsIsolated", Rule: "Writing a whole block to its edges changes no other block.", run: contentsIsolated},
	{Name: "StatsMatch", Rule: "Usage counts the bytes held now, the most held at once and the allocations made.", run: statsMatch},
	{Name: "DefaultAlignment", Rule: "Every allocation is aligned to Info.Alignment.", run: defaultAlignment},
	{Name: "ExplicitPowerOfTwoAlignment", Rule: "Every power of two up to Info.MaxAlign is honoured.", run: explicitAlignment},
	{Name: "HandlesDiffer", Rule: "No two live memories have the same handle, and a handle is not 0 and does not change.", run: handlesDiffer},
	{Name: "BadAlignmentRejected", Rule: "An alignment that is not a power of two is an invalid argument, and one beyond Info.MaxAlign is misaligned.", run: badAlignmentRejected},
	{Name: "BadKindRejected", Rule: "A kind of memory that does not exist is an invalid argument.", run: badKindRejected},
	{Name: "OddOffsetsCopy", Rule: "Copies start and end at any byte of an allocation.", run: oddOffsetsCopy},
	{Name: "ZeroSizeAllocation", Rule: "Memory of no bytes has handle 0, takes nothing of the device, and can be used and closed like any other.", run: zeroSizeAllocation},
}

// kinds are the kinds of memory that a device has.
func kinds(d *hal.Device) []hal.Kind {
	k := []hal.Kind{hal.KindDevice, hal.KindHost}
	if d.Caps().Has(hal.CapShared) {
		k = append(k, hal.KindShared)
	}
	return k
}

func allocDistinct(t *trial) {
	n := t.Size(200, 48)
	type block struct {
		m *hal.Memory
		p hal.Pattern
	}
	var blocks []block
	s := t.stream(t.dev)
	for i := range n {
		size := 1 + t.rng.IntN(8<<10)
		m := t.memory(t.dev, kinds(t.dev)[i%len(kinds(t.dev))], size)
		p := hal.Pattern8(uint8(1 + i%255))
		t.must(s.Fill(m.All(), p), "fill")
		blocks = append(blocks, block{m, p})
	}
	t.sync(s)
	for i, b := range blocks {
		t.same(t.all(b.m), repeated(b.p, int(b.m.Size())), "block %d of %d bytes", i, b.m.Size())
	}
	if !t.dev.Caps().Has(hal.CapAddress) {
		return
	}
	slices.SortFunc(blocks, func(a, b block) int { return int(int64(a.m.Handle()) - int64(b.m.Handle())) })
	for i, b := range blocks[1:] {
		if prev := blocks[i]; prev.m.Handle()+uintptr(prev.m.Size()) > b.m.Handle() {
			t.Errorf("%d bytes at %#x reach into the block at %#x", prev.m.Size(), prev.m.Handle(), b.m.Handle())
		}
	}
}

func sizeAtLeastRequested(t *trial) {
	for _, k := range kinds(t.dev) {
		for _, size := range []int{1, 2, 3, 255, 256, 257, 4095, 4096, 4097, 1<<20 + 1} {
			m := t.memory(t.dev, k, size)
			t.want(m.Size() == uint64(size), "%v memory of %d bytes has Size %d", k, size, m.Size())
			b := t.random(size)
			t.put(m, 0, b)
			t.same(t.all(m), b, "%v memory of %d bytes", k, size)
			if k != hal.KindDevice {
				t.onHost(m, func(v []byte) { t.same(v, b, "the host's view of %d bytes of %v memory", size, k) })
			}
		}
	}
}

func kindHonoured(t *trial) {
	for _, k := range kinds(t.dev) {
		m := t.memory(t.dev, k, 4096)
		t.want(m.Kind() == k, "%v memory has Kind %v", k, m.Kind())
		b := t.random(4096)
		t.put(m, 0, b)
		switch {
		case k == hal.KindDevice && !t.dev.Info().SharesHostMemory:
			t.want(m.HostPointer() == nil, "the host can see device memory of a discrete device")
			_, err := m.Bytes()
			t.wantKind(err, hal.ErrUnsupported, "host view of device memory")
		case k != hal.KindDevice:
			next := t.random(4096)
			t.onHost(m, func(v []byte) {
				t.same(v, b, "%v memory as the host sees it", k)
				copy(v, next)
			})
			t.same(t.all(m), next, "%v memory as the device sees it", k)
			if k == hal.KindShared && t.dev.Caps().Has(hal.CapAddress) {
				t.want(uintptr(m.HostPointer()) == m.Handle(), "shared memory has two addresses, %p and %#x", m.HostPointer(), m.Handle())
			}
		}
	}
}

func randomAllocFree(t *trial) {
	type block struct {
		m *hal.Memory
		b []byte
	}
	var live []block
	defer func() {
		for _, x := range live {
			_ = x.m.Close()
		}
	}()
	ks := kinds(t.dev)
	for i := range t.Size(600, 150) {
		if len(live) < 8 || len(live) < 40 && t.rng.IntN(2) == 0 {
			b := t.random(1 + t.rng.IntN(1<<(1+t.rng.IntN(15))))
			k := ks[t.rng.IntN(len(ks))]
			m, err := t.dev.Alloc(k, uint64(len(b)), 0)
			t.must(err, "step %d: allocate %d bytes of %v memory", i, len(b), k)
			live = append(live, block{m, b})
			t.put(m, 0, b)
			continue
		}
		at := t.rng.IntN(len(live))
		x := live[at]
		t.same(t.all(x.m), x.b, "step %d: %d bytes", i, len(x.b))
		t.must(x.m.Close(), "step %d: close", i)
		live = slices.Delete(live, at, at+1)
	}
	for _, x := range live {
		t.same(t.all(x.m), x.b, "at the end: %d bytes", len(x.b))
	}
}

func freeOnOtherGoroutine(t *trial) {
	const n = 16
	var mems [n]*hal.Memory
	t.together(n, func(i int) {
		m, err := t.dev.Alloc(hal.KindDevice, uint64(4096*(i+1)), 0)
		t.must(err, "allocate")
		mems[i] = m
	})
	for _, m := range mems {
		t.must(t.dev.Write(t.ctx, m.Region(0, 4096), make([]byte, 4096)), "write")
	}
	t.together(n, func(i int) { t.must(mems[n-1-i].Close(), "close") })
	t.eventually(func() bool { return t.dev.Usage().Held == 0 }, "all memory is given back")
}

func hugeRejected(t *trial) {
	i := t.dev.Info()
	sizes := []uint64{1 << 60, math.MaxInt64, math.MaxUint64 - 4096, math.MaxUint64}
	if i.MaxAlloc > 0 && i.MaxAlloc < 1<<60 {
		sizes = append(sizes, i.MaxAlloc+1)
	}
	keep := t.filled(t.dev, t.random(64))
	for _, k := range kinds(t.dev) {
		for _, size := range sizes {
			var err error
			t.refuses(hal.ErrOutOfMemory, fmt.Sprintf("%d bytes of %v memory", size, k), func() error {
				var m *hal.Memory
				if m, err = t.dev.Alloc(k, size, 0); m != nil {
					_ = m.Close()
				}
				return err
			}, keep)
			t.wantShortage(err, k, size)
		}
	}
	t.filled(t.dev, t.random(64))
}

// wantShortage fails unless an *hal.Error has a Shortage with the right figures.
func (t *trial) wantShortage(err error, k hal.Kind, size uint64) {
	var e *hal.Error
	if !errors.As(err, &e) {
		return
	}
	s := e.Shortage
	switch {
	case s == nil:
		t.Errorf("%q has no Shortage", err)
	case s.Request != size || s.Kind != k:
		t.Errorf("%q says that %d bytes of %v memory were requested, not %d of %v", err, s.Request, s.Kind, size, k)
	case s.Held != t.dev.Usage().Held:
		t.Errorf("%q says that %d bytes are held, Usage says %d", err, s.Held, t.dev.Usage().Held)
	case s.FreeKnown && s.Free > s.Total:
		t.Errorf("%q says that %d of %d bytes are free", err, s.Free, s.Total)
	}
}

func contentsIsolated(t *trial) {
	const n = 24
	s := t.stream(t.dev)
	for _, size := range []int{1, 7, 64, 100, 4096, 10_001} {
		var mems []*hal.Memory
		for range n {
			mems = append(mems, t.memory(t.dev, hal.KindDevice, size))
		}
		for i := range mems {
			t.must(s.Fill(mems[i].All(), hal.Pattern8(0)), "clear")
		}
		for i, m := range mems {
			if i%2 == 1 {
				t.must(s.Fill(m.All(), hal.Pattern8(0xff)), "fill")
			}
		}
		t.sync(s)
		for i, m := range mems {
			want := byte(0)
			if i%2 == 1 {
				want = 0xff
			}
			t.same(t.all(m), bytes.Repeat([]byte{want}, size), "block %d of %d bytes", i, size)
		}
	}
}

func statsMatch(t *trial) {
	wantUsage := func(what string, held, peak, made uint64) {
		got := t.dev.Usage()
		if got.Held != held || got.Peak != peak || got.Allocations != made {
			t.Errorf("%s: %+v, want %d held, %d at most, %d made", what, got, held, peak, made)
		}
	}
	wantUsage("a new handle", 0, 0, 0)
	a, err := t.dev.Alloc(hal.KindDevice, 1000, 0)
	t.must(err, "allocate")
	b, err := t.dev.Alloc(hal.KindHost, 500, 0)
	t.must(err, "allocate")
	wantUsage("after two allocations", 1500, 1500, 2)
	t.must(a.Close(), "close")
	wantUsage("after one was closed", 500, 1500, 2)
	c, err := t.dev.Alloc(hal.KindDevice, 200, 0)
	t.must(err, "allocate")
	wantUsage("after one more", 700, 1500, 3)
	t.must(b.Close(), "close")
	t.must(c.Close(), "close")
	wantUsage("at the end", 0, 1500, 3)
	if t.dev.Caps().Has(hal.CapRegister) {
		r, err := t.dev.Register(make([]byte, 4096))
		t.must(err, "register")
		wantUsage("registered memory is the host's own", 0, 1500, 3)
		t.must(r.Close(), "close")
	}
}

// aligned fails unless the memory's device address and host address, if it has them, are multiples of align.
func (t *trial) aligned(m *hal.Memory, align uint64) {
	check := func(at uintptr, who string) {
		if uint64(at)%align != 0 {
			t.Errorf("%v memory of %d bytes, at %#x for the %s, is not aligned to %d", m.Kind(), m.Size(), at, who, align)
		}
	}
	if t.dev.Caps().Has(hal.CapAddress) {
		check(m.Handle(), "device")
	}
	check(uintptr(m.HostPointer()), "host")
}

func defaultAlignment(t *trial) {
	align := t.dev.Info().Alignment
	for _, k := range kinds(t.dev) {
		for _, size := range []int{1, 3, 100, 4097, 300 << 10} {
			m := t.memory(t.dev, k, size)
			t.aligned(m, align)
			if k != hal.KindDevice {
				t.onHost(m, func(b []byte) { b[0], b[size-1] = 1, 2 })
			}
		}
	}
}

func explicitAlignment(t *trial) {
	limit := t.dev.Info().MaxAlign
	for _, k := range kinds(t.dev) {
		for align := uint64(1); align <= limit && align != 0; align <<= 1 {
			for _, size := range []int{1, 777} {
				m, err := t.dev.Alloc(k, uint64(size), align)
				t.must(err, "%d bytes of %v memory aligned to %d", size, k, align)
				t.aligned(m, align)
				b := t.random(size)
				t.put(m, 0, b)
				t.same(t.all(m), b, "%v memory aligned to %d", k, align)
				t.must(m.Close(), "close")
			}
		}
	}
}

func handlesDiffer(t *trial) {
	seen := map[uintptr]int{}
	var mems []*hal.Memory
	for i := range 32 {
		for _, k := range kinds(t.dev) {
			m := t.memory(t.dev, k, 1+i*i)
			h := m.Handle()
			t.want(h != 0, "%v memory has handle 0", k)
			if j, twice := seen[h]; twice {
				t.Errorf("%d bytes of %v memory and %d bytes of %v memory have the handle %#x", m.Size(), k, mems[j].Size(), mems[j].Kind(), h)
			}
			seen[h] = len(mems)
			mems = append(mems, m)
		}
	}
	for i, m := range mems {
		t.want(seen[m.Handle()] == i, "the handle of %d bytes of %v memory has changed to %#x", m.Size(), m.Kind(), m.Handle())
	}
}

func badAlignmentRejected(t *trial) {
	keep := t.filled(t.dev, t.random(64))
	for _, k := range kinds(t.dev) {
		for _, align := range []uint64{3, 5, 6, 7, 12, 100, 255, 1<<40 + 1, math.MaxUint64} {
			t.refuses(hal.ErrInvalidArgument, fmt.Sprintf("alignment %d", align), func() error {
				_, err := t.dev.Alloc(k, 64, align)
				return err
			}, keep)
		}
		for align := t.dev.Info().MaxAlign << 1; align != 0; align <<= 7 {
			t.refuses(hal.ErrMisaligned, fmt.Sprintf("alignment %d", align), func() error {
				_, err := t.dev.Alloc(k, 64, align)
				return err
			}, keep)
		}
	}
}

func badKindRejected(t *trial) {
	keep := t.filled(t.dev, t.random(64))
	for _, k := range []hal.Kind{0, 4, 255} {
		t.refuses(hal.ErrInvalidArgument, k.String(), func() error {
			_, err := t.dev.Alloc(k, 64, 0)
			return err
		}, keep)
	}
}

func oddOffsetsCopy(t *trial) {
	const size = 1 << 10
	b := t.random(size)
	s := t.stream(t.dev)
	a, c := t.filled(t.dev, b), t.memory(t.dev, hal.KindDevice, size)
	for i := range t.Size(200, 60) {
		n := 1 + t.rng.IntN(size/2)
		from, to := t.rng.IntN(size-n), t.rng.IntN(size-n)
		out := make([]byte, n)
		t.must(s.Copy(region(c, to, n), region(a, from, n)), "copy")
		t.must(s.CopyOut(out, region(c, to, n)), "copy out")
		t.sync(s)
		t.same(out, b[from:from+n], "round %d: %d bytes from %d to %d", i, n, from, to)
	}
}

func zeroSizeAllocation(t *trial) {
	s := t.stream(t.dev)
	for _, k := range kinds(t.dev) {
		for _, align := range []uint64{0, 1, 64} {
			m, err := t.dev.Alloc(k, 0, align)
			t.must(err, "no bytes of %v memory", k)
			t.noBytes(s, m)
		}
	}
}

// noBytes checks a memory of no bytes, and closes it.
func (t *trial) noBytes(s *hal.Stream, m *hal.Memory) {
	t.want(m.Size() == 0 && m.Handle() == 0 && m.HostPointer() == nil, "%d bytes at %#x", m.Size(), m.Handle())
	b, err := m.Bytes()
	t.must(err, "host view of no bytes")
	t.must(s.Copy(m.All(), m.All()), "copy no bytes")
	t.must(s.CopyIn(m.All(), b), "copy no bytes in")
	t.must(s.CopyOut(b, m.All()), "copy no bytes out")
	t.must(s.Fill(m.All(), hal.Pattern64(1)), "fill no bytes")
	t.must(s.RecordUse(m), "record a use of no bytes")
	t.wantKind(s.Fill(m.Region(0, 1), hal.Zero), hal.ErrOutOfRange, "fill a byte of none")
	t.must(m.Close(), "close no bytes")
	t.wantKind(s.Fill(m.All(), hal.Zero), hal.ErrClosed, "fill no bytes of closed memory")
}
