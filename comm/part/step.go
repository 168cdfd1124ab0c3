package part

import (
	"context"
	"slices"

	"github.com/go-halyard/halyard"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/comm/driver"
	launches "github.com/go-halyard/halyard/internal/parts"
)

// Step is launches on a [Queue] that a program repeats: see [Queue.Record]. On a nil or zero Step calls do nothing.
type Step struct {
	q *Queue
	s *halyard.Step
}

// Record is [halyard.Queue.Record] for launches that are divided among ranks: fn launches on the queue that it is given. All ranks record the
// same launches, and all run the step. Record sends nothing: a rank that has recorded others is an error of the runs, as for launches.
//
// What the ranks' parts use is found once, by Record. Launches in a row of which no rank's part uses what another rank's part writes have
// one exchange, before the first of them, and each device of a rank runs its parts of them as a step. What has to be sent depends on what
// was sent before, so the first two runs plan it. The later ones repeat the messages of the second, unless other calls have written or moved
// elements of the buffers in between: then the next two plan again.
//
// Other accesses of a rank to the buffers may come between the launches, at an exchange. If a launch fails on one rank, the launches behind
// the next exchange are not made.
func (q *Queue) Record(fn func(*Queue)) *Step {
	s := &Step{q: q}
	if fn == nil {
		s.s = q.Queue.Record(nil)
		return s
	}
	s.s = q.Queue.Record(func(on *halyard.Queue) {
		of := &Queue{Queue: on, ranks: q.ranks}
		if r := q.ranks; r != nil {
			of.records = &launches.Ranks{OnQueue: &launches.OnQueue{Target: on.On()}, Rank: r.Rank, Size: r.Size, Bounds: r.Bounds, Exchanger: r}
		}
		fn(of)
	})
	return s
}

// Run makes this rank's parts of the launches, and receives before what they read and other ranks have written. It does not wait for the
// parts. All ranks call it.
func (s *Step) Run() {
	switch {
	case s == nil || s.q == nil:
	case s.q.ranks == nil:
		s.s.Run()
	default:
		if _, _, _, ok := s.q.Launching("Run", hal.Over(1)); ok {
			s.s.Run()
			s.q.Launched(nil)
		}
	}
}

// Close is [halyard.Step.Close].
func (s *Step) Close() {
	if s != nil {
		s.s.Close()
	}
}

// crossing is an exchange, and what it is for: launches in a row of which no rank's part uses what another one writes. It keeps its memory.
type crossing struct {
	what  uint64    // a hash of the launches
	of    []used    // one for each buffer
	moves [2][]move // of a step, in the last run
}

// used is the bytes of a buffer that the launches use, by each rank.
type used struct {
	*copies
	by   []struct{ reads, writes []buffer.Range } // reads are those from before the launches
	then int64                                    // of a step: news after the last run
}

func (x *crossing) clear() {
	for i := range x.of {
		x.of[i].copies = nil
	}
	x.of, x.what = x.of[:0], 0
}

// buffer returns what the launches use of a buffer.
func (x *crossing) buffer(c *copies) *used {
	i := slices.IndexFunc(x.of, func(u used) bool { return u.copies == c })
	if i < 0 {
		if i = len(x.of); i < cap(x.of) {
			x.of = x.of[:i+1]
		} else {
			x.of = append(x.of, used{})
		}
		u := &x.of[i]
		if u.copies = c; u.by == nil {
			u.by = make([]struct{ reads, writes []buffer.Range }, c.r.Size)
		}
		for p := range u.by {
			u.by[p].reads, u.by[p].writes = u.by[p].reads[:0], u.by[p].writes[:0]
		}
	}
	return &x.of[i]
}

// add adds a launch. It reports false, and adds nothing, if a rank's part uses what another one's part of an earlier launch writes, or the
// other way round.
func (x *crossing) add(r *ranks, op string, l launches.Launch) (added bool, err error) {
	what := hash(x.what, l.What...)
	for _, check := range []bool{true, false} {
		for i := range l.Uses {
			by, lo, hi, size := launches.Watched(l.Uses[i].Want, r.attach)
			c, _ := by.(*copies)
			if c == nil || c.r != r {
				return false, driver.Errorf(op, driver.ErrInvalidArgument, "argument %d belongs to a part.Buffer or was divided by another queue", i)
			}
			if check && len(x.of) == 0 {
				continue
			}
			u := x.buffer(c)
			for p := range u.by {
				t := &l.Uses[i].By[p]
				read, write := within(lo, hi, size, t.Read), within(lo, hi, size, t.Write)
				if check {
					if u.crosses(p, read, write) {
						return false, nil
					}
					continue
				}
				u.add(p, read, write, t.Whole)
			}
			what = hash(what, c.id, lo, hi)
		}
	}
	x.what = what
	return true, nil
}

