package cudahiptest

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"github.com/go-halyard/halyard/conformance"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/cudahip"
)

// ConformHardware runs the shared suite, including the seeded model test, on a backend's first real
// device.
func ConformHardware(t *testing.T, b driver.Backend, codes cudahip.Codes, require string) {
	n := len(Hardware(t, b, require))
	suite := conformance.Harness{
		Open:        func(ctx context.Context) (*hal.Device, error) { return hal.OpenWith(ctx, b, 0) },
		Backend:     b,
		VendorCodes: vendorCodes(codes),
	}
	if n > 1 {
		suite.Peer = func(ctx context.Context) (*hal.Device, error) { return hal.OpenWith(ctx, b, 1) }
	}
	conformance.Run(t, suite)
}

// Sizes are the sizes in bytes that BenchHardware measures. scripts/nvidia-report/compare.py
// measures the same sizes in Python.
var Sizes = []int{4 << 10, 1 << 20, 64 << 20}

// BenchHardware measures copies, fills and allocations on a backend's first real device, and the
// vendor's own calls beside them. Times include the wait for the end of the work.
func BenchHardware(b *testing.B, backend driver.Backend, require string, raw Raw) {
	Hardware(b, backend, require)
	benchHardware(b, backend, raw)
}

func benchHardware(b *testing.B, backend driver.Backend, raw Raw) {
	ctx := context.Background()
	dev, err := hal.OpenWith(ctx, backend, 0)
	ok(b, err)
	defer func() { ok(b, dev.Close()) }()
	s, err := dev.NewStream()
	ok(b, err)
	defer func() { ok(b, s.Close()) }()
	for _, size := range Sizes {
		b.Run(fmt.Sprint(size), func(b *testing.B) { benchSize(b, dev, s, raw, size) })
	}
	b.Run("call", func(b *testing.B) { overhead(b, backend, raw) })
}

func benchSize(b *testing.B, dev *hal.Device, s *hal.Stream, raw Raw, size int) {
	ctx, n := context.Background(), uint64(size)
	one, err := dev.Alloc(hal.KindDevice, n, 0)
	ok(b, err)
	defer one.Close()
	two, err := dev.Alloc(hal.KindDevice, n, 0)
	ok(b, err)
	defer two.Close()
	locked, err := dev.Alloc(hal.KindHost, n, 0)
	ok(b, err)
	defer locked.Close()
	pinned, err := locked.Bytes()
	ok(b, err)
	pageable := make([]byte, size)
	for i := range pageable {
		pageable[i] = byte(i)
	}
	copy(pinned, pageable)

	timed := func(name string, bytes int, fn func() error) {
		b.Run(name, func(b *testing.B) {
			if bytes > 0 {
				b.SetBytes(int64(bytes))
			}
			b.ReportAllocs()
			for b.Loop() {
				ok(b, fn())
			}
		})
	}
	vendor := func(name string, bytes int, fn func()) {
		b.Run(name, func(b *testing.B) {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			raw.Current()
			if bytes > 0 {
				b.SetBytes(int64(bytes))
			}
			for b.Loop() {
				fn()
			}
		})
	}
	synced := func(enqueue func() error) func() error {
		return func() error {
			if err := enqueue(); err != nil {
				return err
			}
			return s.Sync(ctx)
		}
	}
	vendor("in-pinned/raw", size, func() {
		raw.CopyIn(one.Handle(), uintptr(at(pinned)), uintptr(size), s.Handle())
		raw.Sync(s.Handle())
	})
	timed("in-pinned/halyard", size, synced(func() error { return s.CopyIn(one.All(), pinned) }))
	vendor("in-pageable/raw", size, func() {
		raw.CopyIn(one.Handle(), uintptr(at(pageable)), uintptr(size), s.Handle())
		raw.Sync(s.Handle())
	})
	timed("in-pageable/halyard", size, synced(func() error { return s.CopyIn(one.All(), pageable) }))
	vendor("out-pinned/raw", size, func() {
		raw.CopyOut(uintptr(at(pinned)), one.Handle(), uintptr(size), s.Handle())
		raw.Sync(s.Handle())
	})
	timed("out-pinned/halyard", size, synced(func() error { return s.CopyOut(pinned, one.All()) }))
	timed("out-pageable/halyard", size, synced(func() error { return s.CopyOut(pageable, one.All()) }))
	timed("device/halyard", size, synced(func() error { return s.Copy(two.All(), one.All()) }))
	timed("fill/halyard", size, synced(func() error { return s.Fill(one.All(), hal.Pattern32(0x01020304)) }))
	timed("fill-8/halyard", size, synced(func() error { return s.Fill(one.All(), hal.Pattern64(0x0102030405060708)) }))
	vendor("alloc/raw", 0, func() { raw.Free(raw.Alloc(uintptr(size))) })
	timed("alloc/halyard", 0, func() error {
		m, err := dev.Alloc(hal.KindDevice, n, 0)
		if err != nil {
			return err
		}
		return m.Close()
	})
	if dev.Caps().Has(hal.CapStreamAlloc) {
		timed("alloc-stream/halyard", 0, synced(func() error {
			m, err := s.AllocAsync(n, 0)
			if err != nil {
				return err
			}
			return m.Close()
		}))
	}
}
