package main

import (
	"context"
	"errors"
	"time"

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

func (p *point) ones() []uint32 {
	data := make([]uint32, p.n*rowLength)
	for i := range data {
		data[i] = 1
	}
	return data
}

func ranges(p *point) (window, error) {
	b, err := buffer.From(p.ones())
	if err != nil {
		return window{}, err
	}
	p.later(b.Close)
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
				for i := range p.n {
					if err := expect(got[i*rowLength:][:rowHi-rowLo], written); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}, nil
}

func strided(p *point) (window, error) {
	a, err := array.From(p.ones(), p.n, rowLength)
	if err != nil {
		return window{}, err
	}
	p.later(a.Close)
	w, err := a.Slice(array.Between(0, p.n), array.Between(rowLo, rowHi))
	if err != nil {
		return window{}, err
	}
	return window{
		func(ctx context.Context, s *hal.Stream) (buffer.Lease, error) {
			return w.AcquireStrided(ctx, s, coherence.ReadWrite)
		},
		func(ctx context.Context) error {
			return w.View(ctx, func(g array.Accessor[uint32]) error {
				for i := range p.n {
					row, err := g.Row(i)
					if err == nil {
						err = expect(row, written)
					}
					if err != nil {
						return err
					}
				}
				return nil
			})
		},
	}, nil
}

// rows acquires a window on the device, writes to it, and views it on the host.
func rows(of func(*point) (window, error), busy bool) func(*point) error {
	return func(p *point) error {
		w, err := of(p)
		if err != nil {
			return err
		}
		open := func() error { return nil }
		if busy {
			gate, err := p.stream.Gate()
			if err != nil {
				return err
			}
			open = gate.Signal
		}
		var l buffer.Lease
		err = p.time("acquire, per row", p.n, func() (err error) {
			l, err = w.acquire(p.ctx, p.stream)
			return err
		})
		if err != nil {
			return err
		}
		all := l.Region()
		err = each(p.n, func(i int) error {
			row, err := all.Sub(uint64(i)*rowLength*4, (rowHi-rowLo)*4)
			if err != nil {
				return err
			}
			return p.stream.Fill(row, hal.Pattern32(written))
		})()
		if err != nil {
			return err
		}
		if err := l.Release(); err != nil {
			return err
		}
		if !busy {
			if err := p.stream.Sync(p.ctx); err != nil {
				return err
			}
			return p.time("view, per row", p.n, func() error { return w.view(p.ctx) })
		}
		type opened struct {
			at  time.Time
			err error
		}
		gate := make(chan opened, 1)
		time.AfterFunc(held, func() { gate <- opened{time.Now(), open()} })
		err = w.view(p.ctx)
		end := time.Now()
		o := <-gate
		p.took("view, per row", end.Sub(o.at), p.n)
		return errors.Join(err, o.err)
	}
}
