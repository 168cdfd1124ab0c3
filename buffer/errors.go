package buffer

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/callsite"
	"github.com/go-halyard/halyard/internal/debug"
	"github.com/go-halyard/halyard/internal/layer"
	"github.com/go-halyard/halyard/internal/protocol"
)

// ErrFrozen is the kind of the error of a write to a frozen buffer.
var ErrFrozen = errors.New("the buffer is frozen")

func noStream(op string) error { return hal.Errorf(op, hal.ErrInvalidArgument, "nil stream") }

// validMode reports whether mode is a mode of access; modeError is the error if it is not.
func validMode(mode protocol.Action) bool {
	return mode == protocol.Read || mode == protocol.ReadWrite || mode == protocol.Overwrite
}

func modeError(op string, mode protocol.Action) error {
	return hal.Errorf(op, hal.ErrInvalidArgument, "%v is not an access mode; use Read, ReadWrite or Overwrite", coherence.Mode(mode))
}

// interrupted is the error of a wait that ended because ctx ended. holder describes the access that it waited for, nil if that is not
// known; the storage is locked.
func interrupted(op string, ctx context.Context, holder *ConflictError) error {
	if holder == nil {
		return layer.Interrupted(op, ctx)
	}
	holder.explain()
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
	why        string  // why the access may never end: the goroutine that waits for it has made it itself; else ""
	holder     *access // the access that Holder describes; use it only while the storage is locked
}

func (e *ConflictError) Error() string {
	if e.op == e.Requested.Action {
		return e.parties() // which begin with the name
	}
	return e.op + ": " + e.parties()
}

// As makes errors.As find a [*hal.Error], too, as in all other errors of calls.
func (e *ConflictError) As(target any) bool {
	t, ok := target.(**hal.Error)
	if ok {
		*t = &hal.Error{Op: e.op, Device: -1, Kind: hal.ErrBusy, Detail: e.parties()}
		if !e.Is(hal.ErrBusy) {
			(*t).Kind = coherence.ErrConflict
		}
	}
	return ok
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
	return fmt.Sprintf("%v has to wait for %v%s", e.Requested, e.Holder, e.why)
}

// Is reports whether target is coherence.ErrConflict, or hal.ErrBusy if another access excludes the requested one.
func (e *ConflictError) Is(target error) bool {
	return target == coherence.ErrConflict || target == hal.ErrBusy && e.detail == ""
}

// conflictError is the error of an access p at a place, which x excludes.
func (s *storage) conflictError(op string, p part, place string, x *access) *ConflictError {
	holder := s.party(x.Part, s.placeName(x.place, x.stream), &x.site)
	return &ConflictError{op: op, buffer: s.name, Requested: s.requested(op, p, place), Holder: holder, holder: x}
}

// explain finds out why the calling goroutine, which waits for the other access, may wait for ever; the storage is locked.
func (e *ConflictError) explain() {
	var here callsite.Site
	switch me := callsite.Here(&here); {
	case !e.holder.IsOpen():
	case e.Holder.Site != "" && e.holder.goroutine == me && me != 0:
		e.why = ", of this goroutine or of one that has ended"
	case e.Holder.Site == "" && e.holder.stream == nil: // a View may run the function that makes this call
		if site := callsite.Around(packagePath); site != "" {
			e.why = ", and this call is in a function that was passed at " + site
		}
	}
}

// staleError is the error of MarkModified for elements that are not current at the device.
func (x *access) staleError(detail string) *ConflictError {
	s := x.storage
	return &ConflictError{op: x.op, buffer: s.name, Requested: s.requested(x.op, x.Part, s.placeName(x.place, x.stream)), detail: detail}
}

// requested describes the access of the call under way.
func (s *storage) requested(op string, p part, place string) Access {
	var here callsite.Site
	callsite.Beyond(&here, packagePath)
	a := s.party(p, place, &here)
	if p.Mode == protocol.MarkModified {
		a.Action = op // or MarkHostModified
	}
	return a
}

// conflictWith is the error of x, which other excludes.
func (x *access) conflictWith(other *access) *ConflictError {
	s := x.storage
	return s.conflictError(x.op, x.Part, s.placeName(x.place, x.stream), other)
}

func (s *storage) party(p part, place string, site *callsite.Site) Access {
	return Access{Action: p.Mode.String(), Place: place, Lo: int(p.Lo / s.elem), Hi: int(p.Hi / s.elem), Site: site.Outside(packagePath)}
}

// listener returns where messages to the user about long waits are written, or nil.
var listener = sync.OnceValue(debug.Listener)

// patience is how long a wait lasts before a message is written about it.
const patience = 2 * time.Second

// tellOfItself writes a message if x, which waits on this goroutine, waits for an access of the same goroutine.
func (s *storage) tellOfItself(x *access) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if other := s.queue.Excluding(&x.Entry); other != nil {
		e := x.conflictWith(other)
		if e.explain(); e.why != "" {
			fmt.Fprintf(listener(), "halyard: %s has waited for %v: %s\n", x.op, patience, e.parties())
		}
	}
}
