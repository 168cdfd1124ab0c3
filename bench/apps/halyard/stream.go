package main

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/hal"
)

const groups, group = 64, 64

type (
	doubles = *buffer.Buffer[float64]
	// streamKernels are BabelStream's kernels.
	streamKernels struct {
		copies, mul             func(ctx context.Context, s *hal.Stream, x, y doubles) error
		add, triad, nstream, in func(ctx context.Context, s *hal.Stream, a, b, c doubles) error
	}
)

// streamPart is the part of the arrays that a device has, and where it writes the sums of dot.
type streamPart struct {
	s             *hal.Stream
	a, b, c, sums doubles
}

func stream(ctx context.Context, j *job) (err error) {
	k := streamC
	a, e1 := buffer.From(slices.Repeat([]float64{0.1}, j.n))
	b, e2 := buffer.From(slices.Repeat([]float64{0.2}, j.n))
	c, e3 := buffer.New[float64](j.n)
	sums, e4 := buffer.New[float64](groups * len(j.streams))
	defer func() { err = errors.Join(err, hal.CloseAll(a, b, c, sums)) }()
	if err := errors.Join(e1, e2, e3, e4); err != nil {
		return err
	}
	var parts []streamPart
	for i, s := range j.streams {
		lo, hi := j.n*i/len(j.streams), j.n*(i+1)/len(j.streams)
		p := streamPart{s: s}
		p.a, e1 = a.Slice(lo, hi)
		p.b, e2 = b.Slice(lo, hi)
		p.c, e3 = c.Slice(lo, hi)
		p.sums, e4 = sums.Slice(i*groups, (i+1)*groups)
		if err := errors.Join(e1, e2, e3, e4); err != nil {
			return err
		}
		parts = append(parts, p)
	}
	host, dot := make([]float64, sums.Len()), 0.0
	all := []struct {
		name   string
		launch func(streamPart) error
	}{
		{"copy", func(p streamPart) error { return k.copies(ctx, p.s, p.a, p.c) }},
		{"mul", func(p streamPart) error { return k.mul(ctx, p.s, p.b, p.c) }},
		{"add", func(p streamPart) error { return k.add(ctx, p.s, p.a, p.b, p.c) }},
		{"triad", func(p streamPart) error { return k.triad(ctx, p.s, p.a, p.b, p.c) }},
		{"nstream", func(p streamPart) error { return k.nstream(ctx, p.s, p.a, p.b, p.c) }},
	}
	for step := range j.steps {
		for _, l := range all {
			start := time.Now()
			for _, p := range parts {
				err = errors.Join(err, l.launch(p))
			}
			for _, s := range j.streams {
				err = errors.Join(err, s.Sync(ctx))
			}
			if err != nil {
				return err
			}
			if step > 0 {
				sample(l.name, start)
			}
		}
		start := time.Now()
		for _, p := range parts {
			err = errors.Join(err, k.in(ctx, p.s, p.a, p.b, p.sums))
		}
		if err := errors.Join(err, sums.CopyOut(ctx, host)); err != nil {
			return err
		}
		dot = 0
		for _, v := range host {
			dot += v
		}
		if step > 0 {
			sample("dot", start)
		}
	}
	host = make([]float64, j.n)
	for i, v := range []doubles{a, b, c} {
		if err := errors.Join(v.CopyOut(ctx, host), output(j, i*j.n, host)); err != nil {
			return err
		}
	}
	return output(j, 3*j.n, []float64{dot})
}
