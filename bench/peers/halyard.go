package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	_ "github.com/go-halyard/halyard/backends"
	"github.com/go-halyard/halyard/bench/internal/frame"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/pool"
)

// halyard measures Halyard's cases on one device: a name, or "opencl" and a part of the platform's name.
func halyard(ctx context.Context, args []string, out io.Writer) {
	name := args[0]
	if name == "opencl" {
		name = openclDevice(ctx, strings.Join(args[1:], " "))
	}
	c := cases{ctx: ctx, dev: frame.Get(hal.Open(ctx, name)), enc: json.NewEncoder(out)}
	defer frame.Close(c.dev)
	c.stream = frame.Get(c.dev.NewStream())
	defer frame.Close(c.stream)
	l, large := line{Peer: "Halyard, discrete memory", Version: "this tree", Device: c.dev.Info().Model}, 3 // calls of the case that copies most
	if c.dev.Info().SharesHostMemory {
		l.Peer, l.Shared, large = "Halyard, unified memory", true, 100
	}
	frame.Must(c.enc.Encode(l))
	c.valid()
	c.pingPong(1, 1000)
	c.pingPong(1<<20, 50)
	c.pingPong(64<<20, large)
	c.update()
	c.alloc(4 << 10)
	c.alloc(1 << 20)
	c.sweep()
}

func openclDevice(ctx context.Context, platform string) string {
	for _, i := range frame.Get(hal.Devices(ctx)) {
		if i.Backend == "opencl" && strings.Contains(i.Driver, platform) {
			return i.Name()
		}
	}
	frame.Must(fmt.Errorf("no OpenCL device of a platform with %q in its name", platform))
	return ""
}

type cases struct {
	ctx    context.Context
	dev    *hal.Device
	stream *hal.Stream
	enc    *json.Encoder
}

// timed prints samples. A sample is the mean time of a number of calls; one call before them is not measured.
func (c *cases) timed(name string, size uint64, calls int, once func() error) {
	frame.Must(once())
	for range 5 {
		start := time.Now()
		for range calls {
			frame.Must(once())
		}
		frame.Must(c.enc.Encode(line{Case: name, Size: size, NS: float64(time.Since(start).Nanoseconds()) / float64(calls)}))
	}
}

// use makes a buffer current on the device for an access that does nothing.
func (c *cases) use(b *buffer.Buffer[uint8], mode coherence.Mode) error {
	l, err := b.Acquire(c.ctx, c.stream, mode)
	if err != nil {
		return err
	}
	return l.Release()
}

func touch(s []uint8) error { s[0]++; return nil }

func (c *cases) valid() {
	b := frame.Get(buffer.New[uint8](1 << 20))
	defer frame.Close(b)
	c.timed("acquire-valid", 1<<20, 100_000, func() error { return c.use(b, coherence.Read) })
}

func (c *cases) pingPong(size, rounds int) {
	b := frame.Get(buffer.New[uint8](size))
	defer frame.Close(b)
	look := func(s []uint8) error { return nil }
	c.timed("ping-pong", uint64(size), rounds, func() error {
		if err := b.Update(c.ctx, touch); err != nil {
			return err
		}
		if err := c.use(b, coherence.ReadWrite); err != nil {
			return err
		}
		return b.View(c.ctx, look)
	})
}

func (c *cases) update() {
	b := frame.Get(buffer.New[uint8](1 << 30))
	defer frame.Close(b)
	part := frame.Get(b.Slice(0, 1024))
	c.timed("update-1KiB", 1<<30, 1000, func() error {
		if err := part.Update(c.ctx, touch); err != nil {
			return err
		}
		if err := c.use(b, coherence.Read); err != nil {
			return err
		}
		return c.stream.Sync(c.ctx)
	})
}

func (c *cases) alloc(size uint64) {
	p := frame.Get(pool.New(c.dev))
	defer frame.Close(p)
	c.timed("alloc-free", size, 100_000, func() error {
		b, err := p.Alloc(c.stream, hal.KindDevice, size)
		if err != nil {
			return err
		}
		return b.Free(c.stream)
	})
}

// sweep reads and writes buffers of eight times the device's budget, each in turn.
func (c *cases) sweep() {
	if c.dev.Info().SharesHostMemory {
		return // it shares the host's memory, which has no budget
	}
	const budget, blocks = 32 << 20, 32
	buffer.SetBudget(c.dev, budget)
	defer buffer.SetBudget(c.dev, 0)
	var all [blocks]*buffer.Buffer[uint8]
	for i := range all {
		all[i] = frame.Get(buffer.New[uint8](8 * budget / blocks))
		defer frame.Close(all[i])
	}
	c.timed("sweep-8x", budget, 1, func() error {
		for _, b := range all {
			if err := c.use(b, coherence.ReadWrite); err != nil {
				return err
			}
		}
		return c.stream.Sync(c.ctx)
	})
}
