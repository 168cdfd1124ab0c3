package coherence

import "errors"

// The kinds of error of accesses and evictions. A buffer's errors match them with errors.Is.
var (
	// ErrConflict says that an access is excluded by another, which is under way or came first, or that MarkModified was called for
	// elements that are not current there. The error is a *buffer.ConflictError, which has the details, and nothing has changed.
	ErrConflict = errors.New("conflicting access")
	// ErrSoleCopy says that an eviction would lose the only current bytes: there is no other place to copy them to.
	ErrSoleCopy = errors.New("sole valid copy")
)
