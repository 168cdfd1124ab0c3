package pool

import (
	"math/bits"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"
)

// lane holds free blocks, each in the bin of its class, the last freed on top.
type lane struct {
	mu   sync.Mutex
	dead bool // its domain was retired, so the caller has to find the domain again
	tally
	freed uint64 // bytes since the last batch
	bins  [classes]*record
	_     [64]byte // keeps the next lane off the last cache line of this one
}

// tally counts the blocks given out and taken back by one lane or heap, under its lock. A block may come back
// to another lane, so that only the sum over all tallies means anything.
type tally struct {
	allocs       uint64
	blocks       int64 // live
	asked, holds int64 // bytes that were asked for in live blocks, and bytes that these occupy
}

func (t *tally) out(asked, holds uint64) {
	t.allocs++
	t.blocks++
	t.asked += int64(asked)
	t.holds += int64(holds)
}

func (t *tally) in(asked, holds uint64) {
	t.blocks--
	t.asked -= int64(asked)
	t.holds -= int64(holds)
}

func (t *tally) add(o tally) {
	t.allocs += o.allocs
	t.blocks += o.blocks
	t.asked += o.asked
	t.holds += o.holds
}

// push puts a record on top of its bin; mu is held.
func (l *lane) push(r *record, class int) {
	r.next = l.bins[class]
	l.bins[class] = r
}

// pop returns a record of at least size bytes that was freed no later than an epoch, or nil. It looks
// at the first few records only; mu is held.
func (l *lane) pop(class int, size, epoch uint64) *record {
	const few = 32
	at := &l.bins[class]
	for range few {
		r := *at
		if r == nil {
			return nil
		}
		if r.cap >= size && r.epoch <= epoch {
			*at = r.next
			r.next = nil
			return r
		}
		at = &r.next
	}
	return nil
}

// sift removes the records for which take returns true; mu is held.
func (l *lane) sift(take func(r *record) bool) {
	for c := range l.bins {
		at := &l.bins[c]
		for *at != nil {
			r := *at
			next := r.next
			if take(r) {
				*at = next
			} else {
				at = &r.next
			}
		}
	}
}

// shelf is the lanes of one stream and kind of memory: one at first, more when several goroutines
// use the stream at once.
type shelf struct {
	lanes  atomic.Pointer[[]*lane]
	misses atomic.Uint32 // how often a goroutine found its lane locked
	spread sync.Mutex
	dead   bool // no more lanes; guarded by spread
}

const (
	mostLanes    = 32
	missesSpread = 16
)

func newShelf() *shelf {
	s := &shelf{}
	s.lanes.Store(&[]*lane{new(lane)})
	return s
}

// lock locks a lane and returns it: the goroutine's own, or any other that is free.
func (s *shelf) lock() *lane {
	lanes := *s.lanes.Load()
	// Different goroutines have different stacks: their addresses tell them apart.
	var here byte
	i := hash(unsafe.Pointer(&here), 13) & uint64(len(lanes)-1)
	l := lanes[i]
	if l.mu.TryLock() {
		return l
	}
	return s.lockTaken(lanes, i)
}

func (s *shelf) lockTaken(lanes []*lane, i uint64) *lane {
	if s.misses.Add(1)%missesSpread == 0 {
		s.widen(len(lanes))
		lanes = *s.lanes.Load()
	}
	for n := range uint64(len(lanes)) {
		l := lanes[(i+n)&uint64(len(lanes)-1)]
		if l.mu.TryLock() {
			return l
		}
	}
	lanes[i].mu.Lock()
	return lanes[i]
}

// widen doubles the number of lanes if it is still equal to from, is below the limit, and the shelf is not dead.
func (s *shelf) widen(from int) {
	s.spread.Lock()
	defer s.spread.Unlock()
	old := *s.lanes.Load()
	if s.dead || len(old) != from || from >= min(mostLanes, 2*runtime.GOMAXPROCS(0)) {
		return
	}
	lanes := make([]*lane, 2*len(old))
	for i := copy(lanes, old); i < len(lanes); i++ {
		lanes[i] = new(lane)
	}
	s.lanes.Store(&lanes)
}

// kill makes the shelf refuse blocks.
func (s *shelf) kill() {
	s.spread.Lock()
	s.dead = true
	s.spread.Unlock()
	s.each(func(l *lane) bool {
		l.dead = true
		return true
	})
}

// each calls fn with each lane, locked, until fn returns false.
func (s *shelf) each(fn func(l *lane) bool) {
	for _, l := range *s.lanes.Load() {
		l.mu.Lock()
		more := fn(l)
		l.mu.Unlock()
		if !more {
			return
		}
	}
}

// Sizes are counted in units of the alignment and grouped into classes: one for each number of units
// up to 8, then 8 to each doubling. A size is less than an eighth below the top of its class.
const (
	classes = 320
	// mostUnits is the top of the last class.
	mostUnits = 16 << ((classes - 16) / 8)
)

// classOf is the class of n units, which is at least 1 and at most mostUnits.
func classOf(n uint64) int {
	if n <= 8 {
		return int(n - 1)
	}
	s := bits.Len64(n-1) - 4
	return 8*s + int((n-1)>>uint(s))
}

// unitsOf is the top of a class: the number of units of its blocks.
func unitsOf(class int) uint64 {
	if class < 8 {
		return uint64(class + 1)
	}
	s := uint(class-8) / 8
	return (uint64(class-8)%8 + 9) << s
}

// floorClass is the highest class whose blocks fit in n units, at least 1.
func floorClass(n uint64) int {
	if n <= 8 {
		return int(n - 1)
	}
	if n >= mostUnits {
		return classes - 1
	}
	s := bits.Len64(n) - 4
	return 8*s + int(n>>uint(s)) - 1
}