// within returns the bytes of elements of a use, whose elements are bytes from lo to hi.
func within(lo, hi, size uint64, elements buffer.Range) buffer.Range {
	n := int((hi - lo) / size)
	return buffer.Range{Lo: int(lo) + min(elements.Lo, n)*int(size), Hi: int(lo) + min(elements.Hi, n)*int(size)}
}

func meet(list []buffer.Range, s buffer.Range) bool {
	return slices.ContainsFunc(list, func(t buffer.Range) bool { return max(s.Lo, t.Lo) < min(s.Hi, t.Hi) })
}

// crosses reports whether a rank reads what another one has written, or writes what another one has used.
func (u *used) crosses(rank int, read, write buffer.Range) bool {
	for p := range u.by {
		if o := &u.by[p]; p != rank && (meet(o.writes, read) || meet(o.writes, write) || meet(o.reads, write)) {
			return true
		}
	}
	return false
}

// add notes what a rank's part of a launch uses. Unless it writes the whole span, what it leaves unchanged has to be current, too.
func (u *used) add(rank int, read, write buffer.Range, whole bool) {
	o := &u.by[rank]
	for i, s := range [2]buffer.Range{read, write} {
		if i == 1 && whole {
			break
		}
		for _, w := range o.writes { // these are sorted and apart
			if s.Lo < w.Lo && s.Lo < s.Hi {
				o.reads = append(o.reads, buffer.Range{Lo: s.Lo, Hi: min(s.Hi, w.Lo)})
			}
			s.Lo = max(s.Lo, w.Hi)
		}
		if s.Lo < s.Hi {
			o.reads = append(o.reads, s)
		}
	}
	if o.reads = union(o.reads); write.Lo < write.Hi {
		o.writes = union(append(o.writes, write))
	}
}

// step is the exchanges of a step. After a run, who has the newest of what it has written depends on the run alone, and who reads the rest has
// it. So a run right after another one leaves the maps as it has found them: the next one makes the same exchanges, and the maps stay.
type step struct {
	r    *ranks
	list []crossing
	runs int // whole ones, between which the maps have not changed; from the third on a run repeats the messages
	done int // exchanges of the run under way
}

// Record implements launches.Exchanger.
func (r *ranks) Record(list []launches.Launch) (exchanges []launches.Exchange, err error) {
	const op = "record"
	s := &step{r: r}
	for i, l := range list {
		added, n := false, len(s.list)
		if n > 0 {
			added, err = s.list[n-1].add(r, op, l)
		}
		if err == nil && !added {
			s.list = append(s.list, crossing{})
			exchanges = append(exchanges, launches.Exchange{First: i, Make: func(ctx context.Context) error { return s.exchange(ctx, n) }})
			_, err = s.list[n].add(r, op, l)
		}
		if err != nil {
			return nil, err
		}
		exchanges[len(exchanges)-1].End = i + 1
	}
	return exchanges, nil
}

// each calls fn for each buffer of each exchange.
func (s *step) each(fn func(u *used)) {
	for i := range s.list {
		for j := range s.list[i].of {
			fn(&s.list[i].of[j])
		}
	}
}

// exchange makes the i-th exchange.
func (s *step) exchange(ctx context.Context, i int) error {
	r, x := s.r, &s.list[i]
	if i == 0 {
		r.step, s.done = s, 0
		s.each(func(u *used) {
			if u.news.Load() != u.then {
				s.runs = 0
			}
		})
	}
	err := r.cross(ctx, "run", x, s.runs > 1)
	if err == nil {
		s.done++
		for dir := range x.moves {
			x.moves[dir] = append(x.moves[dir][:0], r.moves[dir]...)
		}
	}
	return err
}

// end ends a run. If it has repeated messages, and not all of them, the maps catch up.
func (s *step) end(err error) {
	s.r.step = nil
	whole := err == nil && s.done == len(s.list)
	for i := 0; i < s.done && s.runs > 1 && !whole; i++ {
		for j := range s.list[i].of {
			u := &s.list[i].of[j]
			u.plan()
			u.written()
		}
	}
	if s.runs++; !whole {
		s.runs = 0
	}
	s.each(func(u *used) { u.then = u.news.Load() })
}
