package buffer

import (
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
)

// Lease is the right to use elements of a buffer on one stream, from Acquire to Release. It is a small
// value that may be copied; after Release every copy of it is stale.
type Lease struct {
	own       *owner
	s         *storage
	slot, gen uint32
	lo, hi    uint64
	of        *group // the group with which it ends, or nil
}

// access returns the access of the lease, or nil if the lease is stale; the storage is locked.
func (l Lease) access() *access { return l.s.accesses.get(l.slot, l.gen) }

// Region returns the leased range of the device's memory, for copies and fills on the lease's stream, or the
// zero Region if the lease is stale.
func (l Lease) Region() hal.Region {
	if l.s == nil {
		return hal.Region{}
	}
	l.s.mu.Lock()
	defer l.s.mu.Unlock()
	x := l.access()
	if x == nil {
		return hal.Region{}
	}
	return x.replica.regionAs(x.mem, l.lo, l.hi)
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
	if l.s == nil {
		return coherence.Read
	}
	l.s.mu.Lock()
	defer l.s.mu.Unlock()
	if x := l.access(); x != nil {
		return coherence.Mode(x.mode)
	}
	return coherence.Read
}

// Release ends the lease. Later accesses wait for the work that has been enqueued on the stream since
// Acquire. Releasing a stale lease is an error of kind ErrClosed and changes nothing. A lease of [AcquireAll] ends
// with the others, and releasing it alone is an error of kind ErrInvalidArgument. If the
// stream has failed, or was closed, Release returns that error, but the lease has ended.
func (l Lease) Release() error { return l.release(nil) }

// ReleaseChecked is Release for work whose success the driver does not know, such as a copy of bytes that another process
// sends. check is called at most once, after the stream's work under the lease has ended, and before an access of the host reads the
// elements. If it returns an error, the elements are lost, as after [HostLease.Fail], and so are elements that later work has computed from
// them: until they are written again or reset, every access that reads one of them fails, with an error in which errors.Is finds the error of
// check. check must neither block nor use the buffer. If check is nil or the lease is for reading, ReleaseChecked returns an error of kind
// ErrInvalidArgument and the lease stays open.
func (l Lease) ReleaseChecked(check func() error) error {
	if check == nil {
		return hal.Errorf("release", hal.ErrInvalidArgument, "nil function")
	}
	return l.release(check)
}

func (l Lease) release(check func() error) error {
	if l.s == nil {
		return hal.Errorf("release", hal.ErrClosed, "not a lease")
	}
	if l.of != nil {
		return hal.Errorf("release", hal.ErrInvalidArgument, "a lease of AcquireAll ends with the others")
	}
	return l.s.release(l.slot, l.gen, check)
}
