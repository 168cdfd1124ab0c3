package hal

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/go-halyard/halyard/hal/driver"
)

// Mark is a point in a stream: a driver event that is recorded once, reference-counted, and reused by its device
// afterwards. Events and coherent buffers are built from marks; programs that order a few streams by hand should
// use [Event].
//
// A new mark has one reference. The owner of a reference may call every method; after the last Release the mark
// must not be used. A mark does not keep its device open: [Device.Close] waits for the marked work, and the mark
// keeps its result.
type Mark struct {
	dev    *deviceState
	timing bool
	drv    driver.Event // used only inside dev.asks, or inside a call on one of the device's streams
	stream *streamState // nil before it is recorded
	place  int          // index in dev.marks.live

	// round counts the records; only the owner of the sole reference changes it. ended is the latest round whose result
	// is known, and err is that result, written before ended.
	round   uint64
	bridges uint64 // the number of the stream's bridges made before the record
	ended   atomic.Uint64
	err     error

	users atomic.Int64 // references; stays 1 while the mark is spare, which saves atomic operations

	mu      sync.Mutex
	watched watching
	polled  int           // index in dev.watch.marks
	over    chan struct{} // closed at the end of the round; nil until a goroutine waits for it
	waiters int           // goroutines that wait for over
	gates   []*bridge     // opened at the end of the round
	fns     []func(error) // called at the end of the round, by the watch
}

// Mark returns a mark of all work enqueued on the stream so far.
func (s *Stream) Mark() (*Mark, error) {
	if err := s.state().begin("mark"); err != nil {
		return nil, err
	}
	m, err := s.s.mark(false)
	s.s.end()
	return m, err
}

func (s *streamState) mark(timing bool) (*Mark, error) {
	m, err := s.dev.takeMark(timing)
	if err != nil {
		return nil, err
	}
	if err := s.record(m); err != nil {
		m.Release()
		return nil, err
	}
	return m, nil
}

// record makes the mark stand for the stream's work so far. The caller owns the mark's sole reference.
func (s *streamState) record(m *Mark) error {
	if err := s.drv.Record(m.drv); err != nil {
		return s.dev.check(err)
	}
	m.stream, m.bridges, m.err = s, s.over.made.Load(), nil
	m.round++
	return nil
}

// MarkAgain records the mark again, for all work enqueued on s so far, in place of a Release and a new Mark. It reports
// false and leaves the mark unchanged if the caller's is not the only reference, if the mark belongs to another device,
// or if the call fails. The mark must not be used concurrently.
func (s *Stream) MarkAgain(m *Mark) bool {
	if m == nil || s.state() == nil || m.timing || m.users.Load() != 1 || m.dev != s.s.dev || s.s.begin("mark") != nil {
		return false
	}
	err := s.s.record(m)
	s.s.end()
	return err == nil
}

// On reports whether the mark was recorded on s, so that later work of s need not wait for it.
func (m *Mark) On(s *Stream) bool { return m.stream == s.state() }

// Retain adds a reference.
func (m *Mark) Retain() { m.users.Add(1) }

// Release drops a reference.
func (m *Mark) Release() {
	if m.users.Load() != 1 { // if it is 1, no other goroutine has a reference that it could Retain
		if m.users.Add(-1) > 0 {
			return
		}
		m.users.Store(1)
	}
	m.dev.putMark(m)
}

func (m *Mark) known() bool { return m.ended.Load() == m.round }

// Done reports whether the marked work has finished, and its error if it failed.
func (m *Mark) Done() (bool, error) {
	if m.known() {
		return true, m.err
	}
	if !m.dev.asks.enter() {
		return m.known(), m.err // Device.Close has stored the result
	}
	done, err := asked(m.drv)
	m.dev.asks.leave()
	if !done && err == nil {
		return false, nil
	}
	m.settle(err)
	return true, m.err
}

// settle stores the result of the marked work, unless it is known, and wakes the waiters.
func (m *Mark) settle(err error) {
	m.mu.Lock()
	gates := m.finish(err)
	m.mu.Unlock()
	for _, b := range gates {
		b.open()
	}
}

