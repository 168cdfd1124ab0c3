package host

import (
	"sync"
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/span"
)

// Register implements driver.Registerer. The memory is page-locked if the system allows it (see PageLocked) and works the same if not.
// Handles on one device share their registrations; other devices have their own.
func (d *device) Register(ptr unsafe.Pointer, size uint64) (driver.Memory, error) {
	from := uintptr(ptr)
	to := from + uintptr(size)
	if !d.hardware.registered.add(from, to) {
		return nil, d.failure("register", driver.ErrBusy, "%d bytes at %#x overlap a registered range", size, from)
	}
	return &memory{dev: d, kind: driver.KindHost, base: ptr, size: size, visible: true, registered: true,
		locked: d.lock(from, to)}, nil
}

// addresses is the range [from, to).
func addresses(from, to uintptr) span.Range { return span.Range{Lo: uint64(from), Hi: uint64(to)} }

// ranges is a set of ranges that do not overlap.
type ranges struct {
	mu   sync.Mutex
	held cover
}

// add adds a range, and reports false if it overlaps one in the set.
func (r *ranges) add(from, to uintptr) bool {
	s := addresses(from, to)
	r.mu.Lock()
	defer r.mu.Unlock()
	if free := r.held.free(s); len(free) != 1 || free[0] != s {
		return false
	}
	r.held.add(s)
	return true
}

// has reports whether some addresses of s are in the set, and whether all are.
func (r *ranges) has(s span.Range) (some, all bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	free := r.held.free(s)
	return len(free) != 1 || free[0] != s, len(free) == 0
}

func (r *ranges) remove(from, to uintptr) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.held.remove(addresses(from, to))
}
