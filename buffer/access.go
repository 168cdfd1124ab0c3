package buffer

import (
	"context"
	"os"
	"runtime/trace"
	"strings"
	"time"

	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/callsite"
)

// packagePath tells the frames of this package from its callers'.
const packagePath = "github.com/go-halyard/halyard/buffer"

// recordSites makes readers record where they stand, too.
var recordSites = strings.Contains(os.Getenv("HALYARD_DEBUG"), "sites")

// access is one lease or host function under way.
type access struct {
	lo, hi uint64   // bytes
	parts  []extent // of [lo, hi), nil for all of it
	action coherence.Action
	open   bool
	gen    uint32
	place  coherence.Place
	stream *hal.Stream   // nil on the host
	mem    *hal.Memory   // that the lease gave out
	op     string        // the call, and when it had what it needed: set while somebody observes
	since  time.Duration // from began
	site   callsite.Site
}

// accesses are the slots of one storage; a slot is used again under another generation.
type accesses struct {
	slots []access
	free  []uint32
	open  int
}

func (a *accesses) begin(lo, hi uint64, action coherence.Action, p coherence.Place, s *hal.Stream) (slot, gen uint32) {
	if n := len(a.free); n > 0 {
		slot = a.free[n-1]
		a.free = a.free[:n-1]
	} else {
		slot = uint32(len(a.slots))
		a.slots = append(a.slots, access{})
	}
	x := &a.slots[slot]
	x.lo, x.hi, x.action, x.place, x.stream = lo, hi, action, p, s
	x.open = true
	x.gen++
	a.open++
	return slot, x.gen
}

func (a *accesses) end(slot uint32) {
	x := &a.slots[slot]
	x.open = false
	x.stream, x.mem, x.parts = nil, nil, nil
	x.since = 0
	x.site = callsite.Site{}
	a.free = append(a.free, slot)
	a.open--
}

// get returns the access that a lease stands for, nil if the lease is stale.
func (a *accesses) get(slot, gen uint32) *access {
	if int(slot) >= len(a.slots) {
		return nil
	}
	if x := &a.slots[slot]; x.open && x.gen == gen {
		return x
	}
	return nil
}

// conflict returns an open access that excludes one of the parts of [lo, hi), or of all of it for none, by the host, for
// a nil device, or by a device; nil if there is none.
func (s *storage) conflict(dev *hal.Device, lo, hi uint64, parts []extent, writes bool) *access {
	if parts == nil || s.accesses.open == 0 {
		return s.conflictIn(dev, lo, hi, writes)
	}
	for _, e := range parts {
		if x := s.conflictIn(dev, e.lo, e.hi, writes); x != nil {
			return x
		}
	}
	return nil
}

func (s *storage) conflictIn(dev *hal.Device, lo, hi uint64, writes bool) *access {
	a := &s.accesses
	if a.open == 0 {
		return nil
	}
	turns := s.host.mapper != nil && (dev == nil || s.host.mapper.Device().Same(dev))
	for i := range a.slots {
		x := &a.slots[i]
		if !x.open || !writes && x.action == coherence.Read {
			continue
		}
		if x.lo < hi && lo < x.hi && (x.parts == nil || overlap(x.parts, lo, hi)) {
			return x
		}
		// Where host and device take turns with the memory, they do so with the whole of it.
		if turns && x.place == coherence.Host && (x.stream == nil) != (dev == nil) {
			return x
		}
	}
	return nil
}

// conflictError describes the access that x excludes.
func (s *storage) conflictError(op string, action coherence.Action, place string, lo, hi uint64, x *access) *ConflictError {
	var here callsite.Site
	callsite.Here(&here)
	return &ConflictError{
		Op:   op,
		Mine: Party{Action: action, Place: place, Lo: int(lo / s.elem), Hi: int(hi / s.elem), Site: here.Outside(packagePath)},
		Theirs: Party{Action: x.action, Place: s.placeName(x.place, x.stream), Lo: int(x.lo / s.elem), Hi: int(x.hi / s.elem),
			Site: x.site.Outside(packagePath)},
	}
}

// settle waits, with s.mu held, until nothing excludes an access of the parts of [lo, hi), or of all of it, by the host,
// for a nil device, or by a device. The lock is given up in between.
func (s *storage) settle(ctx context.Context, op string, action coherence.Action, dev *hal.Device, place string, lo, hi uint64, parts []extent) error {
	for {
		if s.closed {
			return s.closedError(op)
		}
		x := s.conflict(dev, lo, hi, parts, action != coherence.Read)
		if x == nil {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return interrupted(op, ctx, s.conflictError(op, action, place, lo, hi, x))
		}
		s.pause(ctx, cause{op: op, action: action}, lo, hi)
	}
}

// pause gives the lock up until an access ends or ctx does.
func (s *storage) pause(ctx context.Context, c cause, lo, hi uint64) {
	defer trace.StartRegion(ctx, "halyard: wait").End()
	begin := now()
	if s.changed == nil {
		s.changed = make(chan struct{})
	}
	ch := s.changed
	s.mu.Unlock()
	select {
	case <-ch:
	case <-ctx.Done():
	}
	s.mu.Lock()
	s.waited(c, "access", nil, lo, hi, begin)
}

// ended closes an access and wakes those who wait for it; s.mu is held.
func (s *storage) ended(slot uint32) {
	s.accesses.end(slot)
	if s.changed != nil {
		close(s.changed)
		s.changed = nil
	}
	if g := s.host.guard; g != nil {
		g.settle()
	}
}
