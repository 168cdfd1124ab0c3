package hal

// A driver's error may speak of the work that was asked about or of the call that asked. Work that failed says so
// again; a call that failed once may not. So nobody frees memory, lets a stream go on or believes bytes lost because
// of one error: it asks twice.

type querier interface{ Query() (done bool, err error) }

// asked is Query, made again after an error.
func asked(q querier) (done bool, err error) {
	if done, err = q.Query(); err != nil {
		done, err = q.Query()
	}
	return done, err
}

type syncer interface{ Sync() error }

// waited is Sync, made again after an error.
func waited(w syncer) error {
	err := w.Sync()
	if err != nil {
		err = w.Sync()
	}
	return err
}
