package buffer

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"strings"

	"github.com/go-halyard/halyard/buffer/internal/order"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/layer"
	"github.com/go-halyard/halyard/internal/protocol"
)

// Prefetch makes the elements current on the stream's device ahead of their use. It does not wait.
func (b *Buffer[T]) Prefetch(stream *hal.Stream) error {
	const op = "Prefetch"
	l, err := b.acquire(context.Background(), &request{op: op, stream: stream, try: true, brief: true}, coherence.Read)
	if err == nil {
		b.s.abandon(l.x)
	}
	return err
}

// SyncTo makes the elements current on a device, or on the host if dev is nil, and waits until they are. It also waits until earlier
// work that reads the elements there has ended, because the program may write there next (see [Buffer.MarkModified] and
// [Buffer.MarkHostModified]).
func (b *Buffer[T]) SyncTo(ctx context.Context, dev *hal.Device) error {
	const op = "SyncTo"
	if err := b.check(op); err != nil {
		return err
	}
	q := request{op: op, own: b.own, part: part{Lo: b.lo, Hi: b.hi, Mode: protocol.Read}, awaitReaders: true, brief: true}
	if dev != nil {
		var err error
		if q.stream, err = dev.CopyStream(false); err != nil {
			return err
		}
		q.awaited = true
	}
	x, err := b.s.begin(ctx, &q)
	if err == nil {
		b.s.leave(x)
	}
	return err
}

// locked returns the storage, locked, for a call that begins no access. The error says that the buffer cannot be used, or not be written if
// writes is set; then nothing is locked.
func (b *Buffer[T]) locked(op string, writes bool) (*storage, error) {
	if err := b.check(op); err != nil {
		return nil, err
	}
	b.s.mu.Lock()
	if err := b.s.usable(op, writes); err != nil {
		b.s.mu.Unlock()
		return nil, err
	}
	runtime.KeepAlive(b.own) // until here the collector must not close it
	return b.s, nil
}

// Evict frees the memory of the whole buffer's replica at a device, or at the host if dev is nil. Bytes that are current nowhere else are
// first copied: from a device to the host, and from the host to a device that has a replica. If there is no such device the error is of
// kind coherence.ErrSoleCopy. If the device works on the host's replica in place, as the host device does, Evict frees the host's
// replica. Evict waits until ctx ends for accesses at the replica's place. If it has to copy bytes to a place where an uncommitted lease
// (see [ReserveAll]) writes them, it waits for that lease, too. It waits for the copies only if it frees the
// host's memory. At a place without a replica it does nothing. It also ends a page-lock that the device has on the host's memory, so that
// the buffer no longer keeps the device from closing. Evict of a slice is an error of kind ErrInvalidArgument, and Evict of
// adopted memory one of kind ErrUnsupported, because that memory stays until the buffer is closed.
//
// A failed copy loses nothing: a device's memory is kept until the copies of its bytes are known to have succeeded, and
// the device cannot be closed before. If a copy fails, the replica stays current, and the bytes are copied again when an access needs
// them; if such an access is the first to find the failure, it fails with the copy's error. Until the memory is freed, an access of the
// device can still use the replica.
func (b *Buffer[T]) Evict(ctx context.Context, dev *hal.Device) error {
	const op = "Evict"
	if err := b.check(op); err != nil {
		return err
	}
	switch {
	case b.slice:
		return hal.Errorf(op, hal.ErrInvalidArgument, "a slice cannot be evicted, only its whole buffer")
	case ctx == nil:
		return layer.Ended(op, ctx)
	}
	defer runtime.KeepAlive(b.own)
	s := b.s
	s.mu.Lock()
	defer s.unlock()
	x := s.standIn(op, s.whole(protocol.Evict))
	for {
		if err := s.usable(op, false); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return interrupted(op, ctx, nil)
		}
		r := s.replicaOn(dev)
		if r == nil || !s.m.Allocated().Has(r.place) || r.Leaving() {
			return s.host.Unlock(dev)
		}
		if r.adopted {
			return hal.Errorf(op, hal.ErrUnsupported, "adopted memory stays until the buffer is closed")
		}
		busy := s.queue.Find(func(o *access) bool { return o.replica == r })
		if busy == nil {
			var pending []*order.Work
			err := s.evict(r, x.cause)
			switch e := err.(type) {
			case *unready:
				pending, err = e.works, nil
			case *ConflictError:
				busy, err = e.holder, nil
			}
			if len(pending) > 0 {
				if err = s.awaitCopies(ctx, x.cause, pending); err == nil {
					continue
				}
			}
			if busy == nil {
				return cmp.Or(err, s.host.Unlock(dev))
			}
		}
		if err := ctx.Err(); err != nil {
			return interrupted(op, ctx, x.conflictWith(busy))
		}
		if err := s.standBehind(ctx, x, busy); err != nil {
			return interrupted(op, ctx, s.conflictError(op, x.Part, deviceName(dev), busy))
		}
	}
}

