package buffer

import (
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/span"
)

// losses are ranges whose bytes a failure spoiled at some place, and that no access has written since. If no place has the bytes any more,
// every access that would read them fails. If another place still has them, one access fails, so that the program learns of the failure.
type losses struct {
	owner *storage
	tree  span.Tree[loss]
}

type loss struct {
	err  error
	once bool // the bytes are current somewhere: only the next access fails
}

// add adds a failure. A range whose bytes are current nowhere stays lost, even if x is an error that only one access reports.
func (l *losses) add(lo, hi uint64, x loss) {
	if !x.once {
		l.forget(lo, hi)
		l.tree.Insert(&span.Node[loss]{Lo: lo, Hi: hi, Value: x})
		return
	}
	at := lo
	for _, n := range l.tree.Meeting(lo, hi, nil) {
		if at < n.Lo {
			l.tree.Insert(&span.Node[loss]{Lo: at, Hi: n.Lo, Value: x})
		}
		at = max(at, n.Hi)
	}
	if at < hi {
		l.tree.Insert(&span.Node[loss]{Lo: at, Hi: hi, Value: x})
	}
}

// forget removes [lo, hi), which is written again.
func (l *losses) forget(lo, hi uint64) {
	if l.tree.Len() == 0 {
		return
	}
	for _, n := range l.tree.Meeting(lo, hi, nil) {
		end, x := n.Hi, n.Value
		switch {
		case n.Lo < lo:
			l.tree.Cut(n, n.Lo, lo)
			if hi < end {
				l.tree.Insert(&span.Node[loss]{Lo: hi, Hi: end, Value: x})
			}
		case hi < end:
			l.tree.Cut(n, hi, end)
		default:
			l.tree.Delete(n)
		}
	}
}

// told removes the failures in [lo, hi) that only one access reports.
func (l *losses) told(lo, hi uint64) {
	for _, n := range l.tree.Meeting(lo, hi, nil) {
		if n.Value.once {
			l.tree.Delete(n)
		}
	}
}

// in returns the error of an access that would read [lo, hi), or nil.
func (l *losses) in(op string, lo, hi uint64) error {
	if l.tree.Len() == 0 {
		return nil
	}
	var found *span.Node[loss]
	for _, n := range l.tree.Meeting(lo, hi, nil) {
		if found == nil || found.Value.once {
			found = n
		}
		if !n.Value.once {
			break
		}
	}
	switch {
	case found == nil:
		return nil
	case found.Value.once:
		l.told(lo, hi)
		return underWay(op, found.Value.err)
	}
	return &hal.Error{Op: op, Device: -1, Kind: hal.ErrDeviceLost, Err: found.Value.err,
		Detail: "the last write failed and no other place has the bytes; overwrite or reset them"}
}

// underWay is the error of the one access that reports a failure of earlier work. Another place may still have the bytes.
func underWay(op string, err error) error {
	return &hal.Error{Op: op, Device: -1, Kind: kindOf(err), Err: err, Detail: "earlier work failed"}
}

func kindOf(err error) error {
	if e, ok := err.(*hal.Error); ok {
		return e.Kind
	}
	return hal.ErrDriver
}
