package buffer

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"runtime"
	"sync/atomic"
	"unsafe"

	"github.com/go-halyard/halyard/buffer/internal/hostmem"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/debug"
	"github.com/go-halyard/halyard/internal/layer"
	"github.com/go-halyard/halyard/internal/protocol"
)

// Buffer is a sequence of elements, such as numbers or structures of them, that is coherent over the host and all devices that use it, or a
// slice of such a sequence. New and From make one, and Close closes it with its slices, which are not closed separately. On a nil or zero
// Buffer every method that returns an error returns one of kind ErrInvalidArgument.
type Buffer[T Element] struct {
	s      *storage
	own    *owner
	lo, hi uint64 // bytes
	slice  bool
}

// newHandle returns a Buffer of all elements of a storage.
func newHandle[T Element](s *storage) *Buffer[T] {
	o := new(owner)
	o.cleanup = runtime.AddCleanup(o, (*storage).leaked, s)
	return &Buffer[T]{s: s, own: o, hi: s.size}
}

// leaked reports and closes a buffer that became unreachable without Close. It runs on the runtime's cleanup goroutine, which must not
// wait, so it starts another one.
func (s *storage) leaked() {
	go func() {
		if !s.isClosed() {
			layer.ReportLeak(hal.Leak{Object: fmt.Sprintf("buffer of %d bytes", s.size), Device: "host"})
			_ = s.close()
		}
	}()
}

func (s *storage) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// Option is an option of [New] and [From].
type Option func(*storage)

// WithPinnedHost allocates the buffer's host replica as page-locked memory of the device. The device then copies from and to it without
// blocking the caller, and uses it in place if it is unified. Without this option, and if the host cannot access such memory
// ([hal.Memory.HostPointer]), the replica is ordinary memory. That is page-locked for a device if it is large enough and the device needs
// that, or if it is copied again and again to or from a discrete GPU.
func WithPinnedHost(dev *hal.Device) Option { return func(s *storage) { s.homeOn = dev } }

// WithName gives the buffer a name, for [Activity.Name] and so for traces and logs. Several buffers may have the same.
func WithName(name string) Option { return func(s *storage) { s.name = name } }

var created atomic.Uint64

// guardAll says whether every buffer is guarded.
var guardAll = debug.Has("guard")

func newStorage(elem, size uint64, opts []Option) *storage {
	s := &storage{id: created.Add(1), elem: elem, size: size, guarded: guardAll}
	s.host.storage = s
	s.at = append(s.first[:0], &s.host.replica)
	s.m.Init(size)
	s.host.hostMemory.Init(size)
	for _, o := range opts {
		o(s)
	}
	return s
}

// maxSize is the most bytes that a buffer may have: 1<<62, or the largest int if that is smaller.
const maxSize = min(1<<62, math.MaxInt)

// New returns a buffer of n elements that reads as zeros. A place allocates memory only when it is first used. The error is of kind
// ErrInvalidArgument if T is no type of elements: see [Element].
func New[T Element](n int, opts ...Option) (*Buffer[T], error) {
	const op = "New"
	elem, bools, err := elementOf[T](op)
	switch {
	case err != nil:
		return nil, err
	case n < 0:
		return nil, hal.Errorf(op, hal.ErrInvalidArgument, "%d elements", n)
	case uint64(n) > maxSize/elem:
		return nil, hal.Errorf(op, hal.ErrOutOfRange, "%d elements of %d bytes are more than a buffer can have", n, elem)
	}
	s := newStorage(elem, uint64(n)*elem, opts)
	s.bools = bools
	return newHandle[T](s), nil
}

// From returns a buffer with a copy of data as its host replica.
func From[T Element](data []T, opts ...Option) (*Buffer[T], error) {
	b, err := New[T](len(data), opts...)
	if err != nil {
		return nil, err
	}
	made := false
	defer b.closeUnless(&made)
	if err := b.Overwrite(context.Background(), func(s []T) error { copy(s, data); return nil }); err != nil {
		return nil, err
	}
	made = true
	return b, nil
}

// check returns an error unless a function of this package returned b: if b is nil or the zero Buffer.
func (b *Buffer[T]) check(op string) error {
	if b == nil || b.s == nil {
		return hal.Errorf(op, hal.ErrInvalidArgument, "nil or zero buffer")
	}
	return nil
}

// Len is the number of elements.
func (b *Buffer[T]) Len() int {
	if size := b.Size(); size > 0 { // a type without bytes has no buffer
		return int(size / b.elementSize())
	}
	return 0
}

// Size is the number of bytes.
func (b *Buffer[T]) Size() uint64 {
	if b == nil {
		return 0
	}
	return b.hi - b.lo
}

