package buffer

import (
	"context"
	"runtime/trace"
	"time"

	"github.com/go-halyard/halyard/buffer/internal/order"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/layer"
	"github.com/go-halyard/halyard/internal/protocol"
	"github.com/go-halyard/halyard/internal/span"
)

// This file is the path of every access that cannot begin at once (fast.go), in the order of the calls: begin, with its steps admit,
// bring and commit; below bring the steps place, decide, move (with orderCopies and copy), orderWork and makeReady, and the waits between
// them; and release. The storage is locked throughout, except during waits.

// request describes an access that a call wants to begin.
type request struct {
	op     string
	own    *owner
	stream *hal.Stream // nil on the host
	part
	parts   []part  // as queue.Entry.Parts; not nil but of length 0 for several ranges that are all empty
	try     bool    // fail at once instead of waiting
	reserve bool    // leave storage.commit to the caller
	awaited bool    // begin waits until the device has the bytes, because the caller uses them without the stream
	unread  bool    // begin also waits for work that reads the bytes; only for an awaited access or one of the host
	under   *access // the access that this one is a part of, or nil
}

func (q *request) writes() bool {
	if len(q.parts) == 0 {
		return q.part.Writes()
	}
	for _, p := range q.parts {
		if p.Writes() {
			return true
		}
	}
	return false
}

func validMode(op string, mode protocol.Action) error {
	if !(part{Mode: mode}).Valid() {
		return hal.Errorf(op, hal.ErrInvalidArgument, "%v is not an access mode; use Read, ReadWrite or Overwrite", coherence.Mode(mode))
	}
	return nil
}

// begin begins an access. On the host, and for an awaited access, the bytes are there when it returns; otherwise the copies that the
// access needs are enqueued.
func (s *storage) begin(ctx context.Context, q *request) (x *access, err error) {
	if err := validMode(q.op, q.Mode); err != nil {
		return nil, err
	}
	if q.stream != nil {
		if err := layer.Err(q.stream); err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	defer s.unlock()
	if x, err = s.admit(ctx, q); err != nil {
		return nil, err
	}
	if err := s.prepare(ctx, x, q); err != nil {
		return nil, err
	}
	return x, nil
}

// prepare is begin for an access that was admitted. After an error the access has ended.
func (s *storage) prepare(ctx context.Context, x *access, q *request) error {
	ready := false
	defer x.endUnless(&ready)
	if err := s.bring(ctx, x, q.try); err != nil {
		return err
	}
	if !q.reserve && s.thrown == nil { // an access that is not returned writes nothing
		s.commit(x)
	}
	s.remember(x)
	x.noteReady()
	s.tightenGuard()
	ready = true
	return nil
}

// acquireAwaited begins an access at a device that has the bytes, for calls of the host, and returns when they are ready. It returns nil if
// there is no such device. The stream of the access is one of the device's own, which gets work only if bytes have to be copied again.
func (s *storage) acquireAwaited(ctx context.Context, op string, own *owner, p part, fits func(*hal.Device) bool) (x *access, err error) {
	if err := validMode(op, p.Mode); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.unlock()
	q := request{op: op, own: own, part: p, awaited: true}
	for x == nil {
		r := s.replicaWith(p, fits)
		if r == nil {
			return nil, nil
		}
		if q.stream, err = r.dev.CopyStream(false); err == nil {
			err = layer.Err(q.stream)
		}
		if err != nil {
			return nil, err
		}
		if x, err = s.admit(ctx, &q); err != nil {
			return nil, err
		}
		if s.replicaWith(p, fits) != r { // another access has changed that while this one waited for it
			s.end(x)
			x = nil
		}
	}
	if err := s.prepare(ctx, x, &q); err != nil {
		return nil, err
	}
	return x, nil
}

// admit opens an access when no earlier one excludes it. It waits until then, or fails at once if q.try is set. After an
// error there is no access.
func (s *storage) admit(ctx context.Context, q *request) (*access, error) {
	writes := q.writes()
	if err := s.usable(q.op, writes); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, interrupted(q.op, ctx, nil)
	}
	x := s.newAccess()
	x.op, x.own, x.stream, x.Part, x.Parts, x.writes, x.place = q.op, q.own, q.stream, q.part, q.parts, writes, protocol.NoPlace
	x.awaited, x.unread, x.replica, x.mem = q.awaited, q.unread, nil, nil
	if q.stream == nil {
		x.replica, x.place = &s.host.replica, protocol.Host
	}
	x.counted, x.since = false, 0
	x.recordSite()
	switch {
	case s.queue.Empty():
		s.queue.Open(&x.Entry)
		return x, nil
	case q.under != nil:
		x.ArriveWith(&q.under.Entry)
		s.queue.Open(&x.Entry)
		return x, nil
	case q.try:
		if b := s.excluding(x); b != nil {
			err := x.conflictWith(b)
			s.recycle(x)
			return nil, err
		}
		s.queue.Open(&x.Entry)
		return x, nil
	}
	if b := s.queue.Join(&x.Entry); b != nil {
		if err := s.pause(ctx, x, b.Of); err != nil {
			var holder *ConflictError
			if b := accessOf(s.queue.Before(&x.Entry)); b != nil {
				holder = x.conflictWith(b)
			}
			s.recycle(x)
			return nil, interrupted(q.op, ctx, holder)
		}
		if err := s.usable(q.op, writes); err != nil {
			s.recycle(x)
			return nil, err
		}
	}
	return x, nil
}