// finish is settle with m.mu held. It returns the gates, which the caller opens after unlocking.
func (m *Mark) finish(err error) []*bridge {
	if m.known() {
		return nil
	}
	m.err = m.dev.check(err)
	m.ended.Store(m.round)
	if m.over != nil {
		close(m.over)
		m.over = nil
	}
	m.waiters = 0
	gates := m.gates
	m.gates = nil
	return gates
}

// Sync waits until the marked work has finished, and returns its error if it failed. If ctx ends first, the error is
// of kind ErrNotReady and wraps the context's error.
func (m *Mark) Sync(ctx context.Context) error {
	_, err := m.wait(ctx, "wait for a mark")
	return err
}

// wait is Sync, and reports whether the work has finished.
func (m *Mark) wait(ctx context.Context, op string) (over bool, err error) {
	if m.known() {
		return true, m.err
	}
	m.stream.over.help(ctx, m.bridges)
	if ctx.Done() == nil && m.dev.watch.inline(m) {
		return true, m.err
	}
	if ctx.Err() != nil {
		return false, Interrupted(op, ctx)
	}
	if done, err := m.Done(); done {
		return true, err
	}
	m.mu.Lock()
	if m.known() {
		m.mu.Unlock()
		return true, m.err
	}
	if m.over == nil {
		m.over = make(chan struct{})
	}
	ch := m.over
	m.waiters++
	m.dev.watch.add(m)
	m.mu.Unlock()
	select {
	case <-ch:
		return true, m.err
	case <-ctx.Done():
	}
	m.mu.Lock()
	unused := false
	if !m.known() {
		m.waiters--
		unused = m.dev.watch.unused(m)
	}
	m.mu.Unlock()
	if unused {
		m.Release() // the list's reference
	}
	return false, Interrupted(op, ctx)
}

// OnDone calls fn once with the error of the marked work, soon after the work has finished, at the latest when the device
// is closed. The caller need not keep a reference until then. fn runs on a goroutine that the device's other waits share:
// it must be quick, must not block, and must not take a lock that a goroutine holds while it waits for work.
func (m *Mark) OnDone(fn func(error)) {
	m.mu.Lock()
	m.fns = append(m.fns, fn)
	m.dev.watch.poll(m)
	m.mu.Unlock()
}

// CanDefer reports whether s.WaitMark(m) returns at once, without blocking the caller until the marked work is done.
func (s *Stream) CanDefer(m *Mark) bool {
	st := s.state()
	if m == nil || st == nil {
		return false
	}
	return m.stream == st || m.known() || st.gates() || st.dev.links(m.dev, driver.PeerWait)
}

// WaitMark makes later work of s wait for the mark. It blocks in one case only: the mark is of another backend,
// its work has not finished, and the device of s has no CapGate; then the call waits for that work. [Stream.CanDefer]
// reports this in advance. Waiting for a mark of s itself, or for finished work, costs nothing. WaitMark does not
// report whether the marked work failed; [Mark.Done] does.
func (s *Stream) WaitMark(m *Mark) error {
	const op = "wait"
	st := s.state()
	if err := st.begin(op); err != nil {
		return err
	}
	defer st.end()
	if m == nil {
		return st.dev.failure(op, ErrInvalidArgument, "nil mark")
	}
	if m.stream == st || m.known() && m.err == nil {
		return nil
	}
	if m.dev == st.dev {
		return st.dev.check(st.drv.Wait(m.drv))
	}
	if m.dev.asks.enter() {
		linked := st.dev.links(m.dev, driver.PeerWait)
		var err error
		if linked {
			err = st.dev.check(st.drv.Wait(m.drv))
		}
		m.dev.asks.leave()
		if linked {
			return err
		}
	}
	if done, _ := m.Done(); done {
		return nil
	}
	if !st.gates() {
		_ = m.Sync(context.Background())
		return nil
	}
	return st.bridge(m)
}

// marks are the marks of one device, guarded by the device's lock.
type marks struct {
	live  []*Mark    // in use
	spare [2][]*Mark // to be reused: without timing, with timing

	// peak and last are the largest number of marks in use at once, in this period and in the last one. The device keeps
	// that many marks, spare ones included. A period lasts for about 2*last releases, which releases counts.
	peak, last, releases int
}

