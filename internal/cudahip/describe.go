package cudahip

import (
	"fmt"
	"runtime"
	"strings"

	"github.com/go-halyard/halyard/hal/driver"
)

// describe queries everything about a device that needs no context. number is the library's number of the device,
// ordinal its index in the list. Some libraries do not answer every query; chipStar, for example, does not report the
// UUID. Then the UUID or PCI address stays zero, and the device counts as lacking the attribute.
func (l *library) describe(number, ordinal int) (dev int32, info driver.Info, err error) {
	const op = "describe"
	api := l.api
	fail := func(c Call, code Code) (int32, driver.Info, error) {
		return 0, driver.Info{}, l.fail(op, ordinal, c, code)
	}
	dev, code := api.DeviceGet(int32(number))
	if code != Success {
		return fail(CallDeviceGet, code)
	}
	info = driver.Info{Backend: l.vendor.Name, Ordinal: ordinal, Class: driver.ClassGPU, Vendor: l.vendor.Label,
		Driver:    fmt.Sprintf("%s (%s, %s)", l.vendor.Version(l.version), l.name, l.vendor.Binding),
		Simulated: l.simulated,
		Alignment: naturalAlign, MaxAlign: maxAlign}
	if info.Model, code = api.DeviceName(dev); code != Success {
		return fail(CallDeviceName, code)
	}
	if l.simulated && !strings.Contains(info.Model, "simulated") {
		info.Model += " (simulated)"
	}
	total, code := api.DeviceTotal(dev)
	if code != Success {
		return fail(CallDeviceTotal, code)
	}
	info.TotalMemory, info.MaxAlloc = uint64(total), uint64(total)
	if api.Has(CallDeviceUUID) {
		if uuid, code := api.DeviceUUID(dev); code == Success {
			info.UUID = uuid
		}
	}
	if api.Has(CallDeviceBus) {
		if bus, code := api.DeviceBus(dev); code == Success {
			info.PCI = busAddress(bus)
		}
	}
	var has [NumAttributes]bool
	for a := range has {
		has[a] = l.attribute(dev, Attribute(a))
	}
	info.SharesHostMemory = has[AttrIntegrated] && has[AttrMapHost]
	info.Caps = l.caps(&has)
	if info.Caps.Has(driver.CapKernels) {
		info.Compute = l.compute(dev)
	}
	if info.Caps.Has(driver.CapPriority) {
		info.LowPriority, info.HighPriority = l.vendor.LowPriority, l.vendor.HighPriority
	}
	if l.compiles(&info) {
		info.Caps |= driver.CapCompile
	}
	return dev, info, nil
}

// attribute reports whether the device has an attribute. If the query fails, the device counts as lacking the attribute.
// Libraries report a number that they do not know in different ways: as an invalid value, as not supported, or as not yet
// implemented.
func (l *library) attribute(dev int32, a Attribute) bool {
	numbers := l.vendor.Attributes[a]
	for _, n := range numbers {
		if v, code := l.api.DeviceAttribute(n, dev); code == Success && v != 0 {
			return true
		}
	}
	return len(numbers) == 0
}

