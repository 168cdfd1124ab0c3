package main

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/go-halyard/halyard/bench/internal/frame"
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
func (s *site) launchKernel(c *closers, name string, args []peer.Argument, fn func()) (*kernel.Kernel, *peer.Kernel) {
	p := kernel.New(kernel.Source{Name: "bench", Portable: launchText, Go: launchGo})
	c.add(p.Close)
	if err := p.Load(background, s.dev); err != nil {
		if errors.Is(err, hal.ErrUnavailable) { // no compiler is installed
			err = fmt.Errorf("%w: %w", hal.ErrUnsupported, err)
		}
		frame.Must(err)
	}
	k := p.Kernel(name)
	if s.raw == nil {
		return k, nil
	}
	text := kernel.Prelude(s.info.Compute.Language) + launchText
	code := []byte(text)
	if s.info.Backend == "cuda" || s.info.Backend == "hip" {
		code = frame.Get(s.dev.Compile(hal.Source{Name: "bench", Text: text})).Data
	}
	raw := frame.Get(s.raw.Load(code, name, args, fn))
	c.add(raw.Close)
	return k, raw
}

// launches returns the fixture that measures a launch, as one of crowd with one wait. result returns what the launches of a side have
// written, which must be want.
func (s *site) launches(ours func() error, raw *peer.Kernel, want uint32, result func() (uint32, error)) *fixture {
	f := &fixture{at: func(uint64) (timing.Side, timing.Side) {
		beside := timing.Side{}
		if raw != nil {
			beside = s.beside(func(p peer.Peer) func() error { return then(repeated(raw.Launch), p.Sync) })
			beside.Per = crowd
		}
		return timing.Side{Per: crowd, Op: then(repeated(ours), s.sync)}, beside
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

func openLaunch(c *closers, s, _ *site, _ uint64) *fixture {
	m := s.memory(c, "device", 64)
	word := func(v uint64) peer.Argument { return peer.Argument{Bits: v} }
	var y uint32
	k, raw := s.launchKernel(c, "six", []peer.Argument{{Bits: uint64(m.Handle()), Memory: true}, word(1), word(20), word(300), word(4000), word(1)},
		func() { y = 1 + 20 + 300 + 4000 })
	hk := frame.Get(k.Of(background, s.dev))
	at, one, grid := hal.At(m.Region(0, 4)), hal.Value(uint32(1)), hal.Blocks(1).Of(1)
	x20, x300, x4000 := hal.Value(uint32(20)), hal.Value(uint32(300)), hal.Value(uint32(4000))
	return s.launches(func() error { return s.stream.Launch(hk, grid, at, one, x20, x300, x4000, one) }, raw, 4321, func() (uint32, error) {
		if y != 0 { // the raw call on the host writes y
			defer func() { y = 0 }()
			return y, nil
		}
		b := make([]byte, 4)
		err := s.dev.Read(background, b, m.Region(0, 4))
		return binary.LittleEndian.Uint32(b), errors.Join(err, s.dev.Write(background, m.Region(0, 4), make([]byte, 4)))
	})
}

func openKernelLaunch(c *closers, s, _ *site, _ uint64) *fixture {
	var x [5]*buffer.Buffer[uint32]
	var args []peer.Argument
	var own [5]*hal.Memory
	for i := range x {
		own[i] = s.memory(c, "device", 64)
		if i > 0 {
			frame.Must(s.dev.Write(background, own[i].Region(0, 4), []byte{byte(i), 0, 0, 0}))
		}
		args = append(args, peer.Argument{Bits: uint64(own[i].Handle()), Memory: true})
		x[i] = frame.Get(buffer.From([]uint32{uint32(i)}))
		c.add(x[i].Close)
	}
	var y uint32
	k, raw := s.launchKernel(c, "five", args, func() { y = 10 })
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
		err = s.dev.Read(background, b, own[0].Region(0, 4))
		return uint32(b[0]), err
	})
}