// awaitCopies waits for the work that an eviction lacks, and returns its error.
func (s *storage) awaitCopies(ctx context.Context, c cause, pending []*order.Work) error {
	if err := s.await(ctx, c, nil, 0, s.size, pending); err != nil {
		return err
	}
	if failed := s.learn(nil, nil, 0, s.size); failed != nil {
		return s.failedError(nil, c.op, 0, s.size, failed)
	}
	return nil
}

// standBehind waits until other has ended, with the storage unlocked. x describes the call that waits.
func (s *storage) standBehind(ctx context.Context, x *access, other *access) error {
	w := s.newAccess(x.op, nil, x.Part)
	w.replica = nil
	err := s.pause(ctx, w, other)
	s.end(w)
	if err != nil {
		return interrupted(x.op, ctx, x.conflictWith(other)) // w was still waiting for other
	}
	return nil
}

// Memory returns the part of a device's replica with the elements. It is for programs that keep replicas current
// themselves, with SyncTo and MarkModified: the elements need not be current there. If the device has no replica the
// error is of kind ErrNotReady.
func (b *Buffer[T]) Memory(dev *hal.Device) (hal.Region, error) {
	const op = "Memory"
	s, err := b.locked(op, false)
	if err != nil {
		return hal.Region{}, err
	}
	defer s.mu.Unlock()
	if dev == nil {
		return hal.Region{}, hal.Errorf(op, hal.ErrInvalidArgument, "nil device; the host's replica is reached by View and Update")
	}
	r := s.replicaOn(dev)
	switch {
	case r != nil && r.place == protocol.Host:
		return r.region(s.host.On(dev), b.lo, b.hi), nil
	case r != nil && r.Mem != nil:
		if r.Leaving() {
			r.stay()
		}
		return r.region(nil, b.lo, b.hi), nil
	}
	return hal.Region{}, hal.Errorf(op, hal.ErrNotReady, "%s has no replica", dev.Name())
}

