package driver

// Calls lists every collective operation once.
func Calls() []Call {
	all := make([]Call, lastCall)
	for i := range all {
		all[i] = Call(i)
	}
	return all
}

// Kinds lists every kind of error once, in the order of their definition.
func Kinds() []error {
	return []error{ErrUnavailable, ErrInvalidArgument, ErrUnsupported, ErrOutOfMemory, ErrClosed, ErrTruncated, ErrTimeout,
		ErrRankLost, ErrMismatch, ErrEngine}
}
