package cudahiptest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/go-halyard/halyard/hal"
)

// Pageable measures copies of pageable memory through package hal, over a modelled bus. The model covers the time on the
// link, and the time for which the driver's own copy of pageable memory blocks the caller. The host's copies are real. One
// metric is the time of the whole copy, the other the time for which it blocks the caller. Both are divided by the time of
// the same copy of page-locked memory. For the driver's own copies both would be LinkLocked / LinkPageable, which is 2.5.
func Pageable(b *testing.B, h *Harness) {
	h.start(b)
	sim := Simulated{Control: h.sim}
	sim.SlowLink(b)
	defer func() {
		h.sim.PeerAccess(0)
		ok(b, h.sim.Reset(0))
	}()
	ctx := context.Background()
	d, err := hal.OpenWith(ctx, h.backend, 0)
	ok(b, err)
	defer func() { ok(b, d.Close()) }()
	s, err := d.NewStream()
	ok(b, err)
	defer func() { ok(b, s.Close()) }()
	for _, size := range []uint64{64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20} {
		m, err := d.Alloc(hal.KindDevice, size, 0)
		ok(b, err)
		locked, err := d.Alloc(hal.KindHost, size, 0)
		ok(b, err)
		pinned, err := locked.Bytes()
		ok(b, err)
		pageable := random(size, int(size))
		ok(b, s.CopyIn(m.All(), pageable)) // allocates the staging memory
		ok(b, s.Sync(ctx))
		for _, c := range []struct {
			name string
			copy func(b []byte) error
		}{
			{"in", func(b []byte) error { return s.CopyIn(m.All(), b) }},
			{"out", func(b []byte) error { return s.CopyOut(b, m.All()) }},
			{"in-busy", func(b []byte) error {
				if err := s.CopyIn(m.Region(0, size/8), pinned[:size/8]); err != nil {
					return err
				}
				return s.CopyIn(m.All(), b)
			}},
		} {
			b.Run(fmt.Sprintf("%s/%dKiB", c.name, size>>10), func(b *testing.B) {
				var took, held [2]time.Duration
				for b.Loop() {
					for i, bytes := range [][]byte{pinned, pageable} {
						start := time.Now()
						ok(b, c.copy(bytes))
						held[i] += time.Since(start)
						ok(b, s.Sync(ctx))
						took[i] += time.Since(start)
					}
				}
				b.ReportMetric(float64(took[1])/float64(took[0]), "pageable/locked")
				b.ReportMetric(float64(held[1])/float64(took[0]), "caller/locked")
				b.ReportMetric(0, "ns/op")
			})
		}
		ok(b, locked.Close())
		ok(b, m.Close())
	}
}
