package conformance

import (
	"fmt"
	"sync"

	"github.com/go-halyard/halyard/internal/comm/driver"
)

// on runs fn with another communicator in place of the trial's own.
func (t *trial) on(c driver.Comm, fn func()) {
	old := *t
	t.c, t.rank, t.size = c, c.Rank(), c.Size()
	fn()
	t.c, t.rank, t.size = old.c, old.rank, old.size
}

var communicatorChecks = []Check{
	{Name: "DuplicateIsSeparate", Rule: "Messages of a communicator and of its duplicate do not mix.", Ranks: 2, run: func(t *trial) {
		d, err := t.c.Dup()
		t.must(err, "Dup")
		t.equal(d.Rank(), t.rank, "rank")
		t.equal(d.Size(), t.size, "size")
		a, b := t.area(10), t.area(10)
		switch t.rank {
		case 0:
			fill(a.b, 0, 1)
			fill(b.b, 0, 2)
			first := t.isend(a, 10, 1, 0) // an engine may not finish it before it is received
			t.on(d, func() { t.wait(first, t.isend(b, 10, 1, 0)) })
		case 1:
			t.on(d, func() { t.wait(t.irecv(a, 0, 0)) })
			t.holds(a.b, 0, 2, "message on the duplicate")
			t.wait(t.irecv(b, driver.AnySource, driver.AnyTag))
			t.holds(b.b, 0, 1, "message on the communicator")
		}
		t.must(d.Free(), "Free")
	}},
	{Name: "SplitOrdersByKey", Rule: "Split makes one communicator for each color, ordered by key and then by rank.", run: func(t *trial) {
		color := t.rank % 2
		for _, keyed := range []bool{true, false} {
			key := 7
			if keyed {
				key = -t.rank
			}
			s, err := t.c.Split(color, key)
			t.must(err, "Split")
			members := []int{}
			for i := color; i < t.size; i += 2 {
				members = append(members, i)
			}
			t.equal(s.Size(), len(members), "size")
			want := t.rank / 2
			if keyed {
				want = len(members) - 1 - t.rank/2
			}
			t.equal(s.Rank(), want, "rank")
			a, all := t.area(1), t.area(len(members))
			a.b[0] = byte(t.rank)
			t.on(s, func() {
				t.collective(driver.Collective{Call: driver.Allgather, Send: a.p, Recv: all.p, Count: 1})
			})
			for i, v := range all.b {
				m := members[i]
				if keyed {
					m = members[len(members)-1-i]
				}
				t.equal(int(v), m, "member %d of color %d", i, color)
			}
			t.must(s.Free(), "Free")
		}
	}},
	{Name: "SplitLeavesOut", Rule: "A rank that gives NoColor gets no communicator, and no error.", run: func(t *trial) {
		color := driver.NoColor
		if t.rank == t.size-1 {
			color = 3
		}
		s, err := t.c.Split(color, 0)
		t.must(err, "Split")
		if color < 0 {
			if s != nil {
				t.fatalf("a rank without a color is in a communicator of %d", s.Size())
			}
			return
		}
		t.equal(s.Size(), 1, "size")
		t.must(s.Free(), "Free")
	}},
	{Name: "SplitSharedCoversAll", Rule: "SplitShared puts every rank into exactly one communicator.", run: func(t *trial) {
		s, err := t.c.SplitShared(t.rank)
		t.must(err, "SplitShared")
		a := t.area(8)
		if s.Rank() == 0 {
			a.b[0] = byte(s.Size())
		}
		t.collective(driver.Collective{Call: driver.Allreduce, Type: driver.Uint8, Count: 1, Send: a.p, Recv: a.p})
		t.equal(int(a.b[0]), t.size, "sizes of all together")
		t.must(s.Free(), "Free")
	}},
}

var threadChecks = []Check{
	{Name: "ManyGoroutinesManyCommunicators", Rule: "An engine may be used by many goroutines at the same time.", run: func(t *trial) {
		const goroutines = 6
		var comms []driver.Comm
		for range goroutines {
			d, err := t.c.Dup()
			t.must(err, "Dup")
			comms = append(comms, d)
		}
		errs := make([]error, goroutines)
		var all sync.WaitGroup
		for g, d := range comms {
			all.Go(func() {
				own := newTrial(t.ctx, t.e, d, nil)
				errs[g] = own.protect(func() {
					to, from := own.neighbours()
					for i := range 30 {
						n := (i*i*37 + g*211) % 9000
						src, dst := own.area(n), own.area(n)
						fill(src.b, own.rank+g, i)
						r := own.irecv(dst, from, i)
						own.wait(r, own.isend(src, n, to, i))
						own.holds(dst.b, from+g, i, fmt.Sprintf("goroutine %d", g))
						sum := own.area(8)
						sum.b[0] = 1
						own.collective(driver.Collective{Call: driver.Allreduce, Type: driver.Uint64, Count: 1, Send: sum.p, Recv: sum.p})
						own.equal(int(sum.b[0]), own.size, "sum of goroutine %d", g)
						src.free()
						dst.free()
						sum.free()
					}
				})
			})
		}
		all.Wait()
		for _, err := range errs {
			t.must(err, "goroutine")
		}
		for _, d := range comms { // in the same order everywhere
			t.must(d.Free(), "Free")
		}
	}},
}
