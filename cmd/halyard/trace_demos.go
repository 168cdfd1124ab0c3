package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
)

// demo is a small workload. Where a program would launch kernels, it fills and copies.
type demo struct {
	name    string
	what    string // in one line
	devices int    // the most devices that it uses
	run     func(context.Context, []*hal.Device) error
}

var demos = []demo{
	{"pingpong", "one buffer that the host changes, a device changes, and then both read; four times", 1, pingpong},
	{"sweep", "six buffers of 1 MiB, read and then written in turn, with a budget for three", 1, sweep},
	{"ranges", "one buffer: each device writes its part and reads the edges of the parts beside it", 4, ranges},
	{"double", "eight pieces of work through two buffers: the host fills one while the device works on the other", 1, double},
}

func demoNames() []string {
	names := make([]string, len(demos))
	for i, d := range demos {
		names[i] = d.name
	}
	return names
}

func demoList() string {
	var b strings.Builder
	for _, d := range demos {
		fmt.Fprintf(&b, "  %-10s%s\n", d.name, d.what)
	}
	return b.String()
}

const mebi = 1 << 20

// stage holds the buffers and streams of a demonstration. After the first error its methods do nothing.
type stage struct {
	ctx     context.Context
	err     error
	buffers []*buffer.Buffer[uint32]
	streams []*hal.Stream
}

func (s *stage) buffer(bytes int) *buffer.Buffer[uint32] {
	if s.err != nil {
		return nil
	}
	b, err := buffer.New[uint32](bytes / 4)
	if err != nil {
		s.err = err
		return nil
	}
	s.buffers = append(s.buffers, b)
	return b
}

func (s *stage) stream(d *hal.Device) *hal.Stream {
	if s.err != nil {
		return nil
	}
	st, err := d.NewStream()
	if err != nil {
		s.err = err
		return nil
	}
	s.streams = append(s.streams, st)
	return st
}

// host runs fn on the elements, in an access of the given mode.
func (s *stage) host(b *buffer.Buffer[uint32], a coherence.Mode, fn func([]uint32) error) {
	if s.err != nil {
		return
	}
	switch a {
	case coherence.Read:
		s.err = b.View(s.ctx, fn)
	case coherence.ReadWrite:
		s.err = b.Update(s.ctx, fn)
	default:
		s.err = b.Overwrite(s.ctx, fn)
	}
}

// device acquires b and enqueues fills that set the first elements to a value, as many times as given.
func (s *stage) device(b *buffer.Buffer[uint32], st *hal.Stream, a coherence.Mode, first int, value uint32, times int) {
	if s.err != nil {
		return
	}
	l, err := b.Acquire(s.ctx, st, a)
	if err != nil {
		s.err = err
		return
	}
	r := l.Region()
	r.Len = uint64(first) * 4
	for range times {
		if err := st.Fill(r, hal.Pattern32(value)); err != nil {
			s.err = err
			break
		}
	}
	s.err = errors.Join(s.err, l.Release())
}

// slice returns the elements [i, j).
func (s *stage) slice(b *buffer.Buffer[uint32], i, j int) *buffer.Buffer[uint32] {
	if s.err != nil {
		return nil
	}
	x, err := b.Slice(i, j)
	if err != nil {
		s.err = err
	}
	return x
}

// expect checks on the host that elements have the values that they must have.
func (s *stage) expect(b *buffer.Buffer[uint32], want func(i int) uint32) {
	s.host(b, coherence.Read, func(v []uint32) error {
		for i := range v {
			if v[i] != want(i) {
				return fmt.Errorf("element %d is %d instead of %d", i, v[i], want(i))
			}
		}
		return nil
	})
}

// close closes everything and returns the first error.
func (s *stage) close() error {
	for _, b := range s.buffers {
		if err := b.Close(); s.err == nil {
			s.err = err
		}
	}
	for _, st := range s.streams {
		if err := st.Close(); s.err == nil {
			s.err = err
		}
	}
	return s.err
}

