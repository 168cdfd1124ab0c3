//go:build vulkan

package vulkan

import (
	"slices"
	"sync"
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/memcopy"
)

const (
	stageSize  = 1 << 20 // bytes of one stage
	mostStages = 16      // of one device
)

// stage is a block of host memory through which bytes pass that the device cannot copy from or to the program's own memory. A piece
// of a large copy has a stage for itself; small copies share one.
type stage struct {
	blk    *block
	used   uint64 // bytes that are handed out
	users  int    // copies that have a part and have not given it back
	number uint64 // of the submission after which it can be used again, if there are no users
}

// stages are the stages of a queue. They are made when they are needed, and kept for later.
type stages struct {
	mu    sync.Mutex
	made  int
	open  *stage   // the one that small copies share, or nil
	spare []*stage // without users, in the order in which they were put back
	queue []func() // streams that wait for a stage; they take turns
}

// partAlign is where the parts of a stage begin: each has cache lines of its own.
const partAlign = 64

// take returns n bytes of a stage, from off: a whole stage, or if n is at most atOnce, a part of a shared one. If no stage is free, it returns
// nil, and calls call when the caller should try again. call must not block, and may be nil.
func (p *stages) take(op string, q *queue, n uint64, call func()) (st *stage, off uint64, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	little := n <= atOnce
	if st = p.open; little && st != nil {
		if st.users == 0 {
			if done, _ := q.reached(st.number); done {
				st.used = 0
			}
		}
		if st.used+n <= stageSize {
			off = st.used
			st.used += (n + partAlign - 1) &^ (partAlign - 1)
			st.users++
			return st, off, nil
		}
		p.retire()
		p.open = nil
	}
	if st, err = p.whole(op, q); st == nil && err == nil && p.retire() {
		st, err = p.whole(op, q)
	}
	if err != nil {
		for _, call := range p.queue { // perhaps no later call wakes them, so they try again now
			call()
		}
		p.queue = nil
		return nil, 0, err
	}
	if st != nil {
		st.used, st.users = stageSize, 1
		if little {
			st.used = (n + partAlign - 1) &^ (partAlign - 1)
			p.open = st
		}
		return st, 0, nil
	}
	if call == nil {
		return nil, 0, nil
	}
	if len(p.spare) == 0 || !q.after(p.spare[0].number, call) {
		p.queue = append(p.queue, call)
		p.wake(q)
	}
	return nil, 0, nil
}

// whole returns a stage without users whose work is done, or nil; p.mu is held.
func (p *stages) whole(op string, q *queue) (*stage, error) {
	for i, st := range p.spare {
		if done, err := q.reached(st.number); done {
			p.spare = slices.Delete(p.spare, i, i+1)
			return st, nil
		} else if err != nil {
			return nil, err
		}
		if p.made < mostStages {
			break // a new one is cheaper than to ask about each
		}
	}
	if p.made == mostStages {
		return nil, nil
	}
	blk, err := q.dev.newBlock(op, driver.KindHost, stageSize)
	if err == nil {
		p.made++
		return &stage{blk: blk}, nil
	}
	if p.made > 0 {
		return nil, nil // those that there are will do
	}
	return nil, err
}

// wake calls the first that waits if a stage can be used; p.mu is held.
func (p *stages) wake(q *queue) {
	if len(p.queue) == 0 || len(p.spare) == 0 {
		return
	}
	call := p.queue[0]
	if !q.after(p.spare[0].number, call) {
		call()
	}
	p.queue = slices.Delete(p.queue, 0, 1)
}

// put takes back what take has returned. The submission of that number uses it last.
func (p *stages) put(q *queue, st *stage, number uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	st.number = max(st.number, number)
	st.users--
	switch {
	case st == p.open:
		if len(p.queue) > 0 && p.retire() {
			p.wake(q)
		}
	case st.users == 0:
		p.spare = append(p.spare, st)
		p.wake(q)
	}
}

// retire makes the stage that small copies share one that all can take, if none of them uses it; p.mu is held.
func (p *stages) retire() bool {
	if p.open == nil || p.open.users > 0 {
		return false
	}
	p.spare = append(p.spare, p.open)
	p.open = nil
	return true
}

