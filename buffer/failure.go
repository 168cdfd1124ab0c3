package buffer

import (
	"cmp"
	"slices"

	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
)

// Work may fail when it runs, after later work was built on it. What a write wrote is therefore not taken for good
// before its end is known, and neither is what was made of it: the hazards of a storage, in the order of seq, are the log
// from which a failure that is found late learns which bytes it has spoiled since.

// broken is the end of a hazard that failed.
type broken struct {
	place coherence.Place
	d     *departure // whose hazard it was, nil for a replica's
	z     hazard
	err   error
}

// lists calls fn for the hazards of each replica, and of each departure.
func (s *storage) lists(fn func(p coherence.Place, h *hazards, d *departure)) {
	fn(coherence.Host, &s.host.hazards, nil)
	for _, r := range s.devs {
		fn(r.place, &r.hazards, nil)
	}
	for _, d := range s.leaving {
		fn(d.r.place, &d.hazards, d)
	}
}

// notice looks at the work that made [lo, hi) of a replica what it is, unless it is known to have succeeded. It costs
// nothing if there is none.
func (s *storage) notice(op string, r *replica, lo, hi uint64) error {
	h := &r.hazards
	if len(h.list) == 1 && !h.list[0].copy && len(s.leaving) == 0 {
		// The program's own work, mostly behind other work of its own.
		z := &h.list[0]
		if z.ok || !z.changes() || !z.touches(lo, hi) {
			return nil
		}
		if done, err := z.state(); !done {
			return nil
		} else if err == nil {
			z.ok = true // its mark is good for the next
			return nil
		}
	}
	for i := range h.list {
		if z := &h.list[i]; z.changes() && z.touches(lo, hi) {
			return s.resolve(op, lo, hi, false)
		}
	}
	return nil
}

// resolve looks for the ends of work on [lo, hi), and of that on evicted replicas, and makes failures part of the state.
// It looks at writes alone, and not at what is behind a write that goes on, unless all is set. It returns the first failure
// that took something from [lo, hi), for op; accesses are told of others later. It does not wait.
func (s *storage) resolve(op string, lo, hi uint64, all bool) error {
	var failures []broken
	if len(s.leaving) > 0 {
		for _, d := range s.leaving {
			failures = d.hazards.ask(failures, d.r.place, d, 0, s.size, true)
		}
	}
	failures = s.host.hazards.ask(failures, coherence.Host, nil, lo, hi, all)
	for _, r := range s.devs {
		failures = r.hazards.ask(failures, r.place, nil, lo, hi, all)
	}
	var first error
	if len(failures) > 0 {
		first = s.digest(op, lo, hi, failures)
	}
	s.settled()
	if len(s.leaving) > 0 {
		s.depleted()
	}
	return first
}

// ask looks for the ends of the hazards in [lo, hi), and appends those that failed.
func (h *hazards) ask(failures []broken, p coherence.Place, d *departure, lo, hi uint64, all bool) []broken {
	all = all || h.crowded()
	blocked := -1 // a write that goes on, which later writes of the same bytes are behind
	for i := 0; i < len(h.list); i++ {
		z := &h.list[i]
		if z.ok || !z.touches(lo, hi) || !all && (!z.changes() || blocked >= 0 && z.meets(&h.list[blocked])) {
			continue
		}
		done, err := z.state()
		switch {
		case !done:
			if blocked < 0 && z.changes() {
				blocked = i
			}
		case err != nil:
			failures = append(failures, broken{p, d, *z, err})
			z.ok = true // the list is complete until all failures were looked at
		case z.changes():
			z.ok = true
		default:
			h.remove(i)
			i--
		}
	}
	h.limit = 2 * len(h.list)
	return failures
}

// settled removes the writes that succeeded and hang on nothing that may yet fail.
func (s *storage) settled() {
	for again := true; again; {
		again = false
		s.lists(func(p coherence.Place, h *hazards, _ *departure) {
			for i := 0; i < len(h.list); i++ {
				if z := &h.list[i]; z.ok && !s.mayFail(p, z) {
					h.remove(i)
					i--
					again = true
				}
			}
		})
	}
}

// mayFail reports whether something is unknown of what a write was made of.
func (s *storage) mayFail(p coherence.Place, z *hazard) (found bool) {
	s.lists(func(from coherence.Place, h *hazards, _ *departure) {
		if found || from != p && (!z.copy || from != z.from) {
			return
		}
		for i := range h.list {
			if h.list[i].seq >= z.seq {
				return
			}
			if z.madeOf(p, &h.list[i], from) {
				found = true
				return
			}
		}
	})
	return found
}

