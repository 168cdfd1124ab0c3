package cudahip

import (
	"encoding/binary"
	"sync"
	"sync/atomic"
)

// asyncPool is the vendor's pool of stream-ordered memory. Whenever the host waits, the vendor gives the pool's free
// memory back to the system, and the next allocation takes long. The pool's release threshold is the number of bytes that
// it keeps nevertheless (CUDA driver API, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD). HIP has the same calls and numbers.
//
// The pool is the one of the whole process, and the program may change it. So a threshold other than 0 is left
// unchanged, and trim and close first check that the device still has this pool with this threshold.
type asyncPool struct {
	once   sync.Once
	handle atomic.Uintptr // 0 if the pool is left as it is
}

const (
	releaseThreshold = 4       // the number of the attribute, in CUDA and HIP
	keptMost         = 1 << 30 // bytes that the pool keeps at most
	keptPart         = 16      // and at most a sixteenth of the device's memory
)

func kept(d *Device) uint64 { return min(keptMost, d.info.TotalMemory/keptPart) }

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
	if threshold, code := d.api.PoolGet(d.ctx, pool, releaseThreshold); code == Success && threshold == 0 && setKept(d, pool, kept(d)) {
		p.handle.Store(pool)
	}
}

func setKept(d *Device, pool uintptr, bytes uint64) bool {
	return d.api.PoolSet(d.ctx, pool, releaseThreshold, binary.NativeEndian.AppendUint64(nil, bytes)) == Success
}

// own returns the pool if this device still makes it keep memory.
func (p *asyncPool) own(d *Device) (pool uintptr, ok bool) {
	if pool = p.handle.Load(); pool == 0 {
		return 0, false
	}
	if is, code := d.api.DevicePool(d.ctx, d.dev); code != Success || is != pool {
		return 0, false
	}
	threshold, code := d.api.PoolGet(d.ctx, pool, releaseThreshold)
	return pool, code == Success && uint64(threshold) == kept(d)
}

// trim gives what the pool keeps back to the system.
func (p *asyncPool) trim(d *Device) {
	if pool, ok := p.own(d); ok {
		_ = d.api.PoolTrim(d.ctx, pool, 0)
	}
}

// close makes the pool keep nothing, as before open.
func (p *asyncPool) close(d *Device) {
	if pool, ok := p.own(d); ok && setKept(d, pool, 0) {
		_ = d.api.PoolTrim(d.ctx, pool, 0)
	}
}
