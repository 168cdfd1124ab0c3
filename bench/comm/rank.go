package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/go-halyard/halyard/bench/internal/frame"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/comm"
	"github.com/go-halyard/halyard/comm/part"
	"github.com/go-halyard/halyard/hal"
)

// These sizes are those of program/comm.c.
const (
	edge  = 8
	inner = 1000
	long  = 1 << 20
	least = 50 // batches of a case, however long they take
)

// rank measures on one of two ranks, and prints the samples on rank 0.
type rank struct {
	ctx   context.Context
	c     *comm.Comm
	me    int
	limit time.Duration // for each case
}

func measure(ctx context.Context, e comm.Engine, limit time.Duration) {
	c := comm.New(e)
	if c.Size() != 2 {
		frame.Must(fmt.Errorf("%d ranks in place of 2", c.Size()))
	}
	r := &rank{ctx, c, c.Rank(), limit}
	ordinary := func(n int) (*buffer.Buffer[float64], error) { return buffer.New[float64](n) }
	own := func(n int) (*buffer.Buffer[float64], error) { return comm.NewBuffer[float64](c, n) }
	r.slices("slices, 8 bytes", 8, 20)
	r.buffers("buffers, 8 bytes", 8, 20, ordinary)
	r.buffers("own, 8 bytes", 8, 20, own)
	r.slices("slices, 1 MiB", long, 2)
	r.buffers("buffers, 1 MiB", long, 2, ordinary)
	r.buffers("own, 1 MiB", long, 2, own)
	r.onDevice(r.halos)
	r.onDevice(r.parts)
	r.waits()
	frame.Must(c.Close())
}

// repeat runs batches until the time is over. After each, rank 0 decides whether there is another. once gets the number of the step.
func (r *rank) repeat(name string, batch int, divisor float64, once func(step int) error) {
	begin := time.Now()
	step := 0
	for more := []int32{1}; more[0] != 0; {
		frame.Must(r.c.Barrier(r.ctx))
		var before, after runtime.MemStats
		if r.me == 0 {
			runtime.ReadMemStats(&before)
		}
		from := time.Now()
		for range batch {
			step++
			if err := once(step); err != nil {
				frame.Must(fmt.Errorf("%s: %w", name, err))
			}
		}
		took := time.Since(from)
		if r.me == 0 && step > batch { // the first batch warms up
			runtime.ReadMemStats(&after)
			fmt.Printf("%s\t%.1f\n", name, float64(took)/(float64(batch)*divisor))
			fmt.Printf("%s, allocations\t%.3f\n", name, float64(after.Mallocs-before.Mallocs)/float64(batch))
		}
		more[0] = 0
		if time.Since(begin) < r.limit || step < least*batch {
			more[0] = 1
		}
		frame.Must(comm.BcastSlice(r.ctx, r.c, more, 0))
	}
}

// slices sends Go slices to and fro.
func (r *rank) slices(name string, bytes, batch int) {
	data := make([]float64, bytes/8)
	r.repeat(name, batch, 2, func(step int) error {
		if r.me == 0 {
			data[0] = float64(step)
			if err := comm.SendSlice(r.ctx, r.c, data, 1, 1); err != nil {
				return err
			}
			data[0] = -1
		}
		if _, err := comm.RecvSlice(r.ctx, r.c, data, 1-r.me, 1+1-r.me); err != nil {
			return err
		}
		if data[0] != float64(step) {
			return fmt.Errorf("%g came back in step %d", data[0], step)
		}
		if r.me == 1 {
			return comm.SendSlice(r.ctx, r.c, data, 0, 2)
		}
		return nil
	})
}

// buffers sends buffers, whose elements are on the host, to and fro.
func (r *rank) buffers(name string, bytes, batch int, get func(n int) (*buffer.Buffer[float64], error)) {
	b := frame.Get(get(bytes / 8))
	defer frame.Close(b)
	set := func(v float64) error {
		return b.Update(r.ctx, func(s []float64) error { s[0] = v; return nil })
	}
	r.repeat(name, batch, 2, func(step int) error {
		if r.me == 0 {
			if err := set(float64(step)); err != nil {
				return err
			}
			if err := comm.Send(r.ctx, r.c, b, 1, 1); err != nil {
				return err
			}
			_, err := comm.Recv(r.ctx, r.c, b, 1, 2)
			return err
		}
		if _, err := comm.Recv(r.ctx, r.c, b, 0, 1); err != nil {
			return err
		}
		return comm.Send(r.ctx, r.c, b, 0, 2)
	})
	frame.Must(b.View(r.ctx, func(s []float64) error {
		if s[0] < 1 {
			return fmt.Errorf("%s: the last message has %g", name, s[0])
		}
		return nil
	}))
}

