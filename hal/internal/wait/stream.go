package wait

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/go-halyard/halyard/hal/driver"
)

// Stream is a stream as far as waiting needs it: the driver's stream, its bridges, the host memory that its copies use, and
// the failures that the program does not know yet.
type Stream struct {
	Drv driver.Stream

	dev        *Device
	outer      OuterStream
	bridges    bridges
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

// Sync waits until all work enqueued before the call has finished, and reports an error of it. failed is an error of a driver's call that
// says nothing about the work.
func (s *Stream) Sync(ctx context.Context, op string) (err, failed error) {
	upTo := s.held.mark()
	s.bridges.help(ctx, s.bridges.made.Load())
	if w := &s.dev.watch; ctx.Done() == nil && w.reserveWait() {
		failed = s.Drv.Sync()
		w.releaseWait()
		if failed == nil {
			s.held.drop(upTo)
			return s.report(nil), nil
		}
	}
	if ctx.Err() != nil {
		return Interrupted(op, ctx), nil
	}
	done, err := s.ask()
	switch {
	case !done: // then failed is not of the work: a driver's Sync returns an error of the work only after the work
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
