package buffer

import (
	"context"
	"slices"
	"time"

	"github.com/go-halyard/halyard/coherence"
)

// departure is the memory of a replica that was evicted, kept until the copies out of it are known to have
// arrived. All but done is guarded by the storage's lock.
type departure struct {
	r *replica // whose memory it was
	holding
	hazards hazards
	current []extent // where it holds the bytes of the last write
	c       cause

	over bool // the memory was given back, or is the replica's again
	back bool // the latter
}

// unsaved reports whether an evicted replica's memory may still be needed: for its bytes, or else to learn whether
// what was made of them is good.
func (h *hazards) unsaved(bytes bool) bool {
	return slices.ContainsFunc(h.list, func(z hazard) bool { return z.saves() && (bytes || z.base) })
}

// currentAt lists where a place holds the bytes of the last write.
func (s *storage) currentAt(p coherence.Place) (list []extent) {
	s.m.Runs(0, s.size, func(lo, hi uint64, valid coherence.Set) bool {
		if valid.Has(p) {
			list = append(list, extent{lo, hi})
		}
		return true
	})
	return list
}

// depart takes the memory from a replica.
func (s *storage) depart(r *replica, current []extent, c cause) {
	d := &departure{r: r, holding: r.holding, hazards: r.hazards, current: current, c: c}
	r.holding, r.hazards = holding{}, hazards{}
	s.leaving = append(s.leaving, d)
	r.res.departs(d)
	s.noteReplica(EventFree, r.dev, c)
}

// outdated says that [lo, hi) is written anew.
func (d *departure) outdated(lo, hi uint64) {
	d.current = cut(d.current, lo, hi)
}

// within lists the parts of [lo, hi) that it still has.
func (d *departure) within(lo, hi uint64) (list []extent) {
	for _, e := range d.current {
		if from, to := max(lo, e.lo), min(hi, e.hi); from < to {
			list = append(list, extent{from, to})
		}
	}
	return list
}

func without(list []*departure, d *departure) []*departure {
	return slices.DeleteFunc(list, func(x *departure) bool { return x == d })
}

// end gives the memory back.
func (d *departure) end() error {
	d.over = true
	d.r.res.departed(d)
	return d.holding.free(&d.hazards)
}

// spoiled says that the work failed which wrote what the memory has of [lo, hi). What was copied from there is no better.
func (s *storage) spoiled(d *departure, lo, hi uint64, err error) {
	for _, e := range d.within(lo, hi) {
		_ = s.m.Commit(coherence.Discard, coherence.Host, e.lo, e.hi)
		s.lost = append(s.lost, lost{lo: e.lo, hi: e.hi, err: err})
	}
}

// salvage looks for lost bytes in the memory of evicted replicas, and returns what is not there.
func (s *storage) salvage(gone []lost) (rest []lost) {
	for _, d := range slices.Clone(s.leaving) {
		rest = nil
		for _, l := range gone {
			at := l.lo
			for _, e := range d.within(l.lo, l.hi) {
				if at < e.lo {
					rest = append(rest, lost{lo: at, hi: e.lo, err: l.err})
				}
				s.restore(d, e.lo, e.hi, l.err)
				at = e.hi
			}
			if at < l.hi {
				rest = append(rest, lost{lo: at, hi: l.hi, err: l.err})
			}
		}
		gone = rest
	}
	return gone
}

// restore makes a place current again in [lo, hi), which is all in d.current: a copy from there has failed. What was
// copied since may go back to that copy, and so counts for nothing.
func (s *storage) restore(d *departure, lo, hi uint64, err error) {
	r := d.r
	switch {
	case r.mem == nil:
		r.holding, r.hazards = d.holding, d.hazards
		d.holding, d.hazards = holding{}, hazards{}
		d.over, d.back = true, true
		s.leaving = without(s.leaving, d)
		r.res.returns(d)
		s.m.Allocate(r.place)
		s.noteReplica(EventAlloc, r.dev, d.c)
		for _, e := range d.current {
			s.currentAgain(r.place, e)
		}
	case d.over: // back already, for another copy
	default:
		if failed := s.copyBack(d, lo, hi); failed != nil {
			_ = s.m.Commit(coherence.Discard, coherence.Host, lo, hi)
			s.lost = append(s.lost, lost{lo: lo, hi: hi, err: err})
			return
		}
	}
	_ = s.m.Commit(coherence.Overwrite, r.place, lo, hi)
	r.sole.Store(true)
	s.lost = append(s.lost, lost{lo: lo, hi: hi, err: err, saved: savedThere})
}

