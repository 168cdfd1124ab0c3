package wait

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/hal/internal/life"
)

// Device is a device as far as waiting needs it: the driver's device, its events, and whether it was lost.
type Device struct {
	Drv  driver.Device
	Info driver.Info

	// KeepsFailures is EventsKeepFailures of driver.FailureKeeper.
	KeepsFailures bool

	// Outer is called for each new event, to set its Outer.
	Outer func(*Event)

	frees   *life.Frees
	forgets bool // ForgetsToldFailures of driver.FailureKeeper
	lost    atomic.Pointer[driver.Error]
	watch   watch
	calls   life.Calls // of the driver's events; they end before the device is closed

	mu     sync.Mutex // guards events
	events events
}

// Init prepares a device that is open.
func (d *Device) Init(drv driver.Device, info driver.Info, f *life.Frees) {
	d.Drv, d.Info, d.frees = drv, info, f
	if k, ok := drv.(driver.FailureKeeper); ok {
		d.KeepsFailures = k.EventsKeepFailures()
		d.forgets = d.KeepsFailures && k.ForgetsToldFailures()
	}
	d.watch.init()
}

// FailsForGood reports whether each event also reports failures of earlier work, even those that the program knows already. It reports
// false once the device is lost.
func (d *Device) FailsForGood() bool { return d.KeepsFailures && !d.forgets && d.lost.Load() == nil }

// Failure returns an error of the given kind that belongs to the device.
func (d *Device) Failure(op string, kind error, format string, args ...any) error {
	return &driver.Error{Op: op, Backend: d.Info.Backend, Device: d.Info.Ordinal, Kind: kind, Detail: fmt.Sprintf(format, args...)}
}

// Interrupted returns the error of an operation that gave up because ctx ended: of kind ErrNotReady, wrapping the context's cause.
func Interrupted(op string, ctx context.Context) error {
	return &driver.Error{Op: op, Device: -1, Kind: driver.ErrNotReady, Err: context.Cause(ctx)}
}

// Ended returns an error if ctx is nil or has ended.
func Ended(op string, ctx context.Context) error {
	switch {
	case ctx == nil:
		return &driver.Error{Op: op, Device: -1, Kind: driver.ErrInvalidArgument, Detail: "nil context"}
	case ctx.Err() != nil:
		return Interrupted(op, ctx)
	}
	return nil
}

// isKind is errors.Is for an error that is known to be a *driver.Error, if it has a kind.
func isKind(err, kind error) bool {
	e, ok := err.(*driver.Error)
	return ok && e.Kind == kind
}

// Check returns the driver's error unchanged. If the error says that the device is lost, Check notes that.
func (d *Device) Check(err error) error {
	if err != nil && isKind(err, driver.ErrDeviceLost) {
		lost := &driver.Error{Op: "use", Backend: d.Info.Backend, Device: d.Info.Ordinal, Kind: driver.ErrDeviceLost, Err: err}
		d.lost.CompareAndSwap(nil, lost)
	}
	return err
}

// Lost returns the error of calls on the device if it was lost, else nil.
func (d *Device) Lost() error {
	if lost := d.lost.Load(); lost != nil {
		return lost
	}
	return nil
}

// Links reports whether streams of d can use objects of the other device in the wanted way.
func (d *Device) Links(other *Device, want driver.PeerAccess) bool {
	if d == other {
		return true
	}
	l, ok := d.Drv.(driver.Peering)
	return ok && d.Info.Backend == other.Info.Backend && l.PeerAccess(other.Drv)&want == want
}

// Sweep polls the events that are waited for.
func (d *Device) Sweep() { d.watch.sweep() }

type querier interface{ Query() (done bool, err error) }

// unanswered counts the questions about one object that the driver failed to answer, one after another.
type unanswered struct{ n atomic.Uint32 }

// patience is how many questions in a row a driver may fail to answer. An event that somebody waits for is asked about once in two
// milliseconds.
const patience = 500

// ask calls Query. err is not nil only if done is true: then the work has failed. If the driver failed to answer too often (patience), the
// device counts as lost. If the question was about a stream, only that stream fails: the program may have imported it, and its owner may
// have destroyed it.
func (d *Device) ask(q querier, u *unanswered) (done bool, err error) {
	done, err = q.Query()
	switch {
	case done || err == nil:
		if u.n.Load() != 0 {
			u.n.Store(0)
		}
		return done, err
	case isKind(err, driver.ErrDeviceLost) || d.lost.Load() != nil:
		return true, d.Check(d.giveUp(err))
	case u.n.Add(1) < patience:
		return false, nil
	}
	if _, stream := q.(driver.Stream); !stream {
		return true, d.Check(d.giveUp(err))
	}
	gone := &driver.Error{Op: "query", Backend: d.Info.Backend, Device: d.Info.Ordinal, Kind: driver.ErrDriver, Err: err,
		Detail: "the driver fails to say whether the stream's work is done"}
	if e, ok := err.(*driver.Error); ok {
		gone.Kind, gone.Vendor, gone.Err = e.Kind, e.Vendor, nil
	}
	return true, gone
}

