package conformance

import (
	"sync"
	"sync/atomic"

	"github.com/go-halyard/halyard/hal"
)

var capabilityChecks = []Check{
	{Name: "BitEqualsInterfaceEqualsBehaviour", Rule: "What a capability bit promises works; without the bit it is refused as unsupported.", run: bitEqualsBehaviour},
	{Name: "UnsupportedIsErrUnsupported", Rule: "A call that the device does not support fails as unsupported and changes nothing.", run: unsupported},
	{Name: "AddressMeansAddress", Rule: "Handles of a device with addresses are addresses: distinct, not null, and the same at each call.", Needs: hal.CapAddress, run: addressMeansAddress},
	{Name: "UnifiedSharesHostMemory", Rule: "A unified device works on host memory in place, so that host and device see the same bytes.", run: unifiedShares},
	{Name: "CallbackFollowsWork", Rule: "A host callback runs after the work before it, once, and later work does not wait for it.", Needs: hal.CapHostCallback, run: callbackFollowsWork},
	{Name: "ManyPendingCallbacks", Rule: "A stream can have 70 callbacks pending, and each runs once.", Needs: hal.CapHostCallback, run: manyCallbacks},
	{Name: "CallbackMayBlock", Rule: "A host callback may block and may use the device.", Needs: hal.CapHostCallback, run: callbackMayBlock},
	{Name: "StreamAllocInOrder", Rule: "Memory allocated in stream order can be used on its stream at once and closed like any other.", Needs: hal.CapStreamAlloc, run: streamAllocInOrder},
	{Name: "StreamAllocChecksArguments", Rule: "Stream-ordered allocation checks its arguments as Alloc does.", Needs: hal.CapStreamAlloc, run: streamAllocChecks},
	{Name: "PrefetchKeepsContents", Rule: "Prefetching shared memory changes no byte.", Needs: hal.CapPrefetch | hal.CapShared, run: prefetchKeeps},
	{Name: "ReachesMatchesCopy", Rule: "A device can access its own memory, and another device's only with the capability.", run: reachesMatchesCopy},
}

// features returns the capabilities that a program can use directly, each with a function that uses it and returns nil if that worked.
func (t *trial) features() []struct {
	cap  hal.Caps
	what string
	use  func() error
} {
	s := t.stream(t.dev)
	small := t.memory(t.dev, hal.KindDevice, 64)
	kind := hal.KindDevice
	if t.dev.Caps().Has(hal.CapShared) {
		kind = hal.KindShared
	}
	movable := t.memory(t.dev, kind, 64)
	registered := make([]byte, 4096)
	return []struct {
		cap  hal.Caps
		what string
		use  func() error
	}{
		{hal.CapMemInfo, "memory information", func() error { _, _, err := t.dev.MemInfo(); return err }},
		{hal.CapTiming, "an event with timing", func() error {
			e, err := s.Record(timing)
			if err == nil {
				err = e.Close()
			}
			return err
		}},
		{hal.CapGate, "a gate", func() error {
			g, err := s.Gate()
			if err == nil {
				err = g.Signal()
			}
			return err
		}},
		{hal.CapHostCallback, "a callback", func() error {
			done := make(chan struct{})
			err := s.OnDone(sync.OnceFunc(func() { close(done) }))
			if err == nil {
				arrives(t, done, "the callback")
			}
			return err
		}},
		{hal.CapRegister, "registered memory", func() error {
			m, err := t.dev.Register(registered)
			if err == nil {
				err = m.Close()
			}
			return err
		}},
		{hal.CapShared, "shared memory", func() error {
			m, err := t.dev.Alloc(hal.KindShared, 64, 0)
			if err == nil {
				err = m.Close()
			}
			return err
		}},
		{hal.CapStreamAlloc, "stream-ordered allocation", func() error {
			m, err := s.AllocAsync(64, 0)
			if err == nil {
				err = m.Close()
			}
			return err
		}},
		{hal.CapPrefetch, "prefetching", func() error { return s.Prefetch(movable.All(), false) }},
		{hal.CapAddress, "an address", func() error {
			if small.Handle() == 0 {
				return hal.ErrUnsupported
			}
			return nil
		}},
	}
}

func bitEqualsBehaviour(t *trial) {
	for _, f := range t.features() {
		if f.cap == hal.CapAddress && !t.dev.Caps().Has(f.cap) {
			continue // without CapAddress the handle, for example a cl_mem, is not null either
		}
		err := f.use()
		if f.cap == hal.CapPrefetch && !t.dev.Caps().Has(hal.CapShared) {
			t.wantKind(err, hal.ErrUnsupported, "%s on a device without shared memory", f.what)
			continue
		}
		if t.dev.Caps().Has(f.cap) {
			t.must(err, "the device has %v, but %s", f.cap, f.what)
		} else {
			t.wantKind(err, hal.ErrUnsupported, "the device lacks %v: %s", f.cap, f.what)
		}
	}
}

