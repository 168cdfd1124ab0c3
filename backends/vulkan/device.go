//go:build vulkan

package vulkan

import (
	"errors"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/dl"
	"github.com/go-halyard/halyard/internal/siglib"
)

// device is one open handle: a VkDevice of its own.
type device struct {
	in       *instance
	physical uintptr
	plan     *plan
	info     driver.Info

	t      *deviceTable
	handle uintptr
	queues []*queue
	stages []*stagingPool // of each queue
	turn   atomic.Uint32  // counts the streams, which take turns with the queues

	eager   sync.Mutex                   // held by the wait that asks without a pause
	lost    atomic.Pointer[driver.Error] // why the device is lost
	settled sync.Once

	deviceType, hostType uint32 // of memory
	coherentTypes        uint32 // a bit for each memory type that the host sees without flushing

	used   atomic.Uint64 // bytes of KindDevice memory
	hosts  hostRanges
	slabs  slabs
	stamps stamps
	bytes  byteTable

	emptyMu sync.Mutex
	empty   *memory // nil until readable makes it
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
	d = &device{in: in, physical: physical, plan: p, info: p.info}
	if d.handle, err = d.create(op); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			d.release()
		}
	}()
	if d.t, err = in.t.loadDevice(d.handle); err != nil {
		return d, &driver.Error{Op: op, Backend: backendName, Device: d.info.Ordinal, Kind: driver.ErrUnavailable, Err: err}
	}
	for i := range d.plan.queues {
		q, err := newQueue(op, d, i)
		if err != nil {
			return d, err
		}
		d.queues, d.stages = append(d.queues, q), append(d.stages, &stagingPool{q: q})
	}
	return d, d.chooseTypes(op)
}

// create makes the VkDevice.
func (d *device) create(op string) (uintptr, error) {
	p := d.plan
	v12 := &features12{head: head{typeFeatures12, nil}, on: p.features.v12}
	v11 := &features11{head: head{typeFeatures11, unsafe.Pointer(v12)}, on: p.features.v11}
	core := &features2{head: head{typeFeatures2, unsafe.Pointer(v11)}, on: p.features.core}
	priorities := new([mostQueues]float32)
	queues := &queueCreateInfo{head: head{typeQueueCreateInfo, nil}, family: p.family, n: uint32(p.queues),
		priorities: unsafe.Pointer(priorities)}
	var enabled nameList
	for _, e := range p.extensions {
		enabled.add(e)
	}
	info := &deviceCreateInfo{head: head{typeDeviceCreateInfo, unsafe.Pointer(core)}, queues: 1, queueInfos: unsafe.Pointer(queues),
		extensions: enabled.len(), extensionNames: enabled.address()}
	siglib.Enter()
	defer siglib.Leave()
	handle, st := d.in.t.createDevice(d.physical, unsafe.Pointer(info))
	return handle, d.check(op, "vkCreateDevice", st)
}

// chooseTypes takes the best type of memory for each kind that buffers can use. All buffers of one usage can use the same types, so one is
// made to ask.
func (d *device) chooseTypes(op string) error {
	buffer, r, err := d.newBuffer(op, maxAlign, false)
	if err != nil {
		return err
	}
	d.t.destroyBuffer(d.handle, buffer)
	for i, types := range [][]uint32{d.plan.deviceTypes, d.plan.hostTypes} {
		to := []*uint32{&d.deviceType, &d.hostType}[i]
		chosen := false
		for _, index := range types {
			if r.typeBits&(1<<index) != 0 {
				*to, chosen = index, true
				break
			}
		}
		if !chosen {
			return d.refuse(op, driver.ErrUnsupported, "buffers can use none of the memory types %v", types)
		}
	}
	for _, index := range d.plan.hostTypes {
		d.coherentTypes |= 1 << index
	}
	return nil
}

// Info describes the device.
func (d *device) Info() driver.Info { return d.info }

// Handles returns the VkInstance, the VkPhysicalDevice and the VkDevice.
func (d *device) Handles() driver.Handles {
	return driver.Handles{Platform: d.in.handle, Device: d.physical, Context: d.handle}
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
	d.slabs.trim(d)
	for _, p := range d.stages {
		p.trim()
	}
}

// settle waits for what a lost device may still be doing, before memory that it may use is freed. The driver promises that such a wait ends
// (Vulkan 1.2, section 5.2.3).
func (d *device) settle() {
	if d.lost.Load() == nil {
		return
	}
	d.settled.Do(func() {
		for _, q := range d.queues { // vkDeviceWaitIdle needs them for itself
			q.mu.Lock()
			defer q.mu.Unlock()
		}
		d.t.deviceWaitIdle(d.handle)
	})
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
	if d.t == nil {
		d.destroyUnknown()
		return
	}
	d.bytes.close()
	if d.empty != nil {
		_ = d.empty.Free()
	}
	d.stamps.close(d)
	d.Trim()
	for _, q := range d.queues {
		q.close()
	}
	d.t.destroyDevice(d.handle)
}

// destroyUnknown destroys a device some of whose calls are missing.
func (d *device) destroyUnknown() {
	if p := d.in.t.deviceProc(d.handle, "vkDestroyDevice"); p != 0 {
		dl.ProcAt(p).Call2(d.handle, 0)
	}
}

// fail is failure for a call of the device, and notes the loss of the device. check is fail for a call that may have succeeded. refuse is
// refusal for the device.

func (d *device) fail(op, api string, st status) *driver.Error {
	err := failure(op, d.info.Ordinal, api, st)
	if st == deviceLost {
		d.lost.CompareAndSwap(nil, err)
	}
	return err
}

func (d *device) check(op, api string, st status) error {
	if st >= success {
		return nil
	}
	return d.fail(op, api, st)
}

func (d *device) refuse(op string, kind error, format string, args ...any) *driver.Error {
	return refusal(op, d.info.Ordinal, kind, format, args...)
}
