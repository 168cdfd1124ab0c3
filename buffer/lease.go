package buffer

import (
	"context"
	"unsafe"

	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/layer/slot"
	"github.com/go-halyard/halyard/internal/protocol"
	"github.com/go-halyard/halyard/internal/watch"
)

// Lease is the right to use elements of a buffer on one stream, from Acquire to Release. It is a small
// value that may be copied; after Release every copy of it is stale.
type Lease struct {
	x      *access // nil in the zero Lease
	gen    uint64
	lo, hi uint64
}

// Region returns the leased range of the device's memory, for copies and fills on the lease's stream, or the
// zero Region if the lease is stale.
func (l Lease) Region() hal.Region {
	x := l.x
	if x == nil {
		return hal.Region{}
	}
	x.storage.mu.Lock()
	defer x.storage.mu.Unlock()
	if !x.of(l.gen) {
		return hal.Region{}
	}
	return x.replica.region(x.mem, l.lo, l.hi)
}

// Pointer returns the argument for a kernel: on devices that have addresses ([hal.CapAddress]) the address of the first leased
// element, else the handle of the whole memory (a cl_mem), in which the elements begin at byte Region().Off. It is 0 if the lease is
// stale.
func (l Lease) Pointer() uintptr {
	r := l.Region()
	if r.Mem == nil {
		return 0
	}
	p := r.Mem.Handle()
	if r.Mem.Device().Caps().Has(hal.CapAddress) {
		p += uintptr(r.Off)
	}
	return p
}

// Mode returns the mode with which the lease was acquired, or coherence.Read if the lease is stale.
func (l Lease) Mode() coherence.Mode {
	x := l.x
	if x == nil {
		return coherence.Read
	}
	x.storage.mu.Lock()
	defer x.storage.mu.Unlock()
	if !x.of(l.gen) {
		return coherence.Read
	}
	return coherence.Mode(x.Mode)
}

// Release ends the lease. Later accesses wait for the work that has been enqueued on the stream since
// Acquire. Releasing a stale lease is an error of kind ErrClosed and changes nothing. A lease of [AcquireAll] ends
// with the others, and releasing it alone is an error of kind ErrInvalidArgument. If the
// stream has failed, or was closed, Release returns that error, but the lease has ended.
func (l Lease) Release() error { return l.release(nil) }

// ReleaseChecked is Release for work whose success the driver does not know, such as a copy of bytes that another process sends. check is
// called at most once, after the stream's work under the lease has ended, and before an access of the host reads the elements. If it
// returns an error, the elements are lost, as after [HostLease.Fail], and so are elements that later work has computed from them: until
// they are written again or reset, every access that reads one of them fails, with an error in which errors.Is finds the error of check.
// check must not block, and must not use buffers or leases: a call of them panics within check. If check panics, the elements are lost.
// If check is nil or the lease is for reading, ReleaseChecked returns an error of kind ErrInvalidArgument and the lease stays open.
func (l Lease) ReleaseChecked(check func() error) error {
	if check == nil {
		return hal.Errorf("Release", hal.ErrInvalidArgument, "nil function")
	}
	return l.release(guarded(check))
}

func (l Lease) release(check func() error) error {
	if l.x == nil {
		return hal.Errorf("Release", hal.ErrClosed, "not a lease")
	}
	return l.x.storage.release(l.x, l.gen, check)
}

// HostLease is the right to use elements of a buffer on the host, from AcquireHost to Release. It is for code
// that keeps an address for some time, such as a C library; Go code has View, Update and Overwrite. It is a
// small value that may be copied; after Release every copy of it is stale.
type HostLease struct {
	x   *access // nil in the zero HostLease
	gen uint64
}

// AcquireHost makes the elements current on the host, waits until they are, and returns a lease on
// them. mode is coherence.Read, ReadWrite, or Overwrite for a program that writes every element and reads
// none. AcquireHost waits until ctx ends for accesses that exclude it. As long as the lease is open it
// excludes other accesses as View or Update would, and Close fails.
func (b *Buffer[T]) AcquireHost(ctx context.Context, mode coherence.Mode) (HostLease, error) {
	const op = "AcquireHost"
	if err := b.check(op); err != nil {
		return HostLease{}, err
	}
	x, err := b.s.begin(ctx, &request{op: op, own: b.own, part: part{Lo: b.lo, Hi: b.hi, Mode: protocol.Action(mode)}})
	if err != nil {
		return HostLease{}, err
	}
	return HostLease{x, x.gen}, nil
}

