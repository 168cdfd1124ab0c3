package adapt_test

import (
	"testing"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/testing/fixture"
	"github.com/go-halyard/halyard/internal/testing/hooked"
)

// prefetching opens a device whose shared memory moves, and returns the lengths of what it is asked to prefetch.
func prefetching(t *testing.T) (*hal.Device, *[]uint64) {
	t.Helper()
	asked := new([]uint64)
	b := &hooked.Backend{
		Backend: host.New(host.Options{Discrete: 1}),
		Info:    func(i driver.Info) driver.Info { i.Caps |= driver.CapPrefetch; return i },
		Prefetch: func(_ *hooked.Stream, r driver.Region, toHost bool) error {
			if !toHost {
				*asked = append(*asked, r.Len)
			}
			return nil
		},
	}
	d := fixture.Device(t, b, 1)
	return d, asked
}
