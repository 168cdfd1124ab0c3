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

func stream(ctx context.Context, j *job) (err error) {
	k, s := streamC, j.streams[0]
	if j.inGo {
		k = streamGo
	}
	a, e1 := buffer.From(slices.Repeat([]float64{0.1}, j.n))
	b, e2 := buffer.From(slices.Repeat([]float64{0.2}, j.n))
	c, e3 := buffer.New[float64](j.n)
	sums, e4 := buffer.New[float64](groups)
	defer func() { err = errors.Join(err, hal.CloseAll(a, b, c, sums)) }()
	if err := errors.Join(e1, e2, e3, e4); err != nil {
		return err
	}
	parts, dot := make([]float64, groups), 0.0
	all := []struct {
		name   string
		launch func() error
	}{
		{"copy", func() error { return k.copies(ctx, s, a, c) }},
		{"mul", func() error { return k.mul(ctx, s, b, c) }},
		{"add", func() error { return k.add(ctx, s, a, b, c) }},
		{"triad", func() error { return k.triad(ctx, s, a, b, c) }},
		{"nstream", func() error { return k.nstream(ctx, s, a, b, c) }},
	}
	for step := range j.steps {
		for _, l := range all {
			start := time.Now()
			if err := errors.Join(l.launch(), s.Sync(ctx)); err != nil {
				return err
			}
			if step > 0 {
				sample(l.name, start)
			}
		}
		start := time.Now()
		if err := errors.Join(k.in(ctx, s, a, b, sums), sums.CopyOut(ctx, parts)); err != nil {
			return err
		}
		dot = 0
		for _, v := range parts {
			dot += v
		}
		if step > 0 {
			sample("dot", start)
		}
	}
	host := make([]float64, j.n)
	for i, v := range []doubles{a, b, c} {
		if err := errors.Join(v.CopyOut(ctx, host), output(j, i*j.n, host)); err != nil {
			return err
		}
	}
	return output(j, 3*j.n, []float64{dot})
}
