package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	_ "github.com/go-halyard/halyard/backends"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/pool"
)

// halyard measures Halyard's cases on one device: a name, or "opencl" and a part of the platform's name.
func halyard(ctx context.Context, args []string, out io.Writer) error {
	if len(args) == 0 {
		return fmt.Errorf("no device")
	}
	name := args[0]
	if name == "opencl" {
		var err error
		if name, err = openclDevice(ctx, strings.Join(args[1:], " ")); err != nil {
			return err
		}
	}
	dev, err := hal.Open(ctx, name)
	if err != nil {
		return err
	}
	defer dev.Close()
	stream, err := dev.NewStream()
	if err != nil {
		return err
	}
	defer stream.Close()
	m := meter{enc: json.NewEncoder(out)}
	l := line{Peer: "Halyard, discrete memory", Version: "this tree", Device: dev.Info().Model}
	if dev.Info().SharesHostMemory {
		l.Peer, l.Shared = "Halyard, unified memory", true
	}
	if err := m.enc.Encode(l); err != nil {
		return err
	}
	large := 3 // calls of the case that copies most
	if l.Shared {
		large = 100
	}
	c := cases{ctx: ctx, dev: dev, stream: stream, meter: &m}
	for _, do := range []func() error{c.valid, c.pingPong(1, 1000), c.pingPong(1<<20, 50), c.pingPong(64<<20, large), c.update,
		c.alloc(4 << 10), c.alloc(1 << 20), c.sweep} {
		if err := do(); err != nil {
			return err
		}
	}
	return nil
}

func openclDevice(ctx context.Context, platform string) (string, error) {
	infos, err := hal.Devices(ctx)
	if err != nil {
		return "", err
	}
	for _, i := range infos {
		if i.Backend == "opencl" && strings.Contains(i.Driver, platform) {
			return i.Name(), nil
		}
	}
	return "", fmt.Errorf("no OpenCL device of a platform with %q in its name", platform)
}

// meter prints samples. A sample is the mean time of a number of calls; one call before them is not measured.
type meter struct{ enc *json.Encoder }

func (m *meter) timed(name string, size uint64, calls int, once func() error) error {
	if err := once(); err != nil {
		return err
	}
	for range 5 {
		start := time.Now()
		for range calls {
			if err := once(); err != nil {
				return err
			}
		}
		ns := float64(time.Since(start).Nanoseconds()) / float64(calls)
		if err := m.enc.Encode(line{Case: name, Size: size, NS: ns}); err != nil {
			return err
		}
	}
	return nil
}

type cases struct {
	ctx    context.Context
	dev    *hal.Device
	stream *hal.Stream
	meter  *meter
}

// use makes a buffer current on the device for an access that does nothing.
func (c *cases) use(b *buffer.Buffer[uint8], mode coherence.Mode) error {
	l, err := b.Acquire(c.ctx, c.stream, mode)
	if err != nil {
		return err
	}
	return l.Release()
}

func (c *cases) valid() (err error) {
	b, err := buffer.New[uint8](1 << 20)
	if err != nil {
		return err
	}
	defer closing(b, &err)
	return c.meter.timed("acquire-valid", 1<<20, 100_000, func() error { return c.use(b, coherence.Read) })
}

func (c *cases) pingPong(size, rounds int) func() error {
	return func() (err error) {
		b, err := buffer.New[uint8](size)
		if err != nil {
			return err
		}
		defer closing(b, &err)
		touch := func(s []uint8) error { s[0]++; return nil }
		look := func(s []uint8) error { return nil }
		return c.meter.timed("ping-pong", uint64(size), rounds, func() error {
			if err := b.Update(c.ctx, touch); err != nil {
				return err
			}
			if err := c.use(b, coherence.ReadWrite); err != nil {
				return err
			}
			return b.View(c.ctx, look)
		})
	}
}

func (c *cases) update() (err error) {
	b, err := buffer.New[uint8](1 << 30)
	if err != nil {
		return err
	}
	defer closing(b, &err)
	part, err := b.Slice(0, 1024)
	if err != nil {
		return err
	}
	touch := func(s []uint8) error { s[0]++; return nil }
	return c.meter.timed("update-1KiB", 1<<30, 1000, func() error {
		if err := part.Update(c.ctx, touch); err != nil {
			return err
		}
		if err := c.use(b, coherence.Read); err != nil {
			return err
		}
		return c.stream.Sync(c.ctx)
	})
}

func (c *cases) alloc(size uint64) func() error {
	return func() (err error) {
		p, err := pool.New(c.dev)
		if err != nil {
			return err
		}
		defer closing(p, &err)
		return c.meter.timed("alloc-free", size, 100_000, func() error {
			b, err := p.Alloc(c.stream, hal.KindDevice, size)
			if err != nil {
				return err
			}
			return b.Free(c.stream)
		})
	}
}

// sweep reads and writes buffers of eight times the device's budget, each in turn.
func (c *cases) sweep() (err error) {
	if c.dev.Info().SharesHostMemory {
		return nil // it shares the host's memory, which has no budget
	}
	const budget, blocks = 32 << 20, 32
	buffer.SetBudget(c.dev, budget)
	defer buffer.SetBudget(c.dev, 0)
	var all [blocks]*buffer.Buffer[uint8]
	for i := range all {
		if all[i], err = buffer.New[uint8](8 * budget / blocks); err != nil {
			return err
		}
		defer closing(all[i], &err)
	}
	return c.meter.timed("sweep-8x", budget, 1, func() error {
		for _, b := range all {
			if err := c.use(b, coherence.ReadWrite); err != nil {
				return err
			}
		}
		return c.stream.Sync(c.ctx)
	})
}

func closing(c io.Closer, err *error) {
	if e := c.Close(); *err == nil {
		*err = e
	}
}
