package main

import (
	"context"
	"errors"

	"github.com/go-halyard/halyard/bench/apps/gokernels"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/comm"
	"github.com/go-halyard/halyard/hal"
)

// heat lets heat spread on a square, whose border is cold. A rank keeps its rows with one more row on each side: the halo, which comes from its
// neighbours. Each of its devices computes some of the rows.
func heat(ctx context.Context, j *job) (err error) {
	spread := gokernels.Spread
	if !j.inGo {
		spread = spreadC
	}
	rank, ranks, n := 0, 1, j.n
	if j.comm != nil {
		rank, ranks = j.comm.Rank(), j.comm.Size()
	}
	lo, hi := n*rank/ranks, n*(rank+1)/ranks
	rows := hi - lo
	in, e1 := input[float32](j, lo*n, rows*n)
	now, e2 := buffer.New[float32]((rows + 2) * n)
	next, e3 := buffer.New[float32]((rows + 2) * n)
	defer func() { err = errors.Join(err, hal.CloseAll(now, next)) }()
	if err := errors.Join(e1, e2, e3); err != nil {
		return err
	}
	out := make([]float32, rows*n)
	err = j.timed(ctx, func() error {
		own, err := now.Slice(n, (rows+1)*n)
		if err != nil {
			return err
		}
		if err := own.CopyIn(ctx, in); err != nil {
			return err
		}
		for range j.steps {
			if err := exchange(ctx, j.comm, now, n, rows); err != nil {
				return err
			}
			for i, s := range j.streams {
				from, to := rows*i/len(j.streams), rows*(i+1)/len(j.streams)
				wide, e1 := now.Slice(from*n, (to+2)*n)
				part, e2 := next.Slice((from+1)*n, (to+1)*n)
				if err := errors.Join(e1, e2); err != nil {
					return err
				}
				if err := spread(ctx, s, hal.Over(n, to-from), int32(n), int32(to-from), wide, part); err != nil {
					return err
				}
			}
			now, next = next, now
		}
		if own, err = now.Slice(n, (rows+1)*n); err != nil {
			return err
		}
		return own.CopyOut(ctx, out)
	})
	return errors.Join(err, output(j, lo*n, out))
}

// exchange brings the halo of a rank's rows up to date.
func exchange(ctx context.Context, c *comm.Comm, now floats, n, rows int) (err error) {
	var under []*comm.Request
	start := func(op func(context.Context, *comm.Comm, floats, int, int) (*comm.Request, error), row, other int) {
		part, e := now.Slice(row*n, (row+1)*n)
		if e == nil {
			var r *comm.Request
			if r, e = op(ctx, c, part, other, 0); e == nil {
				under = append(under, r)
			}
		}
		err = errors.Join(err, e)
	}
	if c != nil && c.Rank() > 0 {
		start(comm.Irecv, 0, c.Rank()-1)
		start(comm.Isend, 1, c.Rank()-1)
	}
	if c != nil && c.Rank() < c.Size()-1 {
		start(comm.Irecv, rows+1, c.Rank()+1)
		start(comm.Isend, rows, c.Rank()+1)
	}
	for _, r := range under {
		_, e := r.Wait(ctx)
		err = errors.Join(err, e)
	}
	return err
}