// pause waits until x is opened, or, if it has not joined the queue, until other has ended. The storage is unlocked meanwhile.
func (s *storage) pause(ctx context.Context, x *access, other *access) error {
	defer trace.StartRegion(ctx, "halyard: wait").End()
	begin := now()
	err := s.queue.Wait(ctx, &x.Entry, &other.Entry, s.unlocked)
	s.waited(x.cause(), "access", nil, x.Lo, x.Hi, begin)
	return err
}

// present reports whether the bytes have to be there when begin returns: on the host, and for an awaited access.
func (x *access) present() bool { return x.stream == nil || x.awaited }

// bring makes the access's replica current: for a lease in stream order, otherwise before it returns. If it has to wait, the storage is
// unlocked, so anything may change, and the steps begin again. The access is open, so none that conflicts with it begins meanwhile.
func (s *storage) bring(ctx context.Context, x *access, try bool) error {
	waitAnyway := x.awaited && x.unread // SyncTo reports a wait even if there is nothing to wait for: its end is when the bytes were there
	for {
		if err := s.place(ctx, x, try); err != nil {
			return err
		}
		plan, err := s.decide(x)
		if err != nil {
			return err
		}
		zeros := false
		if x.stream == nil {
			plan, zeros = withoutZeros(plan) // the host clears them itself, in makeReady
		}
		left, again, err := s.move(x, plan)
		switch {
		case err != nil || again || len(left) > 0:
		case x.present():
			left = s.pending(x, zeros)
		default:
			left, err = s.orderWork(x)
		}
		switch {
		case err != nil:
			return err
		case len(left) > 0 || waitAnyway:
			if err := s.awaitFor(ctx, x, left, try); err != nil {
				return err
			}
			waitAnyway = false
		case !again:
			return s.makeReady(x, zeros)
		}
	}
}

// place gives an access its replica, with memory, which is not evicted until the access ends. If the device has no room, other replicas
// are evicted. If try is set, place does not wait for that.
func (s *storage) place(ctx context.Context, x *access, try bool) error {
	if x.stream == nil {
		return s.hostReady(x.cause())
	}
	if x.replica != nil && (x.place == protocol.Host || x.replica.Mem != nil) {
		return nil
	}
	for {
		var r *replica
		var mem *hal.Memory
		err := s.withRoom(ctx, x.op, try, func() (err error) {
			if err = s.usable(x.op, x.writes); err == nil {
				r, mem, err = s.replicaFor(x.stream, x.cause())
			}
			return err
		})
		if u, ok := err.(*unready); ok {
			if err = s.awaitFor(ctx, x, u.works, try); err == nil {
				continue
			}
		}
		if err != nil {
			return err
		}
		x.replica, x.place, x.mem = r, r.place, mem
		r.AddLease()
		return nil
	}
}

