//go:build vulkan

package vulkan

import (
	"sync"
	"time"

	"github.com/go-halyard/halyard/hal/driver"
)

// event stands for the work of a stream up to a number of the queue.
type event struct {
	dev    *device
	timing bool
	stamp  stamp

	mu       sync.Mutex
	q        *queue // of the stream that recorded it last
	number   uint64 // 0 if the event was never recorded
	failure  *mishap
	point    *point // if it is not nil, the number is not known yet
	recorded uint64 // how often the event was recorded with a time
}

var (
	_ driver.Event = (*event)(nil)
	_ driver.Timer = (*event)(nil)
)

// NewEvent returns an event. Only one with timing takes something of the device.
func (d *device) NewEvent(o driver.EventOptions) (driver.Event, error) {
	e := &event{dev: d}
	if o.Timing && d.info.Caps.Has(driver.CapTiming) {
		var err error
		if e.stamp, err = d.stamps.take("new event", &d.logical); err != nil {
			return nil, err
		}
		e.timing = true
	}
	return e, nil
}

// set makes the event stand for a number of a queue, or for a point.
func (e *event) set(q *queue, number uint64, f *mishap, p *point) {
	e.mu.Lock()
	e.q, e.number, e.failure, e.point = q, number, f, p
	e.mu.Unlock()
}

// again counts a record with a time.
func (e *event) again() uint64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.recorded++
	return e.recorded
}

// target returns what the event stands for: a number of a queue, which is 0 if it was never recorded, or a point.
func (e *event) target() (*queue, uint64, *point) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if p := e.point; p != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		if !p.reached {
			return e.q, 0, p
		}
		e.number, e.failure, e.point = p.number, p.failure, nil
	}
	return e.q, e.number, nil
}

// Query reports whether the work is done.
func (e *event) Query() (bool, error) {
	q, number, p := e.target()
	if p != nil {
		return false, nil
	}
	if number > 0 {
		if done, err := q.asked(number); !done || err != nil {
			return done, err
		}
	}
	return true, e.result()
}

// result returns the error of the work, which is done.
func (e *event) result() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.failure.tell()
}

// Sync waits for the work.
func (e *event) Sync() error {
	q, number, p := e.target()
	if p != nil {
		<-p.done
		number = p.number
	}
	if number > 0 {
		if err := q.wait("sync event", number); err != nil {
			return err
		}
	}
	if p != nil {
		return p.failure.tell() // the event may stand for something else by now
	}
	return e.result()
}

// Elapsed returns the time between two events on the device.
func (e *event) Elapsed(since driver.Event) (time.Duration, error) {
	const op = "elapsed time"
	start := since.(*event)
	var ticks [2]uint64
	for i, ev := range []*event{start, e} {
		if !ev.timing {
			return 0, e.dev.refuse(op, driver.ErrInvalidArgument, "an event was made without timing")
		}
		done, err := ev.Query()
		if err != nil {
			return 0, err
		}
		var st status
		if done {
			ticks[i], st = e.dev.t.queryResult(e.dev.handle, ev.stamp.pool, ev.stamp.index)
		}
		switch {
		case !done || st == notReady:
			return 0, e.dev.refuse(op, driver.ErrNotReady, "an event's work has not finished")
		case st < success:
			return 0, e.dev.fail(op, "vkGetQueryPoolResults", st)
		}
	}
	p := e.dev.plan
	between := (ticks[1] - ticks[0]) & p.tickMask // also if the counter has begun anew meanwhile
	if signed := int64(ticks[1]&p.tickMask) - int64(ticks[0]&p.tickMask); signed < 0 && between > p.tickMask/2 {
		return time.Duration(float64(signed) * p.tick), nil // the events are in the other order
	}
	return time.Duration(float64(between) * p.tick), nil
}

// Close releases the event.
func (e *event) Close() error {
	if e.timing {
		e.dev.stamps.put(e.stamp)
	}
	return nil
}

// Record makes the event stand for the work so far.
func (s *stream) Record(e driver.Event) error {
	ev := e.(*event)
	if ev.timing {
		if err := s.enqueue(operation{pass: (*stream).submitStamp, name: "record", of: ev, number: ev.again()}); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	number, f, p := s.here()
	ev.set(s.q, number, f, p)
	return nil
}

// Wait makes later work wait for the event. In the same queue the device's work comes later in any case, as it is submitted later; what is
// needed then is that the host's work does, and that nothing is submitted before the work of a stream that is held up.
func (s *stream) Wait(e driver.Event) error {
	q, number, p := e.(*event).target()
	if p == nil && number == 0 {
		return nil
	}
	return s.enqueue(operation{pass: (*stream).await, name: "wait", queue: q, number: number, point: p})
}

// await makes later work come after a number, that of a point or a gate if there is one; s.mu is held. For a submission of another queue that
// is not known to be done, that takes a submission too, so that one number of the stream's own queue still stands for all before.
func (s *stream) await(bool) (held bool, err error) {
	o := s.ops.first()
	q, number := o.queue, o.number
	if p := o.point; p != nil {
		if p.holdUp(s) {
			return true, nil
		}
		q, number = p.q, p.number
	}
	if q != s.q {
		done, err := q.reached(number)
		if done || err != nil {
			return false, err
		}
		if number, err = s.q.followed(o.name, q, number); err != nil {
			return false, err
		}
	}
	s.tail = max(s.tail, number)
	return false, nil
}

// Gate enqueues a gate that is shut.
func (s *stream) Gate() (driver.Gate, error) {
	if err := s.dev.lost.Load(); err != nil {
		return nil, err
	}
	g := &gate{point{q: s.q, done: make(chan struct{})}}
	return g, s.enqueue(operation{pass: (*stream).await, point: &g.point})
}

// gate holds one stream until it is opened: a point that no work comes to.
type gate struct{ point }

// Open opens the gate.
func (g *gate) Open() error {
	g.reach(0, nil)
	return nil
}

// submitStamp has the device write the time, unless the event has been recorded again meanwhile. s.mu is held.
func (s *stream) submitStamp(bool) (held bool, err error) {
	o := s.ops.first()
	e, q := o.of.(*event), s.q
	e.mu.Lock()
	current := e.recorded == o.number
	e.mu.Unlock()
	if !current {
		return false, nil
	}
	return false, s.submit(o.name, func(cb uintptr) {
		s.dev.t.cmdResetQueries(q.calls, cb, e.stamp.pool, e.stamp.index)
		s.dev.t.cmdTimestamp(q.calls, cb, stageBottomOfPipe, e.stamp.pool, e.stamp.index)
	})
}