// MarkModified states that work which is already enqueued on the stream writes to the elements on the stream's
// device, outside any lease. The elements become stale at every other place. They must have been current on the
// device: otherwise the error is a [ConflictError] and nothing changes. It does not wait. Work that is enqueued on the stream afterwards
// waits for the earlier work of other streams on the elements. If the stream cannot be made to wait for that, the error is of kind
// ErrNotReady and nothing changes: the elements are not marked until a later call succeeds.
func (b *Buffer[T]) MarkModified(stream *hal.Stream) error {
	const op = "MarkModified"
	if err := b.check(op); err != nil {
		return err
	}
	s := b.s
	if stream == nil {
		return hal.Errorf(op, hal.ErrInvalidArgument, "nil stream; for the host there are Update and MarkHostModified")
	}
	if err := layer.Err(stream); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	defer runtime.KeepAlive(b.own)
	if err := s.usable(op, true); err != nil {
		return err
	}
	dev := stream.Device()
	x := s.standIn(op, part{Lo: b.lo, Hi: b.hi, Mode: protocol.MarkModified})
	x.stream, x.place = stream, protocol.NoPlace
	if other := s.queue.Excluding(&x.Entry); other != nil {
		return x.conflictWith(other)
	}
	r := s.replicaOn(dev)
	if r == nil {
		return x.staleError(dev.Name() + " has no replica")
	}
	if err := x.markable(r); err != nil {
		return err
	}
	mem := r.Mem
	if r.place == protocol.Host {
		mem = s.host.On(dev)
		if err := s.host.UsedOn(stream, mem); err != nil {
			return err
		}
	}
	if mem != nil {
		if err := stream.RecordUse(mem); err != nil {
			return err
		}
	}
	x.replica, x.place, x.mem = r, r.place, mem
	left, err := s.orderWork(x, false) // the work of this stream takes the place of all earlier work, so it has to end last
	if err != nil {
		return err
	}
	if len(left) > 0 {
		return s.awaitFor(context.Background(), x, left, true) // which does not wait
	}
	if r.Leaving() {
		r.stay()
	}
	s.recordWork(x, nil)
	s.commit(x)
	return nil
}

// MarkHostModified is MarkModified for the host: it states that the program has written to the elements in the host's memory, outside any
// access. The elements become stale at every other place. They must have been current on the host: otherwise the error is a
// [ConflictError] and nothing changes. If a device still writes them there the error is of kind ErrNotReady, and nothing changes.
// [Buffer.SyncTo], called before the program writes, makes the elements current and waits for devices.
func (b *Buffer[T]) MarkHostModified() error {
	const op = "MarkHostModified"
	s, err := b.locked(op, true)
	if err != nil {
		return err
	}
	defer s.mu.Unlock()
	r := &s.host.replica
	x := s.standIn(op, part{Lo: b.lo, Hi: b.hi, Mode: protocol.MarkModified})
	x.place, x.replica = protocol.Host, r
	if other := s.queue.Excluding(&x.Entry); other != nil {
		return x.conflictWith(other)
	}
	if err := x.markable(r); err != nil {
		return err
	}
	if w, _ := r.order.Unsure(b.lo, b.hi); w != nil {
		return hal.Errorf(op, hal.ErrNotReady, "earlier work still writes the elements on the host")
	}
	s.version++
	s.wrote(protocol.MarkModified, protocol.Host, b.lo, b.hi) // earlier reads stay in the Order: later writes wait for them
	return nil
}

// markable returns an error unless the elements are current at the replica, so that they can be marked as modified there.
func (x *access) markable(r *replica) error {
	s := x.storage
	if failed := s.learn(x, r, x.Lo, x.Hi); failed != nil {
		return s.failedError(x, x.op, x.Lo, x.Hi, failed)
	}
	_, err := s.m.Plan(protocol.MarkModified, r.place, x.Lo, x.Hi, s.cost, s.scratch.plan[:0])
	refusal, ok := err.(*protocol.RefusalError)
	if !ok {
		return err
	}
	where := "they were never written, or reset"
	if valid := refusal.State.Valid; valid != 0 {
		where = "they are current at " + s.placeNames(valid)
	}
	return x.staleError(fmt.Sprintf("elements [%d, %d) are not current there: %s", refusal.Lo/s.elem, (refusal.Hi+s.elem-1)/s.elem, where))
}

// Reset discards the elements: from now on they read as zeros at every place. Nothing is copied.
func (b *Buffer[T]) Reset() error {
	const op = "Reset"
	s, err := b.locked(op, true)
	if err != nil {
		return err
	}
	defer s.mu.Unlock()
	x := s.standIn(op, part{Lo: b.lo, Hi: b.hi, Mode: protocol.Reset})
	if other := s.queue.Excluding(&x.Entry); other != nil {
		return s.conflictError(op, x.Part, "every place", other)
	}
	s.version++
	s.wrote(protocol.Reset, protocol.Host, b.lo, b.hi)
	return nil
}

