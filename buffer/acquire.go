package buffer

import (
	"context"

	"github.com/go-halyard/halyard/buffer/internal/order"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/layer"
	"github.com/go-halyard/halyard/internal/protocol"
)

// request describes an access that a call wants to begin.
type request struct {
	op     string
	own    *owner
	stream *hal.Stream // nil on the host
	part
	parts   []part  // as in access; without elements if there are several parts and all are empty
	try     bool    // fail at once instead of waiting
	reserve bool    // leave access.commit to the caller
	under   *access // the access that this one is a part of, or nil
}

func (q *request) writes() bool {
	if len(q.parts) == 0 {
		return q.part.writes()
	}
	for _, p := range q.parts {
		if p.writes() {
			return true
		}
	}
	return false
}

func validMode(op string, mode protocol.Action) error {
	if !(part{mode: mode}).valid() {
		return hal.Errorf(op, hal.ErrInvalidArgument, "%v is not an access mode; use Read, ReadWrite or Overwrite", coherence.Mode(mode))
	}
	return nil
}

// acquirePart is acquire for one range.
func (s *storage) acquirePart(ctx context.Context, op string, own *owner, stream *hal.Stream, p part) (*access, error) {
	if ctx.Err() == nil {
		if x := s.recent.acquire(op, own, stream, p, false); x != nil {
			return x, nil
		}
	}
	return s.acquire(ctx, &request{op: op, own: own, stream: stream, part: p})
}

// tryAcquirePart is acquirePart that fails at once instead of waiting. With reserve it leaves access.commit to the caller.
func (s *storage) tryAcquirePart(op string, own *owner, stream *hal.Stream, p part, reserve bool) (*access, error) {
	if x := s.recent.acquire(op, own, stream, p, reserve); x != nil {
		return x, nil
	}
	return s.acquire(context.Background(), &request{op: op, own: own, stream: stream, part: p, try: true, reserve: reserve})
}

// acquire begins an access of a device, and enqueues the copies that it needs.
func (s *storage) acquire(ctx context.Context, q *request) (x *access, err error) {
	if q.stream == nil {
		return nil, hal.Errorf(q.op, hal.ErrInvalidArgument, "nil stream")
	}
	if err := validMode(q.op, q.mode); err != nil {
		return nil, err
	}
	if err := layer.Err(q.stream); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.unlock()
	if x, err = s.admit(ctx, q); err != nil {
		return nil, err
	}
	ready := false
	defer x.endUnless(&ready)
	if err := x.bring(ctx, q.try); err != nil {
		return nil, err
	}
	if !q.reserve && s.thrown == nil { // an access that is not returned writes nothing
		x.commit()
	}
	s.recent.remember(x)
	x.inside = true
	x.begun()
	ready = true
	return x, nil
}

// admit begins an access when no earlier one excludes it. It waits until then, or fails at once if q.try is set. After an
// error there is no access.
func (s *storage) admit(ctx context.Context, q *request) (*access, error) {
	writes := q.writes()
	if err := s.usable(q.op, writes); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, interrupted(q.op, ctx, nil)
	}
	x := s.accesses.take()
	x.op, x.own, x.stream, x.part, x.parts, x.writes, x.place = q.op, q.own, q.stream, q.part, q.parts, writes, protocol.NoPlace
	x.replica, x.mem = nil, nil
	if q.stream == nil {
		x.replica, x.place = &s.host.replica, protocol.Host
	}
	x.counted, x.since = false, 0
	x.here()
	if s.accesses.empty() {
		s.accesses.begin(x)
		return x, nil
	}
	if q.under != nil {
		x.seq = q.under.seq // it counts as having come together with the access that it is part of
		s.accesses.begin(x)
		return x, nil
	}
	if q.try {
		if b := s.accesses.excluding(x, never); b != nil {
			err := x.conflictWith(b)
			s.accesses.end(x)
			return nil, err
		}
		s.accesses.begin(x)
		return x, nil
	}
	begin := now()
	blocked, err := s.accesses.queue(ctx, x)
	if blocked {
		s.waited(x.cause(), "access", nil, x.lo, x.hi, begin)
	}
	if err != nil {
		var holder *ConflictError
		if b := s.accesses.excluding(x, x.seq); b != nil {
			holder = x.conflictWith(b)
		}
		s.accesses.end(x)
		return nil, interrupted(q.op, ctx, holder)
	}
	if blocked {
		if err := s.usable(q.op, writes); err != nil {
			s.accesses.end(x)
			return nil, err
		}
	}
	return x, nil
}

