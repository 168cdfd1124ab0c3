package main

import (
	"errors"
	"fmt"

	"github.com/go-halyard/halyard/bench/internal/peer"
	"github.com/go-halyard/halyard/bench/internal/timing"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/kernel"
)

// launchText is the source of two kernels that do almost no work. The simulated drivers have both built in (src/kernels.c of simgpu).
const launchText = `
KERNEL void six(GLOBAL u32 *y, u32 a, u32 b, u32 c, u32 d, u32 n) {
	if (INDEX(0) < n) y[INDEX(0)] = a + b + c + d;
}
KERNEL void five(GLOBAL u32 *y, const GLOBAL u32 *a, const GLOBAL u32 *b, const GLOBAL u32 *c, const GLOBAL u32 *d) {
	if (INDEX(0) == 0) y[0] = a[0] + b[0] + c[0] + d[0];
}`

var launchGo = kernel.Functions{
	"six": kernel.Go(func(b *kernel.Block) {
		kernel.Slice[uint32](b, 0)[0] = kernel.Number[uint32](b, 1) + kernel.Number[uint32](b, 2) + kernel.Number[uint32](b, 3) + kernel.Number[uint32](b, 4)
	}),
	"five": kernel.Go(func(b *kernel.Block) {
		sum := uint32(0)
		for i := 1; i < 5; i++ {
			sum += kernel.Slice[uint32](b, i)[0]
		}
		kernel.Slice[uint32](b, 0)[0] = sum
	}),
}

// launchKernel prepares a kernel on the site, and the same kernel with the arguments on the site's peer.
func (s *site) launchKernel(c *closers, name string, args []peer.Argument, fn func()) (*kernel.Kernel, *peer.Kernel, error) {
	p := kernel.New(kernel.Source{Name: "bench", Portable: launchText, Go: launchGo})
	c.add(p.Close)
	if err := p.Load(background, s.dev); err != nil {
		if errors.Is(err, hal.ErrUnavailable) { // no compiler is installed
			err = fmt.Errorf("%w: %w", hal.ErrUnsupported, err)
		}
		return nil, nil, err
	}
	k := p.Kernel(name)
	if s.raw == nil {
		return k, nil, nil
	}
	text := kernel.Prelude(s.info.Compute.Language) + launchText
	code := []byte(text)
	if s.info.Backend == "cuda" || s.info.Backend == "hip" {
		img, err := s.dev.Compile(hal.Source{Name: "bench", Text: text})
		if err != nil {
			return nil, nil, err
		}
		code = img.Data
	}
	raw, err := s.raw.Load(code, name, args, fn)
	if err != nil {
		return nil, nil, err
	}
	c.add(raw.Close)
	return k, raw, nil
}

// launches returns the fixture that measures a launch, as one of crowd with one wait. result returns what the launches of a side have
// written, which must be want.
func (s *site) launches(ours func() error, raw *peer.Kernel, want uint32, result func() (uint32, error)) *fixture {
	f := &fixture{at: func(uint64) (timing.Side, timing.Side) {
		beside := timing.Side{}
		if raw != nil {
			beside = s.beside(func(p peer.Peer) func() error { return rawSynced(p, repeated(raw.Launch)) })
			beside.Per = crowd
		}
		return timing.Side{Per: crowd, Op: synced(s.stream, repeated(ours))}, beside
	}}
	if raw != nil {
		f.calls = raw.Calls
	}
	f.prove = func(_ uint64, op func() error) error {
		if err := op(); err != nil {
			return err
		}
		got, err := result()
		if err == nil && got != want {
			err = fmt.Errorf("the kernel wrote %d, not %d", got, want)
		}
		return err
	}
	return f
}

func openLaunch(s, _ *site, _ uint64) (*fixture, error) {
	return open(func(c *closers) (*fixture, error) {
		m, err := s.memory(c, "device", 64)
		if err != nil {
			return nil, err
		}
		word := func(v uint64) peer.Argument { return peer.Argument{Bits: v} }
		var y uint32
		k, raw, err := s.launchKernel(c, "six", []peer.Argument{{Bits: uint64(m.Handle()), Memory: true}, word(1), word(20), word(300), word(4000), word(1)},
			func() { y = 1 + 20 + 300 + 4000 })
		if err != nil {
			return nil, err
		}
		hk, err := k.Of(background, s.dev)
		if err != nil {
			return nil, err
		}
		at, one, grid := hal.At(m.Region(0, 4)), hal.Value(uint32(1)), hal.Blocks(1).Of(1)
		x20, x300, x4000 := hal.Value(uint32(20)), hal.Value(uint32(300)), hal.Value(uint32(4000))
		return s.launches(func() error { return s.stream.Launch(hk, grid, at, one, x20, x300, x4000, one) }, raw, 4321, func() (uint32, error) {
			if y != 0 { // the raw call on the host writes y
				defer func() { y = 0 }()
				return y, nil
			}
			b := make([]byte, 4)
			err := s.dev.Read(background, b, m.Region(0, 4))
			return uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24, errors.Join(err, s.dev.Write(background, m.Region(0, 4), make([]byte, 4)))
		}), nil
	})
}

func openKernelLaunch(s, _ *site, _ uint64) (*fixture, error) {
	return open(func(c *closers) (*fixture, error) {
		var x [5]*buffer.Buffer[uint32]
		var args []peer.Argument
		var own *hal.Memory
		for i := range x {
			m, err := s.memory(c, "device", 64)
			if err != nil {
				return nil, err
			}
			if i == 0 {
				own = m
			} else if err := s.dev.Write(background, m.Region(0, 4), []byte{byte(i), 0, 0, 0}); err != nil {
				return nil, err
			}
			args = append(args, peer.Argument{Bits: uint64(m.Handle()), Memory: true})
			if x[i], err = buffer.From([]uint32{uint32(i)}); err != nil {
				return nil, err
			}
			c.add(x[i].Close)
		}
		var y uint32
		k, raw, err := s.launchKernel(c, "five", args, func() { y = 10 })
		if err != nil {
			return nil, err
		}
		grid := hal.Over(1).Of(1)
		ours := func() error {
			return k.Launch(background, s.stream, grid, kernel.InOut(x[0]), kernel.In(x[1]), kernel.In(x[2]), kernel.In(x[3]), kernel.In(x[4]))
		}
		return s.launches(ours, raw, 10, func() (got uint32, err error) {
			if err = x[0].Update(background, func(v []uint32) error { got, v[0] = v[0], 0; return nil }); got != 0 || err != nil {
				return got, err
			}
			if y != 0 {
				return y, nil
			}
			b := make([]byte, 4)
			err = s.dev.Read(background, b, own.Region(0, 4))
			return uint32(b[0]), err
		}), nil
	})
}
