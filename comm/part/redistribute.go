package part

import (
	"context"
	"slices"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/comm"
	"github.com/go-halyard/halyard/internal/comm/driver"
)

// Redistribute copies the owned elements of src to dst, which has the same number of elements and ranks, but another layout. Elements keep
// their global indices. All ranks call it, and it waits for the others until ctx ends. It sends at most one message to each
// rank, and returns what this rank sent. The ghosts of dst are stale afterwards. If it fails, dst may have been written on some
// ranks; unless it failed before anything was sent, dst refuses further calls as after an error of [Buffer.Exchange].
func Redistribute[T buffer.Number](ctx context.Context, dst, src *Buffer[T]) (moved Moved, err error) {
	const op = "Redistribute"
	if dst == src {
		return moved, driver.Errorf(op, comm.ErrInvalidArgument, "source and destination are the same buffer")
	}
	if err := src.begin(op); err != nil {
		return moved, err
	}
	defer src.done()
	if err := dst.begin(op); err != nil {
		return moved, err
	}
	defer dst.done()
	if dst.Size() != src.Size() || dst.c.Size() != src.c.Size() || dst.rank != src.rank {
		return moved, driver.Errorf(op, comm.ErrInvalidArgument, "the source has %d elements, rank %d of %d; the destination has %d elements, rank %d of %d",
			src.Size(), src.rank, src.c.Size(), dst.Size(), dst.rank, dst.c.Size())
	}
	c := dst.c
	out, in := src.pieces(dst.grid), dst.pieces(src.grid)
	var closing []*buffer.Buffer[T]
	var requests []*comm.Request
	defer func() {
		over, cancel := context.WithCancel(ctx)
		if err != nil {
			cancel() // give up what is under way
		}
		defer cancel()
		for _, r := range requests {
			if _, e := r.Wait(over); err == nil {
				err = e
			}
		}
		if err != nil && len(requests) > 0 {
			dst.state.begun()
			dst.state.fail(err)
			dst.Expire() // other ranks may have written
		}
		for _, m := range closing {
			_ = m.Close()
		}
	}()
	message := func(n int) (*buffer.Buffer[T], error) {
		m, err := comm.NewBuffer[T](c, n) // in memory of the engine, so that nothing is copied again
		if err == nil {
			closing = append(closing, m)
		}
		return m, err
	}
	got, receives := make([]*buffer.Buffer[T], len(in)), make([]*comm.Request, len(in))
	for i, p := range in {
		if p.peer == c.Rank() {
			continue
		}
		if got[i], err = message(p.n); err != nil {
			return moved, err
		}
		if receives[i], err = comm.Irecv(ctx, c, got[i], p.peer, tagParts); err != nil {
			return moved, err
		}
		requests = append(requests, receives[i])
	}
	for _, p := range out {
		m, err := message(p.n)
		if err != nil {
			return moved, err
		}
		if err := m.Overwrite(ctx, func(to []T) error { return src.gather(ctx, p, to) }); err != nil {
			return moved, err
		}
		if p.peer == c.Rank() {
			got[slices.IndexFunc(in, func(q piece) bool { return q.peer == p.peer })] = m
			continue
		}
		r, err := comm.Isend(ctx, c, m, p.peer, tagParts)
		if err != nil {
			return moved, err
		}
		requests = append(requests, r)
		moved.Messages++
		moved.Bytes += m.Size()
	}
	for i, p := range in {
		if r := receives[i]; r != nil {
			status, err := r.Wait(ctx)
			if err != nil {
				return moved, err
			}
			if status.Count != p.n {
				return moved, mismatch(op, p.peer, "a part does not have the length that the layouts give it")
			}
		}
	}
	for i, p := range in {
		if err := got[i].View(ctx, func(from []T) error { return dst.scatter(ctx, p, from) }); err != nil {
			return moved, err
		}
	}
	dst.Expire()
	return moved, nil
}

// gather copies the elements of a piece to consecutive memory, and scatter copies them from there.
func (b *Buffer[T]) gather(ctx context.Context, p piece, to []T) error {
	return b.local.AccessRanges(ctx, coherence.Read, p.local, func(s []T) error {
		for _, r := range p.local {
			to = to[copy(to, s[r.Lo-p.local[0].Lo:r.Hi-p.local[0].Lo]):]
		}
		return nil
	})
}

func (b *Buffer[T]) scatter(ctx context.Context, p piece, from []T) error {
	return b.local.AccessRanges(ctx, coherence.Overwrite, p.local, func(s []T) error {
		for _, r := range p.local {
			from = from[copy(s[r.Lo-p.local[0].Lo:r.Hi-p.local[0].Lo], from):]
		}
		return nil
	})
}

// piece is the owned elements that another layout gives to one rank, in the order of both numberings.
type piece struct {
	peer, n int
	local   []Range
}

// pieces divides the owned elements as another layout does. The pieces are in the order of ranks.
func (p *parts) pieces(g *grid) (list []piece) {
	for _, own := range p.own {
		for at := own.global; at < own.global+own.n; {
			peer, end := g.owner(at)
			k := min(end, own.global+own.n) - at
			i, found := slices.BinarySearchFunc(list, peer, func(q piece, peer int) int { return q.peer - peer })
			if !found {
				list = slices.Insert(list, i, piece{peer: peer})
			}
			lo := own.local + at - own.global
			q := &list[i]
			q.n += k
			if n := len(q.local) - 1; n >= 0 && q.local[n].Hi == lo {
				q.local[n].Hi += k
			} else {
				q.local = append(q.local, Range{Lo: lo, Hi: lo + k})
			}
			at += k
		}
	}
	return list
}
