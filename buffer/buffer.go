package buffer

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"unsafe"

	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/layer"
	"github.com/go-halyard/halyard/internal/protocol"
)

// Buffer is a sequence of numbers that is coherent over the host and all devices that use it, or a
// slice of one. It is closed by Close; its slices are not closed on their own. New and From make one. On a nil or zero Buffer every
// method that returns an error returns one of kind ErrInvalidArgument.
type Buffer[T Element] struct {
	s      *storage
	own    *owner
	lo, hi uint64 // bytes
	slice  bool
}

// owner is referred to by every Buffer, lease and open access of a storage. When it becomes unreachable, nobody can close the
// storage any more.
type owner struct {
	cleanup runtime.Cleanup
	_       [1]byte
}

// newHandle returns the Buffer that stands for all of a storage.
func newHandle[T Element](s *storage) *Buffer[T] {
	o := new(owner)
	o.cleanup = runtime.AddCleanup(o, (*storage).leaked, s)
	return &Buffer[T]{s: s, own: o, hi: s.size}
}

// leaked gives a buffer back that became unreachable without Close, and reports it. It runs on the runtime's cleanup goroutine, where
// nothing may wait.
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

// WithPinnedHost makes the buffer's host replica page-locked memory of the device, which then copies from
// and to it without holding up the caller, and uses it in place if the device is unified. Without
// this option the replica is ordinary memory, page-locked for a device when that is worth its price.
func WithPinnedHost(dev *hal.Device) Option { return func(s *storage) { s.homeOn = dev } }

// maxSize is the most bytes that a buffer may have: 1<<62, or what an int can count.
const maxSize = min(1<<62, math.MaxInt)

// New returns a buffer of n elements, n > 0, that reads as zeros. No memory is taken before a place
// is used.
func New[T Element](n int, opts ...Option) (*Buffer[T], error) {
	const op = "new buffer"
	var zero T
	elem := uint64(unsafe.Sizeof(zero))
	switch {
	case n <= 0:
		return nil, hal.Errorf(op, hal.ErrInvalidArgument, "%d elements; a buffer needs at least one", n)
	case uint64(n) > maxSize/elem:
		return nil, hal.Errorf(op, hal.ErrOutOfRange, "%d elements of %d bytes are more than a buffer can hold", n, elem)
	}
	return newHandle[T](newStorage(elem, uint64(n)*elem, opts)), nil
}

// From returns a buffer with a copy of data, which must not be empty, as its host replica.
func From[T Element](data []T, opts ...Option) (*Buffer[T], error) {
	b, err := New[T](len(data), opts...)
	if err != nil {
		return nil, err
	}
	if err := b.Overwrite(context.Background(), func(s []T) error { copy(s, data); return nil }); err != nil {
		_ = b.Close()
		return nil, err
	}
	return b, nil
}

// made reports whether b is neither nil nor the zero Buffer, which no call returned.
func (b *Buffer[T]) made() bool { return b != nil && b.s != nil }

func (b *Buffer[T]) check(op string) error {
	if !b.made() {
		return hal.Errorf(op, hal.ErrInvalidArgument, "nil or zero buffer")
	}
	return nil
}

// Len is the number of elements.
func (b *Buffer[T]) Len() int { return int(b.Size() / b.elementSize()) }

// Size is the number of bytes.
func (b *Buffer[T]) Size() uint64 {
	if b == nil {
		return 0
	}
	return b.hi - b.lo
}

// View runs fn on the elements, for reading. It waits for the work that they depend on, and for
// accesses that write to them; other readers may run at the same time. The slice must not be changed, nor kept
// after fn returns. The error is fn's own, or tells why fn was not run.
//
// Accesses are served in the order in which they come. Do not nest reads, as with sync.RWMutex: a View from within fn, or while the caller
// has a lease, waits for a write that came in between, and that write waits for the outer access. Only the context ends such a wait.
func (b *Buffer[T]) View(ctx context.Context, fn func([]T) error) error {
	return b.access(ctx, "View", protocol.Read, fn)
}