// bring makes the replica of the stream's device current for an access, in stream order. The steps are decide, line, copy and record.
// The access's own work is recorded when it ends.
func (x *access) bring(ctx context.Context, try bool) error {
	for {
		if err := x.settle(ctx, try); err != nil {
			return err
		}
		plan, err := x.decide()
		if err != nil {
			return err
		}
		o, err := x.move(plan, x.stream, x.mem)
		if err == nil && o.none() {
			o.left, err = x.line()
		}
		if err != nil || o.none() {
			return err
		}
		if err := x.overcome(ctx, o, try); err != nil {
			return err
		}
	}
}

// obstacle is something that an access has to wait for without the lock. Afterwards the access repeats its steps, because anything may have
// changed.
type obstacle struct {
	left  []*order.Work // work for which the host has to wait, with a reference to each
	again bool          // there is nothing to wait for, but the steps have to be repeated
}

func (o *obstacle) none() bool { return len(o.left) == 0 && !o.again }

// move enqueues the copies of a plan, after the work that they depend on, or returns an obstacle.
func (x *access) move(plan []protocol.Transfer, stream *hal.Stream, mem *hal.Memory) (o obstacle, err error) {
	s := x.storage
	plan, direct, err := s.copier.detour(plan, stream)
	if err == nil && !direct {
		err = s.host.ready(x.cause())
	}
	if err != nil {
		return o, err
	}
	if len(plan) > 0 {
		if o.left, err = s.copier.line(plan, stream); err != nil || !o.none() {
			return o, err
		}
		err = s.copier.copy(plan, stream, mem, x.cause())
	}
	o.again = !direct
	return o, err
}

// overcome waits for an obstacle, or fails if try is set.
func (x *access) overcome(ctx context.Context, o obstacle, try bool) (err error) {
	s := x.storage
	switch {
	case len(o.left) > 0 && try:
		drop(o.left)
		return hal.Errorf(x.op, hal.ErrNotReady, "earlier work on the host's replica has to end first, and %s cannot be made to wait for it", x.stream.Device().Name())
	case len(o.left) > 0:
		err = s.await(ctx, x.cause(), nil, x.lo, x.hi, o.left)
	}
	if err == nil && s.closed {
		err = s.closedError(x.op)
	}
	return err
}

func drop(list []*order.Work) {
	for _, w := range list {
		w.Release()
	}
}

// settle gives an access its replica, which is not evicted until the access ends. If the device has no room, other replicas are evicted. If try is
// set, settle does not wait for that.
func (x *access) settle(ctx context.Context, try bool) error {
	s := x.storage
	if x.replica != nil && (x.place == protocol.Host || x.replica.mem != nil) {
		return nil
	}
	var r *replica
	var mem *hal.Memory
	for {
		err := s.unpressed(ctx, x.op, try, func() (err error) {
			if err = s.usable(x.op, x.writes); err == nil {
				r, mem, err = s.places.settle(x.stream, x.cause())
			}
			return err
		})
		if u, ok := err.(*unready); ok {
			if err = x.overcome(ctx, obstacle{left: u.works}, try); err == nil {
				continue
			}
		}
		if err != nil {
			return err
		}
		x.replica, x.place, x.mem = r, r.place, mem
		r.begin()
		r.touch()
		return nil
	}
}

// standBehind waits, without the lock, until other has ended. x cannot go on before.
func (x *access) standBehind(ctx context.Context, other *access) error {
	s := x.storage
	begin := now()
	w := s.accesses.take()
	err := s.accesses.pause(ctx, w, other)
	s.accesses.end(w)
	s.waited(x.cause(), "access", nil, x.lo, x.hi, begin)
	if err != nil {
		return interrupted(x.op, ctx, x.conflictWith(other)) // w was still waiting for other
	}
	return nil
}

// release ends the access of a lease.
func (x *access) release(gen uint64, check func() error) error {
	s := x.storage
	s.mu.Lock()
	err := x.releasable(gen, check)
	switch {
	case err != nil:
	case x.awaited:
		x.leaveAwaited(check)
	default:
		err = x.keep()
		x.conclude(check)
	}
	s.unlock()
	return err
}

// conclude records the work of an access of a device, and ends the access. check is as for [order.Checked].
func (x *access) conclude(check func() error) {
	x.record(check)
	x.used()
	x.storage.end(x)
}

// releasable returns an error if release cannot end the access.
func (x *access) releasable(gen uint64, check func() error) error {
	const op = "release"
	switch {
	case !x.of(gen):
		return hal.Errorf(op, hal.ErrClosed, "the lease was released before")
	case x.group != nil:
		return hal.Errorf(op, hal.ErrInvalidArgument, "a lease of AcquireAll ends with the others")
	case check != nil && !x.writes:
		return hal.Errorf(op, hal.ErrInvalidArgument, "the lease is for reading, so its elements are unchanged")
	}
	return nil
}

// end ends an access, after its work has been recorded, if it has any.
func (s *storage) end(x *access) {
	if x.replica != nil {
		x.replica.end()
	}
	s.accesses.end(x)
	if g := s.host.guard; g != nil {
		g.settle()
	}
}
