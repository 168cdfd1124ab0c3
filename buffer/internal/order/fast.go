package order

import (
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/layer"
	"github.com/go-halyard/halyard/internal/span"
)

// This file has the shortcuts for the most common accesses, which repeat an earlier one: quick tests for the rules of order.go, and the
// renewal of a Work in place of a new one.

// Settled reports whether every write is known to have ended without an error. Reads may be left. It does not ask the
// driver. It is a quick test for the most common case: false does not mean that an access of the host has to wait.
func (o *Order) Settled() bool {
	if o.barrier != nil || len(o.uses) > len(o.last) {
		return false
	}
	for _, u := range o.uses {
		if u.write && !u.good && !u.work.EndedWell() {
			return false
		}
	}
	return true
}

// Quiet reports whether an access on the stream can begin at once. It can if the replica's only work is the program's own earlier work on
// the same stream and, for an access that only reads, reads by other streams. For an access that reads, no write of the own work may be
// known to have failed. Quiet forgets other work that has ended well. It is a quick test for the most common case: false does not mean
// that an access has to wait. A caller that begins several accesses together passes the same Asked for all.
func (o *Order) Quiet(stream *hal.Stream, reads, writes bool, asked *Asked) bool {
	if o.barrier != nil && o.barrier.Stream != stream && o.Barrier() != nil || len(o.uses) > len(o.last) {
		return false
	}
	for i := 0; i < len(o.uses); {
		u := o.uses[i]
		switch {
		case u.own && u.work.Stream == stream:
			if reads && !u.fine(asked) {
				return false
			}
		case u.write || writes:
			if done, err := u.work.Ended(); !done || err != nil {
				return false
			}
			o.drop(u) // the last of uses has its place now
			continue
		}
		i++
	}
	return true
}

// Asked avoids questions to the driver. A stream does its work in order, so if one Work has not ended, no later Work of the stream
// has. The zero Asked knows of no such Work.
type Asked struct {
	under uint64 // the smallest seq of a Work that has not ended, 0 if none is known
}

// fine reports whether the work is not known to have failed. It asks the driver until the work is known to have ended, unless the next
// event would report a failure as well.
func (u *use) fine(asked *Asked) bool {
	w := u.work
	if u.good || !u.write || asked.under != 0 && w.seq >= asked.under || w.tellsLater() {
		return true
	}
	done, err := false, error(nil)
	if w.alone() {
		if done, err = layer.DoneAlone(w.event); done {
			err = w.own(err)
		}
	} else {
		done, err = w.Ended()
	}
	u.good = done && err == nil
	if !done && err == nil && !w.passed.Load() {
		asked.under = w.seq
	}
	return err == nil
}

// Renew extends the program's earlier work on the stream and on exactly these bytes to everything that has been enqueued since, instead
// of adding another Work. That saves an event: the earlier work then counts as ended when the later has. Renew reports whether it could.
// There must be such work, no one else may have a reference to it, and it must not be known to have failed. reads says whether the later
// work reads the bytes. If it reads what it writes, the earlier work must be known to have ended, or the later event must also report a
// failure of the earlier work (KeepsFailures).
func (o *Order) Renew(stream *hal.Stream, lo, hi uint64, write, reads bool) bool {
	u := o.same(stream, write, span.Range{Lo: lo, Hi: hi})
	if u == nil || !u.replaceable(reads) || !u.work.extend(Launches{}, 1, reads, write) {
		return false
	}
	o.renewed(u)
	return true
}

// replaceable reports whether the event of later work on the same bytes may take the place of the work's own. reads says whether the
// later work reads the bytes: then they are bad if the earlier work fails, and the later event must report that.
func (u *use) replaceable(reads bool) bool {
	if !u.write || u.good || u.work.tellsLater() {
		return true
	}
	done, err := u.work.Ended()
	return err == nil && (done || !reads || layer.KeepsFailures(u.work.Stream))
}

func (o *Order) renewed(u *use) {
	o.seq++
	u.seq, u.good = o.seq, false
	if u.write && o.reads.Len() > 0 {
		o.Forget(u.node.Lo, u.node.Hi, false, true)
		for _, n := range u.more {
			o.Forget(n.Lo, n.Hi, false, true)
		}
	}
}