// currentAgain adds a place to those that hold the bytes of the last write.
func (s *storage) currentAgain(p coherence.Place, e extent) {
	var alone []extent
	var shared []coherence.Transfer
	s.m.Runs(e.lo, e.hi, func(lo, hi uint64, valid coherence.Set) bool {
		if valid == 0 {
			alone = append(alone, extent{lo, hi})
		} else {
			shared = append(shared, coherence.Transfer{Move: coherence.Move{From: valid.First(), To: p}, Lo: lo, Hi: hi})
		}
		return true
	})
	for _, x := range alone {
		_ = s.m.Commit(coherence.Overwrite, p, x.lo, x.hi)
	}
	for _, t := range shared {
		_ = s.m.Apply(t)
	}
}

// copyBack copies from the memory that is leaving to what the replica has instead.
func (s *storage) copyBack(d *departure, lo, hi uint64) error {
	r := d.r
	stream, err := r.dev.CopyStream(false)
	if err != nil {
		return err
	}
	if err := d.hazards.order(stream, lo, hi, false); err != nil {
		return err
	}
	if err := r.hazards.order(stream, lo, hi, true); err != nil {
		return err
	}
	if err := stream.Copy(r.region(lo, hi), d.region(lo, hi)); err != nil {
		return err
	}
	s.account(coherence.Transfer{Move: coherence.Move{From: r.place, To: r.place}, Lo: lo, Hi: hi}, stream, d.c, now())
	z := hazard{lo: lo, hi: hi, mark: marked(stream, 2), stream: stream, copy: true}
	s.add(&d.hazards, z)
	z.write, z.fresh, z.from = true, true, r.place
	s.add(&r.hazards, z)
	return nil
}

// told forgets the failures in [lo, hi) that took nothing.
func (s *storage) told(lo, hi uint64) {
	s.lost = slices.DeleteFunc(s.lost, func(l lost) bool { return l.saved != "" && l.lo < hi && lo < l.hi })
}

// wait waits until a departure is over, and reports whether the replica is back.
func (d *departure) wait(ctx context.Context, c cause) (back bool, err error) {
	s := d.r.owner
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		if !d.over {
			_ = s.resolve("", 0, 0, true)
		}
		if d.over {
			return d.back, nil
		}
		pending := d.hazards.saving(nil)
		s.mu.Unlock()
		err := s.await(ctx, c, 0, s.size, pending)
		s.mu.Lock()
		if err != nil {
			return false, err
		}
	}
}

// departs books memory that is leaving; s.mu of its storage is held.
func (res *residency) departs(d *departure) {
	res.mu.Lock()
	defer res.mu.Unlock()
	res.leave(d.r)
	res.leaving = append(res.leaving, d)
	if !res.watching {
		res.watching = true
		go res.watch()
	}
}

// departed books that the memory was given back.
func (res *residency) departed(d *departure) {
	res.mu.Lock()
	defer res.mu.Unlock()
	res.leaving = without(res.leaving, d)
	res.used -= d.r.owner.size
}

// returns books that the memory is a replica's again.
func (res *residency) returns(d *departure) {
	res.mu.Lock()
	defer res.mu.Unlock()
	res.leaving = without(res.leaving, d)
	res.enter(d.r)
}

const (
	watchSoonest = 50 * time.Microsecond
	watchLatest  = 5 * time.Millisecond
)

// watch looks at what is leaving until there is nothing more. It asks instead of waiting, so that a copy
// that is held up keeps back no memory but its own.
func (res *residency) watch() {
	pause := watchSoonest
	for {
		time.Sleep(pause)
		res.mu.Lock()
		list := slices.Clone(res.leaving)
		if len(list) == 0 {
			res.watching = false
			res.mu.Unlock()
			return
		}
		res.mu.Unlock()
		pause = min(2*pause, watchLatest)
		for _, d := range list {
			s := d.r.owner
			if !s.mu.TryLock() {
				continue
			}
			if !d.over {
				_ = s.resolve("", 0, 0, true)
			}
			if d.over {
				pause = watchSoonest
			}
			s.mu.Unlock()
		}
	}
}
