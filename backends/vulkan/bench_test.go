//go:build vulkan

package vulkan

import (
	"errors"
	"fmt"
	"testing"

	"github.com/go-halyard/halyard/hal/driver"
)

// What calls cost the caller, and copies to their end.
func BenchmarkCalls(b *testing.B) {
	for _, model := range []string{modelUnified, modelDiscrete} {
		opened, err := newBackend(loadTable).with(options{Memory: model}).Open(b.Context(), 0)
		if err != nil {
			b.Skip(err)
		}
		d := opened.(*device)
		s := streamOf(b, d)
		const large = 64 << 20
		m, err := d.Alloc(driver.KindDevice, large, 0)
		must(b, err)
		h, err := d.Alloc(driver.KindHost, large, 0)
		must(b, err)
		pageable := make([]byte, large)
		e, _ := d.NewEvent(driver.EventOptions{})
		for _, n := range []uint64{64, 64 << 10, large} {
			r := driver.Region{Mem: m, Len: n}
			for _, c := range []struct {
				what string
				call func() error
			}{
				{"fill", func() error { return s.Fill(r, driver.Pattern{Bits: 1, Width: 4}) }},
				{"copy", func() error { return s.Copy(r, driver.Region{Mem: h, Len: n}) }},
				{"pageable-in", func() error { return s.CopyIn(r, start(pageable)) }},
				{"pageable-out", func() error { return s.CopyOut(start(pageable), r) }},
			} {
				b.Run(fmt.Sprintf("%s/%s-and-sync/%d", model, c.what, n), func(b *testing.B) {
					b.SetBytes(int64(n))
					for b.Loop() {
						must(b, c.call(), s.Sync())
					}
				})
			}
		}
		r := driver.Region{Mem: m, Len: 64 << 10}
		b.Run(model+"/enqueue", func(b *testing.B) {
			for b.Loop() {
				must(b, s.Fill(r, driver.Pattern{Bits: 1, Width: 4}))
			}
			must(b, s.Sync())
		})
		b.Run(model+"/record-wait-query", func(b *testing.B) {
			for b.Loop() {
				_, err := e.Query()
				must(b, s.Record(e), s.Wait(e), err)
			}
		})
		b.Run(model+"/small-alloc", func(b *testing.B) {
			for b.Loop() {
				x, err := d.Alloc(driver.KindDevice, 1000, 0)
				must(b, err, x.Free())
			}
		})
		must(b, errors.Join(m.Free(), h.Free(), d.Close()))
	}
}
