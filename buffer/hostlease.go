package buffer

import (
	"context"
	"unsafe"

	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/protocol"
)

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
	x, err := b.s.enterPart(ctx, op, b.own, newPart(b.lo, b.hi, protocol.Action(mode)))
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
	return x.storage.host.Pointer(x.Lo)
}

// Release ends the lease. Releasing a stale lease is an error of kind ErrClosed and changes nothing.
func (l HostLease) Release() error {
	x, err := l.open("release")
	if err != nil {
		return err
	}
	defer x.storage.unlock()
	x.storage.finish(x)
	return nil
}

// Fail ends a lease for writing whose elements could not be written as intended. The elements are lost: until they are written again or
// reset, every access that reads one of them fails with an error of kind hal.ErrDeviceLost, in which errors.Is finds cause. If cause is nil or
// the lease is for reading, Fail returns an error of kind ErrInvalidArgument and the lease stays open.
func (l HostLease) Fail(cause error) error {
	const op = "fail"
	if cause == nil {
		return hal.Errorf(op, hal.ErrInvalidArgument, "nil cause")
	}
	x, err := l.open(op)
	if err != nil {
		return err
	}
	s := x.storage
	defer s.unlock()
	if !x.writes {
		return hal.Errorf(op, hal.ErrInvalidArgument, "the lease is for reading, so its elements are unchanged")
	}
	s.host.replica.spoil(x.Lo, x.Hi, cause)
	s.finish(x)
	return nil
}

// open returns the access of the lease, with the storage locked, or an error, with the storage unlocked, if the lease is stale.
func (l HostLease) open(op string) (*access, error) {
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
