//go:build vulkan

package vulkan

import (
	"errors"
	"sync/atomic"

	"github.com/go-halyard/halyard/hal/driver"
)

// device is one open handle: a VkDevice of its own, with its queues and its memory.
type device struct {
	memories
	stages []*stagingPool // of each queue
	turn   atomic.Uint32  // counts the streams, which take turns with the queues
	stamps stamps
}

var (
	_ driver.Device     = (*device)(nil)
	_ driver.Registerer = (*device)(nil)
	_ driver.Native     = (*device)(nil)
	_ driver.Trimmer    = (*device)(nil)
	_ driver.Loader     = (*device)(nil)
)

func openDevice(in *instance, physical uintptr, p *plan) (d *device, err error) {
	const op = "open"
	d = new(device)
	d.in, d.physical, d.plan, d.info = in, physical, p, p.info
	if err := d.create(op); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			d.release()
		}
	}()
	for i := range d.plan.queues {
		q, err := newQueue(op, &d.logical, i)
		if err != nil {
			return d, err
		}
		d.queues, d.stages = append(d.queues, q), append(d.stages, &stagingPool{q: q})
	}
	return d, d.chooseTypes(op)
}

// MemInfo returns what VK_EXT_memory_budget says, which counts other programs too, or what is left of the limit.
func (d *device) MemInfo() (free, total uint64, err error) {
	total = d.info.TotalMemory
	switch {
	case d.plan.limit > 0:
		return total - min(total, d.used.Load()), total, nil
	case !d.info.Caps.Has(driver.CapMemInfo):
		return 0, 0, d.refuse("memory information", driver.ErrUnsupported, "free memory is not reported by the driver")
	}
	budget, used := d.in.budget(d.physical, d.plan.heap)
	// A driver may count memory only once it is touched.
	used = max(used, d.used.Load())
	return min(total, budget-min(budget, used)), total, nil
}

// Trim frees slabs that are empty, and staging memory that is not in use.
func (d *device) Trim() {
	d.slabs.trim(&d.logical)
	for _, p := range d.stages {
		p.trim()
	}
}

// Close releases the handle. Everything that was made of it has been released, and its work is done.
func (d *device) Close() error {
	for _, q := range d.queues {
		q.watchers.Wait()
	}
	err := d.check("close", "vkDeviceWaitIdle", d.t.deviceWaitIdle(d.handle))
	d.release()
	if errors.Is(err, driver.ErrDeviceLost) {
		return nil // it is gone, and nothing is left of it
	}
	return err
}

// release releases what the device itself has made.
func (d *device) release() {
	d.bytes.close()
	d.empty.close()
	d.stamps.close(&d.logical)
	d.Trim()
	for _, q := range d.queues {
		q.close()
	}
	d.t.destroyDevice(d.handle)
}
