package main

import (
	"context"
	"errors"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/comm"
	"github.com/go-halyard/halyard/hal"
)

// cgKernels are the kernels of conjugate gradients.
type cgKernels struct {
	product func(ctx context.Context, s *hal.Stream, n int, a, b, sums floats) error
	total   func(ctx context.Context, s *hal.Stream, sums, out floats) error
	laplace func(ctx context.Context, s *hal.Stream, n int, p, q floats) error
	advance func(ctx context.Context, s *hal.Stream, x, r, p, q, rr, pq floats) error
	direct  func(ctx context.Context, s *hal.Stream, p, r, now, before floats) error
}

// cg solves equations on a square by conjugate gradients. A rank has some rows, and of those each of its devices. The direction p has one more row on each
// side: the halo, which comes from the neighbours, or zeros at the border.
func cg(ctx context.Context, j *job) (err error) {
	k, n := cgC, j.n
	if j.inGo {
		k = cgGo
	}
	lo, rows := own(j)
	var x, r, p, q, sums, mine, rr, next, pq floats
	defer func() { err = errors.Join(err, hal.CloseAll(x, r, p, q, sums, mine, rr, next, pq)) }()
	for _, v := range []struct {
		to  *floats
		len int
	}{{&x, rows * n}, {&r, rows * n}, {&p, (rows + 2) * n}, {&q, rows * n}, {&sums, rows}, {&mine, 1}, {&rr, 1}, {&next, 1}, {&pq, 1}} {
		if *v.to, err = buffer.New[float32](v.len); err != nil {
			return err
		}
	}
	in, err := input[float32](j, lo*n, rows*n)
	if err != nil {
		return err
	}
	inner, err := p.Slice(n, (rows+1)*n)
	if err != nil {
		return err
	}
	// part returns the rows of device i in a vector. The end is later by more rows. A row has w elements.
	part := func(v floats, i, w, more int) floats {
		s, e := v.Slice(rows*i/len(j.streams)*w, (rows*(i+1)/len(j.streams)+more)*w)
		err = errors.Join(err, e)
		return s
	}
	// each calls fn with every device, until one fails.
	each := func(fn func(i int, s *hal.Stream) error) {
		for i, s := range j.streams {
			if err == nil {
				err = errors.Join(err, fn(i, s))
			}
		}
	}
	dot := func(a, b, out floats) {
		each(func(i int, s *hal.Stream) error {
			return k.product(ctx, s, n, part(a, i, n, 0), part(b, i, n, 0), part(sums, i, 1, 0))
		})
		to := out
		if rows < n {
			to = mine
		}
		if err == nil {
			err = k.total(ctx, j.streams[0], sums, to)
		}
		if err == nil && rows < n {
			err = comm.Allreduce(ctx, j.comm, mine, out, comm.Sum)
		}
	}
	out := make([]float32, rows*n)
	failed := j.timed(ctx, func() error {
		err = errors.Join(x.Fill(ctx, 0), r.CopyIn(ctx, in), inner.CopyIn(ctx, in))
		dot(r, r, rr)
		for range j.steps {
			if err == nil {
				err = exchange(ctx, j.comm, p, n, rows)
			}
			each(func(i int, s *hal.Stream) error { return k.laplace(ctx, s, n, part(p, i, n, 2), part(q, i, n, 0)) })
			dot(inner, q, pq)
			each(func(i int, s *hal.Stream) error {
				return k.advance(ctx, s, part(x, i, n, 0), part(r, i, n, 0), part(inner, i, n, 0), part(q, i, n, 0), rr, pq)
			})
			dot(r, r, next)
			each(func(i int, s *hal.Stream) error {
				return k.direct(ctx, s, part(inner, i, n, 0), part(r, i, n, 0), next, rr)
			})
			rr, next = next, rr
		}
		if err != nil {
			return err
		}
		return x.CopyOut(ctx, out)
	})
	return errors.Join(failed, output(j, lo*n, out))
}
