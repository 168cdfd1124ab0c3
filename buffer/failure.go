package buffer

import (
	"context"
	"fmt"

	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/callsite"
	"github.com/go-halyard/halyard/internal/layer"
	"github.com/go-halyard/halyard/internal/protocol"
	"github.com/go-halyard/halyard/internal/span"
)

// A failure is found by asking. Before an access reads bytes, learn asks the Works that wrote them whether they have failed. What a
// failed Work wrote is bad at its place: all of it, also outside the range of the access. Bytes that are current at another place are
// copied again from there. The others are lost until they are written again or reset, and every access that reads them fails.

// lose records that a range is lost. An earlier reason counts no more.
func (s *storage) lose(lo, hi uint64, err error) {
	s.notLost(lo, hi)
	s.lost.Insert(&span.Node[error]{Lo: lo, Hi: hi, Value: err})
}

// notLost removes [lo, hi), which is written again, from the losses.
func (s *storage) notLost(lo, hi uint64) {
	for _, n := range s.lost.Meeting(lo, hi, nil) {
		end, err := n.Hi, n.Value
		switch {
		case n.Lo < lo:
			s.lost.Cut(n, n.Lo, lo)
			if hi < end {
				s.lost.Insert(&span.Node[error]{Lo: hi, Hi: end, Value: err})
			}
		case hi < end:
			s.lost.Cut(n, hi, end)
		default:
			s.lost.Delete(n)
		}
	}
}

// failedError is the error of an access of [lo, hi) after learn has returned err, or nil: bytes of the range are lost, or err, if it is not
// nil, says why bytes of it have to be copied again.
func (s *storage) failedError(op string, lo, hi uint64, err error) error {
	if n := s.lost.Any(lo, hi); n != nil {
		return &hal.Error{Op: op, Device: -1, Kind: hal.ErrDeviceLost, Err: n.Value,
			Detail: "the last write failed and no other place has the bytes; overwrite or reset them"}
	}
	if err == nil {
		return nil
	}
	kind := hal.ErrDriver
	if e, ok := err.(*hal.Error); ok {
		kind = e.Kind
	}
	return &hal.Error{Op: op, Device: -1, Kind: kind, Err: err, Detail: "earlier work failed"}
}

// learn finds out whether work that wrote bytes of [lo, hi) has failed, at one place or, if at is nil, at any, and applies failures to the
// state. It returns the error of such work if bytes of the range were current there. It does not wait. self is the access that asks, or nil.
//
// Bytes that another open access writes are left out: when it ends, its own Work takes the place of the failed one, and fails if it reads
// the bad bytes.
func (s *storage) learn(self *access, at *replica, lo, hi uint64) (failed error) {
	for _, r := range s.at {
		if at != nil && r != at {
			continue
		}
		for _, f := range r.order.Failed(lo, hi, at != nil) {
			for _, u := range s.unwritten(self, r.place, f.Lo, f.Hi) {
				for _, bad := range r.taint(u.Lo, u.Hi, f.Err) {
					if failed == nil && bad.Lo < hi && lo < bad.Hi {
						failed = f.Err
					}
				}
				r.order.Forget(u.Lo, u.Hi, true, false)
			}
		}
		// No copy can be made from a device that is lost, although the work that wrote the bytes may have ended well.
		if at == nil && r.dev != nil {
			if err := layer.Lost(r.dev); err != nil {
				r.taint(lo, hi, err)
			}
		}
	}
	return failed
}

// unwritten returns the ranges of [lo, hi) that no open access other than x writes at a place.
func (s *storage) unwritten(x *access, p protocol.Place, lo, hi uint64) (list []span.Range) {
	s.queue.Writers(lo, hi, func(o *access, from, to uint64) bool {
		if o == x || o.replica == nil || o.place != p {
			return true
		}
		if lo < from {
			list = append(list, span.Range{Lo: lo, Hi: from})
		}
		lo = max(lo, to)
		return true
	})
	if lo < hi {
		list = append(list, span.Range{Lo: lo, Hi: hi})
	}
	return list
}

// taint makes bytes of a replica stale because they are bad, and returns the ranges that were current.
func (r *replica) taint(lo, hi uint64, err error) (bad []span.Range) {
	s := r.storage
	var valid []protocol.Set
	s.m.Runs(lo, hi, func(lo, hi uint64, at protocol.Set) bool {
		if at.Has(r.place) {
			bad, valid = append(bad, span.Range{Lo: lo, Hi: hi}), append(valid, at)
		}
		return true
	})
	for i, b := range bad {
		s.m.Invalidate(r.place, b.Lo, b.Hi)
		s.taintReaders(r.place, b.Lo, b.Hi, err)
		switch rest := valid[i].Without(r.place); {
		case rest != 0:
			s.stayIfLast(rest)
		case s.version > 0: // else nothing was ever written, and the bytes are zeros again
			s.lose(b.Lo, b.Hi, err)
		}
	}
	if len(bad) > 0 {
		s.updateSoles()
	}
	return bad
}

// taintReaders tells the open accesses that read bytes of [lo, hi) at a place that these are bad. The Work that wrote them is then no
// longer in the place's Order, so the work of these accesses would not find it among its sources.
func (s *storage) taintReaders(p protocol.Place, lo, hi uint64, err error) {
	s.queue.Readers(lo, hi, func(o *access, _, _ uint64) bool {
		if o.ready && o.place == p && o.bad == nil {
			o.bad = err
		}
		return true
	})
}

