package conformance

import (
	"github.com/go-halyard/halyard/internal/comm/driver"
)

var engineChecks = []Check{
	{Name: "Describes", Rule: "Info is complete and does not change, and ranks are numbered from 0.", run: func(t *trial) {
		i := t.e.Info()
		t.equal(i, t.e.Info(), "Info, the second time")
		if i.Name == "" || i.Version == "" {
			t.fatalf("the engine has no name or version: %+v", i)
		}
		if i.MaxTag < 32767 {
			t.fatalf("the largest tag is %d, less than 32767", i.MaxTag)
		}
		w := t.e.World()
		t.equal(t.e.World(), w, "World, the second time")
		if w.Rank() < 0 || w.Rank() >= w.Size() {
			t.fatalf("the rank is %d, and the size %d", w.Rank(), w.Size())
		}
	}},
	{Name: "RanksAreDistinct", Rule: "Every rank from 0 to Size-1 exists once.", run: func(t *trial) {
		a, all := t.area(1), t.area(t.size)
		a.b[0] = byte(t.rank)
		t.collective(driver.Collective{Call: driver.Allgather, Send: a.p, Recv: all.p, Count: 1})
		for i, v := range all.b {
			t.equal(v, byte(i), "rank of the rank that sent part %d", i)
		}
	}},
}

var memoryChecks = []Check{
	{Name: "IsZeroAndAligned", Rule: "Alloc returns zeroed memory that starts on a page, even if the memory was used and freed before.", run: func(t *trial) {
		for round := range 3 {
			for _, n := range []uint64{1, 4096, 100000} {
				p, err := t.e.Alloc(n)
				t.must(err, "Alloc")
				if uintptr(p)%4096 != 0 {
					t.fatalf("memory of %d bytes starts at %p, which is not the start of a page", n, p)
				}
				b := bytesAt(p, n)
				for i, v := range b {
					if v != 0 {
						t.fatalf("round %d: byte %d of %d is %d", round, i, n, v)
					}
				}
				fill(b, 1, round)
				t.e.Free(p, n)
			}
		}
	}},
	{Name: "BlocksDoNotOverlap", Rule: "Memory that is in use is never given out again.", run: func(t *trial) {
		for i := range 20 {
			fill(t.area(i*500+1).b, t.rank, i)
		}
		for i, a := range t.areas {
			t.holds(a.b, t.rank, i, "memory in use")
		}
	}},
}
