//go:build vulkan

package vulkan

import (
	"encoding/binary"
	"slices"
	"sync"
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
)

// launch is a launch that is enqueued. It comes from a pool.
type launch struct {
	k         *kernel
	p         *pipeline
	grid      [3]uint32
	constants [mostPushed]byte
	arguments []byte                     // of a kernel that has them in memory; the room is kept for later launches
	regions   []driver.Region            // the memory of parameters; the room is kept, too
	writes    [mostSlots]descriptorWrite // of a kernel with slots
	buffers   [mostSlots]descriptorBuffer
}

var launches = sync.Pool{New: func() any { return new(launch) }}

// Launch implements driver.Launcher.
func (s *stream) Launch(of driver.Kernel, l *driver.Launch) error {
	const name = "launch"
	x, err := of.(*kernel).launch(name, l)
	if err != nil {
		return err
	}
	if len(x.arguments) > 0 { // they need a part of a stage, and the stream is held up while none is free
		return s.enqueue(operation{pass: (*stream).launchNext, name: name, of: x})
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running {
		s.ops.add(operation{pass: (*stream).launchNext, name: name, of: x})
		return nil
	}
	_, err = s.submitLaunch(name, x)
	return err
}

// launch returns a launch, with its pipeline and its arguments. Its give has to follow.
func (k *kernel) launch(op string, l *driver.Launch) (*launch, error) {
	x := launches.Get().(*launch)
	x.k, x.grid = k, l.Grid
	regions := x.regions[:0] // of all parameters
	params := x.constants[:]
	if n := int(k.entry.bytes); n > 0 {
		x.arguments = slices.Grow(x.arguments[:0], n)[:n]
		params = x.arguments
	}
	for i := range l.Args {
		a, to := &l.Args[i], params[k.entry.at[i]:]
		if a.Kind == driver.ParamPointer {
			r := a.Region
			if r.Mem == nil || r.Off >= r.Mem.Size() { // an empty region with no byte behind its address
				m, err := k.dev.readable(op)
				if err != nil {
					x.drop()
					return nil, err
				}
				r = driver.Region{Mem: m}
			}
			address := r.Mem.Handle() + uintptr(r.Off)
			*(*[8]byte)(to) = *(*[8]byte)(unsafe.Pointer(&address))
			regions = append(regions, r)
			continue
		}
		regions = append(regions, driver.Region{})
		copy(to[:a.Size], unsafe.Slice((*byte)(a.Value()), a.Size))
	}
	x.regions = regions
	var err error
	if x.p, err = k.pipeline(op, l.Block, uint32((l.Shared+7)&^7), k.slotted != nil && x.fill(regions)); err != nil {
		x.drop()
		return nil, err
	}
	return x, nil
}

// fill puts memory into the slots. It reports whether the driver takes the memory as storage buffers, which reach to the end of the block.
func (x *launch) fill(regions []driver.Region) bool {
	can := &x.k.dev.plan.slots
	for at, i := range x.k.slotted.params {
		m, ok := regions[i].Mem.(*memory)
		if !ok {
			return false
		}
		off := m.off + regions[i].Off
		if off%can.align != 0 || m.blk.size-off > can.most {
			return false
		}
		x.buffers[at] = descriptorBuffer{m.blk.buffer, off, m.blk.size - off}
		x.writes[at] = descriptorWrite{head: head{typeDescriptorWrite, nil}, binding: uint32(i), n: 1, kind: storageDescriptor,
			buffers: unsafe.Pointer(&x.buffers[at])}
	}
	return true
}

// give ends the use of the pipeline, and gives the launch back to the pool.
func (x *launch) give() {
	x.p.pending.Add(-1)
	x.drop()
}

func (x *launch) drop() {
	clear(x.regions)
	x.k, x.p, x.arguments = nil, nil, x.arguments[:0]
	launches.Put(x)
}

// store writes the arguments to memory that the host sees, from off in its block.
func (x *launch) store(blk *block, off uint64) {
	copy(unsafe.Slice((*byte)(unsafe.Add(blk.host, off)), len(x.arguments)), x.arguments)
	binary.NativeEndian.PutUint64(x.constants[x.k.entry.pushed-8:], uint64(blk.addr)+off)
}

// record implements dispatch.
func (x *launch) record(q *queue, cb uintptr) {
	t := q.dev.t
	t.cmdBindPipeline(q.calls, cb, x.p.handle)
	if n := x.k.entry.pushed; n > 0 {
		t.cmdPushConstants(q.calls, cb, x.k.layout, n, unsafe.Pointer(&x.constants))
	}
	if x.p.slots {
		t.cmdPushSet(q.calls, cb, x.k.layout, uint32(len(x.k.slotted.params)), unsafe.Pointer(&x.writes))
	}
	t.cmdDispatch(q.calls, cb, x.grid[0], x.grid[1], x.grid[2])
}

// submitted implements dispatch.
func (x *launch) submitted(q *queue, number uint64) {
	raise(&x.p.last[q.index], number)
	x.give()
}

func (s *stream) launchNext(bool) (held bool, err error) {
	o := s.ops.first()
	return s.submitLaunch(o.name, o.of.(*launch))
}

// submitLaunch passes a launch on to the queue, or gives it back to the pool. Arguments in memory are written to a part of a stage;
// while none is free, the stream is held up. s.mu is held.
func (s *stream) submitLaunch(name string, x *launch) (held bool, err error) {
	var args *stagingBlock
	if n := uint64(len(x.arguments)); n > 0 {
		var off uint64
		if args, off, err = s.stages.take(name, n, s.work); args == nil && err == nil {
			return true, nil
		}
		if err == nil {
			x.store(args.blk, off)
		}
	}
	if err == nil {
		p, blocks := x.p, uint64(x.grid[0])*uint64(x.grid[1])*uint64(x.grid[2])
		brief := blocks <= p.brief.Load()
		var number uint64
		if number, err = s.q.gather(name, x, brief); err == nil {
			s.tail = number
			if !brief {
				p.measure(s.q, number, blocks)
			}
		}
	}
	if args != nil {
		s.stages.put(args, s.tail)
	}
	if err != nil {
		x.give()
	}
	return false, err
}