// decide plans the copies to the access's replica. First it looks for work that has failed, so that no copy is made of bytes that are
// known to be bad. It returns an error if the access would read bytes that are lost, or if the access is the first to find a failure
// whose bytes have to be copied again.
func (s *storage) decide(x *access) (plan []protocol.Transfer, err error) {
	plan = s.scratch.plan[:0]
	x.Each(func(p part) {
		if err == nil && p.Reads() {
			plan, err = s.decidePart(x, p, plan)
		}
	})
	s.scratch.plan = plan[:0]
	x.counted = true
	return plan, err
}

func (s *storage) decidePart(x *access, p part, plan []protocol.Transfer) ([]protocol.Transfer, error) {
	r := x.replica
	if s.watcher != nil {
		if err := s.watcher.Reads(p.Lo, p.Hi); err != nil {
			return plan, err
		}
	}
	failed := r.learn(x, p.Lo, p.Hi, true)
	valid := s.m.ValidIn(p.Lo, p.Hi, r.place)
	if !valid { // also if something has failed: one error reports all failures in the range
		if other := s.learn(x, p.Lo, p.Hi); failed == nil {
			failed = other
		}
	}
	if err := s.failedError(x.op, p.Lo, p.Hi, failed); err != nil {
		return plan, err
	}
	if !valid {
		return s.m.Plan(p.Mode, r.place, p.Lo, p.Hi, s.cost, plan)
	}
	if !x.counted {
		s.stats.BytesAvoided += p.Hi - p.Lo
		if observed() {
			s.noteAvoided(x.cause(), x.device(), p.Lo, p.Hi)
		}
	}
	return plan, nil
}

// withoutZeros returns the copies of a plan, and whether the plan also has ranges to zero.
func withoutZeros(plan []protocol.Transfer) (copies []protocol.Transfer, zeros bool) {
	copies = plan[:0]
	for _, t := range plan {
		if t.From == protocol.NoPlace {
			zeros = true
		} else {
			copies = append(copies, t)
		}
	}
	return copies, zeros
}

// move enqueues the copies of a plan after the work that they depend on. If the host has to wait for some of that work first, move
// returns it, with a reference to each, and enqueues nothing. again says that the plan was carried out in part.
func (s *storage) move(x *access, plan []protocol.Transfer) (left []*order.Work, again bool, err error) {
	plan, direct, err := s.detour(plan, x.stream)
	if err == nil && !direct {
		err = s.hostReady(x.cause())
	}
	if err != nil || len(plan) == 0 {
		return nil, false, err
	}
	if left, err = s.orderCopies(plan, x.stream); err == nil && len(left) == 0 {
		err = s.copy(plan, x.stream, x.mem, x.cause())
	}
	return left, !direct, err
}

// route is the streams of a copy: into writes the destination, from reads the source. They are the same stream, except for a
// copy between devices that cannot access each other's memory.
type route struct {
	into, from *hal.Stream
	ordered    bool // the source is read in stream order
}

// route returns the streams of a copy. stream is that of the access, or nil. A copy to a device runs on it if it is a stream of that
// device; a copy to the host runs on a stream of its source.
func (s *storage) route(m protocol.Move, stream *hal.Stream) (r route, err error) {
	r.ordered = true
	dst := s.replica(m.To)
	var src *replica
	if m.From != protocol.NoPlace {
		src = s.replica(m.From)
	}
	switch {
	case dst.dev == nil && src == nil:
		r.into = stream // of a device that shares the host's replica
	case dst.dev == nil:
		r.into, err = src.dev.CopyStream(true)
	case stream != nil && stream.Device().Same(dst.dev):
		r.into = stream
	default:
		r.into, err = dst.dev.CopyStream(false)
	}
	if err != nil {
		return r, err
	}
	r.from = r.into
	switch {
	case src == nil || dst.dev == nil:
	case src.dev == nil:
		r.ordered = s.host.Lock(r.into)
	case !dst.dev.CanAccessPeer(src.dev):
		r.from, err = src.dev.CopyStream(true)
	}
	return r, err
}

