package pool

// Stats are figures of a pool. [Pool.Stats] sums them up while other calls go on, so they may be off by what those calls allocate
// and free. A block is live from its allocation until it is freed.
type Stats struct {
	Blocks   int    // live blocks
	Asked    uint64 // bytes that were requested for the live blocks
	Live     uint64 // bytes that the live blocks occupy
	Reserved uint64 // bytes that the pool has taken from the device
	Peak     uint64 // the highest that Reserved has been

	Allocs   uint64 // blocks given out
	Misses   uint64 // attempts to allocate, failed ones included, that found no free memory to use at once
	Failures uint64 // allocations that ended with ErrOutOfMemory

	DeviceAllocs uint64 // allocations that the pool has made on the device

	lost    uint64 // bytes of Reserved that are not used again before their chunk is given back; see Pool.ForgetStream
	steals  uint64 // those of Allocs whose memory another stream had finished with
	waits   uint64 // those of Allocs that made a stream wait for another
	streams int    // that the pool knows
}

// Stats returns the pool's figures. To count the live blocks of one part of a program, wrap the pool; see [Block.From].
func (p *Pool) Stats() (s Stats) {
	var sum tally
	for _, h := range p.heaps {
		h.mu.Lock()
		h.stats(&s, &sum)
		h.mu.Unlock()
	}
	for d := range p.everybody {
		for s := range d.all {
			s.each(func(l *lane) bool {
				sum.add(l.tally)
				return true
			})
		}
	}
	s.Failures, s.DeviceAllocs = p.failures.Load(), p.grown.Load()
	s.streams = int(p.table.Load().streams.Load())
	s.Reserved, s.Peak = p.reserved.Load(), p.peak.Load()
	s.Allocs = sum.allocs
	// Blocks that are allocated and freed meanwhile may make a sum negative.
	s.Blocks = int(max(sum.blocks, 0))
	s.Asked, s.Live = uint64(max(sum.asked, 0)), uint64(max(sum.holds, 0))
	return s
}

// stats adds a heap's figures; h.mu is held.
func (h *heap) stats(s *Stats, sum *tally) {
	sum.add(h.tally)
	s.Misses += h.misses
	s.steals += h.steals
	s.waits += h.waits
	s.lost += h.lost
}

// unused is the number of bytes that were taken from the device and are in no live block.
func (p *Pool) unused() uint64 {
	s := p.Stats()
	return s.Reserved - min(s.Reserved, s.Live)
}
