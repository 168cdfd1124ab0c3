package main

import (
	"context"
	"errors"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/hal"
)

type floats = *buffer.Buffer[float32]

// nbody moves bodies. Each device moves some of them, and reads all.
func nbody(ctx context.Context, j *job) (err error) {
	bodies, e1 := input[float32](j, 0, 4*j.n)
	now, e2 := buffer.New[float32](4 * j.n)
	next, e3 := buffer.New[float32](4 * j.n)
	v, e4 := buffer.New[float32](3 * j.n)
	defer func() { err = errors.Join(err, hal.CloseAll(now, next, v)) }()
	if err := errors.Join(e1, e2, e3, e4); err != nil {
		return err
	}
	still, moved := make([]float32, v.Len()), make([]float32, now.Len())
	err = j.timed(ctx, func() error {
		if err := errors.Join(now.CopyIn(ctx, bodies), v.CopyIn(ctx, still)); err != nil {
			return err
		}
		for range j.steps {
			for i, s := range j.streams {
				lo, hi := j.n*i/len(j.streams), j.n*(i+1)/len(j.streams)
				speeds, e1 := v.Slice(3*lo, 3*hi)
				places, e2 := next.Slice(4*lo, 4*hi)
				if err := errors.Join(e1, e2); err != nil {
					return err
				}
				if err := stepC(ctx, s, hal.Over(hi-lo).Of(group), 0.01, int32(lo), now, speeds, places); err != nil {
					return err
				}
			}
			now, next = next, now
		}
		return now.CopyOut(ctx, moved)
	})
	return errors.Join(err, output(j, 0, moved))
}
