package main

import (
	"context"
	"errors"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/hal"
)

// mandelbrot computes a picture. Each device has some of its rows.
func mandelbrot(ctx context.Context, j *job) (err error) {
	out, err := buffer.New[uint16](j.n * j.n)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	host := make([]uint16, out.Len())
	err = j.timed(ctx, func() error {
		for i, s := range j.streams {
			lo, hi := j.n*i/len(j.streams), j.n*(i+1)/len(j.streams)
			rows, err := out.Slice(lo*j.n, hi*j.n)
			if err != nil {
				return err
			}
			if err := mandelbrotC(ctx, s, hal.Over(j.n, hi-lo), int32(j.n), int32(hi-lo), int32(lo), int32(j.steps), rows); err != nil {
				return err
			}
		}
		return out.CopyOut(ctx, host)
	})
	return errors.Join(err, output(j, 0, host))
}
