//go:build vulkan

package vulkan

import (
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/dl"
	"github.com/go-halyard/halyard/internal/siglib"
)

// logical is a VkDevice, which Vulkan calls a logical device: its calls, and what is used of it.
type logical struct {
	in       *instance
	physical uintptr
	plan     *plan
	info     driver.Info

	t      *deviceTable
	handle uintptr
	eager  sync.Mutex                   // held by the wait that asks without a pause
	lost   atomic.Pointer[driver.Error] // why the device is lost

	deviceType, hostType uint32        // of memory
	coherentTypes        uint32        // a bit for each memory type that the host sees without flushing
	used                 atomic.Uint64 // bytes of KindDevice memory
}

// create makes the VkDevice, and finds its calls.
func (d *logical) create(op string) (err error) {
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
	var st status
	if d.handle, st = d.in.t.createDevice(d.physical, unsafe.Pointer(info)); st < success {
		return d.fail(op, "vkCreateDevice", st)
	}
	if d.t, err = d.in.t.loadDevice(d.handle); err != nil {
		if destroy := d.in.t.deviceProc(d.handle, "vkDestroyDevice"); destroy != 0 {
			dl.ProcAt(destroy).Call2(d.handle, 0)
		}
		return &driver.Error{Op: op, Backend: backendName, Device: d.info.Ordinal, Kind: driver.ErrUnavailable, Err: err}
	}
	return nil
}

// Info describes the device.
func (d *logical) Info() driver.Info { return d.info }

// Handles returns the VkInstance, the VkPhysicalDevice and the VkDevice.
func (d *logical) Handles() driver.Handles {
	return driver.Handles{Platform: d.in.handle, Device: d.physical, Context: d.handle}
}

// fail is failure for a call of the device, and notes the loss of the device. check is fail for a call that may have succeeded. refuse is
// refusal for the device.

func (d *logical) fail(op, api string, st status) *driver.Error {
	err := failure(op, d.info.Ordinal, api, st)
	if st == deviceLost {
		d.lost.CompareAndSwap(nil, err)
	}
	return err
}

func (d *logical) check(op, api string, st status) error {
	if st >= success {
		return nil
	}
	return d.fail(op, api, st)
}

func (d *logical) refuse(op string, kind error, format string, args ...any) *driver.Error {
	return refusal(op, d.info.Ordinal, kind, format, args...)
}
