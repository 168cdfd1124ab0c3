package buffer

import (
	"fmt"
	"unsafe"

	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
)

// Lease is the right to use elements of a buffer on one stream, from Acquire to Release. It is a small
// value that may be copied. After Release every copy of it is stale, which for a lease means: of no further use.
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

// String says which bytes of the buffer are leased, for fmt.Println and logs. It does not say whether the lease is stale.
func (l Lease) String() string {
	if l.x == nil {
		return "no lease"
	}
	return fmt.Sprintf("lease of bytes [%d, %d)", l.lo, l.hi)
}

// HostLease is the right to use elements of a buffer on the host, from AcquireHost to Release. It is for code
// that keeps an address for some time, such as a C library; Go code has View, Update and Overwrite. It is a
// small value that may be copied; after Release every copy of it is stale.
type HostLease struct {
	x   *access // nil in the zero HostLease
	gen uint64
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

// release ends the access of a lease.
func (s *storage) release(x *access, gen uint64, check func() error) (err error) {
	const op = "Release"
	refuseCallbacks()
	s.mu.Mutex.Lock()
	switch {
	case !x.of(gen):
		err = hal.Errorf(op, hal.ErrClosed, "the lease was released before")
	case x.grouped:
		err = hal.Errorf(op, hal.ErrInvalidArgument, "a lease of AcquireAll ends with the others")
	case check != nil && !x.Writes():
		err = hal.Errorf(op, hal.ErrInvalidArgument, "the lease is for reading, so its elements are unchanged")
	case x.awaited:
		if check != nil {
			if bad := check(); bad != nil {
				x.replica.taint(x.Lo, x.Hi, bad)
			}
		}
		s.end(x)
	default:
		if x.mem != nil {
			err = x.stream.RecordUse(x.mem) // the memory is not freed before the stream's work has ended
		}
		s.recordWork(x, check)
		s.end(x)
	}
	if s.thrown != nil {
		raise(s.unlockFirst())
	}
	s.mu.Unlock()
	return err
}
