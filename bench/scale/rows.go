package main

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/go-halyard/halyard/bench/internal/frame"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/buffer/array"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
)

// A row has rowLength elements. Those from rowLo up to rowHi are used.
const rowLength, rowLo, rowHi = 64, 8, 16

// held is how long the gate stays shut while the host waits: long enough for the waiting goroutine to be asleep.
const held = 20 * time.Millisecond

// window is some rows of a buffer.
type window struct {
	acquire func(ctx context.Context, s *hal.Stream) (buffer.Lease, error)
	view    func(ctx context.Context) error // views the rows, and compares them
}

func ranges(p *point) window {
	b := p.buffer(p.n * rowLength)
	list := make([]buffer.Range, p.n)
	for i := range list {
		list[i] = buffer.Range{Lo: i*rowLength + rowLo, Hi: i*rowLength + rowHi}
	}
	return window{
		func(ctx context.Context, s *hal.Stream) (buffer.Lease, error) {
			return b.AcquireRanges(ctx, s, coherence.ReadWrite, list)
		},
		func(ctx context.Context) error {
			return b.AccessRanges(ctx, coherence.Read, list, func(got []uint32) error {
				return each(p.n, func(i int) error { return expect(got[i*rowLength:][:rowHi-rowLo], written) })()
			})
		},
	}
}

func strided(p *point) window {
	a := frame.Get(array.From(slices.Repeat([]uint32{1}, p.n*rowLength), p.n, rowLength))
	p.later(a.Close)
	w := frame.Get(a.Slice(array.Between(0, p.n), array.Between(rowLo, rowHi)))
	return window{
		func(ctx context.Context, s *hal.Stream) (buffer.Lease, error) {
			return w.AcquireStrided(ctx, s, coherence.ReadWrite)
		},
		func(ctx context.Context) error {
			return w.View(ctx, func(g array.Accessor[uint32]) error {
				return each(p.n, func(i int) error {
					row, err := g.Row(i)
					if err != nil {
						return err
					}
					return expect(row, written)
				})()
			})
		},
	}
}

// rows acquires a window on the device, writes to it, and views it on the host.
func rows(of func(*point) window, busy bool) func(*point) {
	return func(p *point) {
		w := of(p)
		open := func() error { return nil }
		if busy {
			open = frame.Get(p.stream.Gate()).Signal
		}
		var l buffer.Lease
		p.time("acquire, per row", p.n, func() (err error) {
			l, err = w.acquire(p.ctx, p.stream)
			return err
		})
		all := l.Region()
		for i := range p.n {
			frame.Must(p.stream.Fill(frame.Get(all.Sub(uint64(i)*rowLength*4, (rowHi-rowLo)*4)), hal.Pattern32(written)))
		}
		frame.Must(l.Release())
		if !busy {
			frame.Must(p.stream.Sync(p.ctx))
			p.time("view, per row", p.n, func() error { return w.view(p.ctx) })
			return
		}
		var opened time.Time
		signal := make(chan error, 1)
		time.AfterFunc(held, func() { opened = time.Now(); signal <- open() })
		err := w.view(p.ctx)
		end := time.Now()
		frame.Must(errors.Join(err, <-signal))
		p.took("view, per row", end.Sub(opened), p.n)
	}
}