// digest makes failures part of the state, the oldest first.
func (s *storage) digest(op string, lo, hi uint64, failures []broken) (first error) {
	slices.SortFunc(failures, func(a, b broken) int { return cmp.Compare(a.z.seq, b.z.seq) })
	for i := range failures {
		f := &failures[i]
		z := &f.z
		if !z.changes() {
			continue
		}
		if f.d != nil {
			// Memory that never held the bytes is no source for them.
			for _, e := range f.d.hazards.latest(z) {
				if !z.copy {
					s.spoiled(f.d, e.lo, e.hi, f.err)
				}
				f.d.outdated(e.lo, e.hi)
			}
			if !z.copy {
				continue
			}
		}
		switch news := s.failed(f.place, z, f.err); {
		case !news:
		case op != "" && first == nil && z.touches(lo, hi):
			first = &hal.Error{Op: op, Device: -1, Kind: kindOf(f.err), Err: f.err, Detail: "work under way failed"}
		case op == "" || !z.touches(lo, hi):
			z.each(func(lo, hi uint64) { s.tell(lo, hi, f.err) })
		}
	}
	for i := range failures {
		if f := &failures[i]; f.d != nil && !f.z.write && f.z.copy {
			for _, e := range f.d.within(f.z.lo, f.z.hi) {
				s.restore(f.d, e.lo, e.hi, f.err)
			}
		}
	}
	if first != nil {
		s.told(lo, hi)
	}
	return first
}

// tell makes the next access of [lo, hi) fail, once, as far as the bytes are not lost for good.
func (s *storage) tell(lo, hi uint64, err error) {
	rest := []extent{{lo, hi}}
	for _, l := range s.lost {
		if l.saved == "" {
			rest = cut(rest, l.lo, l.hi)
		}
	}
	for _, e := range rest {
		s.lost = append(s.lost, lost{lo: e.lo, hi: e.hi, err: err, saved: savedElse})
	}
}

// depleted gives back the memory of departures that nothing hangs on any more.
func (s *storage) depleted() {
	for _, d := range slices.Clone(s.leaving) {
		if !d.over && !d.hazards.unsaved(true) {
			_ = d.end()
			s.leaving = without(s.leaving, d)
		}
	}
}

// failed makes the failure of a write at a place part of the state. A failed copy spoils its destination and what was
// copied from there; work of the program's that failed has spoiled every copy. Where nothing else holds the
// bytes the memory of an evicted replica may still have them; if not, they are lost, and accesses that would read
// them get the error until they are written anew. It reports whether that is news: not where what was written is old anyway.
func (s *storage) failed(p coherence.Place, z *hazard, err error) (news bool) {
	wrong, used := s.spread(p, z)
	var gone []lost
	for at, list := range wrong {
		for _, e := range list {
			s.m.Runs(e.lo, e.hi, func(lo, hi uint64, valid coherence.Set) bool {
				if !valid.Has(at) {
					return true
				}
				news = true
				if valid == coherence.Of(at) || !z.copy && at == p {
					gone = append(gone, lost{lo: lo, hi: hi, err: err})
				}
				return true
			})
			s.m.Invalidate(at, e.lo, e.hi)
		}
	}
	if !z.copy {
		news = news || !z.under
		for _, l := range gone {
			_ = s.m.Commit(coherence.Discard, coherence.Host, l.lo, l.hi)
		}
	}
	switch {
	case len(gone) == 0:
	case z.copy && z.from == coherence.NoPlace: // zeros can be had again
		var kept []lost
		for _, l := range gone {
			for _, e := range within(used, l.lo, l.hi) {
				kept = append(kept, lost{lo: e.lo, hi: e.hi, err: err})
			}
		}
		gone = kept
	case z.old != nil:
		gone = s.moveAgain(z, gone, used)
	}
	s.lost = append(s.lost, s.salvage(gone)...)
	return news
}

// spread returns where the bytes are bad because the write z at a place has failed, and which of them something was
// written on that hangs on them.
func (s *storage) spread(p coherence.Place, z *hazard) (wrong map[coherence.Place][]extent, used []extent) {
	type write struct {
		to coherence.Place
		z  *hazard
	}
	var later []write
	s.lists(func(to coherence.Place, h *hazards, _ *departure) {
		for i := range h.list {
			if w := &h.list[i]; w.changes() && w.seq > z.seq {
				later = append(later, write{to, w})
			}
		}
	})
	slices.SortFunc(later, func(a, b write) int { return cmp.Compare(a.z.seq, b.z.seq) })
	wrong = map[coherence.Place][]extent{}
	z.each(func(lo, hi uint64) { wrong[p] = append(wrong[p], extent{lo, hi}) })
	for _, w := range later {
		w.z.each(func(lo, hi uint64) {
			switch {
			case w.z.turn:
			case !w.z.fresh:
				used = append(used, within(wrong[w.to], lo, hi)...)
			case w.z.copy && w.z.from != coherence.NoPlace:
				wrong[w.to] = append(cut(wrong[w.to], lo, hi), within(wrong[w.z.from], lo, hi)...)
			default:
				wrong[w.to] = cut(wrong[w.to], lo, hi)
			}
		})
	}
	return wrong, used
}