// View runs fn on the elements, for reading. It waits for the work that they depend on, and for
// accesses that write to them; other readers may run at the same time. fn must neither change the slice nor keep it.
// The error is the one that fn returned, or says why fn was not run.
//
// Accesses are served in the order in which they come. As with sync.RWMutex, do not nest reads: a View from within fn, or while the caller
// has a lease, waits for a write that came in between, and that write waits for the outer access. Only the context ends such a wait.
func (b *Buffer[T]) View(ctx context.Context, fn func([]T) error) error {
	return b.access(ctx, "View", protocol.Read, fn)
}

// Update runs fn on the elements, for reading and writing. It waits for the work that they depend on
// and for all other accesses to them. When fn returns, with or without an error, or panics, the access ends and every other replica
// of the elements is stale.
//
// An access to the same elements from within fn would wait for fn to return, so it waits until its own context ends.
func (b *Buffer[T]) Update(ctx context.Context, fn func([]T) error) error {
	return b.access(ctx, "Update", protocol.ReadWrite, fn)
}

// Overwrite is Update for an fn that writes every element and reads none: nothing is copied to the
// host first, and elements that fn leaves out have unspecified contents.
func (b *Buffer[T]) Overwrite(ctx context.Context, fn func([]T) error) error {
	return b.access(ctx, "Overwrite", protocol.Overwrite, fn)
}

func (b *Buffer[T]) access(ctx context.Context, op string, a protocol.Action, fn func([]T) error) error {
	if fn == nil {
		return hal.Errorf(op, hal.ErrInvalidArgument, "nil function")
	}
	if b == nil || b.s == nil {
		return b.check(op)
	}
	x, err := b.s.begin(ctx, &request{op: op, own: b.own, part: part{Lo: b.lo, Hi: b.hi, Mode: a}})
	if err != nil {
		return err
	}
	defer b.s.leave(x)
	elements := b.elements(b.lo, b.hi)
	if b.s.bools && a == protocol.Overwrite {
		clear(elements) // what was there may not be a bool
	}
	return fn(elements)
}

// TryAcquire makes the elements current on the stream's device, for the program's own work on that stream, and returns a lease on them.
// mode is coherence.Read, ReadWrite, or Overwrite if that work writes every element and reads none. The copies that are needed are
// enqueued; TryAcquire does not wait for them. If another access excludes this one, the error is a [ConflictError]. If another device has
// not finished copying or computing the bytes, and the stream cannot be made to wait for that (its device has no [hal.CapGate], or reads
// the host's memory during the call that enqueues a copy), the error is of kind ErrNotReady. It is of the same kind if the device has no
// room before copies of evicted replicas have ended (see [SetBudget]), and if a device that shares host memory cannot use the host's
// replica before work on it has ended and it has moved. Acquire waits in all these cases.
//
// Accesses are served in the order in which they come. If an earlier access shares an element with this one and one of the two writes, the
// earlier one excludes this one, even while the earlier one itself still waits.
func (b *Buffer[T]) TryAcquire(stream *hal.Stream, mode coherence.Mode) (Lease, error) {
	return b.acquire(context.Background(), &request{op: "TryAcquire", stream: stream, try: true}, mode)
}

// Acquire is TryAcquire that waits, until ctx ends, for accesses that exclude it and for work that its stream cannot wait for.
func (b *Buffer[T]) Acquire(ctx context.Context, stream *hal.Stream, mode coherence.Mode) (Lease, error) {
	return b.acquire(ctx, &request{op: "Acquire", stream: stream}, mode)
}

