package comm

import (
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/comm/driver"
)

// engine is what the communicators of one [Engine] share.
type engine struct {
	d       driver.Engine
	devices bool                        // DeviceMemory
	takes   [2]func(d *hal.Device) bool // whether a message, and a collective operation, takes a device's memory; nil if that of none
	maxTag  int
	pool    staging
	idle    operations
	lent    lent
	mover   mover
	order   sync.Mutex // held while RecvOn makes a gate and queues its receive: both must happen in one order
}

// smallest is the size of the smallest piece of memory, as a power of two.
const smallest = 12

// staging keeps memory of the engine from one operation for the next. Each piece is rounded up to a power of two. Together they are as
// large as the most that was in use at one time.
type staging struct {
	mu    sync.Mutex
	free  [64][]unsafe.Pointer // by size, a power of two
	comms int                  // open communicators
	lost  []*loss              // a few for each communicator at most: after the first loss of a request it refuses operations
}

// loss is a request that was given up, and the memory that may still be used: by the engine for the request, or by a stream up to the event.
type loss struct {
	req    driver.Request
	event  *hal.Event  // or nil
	passed atomic.Bool // the event has happened
	pieces [2]piece
}

// piece is memory of the engine; p is nil for none.
type piece struct {
	p    unsafe.Pointer
	size uint8 // log2 of the bytes
}

func (s *staging) take(d driver.Engine, n uint64) (piece, error) {
	size := max(bits.Len64(n-1), smallest)
	s.mu.Lock()
	if k := len(s.free[size]); k > 0 {
		p := s.free[size][k-1]
		s.free[size] = s.free[size][:k-1]
		s.mu.Unlock()
		return piece{p, uint8(size)}, nil
	}
	s.mu.Unlock()
	p, err := d.Alloc(1 << size)
	if err != nil {
		return piece{}, err
	}
	return piece{p, uint8(size)}, nil
}

func (s *staging) give(m piece) {
	if m.p == nil {
		return
	}
	s.mu.Lock()
	s.free[m.size] = append(s.free[m.size], m.p)
	s.mu.Unlock()
}

// abandon keeps memory of a request that was given up.
func (s *staging) abandon(l *loss) {
	s.mu.Lock()
	s.lost = append(s.lost, l)
	s.mu.Unlock()
	if e := l.event; e != nil {
		_ = e.OnDone(func(error) {
			l.passed.Store(true)
			_ = e.Close()
			if l.req == 0 {
				s.regain(l)
			}
		})
	}
}

// regain takes back memory that was kept for a stream, if the stream has finished with it. After the last communicator was closed it does
// nothing.
func (s *staging) regain(l *loss) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.Index(s.lost, l)
	if i < 0 {
		return
	}
	s.lost = slices.Delete(s.lost, i, i+1)
	s.takeBack(l)
}

// takeBack makes the memory of a loss free. s.mu is held.
func (s *staging) takeBack(l *loss) {
	for _, m := range l.pieces {
		if m.p != nil {
			s.free[m.size] = append(s.free[m.size], m.p)
		}
	}
}

// last reports whether only one communicator is open.
func (s *staging) last() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.comms == 1
}

func (s *staging) open() {
	s.mu.Lock()
	s.comms++
	s.mu.Unlock()
}

// used reports whether the memory may still be used.
func (l *loss) used(d driver.Engine) bool {
	if l.req != 0 {
		reqs, out := []driver.Request{l.req}, make([]driver.Status, 1)
		if n, err := d.Test(reqs, out); err != nil || n == 0 {
			return true
		}
	}
	if l.event == nil || l.passed.Load() {
		return false
	}
	done, err := l.event.Done()
	return !done && err == nil // an error: the event is closed, and it was closed only after it had happened
}

// close notes that a communicator was closed. With the last one it frees all memory, except what unfinished requests and copies may still use.
func (s *staging) close(d driver.Engine) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.comms--; s.comms > 0 {
		return
	}
	for _, l := range s.lost {
		if !l.used(d) {
			s.takeBack(l)
		}
	}
	s.lost = nil
	for size, list := range s.free {
		for _, p := range list {
			d.Free(p, 1<<size)
		}
		s.free[size] = nil
	}
}
