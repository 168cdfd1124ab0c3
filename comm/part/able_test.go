package part_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard"
	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/comm"
	"github.com/go-halyard/halyard/comm/part"
	"github.com/go-halyard/halyard/conformance/commtest"
	hardware "github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/comm/driver"
	"github.com/go-halyard/halyard/internal/testing/hooked"
)

// registered adds a backend whose first device has no compiler.
var registered = sync.OnceFunc(func() {
	b := &hooked.Backend{Backend: host.New(host.Options{Name: "unable", Discrete: 2})}
	b.Call = func(op string, device int) error {
		if op != "Load" || device != 1 {
			return nil
		}
		return &hardware.Error{Op: op, Backend: "unable", Device: device, Kind: hardware.ErrUnavailable, Detail: "no compiler"}
	}
	hardware.Register(b)
})

// A device that cannot run a kernel is left out of the launches of its rank, and of its recorded steps; the other ranks need not know. If a rank has no
// other device, its launch fails with the reason.
func TestDevicesOfARankThatCannotRunAKernelAreLeftOut(t *testing.T) {
	registered()
	t.Setenv("HALYARD_HOST_DEVICES", "2")
	j := job{width: 17, height: 40, steps: 5, ranks: 2, block: 4}
	for i := range j.width * j.height {
		j.start = append(j.start, float32(i*7919%1000))
	}
	want := j.serial()
	for name, program := range map[string]func(*part.Queue) *halyard.Buffer[float32]{"launches": j.parallel, "steps": j.recorded} {
		for _, devices := range [][]string{{"unable:1", "unable:2"}, {"unable:2", "unable:1"}, {"unable:1"}} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			err := commtest.Execute(j.ranks, func(e driver.Engine) error {
				c, own := comm.New(e), []string{"host:1", "host:2"}
				if c.Rank() == 1 {
					own = devices
				}
				q := part.Among(ctx, halyard.Open(ctx, own...), c)
				x := program(q)
				q.Allgather(x)
				got := x.Values()
				err := errors.Join(q.Close(), c.Close())
				if err == nil {
					assert.Equal(t, want, got, "%s: rank %d of %v", name, c.Rank(), devices)
				}
				return err
			})
			cancel()
			if len(devices) > 1 {
				require.NoError(t, err, "%s: %v", name, devices)
			} else {
				require.ErrorContains(t, err, "no compiler", name)
			}
		}
	}
}
