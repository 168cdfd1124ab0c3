package halyard

import "github.com/go-halyard/halyard/internal/callsite"

// Error is the first error of a queue. errors.Is and errors.As look through it.
type Error struct {
	Site string // file:line of the program's call, "" if it is not known
	Err  error
}

func (e *Error) Error() string {
	if e.Site == "" {
		return e.Err.Error()
	}
	return e.Site + ": " + e.Err.Error()
}

func (e *Error) Unwrap() error { return e.Err }

// site returns the place of the innermost call that the program made.
func site() string {
	const buffers = "github.com/go-halyard/halyard/buffer"
	var s callsite.Site
	callsite.Beyond(&s, buffers)
	return s.Outside(buffers)
}