// detour changes copies of a plan that would make a call of the driver block: they copy to the host first. These are copies between
// devices that cannot access each other's memory, if the stream of one cannot wait for the stream of the other. all is false if a copy
// was changed. Then the caller waits for the bytes at the host, with the buffer unlocked, and plans again.
func (s *storage) detour(plan []protocol.Transfer, stream *hal.Stream) (now []protocol.Transfer, all bool, err error) {
	all = true
	for i, t := range plan {
		if t.From == protocol.NoPlace || t.From == protocol.Host || t.To == protocol.Host {
			continue
		}
		r, err := s.route(t.Move, stream)
		if err != nil {
			return nil, false, err
		}
		if r.from != r.into && (blocks(r.into, r.from) || blocks(r.from, r.into)) {
			plan[i].To, all = protocol.Host, false
		}
	}
	return plan, all, nil
}

// blocks reports whether the call that makes stream wait for other would itself block.
func blocks(stream, other *hal.Stream) bool {
	if stream.Device().Caps().Has(hal.CapGate) {
		return false
	}
	e, err := layer.RecordShared(other)
	if err != nil {
		return true
	}
	defer e.Close()
	return !layer.CanDefer(stream, e)
}

// wait is work that a stream has to wait for, or the host if stream is nil.
type wait struct {
	work   *order.Work
	stream *hal.Stream
}

// orderCopies makes the streams of copies wait for the work that they depend on. stream is the access's own, or nil.
//
// A stream cannot be made to wait if its device cannot delay it, or reads the host's memory during the call that enqueues a copy. If
// there is such a stream, no stream is made to wait, and left is the work for which such streams would have to wait, with a reference
// to each. The caller then waits for that work with the buffer unlocked, and repeats the steps of the access.
func (s *storage) orderCopies(plan []protocol.Transfer, stream *hal.Stream) (left []*order.Work, err error) {
	waits := s.scratch.waits[:0]
	for _, t := range plan {
		r, err := s.route(t.Move, stream)
		if err != nil {
			return nil, err
		}
		waits = s.dependencies(waits, s.replica(t.To), r.into, t.Lo, t.Hi, true)
		if t.From == protocol.NoPlace {
			continue
		}
		from := r.from
		if !r.ordered {
			from = nil // the driver may read the host's memory during the call
		}
		waits = s.dependencies(waits, s.replica(t.From), from, t.Lo, t.Hi, false)
	}
	return s.makeWait(waits)
}

// orderWork does the same for the access's own stream, when its copies have been enqueued.
func (s *storage) orderWork(x *access) (left []*order.Work, err error) {
	waits := s.scratch.waits[:0]
	x.Each(func(p part) { waits = s.dependencies(waits, x.replica, x.stream, p.Lo, p.Hi, p.Writes()) })
	return s.makeWait(waits)
}

// dependencies appends the work that an access of [lo, hi) at a replica has to wait for.
func (s *storage) dependencies(waits []wait, r *replica, stream *hal.Stream, lo, hi uint64, write bool) []wait {
	if r.order.Idle() {
		return waits
	}
	list := r.order.Waits(lo, hi, write, r.order.Round(s.scratch.works[:0]))
	for _, w := range list {
		if w.Stream != stream {
			waits = append(waits, wait{w, stream})
		}
	}
	clear(list)
	s.scratch.works = list[:0]
	return waits
}

// makeWait makes streams wait. If the host has to wait for some of the work instead, makeWait only returns that work, with a reference to
// each.
func (s *storage) makeWait(waits []wait) (left []*order.Work, err error) {
	for _, w := range waits {
		if w.stream != nil && w.work.Deferred(w.stream) {
			continue
		}
		if done, _ := w.work.End(); !done {
			left = append(left, w.work.Retain())
		}
	}
	if len(left) == 0 {
		for _, w := range waits {
			if w.stream != nil && err == nil {
				err = w.work.Before(w.stream)
			}
		}
	}
	clear(waits)
	s.scratch.waits = waits[:0]
	return left, err
}

