package comm

import (
	"math/bits"
	"sync"
	"unsafe"

	"github.com/go-halyard/halyard/internal/comm/driver"
)

// engine is what the communicators of one [Engine] share.
type engine struct {
	d      driver.Engine
	maxTag int
	pool   staging
	idle   operations
	lent   lent
}

// smallest is the size of the smallest piece of memory, as a power of two.
const smallest = 12

// staging keeps memory of the engine from one operation for the next. Each piece is rounded up to a power of two. Together they are as
// large as the most that was in use at one time.
type staging struct {
	mu    sync.Mutex
	free  [64][]unsafe.Pointer // by size, a power of two
	comms int                  // open communicators
	lost  []loss               // a few for each communicator at most, because a communicator refuses operations after its first loss
}

// loss is a request that was given up, and the memory that the engine may still use for it.
type loss struct {
	req    driver.Request
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
func (s *staging) abandon(l loss) {
	s.mu.Lock()
	s.lost = append(s.lost, l)
	s.mu.Unlock()
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

// close notes that a communicator was closed. With the last one it frees all memory, except what unfinished requests may still use.
func (s *staging) close(d driver.Engine) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.comms--; s.comms > 0 {
		return
	}
	for _, l := range s.lost {
		if n, err := d.Test([]driver.Request{l.req}, make([]driver.Status, 1)); err != nil || n == 0 {
			continue
		}
		for _, m := range l.pieces {
			if m.p != nil {
				s.free[m.size] = append(s.free[m.size], m.p)
			}
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
