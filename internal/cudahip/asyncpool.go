package cudahip

import (
	"encoding/binary"
	"sync"
	"sync/atomic"
)

// asyncPool is the vendor's pool of stream-ordered memory. The vendor gives what is free in it back to the system whenever
// the host waits, unless the pool's release threshold says how many bytes to keep (CUDA driver API,
// CU_MEMPOOL_ATTR_RELEASE_THRESHOLD); the next allocation then takes long. HIP takes this over.
//
// The pool is the one of the whole process. So a threshold that the program sets stays, and Close sets back only its own.
type asyncPool struct {
	once   sync.Once
	handle atomic.Uintptr // 0 if the pool is left as it is
}

const (
	releaseThreshold = 4  // the number of the attribute, in CUDA and HIP
	keptPart         = 16 // the pool keeps up to a 16th of the device's memory
)

// open makes the pool keep memory.
func (p *asyncPool) open(d *Device) {
	for _, c := range []Call{CallDevicePool, CallPoolGet, CallPoolSet, CallPoolTrim} {
		if !d.api.Has(c) {
			return
		}
	}
	pool, code := d.api.DevicePool(d.ctx, d.dev)
	if code != Success {
		return
	}
	if p.change(d, pool, 0, d.info.TotalMemory/keptPart) {
		p.handle.Store(pool)
	}
}

// change sets the threshold to another if it is as expected, and reports whether it did.
func (p *asyncPool) change(d *Device, pool uintptr, from, to uint64) bool {
	is, code := d.api.PoolGet(d.ctx, pool, releaseThreshold)
	return code == Success && uint64(is) == from &&
		d.api.PoolSet(d.ctx, pool, releaseThreshold, binary.NativeEndian.AppendUint64(nil, to)) == Success
}

// trim gives what the pool keeps back to the system.
func (p *asyncPool) trim(d *Device) {
	if pool := p.handle.Load(); pool != 0 {
		_ = d.api.PoolTrim(d.ctx, pool, 0)
	}
}

// close makes the pool keep nothing. The device is closed.
func (p *asyncPool) close(d *Device) {
	if pool := p.handle.Load(); pool != 0 && p.change(d, pool, d.info.TotalMemory/keptPart, 0) {
		p.trim(d)
	}
}
