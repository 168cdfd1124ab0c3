package cudahip

import "github.com/go-halyard/halyard/hal/driver"

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