// stayIfLast makes one of the replicas at the places in valid stay if all of them are leaving: only they have current copies of some bytes.
func (s *storage) stayIfLast(valid protocol.Set) {
	if s.leaving == 0 {
		return
	}
	for p := range valid.All() {
		if !s.at[p].Leaving() {
			return
		}
	}
	s.at[valid.First()].stay()
}

// ErrFrozen is the kind of the error of a write to a frozen buffer.
var ErrFrozen error = frozen{}

type frozen struct{}

func (frozen) Error() string    { return "the buffer is frozen" }
func (frozen) KindName() string { return "Frozen" }

func noStream(op string) error { return hal.Errorf(op, hal.ErrInvalidArgument, "nil stream") }

// interrupted is the error of a wait that ended because ctx ended. holder describes the access that it waited for, nil if that is not
// known.
func interrupted(op string, ctx context.Context, holder *ConflictError) error {
	if holder == nil {
		return layer.Interrupted(op, ctx)
	}
	return gaveUp(op, ctx, holder.parties(), holder)
}

// gaveUp is the error of a wait that ended because ctx ended. detail is the text of reason without its operation, so that the error's text
// names the operation once.
func gaveUp(op string, ctx context.Context, detail string, reason error) error {
	return &hal.Error{Op: op, Device: -1, Kind: hal.ErrNotReady, Detail: detail, Err: &endedWait{context.Cause(ctx), reason}}
}

// endedWait is the cause of an error whose text already contains the text of reason. errors.Is and errors.As find both.
type endedWait struct{ cause, reason error }

func (e *endedWait) Error() string   { return e.cause.Error() }
func (e *endedWait) Unwrap() []error { return []error{e.cause, e.reason} }

// Access is one of the two accesses of a conflict.
type Access struct {
	Action string // "Read", "ReadWrite", "Overwrite", "MarkModified", "Evict", "Reset" or "Close"
	Place  string // "host" or a device's name
	Lo, Hi int    // elements of the whole buffer
	Site   string // file:line of the call, "" if it was not recorded
}

func (p Access) String() string {
	s := fmt.Sprintf("%s of [%d, %d) at %s", p.Action, p.Lo, p.Hi, p.Place)
	if p.Site != "" {
		s += " (" + p.Site + ")"
	}
	return s
}

// ConflictError is the type of every error of kind coherence.ErrConflict. In most cases it reports two accesses to the same elements, one
// of which writes: Holder is under way, or came first and waits. The error matches hal.ErrBusy too, because the same call may succeed
// later. The call sites of writers are always recorded, those of readers only if HALYARD_DEBUG contains the word sites.
//
// The other case is MarkModified of elements that are not current. Then Holder is the zero Access, Detail gives the reason, and the error
// does not match hal.ErrBusy.
type ConflictError struct {
	Op        string
	Buffer    string // the buffer's name (see WithName), or ""
	Requested Access // the refused access
	Holder    Access // the access that excludes it: one under way, or one that has waited for longer
	Detail    string // the reason if no other access excludes it; else ""

	holder *access // the access that Holder describes; use it only while the storage is locked
}

func (e *ConflictError) Error() string {
	return e.Op + ": " + e.parties()
}

func (e *ConflictError) parties() string {
	if e.Buffer != "" {
		return fmt.Sprintf("buffer %q: %s", e.Buffer, e.accesses())
	}
	return e.accesses()
}

func (e *ConflictError) accesses() string {
	if e.Detail != "" {
		return fmt.Sprintf("%v: %s", e.Requested, e.Detail)
	}
	return fmt.Sprintf("%v excluded by %v", e.Requested, e.Holder)
}

// Is reports whether target is coherence.ErrConflict, or hal.ErrBusy if another access excludes the requested one.
func (e *ConflictError) Is(target error) bool {
	return target == coherence.ErrConflict || target == hal.ErrBusy && e.Detail == ""
}

// KindName returns "Conflict", for [hal.KindName].
func (e *ConflictError) KindName() string { return "Conflict" }

// conflictError is the error of an access p at a place, which x excludes.
func (s *storage) conflictError(op string, p part, place string, x *access) *ConflictError {
	var here callsite.Site
	callsite.Here(&here)
	holder := s.party(x.Part, s.placeName(x.place, x.stream), &x.site)
	return &ConflictError{Op: op, Buffer: s.name, Requested: s.party(p, place, &here), Holder: holder, holder: x}
}

// staleError is the error of MarkModified for elements that are not current at the device.
func (x *access) staleError(detail string) *ConflictError {
	s := x.storage
	var here callsite.Site
	callsite.Here(&here)
	return &ConflictError{Op: x.op, Buffer: s.name, Requested: s.party(x.Part, s.placeName(x.place, x.stream), &here), Detail: detail}
}

// conflictWith is the error of x, which other excludes.
func (x *access) conflictWith(other *access) *ConflictError {
	s := x.storage
	return s.conflictError(x.op, x.Part, s.placeName(x.place, x.stream), other)
}

func (s *storage) party(p part, place string, site *callsite.Site) Access {
	return Access{Action: p.Mode.String(), Place: place, Lo: int(p.Lo / s.elem), Hi: int(p.Hi / s.elem), Site: site.Outside(packagePath)}
}