// marksLeast is the number of marks that a device keeps at least.
const marksLeast = 64

func index(timing bool) int {
	if timing {
		return 1
	}
	return 0
}

func (s *deviceState) takeMark(timing bool) (*Mark, error) {
	ms := &s.marks
	spare := &ms.spare[index(timing)]
	s.mu.Lock()
	if n := len(*spare); n > 0 {
		m := (*spare)[n-1]
		(*spare)[n-1] = nil
		*spare = (*spare)[:n-1]
		ms.lend(m)
		s.mu.Unlock()
		return m, nil
	}
	s.mu.Unlock()
	return s.newMark(timing)
}

// newMark is takeMark with a new driver event.
func (s *deviceState) newMark(timing bool) (*Mark, error) {
	drv, err := s.drv.NewEvent(EventOptions{Timing: timing})
	if err != nil {
		return nil, s.check(err)
	}
	m := &Mark{dev: s, drv: drv, timing: timing}
	m.users.Store(1)
	s.mu.Lock()
	s.marks.lend(m)
	s.mu.Unlock()
	return m, nil
}

func (ms *marks) lend(m *Mark) {
	m.place = len(ms.live)
	ms.live = append(ms.live, m)
	ms.peak = max(ms.peak, len(ms.live))
}

// putMark takes a mark back after its last Release.
func (s *deviceState) putMark(m *Mark) {
	ms := &s.marks
	s.mu.Lock()
	if m.place >= len(ms.live) || ms.live[m.place] != m { // the device is closed
		s.mu.Unlock()
		return
	}
	n := len(ms.live) - 1
	ms.live[m.place] = ms.live[n]
	ms.live[m.place].place = m.place
	ms.live[n] = nil
	ms.live = ms.live[:n]
	if ms.releases++; ms.releases > 2*max(ms.last, marksLeast) {
		ms.last, ms.peak, ms.releases = ms.peak, n, 0
	}
	m.stream = nil
	if n+len(ms.spare[0])+len(ms.spare[1]) < max(ms.peak, ms.last, marksLeast) || !s.asks.enter() {
		ms.keep(m)
		s.mu.Unlock()
		return
	}
	s.mu.Unlock()
	s.closeMarks([]*Mark{m})
	s.asks.leave()
}

func (ms *marks) keep(m *Mark) {
	spare := &ms.spare[index(m.timing)]
	*spare = append(*spare, m)
}

// closeMarks closes the events of unused marks. Marks whose work is under way are kept as spare ones.
func (s *deviceState) closeMarks(list []*Mark) {
	for _, m := range list {
		if done, _ := m.Done(); done {
			_ = m.drv.Close()
			continue
		}
		s.mu.Lock()
		s.marks.keep(m)
		s.mu.Unlock()
	}
}

// trimMarks closes the events of spare marks.
func (s *deviceState) trimMarks() {
	if !s.asks.enter() {
		return
	}
	defer s.asks.leave()
	s.mu.Lock()
	ms := &s.marks
	spare := append(ms.spare[0], ms.spare[1]...)
	ms.spare = [2][]*Mark{}
	ms.peak, ms.last, ms.releases = len(ms.live), 0, 0
	s.mu.Unlock()
	s.closeMarks(spare)
}

// endMarks stores the result of every mark and closes their events. The device has no streams any more, so no mark is
// recorded meanwhile.
func (s *deviceState) endMarks() {
	s.mu.Lock()
	live := s.marks.live
	s.marks.live = nil
	s.mu.Unlock()
	for _, m := range live {
		if done, _ := m.Done(); !done {
			m.settle(waited(m.drv))
		}
	}
	s.asks.shut() // from here on only the watch still has functions to call
	s.watch.drain()
	for _, list := range [...][]*Mark{live, s.marks.spare[0], s.marks.spare[1]} {
		for _, m := range list {
			_ = m.drv.Close()
		}
	}
	s.marks.spare = [2][]*Mark{}
}
