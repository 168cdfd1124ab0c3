package hal

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/go-halyard/halyard/hal/driver"
)

// Mark is a point in a stream: an event of the driver's that is recorded once, counted by its users and then used
// again by its device. It is what events and coherent buffers are built from; programs that order a few streams by
// hand are better served by [Event].
//
// A mark begins with one reference. The holder of a reference may call every method; after the last Release the mark
// must not be used. A mark does not keep its device open: [Device.Close] waits for the marked work, and the mark then
// knows how that ended.
type Mark struct {
	dev    *deviceState
	timing bool
	drv    driver.Event // of which calls are made inside dev.asks, or of a stream of the device
	stream *streamState // nil before it is recorded
	place  int          // in dev.marks.live

	// round counts records, and only the one holder that makes one changes it. ended is the latest round whose end is
	// known, and err how it ended: it is written before ended is.
	round   uint64
	bridges uint64 // of the stream, that were made before
	ended   atomic.Uint64
	err     error

	users atomic.Int64 // references; 1 while the mark is spare, which saves counting

	mu      sync.Mutex
	watched watching
	polled  int           // place in dev.watch.marks
	over    chan struct{} // closed at the end of the round; nil until somebody waits for it
	waiters int           // at over
	gates   []*bridge     // to be opened at the end of the round, by who finds it
	fns     []func(error) // to be called at the end of the round, by who watches
}

// Mark records the work that the stream has been given so far.
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

// record makes the mark, of which the caller holds the one reference, stand for the stream's work so far.
func (s *streamState) record(m *Mark) error {
	if err := s.drv.Record(m.drv); err != nil {
		return s.dev.check(err)
	}
	m.stream, m.bridges, m.err = s, s.over.made.Load(), nil
	m.round++
	return nil
}

// MarkAgain moves a mark of the stream's device to what the stream has been given so far, and reports whether it
// has: only if the caller's is the one reference, and nothing waits for the mark behind the caller's back. It saves
// a Release and a Mark. Nobody else may use the mark meanwhile.
func (s *Stream) MarkAgain(m *Mark) bool {
	if m == nil || s.state() == nil || m.timing || m.users.Load() != 1 || m.dev != s.s.dev || s.s.begin("mark") != nil {
		return false
	}
	err := s.s.record(m)
	s.s.end()
	return err == nil
}

// On reports whether the mark lies on s, so that work of s needs no wait for it.
func (m *Mark) On(s *Stream) bool { return m.stream == s.state() }

// Retain adds a reference.
func (m *Mark) Retain() { m.users.Add(1) }

// Release drops a reference.
func (m *Mark) Release() {
	if m.users.Load() != 1 { // if it is, nobody else can be there to add to it
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
		return m.known(), m.err // who closes the device has found how it ended
	}
	done, err := asked(m.drv)
	m.dev.asks.leave()
	if !done && err == nil {
		return false, nil
	}
	m.settle(err)
	return true, m.err
}

// settle notes how the marked work has ended, unless that is known, and wakes those who wait.
func (m *Mark) settle(err error) {
	m.mu.Lock()
	gates := m.finish(err)
	m.mu.Unlock()
	for _, b := range gates {
		b.open()
	}
}

// finish is settle with m.mu held. The caller opens the gates without it.
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

// Sync waits until the marked work has finished, and returns its error if it failed. When ctx ends first the error is
// of kind ErrNotReady and wraps the context's.
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
		m.Release() // the list's
	}
	return false, Interrupted(op, ctx)
}

// OnDone has fn called once with the error of the marked work, soon after that has finished. The caller need not keep a
// reference until then, and closing the device comes to it too. fn runs on a goroutine that the device's other waits need: it must
// be quick, must not wait, and must not take a lock under which anybody waits for work.
func (m *Mark) OnDone(fn func(error)) {
	m.mu.Lock()
	m.fns = append(m.fns, fn)
	m.dev.watch.poll(m)
	m.mu.Unlock()
}

// CanDefer reports whether s.WaitMark(m) returns without waiting on the host for the marked work.
func (s *Stream) CanDefer(m *Mark) bool {
	st := s.state()
	if m == nil || st == nil {
		return false
	}
	return m.stream == st || m.known() || st.gates() || st.dev.links(m.dev, driver.PeerWait)
}

// WaitMark makes later work of s wait for the mark. It does not block but in one case: the mark is of another backend,
// its work has not finished, and the device of s has no CapGate; then the call waits for that work. [Stream.CanDefer]
// tells. Waiting for a mark of the stream itself, or one that has been passed, costs nothing. How the marked work
// ends is for others to ask.
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

// marks are a device's. They are guarded by the device's lock.
type marks struct {
	live  []*Mark    // handed out
	spare [2][]*Mark // without, with timing

	// The most that were handed out at once, in this and in the last period of some two times as many releases: as many
	// stay, spare ones included.
	peak, last, releases int
}

// marksLeast is how many marks a device keeps in any case.
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

// newMark is takeMark with an event that the driver makes now.
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

// putMark takes a mark back from its last holder.
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

// closeMarks closes the events of marks that nobody holds, and keeps those whose work is under way.
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

// endMarks finds out how the work of all marks has ended, and closes their events. The device has no streams any more, so
// nobody records.
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
	s.asks.shut() // and who waited for a mark has left to the watch whom that has to tell
	s.watch.drain()
	for _, list := range [...][]*Mark{live, s.marks.spare[0], s.marks.spare[1]} {
		for _, m := range list {
			_ = m.drv.Close()
		}
	}
	s.marks.spare = [2][]*Mark{}
}
