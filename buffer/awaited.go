package buffer

import (
	"context"

	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/layer"
	"github.com/go-halyard/halyard/internal/layer/slot"
	"github.com/go-halyard/halyard/internal/protocol"
)

// These are the functions of this package that package internal/awaited calls; they are documented there.
func init() {
	slot.Buffer = struct {
		AcquireAwaited func(ctx context.Context, b any, mode coherence.Mode, fits func(*hal.Device) bool) (Lease, bool, error)
	}{
		func(ctx context.Context, b any, mode coherence.Mode, fits func(*hal.Device) bool) (Lease, bool, error) {
			return b.(interface {
				acquireAwaited(context.Context, coherence.Mode, func(*hal.Device) bool) (Lease, bool, error)
			}).acquireAwaited(ctx, mode, fits)
		},
	}
}

func (b *Buffer[T]) acquireAwaited(ctx context.Context, mode coherence.Mode, fits func(*hal.Device) bool) (Lease, bool, error) {
	const op = "Acquire"
	if err := b.check(op); err != nil {
		return Lease{}, false, err
	}
	x, err := b.s.acquireAwaited(ctx, op, b.own, part{b.lo, b.hi, protocol.Action(mode)}, fits)
	return b.lease(x), x != nil, err
}

// acquireAwaited begins an access at a device that has the bytes, for calls of the host, and returns when they are ready. It returns nil if
// there is no such device. The stream of the access is one of the device's own, which gets work only if bytes have to be copied again.
func (s *storage) acquireAwaited(ctx context.Context, op string, own *owner, p part, fits func(*hal.Device) bool) (x *access, err error) {
	if err := validMode(op, p.mode); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.unlock()
	for x == nil {
		r := s.places.having(p, fits)
		if r == nil {
			return nil, nil
		}
		stream, err := r.dev.CopyStream(false)
		if err == nil {
			err = layer.Err(stream)
		}
		if err != nil {
			return nil, err
		}
		if x, err = s.admit(ctx, &request{op: op, own: own, stream: stream, part: p}); err != nil {
			return nil, err
		}
		if s.places.having(p, fits) != r { // another access has changed that while this one waited for it
			s.end(x)
			x = nil
		}
	}
	ready := false
	defer x.endUnless(&ready)
	if err := x.reach(ctx); err != nil {
		return nil, err
	}
	x.awaited = true
	if s.thrown == nil {
		x.commit()
	}
	x.begun()
	ready = true
	return x, nil
}

// having returns the replica of a device that has all bytes of a part and for which fits returns true, or nil. The host's replica is not
// looked at, whichever devices share it, nor are replicas that are leaving.
func (ps *places) having(p part, fits func(*hal.Device) bool) *replica {
	for _, r := range ps.devs { // at most one for each device
		if r.dev != nil && r.mem != nil && !r.leaving && ps.owner.m.ValidIn(p.lo, p.hi, r.place) && fits(r.dev) {
			return r
		}
	}
	return nil
}

// reach is fetch for an access at a device.
func (x *access) reach(ctx context.Context) error {
	for {
		if err := x.settle(ctx, false); err != nil {
			return err
		}
		plan, err := x.decide()
		if err != nil {
			return err
		}
		o, err := x.move(plan, x.stream, x.mem)
		if err != nil {
			return err
		}
		if o.none() {
			o.left = x.pending(false)
		}
		if o.none() {
			return x.show(false)
		}
		if err := x.overcome(ctx, o, false); err != nil {
			return err
		}
	}
}

// leaveAwaited ends an access at a device that is for calls of the host. It leaves no Work, because nothing is under way when it ends.
func (x *access) leaveAwaited(check func() error) {
	if check != nil {
		if err := check(); err != nil {
			x.replica.spoil(x.lo, x.hi, err)
		}
	}
	x.awaited = false
	x.used()
	x.storage.end(x)
}