// Update runs fn on the elements, for reading and writing. It waits for the work that they depend on
// and for all other accesses to them. When fn returns, with or without an error, every other replica
// of the elements is stale.
//
// An access to the same elements from within fn waits for fn to return, and so until its own context ends.
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
	if err := b.check(op); err != nil {
		return err
	}
	x, err := b.s.enterPart(ctx, op, b.own, part{b.lo, b.hi, a})
	if err != nil {
		return err
	}
	defer b.s.leave(x)
	return fn(unsafe.Slice((*T)(b.s.host.pointer(b.lo)), b.Len()))
}

// TryAcquire makes the elements current on the stream's device, for the program's own work on that
// stream, and returns a lease on them. mode is coherence.Read, ReadWrite, or Overwrite if that work
// writes every element and reads none. What is needed is enqueued on the stream; TryAcquire does
// not wait. If another access excludes this one, the error is a [ConflictError]. If the bytes are still on their way from
// another device, and the stream cannot be made to wait for them (its device has no [hal.CapGate], or reads the host's memory during the
// call that enqueues a copy), the error is of kind ErrNotReady. Acquire waits in both cases.
//
// Accesses are served in the order in which they come: an earlier access excludes this one even if it is itself still waiting, if the
// two share an element and one of them writes.
func (b *Buffer[T]) TryAcquire(stream *hal.Stream, mode coherence.Mode) (Lease, error) {
	const op = "TryAcquire"
	if err := b.check(op); err != nil {
		return Lease{}, err
	}
	x, err := b.s.acquirePart(context.Background(), op, b.own, stream, part{b.lo, b.hi, protocol.Action(mode)}, true)
	return b.lease(x), err
}

// Acquire is TryAcquire that waits, until ctx ends, for accesses that exclude it and for bytes on their way.
func (b *Buffer[T]) Acquire(ctx context.Context, stream *hal.Stream, mode coherence.Mode) (Lease, error) {
	const op = "Acquire"
	if err := b.check(op); err != nil {
		return Lease{}, err
	}
	x, err := b.s.acquirePart(ctx, op, b.own, stream, part{b.lo, b.hi, protocol.Action(mode)}, false)
	return b.lease(x), err
}

// lease is the lease on an access, the zero Lease for none.
func (b *Buffer[T]) lease(x *access) Lease {
	if x == nil {
		return Lease{}
	}
	return Lease{own: b.own, s: b.s, slot: x.slot, gen: x.gen, lo: x.lo, hi: x.hi}
}

// Slice returns the elements [i, j), i < j, as a buffer over the same storage. It takes no
// memory, and is closed with the buffer that it is a part of.
func (b *Buffer[T]) Slice(i, j int) (*Buffer[T], error) {
	if err := b.check("Slice"); err != nil {
		return nil, err
	}
	n := b.Len()
	if i < 0 || j > n || i >= j {
		return nil, hal.Errorf("Slice", hal.ErrOutOfRange, "[%d, %d) of %d elements", i, j, n)
	}
	elem := b.elementSize()
	lo := b.lo + uint64(i)*elem
	return &Buffer[T]{s: b.s, own: b.own, lo: lo, hi: lo + uint64(j-i)*elem, slice: true}, nil
}

// Close frees all replicas, each once the work that uses it has finished; Close itself does not wait. It fails with a
// [ConflictError] while a lease or a function on the host uses the buffer. Closing again does nothing. Closing
// a slice is an error of kind ErrInvalidArgument.
func (b *Buffer[T]) Close() error {
	if err := b.check("close"); err != nil {
		return err
	}
	if b.slice {
		return hal.Errorf("close", hal.ErrInvalidArgument, "a slice is closed with its buffer")
	}
	err := b.s.close()
	if err == nil {
		b.own.cleanup.Stop()
	}
	return err
}
