package buffer

import (
	"context"
	"runtime/trace"
	"time"

	"github.com/go-halyard/halyard/buffer/internal/order"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/layer"
	"github.com/go-halyard/halyard/internal/protocol"
)

// copier carries out the copies that were planned for a storage: it chooses their streams, makes these wait for earlier work, enqueues the
// copies and records them. storage.mu is held.
type copier struct {
	owner *storage

	// Kept from one access to the next, so that none allocates.
	waits []wait
	works []*order.Work
}

// route is the streams of a copy: into writes the destination, from reads the source. They are the same stream, except for a
// copy between devices that cannot access each other's memory.
type route struct {
	into, from *hal.Stream
	ordered    bool // the source is read in stream order
}

// route returns the streams of a copy. stream is that of the access, or nil. A copy to a device runs on it if it is a stream of that
// device; a copy to the host runs on a stream of its source.
func (k *copier) route(m protocol.Move, stream *hal.Stream) (r route, err error) {
	s := k.owner
	r.ordered = true
	dst := s.places.replica(m.To)
	var src *replica
	if m.From != protocol.NoPlace {
		src = s.places.replica(m.From)
	}
	switch {
	case dst.dev == nil && src == nil:
		r.into = stream // of a device that shares the host's replica
	case dst.dev == nil:
		r.into, err = src.dev.CopyStream(true)
	case stream != nil && stream.Device().Same(dst.dev):
		r.into = stream
	default:
		r.into, err = dst.dev.CopyStream(false)
	}
	if err != nil {
		return r, err
	}
	r.from = r.into
	switch {
	case src == nil || dst.dev == nil:
	case src.dev == nil:
		r.ordered = s.host.lock(r.into)
	case !dst.dev.CanAccessPeer(src.dev):
		r.from, err = src.dev.CopyStream(true)
	}
	return r, err
}

// detour changes copies of a plan that would make a call of the driver block: they copy to the host first. These are copies
// between devices that cannot access each other's memory, if the stream of one cannot wait for the stream of the other. all is false if a copy
// was changed. Then the caller waits for the bytes at the host, with the buffer unlocked, and plans again.
func (k *copier) detour(plan []protocol.Transfer, stream *hal.Stream) (now []protocol.Transfer, all bool, err error) {
	all = true
	for i, t := range plan {
		if t.From == protocol.NoPlace || t.From == protocol.Host || t.To == protocol.Host {
			continue
		}
		r, err := k.route(t.Move, stream)
		if err != nil {
			return nil, false, err
		}
		if r.from != r.into && (blocks(r.into, r.from) || blocks(r.from, r.into)) {
			plan[i].To, all = protocol.Host, false
		}
	}
	return plan, all, nil
}

// blocks reports whether the call that makes stream wait for other would itself block.
func blocks(stream, other *hal.Stream) bool {
	if stream.Device().Caps().Has(hal.CapGate) {
		return false
	}
	e, err := other.RecordShared()
	if err != nil {
		return true
	}
	defer e.Close()
	return !layer.CanDefer(stream, e)
}

// copy is the third step of an access: it enqueues the copies of a plan, and applies each to the state. Each has an event of its own,
// because an event of OpenCL reports the failure of one command only.
func (k *copier) copy(plan []protocol.Transfer, stream *hal.Stream, mem *hal.Memory, c cause) error {
	s := k.owner
	var r route
	var err error
	for i, t := range plan {
		if i == 0 || t.Move != plan[i-1].Move {
			if r, err = k.route(t.Move, stream); err != nil {
				return err
			}
		}
		begin := now()
		var reached *arrival
		if !begin.IsZero() {
			reached = arrive(r.into)
		}
		err = k.transfer(t, r, mem, c)
		k.record(t, r)
		if err != nil {
			return err
		}
		if err = s.m.Apply(t); err != nil {
			return err
		}
		k.account(t, r.into, c, begin, reached)
		if t.From != protocol.NoPlace {
			s.places.replica(t.From).classify()
		}
	}
	if g := s.host.guard; g != nil {
		g.settle()
	}
	return nil
}

// transfer enqueues one copy.
func (k *copier) transfer(t protocol.Transfer, r route, mem *hal.Memory, c cause) error {
	if trace.IsEnabled() {
		return k.enqueueTraced(t, r, mem, c)
	}
	return k.enqueue(t, r, mem)
}

// enqueue enqueues one copy or fill. mem is the host's replica as memory of the access's device.
func (k *copier) enqueue(t protocol.Transfer, r route, mem *hal.Memory) error {
	s := k.owner
	dst := s.places.replica(t.To)
	if t.From == protocol.NoPlace {
		if dst.dev != nil {
			mem = dst.mem
		}
		return r.into.Fill(dst.regionAs(mem, t.Lo, t.Hi), hal.Zero)
	}
	src := s.places.replica(t.From)
	switch {
	case dst.dev == nil:
		if err := s.host.permit(true); err != nil {
			return err
		}
		s.host.clean = false
		s.host.lock(r.into)
		return r.into.CopyOut(s.host.slice(t.Lo, t.Hi), src.region(t.Lo, t.Hi))
	case src.dev == nil:
		if err := s.host.permit(false); err != nil {
			return err
		}
		return r.into.CopyIn(dst.region(t.Lo, t.Hi), s.host.slice(t.Lo, t.Hi))
	case r.from == r.into:
		return r.into.Copy(dst.region(t.Lo, t.Hi), src.region(t.Lo, t.Hi))
	}
	return hal.CopyPeer(r.into, dst.region(t.Lo, t.Hi), r.from, src.region(t.Lo, t.Hi))
}

// account counts a transfer that was applied to the state, and reports it to observers.
func (k *copier) account(t protocol.Transfer, stream *hal.Stream, c cause, begin time.Time, reached *arrival) {
	s := k.owner
	n := t.Hi - t.Lo
	switch {
	case t.From == protocol.NoPlace:
		s.stats.Fills++
		s.stats.BytesFilled += n
		totals.fills.Add(1)
		totals.bytesFilled.Add(n)
	default:
		s.stats.Copies++
		s.stats.BytesCopied += n
		totals.copies.Add(1)
		totals.bytesCopied.Add(n)
	}
	if observed() {
		k.note(t, stream, c, begin, reached)
	}
}

// enqueueTraced is enqueue for the execution tracer of package runtime/trace: a task from here to the end of the
// transfer, and a region for the call that enqueues it.
func (k *copier) enqueueTraced(t protocol.Transfer, r route, mem *hal.Memory, c cause) error {
	s := k.owner
	name, from := "halyard: copy", ""
	if t.From == protocol.NoPlace {
		name = "halyard: fill"
	} else {
		from = s.places.name(t.From, nil) + " to "
	}
	ctx, task := trace.NewTask(context.Background(), name)
	trace.Logf(ctx, "halyard", "buffer %d [%d, %d) %s%s because of %s for %v", s.id, t.Lo, t.Hi, from, s.places.name(t.To, nil), c.op, c.action)
	region := trace.StartRegion(ctx, name)
	err := k.enqueue(t, r, mem)
	region.End()
	if err != nil || r.into.OnDone(task.End) != nil {
		task.End()
	}
	return err
}
