package conformance

import (
	"errors"
	"slices"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/pool"
)

var poolChecks = []Check{
	{Name: "ReusedOnTheStreamAtOnce", Rule: "Memory freed to a pool is given out on the same stream at once, and its next use runs after its last one.", Needs: hal.CapGate, run: poolReuses},
	{Name: "ElsewhereAfterTheWork", Rule: "While work uses a freed block, another stream gets other memory.", Needs: hal.CapGate, run: poolElsewhere},
	{Name: "ShortageMakesStreamsWait", Rule: "At its limit a pool gives out memory that another stream still uses, and the new stream waits for that work.", Needs: hal.CapGate, run: poolWaits},
	{Name: "RecordedUseIsKept", Rule: "A block whose use on another stream was recorded is not given out before that use has finished.", Needs: hal.CapGate, run: poolRecordedUse},
	{Name: "LiveBlocksDoNotOverlap", Rule: "No two live blocks of a pool share a byte, on one stream and on several.", run: poolBlocksApart},
	{Name: "ContentsIsolated", Rule: "Writing a block of a pool to its edges changes no other block.", run: poolIsolated},
	{Name: "TrimGivesBack", Rule: "A pool without live blocks gives all its memory back to the device.", run: poolTrims},
	{Name: "LimitHolds", Rule: "A pool takes no more from the device than its limit, and says so as out of memory.", run: poolLimit},
	{Name: "CloseWithLiveBlocks", Rule: "A pool with live blocks does not close, and its blocks keep working.", run: poolCloses},
}

// pool makes a pool that is closed at the end of the check.
func (t *trial) pool(o ...pool.Option) *pool.Pool {
	p, err := pool.New(t.dev, o...)
	t.must(err, "new pool")
	t.Cleanup(func() { t.must(p.Close(), "close pool") })
	return p
}

// block allocates a block. It is freed without a stream at the end of the check, unless that was done before.
func (t *trial) block(p *pool.Pool, s *hal.Stream, k hal.Kind, size int) (pool.Block, hal.Region) {
	b, err := p.Alloc(s, k, uint64(size))
	t.must(err, "allocate %d bytes of %v memory from a pool", size, k)
	t.Cleanup(func() {
		if b.Valid() {
			t.must(b.Free(nil), "free a block")
		}
	})
	r, err := b.Region()
	t.must(err, "region of a block")
	t.want(r.Len == uint64(size) && b.Size() == r.Len && b.Kind() == k && r.Mem.Kind() == k, "a region of %d bytes for %d", r.Len, size)
	t.want(b.Capacity() >= r.Len && r.Off+b.Capacity() <= r.Mem.Size(), "%d bytes at %d do not lie inside %d", b.Capacity(), r.Off, r.Mem.Size())
	if align := t.dev.Info().Alignment; t.dev.Caps().Has(hal.CapAddress) {
		t.want((uint64(r.Mem.Handle())+r.Off)%align == 0, "%v memory of a pool at %#x+%d is not aligned to %d", k, r.Mem.Handle(), r.Off, align)
	}
	return b, r
}

// touches reports whether two regions share a byte.
func touches(a, b hal.Region) bool {
	return a.Mem == b.Mem && a.Off < b.Off+b.Len && b.Off < a.Off+a.Len
}

func poolReuses(t *trial) {
	const n = 20_000
	s := t.stream(t.dev)
	for _, k := range kinds(t.dev) {
		p := t.pool(pool.WithoutStreamAlloc())
		b, r := t.block(p, s, k, n)
		outs := make([][]byte, 4)
		g := t.shut(s)
		for i := range outs {
			outs[i] = t.hostBytes(n)
			t.must(s.Fill(r, hal.Pattern8(uint8(i+1))), "fill")
			t.must(s.CopyOut(outs[i], r), "copy out")
			t.must(b.Free(s), "free")
			again, next := t.block(p, s, k, n)
			t.want(touches(r, next), "%v memory that was freed on a stream is not given out on it again", k)
			b, r = again, next
		}
		t.busy(s, "the stream")
		t.letGo(g)
		t.sync(s)
		for i, out := range outs {
			t.same(out, repeated(hal.Pattern8(uint8(i+1)), n), "use %d of %v memory", i, k)
		}
		t.must(b.Free(s), "free")
	}
}

