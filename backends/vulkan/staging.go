//go:build vulkan

package vulkan

import (
	"slices"
	"sync"

	"github.com/go-halyard/halyard/hal/driver"
)

const (
	stageSize  = 1 << 20 // bytes of one stage
	mostStages = 16      // of one queue

	// The most bytes that a call which enqueues copies itself, and that are not worth a submission if the host can do the same.
	atOnce = 64 << 10
)

// stagingBlock is a stage: a block of host memory through which bytes pass that the device cannot copy from or to the program's own memory. A piece
// of a large copy has a stage for itself; small copies share one.
type stagingBlock struct {
	blk    *block
	used   uint64 // bytes that are handed out
	users  int    // copies that have a part and have not given it back
	number uint64 // of the submission after which it can be used again, if there are no users
}

// stagingPool are the stages of a queue. They are made when they are needed, and kept for later.
type stagingPool struct {
	q *queue

	mu    sync.Mutex
	made  int
	open  *stagingBlock   // the one that small copies share, or nil
	spare []*stagingBlock // without users, in the order in which they were put back
	queue []func()        // streams that wait for a stage; they take turns
}

// partAlign is where the parts of a stage begin: each has cache lines of its own.
const partAlign = 64

// take returns n bytes of a stage, from off: all of it, or if n is at most atOnce, a part of one that is shared. If there is none it
// returns nil, and has call called, which must not block, once it is worth another try. A nil call is not called.
func (p *stagingPool) take(op string, n uint64, call func()) (st *stagingBlock, off uint64, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	little := n <= atOnce
	if st = p.open; little && st != nil {
		if st.users == 0 {
			if done, _ := p.q.reached(st.number); done {
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
	if st, err = p.whole(op); st == nil && err == nil && p.retire() {
		st, err = p.whole(op)
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
	if len(p.spare) == 0 || !p.q.after(p.spare[0].number, call) {
		p.queue = append(p.queue, call)
		p.wake()
	}
	return nil, 0, nil
}

// whole returns a stage without users whose work is done, or nil; p.mu is held.
func (p *stagingPool) whole(op string) (*stagingBlock, error) {
	for i, st := range p.spare {
		if done, err := p.q.reached(st.number); done {
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
	blk, err := p.q.dev.newBlock(op, driver.KindHost, stageSize)
	if err == nil {
		p.made++
		return &stagingBlock{blk: blk}, nil
	}
	if p.made > 0 {
		return nil, nil // those that there are will do
	}
	return nil, err
}

// wake calls the first that waits if a stage can be used; p.mu is held.
func (p *stagingPool) wake() {
	if len(p.queue) == 0 || len(p.spare) == 0 {
		return
	}
	call := p.queue[0]
	if !p.q.after(p.spare[0].number, call) {
		call()
	}
	p.queue = slices.Delete(p.queue, 0, 1)
}

// put takes back what take has returned. The submission of that number uses it last.
func (p *stagingPool) put(st *stagingBlock, number uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	st.number = max(st.number, number)
	st.users--
	switch {
	case st == p.open:
		if len(p.queue) > 0 && p.retire() {
			p.wake()
		}
	case st.users == 0:
		p.spare = append(p.spare, st)
		p.wake()
	}
}

// retire makes the stage that small copies share one that all can take, if none of them uses it; p.mu is held.
func (p *stagingPool) retire() bool {
	if p.open == nil || p.open.users > 0 {
		return false
	}
	p.spare = append(p.spare, p.open)
	p.open = nil
	return true
}

// trim frees the stages that are not in use.
func (p *stagingPool) trim() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.retire()
	kept := p.spare[:0]
	for _, st := range p.spare {
		if done, _ := p.q.reached(st.number); !done {
			kept = append(kept, st)
			continue
		}
		p.q.dev.freeBlock(st.blk)
		p.made--
	}
	clear(p.spare[len(kept):])
	p.spare = kept
	p.wake()
}

// stagedOut are the pieces of the oldest operation of a stream that the device copies to stages. While the host copies
// one from its stage, the device fills the next.
type stagedOut struct {
	pieces [2]piece
	n      int
}

type piece struct {
	st     *stagingBlock
	off    uint64 // bytes from the start of the stage
	size   uint64 // bytes
	number uint64 // of the submission
}

// giveUp gives back the stages of pieces that nobody waits for any more.
func (out *stagedOut) giveUp(to *stagingPool) {
	for _, p := range out.pieces[:out.n] {
		to.put(p.st, p.number)
	}
	*out = stagedOut{}
}
