package buffer

import (
	"context"
	"slices"
	"sync"

	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
)

// hazard is work on a range of one replica that later work may have to wait for.
type hazard struct {
	lo, hi uint64
	parts  []extent    // of [lo, hi) that the work is on, nil for all of it
	seq    uint64      // in the order in which the storage's were made
	mark   *hal.Mark   // nil if it could not be recorded: then the whole stream counts
	end    ender       // of work of another buffer's, in place of a mark
	stream *hal.Stream // the work is on
	write  bool
	copy   bool            // a transfer: into the replica, whose source is still good if it fails, or else out of it
	fresh  bool            // a write of every byte that hangs on none of them
	from   coherence.Place // of a transfer into the replica, NoPlace if it is zeros
	old    []byte          // the whole host replica before it was moved, if the transfer is that move

	// cut is a write that puts no bytes there, but ends what was there before.
	cut bool

	// turn is a write that changes no byte: the memory goes from the host to the device, or back.
	turn bool

	// Of a write. Something was made of what it wrote, so that it stays, covered or not, until it is known how it ended;
	// a later write covers it, and is ordered behind it; it has succeeded, and stays because what it was made of may fail.
	base, under, ok bool

	// fence is no work at all but earlier use of the memory, by somebody else; it gets a mark when somebody asks. arrival orders nothing: it is the
	// far end of a transfer out of the replica.
	fence, arrival bool
}

// ender is asked how work ends. It keeps no device from closing.
type ender interface {
	Done() (bool, error)
	Sync(context.Context) error
}

// ender is for asking how the hazard's work ends after the hazard is gone.
func (z *hazard) ender() ender {
	switch {
	case z.mark != nil:
		return newMarkEnd(z.mark)
	case z.end != nil:
		return z.end
	}
	return &streamEnd{z.stream}
}

// markEnd is how the work of a mark ends. It holds the mark until then.
type markEnd struct {
	mu   sync.Mutex
	mark *hal.Mark // nil once the work has ended
	err  error
}

func newMarkEnd(m *hal.Mark) *markEnd {
	e := &markEnd{mark: m}
	m.Retain()
	m.OnDone(func(err error) {
		e.mu.Lock()
		e.mark, e.err = nil, err
		e.mu.Unlock()
		m.Release()
	})
	return e
}

func (e *markEnd) Done() (bool, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.mark == nil {
		return true, e.err
	}
	return e.mark.Done()
}

func (e *markEnd) Sync(ctx context.Context) error {
	e.mu.Lock()
	m := e.mark
	if m == nil {
		e.mu.Unlock()
		return e.err
	}
	m.Retain()
	e.mu.Unlock()
	defer m.Release()
	return m.Sync(ctx)
}

// streamEnd stands for a stream that could not be marked.
type streamEnd struct{ *hal.Stream }

func (s *streamEnd) Done() (bool, error)            { return s.Idle() }
func (s *streamEnd) Sync(ctx context.Context) error { return s.Drain(ctx) }

// ends are done when all of them are, and fail with one that fails.
type ends struct {
	mu   sync.Mutex
	list []ender // that are not known to be done, the latest first: while it goes on, nobody else is asked
	err  error
}

func (e *ends) add(x ender) { e.list = append(e.list, x) }

func (e *ends) Done() (bool, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for len(e.list) > 0 {
		done, err := e.list[0].Done()
		if !done && err == nil {
			return false, nil
		}
		if e.err == nil {
			e.err = err
		}
		e.list = slices.Delete(e.list, 0, 1)
	}
	return true, e.err
}

func (e *ends) Sync(ctx context.Context) error {
	e.mu.Lock()
	list := slices.Clone(e.list)
	e.mu.Unlock()
	for _, x := range list {
		_ = x.Sync(ctx)
	}
	return ctx.Err()
}

// concerns reports whether an access of [lo, hi) depends on the hazard.
func (z *hazard) concerns(lo, hi uint64, writes bool) bool {
	return (writes || z.write) && !z.arrival && !z.under && !z.ok && z.touches(lo, hi)
}

// changes reports whether the hazard is a write that puts bytes there.
func (z *hazard) changes() bool { return z.write && !z.fence }

// meets reports whether two hazards are on a common byte.
func (z *hazard) meets(o *hazard) (found bool) {
	if o.parts == nil {
		return z.touches(o.lo, o.hi)
	}
	o.each(func(lo, hi uint64) { found = found || z.touches(lo, hi) })
	return found
}

// madeOf reports whether what z wrote at a place hangs on what y wrote at another, or the same.
func (z *hazard) madeOf(at coherence.Place, y *hazard, from coherence.Place) bool {
	if y.seq >= z.seq || !y.changes() {
		return false
	}
	return (from == at && !z.fresh || z.copy && from == z.from) && y.meets(z)
}

// touches reports whether the work is on a byte of [lo, hi).
func (z *hazard) touches(lo, hi uint64) bool {
	return z.lo < hi && lo < z.hi && (z.parts == nil || overlap(z.parts, lo, hi))
}

// each calls fn for each range that the work is on.
func (z *hazard) each(fn func(lo, hi uint64)) {
	if z.parts == nil {
		fn(z.lo, z.hi)
	}
	for _, e := range z.parts {
		fn(e.lo, e.hi)
	}
}

// covers reports whether z is on everything that old is on.
func (z *hazard) covers(old *hazard) bool {
	switch {
	case old.lo < z.lo || z.hi < old.hi:
		return false
	case z.parts == nil:
		return true
	case old.parts == nil:
		return enclosed(z.parts, extent{old.lo, old.hi})
	}
	for _, e := range old.parts {
		if !enclosed(z.parts, e) {
			return false
		}
	}
	return true
}

