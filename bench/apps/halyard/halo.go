package main

import (
	"context"
	"errors"

	"github.com/go-halyard/halyard/comm"
)

// own returns the first row of this rank, and how many it has.
func own(j *job) (lo, rows int) {
	if j.comm == nil {
		return 0, j.n
	}
	rank, ranks := j.comm.Rank(), j.comm.Size()
	lo = j.n * rank / ranks
	return lo, j.n*(rank+1)/ranks - lo
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
	if c == nil {
		return nil
	}
	// Receives come first: to send a row is to wait for the kernel that writes it.
	up, down := c.Rank() > 0, c.Rank() < c.Size()-1
	if up {
		start(comm.Irecv, 0, c.Rank()-1)
	}
	if down {
		start(comm.Irecv, rows+1, c.Rank()+1)
	}
	if up {
		start(comm.Isend, 1, c.Rank()-1)
	}
	if down {
		start(comm.Isend, rows, c.Rank()+1)
	}
	for _, r := range under {
		_, e := r.Wait(ctx)
		err = errors.Join(err, e)
	}
	return err
}