// giveUp turns the driver's answer into the error of a device that can no longer say whether its work is done.
func (d *Device) giveUp(err error) error {
	if isKind(err, driver.ErrDeviceLost) {
		return err
	}
	lost := &driver.Error{Op: "query", Backend: d.Info.Backend, Device: d.Info.Ordinal, Kind: driver.ErrDeviceLost,
		Detail: "the driver fails to say whether work is done"}
	if v, ok := err.(*driver.Error); ok {
		lost.Vendor = v.Vendor // not the error itself, which is of another kind
	} else {
		lost.Err = err
	}
	return lost
}

// Stream is a stream as far as waiting needs it: the driver's stream, its bridges, the host memory that its copies use, and
// the failures that the program does not know yet.
type Stream struct {
	Drv driver.Stream

	dev        *Device
	outer      OuterStream
	bridges    bridges
	short      briefly
	held       held
	unreported atomic.Pointer[failure] // for the program's next Done or Sync
	unanswered unanswered
}

// OuterStream is the stream of package hal that a Stream is a part of.
type OuterStream interface {
	Stay()  // keeps the stream open for the driver until Leave
	Leave() // ends it

	// Blame adds to an error of the stream's work what is known of that work.
	Blame(err error) error
}

// failure is an error of the stream's work that the program has not been told.
type failure struct{ err error }

// Init prepares a stream.
func (s *Stream) Init(d *Device, drv driver.Stream, o OuterStream) { s.dev, s.Drv, s.outer = d, drv, o }

// Event records an event and returns it with one reference.
func (s *Stream) Event(timing bool) (*Event, error) {
	e, err := s.dev.lend(timing)
	if err != nil {
		return nil, err
	}
	if err := s.Record(e); err != nil {
		e.Release()
		return nil, err
	}
	return e, nil
}

// Record makes e stand for the stream's work so far. The caller owns its sole reference.
func (s *Stream) Record(e *Event) error {
	if err := s.Drv.Record(e.drv); err != nil {
		return s.dev.Check(err)
	}
	e.stream, e.before, e.err, e.early, e.unwaitable = s, s.bridges.made.Load(), nil, nil, false
	if n := s.unreported.Load(); n != nil && s.dev.forgets {
		e.early = n.err
	}
	e.round++
	return nil
}

// ask asks the driver whether all work is done, and for an error of that work.
func (s *Stream) ask() (done bool, err error) { return s.dev.ask(s.Drv, &s.unanswered) }

// Done reports whether all work so far is done, and reports an error of it.
func (s *Stream) Done() (bool, error) {
	upTo := s.held.mark()
	done, err := s.ask()
	if !done {
		return false, nil
	}
	s.held.drop(upTo)
	return true, s.report(err)
}

// KeepNone lets go of all host memory of a stream that is closed.
func (s *Stream) KeepNone() { s.held.drop(s.held.mark()) }

// report returns the error for the program: that of the driver's call, or else the error that was kept for the program.
func (s *Stream) report(err error) error {
	if err != nil {
		err = s.dev.Check(s.outer.Blame(err))
	}
	if s.unreported.Load() == nil {
		return err
	}
	if earlier := s.unreported.Swap(nil); err == nil && earlier != nil {
		return earlier.err
	}
	return err
}

// keep keeps an error of the stream's work for the program, and returns it. A driver may report it only once.
func (s *Stream) keep(err error) error {
	n := &failure{s.dev.Check(s.outer.Blame(err))}
	s.unreported.CompareAndSwap(nil, n)
	return n.err
}

// Failed returns the error of the stream's work that the program has not been told, or nil if none is known. It does not ask the driver.
func (s *Stream) Failed() error {
	if n := s.unreported.Load(); n != nil {
		return n.err
	}
	return nil
}

// Idle reports whether there is no work to wait for, because all work is done or the stream has failed. The error is kept for the program.
func (s *Stream) Idle() bool {
	done, err := s.ask()
	if err != nil {
		_ = s.keep(err)
	}
	return done
}

// Peek is Done, but leaves an error to the program.
func (s *Stream) Peek() (bool, error) {
	done, err := s.ask()
	if err != nil {
		err = s.keep(err)
	} else if earlier := s.unreported.Load(); earlier != nil {
		err = earlier.err
	}
	return done, err
}