// copy enqueues the copies of a plan, and applies each to the state. Each has an event of its own,
// because an event of OpenCL reports the failure of one command only.
func (s *storage) copy(plan []protocol.Transfer, stream *hal.Stream, mem *hal.Memory, c cause) error {
	var r route
	var err error
	for i, t := range plan {
		if i == 0 || t.Move != plan[i-1].Move {
			if r, err = s.route(t.Move, stream); err != nil {
				return err
			}
		}
		begin := now()
		var reached *arrival
		if !begin.IsZero() {
			reached = arrive(r.into)
		}
		if trace.IsEnabled() {
			err = s.enqueueTraced(t, r, mem, c)
		} else {
			err = s.enqueue(t, r, mem)
		}
		s.record(t, r)
		if err == nil {
			err = s.m.Apply(t)
		}
		if err != nil {
			return err
		}
		s.countTransfer(t, r.into, c, begin, reached)
		if t.From != protocol.NoPlace {
			s.replica(t.From).updateSole()
		}
	}
	s.tightenGuard()
	return nil
}

// enqueue enqueues one copy or fill. mem is the host's replica as memory of the access's device.
func (s *storage) enqueue(t protocol.Transfer, r route, mem *hal.Memory) error {
	dst := s.replica(t.To)
	if t.From == protocol.NoPlace {
		if dst.dev != nil {
			mem = dst.Mem
		}
		return r.into.Fill(dst.regionAs(mem, t.Lo, t.Hi), hal.Zero)
	}
	src := s.replica(t.From)
	switch {
	case dst.dev == nil:
		if err := s.host.Permit(true); err != nil {
			return err
		}
		s.host.Clean = false
		s.host.Lock(r.into)
		return r.into.CopyOut(s.host.Slice(t.Lo, t.Hi), src.Region(t.Lo, t.Hi))
	case src.dev == nil:
		if err := s.host.Permit(false); err != nil {
			return err
		}
		return r.into.CopyIn(dst.Region(t.Lo, t.Hi), s.host.Slice(t.Lo, t.Hi))
	case r.from == r.into:
		return r.into.Copy(dst.Region(t.Lo, t.Hi), src.Region(t.Lo, t.Hi))
	}
	return hal.CopyPeer(r.into, dst.Region(t.Lo, t.Hi), r.from, src.Region(t.Lo, t.Hi))
}

// enqueueTraced is enqueue for the execution tracer of package runtime/trace: a task from here to the end of the
// transfer, and a region for the call that enqueues it.
func (s *storage) enqueueTraced(t protocol.Transfer, r route, mem *hal.Memory, c cause) error {
	name, from := "halyard: copy", ""
	if t.From == protocol.NoPlace {
		name = "halyard: fill"
	} else {
		from = s.placeName(t.From, nil) + " to "
	}
	ctx, task := trace.NewTask(context.Background(), name)
	trace.Logf(ctx, "halyard", "buffer %d [%d, %d) %s%s because of %s for %v", s.id, t.Lo, t.Hi, from, s.placeName(t.To, nil), c.op, c.action)
	region := trace.StartRegion(ctx, name)
	err := s.enqueue(t, r, mem)
	region.End()
	if err != nil || r.into.OnDone(task.End) != nil {
		task.End()
	}
	return err
}

// record adds a Work for a copy to the Orders of source and destination. Later
// accesses wait for that Work, and ask it whether the copy has failed.
func (s *storage) record(t protocol.Transfer, r route) {
	bytes := span.Range{Lo: t.Lo, Hi: t.Hi}
	w := order.NewWork(r.into)
	if t.From != protocol.NoPlace {
		src := &s.replica(t.From).order
		src.Sources(w, bytes)
		if r.from == r.into {
			src.Add(w, false, false, bytes)
		} else {
			read := order.NewWork(r.from)
			src.Add(read, false, false, bytes)
			w.Reads(read)
		}
	}
	s.replica(t.To).order.Add(w, true, false, bytes)
	w.Release()
}

// countTransfer counts a transfer that was applied to the state, and reports it to observers.
func (s *storage) countTransfer(t protocol.Transfer, stream *hal.Stream, c cause, begin time.Time, reached *arrival) {
	n := t.Hi - t.Lo
	if t.From == protocol.NoPlace {
		s.stats.Fills++
		s.stats.BytesFilled += n
		totals.fills.Add(1)
		totals.bytesFilled.Add(n)
	} else {
		s.stats.Copies++
		s.stats.BytesCopied += n
		totals.copies.Add(1)
		totals.bytesCopied.Add(n)
	}
	if observed() {
		s.noteTransfer(t, stream, c, begin, reached)
	}
}