// moveAgain copies to the host's replica what a failed move should have, and returns what is lost all the same.
func (s *storage) moveAgain(z *hazard, gone []lost, used []extent) (rest []lost) {
	for _, l := range gone {
		list := []extent{{l.lo, l.hi}}
		for _, e := range used {
			list = cut(list, e.lo, e.hi)
			for _, x := range within([]extent{e}, l.lo, l.hi) {
				rest = append(rest, lost{lo: x.lo, hi: x.hi, err: l.err})
			}
		}
		for _, e := range list {
			if s.moveIntoHome(z.old, e) != nil {
				rest = append(rest, lost{lo: e.lo, hi: e.hi, err: l.err})
			}
		}
	}
	return rest
}

func (s *storage) moveIntoHome(old []byte, e extent) error {
	h := &s.host
	if h.home == nil {
		return hal.ErrClosed
	}
	stream, err := h.home.Device().CopyStream(false)
	if err != nil {
		return err
	}
	if busy, err := s.unmapForDevice(stream, h.home, true); err != nil {
		return err
	} else if busy != nil {
		return hal.ErrBusy
	}
	if err := h.hazards.order(stream, e.lo, e.hi, true); err != nil {
		return err
	}
	if err := stream.CopyIn(s.region(&h.replica, h.home, e.lo, e.hi), old[e.lo:e.hi]); err != nil {
		return err
	}
	s.record(&h.replica, stream, moved(e, nil, old))
	return s.m.Commit(coherence.Overwrite, coherence.Host, e.lo, e.hi)
}

// moved is the hazard of a copy of the host's replica from where it was.
func moved(e extent, parts []extent, old []byte) hazard {
	return hazard{lo: e.lo, hi: e.hi, parts: parts, write: true, copy: true, fresh: true, from: coherence.Host, old: old}
}

// unsure lists the writes of which nobody knows yet whether they succeed and on which [lo, hi) at a place hangs, as hazards of a copy of
// these bytes that begins at base.
func (s *storage) unsure(p coherence.Place, lo, hi, base uint64) (list []hazard) {
	type write struct {
		at coherence.Place
		z  *hazard
	}
	var made []write
	s.lists(func(at coherence.Place, h *hazards, _ *departure) {
		for i := len(h.list) - 1; i >= 0 && at == p; i-- {
			z := &h.list[i]
			if z.changes() && z.touches(lo, hi) {
				made = append(made, write{at, z})
			}
			if z.changes() && z.fresh && !z.copy && z.parts == nil && z.lo <= lo && hi <= z.hi {
				break // nothing is left of what was there before
			}
		}
	})
	for i := 0; i < len(made); i++ {
		w := made[i]
		s.lists(func(at coherence.Place, h *hazards, _ *departure) {
			for j := range h.list {
				y := &h.list[j]
				if w.z.madeOf(w.at, y, at) && !slices.ContainsFunc(made, func(x write) bool { return x.z == y }) {
					made = append(made, write{at, y})
				}
			}
		})
	}
	for _, w := range made {
		if w.z.ok || w.z.cut {
			continue
		}
		wrong, _ := s.spread(w.at, w.z) // what has been written in its place since does not hang on it
		var end ender
		for _, e := range within(wrong[p], lo, hi) {
			if end == nil {
				end = w.z.ender()
			}
			e = extent{e.lo - lo + base, e.hi - lo + base}
			if same := slices.IndexFunc(list, func(z hazard) bool { return z.lo == e.lo && z.hi == e.hi }); same >= 0 {
				list[same].end.(*ends).add(end)
				continue
			}
			list = append(list, hazard{lo: e.lo, hi: e.hi, end: &ends{list: []ender{end}}, stream: w.z.stream,
				write: true, copy: true, fresh: true, base: true, under: true})
		}
	}
	return list
}

// unsureOf is unsure for what an access reads, to be copied to base. It is an error if somebody else has found since the access began that
// the bytes are bad.
func (s *storage) unsureOf(op string, slot uint32, base uint64) ([]hazard, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := &s.accesses.slots[slot]
	if !s.m.ValidIn(x.lo, x.hi, x.place) {
		return nil, s.badSince(op, x.lo, x.hi)
	}
	return s.unsure(x.place, x.lo, x.hi, base), nil
}

// badSince is the error of an access to bytes of which somebody else has found a failure since it began.
func (s *storage) badSince(op string, lo, hi uint64) error {
	if err := s.lostIn(op, lo, hi); err != nil {
		return err
	}
	return failure(op, hal.ErrInternal, "work under way failed")
}

// hang makes bytes that are copied to a replica hang on what their source hangs on.
func (s *storage) hang(r *replica, unsure []hazard) {
	for _, z := range unsure {
		z.from = r.place
		s.add(&r.hazards, z)
	}
}

// within lists the parts of [lo, hi) that are in the list.
func within(list []extent, lo, hi uint64) (in []extent) {
	for _, e := range list {
		if from, to := max(lo, e.lo), min(hi, e.hi); from < to {
			in = append(in, extent{from, to})
		}
	}
	return in
}
