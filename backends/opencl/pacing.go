//go:build opencl

package opencl

import (
	"runtime"
	"slices"
	"sync/atomic"
	"time"
)

// While some goroutines keep enqueueing on a stream, another goroutine that waits for the stream may never
// return, for two reasons in Intel's CPU runtime:
//
//   - A thread in clWaitForEvents helps to execute the queue's commands as long as there are any,
//     even after the event that it waits for has completed.
//   - The runtime keeps a list of the commands that use a block of unified shared memory, and searches
//     it whenever a command ends: a backlog of n commands takes time of order n² to finish.
//
// So on CPUs a call that enqueues pauses briefly in two cases: when a wait is overdue, so that the
// queue can become empty, and when the backlog is long. It never waits until work is done, because that
// work may be behind a gate that only this goroutine can open.
const (
	overdueEvery = 32                    // commands between two checks for overdue waits
	overduePause = 10 * time.Millisecond // at most
	backlog      = 1024                  // commands
	backlogPause = 20 * time.Microsecond
)

// pacing is a stream's record of its waits and its backlog. The stream's lock guards the fields that
// are not atomic.
type pacing struct {
	waiting []uintptr    // events that goroutines wait for; each goroutine owns a reference to its event
	waits   atomic.Int32 // len(waiting), to be read without the lock
	since   int          // commands since the checkpoint was last checked

	checkpoint uintptr     // event of an earlier command, or 0
	crowded    atomic.Bool // the backlog is long: the checkpoint's command is not known to be done
	look       atomic.Bool // the next call that enqueues checks for overdue waits
}

// waits records that a goroutine is about to wait for an event of the stream. s.mu is locked.
func (s *stream) waits(cl uintptr) {
	s.pacing.waiting = append(s.pacing.waiting, cl)
	s.pacing.waits.Add(1)
}

// waited records that a goroutine no longer waits for the event. s.mu is locked.
func (s *stream) waited(cl uintptr) {
	p := &s.pacing
	if i := slices.Index(p.waiting, cl); i >= 0 {
		p.waiting = slices.Delete(p.waiting, i, i+1)
		p.waits.Add(-1)
	}
}

// count counts a command that was enqueued. s.mu is locked.
func (s *stream) count(ev uintptr) {
	if !s.dev.hw.cpu {
		return
	}
	p := &s.pacing
	p.since++
	if p.since%overdueEvery == 0 && len(p.waiting) > 0 {
		p.look.Store(true)
	}
	if p.since < backlog {
		return
	}
	p.since = 0
	p.crowded.Store(true)
	s.passCheckpoint()
	if p.checkpoint == 0 {
		s.dev.t.retainEvent(ev)
		p.checkpoint = ev
	}
}

// passCheckpoint releases the checkpoint if its command is done. s.mu is locked.
func (s *stream) passCheckpoint() {
	p := &s.pacing
	if p.checkpoint != 0 {
		if !s.ended(p.checkpoint) {
			return
		}
		s.forget(&p.checkpoint)
	}
	p.crowded.Store(false)
}

// ended reports whether a command is done. It also reports true if the driver fails to report the command's
// status.
func (s *stream) ended(cl uintptr) bool {
	exec, st := s.dev.t.eventStatus(cl)
	return st != success || exec <= execComplete
}

// pace delays a call that is about to enqueue, if a wait is overdue or the backlog is long.
func (s *stream) pace() {
	p := &s.pacing
	if p.look.Load() && p.look.CompareAndSwap(true, false) {
		for start := time.Now(); time.Since(start) < overduePause && s.overdue(); {
			runtime.Gosched()
		}
	}
	if p.crowded.Load() {
		// A timer is too coarse: it may fire only after fifty times this pause.
		for start := time.Now(); time.Since(start) < backlogPause; {
			runtime.Gosched()
		}
		s.mu.Lock()
		s.passCheckpoint()
		s.mu.Unlock()
	}
}

// overdue reports whether a goroutine still waits for a command that is done.
func (s *stream) overdue() bool {
	if s.pacing.waits.Load() == 0 {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.pacing.waiting, s.ended)
}
