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

// ErrFrozen is the kind of error that a write to a frozen buffer gives.
var ErrFrozen = errors.New("the buffer is frozen")

// interrupted is the error of a wait that ended because ctx did. holder says what it waited for, nil if nobody knows.
func interrupted(op string, ctx context.Context, holder *ConflictError) error {
	if holder == nil {
		return layer.Interrupted(op, ctx)
	}
	return gaveUp(op, ctx, holder.parties(), holder)
}

// gaveUp is the error of a wait that ended because ctx did. detail is the text of reason without its operation, so that one line says
// everything once.
func gaveUp(op string, ctx context.Context, detail string, reason error) error {
	return &hal.Error{Op: op, Device: -1, Kind: hal.ErrNotReady, Detail: detail, Err: &endedWait{context.Cause(ctx), reason}}
}

// endedWait is the cause of an error that has the text of reason already. errors.Is and errors.As find both.
type endedWait struct{ cause, reason error }

func (e *endedWait) Error() string   { return e.cause.Error() }
func (e *endedWait) Unwrap() []error { return []error{e.cause, e.reason} }

// Helper marks the function that calls it as part of a library: where an [Access] would name a line of that function, it names the line
// that called the function instead, as with testing.T.Helper. A launcher calls it in each function that takes leases for others. Once a
// program has called it, accesses that record their call site take about a microsecond longer. Only the marked functions are remembered.
//
//go:noinline
func Helper() { callsite.Mark() }

// Access is one of the two accesses of a conflict.
type Access struct {
	Action string // "Read", "ReadWrite", "Overwrite", "MarkModified", "Evict" or "Reset"
	Place  string // "host" or a device's name
	Lo, Hi int    // elements of the whole buffer
	Site   string // file:line of the call, "" where it was not recorded
}

func (p Access) String() string {
	s := fmt.Sprintf("%s of [%d, %d) at %s", p.Action, p.Lo, p.Hi, p.Place)
	if p.Site != "" {
		s += " (" + p.Site + ")"
	}
	return s
}

// ConflictError is the type of every error of kind coherence.ErrConflict. In most cases it reports two accesses to the same elements, one
// of which writes: Holder is under way, or came first and waits. It matches hal.ErrBusy too, because the same call may succeed later. The
// call sites of writers are always recorded, those of readers only if HALYARD_DEBUG contains the word sites.
//
// The other case is MarkModified where the elements are not current. Then Holder is the zero Access, Detail says why, and the error
// does not match hal.ErrBusy.
type ConflictError struct {
	Op        string
	Requested Access // what was refused
	Holder    Access // what is under way, or has waited for longer
	Detail    string // why it was refused, where no other access is in the way; else ""

	holder *access // what Holder describes; use it only while the storage is locked
}

func (e *ConflictError) Error() string {
	return e.Op + ": " + e.parties()
}

func (e *ConflictError) parties() string {
	if e.Detail != "" {
		return fmt.Sprintf("%v: %s", e.Requested, e.Detail)
	}
	return fmt.Sprintf("%v excluded by %v", e.Requested, e.Holder)
}

// Is reports whether target is coherence.ErrConflict, or hal.ErrBusy where another access is in the way.
func (e *ConflictError) Is(target error) bool {
	return target == coherence.ErrConflict || target == hal.ErrBusy && e.Detail == ""
}

// conflictError is the error of an access p at a place, which x excludes.
func (s *storage) conflictError(op string, p part, place string, x *access) *ConflictError {
	var here callsite.Site
	callsite.Here(&here)
	if callsite.Marked() {
		callsite.Beyond(&here, packagePath)
	}
	return &ConflictError{Op: op, Requested: s.party(p, place, &here), Holder: s.party(x.part, s.places.name(x.place, x.stream), &x.site), holder: x}
}

// staleError is the error of MarkModified for elements that are not current at the device.
func (x *access) staleError(detail string) *ConflictError {
	s := x.storage
	var here callsite.Site
	callsite.Here(&here)
	return &ConflictError{Op: x.op, Requested: s.party(x.part, s.places.name(x.place, x.stream), &here), Detail: detail}
}

// conflictWith is the error of x, which other excludes.
func (x *access) conflictWith(other *access) *ConflictError {
	s := x.storage
	return s.conflictError(x.op, x.part, s.places.name(x.place, x.stream), other)
}

func (s *storage) party(p part, place string, site *callsite.Site) Access {
	return Access{Action: p.mode.String(), Place: place, Lo: int(p.lo / s.elem), Hi: int(p.hi / s.elem), Site: site.Outside(packagePath)}
}