func unsupported(t *trial) {
	missing := 0
	keep := t.filled(t.dev, t.random(64))
	for _, f := range t.features() {
		if t.dev.Caps().Has(f.cap) || f.cap == hal.CapAddress {
			continue
		}
		missing++
		t.refuses(hal.ErrUnsupported, f.what, f.use, keep)
	}
	s := t.stream(t.dev)
	t.refuses(hal.ErrUnsupported, "prefetching device memory", func() error { return s.Prefetch(keep.All(), true) }, keep)
	t.Logf("%d capabilities missing", missing)
}

func addressMeansAddress(t *trial) {
	seen := map[uintptr]bool{}
	for range 32 {
		for _, k := range kinds(t.dev) {
			m := t.memory(t.dev, k, 100)
			h := m.Handle()
			t.want(h != 0 && h == m.Handle(), "handle %#x, then %#x", h, m.Handle())
			t.want(!seen[h], "two live blocks at %#x", h)
			seen[h] = true
		}
	}
}

func unifiedShares(t *trial) {
	if !t.dev.Info().SharesHostMemory {
		t.Skipf("the device is not unified")
	}
	s := t.stream(t.dev)
	for _, k := range kinds(t.dev) {
		m := t.memory(t.dev, k, 4096)
		if k == hal.KindDevice && m.HostPointer() == nil {
			continue // memory that only the device can reach
		}
		t.must(s.Fill(m.All(), hal.Pattern8(0x2d)), "fill")
		t.sync(s)
		t.onHost(m, func(b []byte) {
			t.same(b, repeated(hal.Pattern8(0x2d), 4096), "%v memory as the host sees it", k)
			copy(b, repeated(hal.Pattern8(0x3e), 4096))
		})
		t.same(t.all(m), repeated(hal.Pattern8(0x3e), 4096), "%v memory as the device sees it", k)
	}
	if t.dev.Caps().Has(hal.CapRegister) {
		b := t.large(64 << 10)
		m := t.register(b)
		t.same(t.all(m), b, "the host's memory as the device sees it")
	}
}

func callbackFollowsWork(t *trial) {
	s := t.stream(t.dev)
	m := t.filled(t.dev, make([]byte, 64))
	out := t.hostBytes(64)
	for i := range 5 {
		p := hal.Pattern8(uint8(i + 1))
		var g *hal.Gate
		if t.dev.Caps().Has(hal.CapGate) {
			g = t.shut(s)
		}
		t.must(s.Fill(m.All(), p), "fill")
		t.must(s.CopyOut(out, m.All()), "copy out")
		var calls atomic.Int32
		seen := make(chan []byte, 2)
		leave := make(chan struct{})
		t.must(s.OnDone(func() {
			calls.Add(1)
			select {
			case seen <- append([]byte(nil), out...):
			default: // called more than twice
			}
			<-leave
		}), "call")
		if g != nil {
			t.busy(s, "the stream before the callback")
			t.want(calls.Load() == 0, "round %d: the callback ran before the work ahead of it", i)
			t.letGo(g)
		}
		t.same(arrives(t, seen, "the callback"), repeated(p, 64), "round %d: what the callback saw", i)
		t.sync(s) // although the callback has not returned
		close(leave)
		t.remains(func() bool { return calls.Load() == 1 }, "round %d: called once", i)
	}
}

func manyCallbacks(t *trial) {
	s := t.stream(t.dev)
	m := t.memory(t.dev, hal.KindDevice, 64)
	for _, gated := range []bool{false, true} {
		var g *hal.Gate
		if gated && !t.dev.Caps().Has(hal.CapGate) {
			continue
		}
		if gated {
			g = t.shut(s)
		}
		var calls [pending]atomic.Int32
		var all sync.WaitGroup
		all.Add(pending)
		for i := range calls {
			t.must(s.Fill(m.All(), hal.Pattern8(uint8(i))), "fill")
			t.must(s.OnDone(func() {
				if calls[i].Add(1) == 1 {
					all.Done()
				}
			}), "callback %d", i)
		}
		if gated {
			t.busy(s, "a stream with %d callbacks", pending)
			t.want(calls[0].Load() == 0, "a callback ran before the work ahead of it")
			t.letGo(g)
		}
		done := make(chan struct{})
		go func() { all.Wait(); close(done) }()
		arrives(t, done, "all callbacks run")
		t.sync(s)
		for i := range calls {
			t.want(calls[i].Load() == 1, "callback %d ran %d times", i, calls[i].Load())
		}
	}
}

