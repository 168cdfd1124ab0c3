//go:build opencl

package opencl

import (
	"cmp"
	"encoding/binary"
	"sync"
	"sync/atomic"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/siglib"
	"github.com/go-halyard/halyard/internal/span"
)

// device is one open handle on a device.
type device struct {
	t    *table
	hw   *hardware
	tier tier
	ctx  *sharedContext
	info driver.Info

	emptyMu sync.Mutex
	empty   *memory // nil until readable makes it
}

type contextKey struct {
	device uintptr
	tier   tier
}

// sharedContext is the cl_context that all handles on a device in one tier share.
type sharedContext struct {
	lib  *library
	key  contextKey
	cl   uintptr
	refs int           // guarded by lib.mu
	held atomic.Uint64 // bytes that count against the device's memory
	late *lateFrees    // nil unless the driver needs it

	registered span.Set // host memory

	mu        sync.Mutex
	disguised map[uintptr]struct{} // starts of KindDevice memory that the vendor calls host memory
}

// charge counts size bytes, and reports false if that would exceed total.
func (c *sharedContext) charge(size, total uint64) bool {
	if held := c.held.Add(size); held >= size && held <= total {
		return true
	}
	c.held.Add(-size)
	return false
}

func openDevice(l *library, h *hardware, ordinal int, prefer preference) (*device, error) {
	const op = "open"
	chosen := prefer.choose(h.tiers)
	if chosen == tierNone {
		return nil, refusal(op, ordinal, driver.ErrUnsupported, "%s", h.lacking(prefer))
	}
	key := contextKey{h.id, chosen}
	l.mu.Lock()
	defer l.mu.Unlock()
	ctx := l.contexts[key]
	if ctx == nil {
		siglib.Enter()
		cl, st := h.t.createContext([]uintptr{contextPlatform, h.platform.id, 0}, h.id)
		siglib.Leave()
		if st != success {
			return nil, failure(op, ordinal, "clCreateContext", st)
		}
		ctx = &sharedContext{lib: l, key: key, cl: cl, late: lateFreesOn(h, chosen, cl)}
		l.contexts[key] = ctx
		h.callbacksTried.Do(func() { h.tryCallback(cl) })
	}
	ctx.refs++
	return &device{t: h.t, hw: h, tier: chosen, ctx: ctx, info: h.info(l.t, ordinal, prefer)}, nil
}

// Info describes the device.
func (d *device) Info() driver.Info { return d.info }

// MemInfo returns the figures of cl_amd_device_attribute_query; other platforms do not report free memory.
func (d *device) MemInfo() (free, total uint64, err error) {
	const op = "memory information"
	// The total free memory and the largest free block, in KiB.
	var value [16]byte
	if _, st := d.t.getDeviceInfo(d.hw.id, deviceFreeMemoryAMD, value[:]); st != success {
		return 0, 0, d.fail(op, "clGetDeviceInfo", st)
	}
	return binary.NativeEndian.Uint64(value[:]) << 10, d.info.TotalMemory, nil
}

// Trim implements driver.Trimmer.
func (d *device) Trim() { d.ctx.late.trim() }

// Close releases the handle.
func (d *device) Close() error {
	var err error
	if d.empty != nil {
		err = d.empty.Free()
	}
	l := d.ctx.lib
	l.mu.Lock()
	defer l.mu.Unlock()
	d.ctx.refs--
	if d.ctx.refs > 0 {
		return err
	}
	delete(l.contexts, d.ctx.key)
	d.ctx.late.close()
	return cmp.Or(err, d.check("close", "clReleaseContext", d.t.releaseContext(d.ctx.cl)))
}

// PeerAccess allows copies and waits between handles on one device in one tier, and nothing otherwise.
func (d *device) PeerAccess(other driver.Device) driver.PeerAccess {
	if o, ok := other.(*device); ok && o.ctx == d.ctx {
		return driver.PeerWait | driver.PeerCopy
	}
	return 0
}

// fail is failure for a call of the device, and check is fail for a call that may have succeeded. refuse is refusal for the device.

func (d *device) fail(op, api string, st status) *driver.Error {
	return failure(op, d.info.Ordinal, api, st)
}

func (d *device) check(op, api string, st status) error {
	if st == success {
		return nil
	}
	return d.fail(op, api, st)
}

func (d *device) refuse(op string, kind error, format string, args ...any) *driver.Error {
	return refusal(op, d.info.Ordinal, kind, format, args...)
}
