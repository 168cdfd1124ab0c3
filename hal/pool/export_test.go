package pool

// What a pool counts for its tests alone; see Stats.

func (s Stats) Lost() uint64   { return s.lost }
func (s Stats) Steals() uint64 { return s.steals }
func (s Stats) Waits() uint64  { return s.waits }
func (s Stats) Streams() int   { return s.streams }

// Unused is the number of bytes that were taken from the device and are in no live block.
func (s Stats) Unused() uint64 { return s.Reserved - min(s.Reserved, s.Live) }

// OfStreams returns the same figures for a pool that knows n streams.
func (s Stats) OfStreams(n int) Stats {
	s.streams = n
	return s
}