// pending returns the work on the replica that the calling goroutine has to wait for, with a reference to each.
func (s *storage) pending(x *access, zeros bool) (list []*order.Work) {
	o := &x.replica.order
	if o.Idle() {
		return nil
	}
	list = o.Round(s.scratch.left[:0])
	s.scratch.left = nil // the list is in use while the lock is released; await puts it back
	for _, w := range list {
		w.Retain()
	}
	x.Each(func(p part) { list = o.Pending(p.Lo, p.Hi, p.Writes() || zeros || x.unread, list) })
	return list
}

// awaitFor waits until work has ended, or fails if try is set. It releases the references to the work.
func (s *storage) awaitFor(ctx context.Context, x *access, list []*order.Work, try bool) error {
	if try {
		for _, w := range list {
			w.Release()
		}
		return hal.Errorf(x.op, hal.ErrNotReady, "earlier work on the host's replica has to end first, and %s cannot be made to wait for it",
			x.stream.Device().Name())
	}
	var dev *hal.Device
	if x.unread {
		dev = x.device()
	}
	err := s.await(ctx, x.cause(), dev, x.Lo, x.Hi, list)
	if err == nil && s.closed {
		err = s.closedError(x.op)
	}
	return err
}

// await blocks the calling goroutine until the work has ended, with the storage unlocked, and releases the references. dev is the device
// that needs the work to end, nil for the host. It returns an error only if ctx ends.
func (s *storage) await(ctx context.Context, c cause, dev *hal.Device, lo, hi uint64, list []*order.Work) (err error) {
	defer trace.StartRegion(ctx, "halyard: wait").End()
	begin := now()
	s.unlocked(func() {
		for i, w := range list {
			if err == nil {
				err = w.Wait(ctx)
			}
			w.Release()
			list[i] = nil
		}
	})
	if cap(list) <= 64 {
		s.scratch.left = list[:0]
	}
	s.waited(c, "work", dev, lo, hi, begin)
	if err != nil {
		return interrupted(c.op, ctx, nil)
	}
	return nil
}

// makeReady is the last step of bring: the program may use the bytes from now on. If the bytes have to be there already, all work on them
// has ended, and some may have failed since decide. So makeReady looks for failures again.
func (s *storage) makeReady(x *access, zeros bool) error {
	if x.present() {
		var failed error
		x.Each(func(p part) {
			if failed == nil && p.Reads() {
				failed = x.replica.learn(x, p.Lo, p.Hi, false)
			}
		})
		if failed != nil {
			_ = s.learn(x, x.Lo, x.Hi) // one error reports all failures in the range
			return s.failedError(x.op, x.Lo, x.Hi, failed)
		}
	}
	if x.stream == nil {
		if err := s.host.Permit(x.writes || zeros); err != nil {
			return err
		}
		if zeros {
			s.clearUnwritten(x)
		}
	}
	x.ready = true
	return nil
}

// clearUnwritten zeroes the bytes of an access of the host that were never written. Nothing else uses them.
func (s *storage) clearUnwritten(x *access) {
	x.Each(func(p part) {
		if !p.Reads() {
			return
		}
		plan, err := s.m.Plan(protocol.Read, protocol.Host, p.Lo, p.Hi, s.cost, s.scratch.plan[:0])
		if err != nil {
			return
		}
		s.scratch.plan = plan[:0]
		for _, t := range plan {
			if t.From != protocol.NoPlace {
				continue
			}
			begin := now()
			if !s.host.Clean {
				clear(s.host.Slice(t.Lo, t.Hi))
			}
			_ = s.m.Apply(t)
			s.countTransfer(t, nil, x.cause(), begin, nil)
		}
	})
}

// commit applies the writes of an access to the state, as one write.
func (s *storage) commit(x *access) {
	if !x.writes {
		return
	}
	s.version++
	x.Each(func(p part) {
		if !p.Writes() {
			return
		}
		s.wrote(p.Mode, x.place, p.Lo, p.Hi)
		if x.present() { // the access adds no Work that would replace the earlier ones
			x.replica.order.Overwritten(p.Lo, p.Hi)
		}
	})
}

