//go:build vulkan

package vulkan

import (
	"slices"
	"sync"
	"unsafe"
)

// stamp is a place where the device writes a time.
type stamp struct {
	pool  uintptr
	index uint32
}

// stampsPerPool is the number of stamps that are made at once.
const stampsPerPool = 64

// stamps are the stamps of a device. An event with timing has one for its life.
type stamps struct {
	mu    sync.Mutex
	pools []uintptr
	spare []stamp
}

func (p *stamps) take(op string, d *logical) (stamp, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.spare) == 0 {
		info := &queryPoolInfo{head: head{typeQueryPoolCreateInfo, nil}, kind: queryTimestamp, n: stampsPerPool}
		pool, st := d.t.createQueryPool(d.handle, unsafe.Pointer(info))
		if st < success {
			return stamp{}, d.fail(op, "vkCreateQueryPool", st)
		}
		p.pools = append(p.pools, pool)
		for i := range uint32(stampsPerPool) {
			p.spare = append(p.spare, stamp{pool, stampsPerPool - 1 - i})
		}
	}
	last := len(p.spare) - 1
	s := p.spare[last]
	p.spare = slices.Delete(p.spare, last, last+1)
	return s, nil
}

func (p *stamps) put(s stamp) {
	p.mu.Lock()
	p.spare = append(p.spare, s)
	p.mu.Unlock()
}

func (p *stamps) close(d *logical) {
	for _, pool := range p.pools {
		d.t.destroyQueryPool(d.handle, pool)
	}
	p.pools, p.spare = nil, nil
}
