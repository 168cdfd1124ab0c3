package buffer

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/callsite"
)

// ErrFrozen is the kind of error that a write to a frozen buffer gives.
var ErrFrozen = errors.New("the buffer is frozen")

func interrupted(op string, ctx context.Context, holder *ConflictError) error {
	e := &hal.Error{Op: op, Device: -1, Kind: hal.ErrNotReady, Err: context.Cause(ctx)}
	if holder != nil {
		e.Err = errors.Join(context.Cause(ctx), holder)
	}
	return e
}

// Access is one of the two accesses of a conflict.
type Access struct {
	Action coherence.Action
	Place  string // "host" or a device's name
	Lo, Hi int    // elements of the whole buffer
	Site   string // file:line of the call, "" where it was not recorded
}

func (p Access) String() string {
	s := fmt.Sprintf("%v of [%d, %d) at %s", p.Action, p.Lo, p.Hi, p.Place)
	if p.Site != "" {
		s += " (" + p.Site + ")"
	}
	return s
}

// ConflictError reports two accesses to the same elements of which one writes. The one that is named as Theirs is under way, or came
// first and waits. It matches
// coherence.ErrConflict and hal.ErrBusy. The site of a reader is recorded when HALYARD_DEBUG contains
// "sites"; those of writers always are.
type ConflictError struct {
	Op        string
	Requested Access // what was refused
	Holder    Access // what is under way, or has waited for longer

	holder *access // of Theirs, while the storage is locked
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("%s: %v excluded by %v", e.Op, e.Requested, e.Holder)
}

// Is reports whether target is coherence.ErrConflict or hal.ErrBusy.
func (e *ConflictError) Is(target error) bool {
	return target == coherence.ErrConflict || target == hal.ErrBusy
}

// conflictError describes the access that x excludes.
func (s *storage) conflictError(op string, p part, place string, x *access) *ConflictError {
	var here callsite.Site
	callsite.Here(&here)
	return &ConflictError{Op: op, Requested: s.party(p, place, &here), Holder: s.party(x.part, s.placeName(x.place, x.stream), &x.site), holder: x}
}

// conflictWith describes the access that x excludes, or is behind.
func (s *storage) conflictWith(x, other *access) *ConflictError {
	return s.conflictError(x.op, x.part, s.placeName(x.place, x.stream), other)
}

func (s *storage) party(p part, place string, site *callsite.Site) Access {
	return Access{Action: p.mode, Place: place, Lo: int(p.lo / s.elem), Hi: int(p.hi / s.elem), Site: site.Outside(packagePath)}
}
