package hal

import "sync/atomic"

// A driver's Query that returns done says how the work has ended. A Query that returns an error without done has failed itself and says
// nothing about the work, which may still run: its memory must not be freed or lent, and no other work may begin in its place. So such an
// answer counts as "not yet", and the question is asked again. The same holds for a Sync that failed: only a Query tells whether the work
// has ended.

type querier interface{ Query() (done bool, err error) }

// unanswered counts the questions about one object that the driver failed to answer, one after another.
type unanswered struct{ n atomic.Uint32 }

// patience is how many questions in a row a driver may fail to answer. An event that somebody waits for is asked about once in two milliseconds.
const patience = 500

// ask calls Query. err is not nil only if done is true: then the work has failed. If the driver has lost the patience of this package, the
// device counts as lost.
func (s *deviceState) ask(q querier, u *unanswered) (done bool, err error) {
	done, err = q.Query()
	switch {
	case done || err == nil:
		if u.n.Load() != 0 {
			u.n.Store(0)
		}
		return done, err
	case isKind(err, ErrDeviceLost) || s.lost.Load() != nil || u.n.Add(1) >= patience:
		return true, s.check(s.giveUp(err))
	}
	return false, nil
}

// giveUp turns the driver's answer into the error of a device that can no longer say whether its work is done.
func (s *deviceState) giveUp(err error) error {
	if isKind(err, ErrDeviceLost) {
		return err
	}
	e := &Error{Op: "query", Backend: s.info.Backend, Device: s.info.Ordinal, Kind: ErrDeviceLost, Detail: "the driver fails to say whether work is done"}
	if v, ok := err.(*Error); ok {
		e.Vendor = v.Vendor // not the error itself, which is of another kind
	} else {
		e.Err = err
	}
	return e
}