// trim frees the stages that are not in use.
func (p *stages) trim(q *queue) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.retire()
	kept := p.spare[:0]
	for _, st := range p.spare {
		if done, _ := q.reached(st.number); !done {
			kept = append(kept, st)
			continue
		}
		q.dev.freeBlock(st.blk)
		p.made--
	}
	clear(p.spare[len(kept):])
	p.spare = kept
	p.wake(q)
}

// stageIn copies host memory to dst through stages. Of the operation it removes what it has submitted, so that it can go on after it was
// held up.
func (s *stream) stageIn(enqueuing bool) (held bool, err error) {
	q := s.q
	if s.ops.first().drain && q.after(s.tail, s.work) {
		return true, nil
	}
	for s.ops.first().n > 0 {
		o := *s.ops.first()
		n := min(o.n, stageSize)
		if enqueuing && n > atOnce {
			s.work()
			return true, nil
		}
		st, off, err := q.stages.take(o.name, q, n, s.work)
		if st == nil {
			return err == nil, err
		}
		s.copyOutside(enqueuing, unsafe.Add(st.blk.host, off), o.from, n)
		err = s.submitCopy(o.name, o.dst, place{st.blk.buffer, off}, n)
		q.stages.put(q, st, s.tail)
		if err != nil {
			return false, err
		}
		if o.n == n {
			break // a pointer behind the memory's end would be a bad one
		}
		left := s.ops.first()
		left.from, left.dst.off, left.n = unsafe.Add(o.from, n), o.dst.off+n, o.n-n
	}
	return false, nil
}

// stagedOut are the pieces of the oldest operation, of kind opStageOut, that the device copies to stages. While the host copies
// one from its stage, the device fills the next.
type stagedOut struct {
	pieces [2]piece
	n      int
}

type piece struct {
	st     *stage
	off    uint64 // bytes from the start of the stage
	size   uint64 // bytes
	number uint64 // of the submission
}

// stageOut copies src to host memory through stages, and can go on after it was held up, as stageIn.
func (s *stream) stageOut(enqueuing bool) (held bool, err error) {
	q, out := s.q, &s.out
	for {
		for o := s.ops.first(); o.n > 0 && out.n < len(out.pieces); {
			call := s.work
			if out.n > 0 {
				call = nil // the pieces under way come first
			}
			n := min(o.n, stageSize)
			st, off, err := q.stages.take(o.name, q, n, call)
			if err == nil && st == nil {
				if out.n == 0 {
					return true, nil
				}
				break
			}
			if err == nil {
				if err = s.submitCopy(o.name, place{st.blk.buffer, off}, o.src, n); err != nil {
					q.stages.put(q, st, 0)
				}
			}
			if err != nil {
				out.giveUp(q)
				return false, err
			}
			o.src.off, o.n = o.src.off+n, o.n-n
			out.pieces[out.n] = piece{st, off, n, s.tail}
			out.n++
		}
		if out.n == 0 {
			return false, nil
		}
		p := out.pieces[0]
		if q.after(p.number, s.work) {
			return true, nil
		}
		if err := q.dev.lost.Load(); err != nil {
			out.giveUp(q)
			return false, err
		}
		if enqueuing && p.size > atOnce {
			s.work()
			return true, nil
		}
		to := s.ops.first().to
		s.copyOutside(enqueuing, to, unsafe.Add(p.st.blk.host, p.off), p.size)
		out.pieces[0], out.pieces[1] = out.pieces[1], piece{}
		out.n--
		q.stages.put(q, p.st, p.number)
		if out.n > 0 || s.ops.first().n > 0 {
			s.ops.first().to = unsafe.Add(to, p.size) // not at the end: a pointer behind the memory would be a bad one
		}
	}
}

// giveUp gives back the stages of pieces that nobody waits for any more.
func (out *stagedOut) giveUp(q *queue) {
	for _, p := range out.pieces[:out.n] {
		q.stages.put(q, p.st, p.number)
	}
	*out = stagedOut{}
}

// copyOutside copies on the host without the stream's lock, so that enqueueing does not wait for it. The call that enqueues itself keeps
// the lock: it copies little.
func (s *stream) copyOutside(enqueuing bool, dst, src unsafe.Pointer, n uint64) {
	if !enqueuing {
		s.mu.Unlock()
		defer s.mu.Lock()
	}
	memcopy.Move(dst, src, n)
}
