package conformance

import (
	"fmt"

	"github.com/go-halyard/halyard/internal/comm/driver"
)

var collectiveChecks = []Check{
	{Name: "BarrierWaits", Rule: "A barrier is not done before every rank has begun it.", Ranks: 2, run: func(t *trial) {
		if t.rank == 0 {
			for r := 1; r < t.size; r++ {
				t.await(r, 0)
			}
			t.collective(driver.Collective{Call: driver.Barrier})
			return
		}
		r := t.icollective(driver.Collective{Call: driver.Barrier})
		if t.early(&r) {
			t.fatalf("the barrier is done before rank 0 has begun it")
		}
		t.signal(0, 0)
		t.wait(r)
	}},
	{Name: "ReductionWaits", Rule: "An Allreduce is not done before every rank has begun it.", Ranks: 2, run: func(t *trial) {
		a := t.area(8)
		c := driver.Collective{Call: driver.Allreduce, Type: driver.Int64, Count: 1, Send: a.p, Recv: a.p}
		a.b[0] = 1
		if t.rank == 0 {
			for r := 1; r < t.size; r++ {
				t.await(r, 0)
			}
			t.collective(c)
		} else {
			r := t.icollective(c)
			if t.early(&r) {
				t.fatalf("the sum is done before rank 0 has begun it")
			}
			t.signal(0, 0)
			t.wait(r)
		}
		t.equal(int(a.b[0]), t.size, "sum")
	}},
	{Name: "Bcast", Rule: "Every rank has what the root had.", run: func(t *trial) {
		t.each([]int{0, 1, 33, 5000, 200000}, func(n, root, number int) {
			a := t.area(n)
			fill(a.b, t.rank, number)
			t.collective(driver.Collective{Call: driver.Bcast, Recv: a.p, Count: uint64(n), Root: root})
			t.holds(a.b, root, number, fmt.Sprintf("%d bytes of root %d", n, root))
		})
	}},
	{Name: "Gather", Rule: "The root, or every rank, has all ranks' parts in the order of ranks, also in place, and no other rank's memory changes.", run: func(t *trial) {
		t.each([]int{0, 1, 33, 5000}, func(n, root, number int) {
			for _, call := range []driver.Call{driver.Gather, driver.Allgather} {
				for _, inPlace := range []bool{false, true} {
					gets := call == driver.Allgather || t.rank == root
					src, dst := t.area(n), t.area(n*t.size)
					own := dst.b[n*t.rank : n*(t.rank+1)]
					c := driver.Collective{Call: call, Send: src.p, Recv: dst.p, Count: uint64(n), Root: root}
					if fill(src.b, t.rank, number); inPlace && gets {
						fill(own, t.rank, number)
						clear(src.b)
						c.Send = at(dst, n*t.rank)
					}
					t.collective(c)
					for i := range t.size {
						if gets {
							t.holds(dst.b[n*i:n*(i+1)], i, number, fmt.Sprintf("%v in place %v, root %d: part %d", call, inPlace, root, i))
						} else {
							t.blank(dst.b, "memory of a rank that is not the root")
						}
					}
				}
			}
		})
	}},
	{Name: "Scatter", Rule: "Every rank has its part of what the root had, also in place.", run: func(t *trial) {
		t.each([]int{0, 1, 33, 5000}, func(n, root, number int) {
			for _, inPlace := range []bool{false, true} {
				src, dst := t.area(n*t.size), t.area(n)
				for i := range t.size {
					fill(src.b[n*i:n*(i+1)], i+root, number)
				}
				c := driver.Collective{Call: driver.Scatter, Send: src.p, Recv: dst.p, Count: uint64(n), Root: root}
				got := dst.b
				if inPlace && t.rank == root {
					c.Recv, got = at(src, n*t.rank), src.b[n*t.rank:n*(t.rank+1)]
				}
				t.collective(c)
				t.holds(got, t.rank+root, number, fmt.Sprintf("in place %v, root %d", inPlace, root))
			}
		})
	}},
	{Name: "Alltoall", Rule: "Part j at rank i becomes part i at rank j, for parts of any length.", run: func(t *trial) {
		for number, n := range []int{0, 1, 33, 5000} {
			src, dst := t.area(n*t.size), t.area(n*t.size)
			for to := range t.size {
				fill(src.b[n*to:n*(to+1)], t.rank*10+to, number)
			}
			t.collective(driver.Collective{Call: driver.Alltoall, Send: src.p, Recv: dst.p, Count: uint64(n)})
			for from := range t.size {
				t.holds(dst.b[n*from:n*(from+1)], from*10+t.rank, number, fmt.Sprintf("part %d", from))
			}
		}
	}},
	{Name: "UnequalParts", Rule: "Gatherv, Scatterv and Alltoallv move parts of different lengths, also of none.", run: func(t *trial) {
		for number, typ := range []driver.Type{driver.Uint8, driver.Float64, driver.Complex128} {
			length := func(from, to int) uint64 { return uint64((from*7+to*3+number)%5) * 300 }
			root, size := number%t.size, int(typ.Size())
			moved := func(call driver.Call, sends, recvs []uint64) {
				src, dst := t.area(size*int(sum(sends))), t.area(size*int(sum(recvs)))
				for to, rest := 0, src.b; to < len(sends); to++ {
					n := size * int(sends[to])
					peer := to
					if call == driver.Gatherv {
						peer = root
					}
					fill(rest[:n], t.rank*10+peer, number)
					rest = rest[n:]
				}
				c := driver.Collective{Call: call, Type: typ, Root: root, Send: src.p, Recv: dst.p, Sends: sends, Recvs: recvs}
				switch call {
				case driver.Gatherv:
					c.Count = sends[0]
				case driver.Scatterv:
					c.Count = recvs[0]
				}
				t.collective(c)
				for from, rest := 0, dst.b; from < len(recvs); from++ {
					n := size * int(recvs[from])
					peer := from
					if call == driver.Scatterv {
						peer = root
					}
					t.holds(rest[:n], peer*10+t.rank, number, fmt.Sprintf("%v: part of %d bytes from rank %d", call, n, peer))
					rest = rest[n:]
				}
				t.drop()
			}
			var sends, recvs []uint64
			for i := range t.size {
				sends, recvs = append(sends, length(t.rank, i)), append(recvs, length(i, t.rank))
			}
			moved(driver.Alltoallv, sends, recvs)
			mine, theirs := []uint64{length(t.rank, root)}, []uint64{length(root, t.rank)}
			if t.rank == root {
				moved(driver.Gatherv, mine, recvs)
				moved(driver.Scatterv, sends, theirs)
			} else {
				moved(driver.Gatherv, mine, nil)
				moved(driver.Scatterv, nil, theirs)
			}
		}
	}},
	{Name: "Reductions", Rule: "Reduce and Allreduce combine the elements of all ranks, for every type and operation, also in place.", run: func(t *trial) {
		t.reductions(func(k kind, op driver.Op, n, root int) {
			for _, call := range []driver.Call{driver.Reduce, driver.Allreduce} {
				for _, inPlace := range []bool{false, true} {
					gets := call == driver.Allreduce || t.rank == root
					src, dst := t.area(n*k.size()), t.area(n*k.size())
					k.fill(src.b, t.rank, op)
					c := driver.Collective{Call: call, Send: src.p, Recv: dst.p, Count: uint64(n), Type: k.typ, Op: op, Root: root}
					got := dst.b
					if inPlace && gets {
						c.Recv, got = src.p, src.b
					}
					t.collective(c)
					if !gets {
						t.blank(dst.b, "memory of a rank that is not the root")
						continue
					}
					t.equal(k.differs(got, k.fold(n, 0, t.size, op)), "", "%v %v of %d %v, in place %v, root %d", call, op, n, k.typ, inPlace, root)
				}
			}
		})
	}},
	{Name: "IntegersWrapAround", Rule: "Sums and products of integers that do not fit keep their low bits, as in Go.", run: func(t *trial) {
		for _, k := range kinds {
			if k.typ > driver.Uint64 {
				continue
			}
			for _, op := range []driver.Op{driver.Sum, driver.Prod} {
				for _, n := range []int{1, 7, 500} {
					src, dst := t.area(n*k.size()), t.area(n*k.size())
					k.fillWith(src.b, k.largest())
					want, more := make([]byte, n*k.size()), make([]byte, k.size())
					k.fillWith(want, k.largest())
					k.fillWith(more, k.largest())
					for range t.size - 1 {
						for i := range n {
							k.combine(op, want[i*k.size():], more)
						}
					}
					t.collective(driver.Collective{Call: driver.Allreduce, Send: src.p, Recv: dst.p, Count: uint64(n), Type: k.typ, Op: op})
					t.equal(k.differs(dst.b, want), "", "%v of %d %v, the largest each", op, n, k.typ)
					t.drop()
				}
			}
		}
	}},
	{Name: "SeveralAtOnce", Rule: "Collective operations that every rank began in the same order may be under way at once, together with messages.", run: func(t *trial) {
		to, from := t.neighbours()
		var reqs []driver.Request
		var sums []*area
		for i := range 10 {
			a := t.area(8)
			a.b[0] = byte(i)
			sums = append(sums, a)
			reqs = append(reqs, t.icollective(driver.Collective{Call: driver.Allreduce, Type: driver.Uint8, Count: 8, Send: a.p, Recv: a.p}))
			src, dst := t.area(i*700), t.area(i*700)
			fill(src.b, t.rank, i)
			reqs = append(reqs, t.irecv(dst, from, i), t.isend(src, i*700, to, i), t.icollective(driver.Collective{Call: driver.Barrier}))
		}
		t.wait(reqs...)
		for i, a := range sums {
			t.equal(int(a.b[0]), i*t.size, "sum %d", i)
		}
	}},
}

