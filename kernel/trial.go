package kernel

import (
	"errors"
	"math"
	"slices"

	"github.com/go-halyard/halyard/hal"
)

// due evaluates the last trial, and reports whether one of the next n launches is to be timed.
func (s *Split) due(t *team, n int) bool {
	if len(t.streams) < 2 {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if last := s.trial; last != nil && last.done() {
		s.trial = nil
		s.learn(last)
		_ = last.close() // the events have served
	}
	if s.count+n <= s.wait || s.trial != nil || s.fixed || s.closed {
		return false
	}
	return !slices.ContainsFunc(t.streams, func(s *hal.Stream) bool { return !s.Device().Caps().Has(hal.CapTiming) })
}

// begin counts a launch, and returns a trial if it is to be timed, else nil.
func (s *Split) begin(t *team, timed bool) *trial {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.count++; !timed || s.count <= s.wait { // another launch has become the trial meanwhile
		return nil
	}
	s.count, s.wait = 0, min(2*s.wait, mostWait)
	return &trial{t, make([]timing, len(t.streams))}
}

// timed keeps a trial whose launch has been enqueued.
func (s *Split) timed(t *trial) {
	if t == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.trial != nil || s.closed {
		_ = t.close()
		return
	}
	s.trial = t
}

// before and after record events around a part's kernel. Without them there is no measurement, so their errors do not matter.
func (t *trial) before(p *part) {
	t.times[p.device].part = p.size
	t.times[p.device].from, _ = p.stream.Record(hal.WithTiming())
}

func (t *trial) after(p *part) {
	if p.enqueued > 0 {
		t.times[p.device].to, _ = p.stream.Record(hal.WithTiming())
	}
}

// done reports whether the launch has ended, on all devices.
func (t *trial) done() bool {
	for _, m := range t.times {
		if m.to == nil {
			continue
		}
		if done, err := m.to.Done(); !done && err == nil {
			return false
		}
	}
	return true
}

func (t *trial) close() error {
	if t == nil {
		return nil
	}
	var errs []error
	for _, m := range t.times {
		for _, e := range []*hal.Event{m.from, m.to} {
			if e != nil {
				errs = append(errs, e.Close())
			}
		}
	}
	return errors.Join(errs...)
}

// learn takes the times of a trial into account; s.mu is held.
func (s *Split) learn(t *trial) {
	now := s.team.Load()
	if t.team != now || s.fixed {
		return
	}
	for i, m := range t.times {
		if m.from == nil || m.to == nil {
			return
		}
		took, err := m.to.Elapsed(m.from)
		if err != nil || took <= 0 {
			return
		}
		s.costs[i] = 0.75*s.costs[i] + took.Seconds()/m.part
	}
	shares := better(now.shares, s.costs)
	if !near(now.streams) {
		first, least := alone(len(s.costs)), crossing
		was := slices.Equal(first, now.shares)
		if was {
			least *= 8 // one launch that was held up is no reason to divide again
		}
		switch short := s.costs[0]-ideal(s.costs) < least; {
		case short && was:
			return
		case short:
			shares = first
		}
	}
	if shares != nil {
		s.team.Store(&team{streams: now.streams, shares: shares})
	}
}

// Close frees the events with which launches are timed. Later launches are not timed. The streams stay open.
func (s *Split) Close() error {
	if t := s.now(); t == &noTeam {
		return t.gone
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	t := s.trial
	s.trial = nil
	return t.close()
}

// alone returns shares with which the first of n devices does all, apart from the launches that are timed.
func alone(n int) []float64 {
	list := slices.Repeat([]float64{math.SmallestNonzeroFloat64}, n)
	list[0] = 1
	return list
}

// ideal returns the time that all devices need together.
func ideal(costs []float64) float64 {
	speed := 0.0
	for _, c := range costs {
		speed += 1 / c
	}
	return 1 / speed
}

// better returns shares with which all devices end at the same time, or nil if these gain too little. The cost of a device
// is the time that it would need alone.
func better(shares, costs []float64) []float64 {
	sum, longest, together := 0.0, 0.0, ideal(costs)
	for i := range shares {
		sum += shares[i]
		longest = max(longest, shares[i]*costs[i])
	}
	if together > gain*longest/sum {
		return nil
	}
	list := make([]float64, 0, len(shares))
	for i := range shares {
		list = append(list, together/costs[i])
	}
	return list
}