// Pointer returns the address of the first leased element, or nil if the lease is stale. The memory must not
// be used after Release, and must not be changed under a lease for reading.
func (l HostLease) Pointer() unsafe.Pointer {
	x := l.x
	if x == nil {
		return nil
	}
	x.storage.mu.Lock()
	defer x.storage.mu.Unlock()
	if !x.of(l.gen) {
		return nil
	}
	return unsafe.Pointer(unsafe.SliceData(x.storage.host.Bytes[x.Lo:x.Hi]))
}

// Release ends the lease. Releasing a stale lease is an error of kind ErrClosed and changes nothing.
func (l HostLease) Release() error {
	x, err := l.lock("Release")
	if err != nil {
		return err
	}
	defer x.storage.unlock()
	x.storage.end(x)
	return nil
}

// Fail ends a lease for writing whose elements could not be written as intended. The elements are lost: until they are written again or
// reset, every access that reads one of them fails with an error of kind hal.ErrDeviceLost, in which errors.Is finds cause. If cause is
// nil or the lease is for reading, Fail returns an error of kind ErrInvalidArgument and the lease stays open.
func (l HostLease) Fail(cause error) error {
	const op = "Fail"
	if cause == nil {
		return hal.Errorf(op, hal.ErrInvalidArgument, "nil cause")
	}
	x, err := l.lock(op)
	if err != nil {
		return err
	}
	s := x.storage
	defer s.unlock()
	if !x.Writes() {
		return hal.Errorf(op, hal.ErrInvalidArgument, "the lease is for reading, so its elements are unchanged")
	}
	s.host.replica.taint(x.Lo, x.Hi, cause)
	s.end(x)
	return nil
}

// lock returns the access of the lease, with the storage locked, or an error, with the storage unlocked, if the lease is stale.
func (l HostLease) lock(op string) (*access, error) {
	x := l.x
	if x == nil {
		return nil, hal.Errorf(op, hal.ErrClosed, "not a lease")
	}
	x.storage.mu.Lock()
	if !x.of(l.gen) {
		x.storage.mu.Unlock()
		return nil, hal.Errorf(op, hal.ErrClosed, "the lease was released before")
	}
	return x, nil
}

// Range is the elements [Lo, Hi) of a buffer.
type Range struct{ Lo, Hi int }

// AccessRanges runs fn on several ranges of the elements at once. With mode coherence.Read it works as View, with ReadWrite as Update,
// and with Overwrite as Overwrite. Only elements in the ranges are copied, closed to other accesses, and made stale elsewhere. The ranges
// must be in ascending order and must not overlap; they may be empty. fn gets the elements from the beginning of the first range to the
// end of the last. It must not use the elements between the ranges: they may be stale, and other accesses may use them.
//
// The access begins on all ranges together, when no other access excludes any of them, so two such accesses never wait for
// each other. The cost grows with the number of ranges.
//
// The error is of kind ErrInvalidArgument if ranges are out of order, ErrOverlap if they overlap, and
// ErrOutOfRange if a range is not inside the buffer.
func (b *Buffer[T]) AccessRanges(ctx context.Context, mode coherence.Mode, ranges []Range, fn func([]T) error) error {
	const op = "AccessRanges"
	if fn == nil {
		return hal.Errorf(op, hal.ErrInvalidArgument, "nil function")
	}
	q, err := b.request(op, protocol.Action(mode), ranges)
	if err != nil {
		return err
	}
	x, err := b.s.begin(ctx, &q)
	if err != nil {
		return err
	}
	defer b.s.leave(x)
	elements := b.elements(q.Lo, q.Hi)
	if b.s.bools && mode == coherence.Overwrite { // what was there may not be a bool
		for _, r := range ranges {
			clear(elements[r.Lo-ranges[0].Lo : r.Hi-ranges[0].Lo])
		}
	}
	return fn(elements)
}

