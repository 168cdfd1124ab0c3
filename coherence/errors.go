package coherence

// The kinds of error of accesses and evictions. A buffer's errors match them with errors.Is.
var (
	// ErrConflict says that an access is excluded by another, which is under way or came first, or that MarkModified was called for
	// elements that are not current there. The error is a *buffer.ConflictError, which has the details, and nothing has changed.
	ErrConflict = error(&kind{"Conflict", "conflicting access"})
	// ErrSoleCopy says that an eviction would lose the only current bytes: there is no other place to copy them to.
	ErrSoleCopy = error(&kind{"SoleCopy", "sole valid copy"})
)

// kind is a kind of error. Its name is what hal.KindName returns.
type kind struct{ name, text string }

func (k *kind) Error() string    { return k.text }
func (k *kind) KindName() string { return k.name }
