package buffer

import (
	"github.com/go-halyard/halyard/buffer/internal/order"
	"github.com/go-halyard/halyard/internal/protocol"
	"github.com/go-halyard/halyard/internal/span"
)

// record is the fourth step of an access for one of its copies: it adds a Work for the copy to the Orders of source and destination. Later
// accesses wait for that Work, and ask it whether the copy has failed.
func (k *copier) record(t protocol.Transfer, r route) {
	s := k.owner
	dst, bytes := s.places.replica(t.To), span.Range{Lo: t.Lo, Hi: t.Hi}
	if t.From == protocol.NoPlace {
		w := order.NewWork(r.into)
		dst.order.Add(w, true, false, bytes)
		w.Release()
		return
	}
	src := s.places.replica(t.From)
	w := order.NewWork(r.into)
	src.order.Sources(w, bytes)
	if r.from != r.into {
		read := order.NewWork(r.from)
		src.order.Add(read, false, false, bytes)
		w.Reads(read)
	}
	if r.from == r.into {
		src.order.Add(w, false, false, bytes)
	}
	dst.order.Add(w, true, false, bytes)
	w.Release()
}

// record is the fourth step of an access of a device, at its end: it adds a Work for the program's work to the replica's Order. The sources of
// the new Work are the Works that wrote the bytes which the access reads. check is as for [order.Checked].
func (x *access) record(check func() error) {
	r := x.replica
	if check == nil && x.parts == nil && r.order.Renew(x.stream, x.lo, x.hi, x.writes, x.reads()) {
		return
	}
	w := order.Checked(x.stream, check)
	if x.writes {
		x.sources(w)
	}
	x.recordAs(w)
	w.Release()
}

// sources sets the sources of w: the Works that wrote the bytes which the access reads.
func (x *access) sources(w *order.Work) {
	s := x.storage
	ranges := s.scratch.ranges[:0]
	x.each(func(p part) {
		if p.reads() {
			ranges = append(ranges, span.Range{Lo: p.lo, Hi: p.hi})
		}
	})
	s.scratch.ranges = ranges[:0]
	x.replica.order.Sources(w, ranges...)
}

// recordAs adds w to the replica's Order as the work of the access.
func (x *access) recordAs(w *order.Work) {
	for _, writes := range [...]bool{false, true} {
		if ranges := x.spans(writes); len(ranges) > 0 {
			x.replica.order.Add(w, writes, true, ranges...)
		}
	}
}

// keep records that the stream's work uses the memory, so that the memory is not freed before.
func (x *access) keep() error {
	if x.mem == nil {
		return nil
	}
	return x.stream.RecordUse(x.mem)
}