// AcquireRanges is [Buffer.Acquire] for several ranges at once, under the rules of [Buffer.AccessRanges]. The
// lease's region reaches from the beginning of the first range to the end of the last; the program must not use the elements
// between the ranges. One Release ends the lease.
func (b *Buffer[T]) AcquireRanges(ctx context.Context, stream *hal.Stream, mode coherence.Mode, ranges []Range) (Lease, error) {
	const op = "AcquireRanges"
	q, err := b.request(op, protocol.Action(mode), ranges)
	if err != nil {
		return Lease{}, err
	}
	if q.stream = stream; stream == nil {
		return Lease{}, noStream(op)
	}
	x, err := b.s.begin(ctx, &q)
	if err != nil {
		return Lease{}, err
	}
	return Lease{x, x.gen, x.Lo, x.Hi}, nil
}

// request checks the ranges and returns a request for them. Adjacent ranges are merged.
func (b *Buffer[T]) request(op string, mode protocol.Action, ranges []Range) (request, error) {
	if err := b.check(op); err != nil {
		return request{}, err
	}
	if err := validMode(op, mode); err != nil {
		return request{}, err
	}
	elem, n := b.elementSize(), b.Len()
	apart := false // there are bytes between ranges
	for i, r := range ranges {
		switch {
		case r.Lo < 0 || r.Hi > n || r.Lo > r.Hi:
			return request{}, hal.Errorf(op, hal.ErrOutOfRange, "[%d, %d) of %d elements", r.Lo, r.Hi, n)
		case i > 0 && r.Lo < ranges[i-1].Hi && (r.Hi <= ranges[i-1].Lo || r.Lo == r.Hi):
			return request{}, hal.Errorf(op, hal.ErrInvalidArgument, "range [%d, %d) comes after [%d, %d), and must come before",
				r.Lo, r.Hi, ranges[i-1].Lo, ranges[i-1].Hi)
		case i > 0 && r.Lo < ranges[i-1].Hi:
			return request{}, hal.Errorf(op, hal.ErrOverlap, "[%d, %d) and [%d, %d)", ranges[i-1].Lo, ranges[i-1].Hi, r.Lo, r.Hi)
		}
		apart = apart || i > 0 && r.Lo > ranges[i-1].Hi
	}
	q := request{op: op, own: b.own, part: part{Lo: b.lo, Hi: b.lo, Mode: mode}}
	if len(ranges) > 0 {
		q.Lo, q.Hi = b.lo+uint64(ranges[0].Lo)*elem, b.lo+uint64(ranges[len(ranges)-1].Hi)*elem
	}
	if !apart {
		return q, nil
	}
	q.parts = make([]part, 0, len(ranges))
	for _, r := range ranges {
		p := part{Lo: b.lo + uint64(r.Lo)*elem, Hi: b.lo + uint64(r.Hi)*elem, Mode: mode}
		if last := len(q.parts) - 1; last >= 0 && q.parts[last].Hi == p.Lo {
			q.parts[last].Hi = p.Hi
		} else if p.Lo < p.Hi {
			q.parts = append(q.parts, p)
		}
	}
	return q, nil
}

// These are the functions of this package that package internal/awaited calls; they are documented there.
func init() {
	slot.Buffer = struct {
		AcquireAwaited func(ctx context.Context, b any, mode coherence.Mode, fits func(*hal.Device) bool) (Lease, bool, error)
	}{
		func(ctx context.Context, b any, mode coherence.Mode, fits func(*hal.Device) bool) (Lease, bool, error) {
			return b.(interface {
				acquireAwaited(context.Context, coherence.Mode, func(*hal.Device) bool) (Lease, bool, error)
			}).acquireAwaited(ctx, mode, fits)
		},
	}
}

func (b *Buffer[T]) acquireAwaited(ctx context.Context, mode coherence.Mode, fits func(*hal.Device) bool) (Lease, bool, error) {
	const op = "Acquire"
	if err := b.check(op); err != nil {
		return Lease{}, false, err
	}
	x, err := b.s.acquireAwaited(ctx, op, b.own, part{Lo: b.lo, Hi: b.hi, Mode: protocol.Action(mode)}, fits)
	if x == nil {
		return Lease{}, false, err
	}
	return Lease{x, x.gen, x.Lo, x.Hi}, true, nil
}

func init() {
	watch.Attach = func(b any, w watch.Watcher) {
		b.(interface{ watched(watch.Watcher) }).watched(w)
	}
}

func (b *Buffer[T]) watched(w watch.Watcher) {
	b.s.mu.Lock()
	b.s.watcher = w
	b.s.mu.Unlock()
}
