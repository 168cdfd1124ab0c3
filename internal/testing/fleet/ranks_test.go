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
