package host

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-halyard/halyard/hal/driver"
)

// event stands for the operations of a stream up to a certain number.
type event struct {
	dev    *device
	timing bool

	stream atomic.Pointer[stream] // nil if never recorded, or known to be done; written under mu
	failed atomic.Bool            // err is not nil; written under mu

	mu       sync.Mutex
	done     uint64        // number of operations of stream that it stands for
	told     uint64        // of these, the number whose errors the stream had reported before the record
	err      error         // of the operations, once the event is done
	recorded uint64        // number of records
	stamped  bool          // stamp belongs to the last record
	stamp    time.Duration // since epoch
}

var (
	_ driver.Event = (*event)(nil)
	_ driver.Timer = (*event)(nil)
)

// epoch is the time from which time stamps count, so that they are short and monotonic.
var epoch = time.Now()

// record makes e stand for the first done operations of s and returns how many times it has been recorded.
func (e *event) record(s *stream, done uint64) uint64 {
	over := s.done.Load() >= done
	faulty := s.faulty.Load() // after done: an operation that fails ends after that is known
	if over && !faulty {
		s = nil
		if !e.timing && e.stream.Load() == nil && !e.failed.Load() {
			return 0 // e is done already, and without timing the number of records is not used
		}
	}
	e.mu.Lock()
	e.done, e.told, e.err = done, 0, nil
	e.failed.Store(false)
	if faulty {
		e.told = s.reported.Load()
	}
	e.stream.Store(s)
	e.recorded++
	e.stamped = false
	n := e.recorded
	e.mu.Unlock()
	return n
}

// stampNow sets the time of the n-th record, unless a later one has replaced it.
func (e *event) stampNow(n uint64) {
	now := time.Since(epoch)
	e.mu.Lock()
	if e.recorded == n {
		e.stamp, e.stamped = now, true
	}
	e.mu.Unlock()
}

// pending returns the stream that e still waits for and the number of operations that
// the stream must have done. The stream is nil if e is done.
func (e *event) pending() (*stream, uint64) {
	if e.stream.Load() == nil {
		return nil, 0
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.stream.Load()
	if s == nil || s.done.Load() < e.done {
		return s, e.done
	}
	if s.faulty.Load() {
		n, told, done := e.recorded, e.told, e.done
		e.mu.Unlock() // the stream's lock comes before the event's
		err := s.failure(told, done)
		e.mu.Lock()
		if e.recorded != n {
			return e.stream.Load(), e.done
		}
		e.err = err
		e.failed.Store(err != nil)
	}
	e.stream.Store(nil)
	return nil, e.done
}

// result returns the error of the operations; e is done.
func (e *event) result() error {
	if !e.failed.Load() {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.err
}

func (e *event) Query() (bool, error) {
	if s, _ := e.pending(); s != nil {
		return false, nil
	}
	return true, e.result()
}

func (e *event) Sync() error {
	if s, done := e.pending(); s != nil {
		s.await(done)
		e.pending()
	}
	return e.result()
}

// Elapsed implements driver.Timer. If an event has no Timing or was never recorded, the error is of kind ErrInvalidArgument.
func (e *event) Elapsed(since driver.Event) (time.Duration, error) {
	from, err := since.(*event).time()
	if err != nil {
		return 0, err
	}
	to, err := e.time()
	if err != nil {
		return 0, err
	}
	return to - from, nil
}

// time returns the time stamp of the last record.
func (e *event) time() (time.Duration, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case !e.timing:
		return 0, e.dev.failure("elapsed", driver.ErrInvalidArgument, "the event was made without timing")
	case e.recorded == 0:
		return 0, e.dev.failure("elapsed", driver.ErrInvalidArgument, "the event was never recorded")
	case !e.stamped:
		return 0, e.dev.failure("elapsed", driver.ErrNotReady, "the event's work has not finished")
	}
	return e.stamp, nil
}

func (e *event) Close() error { return nil }
