package comm

import (
	"math"
	"sort"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/internal/comm/driver"
)

// NewBuffer makes a buffer of n elements, which read as zeros, whose host memory is the engine's. Messages and collective operations use
// this memory directly, whereas elements of other buffers are copied to and from memory of the engine. For messages of 64 KiB or more
// within one machine, the copies take longer than the message itself. The engine does not give memory back to the system while it is
// open.
//
// Close the buffer before the last communicator. If an operation on it is given up because a context ended, the engine may still use the
// memory: the buffer then stays leased, and cannot be closed. [buffer.WithPinnedHost] is refused with an error of kind
// hal.ErrInvalidArgument, and so is a negative n; too little memory is an error of kind hal.ErrOutOfMemory.
func NewBuffer[T buffer.Element](c *Comm, n int, opts ...buffer.Option) (*buffer.Buffer[T], error) {
	const op = "NewBuffer"
	var zero T
	elem := int(unsafe.Sizeof(zero))
	switch {
	case c == nil:
		return nil, driver.Errorf(op, driver.ErrInvalidArgument, "nil communicator")
	case n < 0:
		return nil, driver.Errorf(op, driver.ErrInvalidArgument, "%d elements", n)
	case elem > 0 && n > math.MaxInt/elem:
		return nil, driver.Errorf(op, driver.ErrOutOfMemory, "%d elements of %d bytes", n, elem)
	}
	c.mu.Lock()
	closed := c.closed
	c.mu.Unlock()
	if closed {
		return nil, driver.Errorf(op, driver.ErrClosed, "the communicator was closed")
	}
	e, size := c.engine, max(uint64(n)*uint64(elem), 1) // an engine allocates at least a byte
	p, err := e.d.Alloc(size)
	if err != nil {
		return nil, broken(op, err)
	}
	e.lent.add(p, size)
	free := func() {
		e.lent.remove(p)
		e.d.Free(p, size)
	}
	b, err := buffer.AdoptSlice(unsafe.Slice((*T)(p), n), free, opts...)
	if err != nil {
		free()
		failure := driver.Errorf(op, driver.ErrInvalidArgument, "")
		failure.Err = err
		return nil, failure
	}
	return b, nil
}

// lent is the memory of an engine that buffers of NewBuffer have.
type lent struct {
	n    atomic.Int64 // number of buffers; while it is 0, as in most programs, the lock is not taken
	lost atomic.Int64 // number of those that cannot be closed, because an operation was given up
	mu   sync.RWMutex
	list []extent // by address
}

type extent struct {
	p    uintptr
	size uint64
	lost bool
}

// open is the number of buffers that the program still has to close.
func (l *lent) open() int64 { return l.n.Load() - l.lost.Load() }

func (l *lent) search(p uintptr) int {
	return sort.Search(len(l.list), func(i int) bool { return l.list[i].p > p })
}

func (l *lent) add(p unsafe.Pointer, size uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := l.search(uintptr(p))
	l.list = append(l.list, extent{})
	copy(l.list[i+1:], l.list[i:])
	l.list[i] = extent{p: uintptr(p), size: size}
	l.n.Add(1)
}

func (l *lent) remove(p unsafe.Pointer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := l.search(uintptr(p)) - 1; i >= 0 && l.list[i].p == uintptr(p) {
		l.list = append(l.list[:i], l.list[i+1:]...)
		l.n.Add(-1)
	}
}

// lose notes that an operation on the memory at p was given up, so the engine may still use this memory.
func (l *lent) lose(p unsafe.Pointer) {
	if l.n.Load() == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := l.search(uintptr(p)) - 1; i >= 0 && uint64(uintptr(p)-l.list[i].p) < l.list[i].size && !l.list[i].lost {
		l.list[i].lost = true
		l.lost.Add(1)
	}
}

// has reports whether the n bytes at p all lie in one buffer's memory.
func (l *lent) has(p unsafe.Pointer, n uint64) bool {
	if l.n.Load() == 0 {
		return false
	}
	l.mu.RLock()
	defer l.mu.RUnlock()
	i := l.search(uintptr(p)) - 1
	return i >= 0 && uint64(uintptr(p)-l.list[i].p)+n <= l.list[i].size
}