func callbackMayBlock(t *trial) {
	s, o := t.stream(t.dev), t.stream(t.dev)
	m := t.memory(t.dev, hal.KindDevice, 64)
	out := make([]byte, 64)
	done := make(chan error, 1)
	t.must(s.OnDone(func() {
		err := o.Fill(m.All(), hal.Pattern8(0x4b))
		if err == nil {
			err = o.CopyOut(out, m.All())
		}
		if err == nil {
			err = o.Sync(t.ctx)
		}
		select {
		case done <- err:
		default: // called twice
		}
	}), "call")
	t.must(arrives(t, done, "the callback"), "work in the callback")
	t.same(out, repeated(hal.Pattern8(0x4b), 64), "work in the callback")
}

func streamAllocInOrder(t *trial) {
	s := t.stream(t.dev)
	for i := range t.Size(100, 30) {
		n := 1 + t.rng.IntN(100_000)
		b, out := t.large(n), make([]byte, n)
		m, err := s.AllocAsync(uint64(n), 0)
		t.must(err, "allocate")
		t.Cleanup(func() { t.must(m.Close(), "close") })
		t.want(m.Size() == uint64(n) && m.Kind() == hal.KindDevice, "%d bytes of %v memory", m.Size(), m.Kind())
		t.aligned(m, t.dev.Info().Alignment)
		t.must(s.CopyIn(m.All(), b), "copy in")
		t.must(s.CopyOut(out, m.All()), "copy out")
		t.must(m.Close(), "close")
		if i%5 == 0 {
			t.sync(s)
			t.same(out, b, "round %d", i)
		}
	}
	t.sync(s)
	t.eventually(func() bool { return t.dev.Usage().Held == 0 }, "everything is given back")
	if i := t.dev.Info(); !i.Simulated || i.SharesHostMemory || !t.dev.Caps().Has(hal.CapMemInfo) {
		return // other programs may change the free memory, too
	}
	n := min(4<<20, t.dev.Info().MaxAlloc/8)
	t.must(t.dev.Reclaim(t.ctx), "reclaim")
	before, _, err := t.dev.MemInfo()
	t.must(err, "memory information")
	m, err := s.AllocAsync(n, 0)
	t.must(err, "allocate")
	t.must(s.Fill(m.All(), hal.Zero), "fill")
	t.must(m.Close(), "close")
	t.sync(s)
	t.must(t.dev.Reclaim(t.ctx), "reclaim")
	after, _, err := t.dev.MemInfo()
	t.must(err, "memory information")
	t.want(after+n/2 >= before, "%d bytes free before %d were allocated and reclaimed, %d after", before, n, after)
}

func streamAllocChecks(t *trial) {
	s := t.stream(t.dev)
	alloc := func(size, align uint64) func() error {
		return func() error { _, err := s.AllocAsync(size, align); return err }
	}
	m, err := s.AllocAsync(0, 0)
	t.must(err, "no bytes")
	t.noBytes(s, m)
	t.refuses(hal.ErrInvalidArgument, "alignment 3", alloc(64, 3))
	t.refuses(hal.ErrMisaligned, "an alignment that is too large", alloc(64, t.dev.Info().MaxAlign<<1))
	t.refuses(hal.ErrOutOfMemory, "too many bytes", alloc(1<<62, 0))
}

func prefetchKeeps(t *trial) {
	n := t.Size(1<<20, 100_000)
	b := t.large(n)
	m := t.memory(t.dev, hal.KindShared, n)
	t.put(m, 0, b)
	s := t.stream(t.dev)
	for _, toHost := range []bool{true, false, false, true} {
		t.must(s.Prefetch(m.All(), toHost), "prefetch")
		t.must(s.Prefetch(region(m, 7, n/2), toHost), "prefetch a part")
		t.sync(s)
		t.same(t.all(m), b, "after prefetching")
	}
	t.refuses(hal.ErrOutOfRange, "prefetch past the end", func() error { return s.Prefetch(region(m, 1, n), true) }, m)
	t.must(s.Prefetch(region(m, n, 0), true), "prefetch nothing")
}

func reachesMatchesCopy(t *trial) {
	t.want(t.dev.CanAccessPeer(t.dev), "CanAccessPeer of the device itself is false")
	t.want(!t.dev.CanAccessPeer(nil), "CanAccessPeer(nil) is true")
	if t.p.Peer == nil {
		return
	}
	p := t.openWith("the peer", t.p.Peer)
	t.want(!t.dev.CanAccessPeer(p) || t.dev.Caps().Has(hal.CapPeerCopy), "CanAccessPeer of the peer is true, and the device lacks CapPeerCopy")
	s := t.stream(t.dev)
	near, far := t.filled(t.dev, t.random(64)), t.filled(p, t.random(64))
	err := s.Copy(near.All(), far.All())
	if t.dev.CanAccessPeer(p) {
		t.must(err, "copy from a device that can be accessed")
		t.sync(s)
		t.same(t.all(near), t.all(far), "copied from a device that can be accessed")
	} else {
		t.wantKind(err, hal.ErrWrongDevice, "copy from a device that cannot be accessed")
	}
}