// onDevice calls fn with a stream of a device whose memory the host reaches by copies.
func (r *rank) onDevice(fn func(s *hal.Stream)) {
	d := frame.Get(hal.Open(r.ctx, "host:1"))
	defer frame.Close(d)
	s := frame.Get(d.NewStream())
	defer frame.Close(s)
	fn(s)
}

// touch makes the elements on the device the newest, as a kernel that writes them does.
func touch(ctx context.Context, s *hal.Stream, v uint32, list ...*buffer.Buffer[float64]) error {
	for _, b := range list {
		l, err := b.Acquire(ctx, s, coherence.Overwrite)
		if err != nil {
			return err
		}
		if err := errors.Join(s.Fill(l.Region(), hal.Pattern32(v)), l.Release()); err != nil {
			return err
		}
	}
	return nil
}

// halos exchanges slices of a buffer that a device has written.
func (r *rank) halos(s *hal.Stream) {
	u := frame.Get(buffer.New[float64](inner + 2*edge))
	defer frame.Close(u)
	var cut [4]*buffer.Buffer[float64]
	for i, at := range []int{0, edge, inner, inner + edge} {
		cut[i] = frame.Get(u.Slice(at, at+edge))
	}
	below, first, last, above := cut[0], cut[1], cut[2], cut[3]
	other := 1 - r.me
	r.repeat("halos", 10, 1, func(step int) error {
		if err := touch(r.ctx, s, uint32(step), first, last); err != nil {
			return err
		}
		q1, e1 := comm.Irecv(r.ctx, r.c, below, other, 1)
		q2, e2 := comm.Irecv(r.ctx, r.c, above, other, 2)
		q3, e3 := comm.Isend(r.ctx, r.c, last, other, 1)
		q4, e4 := comm.Isend(r.ctx, r.c, first, other, 2)
		if err := errors.Join(e1, e2, e3, e4); err != nil {
			return err
		}
		for _, x := range [...]*comm.Request{q1, q2, q3, q4} {
			if _, err := x.Wait(r.ctx); err != nil {
				return err
			}
		}
		return nil
	})
}

// parts exchanges the ghosts of a buffer that is divided among the ranks.
func (r *rank) parts(s *hal.Stream) {
	u := frame.Get(part.New[float64](r.ctx, r.c, part.Block(2*inner), part.Halo{Lo: []int{edge}, Hi: []int{edge}, Periodic: []bool{true}}))
	defer frame.Close(u)
	first, last := frame.Get(u.Owned().Slice(0, edge)), frame.Get(u.Owned().Slice(inner-edge, inner))
	r.repeat("part, written", 10, 1, func(step int) error {
		if err := touch(r.ctx, s, uint32(step), first, last); err != nil {
			return err
		}
		m, err := u.Exchange(r.ctx)
		if err == nil && m.Bytes != 2*edge*8 {
			return fmt.Errorf("%d bytes moved", m.Bytes)
		}
		return err
	})
	r.repeat("part, clean", 10, 1, func(int) error {
		m, err := u.Exchange(r.ctx)
		if err == nil && m.Bytes != 0 {
			return fmt.Errorf("%d bytes moved", m.Bytes)
		}
		return err
	})
}

// waits measures which share of a processor a waiting rank takes after the first millisecond.
func (r *rank) waits() {
	frame.Must(r.c.Barrier(r.ctx))
	share := []float64{0}
	if r.me == 0 {
		time.Sleep(200 * time.Millisecond)
		frame.Must(comm.SendSlice(r.ctx, r.c, share, 1, 1))
		frame.Get(comm.RecvSlice(r.ctx, r.c, share, 1, 2))
		fmt.Printf("waiting\t%.6f\n", share[0])
		return
	}
	from, used := time.Now(), processor()
	frame.Get(comm.RecvSlice(r.ctx, r.c, share, 0, 1))
	share[0] = max(0, float64(processor()-used-time.Millisecond)/float64(time.Since(from)-time.Millisecond))
	frame.Must(comm.SendSlice(r.ctx, r.c, share, 0, 2))
}
