package coherence

import "errors"

// The kinds of error that come from where elements are current. A buffer's errors match them with errors.Is.
var (
	// ErrConflict says that an access excludes another one, which is under way or came first, or that elements were marked as modified
	// where they were not current. The error is a *buffer.ConflictError, which has the details, and nothing has changed.
	ErrConflict = errors.New("conflicting access")
	// ErrSoleCopy says that the only current replica would be lost: it was to be evicted, and there is no other place to copy it to.
	ErrSoleCopy = errors.New("sole valid copy")
)
