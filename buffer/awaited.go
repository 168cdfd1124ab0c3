package buffer

import (
	"context"

	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
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
	x, err := b.s.acquireAwaited(ctx, op, b.own, newPart(b.lo, b.hi, protocol.Action(mode)), fits)
	return b.lease(x), x != nil, err
}

// having returns the replica of a device that has all bytes of a part and for which fits returns true, or nil. The host's replica is not
// looked at, whichever devices share it, nor are replicas that are leaving.
func (ps *places) having(p part, fits func(*hal.Device) bool) *replica {
	for _, r := range ps.devs { // at most one for each device
		if r.dev != nil && r.Mem != nil && !r.Leaving() && ps.owner.m.ValidIn(p.Lo, p.Hi, r.place) && fits(r.dev) {
			return r
		}
	}
	return nil
}