// wrote applies a write to the state: every other replica of the bytes is stale.
func (s *storage) wrote(a protocol.Action, p protocol.Place, lo, hi uint64) {
	if lo == hi {
		return
	}
	_ = s.m.Commit(a, p, lo, hi)
	switch {
	case a == protocol.Reset:
	case p == protocol.Host:
		s.host.Clean = false
	default:
		s.replica(p).SetSole(true)
	}
	s.lost.forget(lo, hi)
	if s.watcher != nil {
		s.watcher.Writes(lo, hi)
	}
}

// release ends the access of a lease.
func (s *storage) release(x *access, gen uint64, check func() error) error {
	s.mu.Lock()
	err := x.releasable(gen, check)
	switch {
	case err != nil:
	case x.awaited:
		if check != nil {
			if bad := check(); bad != nil {
				x.replica.taint(x.Lo, x.Hi, bad)
			}
		}
		s.end(x)
	default:
		err = x.recordUse()
		s.conclude(x, check)
	}
	s.unlock()
	return err
}

// releasable returns an error if release cannot end the access.
func (x *access) releasable(gen uint64, check func() error) error {
	const op = "Release"
	switch {
	case !x.of(gen):
		return hal.Errorf(op, hal.ErrClosed, "the lease was released before")
	case x.group != nil:
		return hal.Errorf(op, hal.ErrInvalidArgument, "a lease of AcquireAll ends with the others")
	case check != nil && !x.writes:
		return hal.Errorf(op, hal.ErrInvalidArgument, "the lease is for reading, so its elements are unchanged")
	}
	return nil
}

// recordUse records that the stream's work uses the memory, so that the memory is not freed before.
func (x *access) recordUse() error {
	if x.mem == nil {
		return nil
	}
	return x.stream.RecordUse(x.mem)
}

// conclude records the work of an access of a device, and ends the access. check is as for [order.Checked].
func (s *storage) conclude(x *access, check func() error) {
	s.recordWork(x, check)
	x.storage.end(x)
}

// recordWork adds a Work for the program's work to the replica's Order. check is as for [order.Checked].
func (s *storage) recordWork(x *access, check func() error) {
	if check == nil && s.renew(x) {
		return
	}
	w := order.Checked(x.stream, check)
	if x.writes {
		s.sources(x, w)
	}
	s.recordAs(x, w)
	w.Release()
}

// sources sets the sources of w: the Works that wrote the bytes which the access reads.
func (s *storage) sources(x *access, w *order.Work) {
	ranges := s.scratch.ranges[:0]
	x.Each(func(p part) {
		if p.Reads() {
			ranges = append(ranges, span.Range{Lo: p.Lo, Hi: p.Hi})
		}
	})
	s.scratch.ranges = ranges[:0]
	x.replica.order.Sources(w, ranges...)
}

// recordAs adds w to the replica's Order as the work of the access.
func (s *storage) recordAs(x *access, w *order.Work) {
	for _, writes := range [...]bool{false, true} {
		ranges := s.scratch.ranges[:0]
		x.Each(func(p part) {
			if p.Writes() == writes {
				ranges = append(ranges, span.Range{Lo: p.Lo, Hi: p.Hi})
			}
		})
		s.scratch.ranges = ranges[:0]
		if len(ranges) > 0 {
			x.replica.order.Add(w, writes, true, ranges...)
		}
	}
}

// leave ends an access of the host.
func (s *storage) leave(x *access) {
	s.mu.Lock()
	s.end(x)
	s.unlock()
}

// end reports the end of an access to observers, and ends it. Its work has been recorded, if it has any.
func (s *storage) end(x *access) {
	if x.since != 0 {
		s.noteUse(x)
	}
	if x.replica != nil {
		x.replica.EndLease()
	}
	s.recycle(x)
	s.tightenGuard()
}

// abandon ends an access for which no work was enqueued.
func (s *storage) abandon(x *access) {
	s.mu.Lock()
	defer s.unlock()
	x.since = 0 // no use is reported to observers
	s.end(x)
}