// Sync waits until all work enqueued before the call has finished, and returns in err an error of that work. failed is an error of the
// driver's call itself, not of the work.
func (s *Stream) Sync(ctx context.Context, op string) (err, failed error) {
	if err := Ended(op, ctx); err != nil {
		return err, nil
	}
	upTo := s.held.mark()
	s.bridges.help(ctx, s.bridges.made.Load())
	if w := &s.dev.watch; ctx.Done() == nil && w.reserveWait() {
		failed = s.dev.Check(s.Drv.Sync())
		w.releaseWait()
		if failed == nil {
			s.held.drop(upTo)
			return s.report(nil), nil
		}
	}
	done, err := s.ask()
	switch {
	case !done: // then failed is an error of the call: a driver's Sync returns an error of the work only when the work has ended
		if done, err = s.outlast(ctx, op); !done {
			return err, nil
		}
		if _, own := s.ask(); own != nil {
			err = own
		}
	case err == nil:
		err, failed = failed, nil // it may be of the work, which a driver may report only once
	}
	s.held.drop(upTo)
	return s.report(err), failed
}

// outlast waits for the work enqueued so far, and reports whether it has ended, and how, or that ctx has ended first.
func (s *Stream) outlast(ctx context.Context, op string) (over bool, err error) {
	if e, err := s.Event(false); err == nil {
		defer e.Release()
		return e.Wait(ctx, op)
	}
	for { // without an event, ask until all work is done, later work included
		if done, err := s.ask(); done {
			return true, err
		}
		select {
		case <-time.After(pollLatest):
		case <-ctx.Done():
			return false, Interrupted(op, ctx)
		}
	}
}

// Drain is Sync, but leaves an error of the work to the program.
func (s *Stream) Drain(ctx context.Context, op string) error {
	err, _ := s.Sync(ctx, op)
	if err != nil && (ctx.Err() == nil || !isKind(err, driver.ErrNotReady)) {
		s.unreported.Store(&failure{err})
	}
	return err
}

// WorkSoFar returns a function that reports whether the work enqueued so far has finished, or nil if no event can be recorded. With keep,
// an error of that work is kept, as Idle does.
func (s *Stream) WorkSoFar(keep bool) func() bool {
	e, err := s.Event(false)
	if err != nil {
		return nil
	}
	return func() bool {
		done, err := e.Done()
		if done && err != nil && keep {
			_ = s.keep(err)
		}
		if done {
			e.Release()
		}
		return done
	}
}

// held keeps the host memory of a stream's copies reachable until they have finished. Its zero value is ready to use.
type held struct {
	some  atomic.Bool // whether there are pointers
	mu    sync.Mutex
	seq   uint64 // number of the next pointer
	ptrs  []unsafe.Pointer
	bytes uint64 // added since the stream was last asked whether it is idle
	asked int    // pointers held at that time

	// A busy stream may never become idle. So when Keep finds it busy, it records an event. Once the work before the event has finished,
	// the pointers before upTo are forgotten.
	event *Event // nil if there is none
	upTo  uint64
}

// Keep keeps n bytes of host memory at p reachable until the work enqueued so far has finished. It is called after the copy that uses
// them was enqueued: a goroutine that finds the stream idle lets go of everything kept before.
func (s *Stream) Keep(p unsafe.Pointer, n uint64) {
	h := &s.held
	h.mu.Lock()
	if len(h.ptrs)-h.asked >= heldMany || h.bytes >= heldBytes {
		h.bytes = 0
		if s.Idle() {
			h.forget(h.seq)
		} else {
			h.advance(s)
		}
		h.asked = len(h.ptrs)
	}
	h.ptrs = append(h.ptrs, p)
	if len(h.ptrs) == 1 {
		h.some.Store(true)
	}
	h.bytes += n
	h.seq++
	h.mu.Unlock()
}

// mark returns a mark for drop.
func (h *held) mark() uint64 {
	if !h.some.Load() {
		return 0
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.seq
}

// drop forgets the pointers added before the mark.
func (h *held) drop(mark uint64) {
	if mark == 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.forget(mark) {
		h.asked, h.bytes = 0, 0
	}
	h.some.Store(len(h.ptrs) > 0)
}

// forget is drop with h.mu held. The caller sets h.some. It reports whether there were such pointers.
func (h *held) forget(mark uint64) bool {
	if h.event != nil && h.upTo <= mark {
		h.event.Release()
		h.event = nil
	}
	first := h.seq - uint64(len(h.ptrs))
	if mark <= first {
		return false
	}
	n := copy(h.ptrs, h.ptrs[mark-first:])
	clear(h.ptrs[n:])
	h.ptrs = h.ptrs[:n]
	return true
}

// advance forgets the pointers before the event if its work has finished, and records the next one; h.mu is held. The pointers in h were
// added after their copies had been enqueued, so the event comes after these copies.
func (h *held) advance(s *Stream) {
	if h.event != nil {
		if done, _ := h.event.Done(); !done { // the stream reports the error
			return
		}
		h.forget(h.upTo)
	}
	if e, err := s.Event(false); err == nil {
		h.event, h.upTo = e, h.seq
	}
}

const (
	heldMany  = 64      // pointers after which Keep asks whether the stream is idle
	heldBytes = 1 << 20 // bytes after which Keep asks
)