// Freeze makes every write to the buffer, and to any slice of it, fail with ErrFrozen. The buffer stays frozen until Unfreeze has been
// called the same number of times as Freeze. Freeze fails with a [ConflictError] while a write is under way.
func (b *Buffer[T]) Freeze() error {
	const op = "Freeze"
	s, err := b.locked(op, false)
	if err != nil {
		return err
	}
	defer s.mu.Unlock()
	x := s.standIn(op, s.whole(protocol.Read))
	if other := s.queue.Excluding(&x.Entry); other != nil {
		return s.conflictError(op, x.Part, "every place", other)
	}
	s.frozen++
	return nil
}

// Unfreeze undoes one Freeze. If the buffer is not frozen, the error is of kind ErrInvalidArgument.
func (b *Buffer[T]) Unfreeze() error {
	const op = "Unfreeze"
	s, err := b.locked(op, false)
	if err != nil {
		return err
	}
	defer s.mu.Unlock()
	if s.frozen == 0 {
		return hal.Errorf(op, hal.ErrInvalidArgument, "the buffer is not frozen")
	}
	s.frozen--
	return nil
}

// Frozen reports whether the buffer is frozen: Freeze has been called more often than Unfreeze.
func (b *Buffer[T]) Frozen() bool {
	s, err := b.locked("Frozen", false)
	if err != nil {
		return false
	}
	defer s.mu.Unlock()
	return s.frozen > 0
}

// State describes at which places elements are current.
type State struct {
	// Name says in one word where all of the elements are current: HOST_ONLY, DEVICE_ONLY, SYNCHRONIZED (at every place that has memory,
	// among them the host and a device), HOST_DIRTY (on the host, and the memory of some device is stale) or DEVICE_DIRTY (on a device,
	// and the host's memory is stale). UNINITIALIZED means that no element was written, or that all were reset. If no place has all of
	// the elements, the name is one of these, and String says more:
	//
	//	DISTRIBUTED   every element is current somewhere, as after a launch that was divided over several devices
	//	PARTIAL       some elements were not written or were reset, and read as zeros; the others are current somewhere
	//	LOST          a failure has lost some elements, or all: an access that reads them fails until they are written or reset
	Name string
	// Version is the number of writes to the whole buffer.
	Version int64
	// Places has the host first, and then the devices that have or had a replica.
	Places []PlaceState

	parts []partState // if Name is DISTRIBUTED, PARTIAL or LOST: the ranges of elements that differ in where they are current, ascending
}

// partState says where a part of the elements is current.
type partState struct {
	Lo, Hi int      // elements, counted from the beginning of the buffer or slice
	Places []string // "host" or names of devices; none if the elements were not written, or are lost
	Lost   bool     // a failure has lost them
}

// PlaceState describes one place.
type PlaceState struct {
	Place     string      // "host" or the device's name
	Device    *hal.Device // nil for the host
	Allocated bool
	Valid     bool // all of the elements are current
}

// The String methods take no locks, so that observers may call them.

// String lists where the elements are: "DEVICE_DIRTY, version 3: host not current, cuda:0 current". The parts follow, if there are any, at
// most eight of them: "[0, 500) at cuda:0, [500, 1000) at cuda:1".
func (s State) String() string {
	places := make([]string, len(s.Places))
	for i, p := range s.Places {
		places[i] = p.String()
	}
	text := fmt.Sprintf("%s, version %d: %s", s.Name, s.Version, strings.Join(places, ", "))
	for i, p := range s.parts {
		switch i {
		case 0:
			text += ": " + p.String()
		case 8:
			return fmt.Sprintf("%s, and %d more parts", text, len(s.parts)-i)
		default:
			text += ", " + p.String()
		}
	}
	return text
}