// acquire begins an access of a device to all elements, and returns its lease.
func (b *Buffer[T]) acquire(ctx context.Context, q *request, mode coherence.Mode) (Lease, error) {
	if b == nil || b.s == nil {
		return Lease{}, b.check(q.op)
	}
	if q.stream == nil {
		return Lease{}, noStream(q.op)
	}
	q.own, q.part = b.own, part{Lo: b.lo, Hi: b.hi, Mode: protocol.Action(mode)}
	x, err := b.s.begin(ctx, q)
	if err != nil {
		return Lease{}, err
	}
	return Lease{x, x.gen, b.lo, b.hi}, nil
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
	if !validMode(mode) {
		return request{}, modeError(op, mode)
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

// Slice returns the elements [i, j) as a buffer that shares them. It needs no
// memory of its own, and is closed with the whole buffer.
func (b *Buffer[T]) Slice(i, j int) (*Buffer[T], error) {
	if err := b.check("Slice"); err != nil {
		return nil, err
	}
	n := b.Len()
	if i < 0 || j > n || i > j {
		return nil, hal.Errorf("Slice", hal.ErrOutOfRange, "[%d, %d) of %d elements%s", i, j, n, b.s.inName())
	}
	elem := b.elementSize()
	lo := b.lo + uint64(i)*elem
	return &Buffer[T]{s: b.s, own: b.own, lo: lo, hi: lo + uint64(j-i)*elem, slice: true}, nil
}

// Reinterpret returns a view of the buffer's bytes as elements of another type, in the byte order of the machine. Both views have the
// same bytes: elements written through one are read through the other. Like a [Buffer.Slice], the result needs no memory of its own and
// is closed with the whole buffer. A [ConflictError] counts in elements of the type with which the buffer was made.
//
// The error is of kind ErrInvalidArgument if the size is not a multiple of the new element's, or an element of either type contains a
// bool, because bytes of the other type need not be a valid bool, and ErrMisaligned if the beginning of the
// range, or adopted memory, is not aligned for the new elements.
func Reinterpret[U, T Element](b *Buffer[T]) (*Buffer[U], error) {
	const op = "Reinterpret"
	if err := b.check(op); err != nil {
		return nil, err
	}
	var zero U
	var was T
	elem, bools, err := elementOf[U](op)
	align := uint64(unsafe.Alignof(zero))
	switch {
	case err != nil:
		return nil, err
	case (bools || b.s.bools) && reflect.TypeFor[T]() != reflect.TypeFor[U]():
		return nil, hal.Errorf(op, hal.ErrInvalidArgument,
			"%T and %T share bytes of a bool, which must be true or false; copy the elements", was, zero)
	case b.Size()%elem != 0:
		return nil, hal.Errorf(op, hal.ErrInvalidArgument, "%d bytes are not a multiple of the element size, %d bytes", b.Size(), elem)
	case b.lo%align != 0:
		return nil, hal.Errorf(op, hal.ErrMisaligned, "elements must be aligned to %d bytes, and the range starts at byte %d", align, b.lo)
	case b.s.alignment%align != 0:
		return nil, hal.Errorf(op, hal.ErrMisaligned, "elements must be aligned to %d bytes, and the memory is aligned to %d",
			align, b.s.alignment)
	}
	return &Buffer[U]{s: b.s, own: b.own, lo: b.lo, hi: b.hi, slice: true}, nil
}

// Close frees all replicas, each when the work that uses it has finished; Close itself does not wait. It fails with a
// [ConflictError] while a lease or a function on the host uses the buffer. Closing again does nothing. Closing
// a slice is an error of kind ErrInvalidArgument.
func (b *Buffer[T]) Close() error {
	if err := b.check("Close"); err != nil {
		return err
	}
	if b.slice {
		return hal.Errorf("Close", hal.ErrInvalidArgument, "a slice is closed with its buffer")
	}
	err := b.s.close()
	if err == nil {
		b.own.cleanup.Stop()
	}
	return err
}

// closeUnless closes a new buffer unless returned is true. The call that has made b defers it.
func (b *Buffer[T]) closeUnless(returned *bool) {
	if !*returned {
		_ = b.Close()
	}
}

// elements returns the elements in the bytes [lo, hi) of the host's replica.
func (b *Buffer[T]) elements(lo, hi uint64) []T {
	var zero T
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b.s.host.Bytes[lo:hi]))), (hi-lo)/uint64(unsafe.Sizeof(zero)))
}

// elementSize returns the size of T in bytes.
func (b *Buffer[T]) elementSize() uint64 {
	var zero T
	return uint64(unsafe.Sizeof(zero))
}

// The String methods take no locks, so that observers may call them.

// String says how many elements of which type the buffer has, for fmt.Println and logs. It does not look at the elements.
func (b *Buffer[T]) String() string {
	var element T
	if b == nil || b.s == nil {
		return fmt.Sprintf("no buffer of %T", element)
	}
	if b.s.gone.Load() {
		return fmt.Sprintf("closed buffer of %d %T", b.Len(), element)
	}
	return fmt.Sprintf("buffer of %d %T", b.Len(), element)
}

// Element returns the zero value of the element type, for interfaces whose arguments are buffers of one type.
func (b *Buffer[T]) Element() (zero T) { return zero }

// close frees everything. Work under way goes on.
func (s *storage) close() error {
	s.mu.Lock()
	u, err := s.shut("Close")
	thrown := s.unlockFirst()
	u.Over()
	raise(thrown)
	return err
}

// shut is close for a caller that has locked the storage. The caller calls u.Over after unlocking it.
func (s *storage) shut(op string) (u *hostmem.LastUse, err error) {
	if s.closed {
		return nil, nil
	}
	if x := s.queue.Find(func(*access) bool { return true }); x != nil {
		e := s.conflictError(op, s.whole(protocol.Reset), "every place", x)
		e.Requested.Action = "Close"
		return nil, e
	}
	s.closed = true
	s.gone.Store(true)
	c := cause{op: "Close", action: protocol.Reset}
	var first error
	keep := func(err error) {
		if first == nil {
			first = err
		}
	}
	for _, r := range s.at[1:] {
		if r.Mem != nil {
			keep(r.free(c))
		}
	}
	u = s.dropHost(keep, c)
	return u, first
}
