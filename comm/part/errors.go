package part

import (
	"errors"
	"fmt"
	"strings"

	"github.com/go-halyard/halyard/buffer"
)

// ErrStale is the kind of the error of a read that was refused because some of the ghosts are stale. Its text names them. Nothing was read,
// and nothing has changed.
var ErrStale = errors.New("stale ghosts")

// A staleError is an error of kind ErrStale.
type staleError struct {
	Rank   int
	Local  []buffer.Range // in the local numbering, ascending
	Global []buffer.Range // the same elements in the global numbering, one range for each of Local

	call string // the call that makes these elements current
}

// Error names the first ranges.
func (e *staleError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "part: %v on rank %d: global elements", ErrStale, e.Rank)
	for i, r := range e.Global {
		if i == 4 {
			fmt.Fprintf(&b, " and %d more ranges", len(e.Global)-i)
			break
		}
		fmt.Fprintf(&b, " [%d, %d)", r.Lo, r.Hi)
	}
	fmt.Fprintf(&b, "; call %s to update them", e.call)
	return b.String()
}

// Is reports whether target is ErrStale.
func (e *staleError) Is(target error) bool { return target == ErrStale }