// saves reports whether the bytes of an evicted replica hang on the hazard: a transfer out of it, or the work that
// made them, or that of others.
func (z *hazard) saves() bool { return !z.fence && !z.ok && (z.copy != z.write || z.base) }

// state asks whether the work has finished, and how.
func (z *hazard) state() (done bool, err error) {
	switch {
	case z.mark != nil:
		done, err = z.mark.Done()
	case z.end != nil:
		done, err = z.end.Done()
	default:
		done, err = z.stream.Idle()
	}
	return done || err != nil, err
}

// hazards are those of one replica. A write is ordered behind what it overlaps and so replaces what
// it covers; the list holds little more than what is under way.
type hazards struct {
	list  []hazard // ascending by seq
	limit int      // length at which finished ones are looked for again
}

// crowd is the least length at which finished hazards are looked for.
const crowd = 16

// order makes stream wait for what an access of [lo, hi) depends on: a reader for writers, a writer
// for everybody.
func (h *hazards) order(stream *hal.Stream, lo, hi uint64, writes bool) error {
	for i := range h.list {
		z := &h.list[i]
		if !z.concerns(lo, hi, writes) {
			continue
		}
		if err := z.hold(stream); err != nil {
			return err
		}
	}
	return nil
}

func (z *hazard) hold(stream *hal.Stream) error {
	if z.fence && z.mark == nil && z.stream != stream {
		if m, err := z.stream.Mark(); err == nil {
			z.mark = m
		}
	}
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
		if z.changes() && !z.fresh && old.changes() && (old.copy || old.stream != z.stream) && old.meets(&z) {
			old.base = true
		}
		if h.replaces(&z, old) {
			if !old.base && !old.endedBadly(&z) {
				h.remove(i)
				continue
			}
			old.under = true
		}
		if old.fence && old.mark == nil && old.stream == z.stream && z.mark != nil {
			// What is behind the fence is behind this mark, and what comes later is not before it.
			z.mark.Retain()
			old.mark = z.mark
		}
		i++
	}
	h.list = append(h.list, z)
}

// renew takes the mark of the one hazard in the list for z, if z is to replace it and nobody else has the mark. It
// then stands for the work of z.
func (h *hazards) renew(z *hazard) bool {
	if len(h.list) != 1 {
		return false
	}
	old := &h.list[0]
	if old.mark == nil || old.stream != z.stream || old.base || old.fence || !h.replaces(z, old) || old.endedBadly(z) {
		return false
	}
	if !z.stream.MarkAgain(old.mark) {
		return false
	}
	z.mark, old.mark = old.mark, nil
	h.remove(0)
	return true
}

// replaces reports whether z makes an earlier hazard superfluous, as far as only what waits for the two counts.
func (h *hazards) replaces(z, old *hazard) bool {
	return !z.arrival && z.covers(old) && (z.write || !old.write && !old.copy && old.stream == z.stream)
}

// endedBadly reports whether a write of the program's has failed that another on the same stream, and of the same bytes, has followed
// on. While it goes on, the other's mark stands for both.
func (z *hazard) endedBadly(next *hazard) (failed bool) {
	if !z.changes() || next.fresh {
		return false
	}
	_, err := z.state()
	z.base = err != nil
	return z.base
}

// built says that something is made of [lo, hi).
func (h *hazards) built(lo, hi uint64) {
	for i := range h.list {
		if z := &h.list[i]; z.changes() && z.touches(lo, hi) {
			z.base = true
		}
	}
}

// latest lists the ranges of z that no write in the list which hangs on nothing has followed on.
func (h *hazards) latest(z *hazard) (list []extent) {
	z.each(func(lo, hi uint64) { list = append(list, extent{lo, hi}) })
	for i := range h.list {
		if w := &h.list[i]; w.changes() && w.fresh && w.seq > z.seq {
			w.each(func(lo, hi uint64) { list = cut(list, lo, hi) })
		}
	}
	return list
}

func (h *hazards) remove(i int) {
	if m := h.list[i].mark; m != nil {
		m.Release()
	}
	h.list = slices.Delete(h.list, i, i+1)
}

// crowded reports whether it is time to look for finished ones.
func (h *hazards) crowded() bool { return len(h.list) >= max(crowd, h.limit) }

// pending returns the hazards that an access of [lo, hi) on the host must wait for, each with a
// reference to its mark that the caller releases.
func (h *hazards) pending(lo, hi uint64, writes bool, dst []hazard) []hazard {
	for i := range h.list {
		if z := &h.list[i]; z.concerns(lo, hi, writes) {
			dst = append(dst, z.retained())
		}
	}
	return dst
}

// saving returns those on which the bytes of an evicted replica hang, as pending does.
func (h *hazards) saving(dst []hazard) []hazard {
	for i := range h.list {
		if z := &h.list[i]; z.saves() {
			dst = append(dst, z.retained())
		}
	}
	return dst
}

func (z *hazard) retained() hazard {
	if z.mark != nil {
		z.mark.Retain()
	}
	return *z
}

// wait waits on the host for each of the hazards and releases them all. It returns only that
// the context ended; failures are found by the sweep that follows.
func waitAll(ctx context.Context, list []hazard) error {
	var stopped error
	for _, z := range list {
		if stopped == nil {
			switch {
			case z.mark != nil:
				_ = z.mark.Sync(ctx)
			case z.end != nil:
				_ = z.end.Sync(ctx)
			default:
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
	for i := len(h.list) - 1; i >= 0; i-- {
		h.remove(i)
	}
}