func poolElsewhere(t *trial) {
	const n = 20_000
	s, o := t.stream(t.dev), t.stream(t.dev)
	for _, k := range kinds(t.dev) {
		p := t.pool(pool.WithoutStreamAlloc())
		b, r := t.block(p, s, k, n)
		first, second := t.hostBytes(n), t.hostBytes(n)
		g := t.shut(s)
		t.must(s.Fill(r, hal.Pattern8(1)), "fill")
		t.must(s.CopyOut(first, r), "copy out")
		t.must(b.Free(s), "free")
		var taken []pool.Block
		for range 4 {
			c, q := t.block(p, o, k, n)
			taken = append(taken, c)
			t.want(!touches(r, q), "%v memory that a stream still uses is given to another", k)
			t.must(o.Fill(q, hal.Pattern8(2)), "fill")
			t.must(o.CopyOut(second, q), "copy out")
		}
		t.sync(o)
		t.same(second, repeated(hal.Pattern8(2), n), "what the other stream read")
		t.busy(s, "the stream that uses the freed block")
		t.letGo(g)
		t.sync(s)
		t.same(first, repeated(hal.Pattern8(1), n), "what the stream read that freed the block")
		for _, c := range taken {
			t.must(c.Free(o), "free")
		}
	}
}

func poolWaits(t *trial) {
	const n = 64 << 10
	s, o := t.stream(t.dev), t.stream(t.dev)
	p := t.pool(pool.WithLimit(n), pool.WithLarge(n), pool.WithoutStreamAlloc())
	first, second := t.hostBytes(n), t.hostBytes(n)
	for i := range 3 {
		b, r := t.block(p, s, hal.KindDevice, n)
		g := t.shut(s)
		t.must(s.Fill(r, hal.Pattern8(uint8(2*i+1))), "fill")
		t.must(s.CopyOut(first, r), "copy out")
		t.must(b.Free(s), "free")
		c, q := t.block(p, o, hal.KindDevice, n)
		t.must(o.Fill(q, hal.Pattern8(uint8(2*i+2))), "fill")
		t.must(o.CopyOut(second, q), "copy out")
		t.busy(o, "the stream that got memory in use")
		t.letGo(g)
		t.sync(s, o)
		t.same(first, repeated(hal.Pattern8(uint8(2*i+1)), n), "round %d: the earlier owner", i)
		t.same(second, repeated(hal.Pattern8(uint8(2*i+2)), n), "round %d: the later owner", i)
		t.must(c.Free(o), "free")
		t.sync(o)
	}
}

func poolRecordedUse(t *trial) {
	const n = 20_000
	s, o := t.stream(t.dev), t.stream(t.dev)
	p := t.pool(pool.WithoutStreamAlloc())
	b, r := t.block(p, s, hal.KindDevice, n)
	t.must(s.Fill(r, hal.Pattern8(1)), "fill")
	t.must(o.WaitEvent(t.recorded(s)), "wait")
	g := t.shut(o)
	out := t.hostBytes(n)
	t.must(o.CopyOut(out, r), "copy out")
	t.must(b.RecordUse(o), "record the use")
	t.must(b.Free(s), "free")
	for range 4 {
		_, q := t.block(p, s, hal.KindDevice, n)
		t.want(!touches(r, q), "a block is given out although its recorded use has not finished")
		t.must(s.Fill(q, hal.Pattern8(2)), "fill")
	}
	t.sync(s)
	t.letGo(g)
	t.sync(o)
	t.same(out, repeated(hal.Pattern8(1), n), "what the other stream read")
}

func poolBlocksApart(t *trial) {
	type live struct {
		b pool.Block
		r hal.Region
		s *hal.Stream
		p hal.Pattern
	}
	streams := []*hal.Stream{t.stream(t.dev), t.stream(t.dev), t.stream(t.dev)}
	p := t.pool(pool.WithChunk(1 << 20))
	ks := kinds(t.dev)
	var blocks []live
	check := func(x live, what string, args ...any) {
		out := make([]byte, x.r.Len)
		t.must(x.s.CopyOut(out, x.r), "copy out")
		t.sync(x.s)
		t.same(out, repeated(x.p, len(out)), what, args...)
	}
	for i := range t.Size(600, 200) {
		if len(blocks) > 40 || len(blocks) > 5 && t.rng.IntN(2) == 0 {
			at := t.rng.IntN(len(blocks))
			x := blocks[at]
			check(x, "step %d: %d bytes", i, x.r.Len)
			t.must(x.b.Free(x.s), "free")
			blocks = slices.Delete(blocks, at, at+1)
			continue
		}
		s := streams[t.rng.IntN(len(streams))]
		k := ks[t.rng.IntN(len(ks))]
		b, err := p.Alloc(s, k, uint64(1+t.rng.IntN(1<<(4+t.rng.IntN(14)))))
		t.must(err, "allocate")
		r, err := b.Region()
		t.must(err, "region")
		for _, x := range blocks {
			t.want(!touches(x.r, r), "step %d: %d bytes at %d and %d bytes at %d of one memory are live", i, r.Len, r.Off, x.r.Len, x.r.Off)
		}
		x := live{b, r, s, hal.Pattern8(uint8(i))}
		t.must(s.Fill(r, x.p), "fill")
		blocks = append(blocks, x)
	}
	for _, x := range blocks {
		check(x, "at the end: %d bytes", x.r.Len)
		t.must(x.b.Free(x.s), "free")
	}
}

