package pool

// Stats are figures of a pool. They are sums over its parts, taken while others go on.
type Stats struct {
	Blocks   int    // live
	Asked    uint64 // bytes that live blocks were asked for
	Live     uint64 // bytes that live blocks occupy
	Reserved uint64 // bytes taken from the device
	Peak     uint64 // the most bytes taken from the device at once
	Lost     uint64 // see Pool.ForgetStream

	Allocs   uint64 // blocks given out
	Misses   uint64 // of these, those that the device was asked for
	Steals   uint64 // of these, those that another stream had finished with
	Waits    uint64 // of these, those for which a stream was made to wait for another
	Failures uint64 // allocations that ended with ErrOutOfMemory

	DeviceAllocs uint64 // memories taken from the device
	DeviceFrees  uint64 // memories given back
	Streams      int    // streams that the pool knows
}

// Unused is how many of the bytes taken from the device no live block occupies.
func (s Stats) Unused() uint64 { return s.Reserved - min(s.Reserved, s.Live) }

// Stats returns the pool's figures. For figures of a part of a program, peaks included, see
// [github.com/go-halyard/halyard/hal/pool/adapt.Count].
func (p *Pool) Stats() Stats {
	s := Stats{Failures: p.failures.Load(), DeviceAllocs: p.grown.Load(), DeviceFrees: p.dropped.Load()}
	var sum tally
	for _, h := range p.heaps {
		h.mu.Lock()
		sum.add(h.tally)
		s.Misses += h.misses
		s.Steals += h.steals
		s.Waits += h.waits
		s.Lost += h.lost
		h.mu.Unlock()
	}
	for d := range p.everybody {
		d.tally(&sum)
	}
	s.Streams = int(p.table.Load().streams.Load())
	s.Reserved, s.Peak = p.reserved.Load(), p.peak.Load()
	s.Blocks, s.Allocs = int(sum.blocks), sum.allocs
	// Blocks that move between the parts meanwhile may make a sum negative.
	s.Asked, s.Live = uint64(max(sum.asked, 0)), uint64(max(sum.holds, 0))
	return s
}

// tally adds what was given out and taken back here.
func (d *domain) tally(sum *tally) {
	for k := range d.shelves {
		if s := d.shelves[k].Load(); s != nil {
			s.each(func(l *lane) bool {
				sum.add(l.tally)
				return true
			})
		}
	}
}

// unused is how many of the bytes taken from the device no live block occupies.
func (p *Pool) unused() uint64 { return p.Stats().Unused() }
