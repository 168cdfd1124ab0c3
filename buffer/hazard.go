package buffer

import (
	"context"

	"github.com/go-halyard/halyard/hal"
)

// hazard is work on a range of one replica that later work may have to wait for.
type hazard struct {
	lo, hi uint64
	mark   *hal.Mark   // nil if it could not be recorded: then the whole stream counts
	stream *hal.Stream // the work is on
	write  bool
	copy   bool // a transfer into the replica, whose source is still good if it fails
}

// hazards are those of one replica. A write is ordered behind what it overlaps and so replaces what
// it covers; the list holds little more than what is under way.
type hazards struct {
	list  []hazard
	limit int // length at which finished ones are looked for again
}

// crowded is the least length at which finished hazards are looked for.
const crowded = 16

// order makes stream wait for what an access of [lo, hi) depends on: a reader for writers, a writer
// for everybody.
func (h *hazards) order(stream *hal.Stream, lo, hi uint64, writes bool) error {
	for i := range h.list {
		z := &h.list[i]
		if z.lo >= hi || lo >= z.hi || !(writes || z.write) {
			continue
		}
		if err := z.hold(stream); err != nil {
			return err
		}
	}
	return nil
}

func (z *hazard) hold(stream *hal.Stream) error {
	if z.mark != nil {
		return stream.WaitMark(z.mark)
	}
	return stream.Follow(z.stream)
}

// add records work that was just enqueued on the stream. It takes over one reference to mark,
// which is nil if the stream could not be marked.
func (h *hazards) add(z hazard) {
	for i := 0; i < len(h.list); {
		old := &h.list[i]
		covered := z.lo <= old.lo && old.hi <= z.hi
		if covered && (z.write || !old.write && old.stream == z.stream) {
			h.remove(i)
			continue
		}
		i++
	}
	h.list = append(h.list, z)
}

func (h *hazards) remove(i int) {
	if m := h.list[i].mark; m != nil {
		m.Release()
	}
	last := len(h.list) - 1
	h.list[i] = h.list[last]
	h.list[last] = hazard{}
	h.list = h.list[:last]
}

// sweep removes what has finished and reports each failure to failed.
func (h *hazards) sweep(lo, hi uint64, failed func(z hazard, err error)) {
	for i := 0; i < len(h.list); {
		z := h.list[i]
		if z.lo >= hi || lo >= z.hi {
			i++
			continue
		}
		var done bool
		var err error
		if z.mark != nil {
			done, err = z.mark.Done()
		} else {
			done, err = z.stream.Idle()
		}
		if !done && err == nil {
			i++
			continue
		}
		h.remove(i)
		if err != nil {
			failed(z, err)
		}
	}
}

// pending returns the hazards that an access of [lo, hi) on the host must wait for, each with a
// reference to its mark that the caller releases.
func (h *hazards) pending(lo, hi uint64, writes bool, dst []hazard) []hazard {
	for i := range h.list {
		z := h.list[i]
		if z.lo >= hi || lo >= z.hi || !(writes || z.write) {
			continue
		}
		if z.mark != nil {
			z.mark.Retain()
		}
		dst = append(dst, z)
	}
	return dst
}

// wait waits on the host for each of the hazards and releases them all. It returns only that
// the context ended; failures are found by the sweep that follows.
func waitAll(ctx context.Context, list []hazard) error {
	var stopped error
	for _, z := range list {
		if stopped == nil {
			if z.mark != nil {
				_ = z.mark.Sync(ctx)
			} else {
				_ = z.stream.Drain(ctx)
			}
			stopped = ctx.Err()
		}
		if z.mark != nil {
			z.mark.Release()
		}
	}
	return stopped
}

func (h *hazards) clear() {
	for len(h.list) > 0 {
		h.remove(len(h.list) - 1)
	}
}
