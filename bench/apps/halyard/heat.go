package main

import (
	"context"
	"errors"

	"github.com/go-halyard/halyard/bench/apps/gokernels"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/hal"
)

// heat lets heat spread on a square, whose border is cold. A rank keeps its rows with one more row on each side: the halo, which comes from its
// neighbours. Each of its devices computes some of the rows.
func heat(ctx context.Context, j *job) (err error) {
	spread := gokernels.SpreadOn
	if !j.inGo {
		spread = spreadC
	}
	n := j.n
	lo, rows := own(j)
	in, e1 := input[float32](j, lo*n, rows*n)
	now, e2 := buffer.New[float32]((rows + 2) * n)
	next, e3 := buffer.New[float32]((rows + 2) * n)
	defer func() { err = errors.Join(err, hal.CloseAll(now, next)) }()
	if err := errors.Join(e1, e2, e3); err != nil {
		return err
	}
	out := make([]float32, rows*n)
	err = j.timed(ctx, func() error {
		inner, err := now.Slice(n, (rows+1)*n)
		if err != nil {
			return err
		}
		if err := inner.CopyIn(ctx, in); err != nil {
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
		if inner, err = now.Slice(n, (rows+1)*n); err != nil {
			return err
		}
		return inner.CopyOut(ctx, out)
	})
	return errors.Join(err, output(j, lo*n, out))
}