func sum(counts []uint64) (n uint64) {
	for _, c := range counts {
		n += c
	}
	return n
}

// each calls fn with each length and each of a few roots.
func (t *trial) each(lengths []int, fn func(n, root, number int)) {
	number := 0
	for _, n := range lengths {
		for root := 0; root < t.size; root += max(1, t.size/3) {
			number++
			fn(n, root, number)
			t.drop()
		}
	}
}

// drop frees the areas of a step.
func (t *trial) drop() {
	for _, a := range t.areas {
		a.free()
	}
	t.areas = nil
}

// reductions calls fn with each type, each operation that takes it, and some lengths and roots.
func (t *trial) reductions(fn func(k kind, op driver.Op, n, root int)) {
	for i, k := range kinds {
		for _, op := range driver.Ops() {
			if !op.Takes(k.typ) {
				continue
			}
			lengths := []int{1, 0, 17}
			if k.typ == driver.Float64 {
				lengths = append(lengths, 1000)
			}
			for j, n := range lengths {
				fn(k, op, n, (i+j)%t.size)
				t.drop()
			}
		}
	}
}

// blank fails the check unless all bytes are zero.
func (t *trial) blank(b []byte, what string) {
	for i, v := range b {
		if v != 0 {
			t.fatalf("%s: byte %d of %d is %d, not 0", what, i, len(b), v)
		}
	}
}