func pingpong(ctx context.Context, devs []*hal.Device) error {
	s := &stage{ctx: ctx}
	x, st := s.buffer(mebi), s.stream(devs[0])
	const rounds = 4
	half := mebi / 4 / 2
	for i := range rounds {
		s.host(x, coherence.ReadWrite, func(v []uint32) error {
			for j := range v {
				v[j]++
			}
			return nil
		})
		s.device(x, st, coherence.ReadWrite, half, uint32(100*(i+1)), 2)
		s.device(x, st, coherence.Read, 0, 0, 0)
		s.expect(x, func(j int) uint32 {
			if j < half {
				return uint32(100 * (i + 1))
			}
			return uint32(i + 1)
		})
	}
	return s.close()
}

func sweep(ctx context.Context, devs []*hal.Device) error {
	dev := devs[0]
	before := buffer.ResidencyOf(dev).Budget
	buffer.SetBudget(dev, 3*mebi)
	defer buffer.SetBudget(dev, before)
	s := &stage{ctx: ctx}
	st := s.stream(dev)
	const n = 6
	for i := range n {
		s.host(s.buffer(mebi), coherence.Overwrite, func(v []uint32) error {
			for j := range v {
				v[j] = uint32(i)
			}
			return nil
		})
	}
	quarter := mebi / 4 / 4
	for _, a := range []coherence.Mode{coherence.Read, coherence.ReadWrite} {
		for i := range s.buffers {
			if a == coherence.Read {
				s.device(s.buffers[i], st, a, 0, 0, 0)
			} else {
				s.device(s.buffers[i], st, a, quarter, uint32(100+i), 4)
			}
		}
	}
	for i, x := range s.buffers {
		s.expect(x, func(j int) uint32 {
			if j < quarter {
				return uint32(100 + i)
			}
			return uint32(i)
		})
	}
	return s.close()
}

func ranges(ctx context.Context, devs []*hal.Device) error {
	s := &stage{ctx: ctx}
	n := max(2, len(devs))
	const part, edge = mebi / 4, 64 << 10 / 4
	x := s.buffer(n * mebi)
	s.host(x, coherence.Overwrite, func(v []uint32) error { clear(v); return nil })
	var streams []*hal.Stream
	for i := range n {
		streams = append(streams, s.stream(devs[i%len(devs)]))
	}
	const rounds = 3
	for round := range rounds {
		for i, st := range streams {
			own := s.slice(x, i*part, (i+1)*part)
			s.device(own, st, coherence.ReadWrite, part, uint32(10*round+i), 2)
		}
		for i, st := range streams {
			if i > 0 {
				s.device(s.slice(x, i*part-edge, i*part), st, coherence.Read, 0, 0, 0)
			}
			if i < n-1 {
				s.device(s.slice(x, (i+1)*part, (i+1)*part+edge), st, coherence.Read, 0, 0, 0)
			}
		}
	}
	s.expect(x, func(j int) uint32 { return uint32(10*(rounds-1) + j/part) })
	return s.close()
}

func double(ctx context.Context, devs []*hal.Device) error {
	s := &stage{ctx: ctx}
	const pieces, size = 8, mebi
	half := size / 4 / 2
	var xs [2]*buffer.Buffer[uint32]
	var streams [2]*hal.Stream
	for i := range xs {
		xs[i], streams[i] = s.buffer(size), s.stream(devs[0])
	}
	check := func(k int) {
		s.expect(xs[k%2], func(j int) uint32 {
			if j < half {
				return uint32(1000 + k)
			}
			return uint32(k)
		})
	}
	for k := range pieces {
		if k >= 2 {
			check(k - 2)
		}
		s.host(xs[k%2], coherence.Overwrite, func(v []uint32) error {
			for j := range v {
				v[j] = uint32(k)
			}
			return nil
		})
		s.device(xs[k%2], streams[k%2], coherence.ReadWrite, half, uint32(1000+k), 8)
	}
	check(pieces - 2)
	check(pieces - 1)
	return s.close()
}
