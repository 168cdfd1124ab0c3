//go:build cuda && hip && opencl && linux

package fleet

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/comm"
	"github.com/go-halyard/halyard/conformance/commtest"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/comm/driver"
	"github.com/go-halyard/halyard/internal/testing/cudahiptest"
	"github.com/go-halyard/halyard/internal/testing/gpuaware"
)

// TestStreamsOfEveryDeviceSendAndReceive has two ranks give each other the elements that their streams make, by messages on the host.
func TestStreamsOfEveryDeviceSendAndReceive(t *testing.T) {
	sims := cudahiptest.Simulate(t)
	for _, c := range sims {
		require.NoError(t, c.Reset(7))
	}
	for _, r := range hal.List(ctx) {
		for _, info := range r.Devices {
			t.Run(info.Name(), func(t *testing.T) {
				d := open(t, info.Name())
				require.NoError(t, commtest.Execute(2, func(e driver.Engine) error { return swap(e, d) }, commtest.EagerLimit(0)))
				require.NoError(t, d.Close())
			})
		}
	}
}

// TestEnginesGetAddressesOfCUDAAndHIPDevicesAlone has two ranks give each other elements that their devices have, by an engine that takes the
// addresses of both vendors.
func TestEnginesGetAddressesOfCUDAAndHIPDevicesAlone(t *testing.T) {
	sims := cudahiptest.Simulate(t)
	for _, c := range sims {
		require.NoError(t, c.Reset(7))
	}
	for _, r := range hal.List(ctx) {
		for _, info := range r.Devices {
			t.Run(info.Name(), func(t *testing.T) {
				d := open(t, info.Name())
				want := 0
				if (info.Backend == "cuda" || info.Backend == "hip") && !info.SharesHostMemory {
					want = 5 // two messages each way, and a reduction in place
				}
				require.NoError(t, commtest.Execute(2, func(e driver.Engine) error { return exchange(e, d, want) }, commtest.EagerLimit(0)))
				require.NoError(t, d.Close())
			})
		}
	}
	for _, s := range sims {
		s.Kept(t)
	}
}

// exchange is what each rank does: it makes elements on the device, sends a part of them, and adds up what all ranks have. The engine is given
// so many addresses of the device.
func exchange(e driver.Engine, d *hal.Device, want int) error {
	const n, rounds = 5000, 2
	g := &gpuaware.Engine{Engine: e, Message: driver.MemoryCUDA | driver.MemoryROCm, Collective: driver.MemoryCUDA | driver.MemoryROCm}
	c := comm.New(g, comm.DeviceMemory())
	s, e1 := d.NewStream()
	b, e2 := buffer.New[uint32](n)
	if err := errors.Join(e1, e2); err != nil {
		return err
	}
	mine, e1 := b.Slice(n/4, n/2)
	theirs, e2 := b.Slice(n/2, n-1)
	if err := errors.Join(e1, e2); err != nil {
		return err
	}
	other, copied := 1-c.Rank(), uint64(0)
	for round := range rounds {
		l, err := b.Acquire(ctx, s, coherence.Overwrite)
		if err != nil {
			return err
		}
		g.Know(l.Region().Mem)
		if err := errors.Join(s.Fill(l.Region(), hal.Pattern32(uint32(10*c.Rank()+round))), l.Release()); err != nil {
			return err
		}
		if round == 0 {
			copied = b.Stats().BytesCopied
		}
		if _, err := comm.Sendrecv(ctx, c, mine, other, 0, theirs, other, 0); err != nil {
			return err
		}
	}
	rest, err := b.Slice(0, n/2)
	if err != nil {
		return err
	}
	if err := comm.Allreduce(ctx, c, rest, rest, comm.Sum); err != nil {
		return err
	}
	if got := b.Stats().BytesCopied; want > 0 && got != copied {
		return fmt.Errorf("%d bytes were copied between the host and the device", got-copied)
	}
	if got := g.Taken(); got != want {
		return fmt.Errorf("the engine was given %d addresses of the device, not %d", got, want)
	}
	err = b.View(ctx, func(s []uint32) error {
		for i, v := range s {
			want := uint32(10*c.Rank() + rounds - 1)
			switch {
			case i < n/2:
				want = 10 + 2*(rounds-1)
			case i < n/2+n/4:
				want = uint32(10*other + rounds - 1)
			case i < n-1:
				continue // the message had fewer elements than there was room for
			}
			if v != want {
				return fmt.Errorf("element %d is %d, not %d", i, v, want)
			}
		}
		return nil
	})
	return errors.Join(err, g.Err(), hal.CloseAll(s, b, c))
}

// swap is what each rank does: it sends what it has made to the other, adds nothing to what it received, and sends that back.
func swap(e driver.Engine, d *hal.Device) error {
	const n, rounds = 5000, 10
	c := comm.New(e)
	s, err := d.NewStream()
	if err != nil {
		return err
	}
	other := 1 - c.Rank()
	mine, e1 := buffer.New[uint32](n)
	theirs, e2 := buffer.New[uint32](n)
	back, e3 := buffer.New[uint32](n)
	if err := errors.Join(e1, e2, e3); err != nil {
		return err
	}
	for round := range rounds {
		l, err := mine.Acquire(ctx, s, coherence.Overwrite)
		if err != nil {
			return err
		}
		if err := errors.Join(s.Fill(l.Region(), hal.Pattern32(uint32(1000*c.Rank()+round))), l.Release()); err != nil {
			return err
		}
		_, e1 := comm.Sendrecv(ctx, c, mine, other, 0, theirs, other, 0)
		_, e2 := comm.Sendrecv(ctx, c, theirs, other, 1, back, other, 1)
		if err := errors.Join(e1, e2); err != nil {
			return err
		}
	}
	for b, want := range map[*buffer.Buffer[uint32]]uint32{theirs: uint32(1000*other + rounds - 1), back: uint32(1000*c.Rank() + rounds - 1)} {
		err := b.View(ctx, func(s []uint32) error {
			for i, v := range s {
				if v != want {
					return fmt.Errorf("element %d is %d, not %d", i, v, want)
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return errors.Join(s.Sync(ctx), hal.CloseAll(mine, theirs, back, s, c))
}
