package hal

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/go-halyard/halyard/hal/driver"
)

// Mark is a point in a stream: an event that is recorded once, counted by its users and
// then used again by its device. It is what coherent buffers are built from; programs
// that order a few streams by hand are better served by [Event].
//
// A mark begins with one reference. The holder of a reference may call every method;
// after the last Release the mark must not be used.
type Mark struct {
	dev    *deviceState
	stream *streamState
	drv    driver.Event

	// round counts records, and only the one holder that makes one changes it; passed is the latest round whose work is known
	// to have finished.
	round  uint64
	passed atomic.Uint64

	// users counts references in its low half; the high half counts what goes on behind
	// the holders' backs, and keeps the mark from being used again without
	// counting as open. It is 1 while the mark is spare: storing it then would cost what counting does.
	users atomic.Int64
}

const pin = int64(1) << 32

// Mark records the work that the stream has been given so far.
func (s *Stream) Mark() (*Mark, error) {
	if err := s.s.begin("mark"); err != nil {
		return nil, err
	}
	m, err := s.s.mark()
	s.s.end()
	return m, err
}

func (s *streamState) mark() (*Mark, error) {
	m, err := s.dev.takeMark()
	if err != nil {
		return nil, err
	}
	if err := s.drv.Record(m.drv); err != nil {
		m.dev.putMark(m, true)
		return nil, s.dev.check(err)
	}
	m.stream = s
	m.round++
	return m, nil
}

// MarkAgain moves a mark of the stream's device to what the stream has been given so far, and reports whether it
// has: only if the caller's is the one reference, and nothing waits for the mark behind the caller's back. It saves
// a Release and a Mark. Nobody else may use the mark meanwhile.
func (s *Stream) MarkAgain(m *Mark) bool {
	if m.users.Load() != 1 || m.dev != s.s.dev || s.s.begin("mark") != nil {
		return false
	}
	err := s.s.drv.Record(m.drv)
	if err == nil {
		m.stream = s.s
		m.round++
	}
	s.s.end()
	return err == nil
}

// On reports whether the mark lies on s, so that work of s needs no wait for it.
func (m *Mark) On(s *Stream) bool { return m.stream == s.s }

// Retain adds a reference.
func (m *Mark) Retain() { m.users.Add(1) }

// Release drops a reference.
func (m *Mark) Release() {
	if m.users.Load() == 1 { // nobody else can be there to add to it
		m.dev.putMark(m, true)
		return
	}
	left := m.users.Add(-1)
	if left == 0 {
		m.users.Store(1)
	}
	if left&(pin-1) == 0 {
		m.dev.putMark(m, left == 0)
	}
}

// pin keeps the mark and its device until unpin.
func (m *Mark) pin() {
	m.users.Add(pin)
	m.dev.stay() // the mark keeps it open
}

func (m *Mark) unpin() {
	if m.users.Add(-pin) == 0 {
		m.users.Store(1)
		m.dev.recycle(m)
	}
	m.dev.end()
}

// whenDone calls fn with the error of the marked work when that has finished, soon after. The mark need not be held until then, and its
// device, if it is closed, waits.
func (m *Mark) whenDone(fn func(error)) {
	m.pin()
	var failure error
	m.dev.reaper.put(reaped{quiet: true, ready: func() (over bool) {
		over, failure = m.Done()
		return over || failure != nil
	}, finish: func() {
		fn(failure)
		go m.unpin() // which may be what closes the device
	}})
}

// Outcome is how the work ends that a mark stands for. It is safe for concurrent use, and nothing has to be given back.
type Outcome struct {
	over latch

	mu   sync.Mutex
	mark *Mark // nil once it is over
	err  error
}

// Outcome is for asking how the marked work has ended without a reference to the mark, which would keep its device open.
func (m *Mark) Outcome() *Outcome {
	o := &Outcome{mark: m}
	m.whenDone(func(err error) {
		o.mu.Lock()
		o.mark, o.err = nil, err
		o.mu.Unlock()
		o.over.open()
	})
	return o
}

// Done is as [Mark.Done].
func (o *Outcome) Done() (bool, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.mark == nil {
		return true, o.err
	}
	return o.mark.Done() // which is pinned as long as it is here
}

// Sync is as [Mark.Sync].
func (o *Outcome) Sync(ctx context.Context) error {
	return await(ctx, "wait for an outcome", o.Done, func() error { o.over.wait(); return o.err }, func() {})
}

func (m *Mark) known() bool { return m.passed.Load() == m.round }

// Done reports whether the marked work has finished, and its error if it failed.
func (m *Mark) Done() (bool, error) {
	if m.known() {
		return true, nil
	}
	done, err := asked(m.drv)
	if done && err == nil {
		m.passed.Store(m.round)
	}
	return done, m.dev.check(err)
}

// Sync waits until the marked work has finished, and returns its error if it failed.
func (m *Mark) Sync(ctx context.Context) error {
	if m.known() {
		return nil
	}
	if ctx.Done() == nil {
		return m.wait()
	}
	m.pin()
	return await(ctx, "wait for a mark", m.Done, m.wait, m.unpin)
}

func (m *Mark) wait() error {
	err := waited(m.drv)
	if err == nil {
		m.passed.Store(m.round)
	}
	return m.dev.check(err)
}

// WaitMark makes later work of s wait for the mark. It does not block. Waiting for a mark
// of the stream itself, or one that has been passed, costs nothing.
func (s *Stream) WaitMark(m *Mark) error {
	const op = "wait"
	if err := s.s.begin(op); err != nil {
		return err
	}
	defer s.s.end()
	if m.stream == s.s || m.known() {
		return nil
	}
	if s.s.dev.links(m.dev, driver.LinkWait) {
		return s.s.dev.check(s.s.drv.Wait(m.drv))
	}
	if done, _ := m.Done(); done {
		return nil
	}
	g, err := s.s.gate()
	if err != nil {
		return err
	}
	m.pin()
	s.s.bridge(g, m.drv, m.unpin)
	return nil
}

func (s *deviceState) takeMark() (*Mark, error) {
	s.mu.Lock()
	if s.closed() {
		s.mu.Unlock()
		return nil, s.closedError("mark")
	}
	if n := len(s.spareMarks); n > 0 {
		m := s.spareMarks[n-1]
		s.spareMarks = s.spareMarks[:n-1]
		s.marks++
		s.mu.Unlock()
		return m, nil
	}
	s.marks++
	s.mu.Unlock()
	drv, err := s.drv.NewEvent(EventOptions{})
	if err != nil {
		s.mu.Lock()
		s.marks--
		s.mu.Unlock()
		return nil, s.check(err)
	}
	m := &Mark{dev: s, drv: drv}
	m.users.Store(1)
	return m, nil
}

// putMark takes a mark back from its last holder.
func (s *deviceState) putMark(m *Mark, recycle bool) {
	s.mu.Lock()
	s.marks--
	if recycle {
		s.spareMarks = append(s.spareMarks, m)
	}
	s.mu.Unlock()
}

func (s *deviceState) recycle(m *Mark) {
	s.mu.Lock()
	s.spareMarks = append(s.spareMarks, m)
	s.mu.Unlock()
}
