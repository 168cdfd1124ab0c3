package buffer

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/callsite"
	"github.com/go-halyard/halyard/internal/layer"
)

// ErrFrozen is the kind of the error of a write to a frozen buffer.
var ErrFrozen = errors.New("the buffer is frozen")

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
// The other case is MarkModified of elements that are not current. Then Holder is the zero Access, the text gives the reason, and the error
// does not match hal.ErrBusy.
type ConflictError struct {
	Requested Access // the refused access
	Holder    Access // the access that excludes it: one under way, or one that has waited for longer

	op, buffer string  // the buffer's name may be ""
	detail     string  // the reason if no other access excludes it; else ""
	holder     *access // the access that Holder describes; use it only while the storage is locked
}

func (e *ConflictError) Error() string {
	return e.op + ": " + e.parties()
}

func (e *ConflictError) parties() string {
	if e.buffer != "" {
		return fmt.Sprintf("buffer %q: %s", e.buffer, e.accesses())
	}
	return e.accesses()
}

func (e *ConflictError) accesses() string {
	if e.detail != "" {
		return fmt.Sprintf("%v: %s", e.Requested, e.detail)
	}
	return fmt.Sprintf("%v excluded by %v", e.Requested, e.Holder)
}

// Is reports whether target is coherence.ErrConflict, or hal.ErrBusy if another access excludes the requested one.
func (e *ConflictError) Is(target error) bool {
	return target == coherence.ErrConflict || target == hal.ErrBusy && e.detail == ""
}

// conflictError is the error of an access p at a place, which x excludes.
func (s *storage) conflictError(op string, p part, place string, x *access) *ConflictError {
	var here callsite.Site
	callsite.Here(&here)
	holder := s.party(x.Part, s.placeName(x.place, x.stream), &x.site)
	return &ConflictError{op: op, buffer: s.name, Requested: s.party(p, place, &here), Holder: holder, holder: x}
}

// staleError is the error of MarkModified for elements that are not current at the device.
func (x *access) staleError(detail string) *ConflictError {
	s := x.storage
	var here callsite.Site
	callsite.Here(&here)
	return &ConflictError{op: x.op, buffer: s.name, Requested: s.party(x.Part, s.placeName(x.place, x.stream), &here), detail: detail}
}

// conflictWith is the error of x, which other excludes.
func (x *access) conflictWith(other *access) *ConflictError {
	s := x.storage
	return s.conflictError(x.op, x.Part, s.placeName(x.place, x.stream), other)
}

func (s *storage) party(p part, place string, site *callsite.Site) Access {
	return Access{Action: p.Mode.String(), Place: place, Lo: int(p.Lo / s.elem), Hi: int(p.Hi / s.elem), Site: site.Outside(packagePath)}
}
