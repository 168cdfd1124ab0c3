package part

import (
	"context"
	"slices"

	"github.com/go-halyard/halyard"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/comm/driver"
	launches "github.com/go-halyard/halyard/internal/parts"
	"github.com/go-halyard/halyard/internal/protocol"
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
// was sent before. A run plans it anew until a run has left every rank with the elements that it had found there, which for a stencil is
// the second. From then on the runs repeat the messages of that run, unless other calls have written or moved elements of the buffers in
// between: then the next run plans again.
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
	what  uint64 // a hash of the launches
	first int    // of a step's launches
	of    []used // one for each buffer
	moves [2][]move
}

// used is the bytes of a buffer that the launches use, by each rank.
type used struct {
	*copies
	by []struct{ reads, writes []buffer.Range } // reads are those from before the launches
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

// step is the exchanges of a step. If the maps are as they were before a run that has left them as it had found them, each exchange is that
// of this run, and the maps need not change.
type step struct {
	r      *ranks
	list   []crossing
	of     []known
	steady bool // the last run has left the maps as it had found them
	quiet  bool // the run under way makes the exchanges of the last one
	done   int  // exchanges of the run under way
}

// known is what a step knows of a buffer's map.
type known struct {
	*copies
	then   int // its news after the last run
	before []interval
}

type interval struct {
	hi    uint64
	valid protocol.Set
}

// Record implements launches.Exchanger.
func (r *ranks) Record(list []launches.Launch) (exchanges []launches.Exchange, err error) {
	const op = "record"
	s := &step{r: r}
	for i, l := range list {
		added := false
		if n := len(s.list); n > 0 {
			added, err = s.list[n-1].add(r, op, l)
		}
		if err == nil && !added {
			s.list = append(s.list, crossing{first: i})
			_, err = s.list[len(s.list)-1].add(r, op, l)
		}
		if err != nil {
			return nil, err
		}
	}
	for i := range s.list {
		x := &s.list[i]
		exchanges = append(exchanges, launches.Exchange{First: x.first, Make: func(ctx context.Context) error { return s.exchange(ctx, i) }})
		for _, u := range x.of {
			if !slices.ContainsFunc(s.of, func(k known) bool { return k.copies == u.copies }) {
				s.of = append(s.of, known{copies: u.copies})
			}
		}
	}
	return exchanges, nil
}

// exchange makes the i-th exchange.
func (s *step) exchange(ctx context.Context, i int) (err error) {
	const op = "run"
	r, x := s.r, &s.list[i]
	if i == 0 {
		s.begin()
	}
	if s.quiet {
		r.now = r.note(x.what)
		r.clear()
		for dir := range x.moves {
			for _, v := range x.moves[dir] {
				r.carry(dir, v.box, v.of, v.lo, v.hi)
			}
		}
		err = r.swap(ctx, op, carries)
	} else if err = r.cross(ctx, op, x); err == nil {
		for dir := range x.moves {
			x.moves[dir] = append(x.moves[dir][:0], r.moves[dir]...)
		}
	}
	if err == nil {
		s.done++
	}
	return err
}

// begin begins a run.
func (s *step) begin() {
	s.r.step, s.done = s, 0
	s.quiet = s.steady && !slices.ContainsFunc(s.of, func(k known) bool { return k.changed() })
	for i := range s.of {
		k := &s.of[i]
		k.hold(true, s.quiet)
		s.r.held = append(s.r.held, k.copies)
		if !s.quiet {
			k.before = k.intervals(k.before[:0])
		}
	}
}

// end ends a run. If it has made the exchanges of the run before, and not all of them, the maps catch up.
func (s *step) end(err error) {
	s.r.step = nil
	whole := err == nil && s.done == len(s.list)
	if s.quiet {
		for i := 0; i < s.done && !whole; i++ {
			for j := range s.list[i].of {
				u := &s.list[i].of[j]
				u.plan()
				u.written()
			}
		}
		return
	}
	s.steady = whole
	for i := range s.of {
		k := &s.of[i]
		s.steady = s.steady && slices.Equal(k.before, k.intervals(nil))
		k.then = k.news
	}
}

func (k *known) changed() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.news != k.then
}

// intervals appends what the map says.
func (c *copies) intervals(list []interval) []interval {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.m.Runs(0, c.m.Size(), func(_, hi uint64, valid protocol.Set) bool {
		list = append(list, interval{hi, valid})
		return true
	})
	return list
}
