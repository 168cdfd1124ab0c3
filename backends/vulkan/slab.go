//go:build vulkan

package vulkan

import (
	"math/bits"
	"sync"

	"github.com/go-halyard/halyard/hal/driver"
)

// Sizes are in bytes. Memory of up to largestSlot is a slot of a slab, which is a block whose slots all have the same size: a power of two.
const (
	slabSize     = 1 << 20
	smallestSlot = 256
	largestSlot  = 64 << 10

	slotSizes = 9 // from smallestSlot to largestSlot
)

// slabs hands out small memory. Memory that is allocated and freed again and again costs no call of the driver: of each kind and slot
// size one empty slab is kept, until the device is closed.
type slabs struct {
	mu   sync.Mutex
	open [2][slotSizes][]*slab // with free slots, of KindDevice and KindHost
}

// slab is a block of slots.
type slab struct {
	blk   *block
	class int // index of the slot size
	slots int
	free  []uint32 // slots
	at    int      // index in open, if free is not empty
}

// slot is a part of a slab.
type slot struct {
	of *slab
	at uint32 // its number
}

func slotSize(class int) uint64 { return smallestSlot << class }

func kindIndex(kind driver.Kind) int { return int(kind - driver.KindDevice) }

// take returns a slot of so many bytes, or one of no slab if they are too many.
func (p *slabs) take(op string, d *logical, kind driver.Kind, need uint64) (slot, error) {
	need = max(need, smallestSlot)
	if need > largestSlot || d.plan.limit > 0 && d.plan.limit < 16*slabSize {
		return slot{}, nil
	}
	class := bits.Len64((need - 1) / smallestSlot)
	p.mu.Lock()
	defer p.mu.Unlock()
	list := &p.open[kindIndex(kind)][class]
	if len(*list) == 0 {
		s, err := newSlab(op, d, kind, class)
		if err != nil {
			return slot{}, err
		}
		p.list(list, s)
	}
	s := (*list)[len(*list)-1]
	at := s.free[len(s.free)-1]
	s.free = s.free[:len(s.free)-1]
	if len(s.free) == 0 {
		*list = (*list)[:len(*list)-1]
	}
	return slot{s, at}, nil
}

func newSlab(op string, d *logical, kind driver.Kind, class int) (*slab, error) {
	blk, err := d.countedBlock(op, kind, slabSize, maxAlign)
	if err != nil {
		return nil, err
	}
	s := &slab{blk: blk, class: class, slots: int(slabSize / slotSize(class))}
	for i := s.slots - 1; i >= 0; i-- {
		s.free = append(s.free, uint32(i)) // so that the first slots are taken first
	}
	return s, nil
}

// offset returns where a slot begins in the block. Slots are aligned to their size, up to maxAlign.
func (x slot) offset() uint64 {
	return -uint64(x.of.blk.addr)&(maxAlign-1) + uint64(x.at)*slotSize(x.of.class)
}

func (p *slabs) list(list *[]*slab, s *slab) {
	s.at = len(*list)
	*list = append(*list, s)
}

// put takes a slot back. A slab without used slots is freed if there is another with free ones.
func (p *slabs) put(d *logical, kind driver.Kind, x slot) {
	s := x.of
	p.mu.Lock()
	list := &p.open[kindIndex(kind)][s.class]
	if len(s.free) == 0 {
		p.list(list, s)
	}
	s.free = append(s.free, x.at)
	gone := len(s.free) == s.slots && len(*list) > 1
	if gone {
		last := (*list)[len(*list)-1]
		(*list)[s.at], last.at = last, s.at
		*list = (*list)[:len(*list)-1]
	}
	p.mu.Unlock()
	if gone {
		d.freeBlock(s.blk)
		d.giveBack(kind, slabSize)
	}
}

// trim frees the slabs without used slots. A device that is closed has no others.
func (p *slabs) trim(d *logical) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for kind := range p.open {
		for class := range p.open[kind] {
			list := &p.open[kind][class]
			kept := (*list)[:0]
			for _, s := range *list {
				if len(s.free) < s.slots {
					p.list(&kept, s)
					continue
				}
				d.freeBlock(s.blk)
				d.giveBack(driver.KindDevice+driver.Kind(kind), slabSize)
			}
			clear((*list)[len(kept):])
			*list = kept
		}
	}
}