func (l *library) caps(has *[NumAttributes]bool) driver.Caps {
	api := l.api
	caps := driver.CapAsyncCopy | driver.CapTiming | driver.CapMemInfo | driver.CapAddress | driver.CapImport | driver.CapImportStream
	add := func(c driver.Caps, ok bool) {
		if ok {
			caps |= c
		}
	}
	add(driver.CapHostCallback|driver.CapOrderedPageable, api.Has(CallHostCall))
	add(driver.CapGate, l.vendor.HostGates && api.Has(CallHostCall) || api.Has(CallWaitValue) && has[AttrWaitValue])
	add(driver.CapRegister, has[AttrRegister] && api.Has(CallHostRegister))
	add(driver.CapPeerCopy, api.Has(CallCopyPeer) && api.Has(CallPeerEnable) && api.Has(CallCanAccessPeer))
	add(driver.CapStreamAlloc, has[AttrPools] && api.Has(CallAllocAsync) && api.Has(CallFreeAsync))
	add(driver.CapShared, has[AttrManaged] && api.Has(CallManagedAlloc))
	concurrent := caps.Has(driver.CapShared) && has[AttrConcurrentManaged]
	add(driver.CapConcurrentShared, concurrent)
	add(driver.CapPrefetch, concurrent && api.Has(CallPrefetch))
	shares := api.Has(CallIPCExport) && api.Has(CallIPCOpen) && api.Has(CallIPCClose)
	add(driver.CapIPC, shares && runtime.GOOS == "linux" && !has[AttrIntegrated])
	add(driver.CapPriority, has[AttrPriorities])
	add(driver.CapPointerInfo, api.Has(CallPointerAttribute))
	add(driver.CapCopy2D, api.Has(CallCopy2D))
	add(driver.CapKernels, l.runs())
	return caps
}

// busAddress writes an address such as "0000:3b:00.0", "0000:3b:00" or "3b:00.0" in the form of Info.PCI. It ignores text after the
// address. An address in any other form counts as unknown.
func busAddress(s string) string {
	var domain, bus, dev, fun uint32
	if n, _ := fmt.Sscanf(s, "%x:%x:%x.%x", &domain, &bus, &dev, &fun); n < 3 {
		domain = 0
		if n, _ := fmt.Sscanf(s, "%x:%x.%x", &bus, &dev, &fun); n != 3 {
			return ""
		}
	}
	return fmt.Sprintf("%04x:%02x:%02x.%x", domain, bus, dev, fun)
}

// Limit is a number that a device reports about kernels.
type Limit int

// The limits.
const (
	LimitThreads Limit = iota // largest number of threads in a block
	LimitBlockX               // the same in each dimension
	LimitBlockY
	LimitBlockZ
	LimitGridX // largest number of blocks in each dimension
	LimitGridY
	LimitGridZ
	LimitShared     // bytes of shared memory of a block
	LimitSharedMost // the same for a kernel whose limit CallKernelSet has raised
	LimitWarp       // threads that run in step
	LimitUnits      // processors
	NumLimits
)

// limit queries a limit. It returns 0 if the library does not report the limit.
func (l *library) limit(dev int32, which Limit) uint32 {
	n := l.vendor.Limits[which]
	if n == 0 {
		return 0
	}
	v, code := l.api.DeviceAttribute(n, dev)
	if code != Success || v < 0 {
		return 0
	}
	return uint32(v)
}

// runs reports whether the library has all the calls that are needed to run kernels.
func (l *library) runs() bool {
	for _, c := range []Call{CallModuleLoad, CallModuleUnload, CallModuleKernel, CallLaunch} {
		if !l.api.Has(c) {
			return false
		}
	}
	return true
}

// compute describes the kernels that the device can run.
func (l *library) compute(dev int32) driver.Compute {
	v := l.vendor
	c := driver.Compute{
		Language:   v.Language,
		Units:      int(l.limit(dev, LimitUnits)),
		MaxThreads: l.limit(dev, LimitThreads),
		MaxBlock:   [3]uint32{l.limit(dev, LimitBlockX), l.limit(dev, LimitBlockY), l.limit(dev, LimitBlockZ)},
		MaxGrid:    [3]uint32{l.limit(dev, LimitGridX), l.limit(dev, LimitGridY), l.limit(dev, LimitGridZ)},
		MaxGlobal:  v.MaxGlobal,
		Warp:       l.limit(dev, LimitWarp),
		Shared:     uint64(l.limit(dev, LimitShared)),
	}
	if l.api.Has(CallKernelSet) {
		c.Shared = max(c.Shared, uint64(l.limit(dev, LimitSharedMost)))
	}
	c.Arch, c.Float64, c.Float16 = v.Arch(l.api, dev)
	return c
}
