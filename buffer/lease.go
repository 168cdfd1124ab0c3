package buffer

import (
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
)

// Lease is the right to use elements of a buffer on one stream, from Acquire to Release. It is a small
// value that may be copied; after Release every copy of it is stale, and says so.
type Lease struct {
	own       *owner
	s         *storage
	slot, gen uint32
	lo, hi    uint64
	of        *group // the group that it ends with, or nil
}

// access returns what the lease stands for, nil if it is stale; the storage is locked.
func (l Lease) access() *access { return l.s.accesses.get(l.slot, l.gen) }

// Region is the leased range of the device's memory, for copies and fills on the lease's stream; the
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

// Pointer is what a kernel takes: the address of the first leased element on devices that have addresses
// ([hal.CapAddress]), else the handle of the whole memory (a cl_mem), in which the elements
// begin at byte Region().Off. It is 0 if the lease is stale.
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

// Mode is what the lease was acquired for, coherence.Read if the lease is stale.
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

// Release ends the lease. Later accesses wait for the work that the stream has been given since
// Acquire. Releasing a stale lease is an error of kind ErrClosed and changes nothing; a lease of [AcquireAll] ends
// with the others, and to release it alone is an error of kind ErrInvalidArgument. If the
// stream has failed, or was closed, the lease ends all the same, and the error says so.
func (l Lease) Release() error { return l.release(nil) }

// ReleaseChecked is Release for work whose success the driver cannot know, such as a copy of bytes that another process was to
// send. check is called at most once, after the stream's work under the lease has ended, and before the host is shown its elements. If it
// returns an error, the elements are lost, as after [HostLease.Fail], and so is what the stream has made of them meanwhile: until they are
// written anew or reset, every access that reads one of them fails, and errors.Is finds the error of check. check must not block, nor use
// the buffer. A nil check and a lease for reading are errors of kind ErrInvalidArgument, after which the lease is still open.
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
