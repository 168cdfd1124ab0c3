package hal

// An error of a driver's Query or Sync may mean that the work failed or that the call itself did. Failed work reports
// its error again; a call that failed once may succeed the next time. So the library asks twice before it frees memory,
// lets a stream go on or treats bytes as lost.

type querier interface{ Query() (done bool, err error) }

// asked calls Query, and calls it again after an error.
func asked(q querier) (done bool, err error) {
	if done, err = q.Query(); err != nil {
		done, err = q.Query()
	}
	return done, err
}

type syncer interface{ Sync() error }

// waited calls Sync, and calls it again after an error.
func waited(w syncer) error {
	err := w.Sync()
	if err != nil {
		err = w.Sync()
	}
	return err
}