// Renewal is Renew for work on several replicas, or ranges, whose earlier work was also one Work.
type Renewal struct {
	Of    Launches // the later work
	reads bool     // some of the later work reads what it writes
	work  *Work
	list  []renewed
}

type renewed struct {
	o *Order
	u *use
}

// Clear forgets what was added.
func (r *Renewal) Clear() {
	clear(r.list)
	r.Of, r.reads, r.work, r.list = Launches{}, false, nil, r.list[:0]
}

// Add adds ranges of a replica, in ascending order with gaps between them, and reports whether their work can be renewed together with that
// added before. Work that has failed cannot. write and reads are as for [Order.Renew].
func (r *Renewal) Add(o *Order, stream *hal.Stream, write, reads bool, ranges ...span.Range) bool {
	u := o.same(stream, write, ranges...)
	if u == nil || r.work != nil && u.work != r.work {
		return false
	}
	r.work = u.work
	r.reads = r.reads || write && reads
	r.list = append(r.list, renewed{o, u})
	return true
}

// Do renews the work on all added replicas, and reports whether it could.
func (r *Renewal) Do() bool {
	for _, l := range r.list {
		if l.u.write { // the others are of the same Work
			if !l.u.replaceable(r.reads) {
				return false
			}
			break
		}
	}
	if r.work == nil || !r.work.extend(r.Of, int32(len(r.list)), true, true) {
		return false
	}
	for _, l := range r.list {
		l.o.renewed(l.u)
	}
	return true
}

// same returns the use that Renew can renew, or nil.
func (o *Order) same(stream *hal.Stream, write bool, ranges ...span.Range) *use {
	fits := func(u *use) bool {
		return u != nil && u.own && u.write == write && u.work.Stream == stream && u.exactly(ranges)
	}
	if len(o.uses) == 1 {
		if u := o.uses[0]; fits(u) {
			return u
		}
		return nil
	}
	tree := &o.reads
	if write {
		tree = &o.writes
	}
	if n := tree.Any(ranges[0].Lo, ranges[0].Hi); n == nil {
		return nil
	} else if fits(n.Value) {
		return n.Value
	}
	if !write {
		for _, u := range o.last {
			if fits(u) {
				return u
			}
		}
	}
	return nil
}

// exactly reports whether the use is of these bytes, none of which was taken from it since.
func (u *use) exactly(ranges []span.Range) bool {
	if n := &u.node; u.nodes != len(ranges) || len(u.more) != len(ranges)-1 || n.Value == nil || n.Lo != ranges[0].Lo ||
		n.Hi != ranges[0].Hi {
		return false
	}
	for i, n := range u.more {
		if r := ranges[i+1]; n.Value == nil || n.Lo != r.Lo || n.Hi != r.Hi {
			return false
		}
	}
	return true
}

// extend makes the Work cover everything that has been enqueued on its stream by now, and reports whether it could. The caller must
// have all of its references; holders is their number. The Work keeps its sources, unless it reads nothing. The seq of a Work that writes
// nothing is not used and stays as it is.
func (w *Work) extend(of Launches, holders int32, reads, writes bool) bool {
	if w.of.Key != of.Key || w.joined || w.refs.Load() != holders || w.event == nil || w.check != nil || w.err != nil || !layer.RecordAgain(w.Stream, w.event) {
		return false
	}
	if writes {
		w.seq = lastSeq.Add(1)
	}
	if w.passed.Load() {
		w.of = of
		w.passed.Store(false)
		w.ended.Store(false)
	}
	if of.Key != 0 {
		w.last = layer.Position(w.Stream)
	}
	if !reads {
		w.forgetSources()
	}
	if len(w.sources) == 0 {
		w.depth = 0
	}
	return true
}

// alone reports whether the caller has the only reference to the work, no other goroutine can get one, and the end of the work depends on
// its event only.
func (w *Work) alone() bool {
	return !w.joined && w.refs.Load() == 1 && w.event != nil && w.check == nil && len(w.sources) == 0 && w.err == nil
}
