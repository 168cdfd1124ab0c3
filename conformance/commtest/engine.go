package commtest

import (
	"fmt"
	"unsafe"

	"github.com/go-halyard/halyard/internal/comm/bugs"
	"github.com/go-halyard/halyard/internal/comm/driver"
)

// engine is one rank's part in a job. The job's lock guards all but memory, which has its own.
type engine struct {
	job      *Job
	rank     int
	state    state
	world    *communicator
	requests map[driver.Request]*request // those that Test has not reported
	last     driver.Request
	comms    int // communicators that were made and not freed
	vain     int // calls of Test without a result since anything last happened
	memory   memory
}

var _ driver.Engine = (*engine)(nil)

func (e *engine) Info() driver.Info {
	return driver.Info{Name: "commtest", Version: "1", Launcher: "commtest", Thread: driver.ThreadMultiple, MaxTag: maxTag}
}

func (e *engine) World() driver.Comm { return e.world }

// usable returns why the rank cannot begin an operation, or nil. The job is locked.
func (e *engine) usable(op string) error {
	switch {
	case e.state == lost:
		return driver.Errorf(op, driver.ErrRankLost, "this rank was lost")
	case e.job.end != nil:
		err := *e.job.end
		err.Op = op
		return &err
	case e.state == left:
		return driver.Errorf(op, driver.ErrClosed, "this rank has left the job")
	}
	return nil
}

func (e *engine) Test(reqs []driver.Request, out []driver.Status) (done int, err error) {
	j := e.job
	j.mu.Lock()
	defer j.mu.Unlock()
	j.step()
	for i, id := range reqs {
		if id == 0 {
			continue
		}
		r := e.requests[id]
		if r == nil {
			return done, driver.Errorf("Test", driver.ErrInvalidArgument, "request %d of rank %d is not under way", id, e.rank)
		}
		if !r.done || j.cfg.adversary && j.rng.IntN(4) == 0 {
			if j.cfg.bug == bugs.ClearsOthers {
				out[i] = driver.Status{}
			}
			continue
		}
		out[i], reqs[i] = r.status, 0
		delete(e.requests, id)
		done++
	}
	if done > 0 {
		j.touch()
	} else {
		e.tried()
	}
	return done, nil
}

// tried counts a call of Test that had no result. The job is locked.
func (e *engine) tried() {
	if e.vain++; e.vain >= e.job.cfg.stuck {
		e.job.stuck()
	}
}

func (e *engine) Cancel(id driver.Request) error {
	j := e.job
	j.mu.Lock()
	defer j.mu.Unlock()
	r := e.requests[id]
	switch {
	case r == nil:
		return driver.Errorf("Cancel", driver.ErrInvalidArgument, "request %d of rank %d is not under way", id, e.rank)
	case j.cfg.bug == bugs.CancelsSends && !r.receives:
	case !r.receives:
		return driver.Errorf("Cancel", driver.ErrUnsupported, "%s cannot be cancelled", r)
	case j.cfg.bug == bugs.ForgetsCancel || j.cfg.bug == bugs.CancelsLate:
		r.cancelled = j.cfg.bug == bugs.CancelsLate
	case !r.done && r.group.withdraw(r):
		r.finish(driver.Status{Cancelled: true})
	}
	return nil
}

func (e *engine) Alloc(n uint64) (unsafe.Pointer, error) {
	p, err := e.memory.alloc(n)
	if err != nil {
		return nil, driver.Errorf("Alloc", driver.ErrOutOfMemory, "%d bytes: %v", n, err)
	}
	if e.job.cfg.bug == bugs.GivesUsedMemory {
		*(*byte)(p) = 0xa5
	}
	return p, nil
}

func (e *engine) Free(p unsafe.Pointer, n uint64) { e.memory.free(p) }

func (e *engine) Close() error {
	e.job.mu.Lock()
	defer e.job.mu.Unlock()
	e.job.depart(e.rank, left)
	return nil
}

// request is work under way.
type request struct {
	engine    *engine
	group     *group
	rank      int // in the group
	op        string
	p         unsafe.Pointer
	n         uint64
	peer, tag int
	receives  bool
	cancelled bool
	done      bool
	status    driver.Status
}

func (r *request) String() string {
	if r.receives {
		return fmt.Sprintf("Irecv of at most %d bytes (source %d, tag %d)", r.n, r.peer, r.tag)
	}
	if r.op == "Isend" {
		return fmt.Sprintf("Isend of %d bytes (dest %d, tag %d)", r.n, r.peer, r.tag)
	}
	return r.op
}

// begin registers a request, and returns its number.
func (e *engine) begin(r *request) driver.Request {
	e.last++
	e.requests[e.last] = r
	e.job.touch()
	return e.last
}

func (r *request) finish(s driver.Status) {
	if !r.done {
		r.done, r.status = true, s
		r.engine.job.touch()
	}
}

// fail ends a request, if it is not done, with err, to which it adds the request's operation, length, peer and tag.
func (r *request) fail(err *driver.Error) {
	if r.done {
		return
	}
	about := *err
	about.Op, about.Bytes = r.op, r.n
	if r.receives || r.op == "Isend" {
		about.Tag = r.tag
		if about.Peer == driver.NoPeer {
			about.Peer = r.peer
		}
	}
	r.finish(driver.Status{Err: &about})
}