// String says where the elements are: "[0, 500) at cuda:0".
func (p partState) String() string {
	where := "not written"
	switch {
	case p.Lost:
		where = "lost"
	case len(p.Places) > 0:
		where = "at " + strings.Join(p.Places, " and ")
	}
	return fmt.Sprintf("[%d, %d) %s", p.Lo, p.Hi, where)
}

// String says whether the place's bytes are current.
func (p PlaceState) String() string {
	switch {
	case !p.Allocated:
		return p.Place + " without memory"
	case p.Valid:
		return p.Place + " current"
	}
	return p.Place + " not current"
}

// State returns the places at which the elements are current.
func (b *Buffer[T]) State() State {
	if b == nil || b.s == nil {
		return State{}
	}
	s := b.s
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.state(b.lo, b.hi)
	st := State{Name: c.Name().String(), Version: s.version}
	st.Places = append(st.Places, PlaceState{Place: "host", Allocated: c.Allocated.Has(protocol.Host), Valid: c.Valid.Has(protocol.Host)})
	for _, r := range s.at[1:] {
		st.Places = append(st.Places, PlaceState{r.dev.Name(), r.dev, c.Allocated.Has(r.place), c.Valid.Has(r.place)})
	}
	_, anywhere, written := s.m.Summary(b.lo, b.hi)
	switch {
	case s.lost.Any(b.lo, b.hi) != nil:
		st.Name = "LOST"
	case c.Valid != 0 || anywhere == 0:
		return st
	case written:
		st.Name = "DISTRIBUTED"
	default:
		st.Name = "PARTIAL"
	}
	st.parts = s.parts(b.lo, b.hi, b.elementSize(), c.Allocated)
	return st
}

// parts returns the parts of [lo, hi) that differ in where they are current, in elements of the given size. It looks only at the places in among.
func (s *storage) parts(lo, hi, size uint64, among protocol.Set) (parts []partState) {
	add := func(l, h uint64, valid protocol.Set, lost bool) {
		if l >= h {
			return
		}
		p := partState{Lo: int((l - lo) / size), Hi: int((h - lo) / size), Lost: lost}
		for at := range valid.All() {
			p.Places = append(p.Places, s.placeName(at, nil))
		}
		parts = append(parts, p)
	}
	s.m.Runs(lo, hi, func(l, h uint64, valid protocol.Set) bool {
		for _, n := range s.lost.Meeting(l, h, nil) { // these are valid nowhere
			add(l, n.Lo, 0, false)
			add(max(l, n.Lo), min(h, n.Hi), 0, true)
			l = min(h, n.Hi)
		}
		add(l, h, valid&among, false)
		return true
	})
	return parts
}

// Version returns the version of the elements at dev, or at the host if dev is nil: the Version of [State] if all of the elements are
// current there, else -1. A slice has its own answer: that of a part which is current at dev is the newest version although that of the
// whole buffer is -1.
func (b *Buffer[T]) Version(dev *hal.Device) int64 {
	if b == nil || b.s == nil {
		return -1
	}
	s := b.s
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.replicaOn(dev)
	if r == nil {
		return -1
	}
	return s.state(b.lo, b.hi).Version(r.place, s.version)
}

// state returns the state of a range, without the replicas that are leaving.
func (s *storage) state(lo, hi uint64) protocol.State {
	c := s.m.State(lo, hi)
	if s.leaving > 0 {
		for _, r := range s.at[1:] {
			if r.Leaving() {
				c.Allocated, c.Valid = c.Allocated.Without(r.place), c.Valid.Without(r.place)
			}
		}
	}
	return c
}

// Stats returns the counters of the whole buffer.
func (b *Buffer[T]) Stats() Stats {
	if b == nil || b.s == nil {
		return Stats{}
	}
	b.s.mu.Lock()
	defer b.s.mu.Unlock()
	return b.s.stats
}
