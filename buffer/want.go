package buffer

import (
	"cmp"
	"slices"

	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/protocol"
)

// Want is one of the accesses of an [AcquireAll]: the elements of a buffer, and the mode of access. [Buffer.Want]
// makes one.
type Want struct {
	s     *storage
	own   *owner
	part  part
	under *access // the access of the same storage that this is a part of, or nil
	parts []part  // several parts, whose hull is part; nil if there is one
	of    *part   // if Regions returns more elements than part has: these, else nil
	in    int32   // index of its member in the group
	elem  uint32  // bytes of an element
	err   error   // the reason if the elements cannot be acquired
	call  string  // see For
}

// Want names the elements for [AcquireAll]. mode is coherence.Read, ReadWrite or Overwrite, as for Acquire.
func (b *Buffer[T]) Want(mode coherence.Mode) Want {
	if b == nil {
		return Want{}
	}
	return Want{s: b.s, own: b.own, elem: uint32(b.elementSize()), part: part{Lo: b.lo, Hi: b.hi, Mode: protocol.Action(mode)}}
}

// NoWant returns a want for elements that cannot be acquired: [AcquireAll] fails with reason. It is for packages whose types are made of
// buffers.
func NoWant(reason error) Want { return Want{err: reason} }

// Err returns why the elements cannot be acquired on any stream: there is no buffer, it is closed, or it is frozen and they would be
// written. Otherwise it returns nil.
func (w Want) Err() error {
	const op = "Want"
	switch {
	case w.err != nil:
		return w.err
	case w.s == nil:
		return hal.Errorf(op, hal.ErrInvalidArgument, "nil or zero buffer")
	}
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	return w.s.usable(op, w.part.Writes())
}

// Overlap returns how many bytes of a buffer both wants have.
func (w Want) Overlap(v Want) (bytes uint64) {
	if lo, hi := max(w.part.Lo, v.part.Lo), min(w.part.Hi, v.part.Hi); w.s != nil && w.s == v.s && lo < hi {
		return hi - lo
	}
	return 0
}

// For returns the want for a call with a name of its own, which errors and [Activity.Cause] have in place of AcquireAll or ReserveAll.
// Wants of the same buffer are one access, which has the name of one of them. The call must release its leases before it returns, and
// acquire no others meanwhile: accesses that lack memory wait for leases with a name.
func (w Want) For(call string) Want {
	w.call = call
	return w
}

// sub is parts.Sub.
func (w Want) sub(lo, hi int, mode coherence.Mode) Want {
	all := w.part
	return w.cut(&all, lo, hi, mode)
}

// cut returns the want for the elements from lo to hi of all.
func (w Want) cut(all *part, lo, hi int, mode coherence.Mode) Want {
	n := int((all.Hi - all.Lo) / uint64(max(w.elem, 1)))
	lo, hi = min(max(lo, 0), n), min(max(hi, 0), n)
	w.part = part{Lo: all.Lo + uint64(lo)*uint64(w.elem), Hi: all.Lo + uint64(max(lo, hi))*uint64(w.elem), Mode: protocol.Action(mode)}
	w.of = all
	return w
}

// region returns the elements that Leases.Regions has for the want.
func (w *Want) region() *part {
	if w.of != nil {
		return w.of
	}
	return &w.part
}

// same returns the mode of wants of one storage that all have the same range. ok is false if their ranges differ.
func same(wants []Want, which []int) (mode protocol.Action, ok bool) {
	first := &wants[which[0]].part
	reads, writes := first.Reads(), first.Writes()
	for _, i := range which[1:] {
		p := &wants[i].part
		if p.Lo != first.Lo || p.Hi != first.Hi {
			return mode, false
		}
		reads, writes = reads || p.Reads(), writes || p.Writes()
	}
	switch {
	case !writes:
		return protocol.Read, true
	case !reads:
		return protocol.Overwrite, true
	}
	return protocol.ReadWrite, true
}

// merged cuts overlapping wants of one storage into parts that do not overlap. The mode of a byte that one want reads and another writes is
// ReadWrite.
func merged(wants []Want, which []int) (parts []part) {
	type edge struct {
		at            uint64
		reads, writes int // more from here on
	}
	edges := make([]edge, 0, 2*len(which))
	for _, i := range which {
		p, e := wants[i].part, edge{}
		if p.Reads() {
			e.reads = 1
		}
		if p.Writes() {
			e.writes = 1
		}
		edges = append(edges, edge{p.Lo, e.reads, e.writes}, edge{p.Hi, -e.reads, -e.writes})
	}
	slices.SortFunc(edges, func(a, b edge) int { return cmp.Compare(a.at, b.at) })
	reads, writes := 0, 0
	for i := 0; i+1 < len(edges); i++ {
		reads, writes = reads+edges[i].reads, writes+edges[i].writes
		p := part{Lo: edges[i].at, Hi: edges[i+1].at}
		switch {
		case p.Lo == p.Hi:
			continue
		case reads > 0 && writes > 0:
			p.Mode = protocol.ReadWrite
		case writes > 0:
			p.Mode = protocol.Overwrite
		case reads > 0:
			p.Mode = protocol.Read
		default:
			continue // a gap between the wants
		}
		parts = appendPart(parts, p)
	}
	return parts
}

// following cuts accesses that come one after the other into parts that do not overlap. A byte is read if the first access reads it. There
// may be many thousands of accesses.
func following(list []part) (parts []part) {
	var cuts []uint64
	for _, p := range list {
		cuts = append(cuts, p.Lo, p.Hi)
	}
	slices.Sort(cuts)
	cuts = slices.Compact(cuts)
	pieces := make([]struct { // between two cuts
		mode    protocol.Action // of the first access
		used    bool
		free    int    // if used: all pieces from this one up to piece free are used
		written uint64 // the end of the longest write that begins here
	}, len(cuts))
	free := func(i int) int { // the first piece from i on that no access has had
		for ; pieces[i].used; i = pieces[i].free {
			if next := &pieces[pieces[i].free]; next.used {
				pieces[i].free = next.free
			}
		}
		return i
	}
	for _, q := range list {
		lo, _ := slices.BinarySearch(cuts, q.Lo)
		hi, _ := slices.BinarySearch(cuts, q.Hi)
		if q.Writes() {
			pieces[lo].written = max(pieces[lo].written, q.Hi)
		}
		for i := free(lo); i < hi; i = free(i) {
			pieces[i].mode, pieces[i].used, pieces[i].free = q.Mode, true, i+1
		}
	}
	written := uint64(0)
	for i, p := range pieces {
		written = max(written, p.written)
		if p.mode == protocol.Read && written > cuts[i] {
			p.mode = protocol.ReadWrite
		}
		if p.used {
			parts = appendPart(parts, part{Lo: cuts[i], Hi: cuts[i+1], Mode: p.mode})
		}
	}
	return parts
}

// appendPart appends a part, or makes the last one longer by it.
func appendPart(parts []part, p part) []part {
	if last := len(parts) - 1; last >= 0 && parts[last].Hi == p.Lo && parts[last].Mode == p.Mode {
		parts[last].Hi = p.Hi
		return parts
	}
	return append(parts, p)
}

// hull returns the range from the first part to the last, with the mode of the parts, or ReadWrite if they differ.
func hull(parts []part) part {
	h := part{Lo: parts[0].Lo, Hi: parts[len(parts)-1].Hi, Mode: parts[0].Mode}
	for _, p := range parts {
		if p.Mode != h.Mode {
			h.Mode = protocol.ReadWrite
		}
	}
	return h
}