func poolIsolated(t *trial) {
	s := t.stream(t.dev)
	for _, k := range kinds(t.dev) {
		p := t.pool(pool.WithChunk(1 << 20))
		for _, size := range []int{1, 64, 100, 4096, 10_001} {
			const n = 16
			var rs [n]hal.Region
			for i := range rs {
				b, r := t.block(p, s, k, size)
				r.Len = b.Capacity()
				rs[i] = r
				t.must(s.Fill(r, hal.Pattern8(0)), "clear")
			}
			for i := 1; i < n; i += 2 {
				t.must(s.Fill(rs[i], hal.Pattern8(0xff)), "fill")
			}
			for i, r := range rs {
				out := make([]byte, r.Len)
				t.must(s.CopyOut(out, r), "copy out")
				t.sync(s)
				t.same(out, repeated(hal.Pattern8(uint8(-(i%2))), len(out)), "block %d of %d bytes of %v memory", i, size, k)
			}
		}
	}
}

func poolTrims(t *trial) {
	s, o := t.stream(t.dev), t.stream(t.dev)
	p := t.pool()
	for round := range 3 {
		var blocks []pool.Block
		for i := range 30 {
			for _, k := range kinds(t.dev) {
				b, r := t.block(p, []*hal.Stream{s, o}[i%2], k, 1+i*i*400)
				t.must([]*hal.Stream{s, o}[i%2].Fill(r, hal.Pattern8(uint8(i))), "fill")
				blocks = append(blocks, b)
			}
		}
		t.want(t.dev.Usage().Held > 0, "live blocks, and no memory is held")
		for i, b := range blocks {
			t.must(b.Free([]*hal.Stream{s, o}[i/len(kinds(t.dev))%2]), "free")
		}
		t.sync(s, o)
		t.eventually(func() bool {
			p.Trim(0)
			u := t.dev.Usage()
			return p.Stats().Reserved == 0 && u.Held == 0 && u.Pending == 0
		}, "round %d: all memory is given back", round)
	}
}

func poolLimit(t *trial) {
	const limit = 4 << 20
	s := t.stream(t.dev)
	p := t.pool(pool.WithLimit(limit), pool.WithChunk(1<<20))
	var blocks []pool.Block
	var err error
	for len(blocks) < 1000 {
		var b pool.Block
		if b, err = p.Alloc(s, hal.KindDevice, 100_000); err != nil {
			break
		}
		blocks = append(blocks, b)
		t.want(t.dev.Usage().Held <= limit, "%d bytes are held with a limit of %d", t.dev.Usage().Held, limit)
	}
	t.wantKind(err, hal.ErrOutOfMemory, "a block beyond the limit")
	var e *pool.ExhaustedError
	t.want(errors.As(err, &e) && e.Limit == limit, "the error of a pool at its limit does not say so: %v", err)
	t.want(len(blocks) >= limit/100_000/2, "only %d blocks within the limit", len(blocks))
	t.must(blocks[0].Free(s), "free")
	again, err := p.Alloc(s, hal.KindDevice, 100_000)
	t.must(err, "allocate after a block was freed")
	blocks[0] = again
	for _, b := range blocks {
		t.must(b.Free(s), "free")
	}
}

func poolCloses(t *trial) {
	const n = 5000
	s := t.stream(t.dev)
	p := t.pool()
	b, r := t.block(p, s, hal.KindDevice, n)
	for range 2 {
		t.wantKind(p.Close(), hal.ErrBusy, "close with a live block")
		data, out := t.random(n), make([]byte, n)
		t.must(s.CopyIn(r, data), "copy in")
		t.must(s.CopyOut(out, r), "copy out")
		t.sync(s)
		t.same(out, data, "a block of a pool that did not close")
	}
	t.must(b.Free(s), "free")
	t.wantKind(b.Free(s), hal.ErrClosed, "free twice")
	t.must(p.Close(), "close")
	t.must(p.Close(), "close again")
	_, err := p.Alloc(s, hal.KindDevice, n)
	t.wantKind(err, hal.ErrClosed, "allocate from a closed pool")
	t.eventually(func() bool { u := t.dev.Usage(); return u.Held == 0 && u.Pending == 0 }, "the memory is given back")
}
